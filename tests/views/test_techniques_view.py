"""The picture of techniques: its figures are the study's, and so is its text."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache

import pytest

import memlab
from memlab import units, views
from memlab.studies import compare
from memlab.studies.techniques import Measured
from memlab.views.draw import theme
from memlab.views.techniques import SYMBOLS, Techniques, near

CASES = [("linear1", 4), ("mnist_cnn", 4), ("one layer", 4), ("deep", 4), ("resnet50", 8)]


@cache
def network(name):
    if name == "one layer":
        return memlab.network(name, image=(2, 6, 6)).conv(3, 3).flatten().cross_entropy()
    if name == "deep":
        body = memlab.network(name, image=(4, 8, 8))
        for _ in range(6):
            body = body.conv(4, 3, pad=1).relu()
        return body.flatten().linear(3).cross_entropy()
    return memlab.zoo.build(name)


@cache
def shown(name, batch):
    return views.techniques(memlab.training_step(network(name)), batch)


def as_if_run(view, other=()):
    """The same, as if every technique had run for 20 ms."""
    rows = view.rows.rows
    seen = [Measured(row.peak + 8 * len(other), 8 * len(other), 0.02, other) for row in rows]
    made = (replace(row, measured=each) for row, each in zip(rows, seen, strict=True))
    return Techniques(replace(view.rows, rows=tuple(made)))


def drawn(view):
    """The texts of the picture, none over another or over the edge."""
    svg = view.page().svg()
    assert svg.collisions() == []
    assert svg.outside() == []
    ET.fromstring(view.svg())
    return [label.content for label in svg.labels]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_picture_and_text_show_the_figures_of_the_study(case):
    view = shown(*case)
    found, labels = view.rows, drawn(view)
    for part in found.text().split("\n\n"):
        assert part in view.text()
    assert {found.title, found.headline, *found.notes()} <= {*labels}
    start = labels.index("technique")
    for row in found.rows:
        first = labels.index(found.name(row), start)
        ratios = [found.ratio(row), found.ratio(row, "no_reuse")]
        figures = [units.short(row.peak), *ratios, f"{row.again:,}", found.time(row)]
        assert labels[first + 1 : first + 7] == [*figures, found.distance(row)]
        named = f"{found.name(row)} {units.short(row.peak)}"
        assert any(each.startswith(named) for each in labels) or row not in near(found)


def test_no_reuse_is_at_the_edge_only_where_it_is_far_off():
    assert "no reuse: 2.270 GB →" in drawn(shown("resnet50", 8))
    assert not any("→" in each for each in drawn(shown("mnist_cnn", 4)))


def test_techniques_are_told_apart_without_colour():
    for case in CASES:
        keys = [row.key for row in shown(*case).rows.rows if row.key != "within"]
        looks = {(shape, full) for shape, _, full in (theme.symbol(SYMBOLS[key]) for key in keys)}
        assert len(looks) == len(keys)
    assert SYMBOLS["within"] == SYMBOLS["chain"]  # one technique, told apart by name


def test_points_and_lines_of_the_table_say_more_on_hover():
    view = as_if_run(shown("deep", 4))
    facts = {each.text or "" for each in ET.fromstring(view.svg()).iterfind(".//{*}g/{*}title")}
    for row in view.rows.rows:
        name = view.rows.name(row)
        assert any(fact.startswith(name) and row.call in fact for fact in facts)
        if row in near(view.rows):
            assert any(fact.startswith(f"{name}: {row.peak:,} B; time ") for fact in facts)
            assert any(fact.startswith(f"{name}: {row.peak:,} B; 20.0 ms") for fact in facts)


def test_what_has_run_stands_in_a_table_of_its_own():
    view = as_if_run(shown("deep", 4), ("gradients",))
    labels = drawn(view)
    start = labels.index("measured here, bytes")
    for row in view.rows.rows:
        first = labels.index(view.rows.name(row), start)
        assert labels[first + 1 : first + 3] == [f"{row.peak + 8:,}", "8"]
        assert labels[first + 5] == "other results than plain: gradients"
    assert any(each.startswith("×: measured here") for each in labels)


def test_what_is_left_out_is_said(monkeypatch):
    inference = views.techniques(memlab.inference_step(network("mnist_cnn")), 4)
    assert any(each.startswith("Left out: recompute.") for each in drawn(inference))
    monkeypatch.setattr(compare, "LONGEST", 5)
    long = views.techniques(memlab.training_step(network("deep")), 4)
    assert any(each.startswith("Left out: greedy and chain.") for each in drawn(long))


def test_a_budget_of_another_kind_is_read():
    view = views.techniques(memlab.training_step(network("deep")), 4, budget="50 kB")
    assert view.rows.budget == 50_000
    assert "Budget of the chain: 50,000 B, as given." in drawn(view)
