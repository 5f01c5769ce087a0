"""Kernels on few cores. On one, by processor time: other programs move it less than the time on
the wall."""

from __future__ import annotations

import ctypes
import gc
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import get_clock_info, perf_counter, process_time
from typing import Final

from memlab import units
from memlab.errors import InputError
from memlab.kernels import registry
from memlab.kernels.registry import Array, KernelCall
from memlab.measure.timing import BenchmarkLine, allow_torch, interleave, once
from memlab.progress_bar import progress_bar
from memlab.step.op import Op
from memlab.thread_pools import thread_pools

Way = Callable[[], object]
Samples = tuple[float, ...]

PROCESSOR: Final = "process_time"
"""Name of the clock of the processor's time."""
CLOCKS: dict[str, Callable[[], float]] = {
    PROCESSOR: process_time,
    "perf_counter": perf_counter,
}
LONG = 0.5
"""Seconds of a call that is an average by itself: one sample is enough."""
LEAST, MOST, SPREAD = 5, 15, 0.04
"""Samples of a shorter call have settled when there are ``LEAST`` and their middle half lies within
``SPREAD`` of the median, or when there are ``MOST``."""
Progress = Callable[[str, int, int], None]
"""Function that is told what is measured, how many are done, and of how many."""
M_MMAP_MAX, M_TRIM_THRESHOLD = -4, -1
MAPPED, TRIMMED = 65_536, 128 * 1024
"""What both are where nobody has set them."""


def clock() -> str:
    """Return the name of the clock: the processor's time where the system counts it finely, else
    that on the wall."""
    return PROCESSOR if get_clock_info(PROCESSOR).resolution < 1e-5 else "perf_counter"


@contextmanager
def limited(threads: int = 1) -> Iterator[None]:
    """Limit BLAS, and PyTorch where it is installed, to so many threads."""
    with thread_pools().limit(limits=threads):
        if not allow_torch():
            yield
            return
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def threads() -> int:
    """Return the most threads on which a library of this process computes."""
    return max((pool["num_threads"] for pool in thread_pools().info()), default=1)


@contextmanager
def set_apart() -> Iterator[None]:
    """Keep Python's garbage collector from searching everything that is there now before each
    sample, which takes 0.1 s."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def timed(
    ways: Mapping[str, Way], repeats: int, shortest: float = 0.0,
    clock: Callable[[], float] = process_time,
) -> dict[str, Samples]:  # fmt: skip
    """Time one call of every way, interleaved, with ``repeats`` samples each, in seconds.

    A way is called so often within a sample that the sample takes at least about ``shortest``
    seconds.
    """
    counts = {name: _count(way, shortest, clock) for name, way in ways.items()}
    cases = {name: partial(_repeat, way, counts[name]) for name, way in ways.items()}
    samples = interleave(cases, repeats, clock=clock)
    return {
        name: tuple(count / counts[name] for count in sample) for name, sample in samples.items()
    }


def settled(
    ways: Mapping[str, Way], most: int = MOST, shortest: float = 0.0, threads: int = 1,
    progress: bool | Progress = False,
) -> dict[str, Samples]:  # fmt: skip
    """Time ways that are compiled already, interleaved, with as few samples as are stable.

    The time is that of ``clock`` on one thread, and that on the wall on several. ``progress`` shows
    a bar, or is told before each sample how many ways are settled.
    """
    tell = progress if callable(progress) else None
    read = CLOCKS[clock()] if threads == 1 else perf_counter
    samples: dict[str, Samples] = {}
    counts, limits = dict.fromkeys(ways, 1), dict.fromkeys(ways, most)
    bar = progress_bar(delay=1, disable=progress is not True, leave=False, unit=" samples")
    with set_apart(), bar:
        for name, way in ways.items():
            bar.set_description(name)
            seconds = once(partial(_repeat, way, 1), clock=read)
            counts[name] = max(1, int(shortest / max(seconds, 1e-6)))
            samples[name] = (seconds,) if seconds >= LONG else ()
            limits[name] = 1 if seconds >= LONG else most
        turn = 0
        while moving := [name for name in ways if not _is_settled(samples[name], limits[name])]:
            first, turn = turn % len(moving), turn + 1
            for name in moving[first:] + moving[:first]:
                bar.set_description(name)
                if tell:
                    tell(name, len(ways) - len(moving), len(ways))
                seconds = once(partial(_repeat, ways[name], counts[name]), clock=read)
                samples[name] += (seconds / counts[name],)
                bar.update()
    return samples


def _is_settled(samples: Samples, most: int) -> bool:
    if len(samples) < LEAST or len(samples) >= most:
        return len(samples) >= most
    low, middle, high = statistics.quantiles(samples, n=4)
    return high - low <= SPREAD * middle


def prepared(op: Op, batch: int, operands: dict[str, Array] | None = None) -> Way:
    """Return a call of the kernel of an operation with a workspace of its own.

    ``operands`` are shared with others: what is not in it is drawn and put there.
    """
    import numpy as np

    shared = {} if operands is None else operands
    drawn = np.random.default_rng(0)
    for name, tensor in {**op.reads, **op.writes, **op.updates}.items():
        if name not in shared:
            values = drawn.standard_normal(tensor.shape(batch), np.float32)
            shared[name] = values.astype(tensor.format.dtype())
    workspace = {
        name: np.full(tensor.shape(batch), 0, tensor.format.dtype())
        for name, tensor in op.workspace.items()
    }
    call = KernelCall(shared | workspace, op.attributes["layer"], op.phase != "forward")
    return partial(registry.find(op.kind, op.algorithm), call)


def _count(way: Way, shortest: float, clock: Callable[[], float]) -> int:
    """Number of calls that fill a sample. The first one compiles."""
    if not shortest:
        return 1
    way()
    start = clock()
    way()
    return max(1, int(shortest / max(clock() - start, 1e-6)))


def _repeat(way: Way, count: int, turn: int) -> None:
    for _ in range(count):
        way()


def caches(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> dict[str, int]:
    """Bytes of this processor's caches for data by level, ``{"L1": 49152, ...}``; empty where the
    system does not say."""
    sizes = {}
    for index in sorted(root.glob("index*")):
        try:
            level, kind, size = ((index / n).read_text().strip() for n in ("level", "type", "size"))
            if kind != "Instruction":
                sizes[f"L{level}"] = units.parse(f"{size}iB")
        except (OSError, InputError):
            continue
    return sizes


def blas() -> list[BenchmarkLine]:
    """Return a line for each BLAS library that NumPy and SciPy brought, with the processor core
    that its code is written for, and its threads outside a session. memlab multiplies with
    SciPy's."""
    lines = []
    for library in thread_pools().info():
        if library["user_api"] == "blas":
            owner = Path(library["filepath"]).parent.name.removesuffix(".libs")
            core = library.get("architecture", "unknown")
            name = f"BLAS of {owner}, {library['internal_api']} {library['version']}, core {core}"
            lines.append(BenchmarkLine(name, library["num_threads"], ""))
    return lines


def keep_freed_memory() -> None:
    """Let the C library keep freed memory, for both sides of a comparison alike: else times move by
    a factor of 2, as it learns by itself which blocks to give back to the system. Only glibc has
    this."""
    _allocate(0, 2**31 - 1)


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Let the C library keep freed memory as long as something is timed in a notebook; afterwards
    it goes back to the system."""
    keep_freed_memory()
    try:
        yield
    finally:
        _allocate(MAPPED, TRIMMED, trim=True)


def _allocate(mapped: int, trimmed: int, trim: bool = False) -> None:
    """Set the limits of glibc's allocator: the size from which blocks come from the system one by
    one, and the free bytes that stay at the end."""
    try:
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_MAX, mapped)
        library.mallopt(M_TRIM_THRESHOLD, trimmed)
        if trim:
            library.malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return
