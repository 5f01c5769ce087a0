"""The views of vector lanes and of reading memory: pictures that stand still, and their text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memlab.bench import lanes, reading
from memlab.bench.curves import Measured
from memlab.bench.reading import Reading
from memlab.views.lanes import curve, memory, twin, words
from memlab.views.still import Still


@dataclass(frozen=True, repr=False)
class VectorLanes(Still):
    """Operations per second against the lanes of a vector."""

    measured: Measured

    def svg(self) -> str:
        title = f"{words.title(self.measured)}. {' '.join(words.headline(self.measured))}"
        return curve.draw(self.measured).render(title)

    def text(self) -> str:
        return twin.write(self.measured)


@dataclass(frozen=True, repr=False)
class MemoryRate(Still):
    """Values read per second against the bytes of a value."""

    measured: Reading

    def svg(self) -> str:
        title = f"{memory.title(self.measured)}. {' '.join(memory.headline(self.measured))}"
        return memory.draw(self.measured).render(title)

    def text(self) -> str:
        return memory.text(self.measured)


def vector_lanes(
    formats: Iterable[str] = lanes.FORMATS, target: str | None = None, *, progress: bool = True
) -> VectorLanes:
    """Time multiply-adds in vectors of 1 to 64 lanes, here and now: some seconds.

    Args:
        formats: of ``"fp64"``, ``"fp32"``, ``"bf16"`` and ``"int8"``; the last two where the
            processor has dot products for them.
        target: ``"avx2"`` or ``"sse2"`` compiles for an older x86-64 processor, in a new process.
        progress: show what is timed, where it takes more than a second.

    Raises:
        InputError: a value that is not allowed, or nothing that this processor computes.
    """
    if target is not None:
        return VectorLanes(lanes.forced(target, formats))
    return VectorLanes(lanes.measure(formats, progress=progress))


def memory_rate(
    formats: Iterable[str] = reading.READ, *, progress: bool = True
) -> MemoryRate:  # fmt: skip
    """Time how fast values of several formats are read from memory, here and now: about a second.

    Args:
        formats: names of number formats of at least a byte.
        progress: show what is read, where it takes more than a second.

    Raises:
        InputError: no such format, or too little free memory.
    """
    return MemoryRate(reading.measure(formats, progress=progress))
