"""The sentences about ways to convolve, for the pictures and for their text."""

from __future__ import annotations

from memlab import strings, units
from memlab.bench.convolution import RIVAL, Comparison
from memlab.bench.timing import Machine, Timing
from memlab.networks.layers import text

SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


def say(key: str, **values: object) -> str:
    """A text of these views."""
    return strings.get(f"speed.{key}", **values)


def title(found: Comparison) -> str:
    """``'VGG-16 conv3_2: 3x3, to 256, pad 1, input 256x56x56, batch 1, fp32, 1 thread'``."""
    case, count = found.case, found.threads
    return say(
        "title",
        layer=case.name,
        settings=case.layer.describe(),
        shape=text(case.shape),
        batch=f"{found.batch:,}",
        threads=say("thread") if count == 1 else say("threads", count=count),
    )


def duration(seconds: float) -> str:
    """Three digits: ``'1.83 s'``, ``'34.2 ms'``."""
    unit = next((unit for unit, size in SECONDS.items() if seconds >= 0.9995 * size), "ns")
    value = seconds / SECONDS[unit]
    return f"{value:.{_digits(value)}f} {unit}"


def name(each: Timing, found: Comparison) -> str:
    """An algorithm by the name that the code knows, or the rival with its version."""
    return rival(found.machine) if each.name == RIVAL else each.name


def rival(machine: Machine) -> str:
    """``'PyTorch 2.13'``."""
    version = machine.versions.get("torch", "").split(".")
    return f"{RIVAL} {'.'.join(version[:2])}".strip()


def way(each: Timing) -> str:
    """What an algorithm does; of a rival we do not know."""
    key = f"way.{each.name}"
    return say(key) if strings.has(f"speed.{key}") else ""


def workspace(each: Timing) -> str:
    """Planned bytes, in short."""
    return say("unplanned") if each.workspace is None else units.short(each.workspace)


def cache(nbytes: int) -> str:
    """The size of a cache, also as its makers write it: ``'32.8 kB (32 KiB)'``."""
    unit = "MiB" if nbytes >= units.BINARY["MiB"] else "KiB"
    return f"{units.short(nbytes)} ({nbytes / units.BINARY[unit]:,g} {unit})"


def ratio(value: float) -> str:
    """Three digits: ``'1.25'``, ``'57.0'``, ``'200,704'``."""
    return f"{value:,.{_digits(value)}f}"


def fastest(found: Comparison) -> Timing:
    """The algorithm with the least time; a rival is none."""
    return min(own(found), key=lambda each: each.seconds)


def against(each: Timing, found: Comparison) -> str:
    """A time divided by that of the fastest algorithm: ``'25.2'``."""
    return ratio(each.seconds / fastest(found).seconds)


def own(found: Comparison) -> list[Timing]:
    """The algorithms, whose workspace is planned."""
    return [each for each in found.timings if each.workspace is not None]


def headline(found: Comparison) -> list[str]:
    """The fastest algorithm, and beside it the one with the largest workspace, else the slowest."""
    best, other = fastest(found), max(own(found), key=lambda each: each.workspace or 0)
    first = say("least", name=best.name, time=duration(best.seconds), workspace=workspace(best))
    if other.workspace == best.workspace:
        other = max(own(found), key=lambda each: each.seconds)
    less, more = best.workspace or 0, other.workspace or 0
    if (other.seconds, more) == (best.seconds, less):
        return [first]
    values = {"name": other.name, "ratio": against(other, found)}
    if 0 < less < more:
        return [first, say("most", **values, bytes=ratio(more / less))]
    amounts = {"time": duration(other.seconds), "workspace": workspace(other)}
    return [first, say("most_amount", **values, **amounts)]


def notes(found: Comparison) -> list[str]:
    """How the times were taken, where and when, and whose matrix products they hold."""
    counts = sorted({len(each.samples) for each in found.timings})
    count = str(counts[0])
    if len(counts) > 1:
        count = say("range", least=counts[0], most=counts[-1])
    clock = say("processor" if found.threads == 1 else "wall")
    lines = [say("left_out", names=", ".join(found.left_out))] if found.left_out else []
    lines += [say("samples", count=count, clock=clock), say("where", machine=found.machine)]
    return lines + [say("blas", library=library) for library in multiplying(found.blas)]


def multiplying(libraries: tuple[str, ...]) -> list[str]:
    """SciPy's library, which multiplies for memlab; all of them where its name is not known."""
    scipy = [library for library in libraries if "scipy" in library]
    return scipy or list(libraries)


def _digits(value: float) -> int:
    """How many behind the point make three, but for large numbers."""
    return 2 if value < 9.995 else 1 if value < 99.95 else 0
