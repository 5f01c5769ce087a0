"""The sentences about time against the batch, each chosen by the figures that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from memlab import strings, units
from memlab.bench import batch, recorded
from memlab.bench.batch import Curve, Sweep
from memlab.bench.recorded import Recorded
from memlab.networks.layers import text
from memlab.views.speed import words as speed

FLAT = 1.25
"""Times are the same where the largest is at most so many times the least."""
FALLS, EVEN, UNEVEN, FULL = "falls", "flat", "uneven", "full"


def say(key: str, /, **values: object) -> str:
    """A text of these views."""
    return strings.get(f"batch.{key}", **values)


def title(found: Sweep) -> str:
    """What was measured; the convolution, where one was."""
    head, case = say("title"), found.case
    if all(curve.name.startswith("linear") for curve in found.curves):
        return head
    shape = text(case.shape)
    return say("convolution", title=head, settings=case.layer.describe(), shape=shape)


def name(curve: Curve) -> str:
    """A way as people call it; a recorded one as it was recorded."""
    key = f"way.{curve.name}"
    return say(key) if strings.has(f"batch.{key}") else curve.name


def duration(curve: Curve, size: int) -> str:
    """Time per sample at a batch: ``'99.3 µs'``."""
    return speed.duration(curve.at(size))


def relative(curve: Curve, size: int) -> str:
    """The same by the least of all batches: ``'13.6'``."""
    return speed.ratio(curve.at(size) / curve.least)


def ends(curve: Curve) -> str:
    """``'1.35 ms to 99.3 µs: 13.6 ×'``."""
    first, last = curve.batches[0], _best(curve)
    times = {"first": duration(curve, first), "last": duration(curve, last)}
    return say("ends", **times, ratio=relative(curve, first))


def readings(found: Sweep) -> list[str]:
    """What the figures of each way say."""
    places = prod(found.case.layer.output(found.case.shape)[1:])
    return [reading(curve, found.lanes, places) for curve in found.curves]


def reading(curve: Curve, lanes: int = 0, places: int = 0) -> str:
    """What the figures of one way say. What it was chosen to show is said only where they show it:
    by a text of its own for that verdict."""
    kind = "linear" if curve.name.startswith("linear-") else curve.name
    full = filling(curve, lanes) if kind == "samples" else None
    verdict = FULL if full else judged(curve)
    first = curve.batches[0]
    last = curve.batches[-1] if verdict == UNEVEN else _best(curve)
    values = {
        "name": name(curve),
        "ratio": relative(curve, first),
        "spread": speed.ratio(_spread(curve, curve.batches)),
        "percent": _percent(curve, [size for size in curve.batches if size >= (full or 0)]),
        "first": f"{first:,}",
        "last": f"{last:,}",
        "weights": _weights(curve),
        "lanes": lanes,
        "full": full,
        "places": places,
        "room": ceil(places / max(1, lanes)) * lanes,
    }
    own = f"reading.{kind}_{verdict}"
    return say(own if strings.has(f"batch.{own}") else f"reading.{verdict}", **values)


def judged(curve: Curve) -> str:
    """Whether the time per sample is the same at every batch, falls, or does neither."""
    if _spread(curve, curve.batches) <= FLAT:
        return EVEN
    return FALLS if curve.fall > FLAT else UNEVEN


def filling(curve: Curve, lanes: int) -> int | None:
    """The first batch that fills the lanes, where the time falls up to it and is the same from
    there on."""
    onward = [size for size in curve.batches if size >= lanes]
    if len(onward) < 2 or onward[0] == curve.batches[0]:
        return None
    falls = curve.at(curve.batches[0]) > FLAT * curve.at(onward[0])
    return onward[0] if falls and _spread(curve, onward) <= FLAT else None


def notes(found: Sweep, gpu: Recorded | None) -> list[str]:
    """How and where the times were taken, and what was recorded on a GPU."""
    counts = sorted({len(samples) for curve in found.curves for samples in curve.samples.values()})
    count = str(counts[0])
    if len(counts) > 1:
        count = speed.say("range", least=counts[0], most=counts[-1])
    lines = [speed.say("samples", count=count, clock=speed.say("processor"))]
    lines.append(speed.say("where", machine=found.machine))
    lines += [speed.say("blas", library=library) for library in speed.multiplying(found.blas)]
    return lines + on_gpu(gpu)


def on_gpu(found: Recorded | None) -> list[str]:
    """What recorded figures say, or that there are none."""
    curves = batch.curves(found.result.lines) if found else []
    if found is None or not curves:
        return [say("unrecorded", command=recorded.COMMAND)]
    where = strings.get("recorded.where", command=found.command, where=found.where)
    return [*(say("recorded", reading=reading(curve)) for curve in curves), f"{where}."]


def _weights(curve: Curve) -> str:
    """The bytes of weights that are read for a sample, at both ends."""
    least, most = curve.batches[0], curve.batches[-1]
    first, last = (units.short(curve.weights // size) for size in (least, most))
    return say("weights", first=first, last=last, least=f"{least:,}", most=f"{most:,}")


def _best(curve: Curve) -> int:
    """The last batch with the least time per sample."""
    return min(reversed(curve.batches), key=curve.at)


def _spread(curve: Curve, sizes: Sequence[int]) -> float:
    times = [curve.at(size) for size in sizes]
    return max(times) / min(times)


def _percent(curve: Curve, sizes: Sequence[int]) -> int:
    return ceil(round(100 * _spread(curve, sizes) - 100, 6))
