"""The writer, the width table, axes, amounts: what every picture stands on."""

import xml.etree.ElementTree as ET
from itertools import pairwise, product
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.pictures.draw import scale
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.label_board import LabelBoard
from memlab.pictures.draw.staircases import Frame
from memlab.pictures.draw.svg import Box, Svg
from memlab.pictures.draw.theme import PAINTS, paint
from memlab.pictures.mountain.stack_parts import FLOOR, MOUNTAIN
from memlab.pictures.values import number_text as figures
from tests.rows import every_row


def test_a_text_is_as_wide_as_in_the_font():
    # "Peak 2.936 GB" in Liberation Sans at 1000 units per em, added up from the font file
    assert texts.width("Peak 2.936 GB", 1000) == 6782
    assert texts.width("Peak 2.936 GB", 1000, bold=True) == 6893
    assert texts.width("内存", 10) == 20


def test_lines_break_at_spaces_and_keep_every_word():
    text = "the peak grows by two and moves to another operation"
    lines = texts.wrap(text, 120, 12)
    assert " ".join(lines) == text
    assert all(texts.width(line, 12) <= 120 for line in lines)


def test_bold_pieces_stay_bold_over_a_break():
    lines = texts.flow_lines([("refused twice here", True), ("fits", False)], 70, 12)
    assert [bold for line in lines for _, bold in line] == [True, True, False]


@pytest.mark.parametrize("cut", [texts.fitted, texts.shortened])
def test_a_long_name_is_cut_in_one_pass(cut, monkeypatch):
    looked = Mock(wraps=texts._advance)
    monkeypatch.setattr(texts, "_advance", looked)
    assert len(cut("n" * 10_000, 200)) < 100
    assert looked.call_count < 4 * 10_000


@given(st.text("mil .…中\u0301", max_size=40), st.floats(-5, 200), st.sampled_from([9, 12, 13.5]))
def test_as_much_stays_as_fits(text, room, size):
    kept = [text[:count] for count in range(len(text) + 1)]
    if texts.width(text, size) > room:
        most = max((part for part in kept if texts.width(f"{part}…", size) <= room), key=len,
                   default="")  # fmt: skip
        assert texts.shortened(text, room, size) == f"{most.rstrip()}…"
        widest = max(room, texts.width("…", size))
        assert texts.width(texts.fitted(text, room, size), size) <= widest
    else:
        assert texts.shortened(text, room, size) == texts.fitted(text, room, size) == text


@every_row("text", ["\x1b[31m", "\uffff", "\ud800", "a\0b", "<&>\x07"])
def test_a_picture_is_well_formed_whatever_its_texts_are(text):
    svg = Svg(100, 50, "x")
    svg.text(5, 20, text)
    svg.text(5, 40, [(text, True), (text, False)])
    svg.add("g", "", data_fact=f"{text}\n{text}")
    assert ET.fromstring(svg.render(text).encode())


@pytest.mark.parametrize(("cut", "end"), [(texts.fitted, "batch"), (texts.shortened, "the ")])
def test_what_is_cut_fits(cut, end):
    text = "the same for every batch"
    short = cut(text, 60)
    assert texts.width(short, 12) <= 60
    assert "…" in short
    assert end.strip() in short
    assert cut(text, 600) == text


def test_overlapping_texts_are_seen():
    svg = Svg(200, 100, "t")
    svg.text(10, 20, "first")
    svg.text(20, 24, "second")
    svg.text(10, 60, "third")
    assert svg.collisions() == [("first", "second")]


def test_a_text_over_the_edge_is_seen():
    svg = Svg(100, 40, "t")
    svg.text(90, 20, "too far")
    svg.text(90, 20, "fits", anchor="end")
    assert svg.outside() == ["too far"]


def test_what_is_written_is_escaped():
    svg = Svg(100, 40, "t")
    svg.text(0, 20, 'a < b & "c"')
    svg.rect(Box(0, 0, 1, 1), data_value='"<')
    root = ET.fromstring(svg.render("x < y"))
    assert root.findtext("{*}text") == 'a < b & "c"'
    assert root.findtext("{*}title") == "x < y"


def test_every_paint_is_drawn_and_patterns_are_defined_once():
    svg = Svg(300, 40, "key")
    for index, fill in enumerate(PAINTS.values()):
        svg.swatch(20 * index, 20, fill)
        svg.swatch(20 * index, 36, fill)
    text = svg.render()
    ET.fromstring(text)
    patterned = [fill for fill in PAINTS.values() if fill.pattern]
    assert text.count("<pattern ") == len(patterned)
    assert 'id="key-p0"' in text


def test_neighbours_in_a_stack_differ():
    for side in (FLOOR, MOUNTAIN):
        paints = [paint(part) for part in side if part.usual]
        assert all(a != b for a, b in pairwise(paints))
    grey = {
        (fill.pattern, round(luminance(fill.colour) * fill.tint, 2)) for fill in PAINTS.values()
    }
    assert len(grey) == len(PAINTS), "two roles look alike in grey"


def luminance(colour):
    r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return 1 - (0.299 * r + 0.587 * g + 0.114 * b) / 255


# -- amounts and axes -------------------------------------------------------------------------


@every_row("seed", range(20))
def test_an_equation_adds_up_as_written(seed):
    draw = np.random.default_rng(seed)
    parts = [int(10 ** draw.uniform(3, 12)) for _ in range(2)]
    total, texts_ = figures.sum_of(sum(parts), parts)
    digits = len(total.split()[0].partition(".")[2])
    values = [
        round(float(text.replace(",", "")) * 10**digits) for text in (*texts_, total.split()[0])
    ]
    assert sum(values[:2]) == values[2]


def test_a_peak_has_always_three_digits_and_its_parts_round_to_it():
    """As the batch of a view grows, so that the peak goes through every magnitude."""
    for batch in (1.37**n for n in range(60)):
        floor, mountain = 411_400_000, int(batch * 102_440)
        total, texts_ = figures.three_digits_of_sum(floor + mountain, [floor, mountain])
        number, unit = total.split()
        assert sum(char.isdigit() for char in number) == 3 or unit == "TB"
        more = len(number.partition(".")[2]) + 1
        assert {len(part.partition(".")[2]) for part in texts_} == {more}
        written = sum(float(part.replace(",", "")) for part in texts_)
        assert abs(written - float(number.replace(",", ""))) <= 0.6 * 10 ** (1 - more)


@every_row(
    ("nbytes", "text"),
    [(502_800_000, "503 MB"), (999_600_000, "1.00 GB"), (592_745_028, "593 MB"), (999, "999 B")],
)
def test_three_digits_are_three(nbytes, text):
    assert figures.three_digits(nbytes) == text


@every_row("nbytes", [1, 84, 999, 12_345, 99_046_012, 2_935_804_128, 8 * 10**13])
def test_an_axis_is_round_and_just_long_enough(nbytes):
    axis_scale = scale.bytes_over(nbytes)
    ticks = [n for n, _ in axis_scale.ticks]
    assert nbytes * 1.04 <= axis_scale.last <= max(nbytes * 1.04 * 1.34, 8)
    assert ticks[0] == 0
    assert ticks[-1] == axis_scale.last
    assert 3 <= len(ticks) <= 7
    assert axis_scale.ticks[-1][1].endswith(axis_scale.unit)


@every_row("total", [1, 2, 7, 24, 94, 388, 1136])
def test_operations_are_numbered_from_1_to_the_last(total):
    numbers = scale.counts(total)
    assert numbers[0] == 1
    assert numbers[-1] == total
    assert numbers == sorted(set(numbers))
    assert len(numbers) <= 8


# -- staircases and places ----------------------------------------------------------------------


def frame():
    return Frame(Box(0, 0, 100, 100), 100)


def test_a_staircase_has_one_step_per_change():
    curve = np.array([10.0, 10, 20, 20, 20, 5, 5, 5, 5, 5])
    assert frame().outline(curve) == "M0.0 90.0H20.0V80.0H50.0V95.0H100.0"


def test_an_area_is_drawn_only_where_there_is_one():
    low, high = np.full(10, 10.0), np.array([10.0, 30, 30, 10, 10, 10, 10, 50, 10, 10])
    assert frame().area(low, high) == "M10.0 70.0H30.0V90.0H10.0ZM70.0 50.0H80.0V90.0H70.0Z"
    assert frame().area(low, low) == ""


def test_what_leaves_the_frame_is_cut_off():
    assert frame().heights(np.array([50.0, 250.0])).tolist() == [50.0, 0.0]


def test_a_place_is_free_and_between_the_curves():
    low, high = np.zeros(10), np.array([5.0, 5, 5, 60, 80, 80, 60, 5, 5, 5])
    board = LabelBoard([Box(57, 0, 62, 100)])
    box = board.widest(frame(), low, high, 8, 10)
    assert box is not None
    assert not box.meets(Box(57, 0, 62, 100))
    assert box.top > 20
    assert not board.free(box)


def test_where_nothing_fits_there_is_no_place():
    assert LabelBoard().widest(frame(), np.zeros(10), np.full(10, 5.0), 20, 12) is None


@every_row(("x", "y"), [*product((0, 50), (0, 50))])
def test_boxes_meet_when_they_share_a_point(x, y):
    assert Box(0, 0, 10, 10).meets(Box(x, y, x + 10, y + 10)) == (x == y == 0)
