"""The view of time per sample against the batch: a picture that stands still, and its text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memlab.bench import batch, recorded
from memlab.bench.batch import Curve, Sweep
from memlab.bench.recorded import Recorded
from memlab.views.batch import picture, words
from memlab.views.network.twin import columns
from memlab.views.still import Still

WAYS = ("linear-4096", "samples", "pixels", "loop", "one-lane")
MOST = 5
"""Samples of each way at each batch."""


@dataclass(frozen=True, repr=False)
class BatchTimes(Still):
    """Time per sample of several ways at growing batches, beside what was recorded on a GPU; a
    notebook shows the picture, ``print`` the text."""

    measured: Sweep
    gpu: Recorded | None = None

    def svg(self) -> str:
        found = self.measured
        title = " ".join([f"{words.title(found)}.", *words.readings(found)])
        return picture.draw(found, self.gpu).render(title)

    def text(self) -> str:
        found = self.measured
        parts = [
            [f"{words.title(found)}.", *words.readings(found)],
            table(found.curves),
            words.notes(found, self.gpu),
        ]
        return "\n\n".join("\n".join(part) for part in parts)


def table(curves: tuple[Curve, ...]) -> list[str]:
    """A line for every way, then one for every batch: time per sample, and by the least."""
    cells = [[words.say("batch"), *(curve.name for curve in curves)]]
    for size in curves[0].batches:
        cells.append([f"{size:,}", *(_cell(curve, size) for curve in curves)])
    return [
        *(f"{curve.name}: {words.name(curve)}" for curve in curves),
        "",
        *columns(cells, left=0),
    ]


def _cell(curve: Curve, size: int) -> str:
    return f"{words.duration(curve, size)} {words.relative(curve, size):>5} x"


def batch_times(
    ways: Iterable[str] = WAYS, batches: Iterable[int] = batch.BATCHES, *, progress: bool = True
) -> BatchTimes:
    """Time linear layers and convolutions at growing batches, here and now.

    It takes about 10 s, by processor time of one thread. Figures that ``make gpu`` recorded on a
    GPU stand beside them.

    Args:
        ways: ``linear-1024`` and ``linear-4096`` are linear layers by BLAS; ``samples`` and
            ``pixels`` are a convolution whose lanes are samples, or places of one sample; ``loop``
            and ``one-lane`` are plain loops over the samples.
        batches: at least two batch sizes.
        progress: show what is timed, where it takes more than a second.

    Raises:
        InputError: a value that is not allowed, or more bytes than are free.
    """
    found = batch.measure(ways, batches, MOST, progress)
    return BatchTimes(found, recorded.latest())
