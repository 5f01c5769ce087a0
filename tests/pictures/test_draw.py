"""The picture language by itself: widths, lines, scales, tables, charts, and their lowerings."""

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from memlab.pictures.draw import scale, theme
from memlab.pictures.draw.alternatives import NamedLine, Names, drawn, with_names_below
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.label_board import spread_heights
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import Area, Fact, Line, Points, Rect, Rule, Stairs
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.svg import NARROWEST
from memlab.pictures.draw.table import Key, Paragraphs, SideBySide, Table
from memlab.pictures.draw.text import flow_lines, plain, width, wrap
from memlab.step.tensor import Role
from tests.rows import every_row

HEIGHTS = np.array([1.0, 3.0, 2.0, 5.0])
CHINESE = "特征图在前向传播中产生，并一直保留到反向传播读取它为止。"


def chart(**more: object) -> Chart:
    marks = [
        Area(0 * HEIGHTS, HEIGHTS, theme.PAINTS[Role.FEATURE_MAP], fact=Fact("maps", "B·C", 5)),
        Stairs(HEIGHTS, "limit"),
        ChartText(0, 4, "a text"),
    ]
    given = {"x_axis": Axis("operations"), "y_axis": Axis("bytes")} | more
    return Chart(scale.operations(4), scale.counts_over(5), marks, 120, **given)  # type: ignore[arg-type]  # options by name


# -- text ---------------------------------------------------------------------------------------


def test_lines_break_at_spaces_and_join_to_the_same_text() -> None:
    text = "A sentence whose words are wrapped into several short lines, and none is lost."
    lines = wrap(text, 120)
    assert len(lines) > 3
    assert " ".join(lines) == text
    assert max(map(width, lines)) <= 120


def test_chinese_and_japanese_wrap_between_characters_but_before_no_full_stop() -> None:
    lines = wrap(CHINESE, 130)
    assert len(lines) > 2
    assert "".join(lines) == CHINESE
    assert max(map(width, lines)) <= 130 + 12  # a mark may hang over
    assert not [line for line in lines if line[0] in "，。"]
    assert wrap("「メモリ」は足りない", 30)[0].startswith("「メ")


def test_bold_pieces_keep_their_weight_and_a_space_between() -> None:
    (line,) = flow_lines([("bold", True), ("plain words", False)], 500, 12)
    assert line == [("bold ", True), ("plain words", False)]
    assert plain(line) == "bold plain words"


# -- scales -------------------------------------------------------------------------------------


@every_row(
    ("axis_scale", "ticks"),
    [
        (scale.bytes_over(2_200_000_000), ["0", "0.5", "1", "1.5", "2", "2.5 GB"]),
        (scale.bytes_over(1_250, scale.TIGHT), ["0", "250", "500", "750", "1,000", "1,250 B"]),
        (scale.powers_around([1.0, 8.0]), ["1", "2", "4", "8"]),
        (scale.powers_around([3.0], 10), ["1", "10"]),
        (scale.operations(5), ["1", "2", "3", "4", "5"]),
        (scale.operations(160), ["1", "50", "100", "160"]),
        (scale.band(["a", "b"]), ["a", "b"]),
        (scale.seconds_over([0.0021]), ["0", "0.5", "1", "1.5", "2", "2.5 ms"]),
    ],
)
def test_an_axis_has_round_ends_and_few_labels(axis_scale: scale.Scale, ticks: list[str]) -> None:
    assert [label for _, label in axis_scale.ticks] == ticks
    assert all(0 <= axis_scale.at(value) <= 1 for value, _ in axis_scale.ticks)


def test_a_logarithmic_scale_takes_arrays_and_holds_what_is_too_small() -> None:
    powers = scale.powers_around([1.0, 16.0])
    assert powers.at(np.array([0.0, 1.0, 4.0, 16.0])).tolist() == [0.0, 0.0, 0.5, 1.0]
    assert powers.at(4) == 0.5


def test_labels_spread_apart_in_order_and_stay_inside() -> None:
    places = spread_heights([10, 11, 12, 90], 15, 0, 100)
    assert places == sorted(places)
    assert min(b - a for a, b in pairwise(places)) >= 15
    assert places[-1] <= 100


# -- charts and pages ---------------------------------------------------------------------------


def test_a_chart_outlines_the_state_before() -> None:
    now, both = (Page("t", [chart(previous=p)]).render() for p in ([], [Stairs(HEIGHTS / 2)]))
    assert now.count('class="before"') == 0
    assert both.count('class="before"') == 1


@every_row(
    "mark",
    [
        Area(0 * HEIGHTS, HEIGHTS, theme.PAINTS[Role.INPUT]),
        Line([(0, 1), (4, 5)], 1, dashed=True),
        Points([(1, 1)], 2),
        Rect(0, 1, 0, 2, theme.PAINTS[Role.WORKSPACE]),
        Rule(y=2, look="limit"),
    ],
)
def test_every_mark_has_an_outline_without_a_colour_of_its_own(mark: object) -> None:
    old = Chart(scale.operations(4), scale.counts_over(5), [], 90, previous=[mark])  # type: ignore[list-item]  # any mark
    svg = Page("t", [old]).render().split("</defs>")[1]
    assert 'class="before"' in svg or "hollow" in svg
    assert "#" not in svg.replace('href="#', "")


def test_a_label_moves_clear_of_marks_or_is_left_out() -> None:
    places = [(2.0, 3.0, "start", 4.0, 0.0), (2.0, 3.0, "start", 4.0, -20.0)]
    covered = Rule(y=3, look="rule")
    free = Page("t", [chart()]).svg()
    for kept, count in ((False, 1), (True, 1)):
        label = Label("name", places, kept=kept)
        marks = [covered, label]
        svg = Page("t", [Chart(scale.operations(4), scale.counts_over(5), marks, 120)]).svg()
        names = [each for each in svg.labels if each.content == "name"]
        assert len(names) == count
        assert names[0].box.bottom < svg.charts[0][1].bottom - 120 * 3 / 8
    assert not [each for each in free.labels if each.content == "name"]
    blocked = Label("name", places[:1])
    svg = Page(
        "t", [Chart(scale.operations(4), scale.counts_over(5), [covered, blocked], 90)]
    ).svg()
    assert not [each for each in svg.labels if each.content == "name"]


def test_a_mark_says_its_fact_where_a_pointer_or_the_focus_finds_it() -> None:
    assert 'data-fact="maps: B·C = 5 B"' in Page("t", [chart()]).render()
    fact = Fact("y", "4·B", 1024, "linear", "relu", "kept")
    assert str(fact) == "y: 4·B = 1,024 B; made by linear; last read by relu; kept"


def test_the_text_of_a_page_has_its_blocks_in_paragraphs() -> None:
    page = Page(
        "A title",
        [
            Paragraphs("One.", 16, bold=True),
            Paragraphs(["Two.", "Three."]),
            Key([(0, "never told")]),
            Table(["name", "bytes"], [["a", "1,000"], ["b", "20"]], title="All"),
            Paragraphs("Seen only.", told=False),
            Paragraphs("Said only.", drawn=False),
        ],
    )
    assert page.text() == (
        "A title.\nOne.\nTwo.\nThree.\n\nAll\nname   bytes\na      1,000\nb         20\n\n"
        "Said only."
    )
    drawn = [label.content for label in page.svg().labels]
    assert "Seen only." in drawn
    assert "Said only." not in drawn


@every_row("wide", [360, 500, 820, 1200])
def test_a_page_fits_its_width(wide: int) -> None:
    text = "Words that flow to the width of their page, whatever it is. "
    table = Table(["name", "bytes"], [["a long name of a layer, block 3", "1,000,000"]])
    page = Page(
        text * 2, [Paragraphs(text * 4), SideBySide([(chart(), 2), (table, 1)]), table], wide
    )
    svg = page.svg()
    assert svg.collisions() == []
    assert svg.outside() == []


def test_on_a_phone_the_cells_of_a_row_without_room_stand_below_each_other() -> None:
    heads, row = ["operation", "planned", "measured"], ["backward of conv2, its weights"]
    table = Table(heads, [[*row, "102,760,448 B of 1 step", "102,760,448 B of 1 step"]])
    wide, narrow = (Page("t", [table], width).svg() for width in (500, NARROWEST))
    assert len({label.box.bottom for label in wide.labels}) == 3
    assert [label.content for label in narrow.labels][-2:] == [
        "measured",
        "102,760,448 B of 1 step",
    ]
    assert narrow.outside() == []
    assert narrow.collisions() == []


def test_on_a_phone_blocks_and_names_stand_below_each_other() -> None:
    line = NamedLine(["a name that is long"], [(0, 0), (1, 1)], [Fact("f")], (1, 1))
    chart = Chart(scale.Scale(0, 1), scale.Scale(0, 1), [*drawn([line]), Names([line], 30, 34)], 90,
                  right=250)  # fmt: skip
    page = Page("t", [SideBySide([(with_names_below(chart), 1), (Paragraphs("beside"), 1)])])
    name, beside = replace(page, width=NARROWEST).svg().labels[-2:]
    assert (name.content, beside.content) == (line.name[0], "beside")
    assert name.box.bottom < beside.box.top
    (_, frame), *_ = replace(page, width=NARROWEST).svg().charts[-1:]
    assert frame.right > NARROWEST - 20


@pytest.mark.parametrize("width", [NARROWEST, 820])
def test_a_table_without_rows_has_its_heads_alone(width: float) -> None:
    table = Table(["line at byte", "values", "thread"], [], align="><>", title="Loads")
    svg = Page("A title", [table], width=width).svg()
    assert {"Loads", "values", "thread"} <= {label.content for label in svg.labels}


def test_a_figure_has_the_chart_as_axes_in_its_own_values() -> None:
    pytest.importorskip("matplotlib")
    page = Page("A title", [Paragraphs("Said."), chart(), Key([(0, "way"), ("before", "old")])])
    figure = page.figure()
    sheet, axes = figure.axes
    assert {"A title", "Said.", "way", "old"} <= {text.get_text() for text in sheet.texts}
    assert axes.get_xlim() == (0, 4)
    assert axes.get_ylim() == (0, 8)
    assert [label.get_text() for label in axes.get_yticklabels()][-1] == "8"
    assert "a text" in {text.get_text() for text in axes.texts}
    figure.canvas.draw()


@pytest.mark.measures
def test_a_picture_loads_no_matplotlib() -> None:
    code = (
        "import sys, memlab; from tests.pictures.test_draw import chart;"
        "from memlab.pictures.draw.page import Page; Page('t', [chart()]).render();"
        "print([name for name in sys.modules if name.startswith('matplotlib')])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "[]"
