"""The view of a warp: its addresses against the kernels, its figures, its picture, its answers."""

import threading
from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np
import pytest

import memlab
from lessons import stored
from memlab import formats, strings, views, zoo
from memlab.errors import InputError
from memlab.kernels import cuda as on_device
from memlab.lesson.card_question import topics
from memlab.networks.builder import network
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.marks import Rects
from memlab.pictures.warp_memory import (
    ORDERS,
    SIDES,
    Warp,
    Warps,
    moved,
    near,
    span,
    warp_memory,
    warps,
)
from tests.pictures.shown import drawn, send
from tests.pictures.test_pages import flat, numerals

simulated = pytest.mark.skipif(not on_device.target().simulated, reason="a GPU logs no accesses")
VGG = zoo.vgg16()


def small(channels=2, height=5, width=40, k=3, stride=1, pad=1):
    x = network("small", image=(channels, height, width)).conv(4, k, stride, pad, name="conv")
    return x.max_pool("all").flatten().linear(10).cross_entropy()


SMALL = (small(), small(width=7, height=7, k=5, pad=2), small(width=70, stride=2))
by_network = pytest.mark.parametrize("net", SMALL, ids=lambda net: str(net.input_shape))
by_order = pytest.mark.parametrize("order", ORDERS)


def all_threads(net, order):
    node = net.by_name["conv"]
    return [found for w in range(warps(node, order)) for found in Warp(node, order, w).threads]


# -- addresses ----------------------------------------------------------------------------------


@pytest.mark.measures
@by_network
@by_order
def test_the_warps_lower_every_value_once_and_as_the_kernel_does(net, order):
    layer = net.by_name["conv"].layer
    image = np.arange(1, 1 + np.prod(net.input_shape), dtype=np.float32)
    lowered = memlab.kernels.im2col(
        image.reshape(1, *net.input_shape), layer.kernel, layer.stride, layer.padding
    )
    made = np.full(lowered.size, -1, np.float32)
    for thread in all_threads(net, order):
        assert made[thread.store // 4] == -1
        made[thread.store // 4] = 0 if thread.load is None else image[thread.load // 4]
    assert np.array_equal(made, lowered.reshape(-1))


@pytest.fixture
def accesses(monkeypatch):
    """What the kernels load and store: for each array and warp, the bytes of each turn."""
    from numba.cuda.simulator.cudadrv import devicearray

    fake = devicearray.FakeWithinKernelCUDAArray
    found: Any = defaultdict(lambda: defaultdict(list))
    one_at_a_time = threading.Lock()

    def logging(plain, kind):
        def access(self, index, *value):
            thread: Any = threading.current_thread()
            if hasattr(thread, "thread_id"):
                warp = (*thread.blockIdx, thread.thread_id // 32)
                with one_at_a_time:  # the threads of a block begin the same warp
                    found[kind, warp][thread.thread_id].append(4 * int(index))
            return plain(self, index, *value)

        return access

    monkeypatch.setattr(fake, "__getitem__", logging(fake.__getitem__, "load"))
    monkeypatch.setattr(fake, "__setitem__", logging(fake.__setitem__, "store"))
    return found


@simulated
@pytest.mark.parametrize("net", SMALL[:2], ids=lambda net: str(net.input_shape))
def test_a_warp_along_a_row_is_one_of_the_cuda_kernel(net, monkeypatch, accesses):
    from numba import cuda

    from memlab.kernels.cuda import compile

    for name, value in {"THREADS": 256, "WIDE": 2**20, "HIGH": 2**16 - 1, "DEEP": 8}.items():
        monkeypatch.setattr(compile, name, value)  # as on a GPU
    node = net.by_name["conv"]
    image = cuda.to_device(np.zeros((1, *net.input_shape), np.float32))
    on_device.im2col(image, node.layer.kernel, pad=node.layer.padding)
    done = {
        frozenset(turn)
        for (kind, _), each in accesses.items()
        if kind == "store"
        for turn in zip(*each.values(), strict=True)
    }
    shown = {
        frozenset(thread.store for thread in Warp(node, "row", warp).threads)
        for warp in range(warps(node, "row"))
    }
    assert shown == done
    loads = sorted(
        a for (kind, _), e in accesses.items() if kind == "load" for b in e.values() for a in b
    )
    assert loads == sorted(t.load for t in all_threads(net, "row") if t.load is not None)


# -- figures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "stride", "load", "store"),
    [("row", 1, 160, 128), ("row", 2, 288, 128), ("column", 1, 352, 1024)],
)
def test_the_figures_that_the_lesson_tells(order, stride, load, store):
    found = warp_memory(VGG, "conv1_2", stride=stride).rows.orders[order]
    assert (found.load.moved, found.store.moved) == (load, store)
    assert found.load.used == found.store.used == 128


@by_network
@by_order
def test_moved_bytes_are_those_of_the_sectors_that_hold_a_value(net, order):
    node = net.by_name["conv"]
    for warp in range(0, warps(node, order), 3):
        for side in Warp(node, order, warp).sides.values():
            touched = {byte // 32 for first in side.addresses for byte in range(first, first + 4)}
            assert side.moved == 32 * len(touched) <= 1024
            assert len(touched) == sum(len(line.sectors) for line in side.lines)
            assert side.used == 4 * sum(len(line.cells) for line in side.lines)
            assert sorted(t for line in side.lines for t in line.threads) == [
                number for number, _ in side.accesses
            ]


@pytest.mark.parametrize(
    ("layer", "stride", "says"),
    [
        ("conv1_2", 1, "Down a column, the stores move 8 times as many bytes"),
        ("conv5_1", 1, "Down a column, the stores move 8 times as many bytes"),
    ],
)
def test_the_title_is_the_larger_of_the_two_ratios(layer, stride, says):
    found = Warps(VGG, layer, stride)
    assert found.headline == says
    ratios = [found.column.sides[name].moved / found.row.sides[name].moved for name in SIDES]
    assert f" {max(ratios):.3g} times" in says


def test_two_orders_that_move_the_same_are_said_to():
    one = network("one", image=(1, 1, 64)).conv(1, 1, name="conv").flatten().linear(2)
    assert Warps(one.cross_entropy(), "conv", 1, 0).headline == "Both orders move the same bytes"


def test_the_step_is_that_from_thread_to_thread():
    found = Warps(VGG, "conv1_2", 2)
    assert (found.row.load.step, found.row.store.step) == (8, 4)
    assert (found.column.load.step, found.column.store.step) == (None, 4 * 112 * 112)


def test_values_that_share_a_sector_move_once():
    assert moved([]) == 0
    assert moved([28, 28, 32]) == 64
    assert moved([0, 31, 32, 127]) == 96


def test_a_warp_in_the_padding_loads_nothing():
    found = Warps(VGG, "conv1_2", 1, 0)
    assert found.row.load.moved == found.row.load.used == 0
    assert found.row.load.lines == []
    assert "Loads move nothing." in " ".join(found.sentences)
    assert "32 threads are in the padding" in " ".join(found.sentences)


def test_the_slider_stops_where_the_loads_differ():
    view = warp_memory(VGG, "conv1_2", order="row")
    loads = {}
    for number in near(view.rows.node):
        view.warp = number
        loads[number] = view.rows.row.load.moved
        assert view.rows.row.idle in drawn(view) or not view.rows.row.idle
    assert len(loads) <= 25
    assert set(loads.values()) == {0, 128, 160}
    assert [loads[number] for number in (1, 7, 8)] == [0, 128, 160]


@pytest.mark.parametrize("layer", ["conv1_1", "conv3_1", "conv5_1"])
@pytest.mark.parametrize("stride", [1, 2, 4])
def test_the_slider_stands_for_every_warp(layer, stride):
    view = warp_memory(VGG, layer, stride=stride)
    slider: Any = view.settings["warp"]
    ends = slider.ends(view.state)
    for number in (0, 1, 2, 5, view.rows.last):
        view.warp = min(number, view.rows.last)
        assert ends[0] <= slider.where(view.state) <= ends[1]


def test_the_first_warp_that_is_shown_has_no_padding():
    for layer, stride in product(("conv1_1", "conv1_2", "conv3_1"), (1, 2, 4)):
        for found in Warps(VGG, layer, stride).orders.values():
            assert len(found.load.accesses) == len(found.threads) > 13


# -- picture and text ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "layer", "stride"),
    [("vgg16", "conv1_2", 2), ("vgg16", "conv5_1", 4), ("resnet50", "conv1", 1)],
)
def test_every_layer_is_drawn_without_collisions_and_with_few_numerals(name, layer, stride):
    view = warp_memory(zoo.build(name), layer, stride=stride)
    for warp in (None, 0, view.rows.last // 2, view.rows.last):
        view.warp = warp
        svg = view.page().svg()
        assert svg.collisions() == []
        assert svg.outside() == []
        assert len(numerals(label.content for label in svg.labels)) <= 12
        assert svg.height <= 490


def test_a_line_says_its_threads_on_hover_and_the_text_says_them_all():
    page = warp_memory().page()
    fact = "line at byte 896; sectors of 32 B that move: 1 of 4; values used: 3; threads: 3–5"
    assert f'data-fact="{fact}"' in page.render()
    assert ["896", "#...", "3", "3–5"] in [line.split() for line in page.text().splitlines()]


def gone(view):
    """How many sectors of each side are dashed."""
    found = [block for block in flat(view.page().blocks) if isinstance(block, Chart)]
    old = [[mark for mark in chart.previous if isinstance(mark, Rects)] for chart in found]
    return [sum(len(mark.places) for mark in marks) for marks in old]


def test_frames_are_as_many_as_sectors_that_move():
    view = warp_memory()
    drawn = [part for part in view.page().svg().parts if part.startswith("<path") and
             'class="rule"' in part]  # fmt: skip
    assert [part.count("M") for part in drawn] == [160 // 32, 352 // 32, 128 // 32, 1024 // 32]
    view.stride = 2
    assert gone(view) == [0, 0, 2, 32]  # the stores are at other places of their lines
    view.stride = 1
    assert gone(view) == [288 // 32 - 160 // 32, 0, 2, 32]


def test_all_numbers_come_with_the_box_and_with_a_key():
    view = warp_memory()
    first = view.page()
    view.on_event("numbers", True, False)
    assert "6,222,720" in str(view.page().svg().labels)
    assert view.page().text() == first.text()
    view.on_event("key", "KeyN", False)
    assert view.page().render() == first.render()


@pytest.mark.parametrize("order", ORDERS)
def test_one_order_alone_tells_nothing_of_the_other(order):
    alone, both = warp_memory(order=order), warp_memory()
    warp = both.rows.orders[order]
    assert alone.rows.shown == {order: alone.rows.orders[order]}
    assert f"its stores move {warp.store.moved:,} B" in alone.text()
    (other,) = set(ORDERS) - {order}
    assert f"Stores move {both.rows.orders[other].store.moved:,} B" not in alone.text()
    assert strings.get(f"warp.order.{other}") not in alone.text() + alone.svg()
    assert "times as many" not in alone.text()
    found = [block for block in flat(alone.page().blocks) if isinstance(block, Chart)]
    assert len(found) == 2  # loads and stores


@pytest.mark.parametrize("format", ["fp64", "fp32", "fp16", "bf16", "int8"])
def test_the_bytes_are_those_of_the_format(format):
    each = formats.find(format).nbytes(1)
    view, plain = warp_memory(format=format), warp_memory()
    for order, name in product(ORDERS, SIDES):
        side, same = (shown.rows.orders[order].sides[name] for shown in (view, plain))
        assert side.addresses == [address * each // 4 for address in same.addresses]
        assert side.used == side.value_bytes * len(set(same.addresses))
        assert side.moved == moved(side.addresses)
        assert sum(len(line.sectors) for line in side.lines) * 32 == side.moved
    question = topics()["04.warp"]
    assert f"{question.truth({'format': format}).value} times as many" in view.rows.headline


def test_another_order_is_refused():
    with pytest.raises(InputError, match="unknown order 'rows'; did you mean 'row'"):
        warp_memory(order="rows")


def test_a_study_says_what_the_picture_says():
    found = Warps(VGG, "conv1_2", 2, 5)
    assert all(sentence in warp_memory(stride=2, warp=5).text() for sentence in found.sentences)


def test_numbers_in_a_row_are_a_span():
    assert span([0, 1, 2, 5, 9, 10]) == "0–2, 5, 9–10"
    assert span([]) == ""


def test_a_stored_picture_names_nothing_that_differs_from_machine_to_machine():
    view = warp_memory()
    assert not stored.VARIES.search(view.text())
    assert warp_memory().svg() == view.svg()
    assert set(view.stored()) == {"image/svg+xml", "text/plain"}


# -- the widget ---------------------------------------------------------------------------------


def test_the_controls_change_what_is_shown():
    view = warp_memory()
    assert [found.number for found in view.rows.orders.values()] == [8, 4050]
    stops = near(view.rows.node)
    shown = send(view, warp=9)
    assert (shown["shown"], view.rows.column.number) == (9, stops[9])
    shown = send(view, stride="2")
    assert shown["state"] == "2|5|288|128|352|1024"
    assert shown["says"] == "Down a column, the stores move 8 times as many bytes."
    send(view, warp_number=" 17 ")
    assert view.warp == 17
    assert send(view, warp=10**9)["shown"] == len(near(view.rows.node)) - 1
    send(view, warp_number=str(view.rows.last))
    assert view.warp == view.rows.last


def test_the_box_says_which_warps_these_are_and_start_goes_back_to_them():
    view = warp_memory("vgg16", "conv1_2")
    began = view.now_["shown"]["state"]

    def box():
        return next(each for each in view.controls() if each.name == "warp_number")

    assert (box().value, box().placeholder) == (None, "inside")
    send(view, warp_number="0")
    assert box().value == 0
    assert send(view, start=None)["state"] == began
    assert box().value is None


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("", "warp must be a whole number, got no number; try 0."),
        ("-1", "warp must be at least 0, got -1; try 1."),
        ("903168", "warp must be at most 903,167, got 903,168; try 903,167."),
    ],
)
def test_a_bad_number_gets_one_sentence_and_changes_nothing(value, says):
    view = warp_memory()
    assert send(view, warp_number=value)["error"] == says
    assert view.warp is None


@pytest.mark.parametrize(
    "given",
    [
        {"stride": 3},
        {"warp": 10**9},
        {"layer": "fc6"},
        {"network": 16},
    ],
)
def test_bad_input_gets_one_sentence(given):
    with pytest.raises(InputError, match=r"; try |did you mean|Known: "):
        warp_memory(**given)


def test_python_steers_it_and_its_code_makes_it_again():
    view = warp_memory()
    view.stride = 2
    view.warp = 100
    with pytest.raises(InputError):
        view.stride = 3
    again = eval(view.code(), {"memlab": memlab})
    assert again.text() == view.text()
    assert repr(view).startswith("<memory that a warp moves: VGG-16 conv1_2: 3x3, to 64, stride 2")
    assert repr(view).endswith("1 image, fp32, warps 0 to 225,791>")


@pytest.mark.parametrize(("warp", "loads"), [(1576, 128), (8, 160), (3144, 160), (7, 128)])
def test_one_order_says_which_values_the_warp_has(warp, loads):
    view = views.warp_memory("vgg16", "conv1_2", order="row", warp=warp)
    first, *_, last = view.rows.row.threads
    assert view.rows.row.place.startswith(
        f"kx = {first.kx}, output row {first.oy}, places {first.ox} to {last.ox}"
    )
    assert view.rows.row.load.moved == loads
    assert view.rows.row.place in view.svg()
    assert not view.rows.column.place


def test_the_box_of_one_order_says_the_number_of_its_warp():
    view = views.warp_memory("vgg16", "conv1_2", order="row")
    (box,) = (each for each in view.controls() if each.name == "warp_number")
    assert box.value == view.rows.row.number == 8
    assert views.warp_memory(order="column").warp == views.warp_memory().rows.column.number
