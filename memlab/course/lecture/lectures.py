"""Lectures: pages that need no kernel and no network."""

from __future__ import annotations

from memlab import this_machine
from memlab.course.lecture import slides
from memlab.course.lecture.page import html
from memlab.course.lecture.slides import TIMES, Recorded
from memlab.pictures.shifted_copies.lowering import write

__all__ = ["LECTURES"]


def k2(run: bool = True) -> tuple[str, Recorded | None]:
    """The lecture on k², nine shifted copies: the page, and the run of one image on this machine
    that it shows where ``run`` is true.

    Raises:
        InputError: the run does not fit into what is free here.
    """
    recorded = record() if run else None
    return html(recorded), recorded


def record() -> Recorded:
    """Lower one image of the layer with memlab's kernel, under the meter.

    Raises:
        InputError: so much memory is not free.
    """
    otherwise = "close a program or leave the run out with --no-run"
    done = write(slides.layer(), otherwise, TIMES)
    return Recorded(done.planned, done.measured, done.seconds, this_machine.here())


LECTURES = {"k2": k2}
"""By name, what writes a lecture: the page and its recorded run."""
