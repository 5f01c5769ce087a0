"""Words in every picture: whole, said once, and for every colour of a role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import memlab
from memlab import views
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.marks import Area, Mark, Path, Rect, Rects
from memlab.pictures.draw.svg import Svg
from memlab.pictures.draw.theme import PAINTS, Paint
from memlab.step.tensor import Role
from tests.pictures import pages
from tests.quick import apart
from tests.rows import every_row

BLOCKS = {"addresses", "number", "shared_tile", "warp_memory"}
"""Pictures of blocks, bits and cells, each of which has its own name: a colour is no role."""
CASES = pages.without_kernels()
NAMES = {
    Role.PARAMETER: ("parameter", "weight"),
    Role.OPTIMIZER_STATE: ("state", "master copy", "velocity"),
    Role.BUFFER: ("buffer", "statistics"),
    Role.INPUT: ("input", "target", "image"),
    Role.FEATURE_MAP: ("map", "statistics", "loss"),
    Role.PARAMETER_GRADIENT: ("gradient", "de/d"),
    Role.WORKSPACE: ("workspace", "matrix"),
    Role.GRADIENT_MAP: ("gradient", "de/d"),
}
"""A word by which a picture names what has the colour of a role."""
ROLES = "|".join(["workspace", "gradient", "parameter", "forward", "backward", "update", "maps",
                  "recomputed", "state", "input"])  # fmt: skip
TWICE = re.compile(rf"(?i)(?<![.\w])({ROLES})\b\W+(?:\w+\W+)??\1\b")
"""A word of a role or a phase twice, next to each other or around one word."""


def picture(name: tuple[str, str]) -> Svg:
    return pages.page_of(CASES[name](), 820).svg()


PAGES = apart(list(CASES), lambda name: name == ("prediction_card", "02.output"))  # it runs a step


@pytest.mark.parametrize(("factory", "case"), PAGES)
def test_words_are_whole_and_said_once_and_roles_have_names(factory: str, case: str) -> None:
    name = factory, case
    svg = picture(name)
    said = [label.content for label in svg.labels]
    assert not [each for each in said if TWICE.search(each)]
    assert not list(_cut(said, pages.page_of(CASES[name]()).text()))
    words = " ".join(said).lower()
    for role in _drawn(svg) if name[0] not in BLOCKS else ():
        assert any(each in words for each in NAMES[role]), role


def _cut(said: list[str], text: str) -> Iterator[str]:
    """Labels behind an ellipsis whose first word is no whole one of the text."""
    for each in said:
        rest = each.removeprefix("…")
        if rest != each and rest[:1].isalnum():
            word = re.match(r"\w+", rest)
            if word and not re.search(rf"(?<![^\W_]){re.escape(word[0])}", text):
                yield each


def _drawn(svg: Svg) -> set[Role]:
    """The roles whose paints can be seen in the charts."""
    roles = {paint: role for role, paint in PAINTS.items()}
    return {
        roles[look]
        for chart, box in svg.charts
        for mark in chart.marks
        if (look := _look(mark)) in roles and _pixels(mark, chart, box) >= 1
    }


def _look(mark: Mark) -> Paint | None:
    look = mark.paint if isinstance(mark, Area) else getattr(mark, "look", None)
    return look if isinstance(look, Paint) else None


def _pixels(mark: Mark, chart: Any, box: Any) -> float:
    """How wide or high it is at its thickest."""
    tall: float = abs(box.bottom - box.top) / abs(chart.y.last - chart.y.first)
    wide: float = abs(box.right - box.left) / abs(chart.x.last - chart.x.first)
    if isinstance(mark, Area):
        return float((mark.high - mark.low).max()) * tall
    if isinstance(mark, Rects):
        return max((min((x1 - x0) * wide, abs(y1 - y0) * tall) for x0, x1, y0, y1 in mark.places),
                   default=0)  # fmt: skip
    if isinstance(mark, Rect):
        return float(
            min(abs(mark.x1 - mark.x0) * wide, mark.thick or abs(mark.y1 - mark.y0) * tall)
        )
    if isinstance(mark, Path):
        levels = [y for _, y in mark.points]
        return (max(levels) - min(levels)) * tall
    return 0


@every_row(
    ("name", "room", "short"),
    [
        ("conv1.backward workspace", 125, "…backward workspace"),
        ("conv1.backward workspace", 110, "…workspace"),
        ("loss.probabilities", 80, "…probabilities"),
        ("loss.probabilities", 60, "…proba…"),
        ("unbroken_words", 60, "…words"),
        ("unbroken", 40, "unbr…"),
        ("fc1", 40, "fc1"),
    ],
)
def test_a_name_is_cut_between_its_parts(name: str, room: float, short: str) -> None:
    assert texts.fitted(name, room) == short
    assert texts.width(short, 12) <= room


def test_the_cursor_and_a_workspace_are_said_once() -> None:
    view = views.memory("vgg16")
    view.cursor = view.rows.peak.index + 2
    said = [label.content for label in view.page().svg().labels]
    assert any(each.startswith("operation ") and ", backward of " in each for each in said)
    assert not [each for each in said if TWICE.search(each)]
    layer = memlab.network("one", image=(1, 4, 4)).conv(1, 3, name="conv1").squared_error()
    small = views.memory(memlab.training_step(layer, "sgd"), 1)
    said = [label.content for label in small.page().svg().labels]
    assert any("workspace" in each for each in said)
    assert not [each for each in said if TWICE.search(each)]
