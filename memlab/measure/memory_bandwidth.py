"""Values per second that one core reads from memory, by the bytes of a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from memlab import free_memory, units
from memlab.errors import InputError, several, whole_number
from memlab.formats import FORMATS, Format
from memlab.kernels.registry import Array
from memlab.measure.processor import CLOCKS, caches, clock, set_apart
from memlab.measure.timing import Machine, interleave, machine
from memlab.progress_bar import progress_bar

READ = ("fp64", "fp32", "bf16", "int8")
REPEATS = 15
LEAST, MOST = 2**28, 2**29
"""Bytes of the array, if so many are free: a notebook has a GiB, however large the caches are."""
TIMES, ENOUGH = 8, 4
"""How many times the largest cache the array is, and from how many times on the cache does not
count."""


@dataclass(frozen=True, slots=True)
class ReadingSamples:
    """Seconds of each time that an array was read as values of one format."""

    format: str
    bits: int
    nbytes: int
    samples: tuple[float, ...]

    @property
    def values(self) -> float:
        """Values per second, of the best sample."""
        return 8 * self.nbytes / self.bits / min(self.samples)

    @property
    def bandwidth(self) -> float:
        """Bytes per second, of the best sample."""
        return self.nbytes / min(self.samples)


@dataclass(frozen=True)
class ReadingByFormat:
    """Times of reading one array as values of several formats. ``largest`` is the largest cache in
    bytes, 0 where the system does not say."""

    nbytes: int
    largest: int
    rates: tuple[ReadingSamples, ...]
    clock: str
    machine: Machine

    @property
    def cached(self) -> bool:
        """True if so much of the array may stay in the cache that its rate counts."""
        return self.nbytes < ENOUGH * self.largest


def measure(
    formats: Iterable[str] = READ, repeats: int = REPEATS, progress: bool = False
) -> ReadingByFormat:
    """Read one array as values of each format; about a second. It is much larger than any cache,
    unless a cache is very large or little memory is free: then the reading is ``cached``.

    Values of 16 and 8 bits are added up as whole numbers: reading takes the time.

    Raises:
        InputError: no such format, one of less than a byte, or too little free memory.
    """
    free_memory.require_kernels()
    import numpy as np

    from memlab.kernels.cpu.vector_experiments import total

    chosen = [FORMATS[name] for name in several("format", formats, FORMATS)]
    for number_format in chosen:
        _check(number_format)
    if not chosen:
        raise InputError("no format is read; try fp32.")
    largest = max(caches().values(), default=0)
    nbytes = size(largest, free_memory.free_memory())
    array = np.ones(nbytes // 8)
    with (
        progress_bar(delay=1, disable=not progress, leave=False, unit=" reads") as bar,
        set_apart(),
    ):

        def case(values: Array, turn: int) -> None:
            total(values)
            bar.update()

        cases = {
            number_format.name: partial(case, array.view(_stored(number_format)))
            for number_format in chosen
        }
        samples = interleave(cases, whole_number("repeats", repeats), clock=CLOCKS[clock()])
    rates = [
        ReadingSamples(number_format.name, number_format.bits, nbytes, samples[number_format.name])
        for number_format in chosen
    ]
    return ReadingByFormat(nbytes, largest, tuple(rates), clock(), machine())


def size(largest: int, free: int) -> int:
    """Bytes of an array that is ``TIMES`` the largest cache, within bounds: at most half of what is
    free.

    Raises:
        InputError: half of what is free is less than a MiB.
    """
    nbytes = min(max(LEAST, min(TIMES * largest, MOST)), free // 2) // 2**20 * 2**20
    if nbytes == 0:
        raise InputError(
            f"an array of at least {units.short(2**20)} is read, and may take half of what is "
            f"free, {units.short(free)}; free some memory."
        )
    return nbytes


def _check(format: Format) -> None:
    if format.bits < 8:
        raise InputError(f"a value of {format.name} is less than a byte; try int8.")


def _stored(format: Format) -> str:
    """Return the format as whose bits the values are read."""
    return f"{'f' if format.bits >= 32 and format.kind == 'float' else 'u'}{format.bits // 8}"
