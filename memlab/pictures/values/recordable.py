"""Pictures of what was measured here. `make record` keeps them with their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from memlab import strings
from memlab.measure import recorded_figures, timing
from memlab.measure.timing import BenchmarkLine
from memlab.pictures.draw.page import Page, Still
from memlab.pictures.draw.table import Paragraphs
from memlab.pictures.values import timings
from memlab.pictures.values.study import Study

FIGURES = "application/vnd.memlab.figures+json"
"""The media type of the figures of a picture: threads, machine and lines, as JSON has them."""


class Recordable(Still, Study):
    """Picture whose figures can be recorded. A subclass gives the page and the figures. While they
    are recorded, the picture says below where and when, and a notebook stores the figures with
    it."""

    @property
    def lines(self) -> Sequence[BenchmarkLine]:
        """Return the figures of the picture, each with its samples, if it has any."""
        raise NotImplementedError

    @property
    def threads(self) -> int:
        """Number of threads of the measurement."""
        return 1

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        if not recorded_figures.command():
            return super()._repr_mimebundle_(**kwargs)
        machine = timing.machine()
        page = with_foot(self.page(), machine, self.threads)
        lines = [asdict(line) for line in self.lines]
        figures = {"threads": self.threads, "machine": asdict(machine), "lines": lines}
        return {"image/svg+xml": page.alone(), "text/plain": page.text(), FIGURES: figures}


def with_foot(page: Page, machine: timing.Machine, threads: int) -> Page:
    """Return a page that says below that it was recorded, how, where and when."""
    count, command = timings.on_threads(threads), recorded_figures.command()
    head = strings.get("recorded.head", date=machine.date)
    there = str(machine).removesuffix(f"; {machine.date}")
    said = strings.get("recorded.foot", command=command, threads=count, machine=there)
    return replace(
        page, blocks=[*page.blocks, Paragraphs([[(head, True), (said, False)]], 11, gap=8)]
    )
