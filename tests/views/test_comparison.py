"""The picture of steps side by side: its figures are the study's, and so is its text."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache

import pytest

import memlab
from memlab import units, views
from memlab.studies.figures import STACK
from memlab.studies.steps import Measured
from memlab.techniques.precision import MODES
from memlab.views.draw.marks import Rect
from memlab.views.steps import Comparison, stack


@cache
def steps(name="vgg16", optimizer="adam"):
    """A step in fp32 and in every mode."""
    first = memlab.training_step(memlab.zoo.build(name), optimizer)
    return {"fp32": first} | {f"as {mode}": memlab.precision(first, mode) for mode in MODES}


@cache
def compared(name="vgg16", optimizer="adam", batch=32):
    return views.comparison(steps(name, optimizer), batch)


def drawn(view):
    """The texts of the picture, none over another or over the edge."""
    svg = view.page().svg()
    assert svg.collisions() == []
    assert svg.outside() == []
    return [label.content for label in svg.labels]


CASES = [("vgg16", "adam", 32), ("resnet50", "momentum", 32), ("mnist_cnn", "sgd", 1)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_picture_and_text_show_the_figures_of_the_study(case):
    view = compared(*case)
    found, shown, text = view.rows, drawn(view), view.text()
    assert {found.title, found.headline} <= {*shown}
    for row in found.rows:
        said = [f"{row.name}: {row.description}", units.both(row.peak.nbytes)]
        against = [found.against(row)] if row is not found.first else []
        assert {*said, *against} <= {*shown}
        assert row.facts in " ".join(shown)  # it may take two lines
        assert "\n".join([*said, *against, row.facts]) in text
    for cells in found.table():
        assert re.search(r" +".join(map(re.escape, filter(None, cells))), text)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_slice_is_in_the_legend_and_has_its_amount_in_the_table(case):
    view = compared(*case)
    found, shown = view.rows, drawn(view)
    for part in STACK:
        held = [row.at_peak[part] for row in found.rows]
        if any(held):
            first = shown.index(part.label, shown.index("at the peak, bytes"))
            assert shown[first + 1 : first + 1 + len(held)] == [*map(units.short, held)]
        assert shown.count(part.label) == 2 * any(held)


def test_a_wrong_number_in_the_picture_would_be_seen():
    found = compared().rows
    part = next(part for part in STACK if found.first.at_peak[part] > 10**9)
    wrong = replace(found.first, at_peak={**found.first.at_peak, part: 1_234_567_890})
    shown = drawn(Comparison(replace(found, rows=(wrong, *found.rows[1:]))))
    assert shown.count("1.235 GB") == 2  # in its slice and in the table
    assert "1.235 GB" not in drawn(compared())


def test_slices_lie_side_by_side_from_0_as_long_as_their_bytes():
    for row in compared().rows.rows:
        slices = [mark for mark in stack(row) if isinstance(mark, Rect)]
        assert slices[0].x0 == 0
        assert [each.x0 for each in slices[1:]] == [each.x1 for each in slices[:-1]]
        assert slices[-1].x1 == row.peak.nbytes
        assert [each.fact and each.fact.nbytes for each in slices] == [
            n for n in row.at_peak.values() if n
        ]


def test_every_slice_says_its_bytes_on_hover():
    view = compared("mnist_cnn", "sgd", 1)
    facts = {each.text or "" for each in ET.fromstring(view.svg()).iterfind(".//{*}g/{*}title")}
    for row in view.rows.rows:
        for part, nbytes in row.at_peak.items():
            assert not nbytes or f"{part.label}: {nbytes:,} B; {row.name}" in facts


@pytest.mark.measures
@pytest.mark.parametrize("name", sorted(memlab.zoo.ZOO))
def test_every_network_is_drawn_without_collisions(name):
    first = memlab.training_step(memlab.zoo.build(name), "adam")
    both = {"fp32": first, "mixed fp16": memlab.precision(first, "mixed fp16")}
    for batch in (1, 32, 100_000):
        drawn(views.comparison(both, batch))


def test_long_names_and_signs_of_markup_are_drawn():
    first = steps("mnist_cnn")["fp32"]
    view = views.comparison({"a" * 200: first, "<b> & {c}": first}, 2)
    drawn(view)
    assert "<b> & {c}" in "".join(ET.fromstring(view.svg()).itertext())
    assert "<b> & {c}" in view.text()


def test_many_steps_have_several_tables():
    first = steps("linear1")["fp32"]
    view = views.comparison({f"step {index}": first for index in range(14)}, 2)
    assert drawn(view).count("at the peak, bytes") == 3


def test_a_notebook_shows_the_picture_and_print_the_text():
    view = compared()
    bundle = view._repr_mimebundle_()
    assert bundle == {"image/svg+xml": view.svg(), "text/plain": view.text()}
    assert str(view) == repr(view) == view.text()
    ET.fromstring(view.svg())
    assert views.comparison(steps(), 32).svg() == view.svg()


def test_the_bar_of_a_run_fits_on_the_axis_and_the_picture_says_what_it_is():
    found = compared("linear1", "adam", 4).rows
    peak = found.first.peak.nbytes
    more = Measured(3 * peak, 2 * peak, 0.5)
    view = Comparison(replace(found, rows=tuple(replace(r, measured=more) for r in found.rows)))
    shown = drawn(view)
    assert any(f"residual {2 * peak:,} B, 0.500 s" in line for line in shown)
    assert any(line.startswith("Under each stack, dotted") for line in shown)
    assert f"measured here: {3 * peak:,} B; fp32" in view.svg()
    ends = [chart.x.last for chart, _ in view.page().svg().charts]
    assert min(ends) >= 3 * peak
    assert "measured" not in compared().svg()
