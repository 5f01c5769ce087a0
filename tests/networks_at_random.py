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
