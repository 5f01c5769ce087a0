"""The lecture on k²: nine shifted copies."""

from __future__ import annotations

from memlab.views.lecture.page import page
from memlab.views.lecture.record import Recorded, record


def write(run: bool = True) -> tuple[str, Recorded | None]:
    """The page, and the run of one image on this machine that it shows where ``run`` is true.

    Raises:
        InputError: the run does not fit into what is free here.
    """
    recorded = record() if run else None
    return page(recorded), recorded
