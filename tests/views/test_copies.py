"""The shifted copies: traced from the index map, in bytes of the plan, drawn and told alike."""

import json
import re
import time
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import devices, strings, views
from memlab.errors import InputError
from memlab.kernels.lowering import im2col
from memlab.lesson import quantities
from memlab.networks import zoo
from memlab.studies.memory import network_of
from memlab.views.copies import keys, panel, picture, pixels, twin, windows, words
from memlab.views.copies import layer as layers
from memlab.views.copies.layout import layout
from memlab.views.copies.rows import rows
from memlab.views.copies.state import BATCHES, WAYS, State, moved
from memlab.views.copies.write import Written

FREE = 4_200_000_000
DONE = Written(115_605_504, 115_605_504, 0.0093)


def state(layer="conv1_2", network="vgg16", width=820, free=FREE, **changes):
    chosen = {"batch": 128, "how": "im2col-batch", "width": width, "free": free}
    start = State(**chosen, **panel.layer(network_of(network), layer))
    return moved(start, **changes)


@pytest.fixture
def view():
    return views.shifted_copies(free=False)


def send(view, *events):
    view._receive(view, {"number": 1, "events": list(events)}, [])
    return view.now_["shown"]


def event(name, value=None, dragging=False):
    return {"name": name, "value": value, "dragging": dragging}


def checked(shown):
    """Draw it; the picture parses, no text overlaps another or the edge, no box leaves it."""
    svg = picture.draw(rows(shown))
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11
    for box in ET.fromstring(svg.render("title")).iter("{http://www.w3.org/2000/svg}rect"):
        assert float(box.get("x", 0)) + float(box.get("width", 0)) <= svg.width + 12
        assert float(box.get("y", 0)) + float(box.get("height", 0)) <= svg.height + 12
    return svg


# -- the picture is the index map -----------------------------------------------------------------


def by_windows(k, stride, pad):
    """The same copies, from NumPy's windows over a padded picture of pixel numbers."""
    rim = k // 2 if pad == "same" else 0
    image = np.pad(np.arange(64).reshape(8, 8), rim, constant_values=-1)
    found = np.lib.stride_tricks.sliding_window_view(image, (k, k))[::stride, ::stride]
    return found.transpose(2, 3, 0, 1).reshape(k * k, -1)


@pytest.mark.parametrize("lowered", windows.every(), ids=lambda one: one.key)
def test_copies_are_windows_over_the_padded_picture(lowered):
    copies = [[-1 if n is None else n for n in copy] for copy in lowered.copies]
    assert copies == by_windows(lowered.k, lowered.stride, lowered.pad).tolist()


@pytest.mark.parametrize("lowered", windows.every(), ids=lambda one: one.key)
def test_copies_are_what_the_kernel_writes(lowered):
    image = np.arange(1, 65, dtype=np.float32).reshape(1, 8, 8)
    k, places = lowered.k, lowered.places
    matrix = np.empty((1, k, k, places, places), np.float32)
    im2col(image, matrix, lowered.stride, k // 2 if lowered.pad == "same" else 0, 1)
    copies = [[0 if n is None else n + 1 for n in copy] for copy in lowered.copies]
    assert copies == matrix.reshape(k * k, -1).tolist()


def test_values_and_zeros_add_up():
    lowered, strided = windows.lower(3), windows.lower(3, 2)
    assert (lowered.cells - lowered.zeros, lowered.zeros) == (484, 92)
    assert (strided.cells - strided.zeros, strided.zeros) == (121, 23)
    assert Counter(map(lowered.written, range(64))) == {9: 36, 6: 24, 4: 4}
    assert not windows.lower(1).made
    assert windows.lower(1, 2).made


@pytest.mark.parametrize("cell", [8, 16])
def test_drawn_cells_are_those_of_the_copy(cell):
    """The runs of a row, put back together from the path."""
    kinds = windows.kinds(windows.lower(3).copies[0])
    drawn = {}
    for name, path in re.findall(r'class="(\w+)-run" d="(.*?)"', pixels.strokes(kinds, 8, cell)):
        kind = {value: key for key, value in pixels.CLASSES.items()}[name]
        for x, y, wide in re.findall(r"M(\d+) (\d+)h(\d+)", path):
            for i in range(int(wide) // cell):
                drawn[int(y) // cell * 8 + int(x) // cell + i] = kind
    assert "".join(drawn[i] for i in range(64)) == kinds


def test_a_hatch_stays_inside():
    x, y = 30, 50
    for left, top, along, up in re.findall(
        r"M([\d.]+) ([\d.]+)l([\d.]+) (-[\d.]+)", pixels.hatch(x, y, 40, 16)
    ):
        ends = [(float(left), float(top)), (float(left) + float(along), float(top) + float(up))]
        assert all(x <= a <= x + 40 and y <= b <= y + 16 for a, b in ends)


def test_counts_are_those_of_the_first_copies():
    lowered = windows.lower(3)
    assert Counter(lowered.counts(9)) == {9: 36, 6: 24, 4: 4}
    assert set(lowered.counts(0)) == {0}
    assert lowered.counts(5) == tuple(
        sum(copy.count(pixel) for copy in lowered.copies[:5]) for pixel in range(64)
    )
    for pixel in range(64):
        assert len(lowered.stands(pixel)) == lowered.written(pixel) == lowered.counts(9)[pixel]


# -- the figures are those of the plan ------------------------------------------------------------


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("layer", ["conv1_2", "conv3_2"])
def test_bytes_are_those_of_a_plan(layer, how):
    """The workspace of the whole step, before this view was thought of."""
    step = memlab.lowering(memlab.training_step(network_of("vgg16")), how)
    op = next(op for op in step.ops if op.name == layer)
    for batch in (1, 100, 128):
        planned = sum(tensor.size.at(batch) for tensor in op.workspace.values())
        found = rows(state(layer, batch=batch, how=how))
        assert found.total == planned
        assert found.source == op.reads["x"].size.at(batch)


@pytest.mark.parametrize("k", windows.KERNELS)
@pytest.mark.parametrize("stride", windows.STRIDES)
@pytest.mark.parametrize("pad", windows.PADS)
def test_the_formula_multiplies_out(k, stride, pad):
    found = rows(state(k=k, stride=stride, pad=pad))
    if (k, stride) == (1, 1):
        assert (found.total, found.count) == (0, 0)
        return
    assert found.total == quantities.lowered(found.node, 128).nbytes
    _, numbers, total = words.formula(found).replace("²", "**2").replace("·", "*").split(" = ")
    assert eval(numbers.removesuffix(" B")) == found.total
    assert int(re.sub(r"\D", "", total)) == found.total
    ratio = words.ratio(found).replace("²", "**2").replace("·", "*")
    assert Fraction(found.total, found.source) == found.factor == found.end
    assert abs(eval(ratio) - float(found.factor)) < 1e-12


@pytest.mark.parametrize("how", WAYS[:3])
def test_every_step_writes_an_equal_part(how):
    shown = state(how=how)
    parts = [rows(moved(shown, step=step)).written for step in range(10)]
    assert parts == [n * (parts[9] // 9) for n in range(10)]
    assert parts[9] == rows(shown).total


def test_the_figures_that_the_lesson_tells():
    found = rows(state(step=5))
    assert (found.source, found.written, found.total) == (
        1_644_167_168, 8_220_835_840, 14_797_504_512,
    )  # fmt: skip
    assert twin.step(found) == (
        "Step 5 of 9: copy (ky=1, kx=1) written, the unshifted picture. 64 values, 0 zeros."
    )
    assert "Factor now 5.00, at the end 9.00 = 3²/1²." in twin.write(found)
    whole = rows(state())
    assert (whole.values, whole.zeros, whole.cells) == (484, 92, 576)
    assert rows(state(k=7)).total == 80_564_191_232
    assert rows(state(stride=2)).factor == Fraction(9, 4)
    assert rows(state("conv1", "resnet50")).factor == Fraction(49, 4)


def test_the_largest_batch_is_exact():
    for shown in (state(), state(k=5), state(pad="none"), state("conv1", "resnet50")):
        found = rows(shown)
        for verdict in found.verdicts:
            largest, room = verdict.largest, verdict.budget.nbytes
            assert largest
            assert found.workspace.size.at(largest) <= room < found.workspace.size.at(largest + 1)
            assert verdict.fits == (largest >= 128)


WAYS_BY_SIGN = {(0, 1): "down", (0, -1): "up", (1, 1): "right", (1, -1): "left"}


@pytest.mark.parametrize("lowered", windows.every(), ids=lambda one: one.key)
def test_the_words_of_a_shift_are_where_the_pixels_went(lowered):
    """From where a pixel stands in the copy of the oracle, and where it stood in the picture."""
    found = rows(state(k=lowered.k, stride=lowered.stride, pad=lowered.pad))
    for index, copy in enumerate(by_windows(lowered.k, lowered.stride, lowered.pad).tolist()):
        place, pixel = next((at, n) for at, n in enumerate(copy) if n >= 0)
        stood, stands = divmod(pixel, 8), divmod(place, lowered.places)
        shift = [lowered.stride * now - then for now, then in zip(stands, stood, strict=True)]
        ways = [f"{abs(n)} {WAYS_BY_SIGN[axis, n // abs(n)]}" for axis, n in enumerate(shift) if n]
        said = words.shift(found, index)
        assert said.endswith(f"moved {' and '.join(ways)}") if ways else "unshifted" in said


def test_without_same_padding_nobody_says_nine():
    text = twin.write(rows(state(pad="none", free=None)))
    assert "9.00" not in text
    assert "9²" not in text
    assert "≈ 8.84" in text
    assert "324 cells of 324, 5.06 times the 64 of the picture" in text


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({}, ""),
        ({"stride": 2}, ""),
        ({"pad": "none"}, "the edge counts more here"),
        ({"how": "im2col-image"}, "above: the copy of 1 image, the input of 128"),
        ({"how": "im2col-image", "batch": 1}, ""),
        ({"how": "im2col-image", "batch": 1, "pad": "none"}, "the edge counts more here"),
        ({"how": "im2col-tile"}, "a tile is a larger part here"),
        ({"pad": "none", "step": 0}, ""),
        ({"layer": "4.2.conv2", "network": "resnet50", "pad": "none"}, "the edge counts less here"),
    ],
)
def test_two_factors_on_a_picture_are_told_apart(settings, why):
    found = rows(state(**settings))
    labels = " ".join(label.content for label in picture.draw(found).labels)
    assert f"this 8 × 8 picture: {words.times(found.covered)} ×" in labels
    assert bool(why) == (words.times(found.covered) != words.times(found.now))
    assert words.why(found) == why
    assert why in labels
    assert f"times the 64 of the picture{f': {why}' if why else '.'}" in twin.write(found)


def test_the_legend_has_every_kind_of_cell():
    shown = "".join(kinds for kinds, _ in words.tally(rows(state())))
    assert set(shown) == set(pixels.CLASSES)


def test_the_copy_of_an_image_does_not_contradict_the_picture():
    text = twin.write(rows(state(step=0, k=7, done=DONE)))
    assert "Step 0 of 49: nothing is copied in the picture yet." in text
    assert "1 image was written here in 9.3 ms: planned 115,605,504 B" in text
    assert "the copy alone does not fit" in text


def test_one_by_one_makes_no_copy():
    shown = state("1.2.conv1", "resnet50")
    found = rows(shown)
    assert found.pointwise
    assert (found.total, found.count, found.written) == (0, 0, 0)
    text = twin.write(found)
    assert "1 × 1: the matrix is the input, so no copy is made." in text
    assert "30 of its 53 convolutions are 1 × 1 with stride 1 and make no copy" in text
    assert "ResNet-50 itself" not in text
    made_up = rows(state(k=1))
    assert "VGG-16 itself, with nothing made up: 0 of its 13 convolutions" in twin.write(made_up)
    labels = [label.content for label in picture.draw(made_up).labels]
    assert "VGG-16 itself, with nothing made up, its 13 convolutions in order" in labels
    quarter = rows(moved(shown, stride=2))
    assert ": 1 copy of 4 × 4, " in twin.write(quarter)
    assert (quarter.count, quarter.factor) == (1, Fraction(1, 4))
    assert not rows(state(how="direct")).pointwise


def test_a_tile_is_a_strip_of_every_copy():
    found = rows(state(how="im2col-tile"))
    assert (found.cells, found.values + found.zeros) == (72, 72)
    strip = [windows.kinds(copy[:8]) for copy in found.lowered.copies]
    assert found.zeros == sum(kinds.count("0") for kinds in strip)
    assert found.total == found.workspace.parts[0].size.at(1)
    assert "in the layer 48 of 50,176" in twin.write(found)


def test_a_layer_that_no_network_has_is_made_up():
    assert not state().made_up
    assert "made up" not in words.title(state())
    for changes in ({"k": 5}, {"stride": 2}, {"pad": "none"}):
        shown = state(**changes)
        assert words.title(shown).startswith("VGG-16 conv1_2, made up: ")
        assert not moved(shown, k=3, stride=1, pad="same").made_up


# -- drawn ----------------------------------------------------------------------------------------

PRESETS = [panel.preset(name) for name in panel.PRESETS]
SETTINGS: list[dict[str, Any]] = [
    *({"step": step} for step in range(10)),
    *(
        {"k": k, "stride": s, "pad": p}
        for k in windows.KERNELS
        for s in (1, 2)
        for p in windows.PADS
    ),
    *({"how": how, "counts": True, "k": k} for how in WAYS for k in (1, 3, 5)),
    *({"pin": pin, "stride": s, "step": 4} for pin in ("pixel:0", "place:15") for s in (1, 2)),
    {"pin": "pixel:63", "k": 1, "pad": "none", "stride": 2},
    {"batch": 1},
    {"batch": 1_000_000},
    {"done": DONE},
    {"done": Written(0, 0, 0.0)},
    {"free": 0},
    {"free": 15_000_000_000, "k": 7},
    {"free": 10**12},
    {"how": "im2col-tile", "pin": "place:9", "moving": True},
    {"moving": True, "step": 3},
    *PRESETS,
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: str(one)[:60])
@pytest.mark.parametrize("width", [400, 480, 659, 660, 820, 2000])
def test_every_setting_is_drawn_without_collisions(settings, width):
    checked(replace(moved(state(width=width), **settings), width=width))


OTHERS = ["resnet152/2.1.conv1", "googlenet/conv1", "mnist_cnn/conv1", "vgg19/conv5_1"]


@pytest.mark.parametrize("name", OTHERS)
def test_other_layers_are_drawn(name):
    network, _, layer = name.partition("/")
    for width in (480, 820):
        checked(state(layer, network, width=width))


def test_one_scale_for_every_kernel():
    """7 x 7 is as large beside 3 x 3 as it is."""
    for width in (480, 820):
        place = layout(width)
        assert place.cell == layout(width).cell
        assert place.left + 7 * place.pitch - place.cell <= place.width
        assert place.matrix + 64 * place.cell <= place.width
    heights = [picture.draw(rows(state(k=k))).height for k in windows.KERNELS[1:]]
    assert heights == sorted(set(heights))


def group(svg, x, y):
    """The kinds of the cells of the group that begins there, read back from its paths."""
    for found in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}g"):
        if found.get("transform") == f"translate({x} {y})" and len(found):
            return found
    raise AssertionError((x, y))


def read_back(found, columns, cell):
    kinds = {f"{name}-run": kind for kind, name in pixels.CLASSES.items()}
    drawn = {}
    for path in found:
        kind = kinds.get(path.get("class"), "")
        for x, y, wide in re.findall(r"M(\d+) (\d+)h(\d+)", path.get("d") if kind else ""):
            for i in range(int(wide) // cell):
                drawn[int(y) // cell * columns + int(x) // cell + i] = kind
    return "".join(drawn[i] for i in sorted(drawn))


@pytest.mark.parametrize("lowered", windows.every()[2:], ids=lambda one: one.key)
def test_drawn_copies_are_those_of_the_oracle(lowered):
    shown = state(k=lowered.k, stride=lowered.stride, pad=lowered.pad)
    svg, place = picture.draw(rows(shown)), layout(820)
    letter = "".join(windows.LETTER)
    text = svg.render()
    top = min(
        int(match[1]) if match[1].isdigit() else float(match[1])
        for match in re.finditer(rf"translate\({place.left} ([\d.]+)\)", text)
    )
    for index, copy in enumerate(by_windows(lowered.k, lowered.stride, lowered.pad).tolist()):
        ky, kx = divmod(index, lowered.k)
        found = group(text, place.left + kx * place.pitch, top + ky * place.pitch)
        wanted = "".join("0" if n < 0 else letter[n] for n in copy)
        assert read_back(found, lowered.places, place.cell) == wanted


TOKEN = re.compile(r"\d[\d,.]*\d|\d")


def tokens(text):
    return set(TOKEN.findall(text))


def drawn_and_told(found):
    """Numbers of the picture, and those that it may show: of the text, and its axes."""
    labels = [label.content for label in picture.draw(found).labels]
    text = twin.write(found)
    exact = [int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d(?= B)", text)]
    told = tokens(text) | tokens(" ".join(layers.amount(n) for n in exact))
    axis = tokens("0 4 8 12 16") | {str(n) for n in range(found.state.k)}
    budgets = words.card("12 GB card") + words.hundredths(found.state.free or 0)
    return tokens(" | ".join(labels)), told | axis | tokens(budgets)


@pytest.mark.parametrize(
    "settings", [s for s in SETTINGS if s.get("k") != 7], ids=lambda one: str(one)[:60]
)
def test_the_picture_shows_the_numbers_of_the_text(settings):
    found = rows(moved(state(), **settings))
    drawn, told = drawn_and_told(found)
    assert drawn - told == set()


def test_a_wrong_number_in_the_picture_would_be_seen():
    found = rows(state())
    wrong = replace(found, total=123_456_789_012)
    drawn = tokens(" | ".join(label.content for label in picture.draw(wrong).labels))
    assert drawn - drawn_and_told(found)[1]


def test_the_bar_breaks_where_the_ruler_ends():
    labels = [label.content for label in picture.draw(rows(state(k=7))).labels]
    assert "80.56 GB: 5.04 times this ruler of 16 GB →" in labels
    refused = "Refused here: the copy needs 80.56 GB, free 4.20 GB. Largest batch that fits: 6."
    assert refused in twin.write(rows(state(k=7)))
    small = [label.content for label in picture.draw(rows(state(how="im2col-tile"))).labels]
    assert "drawn, too small to see" in small


# -- pins -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pixel", "times"), [(37, 9), (3, 6), (0, 4)])
def test_a_pixel_stands_where_the_oracle_says(pixel, times):
    pin = rows(state(pin=f"pixel:{pixel}")).pin
    assert pin is not None
    where = np.argwhere(by_windows(3, 1, "same") == pixel)
    assert [list(stand) for stand in pin.stands] == where.tolist()
    assert len(pin.stands) == times
    text = twin.write(rows(state(pin=f"pixel:{pixel}", step=2)))
    assert f"stands {times} times." in text
    assert f"{int((where[:, 0] < 2).sum())} of them are written." in text


def test_a_place_is_a_column_of_the_matrix():
    found = rows(state(pin="place:8"))
    assert found.pin is not None
    column = by_windows(3, 1, "same")[:, 8]
    assert found.pin.zeros == int((column < 0).sum()) == 3
    assert "Output place 9, row 2, column 1: its window of 3 × 3 is column 9" in words.pins(found)
    assert "6 values and 3 zeros." in words.pins(found)
    marked = picture.draw(found).render()
    place = layout(820)
    assert f'x="{place.matrix + 8 * place.cell - 1}"' in marked


def test_keys_move_a_pin():
    shown = keys.press(state(), "ArrowRight")
    assert shown.pin == "pixel:36"
    moves = [("ArrowRight", 37), ("ArrowDown", 45), ("ArrowLeft", 44), ("ArrowUp", 36)]
    for key, number in moves:
        shown = keys.press(shown, key)
        assert shown.pin == f"pixel:{number}"
    assert keys.press(shown, "Home").pin == "pixel:0"
    assert keys.press(keys.press(shown, "Home"), "ArrowUp").pin == "pixel:0"
    assert keys.press(keys.press(shown, "End"), "ArrowDown").pin == "pixel:63"
    shown = keys.press(shown, "Enter")
    assert shown.pin == "place:36"
    assert keys.press(shown, "Enter").pin == "pixel:36"
    assert keys.press(shown, "Escape").pin == ""
    assert keys.press(state(stride=2), "Enter").pin == "place:10"


@pytest.mark.parametrize("lowered", windows.every(), ids=lambda one: one.key)
def test_enter_stays_at_the_place(lowered):
    """A place and the pixel in the centre of its window, from the oracle, there and back."""
    shown = state(k=lowered.k, stride=lowered.stride, pad=lowered.pad)
    centres = by_windows(lowered.k, lowered.stride, lowered.pad)[lowered.k**2 // 2].tolist()
    for place, pixel in enumerate(centres):
        there = keys.press(keys.pin(shown, f"pixel:{pixel}"), "Enter")
        assert there.pin == f"place:{place}"
        assert keys.press(there, "Enter").pin == f"pixel:{pixel}"


def test_enter_takes_the_nearest_place_where_no_window_has_its_centre():
    assert keys.press(state(stride=2, pin="pixel:63"), "Enter").pin == "place:15"
    assert keys.press(state(pad="none", pin="pixel:0"), "Enter").pin == "place:0"
    assert keys.press(state(pad="none", pin="pixel:63"), "Enter").pin == "place:35"


def test_a_click_pins_what_is_there():
    shown = state(stride=2)
    assert keys.point(shown, "pixels-3", 5).pin == "pixel:29"
    assert keys.point(shown, "places-2", 9 + 3).pin == "place:11"
    assert keys.point(shown, "places-2", 9 + 4).pin == ""  # beside the copy
    assert keys.point(shown, "column", 7).pin == "place:7"


def test_a_pin_goes_with_its_place():
    assert moved(state(pin="place:60"), stride=2).pin == ""
    assert moved(state(pin="place:3"), stride=2).pin == "place:3"
    assert moved(state(pin="pixel:60"), stride=2).pin == "pixel:60"


# -- as a widget ----------------------------------------------------------------------------------


def test_the_slider_is_the_first_control_and_one_step_is_one_copy(view):
    control = view.controls()[0]
    assert (control.kind, control.name, control.least, control.most) == ("range", "step", 0, 9)
    shown = send(view, event("step", 5))
    assert (view.step, shown["shown"]) == (5, 5)
    assert shown["state"] == "vgg16.conv1_2|3|1|same|128|im2col-batch|5|8220835840"
    assert shown["says"].startswith("Copy 5 of 9 (ky=1, kx=1): the unshifted picture.")
    assert view.controls()[0].spoken == "5 of 9 copies written"


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
    assert "stands 9 times" in send(view, event("pixels-4", 4))["says"]
    assert send(view, event("step", 3))["says"].startswith("Copy 3 of 9")
    assert "column 10 of the matrix" in send(view, event("column", 9))["says"]


def test_presets(view):
    send(view, event("surprise"))
    assert (view.k, view.stride, view.step) == (3, 2, 9)
    assert view.rows.end == Fraction(9, 4)
    send(view, event("pointwise"))
    assert view.rows.total == 0
    assert (view.network.name, view.state.made_up) == ("resnet50", False)
    send(view, event("break"))
    assert (view.k, view.batch, view.rows.total) == (7, 128, 80_564_191_232)
    assert not view.rows.verdicts[0].fits
    send(view, event("how", "im2col-tile"))
    assert view.rows.total < 2**20


def test_start_is_where_the_view_was_made():
    shown = views.shifted_copies("vgg16", "conv3_2", batch=8, k=5, step=7, free=False)
    made, code = shown.svg(), shown.code()
    send(shown, event("break"), event("pixels-2", 2), event("counts", True), event("width", 600))
    send(shown, event("start"))
    assert (shown.svg(), shown.code()) == (made, code)
    assert shown.state.width == 600


def test_controls_change_what_they_say(view):
    send(view, event("k", "5"), event("stride", "2"), event("pad", "none"))
    assert (view.k, view.stride, view.pad, view.step) == (5, 2, "none", 25)
    send(view, event("counts", True))
    assert view.counts
    shown = send(view, event("layer", "vgg16/conv3_2"))
    assert (view.layer, view.k, view.stride, view.pad, view.step) == ("conv3_2", 3, 1, "same", 9)
    assert shown["state"].startswith("vgg16.conv3_2|3|1|same|128")
    assert view.more() == "More: VGG-16 conv3_2, batch 128, same padding"
    options = dict(next(c.options for c in view.controls() if c.name == "layer"))
    assert len(options) == len(panel.LAYERS)
    assert options["resnet50/conv1"] == "ResNet-50 conv1, 7 × 7"


def test_a_layer_of_another_network_can_be_chosen_beside_the_others():
    shown = views.shifted_copies("googlenet", "conv1", free=False)
    options = dict(next(c.options for c in shown.controls() if c.name == "layer"))
    assert options["googlenet/conv1"] == "GoogLeNet conv1"
    send(shown, event("layer", "resnet50/conv1"))
    send(shown, event("pad", "none"))
    assert shown.more().startswith("More: ResNet-50 conv1, made up")


def test_what_is_not_lowered_has_no_steps(view):
    shown = send(view, event("how", "direct"), event("step", 0))
    assert (shown["shown"], view.controls()[0].most) == (0, 0)
    assert "nothing is lowered" in shown["text"]
    send(view, event("how", "im2col-batch"))
    assert view.rows.step == 9


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("step", 4, 10),
        ("k", 5, 4),
        ("stride", 2, 3),
        ("pad", "none", 1),
        ("batch", 48, 0),
        ("how", "im2col-tile", "fft"),
        ("network", "resnet50", "resnet5"),
        ("layer", "conv3_2", "relu1_1"),
        ("pin", "place:12", "place:64"),
        ("counts", True, None),
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
        ({"stride": 3}, "stride must be 1 or 2, got 3; try 2."),
        ({"pad": 1}, "unknown pad 1. Known: same, none."),
        ({"step": 10}, "3 x 3 has 9 copies, got step 10; try 9."),
        ({"batch": 2_000_000}, "batch must be at most 1,000,000, got 2,000,000; try 1,000,000."),
        ({"how": "im2col"}, "unknown way of lowering 'im2col'; did you mean 'im2col-tile'?"),
        ({"layer": "conv1"}, "unknown convolution 'conv1'; did you mean"),
        ({"layer": None}, "unknown convolution None."),
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
    assert shown.state.made_up
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
        "memlab.views.shifted_copies('vgg16', 'conv1_2', batch=48, k=5, stride=2, pad='none', "
        "how='im2col-image', step=7)"
    )
    assert eval(view.code(), {"memlab": memlab}).svg() == view.svg()


def test_frames_are_one_per_step(view):
    frames = view.frames()
    assert len(frames) == len(set(frames)) == 10
    assert "0 of 9 copies in the picture" in frames[0]
    assert "9 of 9 copies in the picture" in frames[-1]
    ids = [set(re.findall(r'id="([\w-]+)"', frame)) for frame in frames]
    assert not ids[0] & ids[1]
    view.how = "direct"
    assert len(view.frames()) == 1


def test_what_is_sent_is_json_and_not_large(view):
    view.k = 7
    assert len(json.dumps(view.now_)) < 150_000


def test_a_redraw_is_quick(view):
    """Under 10 ms on a laptop; five times that is a mistake anywhere."""
    send(view, event("k", 7))
    best = []
    for step in range(50):
        start = time.process_time()
        send(view, event("step", step))
        best.append(time.process_time() - start)
    assert sorted(best)[25] < 0.05


# -- what a page keeps ----------------------------------------------------------------------------


def test_what_only_this_machine_knows_is_shown_live_and_never_stored(monkeypatch):
    monkeypatch.setattr(devices, "free_memory", lambda: 3_000_000_000)
    view = views.shifted_copies(layer="conv5_1", batch=1)
    view.write()
    live = view.now_["shown"]
    for text in (live["text"], live["status"]):
        assert re.search(r"\bms\b", text)
    assert "Free here now, 3.00 GB" in live["text"]
    assert "free here now: 3.00 GB" in live["svg"]
    bundle, _ = view._repr_mimebundle_() or ({}, {})
    stored = [view.svg(), view.text(), str(view), repr(view), *view.frames()]
    stored += [bundle["image/svg+xml"], bundle["text/plain"]]
    for text in stored:
        assert not re.search(r"\bms\b|free here", text, re.I)
    assert "measured here" in stored[0]
    assert "0x" not in repr(view)
    monkeypatch.setattr(devices, "free_memory", lambda: 2_000_000_000)
    view.step = 9
    assert "Free here now, 2.00 GB" in view.now_["shown"]["text"]
    assert view.svg() == stored[0]


# -- written for real -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes", [{}, {"k": 5}, {"stride": 2}, {"pad": "none"}, {"how": "im2col-image"}]
)
def test_one_image_is_written_and_measured(view, changes):
    view.layer = "conv3_2"
    for name, value in changes.items():
        setattr(view, name, value)
    done = view.write()
    assert done.planned == done.measured == layers.lowered(view.state.node, 1)
    assert done.residual == 0
    assert 0 < done.seconds < 10
    assert words.done(view.state.stored()) == f"1 image was written: {done!r}."
    assert words.done(view.state) == f"1 image was written here in {done.ms} ms: {done!r}."
    assert "residual 0 B" in view.text()
    view.k = 1
    assert view.state.done is None


def test_what_is_measured_is_not_the_plan(view, monkeypatch):
    """A kernel that writes another size would be seen."""
    monkeypatch.setattr("memlab.views.copies.write.lowered", lambda node, batch: 1000)
    assert view.write().residual != 0


def test_where_nothing_is_copied_nothing_is_written(view):
    view.how = "direct"
    assert repr(view.write()) == "0 B: nothing to write"
    assert send(view, event("pointwise"), event("write"))["status"] == "0 B: nothing to write."
    assert "measured" not in view.svg()


def test_the_guard_comes_first(view, monkeypatch):
    monkeypatch.setattr(devices, "free_memory", lambda: 10**8)
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


def test_every_convolution_of_the_zoo_is_drawn_or_refused_in_a_sentence():
    nodes = [(network_of(name), node) for name in zoo.ZOO
             for node in layers.convolutions(network_of(name))]  # fmt: skip
    drawn = [node for _, node in nodes if panel.own(node)]
    for network, node in nodes:
        if node in drawn:
            assert rows(state(node.name, network.name)).source
        else:
            with pytest.raises(InputError, match="give k, stride and pad"):
                state(node.name, network.name)
    assert len(drawn) > 0.95 * len(nodes)


def test_the_batches_of_the_slider():
    assert BATCHES == (1, 2, 4, 8, 16, 32, 64, 128)
