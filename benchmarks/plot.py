"""The plot of a benchmark: its groups of timings, each as ``algorithm_times`` shows one."""

from __future__ import annotations

from dataclasses import dataclass

from memlab import strings
from memlab.errors import InputError
from memlab.measure.convolution import RIVAL
from memlab.measure.timing import Machine, Result, TimedGroup
from memlab.pictures.algorithm_times import AlgorithmRow, workspace_and_time
from memlab.pictures.draw.page import Page, Still, report
from memlab.pictures.draw.table import PageBlock, Paragraphs, Table
from memlab.pictures.values import timings
from memlab.pictures.values.number_text import duration, ratio
from memlab.pictures.values.study import Study


@dataclass(frozen=True, repr=False)
class BenchmarkTimes(Still, Study):
    """The groups of a benchmark, each as ``AlgorithmTimes`` shows one: every time also by PyTorch's
    where that took part, else by the least of its group.

    Raises:
        InputError: a result without groups of timings.
    """

    result: Result

    def __post_init__(self) -> None:
        name = self.result.benchmark
        if not self.result.groups:
            raise InputError(f"{name} has no plot; leave it out, or try convolution.")

    @property
    def title(self) -> str:
        return f"Benchmark {self.result.benchmark}"

    @property
    def sentences(self) -> list[str]:
        """The figures that have an aim."""
        return [" ".join(str(line).split()) for line in self.result.lines if line.aim is not None]

    @property
    def notes(self) -> list[str]:
        notes = [f"{line.name}." for line in self.result.lines if not line.unit]
        return [*notes, timings.where(self.result.machine)]

    def page(self) -> Page:
        blocks: list[PageBlock] = []
        for group in self.result.groups:
            blocks += [Paragraphs(group.name, 13, bold=True, gap=16), self._bars(group)]
        return report(self, *blocks, size=12, bold=0)

    def _bars(self, group: TimedGroup) -> PageBlock:
        rows, against = rows_of(group, self.result.machine)
        heads = [strings.get(f"speed.{key}") for key in ("algorithm", "workspace")]
        heads.append(timings.said("time"))
        cells = [[name, timings.workspace(each), duration(each.seconds), ratio(by)]
                 for name, each, by in rows]  # fmt: skip
        told = Table([*heads, against], cells)
        return workspace_and_time(rows, self.result.machine, f"×: {against}", told)


def rows_of(group: TimedGroup, machine: Machine) -> tuple[list[AlgorithmRow], str]:
    """The ways of a group, and what their times are divided by, for people."""
    known = {RIVAL: timings.rival(machine)}
    times = {each.name: each.seconds for each in group.timings}
    under = times.get(RIVAL) or min(times.values())
    named = known[RIVAL] if RIVAL in times else "the fastest"
    rows = [AlgorithmRow(known.get(each.name, each.name), each, each.seconds / under)
            for each in group.timings]  # fmt: skip
    return rows, f"time by that of {named}"
