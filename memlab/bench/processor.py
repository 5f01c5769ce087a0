"""Kernels on one core, by processor time: other programs move it less than the time on the wall."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from memlab.bench.timing import interleave
from memlab.kernels import registry
from memlab.kernels.registry import Array, Call
from memlab.step.op import Op

Way = Callable[[], object]


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS, and PyTorch where it is installed, on one thread."""
    with threadpool_limits(1):
        if find_spec("torch") is None:
            yield
            return
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def timed(
    ways: Mapping[str, Way], repeats: int, shortest: float = 0.0
) -> dict[str, tuple[float, ...]]:
    """Seconds of one call of every way, interleaved, ``repeats`` samples each.

    A way is called so often within a sample that the sample takes at least about ``shortest``
    seconds.
    """
    counts = {name: _count(way, shortest) for name, way in ways.items()}
    cases = {name: partial(_repeat, way, counts[name]) for name, way in ways.items()}
    samples = interleave(cases, repeats, clock=process_time)
    return {name: tuple(each / counts[name] for each in found) for name, found in samples.items()}


def prepared(op: Op, batch: int, operands: dict[str, Array] | None = None) -> Way:
    """The kernel of an operation with a workspace of its own.

    ``operands`` are shared with others: what is not in it is drawn and put there.
    """
    shared = {} if operands is None else operands
    drawn = np.random.default_rng(0)
    for name, tensor in {**op.reads, **op.writes, **op.updates}.items():
        if name not in shared:
            values = drawn.standard_normal(tensor.shape(batch), np.float32)
            shared[name] = values.astype(tensor.format.dtype())
    workspace = {
        name: np.zeros(tensor.shape(batch), tensor.format.dtype())
        for name, tensor in op.workspace.items()
    }
    call = Call(shared | workspace, op.attributes["layer"], op.phase != "forward")
    return partial(registry.find(op.kind, op.algorithm), call)


def _count(way: Way, shortest: float) -> int:
    """How many calls fill a sample. The first one compiles."""
    if not shortest:
        return 1
    way()
    start = process_time()
    way()
    return max(1, int(shortest / max(process_time() - start, 1e-6)))


def _repeat(way: Way, count: int, turn: int) -> None:
    for _ in range(count):
        way()
