"""The shifted copies: traced from the index map, in bytes of the plan, drawn, told, and steered."""

import json
import re
import time
import xml.etree.ElementTree as ET
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import free_memory, strings, views
from memlab.errors import InputError
from memlab.kernels.cpu.conv.im2col import im2col
from memlab.lesson.material import quantities
from memlab.networks import zoo
from memlab.pictures.memory.step_memory import Budget
from memlab.pictures.shifted_copies import lowering as lowered
from memlab.pictures.shifted_copies.cells import CLASSES, PITCH, CopiedCells, runs
from memlab.pictures.shifted_copies.lowering import (
    BATCHES,
    WAYS,
    Lowering,
    Written,
    amount,
    card,
    of_layer,
    times,
)
from memlab.pictures.shifted_copies.page import CARD, CopiesPageInputs, page_of
from memlab.pictures.shifted_copies.small_picture import KERNELS, LETTER, kinds, lower
from memlab.pictures.shifted_copies.view import LAYERS
from memlab.pictures.values.number_text import hundredths
from memlab.pictures.values.step_recipe import network_of
from tests.pictures.test_pages import numerals

FREE = 4_200_000_000
DONE = Written(115_605_504, 115_605_504, 0.0093)
NS = "{http://www.w3.org/2000/svg}"


def lowering(layer="conv1_2", network="vgg16", **given):
    return Lowering(**of_layer(network_of(network), layer, {"batch": 128, **given}))


drawn_small = pytest.mark.parametrize(
    "small", [lower(3), lower(5, 2, "none"), lower(1, 2)], ids=lambda one: one.key
)


def shown(layer="conv1_2", network="vgg16", free=FREE, pin="", **given):
    """What a page is made from: settings of the layer, and those of the page."""
    page = {key: given.pop(key) for key in ("done", "moving", "width", "numbers") if key in given}
    found = lowering(layer, network, **given)
    budgets = (CARD, Budget("free", free, live=True)) if free is not None else (CARD,)
    return CopiesPageInputs(found, found.small.parse(pin), budgets=budgets, **page)


def drawn(one):
    return page_of(one).svg()


def labels(one):
    return [label.content for label in drawn(one).labels]


def told(one):
    return page_of(one).text()


@pytest.fixture
def view():
    return views.shifted_copies(free=False)


def send(view, *events):
    view._receive(view, {"number": 1, "events": [event("text"), *events]}, [])
    return view.now_["shown"]


def event(name, value=None, dragging=False):
    return {"name": name, "value": value, "dragging": dragging}


# -- the small picture is the index map -----------------------------------------------------------


def by_windows(k, stride, pad):
    """The same copies, from NumPy's windows over a padded picture of pixel numbers."""
    rim = k // 2 if pad == "same" else 0
    image = np.pad(np.arange(64).reshape(8, 8), rim, constant_values=-1)
    found = np.lib.stride_tricks.sliding_window_view(image, (k, k))[::stride, ::stride]
    return found.transpose(2, 3, 0, 1).reshape(k * k, -1)


@drawn_small
def test_copies_are_windows_over_the_padded_picture(small):
    copies = [[-1 if n is None else n for n in copy] for copy in small.copies]
    assert copies == by_windows(small.k, small.stride, small.pad).tolist()


@pytest.mark.measures
@drawn_small
def test_copies_are_what_the_kernel_writes(small):
    image = np.arange(1, 65, dtype=np.float32).reshape(1, 8, 8)
    k, places = small.k, small.places
    matrix = np.empty((1, k, k, places, places), np.float32)
    im2col(image, matrix, small.stride, k // 2 if small.pad == "same" else 0, 1)
    copies = [[0 if n is None else n + 1 for n in copy] for copy in small.copies]
    assert copies == matrix.reshape(k * k, -1).tolist()


def test_values_and_zeros_add_up():
    small, strided = lower(3), lower(3, 2)
    assert (small.cells - small.zeros, small.zeros) == (484, 92)
    assert small.factor == 9
    assert (strided.cells - strided.zeros, strided.zeros) == (121, 23)
    assert not lower(1).made
    assert lower(1, 2).made


def test_counts_are_those_of_the_first_copies():
    small = lower(3)
    assert Counter(small.counts(9)) == {9: 36, 6: 24, 4: 4}
    assert set(small.counts(0)) == {0}
    assert small.counts(5) == tuple(
        sum(copy.count(pixel) for copy in small.copies[:5]) for pixel in range(64)
    )
    for pixel in range(64):
        assert len(small.pin("pixel", pixel).stands) == small.counts(9)[pixel]


WAYS_BY_SIGN = {(0, 1): "down", (0, -1): "up", (1, 1): "right", (1, -1): "left"}


@drawn_small
def test_the_words_of_a_shift_are_where_the_pixels_went(small):
    """From where a pixel stands in the copy of the oracle, and where it stood in the picture."""
    for index, copy in enumerate(by_windows(small.k, small.stride, small.pad).tolist()):
        place, pixel = next((at, n) for at, n in enumerate(copy) if n >= 0)
        stood, stands = divmod(pixel, 8), divmod(place, small.places)
        shift = [small.stride * now - then for now, then in zip(stands, stood, strict=True)]
        ways = [f"{abs(n)} {WAYS_BY_SIGN[axis, n // abs(n)]}" for axis, n in enumerate(shift) if n]
        said = small.shifted(index)
        assert said.endswith(f"moved {' and '.join(ways)}") if ways else "unshifted" in said


@drawn_small
def test_what_a_copy_reads_is_what_it_holds(small):
    letter = "".join(LETTER)
    for index, copy in enumerate(small.copies):
        rows, columns = small.reads(index, small.places)
        inside = [
            letter[y * 8 + x] if 0 <= y < 8 and 0 <= x < 8 else "0" for y in rows for x in columns
        ]
        assert "".join(inside) == kinds(copy)


@pytest.mark.parametrize(("pixel", "times"), [(37, 9), (3, 6), (0, 4)])
def test_a_pixel_stands_where_the_oracle_says(pixel, times):
    pin = lower(3).pin("pixel", pixel)
    where = np.argwhere(by_windows(3, 1, "same") == pixel)
    assert [list(stand) for stand in pin.stands] == where.tolist()
    assert len(pin.stands) == times
    assert len(pin.until(2)) == int((where[:, 0] < 2).sum())


def test_a_place_is_a_column_of_the_matrix():
    pin = lower(3).pin("place", 8)
    column = by_windows(3, 1, "same")[:, 8]
    assert pin.zeros == int((column < 0).sum()) == 3
    letter = "".join(LETTER)
    assert lower(3).column(8, 9) == "".join("0" if n < 0 else letter[n] for n in column)
    assert lower(3).window(1, 0) == (0, -1)


@drawn_small
def test_a_place_and_the_pixel_in_the_centre_of_its_window(small):
    """From the oracle, there and back."""
    centres = by_windows(small.k, small.stride, small.pad)[small.k**2 // 2].tolist()
    for place, pixel in enumerate(centres):
        assert small.opposite(small.pin("pixel", pixel)) == ("place", place)
        assert small.opposite(small.pin("place", place)) == ("pixel", pixel)


def test_the_nearest_place_where_no_window_has_its_centre():
    assert lower(3, 2).opposite(lower(3, 2).pin("pixel", 63)) == ("place", 15)
    bare = lower(3, 1, "none")
    assert bare.opposite(bare.pin("pixel", 0)) == ("place", 0)
    assert bare.opposite(bare.pin("pixel", 63)) == ("place", 35)


# -- the figures are those of the plan ------------------------------------------------------------


@pytest.mark.parametrize(("layer", "how"), [("conv1_2", "im2col-tile"), ("conv3_2", WAYS[0])])
def test_bytes_are_those_of_a_plan(layer, how):
    """The workspace of the whole step, before this study was thought of."""
    step = memlab.lowering(memlab.training_step(zoo.build("vgg16")), how)
    op = next(op for op in step.ops if op.name == layer)
    for batch in (1, 100, 128):
        found = lowering(layer, batch=batch, how=how)
        assert found.total == sum(tensor.size.at(batch) for tensor in op.workspace.values())
        assert found.source == op.reads["x"].size.at(batch)


@pytest.mark.parametrize(
    ("k", "stride", "pad"), [(3, 1, "same"), (5, 2, "none"), (1, 2, "same"), (1, 1, "none")]
)
def test_the_formula_multiplies_out(k, stride, pad):
    found = lowering(k=k, stride=stride, pad=pad)
    if (k, stride) == (1, 1):
        assert (found.total, found.count) == (0, 0)
        return
    assert found.total == quantities.lowered(found.node, 128).nbytes
    _, numbers, total = found.formula.replace("²", "**2").replace("·", "*").split(" = ")
    assert eval(numbers.removesuffix(" B")) == found.total
    assert int(re.sub(r"\D", "", total)) == found.total
    written = found.ratio.replace("²", "**2").replace("·", "*")
    assert Fraction(found.total, found.source) == found.factor == found.end
    assert abs(eval(written) - float(found.factor)) < 1e-12


@pytest.mark.parametrize("how", WAYS[1:3])
def test_every_step_writes_an_equal_part(how):
    parts = [lowering(how=how, step=step).written for step in range(10)]
    assert parts == [n * (parts[9] // 9) for n in range(10)]
    assert parts[9] == lowering(how=how).total


def test_the_figures_that_the_lesson_tells():
    found = lowering(step=5)
    assert (found.source, found.written, found.total) == (
        1_644_167_168, 8_220_835_840, 14_797_504_512,
    )  # fmt: skip
    assert found.lines()[1] == (
        "Step 5 of 9: copy (ky=1, kx=1) written, the unshifted picture. 64 values, 0 zeros."
    )
    assert "Factor now 5.00, at the end 9.00 = 3²/1²." in "\n".join(found.lines())
    whole = lowering()
    assert (whole.values, whole.zeros, whole.cells) == (484, 92, 576)
    assert lowering(k=7).total == 80_564_191_232
    assert lowering(stride=2).factor == Fraction(9, 4)
    assert lowering("conv1", "resnet50").factor == Fraction(49, 4)


@pytest.mark.parametrize("given", [{}, {"how": "im2col-tile"}])
def test_the_largest_batch_is_exact(given):
    need = lowering(**given).workspace
    for room in (4_200_000_000, 12 * 10**9):
        largest = need.largest(room)
        if largest is None:
            assert need.size.per_sample == 0
            assert need.size.fixed <= room
        else:
            assert need.size.at(largest) <= room < need.size.at(largest + 1)
    assert need.largest(1) == 0


def test_one_by_one_makes_no_copy():
    found = lowering("1.2.conv1", "resnet50")
    assert found.pointwise
    assert (found.total, found.count, found.written) == (0, 0, 0)
    assert "1 × 1: the matrix is the input, so no copy is made." in "\n".join(found.lines())
    quarter = lowering("1.2.conv1", "resnet50", stride=2)
    assert (quarter.count, quarter.factor) == (1, Fraction(1, 4))
    assert not lowering(how="direct").pointwise


def test_a_tile_is_a_strip_of_every_copy():
    found = lowering(how="im2col-tile")
    assert (found.cells, found.values + found.zeros) == (72, 72)
    strip = [kinds(copy[:8]) for copy in found.small.copies]
    assert found.zeros == sum(cells.count("0") for cells in strip)
    assert found.total == found.workspace.parts[0].size.at(1)


def test_a_layer_that_no_network_has_is_made_up():
    assert not lowering().made_up
    assert "other settings" not in lowering().title
    for changes in ({"k": 5}, {"stride": 2}, {"pad": "none"}):
        assert lowering(**changes).title.startswith("VGG-16 conv1_2 with other settings: ")


def test_every_convolution_of_the_zoo_is_drawn_or_refused_in_a_sentence():
    networks = [zoo.build(name) for name in zoo.ZOO]
    nodes = [(one, node) for one in networks for node in lowered.convolutions(one)]
    drawn = [node for _, node in nodes if lowered.settings(node)]
    for network, node in nodes:
        if lowered.settings(node):
            assert Lowering(**of_layer(network, node.name, {})).source
        else:
            with pytest.raises(InputError, match="give k, stride and pad"):
                of_layer(network, node.name, {})
    assert len(drawn) > 0.95 * len(nodes)


# -- drawn ----------------------------------------------------------------------------------------

SETTINGS: list[dict[str, Any]] = [
    {"step": 0},
    {"k": 5, "stride": 2, "pad": "none", "how": "im2col-image", "numbers": True},
    {"pin": "place:15", "stride": 2, "step": 4},
    {"pin": "pixel:63", "k": 1, "pad": "none", "stride": 2},
    {"batch": 1_000_000, "done": DONE},
    {"done": Written(0, 0, 0.0)},
    {"free": 0},
    {"free": 15_000_000_000, "k": 7, "numbers": True},
    {"free": 10**12},
    {"how": "im2col-tile", "pin": "place:9", "moving": True},
    {"layer": "1.2.conv1", "network": "resnet50"},
    {"layer": "conv1", "network": "googlenet", "how": "direct"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: str(one)[:60])
@pytest.mark.parametrize("width", [480, 660])
def test_every_setting_is_drawn_without_collisions(settings, width):
    svg = drawn(shown(**settings, width=width))
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11
    ET.fromstring(svg.render("title"))


def test_one_scale_for_every_kernel():
    """7 x 7 is as large beside 3 x 3 as it is."""
    for width in (480, 820):
        wide = shown(width=width)
        assert wide.cell == shown(width=width, k=7).cell
        assert wide.left + (7 * PITCH - 1) * wide.cell <= width
        assert 64 * wide.cell <= width
    heights = [drawn(shown(k=k)).height for k in KERNELS[1:]]
    assert heights == sorted(set(heights))


def test_drawn_cells_are_those_of_the_copy():
    """The runs of a row, put back together from the path."""
    cells = kinds(lower(3).copies[0])
    assert read_back(ET.fromstring(f"<g>{runs(cells, 8)}</g>"), 8) == cells


def read_back(found, columns):
    names = {f"{name}-run": kind for kind, name in CLASSES.items()}
    drawn = {}
    for path in found:
        kind = names.get(path.get("class"))
        for x, y, wide in re.findall(r"M(\d+) (\d+)\.5h(\d+)", path.get("d", "") if kind else ""):
            for i in range(int(wide)):
                drawn[int(y) * columns + int(x) + i] = kind
    return "".join(drawn[i] or "" for i in sorted(drawn))


@drawn_small
def test_drawn_copies_and_rows_are_those_of_the_oracle(small):
    svg = drawn(shown(k=small.k, stride=small.stride, pad=small.pad)).render()
    cells = [part for part in ET.fromstring(svg).iter(f"{NS}g") if part.get("data-copy")]
    letter = "".join(LETTER)
    half = len(cells) // 2
    for index, copy in enumerate(by_windows(small.k, small.stride, small.pad).tolist()):
        wanted = "".join("0" if n < 0 else letter[n] for n in copy)
        ky, kx = divmod(index, small.k)
        x, y = map(float, re.findall(r"[\d.]+", cells[index].get("transform", "")))
        assert (x - 19, y) == (kx * PITCH, ky * PITCH)
        assert read_back(cells[index], small.places) == wanted
        assert read_back(cells[half + index], small.places**2) == wanted


TOKEN = re.compile(r"\d[\d,.]*\d|\d")


def tokens(text):
    return set(TOKEN.findall(text))


def drawn_and_told(one):
    """Numbers of the picture, and those that it may show: of the text, and its axes."""
    text = told(one)
    exact = [int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d(?= B)", text)]
    known = tokens(text) | tokens(" ".join(amount(n) for n in exact))
    axis = tokens("0 4 8 12 16") | {str(n) for n in range(one.lowering.k)}
    rooms = "".join(hundredths(room.nbytes) for room in one.budgets) + card("12 GB card")
    return tokens(" | ".join(labels(one))), known | axis | tokens(rooms)


@pytest.mark.parametrize(
    "settings", [s for s in SETTINGS if s.get("k") != 7], ids=lambda one: str(one)[:60]
)
def test_the_picture_shows_the_numbers_of_the_text(settings):
    in_picture, known = drawn_and_told(shown(**settings))
    assert in_picture - known == set()


def test_a_wrong_number_in_the_picture_would_be_seen():
    wrong = tokens(" | ".join(labels(shown(batch=77))))
    assert wrong - drawn_and_told(shown())[1]


def test_the_bar_breaks_where_the_ruler_ends():
    assert "80.56 GB →" in labels(shown(k=7))
    assert "80.56 GB: 5.04 times this ruler of 16 GB →" in labels(shown(k=7, numbers=True))
    refused = (
        "Refused here: the copy needs 80.56 GB, but only 4.20 GB are free. "
        "The largest batch that fits is 6."
    )
    assert refused in told(shown(k=7))
    assert "this bar is too small to see" in labels(shown(how="im2col-tile"))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, ""),
        ({"how": "im2col-image"}, "above: the copy of 1 image, the input of 128"),
        ({"how": "im2col-image", "batch": 1, "pad": "none"}, "the edge counts more here"),
        ({"how": "im2col-tile"}, "a tile is a larger part here"),
        ({"pad": "none", "step": 0}, ""),
        ({"layer": "4.2.conv2", "network": "resnet50", "pad": "none"}, "the edge counts less here"),
    ],
)
def test_two_factors_on_a_picture_are_told_apart(settings, reason):
    one = shown(**settings)
    found, text = one.lowering, " ".join(labels(shown(**settings, numbers=True)))
    assert f"this 8 × 8 picture: {times(found.covered)} ×" in text
    assert bool(reason) == (times(found.covered) != times(found.now))
    assert found.why == reason
    assert reason in " ".join(labels(one))
    assert len(numerals(labels(shown(free=None, **settings)))) <= 12
    assert f"times the 64 of the picture{f': {reason}' if reason else '.'}" in told(one)


def test_the_text_of_a_step():
    assert "Up to this step 8,220,835,840 B of 14,797,504,512 B." in told(shown(step=5))
    bare = told(shown(pad="none", free=None))
    assert "9.00" not in bare
    assert "9²" not in bare
    assert "≈ 8.84" in bare
    assert "324 cells of 324, 5.06 times the 64 of the picture" in bare
    text = told(shown(step=0, k=7, done=DONE))
    assert "Step 0 of 49: nothing is copied in the picture yet." in text
    assert "1 image was written here in 9.3 ms: planned 115,605,504 B" in text
    assert "the copy alone does not fit" in text
    assert "and 48 of 50,176 in the layer" in told(shown(how="im2col-tile"))


def test_one_by_one_says_how_many_make_no_copy():
    text = told(shown("1.2.conv1", "resnet50"))
    assert "1 × 1: the matrix is the input, so no copy is made." in text
    assert "33 of its 53 convolutions are 1 × 1 with stride 1 and make no copy" in text
    assert "ResNet-50 itself" not in text
    made_up = shown(k=1)
    assert "VGG-16 with its own settings: 0 of its 13 convolutions" in told(made_up)
    heading = "VGG-16 with its own settings, its 13 convolutions in order"
    assert heading in labels(made_up)
    assert ": 1 copy of 4 × 4, " in told(shown("1.2.conv1", "resnet50", stride=2))


# -- what a mark says -----------------------------------------------------------------------------


def facts(one):
    found = ET.fromstring(drawn(one).render()).iter()
    return [part.get("data-fact") for part in found if part.get("data-fact")]


def test_bars_say_their_bytes_and_cells_where_they_stand():
    said = facts(shown())
    assert "input: 128·64·224·224·4 B = 1,644,167,168 B" in said
    assert "lowered copy: 128·64·3²·224·224·4 B = 14,797,504,512 B" in said
    assert "12 GB card (2023): 12,000,000,000 B" in said
    assert "input pixel, row 5, column 6: in 9 copies" in said
    assert "input pixel, row 1, column 1: in 4 copies" in said
    copy = "copy 1 (ky=0, kx=0): the picture, moved 1 down and 1 right; 49 values, 15 zeros"
    assert copy in said
    assert "1.2.conv1: 0 B" in facts(shown("1.2.conv1", "resnet50"))


def test_the_bytes_before_are_a_dashed_outline(view):
    assert 'class="before"' not in view.svg()
    view.k = 5
    assert 'class="before"' in view.svg()


# -- pins -----------------------------------------------------------------------------------------


def test_a_pin_in_words():
    text = told(shown(pin="pixel:3", step=2))
    assert "This pixel (row 1, column 4) is in 6 copies." in text
    assert "Written so far: 2." in text
    place = told(shown(pin="place:8"))
    assert "Output place 9 (row 2, column 1): its window of 3 × 3 is column 9" in place
    assert "6 values and 3 zeros." in place


@pytest.mark.parametrize("pin", ["pixel:0", "place:8"])
def test_marks_stand_on_the_cells_of_the_oracle(pin):
    one = shown(pin=pin)
    where = np.argwhere(by_windows(3, 1, "same") == int(pin[6:]))
    if pin == "place:8":
        where = np.array([(index, 8) for index in range(9)])
    marks = CopiedCells(one.lowering, (19, 0), one.pin).marks()
    ring = dict(marks)["thin-look"]
    spots = {(float(x), float(y)) for x, y in re.findall(r"M([-\d.]+) ([-\d.]+)h", ring)}
    for index, place in where.tolist():
        x, y = 19 + index % 3 * PITCH + place % 8, index // 3 * PITCH + place // 8
        assert (x - 0.4, y - 0.4) in {(round(a, 1), round(b, 1)) for a, b in spots}


def keyed(view, *keys):
    send(view, *(event("key", key) for key in keys))
    return view.pin


def test_keys_move_a_pin(view):
    assert keyed(view, "ArrowRight") == "pixel:36"
    moves = [("ArrowRight", 37), ("ArrowDown", 45), ("ArrowLeft", 44), ("ArrowUp", 36)]
    assert [keyed(view, key) for key, _ in moves] == [f"pixel:{number}" for _, number in moves]
    assert keyed(view, "Home") == keyed(view, "ArrowUp") == "pixel:0"
    assert keyed(view, "End") == keyed(view, "ArrowDown") == "pixel:63"
    assert keyed(view, "Escape", "ArrowRight", "Enter") == "place:36"
    assert keyed(view, "Enter") == "pixel:36"
    assert keyed(view, "Escape") == ""
    view.stride = 2
    assert keyed(view, "Enter") == "place:10"


def test_a_click_pins_what_is_there(view):
    view.stride = 2
    for sent, pin in (
        (event("pixel", 29), "pixel:29"),
        (event("places-2", 9 + 3), "place:11"),
        (event("column", 7), "place:7"),
    ):
        send(view, sent)
        assert view.pin == pin
    send(view, event("places-2", 9 + 4))  # beside the copy
    assert view.pin == "place:7"
    assert "got" in send(view, event("column", 16))["error"]


def test_a_pin_goes_with_its_place(view):
    for pin, stays in (("place:60", ""), ("place:3", "place:3"), ("pixel:60", "pixel:60")):
        view.stride, view.pin = 1, pin
        view.stride = 2
        assert view.pin == stays


# -- as a widget ----------------------------------------------------------------------------------


def test_the_slider_is_the_first_control_and_one_step_is_one_copy(view):
    control = view.controls()[0]
    assert (control.kind, control.name, control.least, control.most) == ("range", "step", 0, 9)
    shown = send(view, event("step", 5))
    assert (view.step, shown["shown"]) == (5, 5)
    assert shown["state"] == "vgg16.conv1_2|3|1|same|128|im2col-batch|5|8220835840"
    assert shown["says"].startswith("Copy 5 of 9: the unshifted picture.")
    assert view.controls()[0].spoken == "5 of 9 copies written"


@pytest.mark.parametrize(("k", "stride", "step"), [(3, 1, 5), (3, 2, 9), (5, 1, 0)])
def test_a_first_level_is_small_and_a_key_brings_all_numbers(k, stride, step):
    view = views.shifted_copies(k=k, stride=stride, step=step, free=False)
    page = view.page()
    svg = page.svg()
    assert len(numerals(label.content for label in svg.labels)) <= 12
    assert svg.height < 530
    view.on_event("key", "KeyN", False)
    more = view.page()
    assert set(page.text().splitlines()) <= set(more.text().splitlines())
    assert "224" in " ".join(label.content for label in more.svg().labels) or not view.rows.count
    view.on_event("numbers", False, False)
    assert view.page().render() == page.render()


def test_the_matrix_has_the_area_of_the_copies_beside_it():
    """At 3 x 3 its cells are as large as theirs."""
    cells = re.findall(r"translate\([^)]*\)scale\(([\d.]+)\)", drawn(shown()).render())
    assert len(cells) == 2
    assert cells[0] == cells[1]


def test_a_copy_is_seen_to_come_where_it_is_the_next(view):
    send(view, event("step", 0))
    comes = 'class="print"'
    assert comes in send(view, event("step", 1))["svg"]
    assert comes not in send(view, event("key", "ArrowRight"))["svg"]
    assert comes not in send(view, event("step", 4))["svg"]
    assert comes not in send(view, event("step", 5, dragging=True))["svg"]
    send(view, event("step", 6))
    assert comes not in view.svg()


def test_a_drag_is_silent_until_it_ends(view):
    send(view, event("step", 0))
    assert send(view, event("step", 4, dragging=True))["says"] == ""
    assert send(view, event("step", 4))["says"]
    assert send(view, event("batch", 3, dragging=True))["says"] == ""
    assert view.batch == 8
    assert send(view, event("batch", 3))["says"]


def test_a_screen_reader_hears_a_pin_and_then_the_steps_again(view):
    assert "is in 9 copies" in send(view, event("pixel", 36))["says"]
    assert send(view, event("step", 3))["says"].startswith("Copy 3 of 9")
    assert "column 10 of the matrix" in send(view, event("column", 9))["says"]


def test_presets(view):
    send(view, event("surprise"))
    assert (view.k, view.stride, view.step) == (3, 2, 9)
    assert view.rows.end == Fraction(9, 4)
    send(view, event("pointwise"))
    assert view.rows.total == 0
    assert (view.network.name, view.rows.made_up) == ("resnet50", False)
    send(view, event("break"))
    assert (view.k, view.batch, view.rows.total) == (7, 128, 80_564_191_232)
    refused = "the copy alone does not fit. The largest batch that fits is 19."
    assert f"12 GB card (2023): {refused}" in str(view)
    send(view, event("how", "im2col-tile"))
    assert view.rows.total < 2**20


def test_start_is_where_the_view_was_made():
    shown = views.shifted_copies("vgg16", "conv3_2", batch=8, k=5, step=7, free=False)
    made, code = shown.svg(), shown.code()
    send(shown, event("break"), event("pixel", 18), event("width", 600))
    send(shown, event("start"))
    assert (shown.svg(), shown.code()) == (made, code)
    assert shown.scene(live=True).width == 600


def test_controls_change_what_they_say(view):
    send(view, event("k", "5"), event("stride", "2"), event("pad", "none"))
    assert (view.k, view.stride, view.pad, view.step) == (5, 2, "none", 25)
    shown = send(view, event("real", "vgg16/conv3_2"))
    assert (view.layer, view.k, view.stride, view.pad, view.step) == ("conv3_2", 3, 1, "same", 9)
    assert shown["state"].startswith("vgg16.conv3_2|3|1|same|128")
    assert view.more() == "More: VGG-16 conv3_2, batch 128, same padding"
    options = dict(next(c.options for c in view.controls() if c.name == "real"))
    assert len(options) == len(LAYERS)
    assert options["resnet50/conv1"] == "ResNet-50 conv1, 7 × 7"


def test_a_layer_of_another_network_can_be_chosen_beside_the_others():
    shown = views.shifted_copies("googlenet", "conv1", free=False)
    options = dict(next(c.options for c in shown.controls() if c.name == "real"))
    assert options["googlenet/conv1"] == "GoogLeNet conv1"
    send(shown, event("real", "resnet50/conv1"))
    send(shown, event("pad", "none"))
    assert shown.more().startswith("More: ResNet-50 conv1 with other settings")


def test_what_is_not_lowered_has_no_steps(view):
    shown = send(view, event("how", "direct"), event("step", 0))
    assert (shown["shown"], view.controls()[0].name) == (0, "k")
    assert "nothing is lowered" in shown["text"]
    send(view, event("how", "im2col-batch"))
    assert view.rows.step == 9


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("step", 4, 10),
        ("k", 5, 4),
        ("batch", 48, 0),
        ("how", "im2col-tile", "fft"),
        ("network", "resnet50", "resnet5"),
        ("pin", "place:12", "place:64"),
    ],
)
def test_python_steers_it(view, name, value, wrong):
    before = view.svg()
    setattr(view, name, value)
    assert view.svg() != before
    if wrong is not None:
        now = view.state
        with pytest.raises(InputError) as refused:
            setattr(view, name, wrong)
        assert str(refused.value).count("\n") == 0
        assert view.state == now


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"k": 4}, "k must be 1, 3, 5 or 7, got 4; try 5."),
        ({"k": "three"}, "k must be a whole number, got 'three'; try 1."),
        ({"pad": 1}, "unknown pad 1. Known: same, none."),
        ({"step": 10}, "step must be at most 9, got 10; try 9."),
        ({"batch": 2_000_000}, "batch must be at most 1,000,000, got 2,000,000; try 1,000,000."),
        ({"how": "im2col"}, "unknown way of lowering 'im2col'; did you mean 'im2col-tile'?"),
        ({"layer": "conv1"}, "unknown convolution 'conv1'; did you mean"),
        ({"network": "linear1"}, "Single linear layer has no convolution; try vgg16."),
        ({"network": 16}, "give a network or its name, got 16; try 'vgg16'."),
        ({"network": "alexnet", "layer": "conv1"}, "conv1 is 11x11"),
    ],
)
def test_bad_input_gets_one_sentence(given, sentence):
    with pytest.raises(InputError) as refused:
        views.shifted_copies(**given)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_a_layer_with_settings_of_its_own_is_drawn_with_others():
    shown = views.shifted_copies("alexnet", "conv1", k=3, stride=1, pad="same", free=False)
    assert shown.rows.made_up
    assert eval(shown.code(), {"memlab": memlab}).svg() == shown.svg()
    with pytest.raises(InputError, match="dilation 2"):
        views.shifted_copies(_dilated(), "wide")


def _dilated():
    x = memlab.network("holes", image=(3, 32, 32)).conv(8, 3, dilation=2, name="wide")
    return x.flatten().linear(10).cross_entropy()


def test_its_code_makes_it_again(view):
    view.k, view.stride, view.pad, view.batch, view.how = 5, 2, "none", 48, "im2col-image"
    view.step = 7
    assert view.code() == (
        "memlab.views.shifted_copies('vgg16', 'conv1_2', step=7, k=5, stride=2, "
        "how='im2col-image', batch=48, pad='none')"
    )
    assert eval(view.code(), {"memlab": memlab}).svg() == view.svg()


def test_what_is_sent_is_json_and_not_large(view):
    view.k = 7
    assert len(json.dumps(view.now_)) < 150_000


def test_a_redraw_is_quick(view):
    """Under 10 ms on a laptop; five times that is a mistake anywhere."""
    send(view, event("k", 7))
    best = []
    for step in range(50):
        start = time.thread_time()
        send(view, event("step", step))
        best.append(time.thread_time() - start)
    assert sorted(best)[25] < 0.05


# -- what a page keeps ----------------------------------------------------------------------------


@pytest.mark.measures
def test_what_only_this_machine_knows_is_shown_live_and_never_stored(monkeypatch):
    monkeypatch.setattr(free_memory, "free_memory", lambda: 3_000_000_000)
    view = views.shifted_copies(layer="conv5_1", batch=1)
    view.write()
    live = send(view)
    for text in (live["text"], live["status"]):
        assert re.search(r"\bms\b", text)
    assert "Free here now, 3.00 GB" in live["text"]
    assert "free here now: 3.00 GB" in live["svg"]
    bundle, _ = view._repr_mimebundle_() or ({}, {})
    stored = [view.svg(), view.text(), str(view), repr(view)]
    stored += [bundle["image/svg+xml"], bundle["text/plain"]]
    for text in stored:
        assert not re.search(r"\bms\b|free here", text, re.I)
    assert "measured here" in stored[0]
    assert "0x" not in repr(view)
    monkeypatch.setattr(free_memory, "free_memory", lambda: 2_000_000_000)
    view.step = 9
    assert "Free here now, 2.00 GB" in view.now_["shown"]["text"]
    assert view.svg() == stored[0]


# -- written for real -----------------------------------------------------------------------------


@pytest.mark.measures
@pytest.mark.parametrize("changes", [{"k": 5, "pad": "none"}, {"stride": 2, "how": "im2col-image"}])
def test_one_image_is_written_and_measured(view, changes):
    view.layer = "conv3_2"
    for name, value in changes.items():
        setattr(view, name, value)
    done = view.write()
    assert done.planned == done.measured == lowered.lowered_bytes(view.rows.node, 1)
    assert done.residual == 0
    assert 0 < done.seconds < 10
    assert f"1 image was written: {done!r}." in view.text()
    assert view.now_["shown"]["status"] == f"1 image was written here in {done.ms} ms: {done!r}."
    assert "residual 0 B" in view.text()
    view.k = 1
    assert view.state.done is None


def test_where_nothing_is_copied_nothing_is_written(view):
    view.how = "direct"
    assert repr(view.write()) == "0 B: nothing to write"
    assert send(view, event("pointwise"), event("write"))["status"] == "0 B: nothing to write."
    assert "measured" not in view.svg()


@pytest.mark.measures
def test_what_is_measured_is_not_the_plan(monkeypatch):
    """A kernel that writes another size would be seen."""
    monkeypatch.setattr(lowered, "lowered_bytes", lambda node, batch: 1000)
    assert lowered.write(lowering("conv3_2").node, "try less").residual != 0


def test_a_run_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(free_memory, "free_memory", lambda: 10**8)
    with pytest.raises(InputError, match=r"^the run needs 128 MB and 100 MB are free; close it\.$"):
        lowered.write(lowering().node, "close it")


def test_the_guard_comes_first(view, monkeypatch):
    monkeypatch.setattr(free_memory, "free_memory", lambda: 10**8)
    with pytest.raises(InputError, match=r"^the run needs 128 MB and 100 MB are free; close a"):
        view.write()
    shown = send(view, event("key", "KeyR"))
    assert shown["error"].startswith("the run needs 128 MB")
    view.how = "im2col-tile"
    assert "choose the whole batch or one image" in send(view, event("write"))["error"]


def test_texts_hold_no_figure():
    for key, text in strings.table().items():
        if key.startswith("copies."):
            said = set(re.findall(r"\d+", re.sub(r"\{\w+\}", "", text)))
            assert said <= {"0", "1"}, key


def test_the_batches_of_the_slider():
    assert BATCHES == (1, 2, 4, 8, 16, 32, 64, 128)


def test_a_page_that_asks_later_shows_no_formula_and_one_control():
    view = views.shifted_copies("vgg16", "conv3_2", step=1, only=("step",))
    assert "Factor now 1.00, at the end 9.00.\n" in view.text()
    assert not [formula for formula in ("k²", "Ho", "3²") if formula in view.text()]
    names = [control.name for control in view.controls()]
    assert names == ["step", "start", "write", "copy"]


def test_where_no_copy_is_made_no_slider_counts_them():
    view = views.shifted_copies("vgg16", "conv1_2", k=1)
    assert "step" not in [control.name for control in view.controls()]
    view.k = 3
    assert "step" in [control.name for control in view.controls()]


@pytest.mark.parametrize("given", [{"step": 1}, {"step": 8}, {"step": 9}, {"step": 0}])
def test_the_frame_around_the_last_copy_is_named_at_the_input(given):
    told = f"framed: copy {given['step']}"
    framed = 0 < given["step"] < 9
    assert (told in page_of(shown("conv3_2", **given)).render("", standalone=True)) is framed


def test_a_single_control_has_no_help_below_the_picture():
    assert not views.shifted_copies(only=("step",)).help()
    assert "A click pins too" in views.shifted_copies(only=("k", "stride")).help()
