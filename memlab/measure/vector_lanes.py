"""Gain of wider vectors: operations per second of one core, by the lanes of a vector.

Each loop multiplies and adds in registers alone. Other programs can only slow it down, so its rate
is that of its best sample.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from memlab import free_memory
from memlab.errors import InputError, one_option, several, whole_number
from memlab.measure.processor import CLOCKS, clock, set_apart
from memlab.measure.timing import Machine, interleave, machine
from memlab.progress_bar import progress_bar

if TYPE_CHECKING:
    from memlab.kernels.cpu.vector_experiments import MicroKernel

GAIN = 1.4
"""Twice the lanes are worth it while they give at least so many times the operations."""
BEYOND = 15
"""Per cent: what is gained beyond the width, at most."""


@dataclass(frozen=True, slots=True)
class LoopSamples:
    """Samples of one loop in seconds, and the number of operations in each."""

    lanes: int
    operations: int
    samples: tuple[float, ...]

    @property
    def rate(self) -> float:
        """Operations per second, of the best sample."""
        return self.operations / min(self.samples)


@dataclass(frozen=True, slots=True)
class LaneCurve:
    """Loops of one format, each with twice the lanes of the one before."""

    format: str
    bits: int
    points: tuple[LoopSamples, ...]

    @property
    def knee(self) -> LoopSamples:
        """Widest loop up to which every doubling of the lanes is worth it."""
        for one, other in pairwise(self.points):
            if other.rate < GAIN * one.rate:
                return one
        return self.points[-1]

    @property
    def ends(self) -> bool:
        """True if wider loops than that of the knee were measured."""
        return self.knee.lanes < self.points[-1].lanes

    @property
    def width(self) -> int:
        """Bits that are computed at a time, by this measurement."""
        return self.bits * self.knee.lanes

    def linear(self, lanes: int) -> float:
        """Return the rate if each lane added as much as those of the first loop."""
        first = self.points[0]
        return first.rate * lanes / first.lanes

    @property
    def deviation(self) -> float:
        """The largest distance from linear up to the knee, as a part of linear."""
        inner = [point for point in self.points if point.lanes <= self.knee.lanes]
        return max(abs(point.rate / self.linear(point.lanes) - 1) for point in inner)

    @property
    def falls(self) -> bool:
        """True if a wider loop loses as much as the aim allows to gain."""
        knee = self.knee
        wider = [point.rate for point in self.points if point.lanes > knee.lanes]
        return bool(wider) and min(wider) < (1 - BEYOND / 100) * knee.rate

    @property
    def gain(self) -> float:
        """Largest gain of any wider loop, as a part of the knee's rate."""
        knee = self.knee
        beyond = [point.rate / knee.rate - 1 for point in self.points if point.lanes > knee.lanes]
        return max(0.0, *beyond) if beyond else 0.0


@dataclass(frozen=True)
class LaneMeasurement:
    """Curves of several formats on one processor.

    Its registers hold ``registers`` vectors of ``bits`` bits, as ``feature`` says. ``target`` is
    the older processor that was compiled for, or empty. ``missing`` are formats that were asked for
    and that it does not compute. ``chosen`` counts the registers in the assembly of an ordinary
    loop, which the compiler made vectors of; the widest has ``chosen_bits``.
    """

    curves: tuple[LaneCurve, ...]
    bits: int
    registers: int
    feature: str
    target: str
    missing: tuple[str, ...]
    chosen: Mapping[str, int]
    chosen_bits: int
    clock: str
    machine: Machine

    def curve(self, format: str) -> LaneCurve:
        """Return the curve of one format.

        Raises:
            InputError: it was not measured.
        """
        return one_option("measured format", format, {curve.format: curve for curve in self.curves})


def read(facts: dict[str, Any]) -> LaneMeasurement:
    """Measurement from the dictionary that ``dataclasses.asdict`` made of it, after JSON."""
    curves = [
        LaneCurve(
            fields_["format"], fields_["bits"],
            tuple(LoopSamples(p["lanes"], p["operations"],
            tuple(p["samples"])) for p in fields_["points"]),
        )
        for fields_ in facts["curves"]
    ]  # fmt: skip
    others = {
        "curves": tuple(curves),
        "missing": tuple(facts["missing"]),
        "machine": Machine(**facts["machine"]),
    }
    return LaneMeasurement(**(facts | others))


def ratios(lane_measurement: LaneMeasurement) -> dict[str, float]:
    """Return the rate of each format at its knee, over that of the first."""
    first = lane_measurement.curves[0].knee.rate
    return {curve.format: curve.knee.rate / first for curve in lane_measurement.curves}


FORMATS = ("fp64", "fp32", "bf16", "int8")
LANES = tuple(2**power for power in range(7))
REPEATS, SHORTEST, FEW = 40, 0.002, 50_000
"""Samples of each loop, the seconds of one, and the steps that are timed to find how many fill
it."""


class ProcessorTarget(NamedTuple):
    """An older processor: LLVM's name for it, and features that decide what is compiled."""

    processor: str
    features: tuple[str, ...]


TARGETS = {
    "avx2": ProcessorTarget("haswell", ("sse2", "avx", "avx2", "fma")),
    "sse2": ProcessorTarget("x86-64", ("sse2",)),
}
"""What code for this processor can be compiled for instead, where it is an x86-64."""


def measure(
    formats: Iterable[str] = FORMATS, lanes: Iterable[int] = LANES, repeats: int = REPEATS,
    progress: bool = False,
) -> LaneMeasurement:  # fmt: skip
    """Time a loop for every format and number of lanes, in turns; some seconds in all.

    A format has no loop with fewer lanes than its narrowest instruction.

    Raises:
        InputError: no such format, none that this processor computes, or no such number of lanes.
    """
    free_memory.require_kernels()
    from memlab.kernels.cpu.vector_code import WIDTH
    from memlab.kernels.cpu.vector_experiments import ARITHMETIC, available

    asked = several("format of vectors", formats, ARITHMETIC)
    names = [name for name in asked if name in available()]
    if not names:
        raise InputError(f"no vectors of {' or '.join(asked) or 'no format'} are computed here; "
                         f"try {' or '.join(available())}.")  # fmt: skip
    name, counts = clock(), sorted({whole_number("lanes", count) for count in lanes})
    for number_format in names:
        if not counts or counts[-1] < ARITHMETIC[number_format].least:
            raise InputError(
                f"{number_format} has no loop of so few lanes; try "
                f"{ARITHMETIC[number_format].least}."
            )
    points = _points(names, counts, whole_number("repeats", repeats), CLOCKS[name], progress)
    curves = (LaneCurve(name, ARITHMETIC[name].bits, points[name]) for name in names)
    chosen, bits = _compilers_choice()
    missing = tuple(name for name in asked if name not in names)
    return LaneMeasurement(tuple(curves), *WIDTH, "", missing, chosen, bits, name, machine())


def forced(
    target: str, formats: Iterable[str] = FORMATS, lanes: Iterable[int] = LANES,
    repeats: int = REPEATS,
) -> LaneMeasurement:  # fmt: skip
    """Time the loops compiled for an older processor, in a fresh process whose Numba is told so.

    Raises:
        InputError: no such target, or this processor cannot run its code.
    """
    from memlab.kernels.cpu.vector_code import FEATURES
    from memlab.kernels.cpu.vector_experiments import ARITHMETIC

    chosen = one_option("target", target, TARGETS)
    if missing := [name for name in chosen.features if name not in FEATURES]:
        raise InputError(f"this processor has no {missing[0]}, so it runs no code for {target}; "
                         "leave the target out.")  # fmt: skip
    names = several("format of vectors", formats, ARITHMETIC)
    given = json.dumps([names, list(lanes), repeats])
    settings = {
        "NUMBA_CPU_NAME": chosen.processor,
        "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in chosen.features),
    }
    code = f"from {__name__} import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, target, given],
        stdout=subprocess.PIPE, text=True, check=True, env=os.environ | settings,
    )  # fmt: skip
    facts = json.loads(done.stdout)
    if "refused" in facts:
        raise InputError(facts["refused"])
    return read(facts)


# -- measuring ----------------------------------------------------------------------------------


def _points(
    formats: list[str], lanes: list[int], repeats: int, clock: Callable[[], float], progress: bool
) -> dict[str, tuple[LoopSamples, ...]]:
    from memlab.kernels.cpu.vector_experiments import ARITHMETIC, micro_kernel

    kernels: dict[str, MicroKernel] = {}
    steps: dict[str, int] = {}
    pairs = [(name, n) for name in formats for n in lanes if n >= ARITHMETIC[name].least]
    with progress_bar(delay=1, disable=not progress, leave=False, unit=" loops") as bar:
        for name, count in pairs:
            key = f"{name} x {count}"
            bar.set_description(key)
            kernels[key] = micro_kernel(name, count)
            steps[key] = _steps(kernels[key], clock)
            bar.update()

        def case(key: str, turn: int) -> None:
            kernels[key].run(steps[key])
            bar.update()

        with set_apart():
            samples = interleave({key: partial(case, key) for key in kernels}, repeats, clock=clock)
    loops: dict[str, tuple[LoopSamples, ...]] = dict.fromkeys(formats, ())
    for key, kernel in kernels.items():
        point = LoopSamples(kernel.lanes, kernel.run(1) * steps[key], samples[key])
        loops[kernel.format] += (point,)
    return loops


def _steps(kernel: MicroKernel, clock: Callable[[], float]) -> int:
    """Number of steps that fill a sample. The first call compiles."""
    kernel.run(1)
    start = clock()
    kernel.run(FEW)
    return max(1, int(FEW * SHORTEST / max(clock() - start, 1e-6)))


def _compilers_choice() -> tuple[dict[str, int], int]:
    """Return the vector registers in the assembly of an ordinary loop, and the
    bits of the widest."""
    import numpy as np

    from memlab.kernels.cpu import assembly
    from memlab.kernels.cpu.elementwise_loops import LOOPS
    from memlab.kernels.formulas.pointwise import plus

    values = np.ones(64, np.float32)
    loop: Any = LOOPS[plus]
    loop(values, values, np.empty_like(values), False, ())
    width = assembly.registers(loop)
    return width, assembly.width(width)


def main() -> None:
    """Measure, and write JSON: the program of the fresh process."""
    target, given = sys.argv[1:]
    formats, lanes, repeats = json.loads(given)
    try:
        facts = asdict(measure(formats, lanes, repeats)) | {"target": target}
    except InputError as error:
        facts = {"refused": str(error)}
    print(json.dumps(facts))
