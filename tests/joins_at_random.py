"""Random small networks in which outputs meet again and again: sums, concats and shared inputs.

The same seed always gives the same network, so a failure is known by its number.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import memlab
from memlab.networks.builder import Handle
from memlab.networks.graph import Network

STEPS = ("add",) * 8 + ("concat",) * 3 + ("bend",) * 3 + ("learn",) * 3 + ("view", "share")
"""What a network grows by; sums more often than all else."""


def joined(seed: int, most: int = 12) -> Network:
    """A network of up to ``most`` layers on vectors, sequences or maps, and what closes it."""
    rng = Random(seed)
    handles = [_start(rng)]
    if rng.random() < 0.7:
        handles.append(_learn(rng, handles[0], handles))
    for _ in range(rng.randint(2, most)):
        x = rng.choice(handles[-4:] if rng.random() < 0.7 else handles)
        handles.append(GROWS[rng.choice(STEPS)](rng, x, handles))
    return _closed(rng, handles)


def _start(rng: Random) -> Handle:
    width = rng.randint(1, 4)
    kind = rng.choice(("vector", "vector", "map", "sequence"))
    if kind == "vector":
        return memlab.network("joined", features=width)
    if kind == "map":
        return memlab.network("joined", image=(width, 2, 2))
    return memlab.network("joined", sequence=(2, width))


def _closed(rng: Random, handles: list[Handle]) -> Network:
    """Everything that nobody reads leads to the loss."""
    used = {source for handle in handles for source in handle.inputs}
    ends = [handle for handle in handles[1:] if handle not in used] or handles[-1:]
    if len({end.shape for end in ends}) > 1:
        ends = [end.flatten() for end in ends]
    alike = len({end.shape for end in ends}) == 1 and rng.random() < 0.5
    tail = ends[0] if len(ends) == 1 else (ends[0].add if alike else ends[0].concat)(*ends[1:])
    if not any(_has_parameters(each) for each in _all(tail)):
        tail = tail.flatten().linear(2)
    if rng.random() < 0.7:
        return tail.squared_error()
    return tail.flatten().linear(rng.randint(2, 3)).cross_entropy()


def _all(end: Handle) -> set[Handle]:
    found: set[Handle] = set()
    todo = [end]
    while todo:
        handle = todo.pop()
        if handle not in found:
            found.add(handle)
            todo += handle.inputs
    return found


def _has_parameters(handle: Handle) -> bool:
    return handle.kind in ("linear", "conv2d")


def _add(rng: Random, x: Handle, handles: list[Handle]) -> Handle:
    """A sum of 2 to 5, of which several may be one and the same."""
    alike = [handle for handle in handles if handle.shape == x.shape]
    return x.add(*rng.choices(alike, k=rng.choice((1, 1, 1, 2, 3, 4))))


def _concat(rng: Random, x: Handle, handles: list[Handle]) -> Handle:
    """Two or three side by side; as wide as ``x`` again where one layer more makes it so."""
    fitting = [handle for handle in handles if handle.shape[1:] == x.shape[1:]]
    fitting = [handle for handle in fitting if len(handle.shape) == len(x.shape)]
    both = x.concat(*rng.choices(fitting, k=rng.choice((1, 1, 2))))
    return _learned(rng, both, x.shape) if len(x.shape) != 2 and rng.random() < 0.6 else both


def _bend(rng: Random, x: Handle, handles: list[Handle]) -> Handle:
    return x.relu() if rng.random() < 0.6 else x.tanh()


def _learn(rng: Random, x: Handle, handles: list[Handle]) -> Handle:
    """A layer with parameters, mostly as wide as what it reads or as another."""
    shape = rng.choice([handle.shape for handle in handles if len(handle.shape) == len(x.shape)])
    return _learned(rng, x, shape)


def _learned(rng: Random, x: Handle, like: tuple[int, ...]) -> Handle:
    bias = rng.random() < 0.5
    if len(x.shape) == 3:
        return x.conv(like[0], 1, bias=bias)
    return x.linear(like[-1], bias=bias)


def _view(rng: Random, x: Handle, handles: list[Handle]) -> Handle:
    return x.flatten()


def _share(rng: Random, x: Handle, handles: list[Handle]) -> Handle:
    """The parameters of an earlier layer once more, where one fits."""
    owners = [
        handle
        for handle in handles
        if handle.kind == "linear" and handle.owner is None
        if handle.inputs[0].shape[-1] == x.shape[-1] and len(x.shape) < 3
    ]
    if not owners:
        return _add(rng, x, handles)
    owner = rng.choice(owners)
    bias: bool = owner.layer.bias  # type: ignore[union-attr]  # a linear layer
    return x.linear(owner.shape[-1], bias, share=owner)


GROWS: dict[str, Callable[[Random, Handle, list[Handle]], Handle]] = {
    "add": _add,
    "concat": _concat,
    "bend": _bend,
    "learn": _learn,
    "view": _view,
    "share": _share,
}
