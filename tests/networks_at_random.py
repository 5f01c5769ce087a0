"""Random small networks with branches, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from memlab.networks.builder import Handle, network
from memlab.networks.graph import Network


@st.composite
def networks(draw: st.DrawFn, most: int = 10) -> Network:
    """A network of up to ``most`` layers over small maps; every output is used."""
    side = draw(st.integers(3, 8))
    start = network("random", image=(draw(st.integers(1, 4)), side, side))
    handles = [start]
    for _ in range(draw(st.integers(1, most))):
        handles.append(_grow(draw, handles))
    used = {source for handle in handles for source in handle.inputs}
    ends = [handle.flatten() for handle in handles[1:] if handle not in used]
    tail = ends[0].concat(*ends[1:]) if len(ends) > 1 else ends[0]
    if draw(st.booleans()):
        return tail.linear(draw(st.integers(2, 5))).cross_entropy()
    return tail.squared_error()


@st.composite
def tied(draw: st.DrawFn, most: int = 10) -> Network:
    """A network of up to ``most`` layers on vectors of one width, of which some share parameters
    with earlier ones, and cells of LSTMs."""
    width = draw(st.integers(1, 5))
    start = network("tied", sequence=(3, width))
    handles = [start.at(t) for t in range(3)]
    for _ in range(draw(st.integers(2, most))):
        handles += _vectors(draw, draw(st.sampled_from(handles)), handles)
    used = {source for handle in handles for source in handle.inputs}
    ends = [handle for handle in handles[3:] if handle not in used and handle.shape == (width,)]
    tail = ends[0].concat(*ends[1:]) if len(ends) > 1 else ends[0]
    return tail.linear(draw(st.integers(2, 4))).cross_entropy()


def _vectors(draw: st.DrawFn, x: Handle, handles: list[Handle]) -> list[Handle]:
    """Some more vectors of the same width."""
    kind = draw(st.sampled_from(("linear", "linear", "tanh", "add", "lstm")))
    if kind == "linear":
        return [_linear(draw, x, x.shape[0], handles)]
    if kind == "lstm":
        gates = _linear(draw, x, 4 * x.shape[0], handles)
        state = gates.lstm_state(draw(st.sampled_from([None, *handles])))
        return [state, gates.lstm_output(state)]
    return [x.tanh() if kind == "tanh" else x.add(draw(st.sampled_from(handles)))]


def _linear(draw: st.DrawFn, x: Handle, features: int, handles: list[Handle]) -> Handle:
    """A linear layer, with parameters of its own or those of one that leads to a handle."""
    found = {source for handle in handles for source in (handle, *handle.inputs)}
    owners = [h for h in sorted(found, key=lambda h: h.born) if h.kind == "linear"]
    owners = [h for h in owners if h.shape == (features,) and h.owner is None]
    share = draw(st.sampled_from([None, *owners]))
    bias = draw(st.booleans()) if share is None else share.layer.bias  # type: ignore[union-attr]  # a linear layer
    return x.linear(features, bias, share=share)


def _grow(draw: st.DrawFn, handles: list[Handle]) -> Handle:
    x = draw(st.sampled_from(handles))
    kind = draw(st.sampled_from(("conv", "pool", "add", "concat", "point")))
    if kind == "conv":
        return _conv(draw, x)
    if kind == "pool":
        return _pool(draw, x)
    if kind == "add":
        return x.add(*_partners(draw, x, [h for h in handles if h.shape == x.shape]))
    if kind == "concat":
        return x.concat(*_partners(draw, x, [h for h in handles if h.shape[1:] == x.shape[1:]]))
    names = ("relu", "tanh", "batch_norm", "dropout", "local_response_norm")
    pointwise: Handle = getattr(x, draw(st.sampled_from(names)))()
    return pointwise


def _conv(draw: st.DrawFn, x: Handle) -> Handle:
    groups = draw(st.sampled_from([g for g in (1, 2, 3, 4) if x.shape[0] % g == 0]))
    kernel = draw(st.integers(1, min(3, x.shape[1])))
    return x.conv(
        groups * draw(st.integers(1, 3)),
        kernel,
        stride=draw(st.integers(1, 2)),
        pad=draw(st.integers(0, 2)),
        groups=groups,
        bias=draw(st.booleans()),
    )


def _pool(draw: st.DrawFn, x: Handle) -> Handle:
    pool = draw(st.sampled_from((x.max_pool, x.avg_pool)))
    if draw(st.booleans()):
        return pool("all")
    kernel = draw(st.integers(1, min(3, x.shape[1])))
    return pool(
        kernel,
        stride=draw(st.integers(1, 3)),
        pad=draw(st.integers(0, kernel // 2)),
        ceil=draw(st.booleans()),
    )


def _partners(draw: st.DrawFn, x: Handle, fitting: list[Handle]) -> list[Handle]:
    return draw(st.lists(st.sampled_from(fitting), min_size=1, max_size=2))
