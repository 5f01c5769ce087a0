"""Steps of one network side by side: for every step the stack of its roles, lying, from 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memlab import strings, units
from memlab.step.step import Step
from memlab.studies.figures import STACK, Part
from memlab.studies.runs import origin
from memlab.studies.steps import StepRow, StepStudy, compare_steps
from memlab.views.draw import text as texts
from memlab.views.draw import theme
from memlab.views.draw.chart import Axis, Chart
from memlab.views.draw.labels import Label, Text
from memlab.views.draw.marks import Fact, Mark, Rect
from memlab.views.draw.page import Page, Still
from memlab.views.draw.scale import TIGHT, Linear, Scale, bytes_over
from memlab.views.draw.table import Block, Key, Table, Words

TALL, THIN = 32, 8
"""Of a stack, and of the bar of a run under it."""
ACROSS = 6
"""So many steps stand side by side in a table."""
NAME, BEHIND = 300, 190
"""A name and what stands behind a stack take so many pixels at most."""
MEASURED = "measured"


@dataclass(frozen=True, repr=False)
class Comparison(Still):
    """Steps side by side; a notebook shows the picture, ``print`` the text, ``rows`` has the exact
    figures."""

    rows: StepStudy

    def page(self) -> Page:
        found = self.rows
        runs = [row.measured.nbytes for row in found.rows if row.measured]
        scale = bytes_over(max([row.peak.nbytes for row in found.rows] + runs), TIGHT)
        behind = 12 + max(
            texts.width(line, 12, True) for row in found.rows for line in _behind(row, found)
        )
        notes = [_say("text"), *([_say("key")] if found.measured else [])]
        heads = [_say("table.at_peak"), *(row.name for row in found.rows)]
        blocks: list[Block] = [
            Words(found.headline, 16, bold=True, cut=True),
            Key([(theme.paint(part), part.label) for part in found.slices], gap=4),
            *(block for row in found.rows for block in _step(row, found, scale, behind)),
            Chart(scale, Scale(1, 0), [], 1, Axis(rule=False), left=0, right=behind),
            *_amounts(found),
            Table(heads, found.table(), drawn=False),
            Words(found.notes, drawn=False, gap=1),
            Words(notes, 11, dim=True, told=False, gap=12),
        ]
        return Page(found.title, blocks, says=f"{found.title}. {found.headline}")


def _say(key: str, **values: object) -> str:
    return strings.get(f"comparison.{key}", **values)


def _step(row: StepRow, found: StepStudy, scale: Linear, behind: float) -> Iterator[Block]:
    """One step: its name, its stack and its run, and what stands under them."""
    name = texts.shortened(row.name, NAME, 13, True)
    yield Words([[(f"{name}:", True), (row.description, False)]], 13, told=False, gap=14)
    height = TALL + (THIN + 3 if row.measured else 0)
    marks = [*stack(row), *_names(row, found), *_run(row)]
    yield Chart(
        scale, Scale(height, 0), marks, height, Axis(labels=False, rule=False),
        left=0, right=behind, name=row.name, gap=3,
        told=[f"{row.name}: {row.description}", *filter(None, _behind(row, found)), row.facts],
    )  # fmt: skip
    yield Words(row.facts, told=False, gap=2)


def _parts(row: StepRow) -> list[tuple[Part, int]]:
    """The slices of a step that hold anything, from the left to the right."""
    return [(part, row.at_peak[part]) for part in STACK if row.at_peak[part]]


def stack(row: StepRow) -> Iterator[Mark]:
    """The slices side by side, each with its amount where that fits."""
    base = 0
    for part, nbytes in _parts(row):
        paint, fact = theme.paint(part), Fact(part.label, nbytes=nbytes, more=row.name)
        yield Rect(base, base + nbytes, 0, TALL, paint, edge=0.5, fact=fact)
        place = (base + nbytes / 2, TALL / 2, "middle", 0.0, 4.0)
        chip = bool(paint.pattern)
        yield Label(units.short(nbytes), [place], chip=chip, room=0.9 * nbytes)
        base += nbytes


def _behind(row: StepRow, found: StepStudy) -> list[str]:
    """The peak in both units, and its ratio to the first."""
    return [units.both(row.peak.nbytes), texts.shortened(found.against(row), BEHIND)]


def _names(row: StepRow, found: StepStudy) -> Iterator[Text]:
    peak, (size, against) = row.peak.nbytes, _behind(row, found)
    yield Text(peak, 0, size, dx=8, dy=14, bold=True, chip=True)
    if against:
        yield Text(peak, 0, against, dx=8, dy=29, chip=True)


def _run(row: StepRow) -> Iterator[Mark]:
    """Under the stack, the peak that a run reached."""
    if row.measured:
        nbytes, top = row.measured.nbytes, TALL + 3
        fact = Fact(origin(MEASURED), nbytes=nbytes, more=row.name)
        yield Rect(0, nbytes, top, top + THIN, theme.origin(MEASURED), fact=fact)


def _amounts(found: StepStudy) -> Iterator[Table]:
    """What each slice takes, in short, some steps at a time; the text has every byte."""
    looks = [theme.paint(part) for part in found.slices]
    for first in range(0, len(found.rows), ACROSS):
        rows = found.rows[first : first + ACROSS]
        names = [texts.shortened(row.name, 86, 11) for row in rows]
        cells = [
            [part.label, *(units.short(row.at_peak[part]) for row in rows)] for part in found.slices
        ]
        yield Table([_say("table.at_peak"), *names], cells, looks=looks, gap=10)


def comparison(
    steps: Mapping[str, Step], batch: int = 32, measure: bool = False, *, progress: bool = True
) -> Comparison:
    """What each step keeps alive at its peak, by role, and how the peaks compare with the first.

    >>> mixed = memlab.precision(step, "mixed fp16")
    >>> comparison({"fp32": step, "mixed fp16": mixed}, batch=8)

    Args:
        steps: steps of one network by the names that they are shown under.
        batch: the mini-batch size.
        measure: also run each step once on this machine, one after the other.
        progress: show how far a run is, where it takes more than a second.

    Raises:
        InputError: no steps, or of several networks; a name that is no text; a batch that a step
            does not hold for; with ``measure``, more bytes than are free (``DoesNotFitError``) or
            an operation without a kernel, before anything runs.
    """
    return Comparison(compare_steps(steps, batch, measure, progress))
