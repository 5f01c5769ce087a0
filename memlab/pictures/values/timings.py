"""Time beside bytes, of ways to convolve: the fastest, what its workspace buys, where it fits.

The times were measured; the bytes of a workspace are planned. A rival's workspace nobody planned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memlab import strings, units
from memlab.layers.algorithms import ALGORITHMS
from memlab.layers.layer import text
from memlab.measure import recorded_figures
from memlab.measure.convolution import RIVAL, Comparison
from memlab.measure.timing import Machine, Timing
from memlab.pictures.values.number_text import duration, ratio
from memlab.pictures.values.study import Study

PATH = ("im2col-batch", "im2col-image", "im2col-tile", "offsets")
"""Ever smaller pieces of the lowered matrix, and none."""


@dataclass(frozen=True)
class Algorithms(Study):
    """Times and planned bytes of several ways to convolve one layer."""

    measured: Comparison

    @property
    def title(self) -> str:
        found = self.measured
        return strings.get(
            "speed.title",
            layer=found.case.name,
            settings=found.case.layer.describe(),
            shape=text(found.case.shape),
            batch=f"{found.batch:,}",
            threads=on_threads(found.threads),
        )

    @property
    def own(self) -> list[Timing]:
        """The algorithms, whose workspace is planned."""
        return [each for each in self.measured.timings if each.workspace is not None]

    @property
    def rivals(self) -> list[Timing]:
        """Those of others, whose workspace is not."""
        return [each for each in self.measured.timings if each.workspace is None]

    @property
    def fastest(self) -> Timing:
        """The algorithm with the least time; a rival is none."""
        return min(self.own, key=lambda each: each.seconds)

    @property
    def joined(self) -> list[Timing]:
        """Those that lower ever smaller pieces, from the whole batch to none."""
        named = {each.name: each for each in self.measured.timings}
        return [named[name] for name in PATH if name in named]

    def name(self, each: Timing) -> str:
        """An algorithm by the name that the code knows, or the rival with its version."""
        return rival(self.measured.machine) if each.name == RIVAL else each.name

    def against(self, each: Timing) -> str:
        """A time divided by that of the fastest algorithm: ``'25.2'``."""
        return ratio(each.seconds / self.fastest.seconds)

    @property
    def sentences(self) -> list[str]:
        """The fastest, and beside it the one with the largest workspace, else the slowest."""
        best, other = self.fastest, max(self.own, key=lambda each: each.workspace or 0)
        said = {"name": best.name, "time": duration(best.seconds), "workspace": workspace(best)}
        first = strings.get("speed.least", **said)
        if other.workspace == best.workspace:
            other = max(self.own, key=lambda each: each.seconds)
        less, more = best.workspace or 0, other.workspace or 0
        if (other.seconds, more) == (best.seconds, less):
            return [first]
        values = {"name": other.name, "ratio": self.against(other)}
        if 0 < less < more:
            return [first, strings.get("speed.most", **values, bytes=ratio(more / less))]
        amounts = {"time": duration(other.seconds), "workspace": workspace(other)}
        return [first, strings.get("speed.most_amount", **values, **amounts)]

    @property
    def along(self) -> list[str]:
        """What changes from the whole batch to no copy, and which cache each workspace fits."""
        joined = self.joined
        lines = [_change(joined[0], joined[-1])] if len(joined) > 1 else []
        return lines + [self._fits(each) for each in joined if each.workspace]

    @property
    def caches(self) -> dict[str, int]:
        """Bytes by name: ``'L2 cache 1.0 MB'``."""
        return {
            strings.get("speed.curve.cache", level=level, size=units.short(size)): size
            for level, size in self.measured.caches.items()
        }

    def _fits(self, each: Timing) -> str:
        values = {"name": each.name, "workspace": workspace(each)}
        for level, size in self.measured.caches.items():
            if (each.workspace or 0) <= size:
                return strings.get("speed.curve.fits", **values, level=level, size=_cache(size))
        return strings.get("speed.curve.too_large", **values)

    @property
    def notes(self) -> list[str]:
        found = self.measured
        left_out = ", ".join(found.left_out)
        return [
            *([strings.get("speed.left_out", names=left_out)] if left_out else []),
            *taken((each.samples for each in found.timings), found.threads == 1),
            where(found.machine),
            *products(found.blas),
        ]


# -- what every measurement says -------------------------------------------------------------------


def rival(machine: Machine) -> str:
    """``'PyTorch 2.13'``."""
    version = machine.versions.get("torch", "").split(".")
    return f"{RIVAL} {'.'.join(version[:2])}".strip()


def workspace(each: Timing) -> str:
    """Planned bytes, in short."""
    unknown = each.workspace is None
    return strings.get("speed.unplanned") if unknown else units.short(each.workspace or 0)


def way(each: Timing) -> str:
    """What an algorithm does, or its title; of a rival we do not know."""
    key = f"speed.way.{each.name}"
    if strings.has(key):
        return strings.get(key)
    return ALGORITHMS[each.name].title if each.name in ALGORITHMS else ""


def taken(samples: Iterable[Sequence[float]], processor: bool) -> list[str]:
    """How many samples are behind each time, and by which clock."""
    counts = sorted(set(map(len, samples)))
    least_to_most = strings.get("speed.range", least=counts[0], most=counts[-1])
    count = least_to_most if len(counts) > 1 else str(counts[0])
    clock = strings.get("speed.processor") if processor else strings.get("speed.wall")
    return [strings.get("speed.samples", count=count, clock=clock)]


def where(machine: Machine) -> str:
    """Where and when it was measured; a picture that is recorded says so at its foot."""
    return "" if recorded_figures.command() else strings.get("speed.where", machine=machine)


def said(key: str, **values: object) -> str:
    """A text about what is measured, or recorded."""
    return strings.get(f"speed.{key}{'_recorded' * bool(recorded_figures.command())}", **values)


def on_threads(count: int) -> str:
    """``'1 thread'``."""
    return strings.get(f"speed.{'thread' if count == 1 else 'threads'}", count=count)


def origin(samples: Sequence[float], machine: Machine) -> str:
    """The same of one figure, in short."""
    count, processor, date = len(samples), machine.processor, machine.date
    return said("origin", count=count, processor=processor, date=date)


def products(libraries: Sequence[str]) -> list[str]:
    """SciPy's library, which multiplies for memlab; all of them where its name is not known."""
    scipy = [library for library in libraries if "scipy" in library]
    return [strings.get("speed.blas", library=library) for library in scipy or libraries]


def _change(first: Timing, last: Timing) -> str:
    return strings.get(
        "speed.curve.along",
        first=first.name,
        last=last.name,
        more=workspace(first),
        less=workspace(last),
        before=duration(first.seconds),
        after=duration(last.seconds),
    )


def _cache(nbytes: int) -> str:
    """The size of a cache, also as its makers write it: ``'32.8 kB (32 KiB)'``."""
    unit = "MiB" if nbytes >= units.BINARY["MiB"] else "KiB"
    return f"{units.short(nbytes)} ({nbytes / units.BINARY[unit]:,g} {unit})"
