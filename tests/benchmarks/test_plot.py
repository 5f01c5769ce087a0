"""The plot of a benchmark: its groups by PyTorch's time, or by the least."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.plot import BenchmarkTimes, rows_of
from memlab.errors import InputError
from memlab.measure.convolution import RIVAL
from memlab.pictures.draw.marks import Rect
from tests.pictures.measurements import FALLING, MACHINE, PLOTS, result
from tests.pictures.shown import charts, drawn


def test_a_plot_divides_by_pytorch_where_it_took_part() -> None:
    rows, against = rows_of(PLOTS["rival"].groups[0], MACHINE)
    assert against == "time by that of PyTorch 2.13"
    assert {row.timing.name: row.ratio for row in rows} == {
        t.name: t.seconds / 0.038 for t in FALLING.timings
    }


def test_a_plot_divides_by_the_fastest_where_pytorch_did_not() -> None:
    for group in PLOTS["none"].groups:
        rows, against = rows_of(group, MACHINE)
        assert against == "time by that of the fastest"
        assert min(row.ratio for row in rows) == 1
    found = BenchmarkTimes(PLOTS["none"])
    assert found.sentences == ["a mean 0.9 x aim 1 x reached"]
    assert found.notes[0] == "BLAS of scipy, core B."


@pytest.mark.parametrize("name", ["rival", "plain"])
def test_a_plot_names_every_group_and_way_and_where_it_was_measured(name: str) -> None:
    found, labels = PLOTS[name], drawn(BenchmarkTimes(PLOTS[name]))
    assert {group.name for group in found.groups} <= {*labels}
    assert {t.name for group in found.groups for t in group.timings} - {RIVAL} <= {*labels}
    notes = " ".join(labels)
    for line in found.lines:
        assert line.name in notes
    assert "2026-01-31" in notes


@pytest.mark.parametrize("name", ["rival", "plain"])
def test_a_plot_fits(name: str) -> None:
    svg = replace(BenchmarkTimes(PLOTS[name]).page(), width=500).svg()
    assert svg.collisions() == []
    assert svg.outside() == []


def test_bars_of_a_plot_are_as_long_as_their_figures() -> None:
    shown = charts(BenchmarkTimes(PLOTS["rival"]))
    for number, group in enumerate(PLOTS["rival"].groups):
        sizes, times = shown[2 * number : 2 * number + 2]
        planned = [each.workspace for each in group.timings if each.workspace]
        assert [mark.x1 for mark in sizes.marks if isinstance(mark, Rect)] == planned
        seconds = [each.seconds for each in group.timings]
        assert [mark.x1 for mark in times.marks if isinstance(mark, Rect)] == seconds


def test_a_result_without_groups_has_no_plot() -> None:
    with pytest.raises(InputError, match="convolution has no plot"):
        BenchmarkTimes(result())
