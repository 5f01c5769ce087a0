"""Vectors filled like glasses: lanes against shapes, the price against a plan, and the view."""

import re
from fractions import Fraction
from math import ceil
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memlab
from memlab import InputError, views, zoo
from memlab.formats import FORMATS
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.marks import Glyph, Points, Rect
from memlab.pictures.draw.table import SideBySide
from memlab.pictures.vectors import FORMATS as VECTOR_FORMATS
from memlab.pictures.vectors import (
    MAP,
    SHOWN,
    SOURCES,
    STOPS,
    TALL,
    WIDTHS,
    VectorCells,
    Vectors,
    layers_of,
    sizes,
)  # fmt: skip
from memlab.step.tensor import Role
from tests.pictures.shown import send

RESNET = zoo.resnet50()


def made(batch=1, bits=1024, format="fp32", size="7x7", **others):
    return Vectors(RESNET, batch, bits, format, size, **others)


# -- columns, channels, lanes ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["resnet18", "vit_s"])
def test_columns_are_the_places_of_the_outputs(name):
    network = zoo.build(name)
    layers = layers_of(network)
    maps = {n.shape[1:] for n in network.nodes if n.kind == "conv2d"}
    assert {(layer.columns, size) for size, layer in layers.items() if size} == {
        (high * wide, f"{high}x{wide}") for high, wide in maps
    }
    assert layers[""].columns == 1
    for size, layer in layers.items():
        node = network.by_name[layer.name]
        assert layer.channels == (node.shape[0] if size else node.shape[-1])
        assert (node.kind == "conv2d") is bool(size)


def test_the_convolution_is_the_hardest_of_its_size():
    assert sizes(RESNET) == ["7x7", "14x14", "28x28", "56x56", "112x112"]
    same = [n.shape[0] for n in RESNET.nodes if n.kind == "conv2d" and n.shape[1:] == (7, 7)]
    assert len(same) == 9
    assert layers_of(RESNET)["7x7"].channels == min(same) == 512


@settings(deadline=None, max_examples=40)
@given(
    batch=st.integers(1, 1000),
    bits=st.sampled_from(WIDTHS),
    format=st.sampled_from(VECTOR_FORMATS),
    source=st.sampled_from(SOURCES),
)
def test_every_value_has_one_lane_of_one_vector(batch, bits, format, source):
    vectors = made(batch, bits, format, "14x14", source=source)
    assert vectors.lanes == bits // FORMATS[format].bits
    counts = (batch, 196 * batch) if source == "columns" else (1000, 256)
    for filled, count in zip(vectors.both, counts, strict=True):
        assert filled.count == count
        assert filled.vectors == ceil(count / vectors.lanes)
        inside = [filled.inside(vector) for vector in range(filled.vectors)]
        assert sum(inside) == count
        assert {*inside[:-1]} <= {vectors.lanes}
        assert filled.idle == vectors.lanes * filled.vectors - count < vectors.lanes
        assert filled.part == Fraction(count, count + filled.idle)


@pytest.mark.parametrize(
    ("batch", "linear", "convolution"),
    [(1, "97 %", "23 %"), (2, "94 %", "23 %"), (4, "88 %", "13 %"), (8, "75 %", "6 %"),
     (16, "50 %", "2 %"), (32, "0 %", "0 %"), (64, "0 %", "0 %")],
)  # fmt: skip
def test_idle_lanes_of_resnet50_in_1024_bits(batch, linear, convolution):
    """4 times 49 = 196 columns leave 28 of 224 lanes: 12.5 %, and half is rounded up."""
    assert [filled.share for filled in made(batch).both] == [linear, convolution]


def test_idle_is_0_only_where_none_is():
    filled = made(1000).both[1]
    assert (filled.idle, filled.share) == (24, "<1 %")
    assert made(32).both[1].idle == 0


def test_a_vector_says_what_it_holds():
    one, two = made(1).both, made(2)
    assert made().vector_text(one[0], 0) == "linear layer, vector 1: image 1, 31 lanes idle"
    assert made().vector_text(one[1], 1) == (
        "convolution, vector 2: columns 33 to 49 of image 1, 15 lanes idle"
    )
    assert two.vector_text(two.both[1], 1) == (
        "convolution, vector 2: column 33 of image 1 to column 15 of image 2, no lanes idle"
    )
    assert made(31).vector_text(made(31).both[0], 0).endswith("images 1 to 31, 1 lane idle")
    channels = made(source="channels")
    assert channels.vector_text(channels.both[0], 31) == (
        "linear layer, vector 32: channels 993 to 1,000 of one column, 24 lanes idle"
    )


# -- the price ------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["fp32", "bf16"])
def test_the_price_is_the_most_feature_maps_alive(format):
    ledger = memlab.plan(memlab.training_step(RESNET, format=format))
    maps = [entry for entry in ledger.entries if entry.role is Role.FEATURE_MAP]
    for batch in (1, 7, 64):
        inside = [
            sum(e.size.at(batch) for e in maps if e.birth <= at <= e.death)
            for at in range(len(ledger.rows))
        ]
        assert made(batch, format=format).nbytes == max(inside)


def test_the_price_of_resnet50():
    assert made().nbytes == 84_508_160
    assert [round(made(32).nbytes / 1e9, 2), round(made(64, format="fp16").nbytes / 1e9, 2)] == [
        2.70,
        2.70,
    ]
    assert made(format="int8").nbytes == 0
    assert "no training step" in made(format="int8").price


# -- in words -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings_", "says"),
    [
        ({}, "*One image fills most lanes of the convolution,* and one lane of the linear layer"),
        ({"batch": 16}, "*16 images fill nearly all lanes of the convolution,* and half of the "
                        "lanes of the linear layer"),
        ({"batch": 32},
         "32 images fill the linear layer. *One image already filled most of the convolution*"),
        ({"batch": 32, "format": "fp16", "bits": 512},
         "fp16 has twice as many lanes. *Twice the images fill them, for the same bytes*"),
        ({"batch": 128, "format": "int8"},
         "*128 images fill the linear layer.* One fills few lanes of the convolution"),
        ({"batch": 5, "source": "channels"},
         "*Channels fill nearly all lanes of the linear layer,* and all lanes of the "
         "convolution, at any batch"),
    ],
)  # fmt: skip
def test_the_headline_is_the_finding(settings_, says):
    assert made(**settings_).headline == says


def test_what_has_changed_is_said_beside_the_state_before():
    more, less = made(32).sentence(made()), made().sentence(made(32))
    assert more == ("Before, 23 % of the lanes of the convolution were idle. The feature maps now "
                    "take 31.9 times the bytes. Dashed: before.")  # fmt: skip
    assert (
        "Before, 0 % of the lanes of the convolution were idle. The feature maps took 31.9 times"
        in less
    )
    for other in (made(bits=256), made(32, format="fp64"), made(32, size="14x14")):
        assert made().sentence(other) == made().sentence()


def test_nobody_must_double_the_batch():
    vectors = made(64, format="fp16")
    assert vectors.halved is not None
    assert vectors.halved.nbytes == made(32).nbytes
    assert vectors.sentence().endswith("32 images in 16 bits take half.")
    assert round(vectors.nbytes / made(32, format="fp16").nbytes, 2) == 2


@pytest.mark.parametrize("name", ["linear1", "lstm"])
def test_a_network_without_a_convolution_gets_one_sentence(name):
    with pytest.raises(InputError, match="has no convolution to put beside the other; try"):
        layers_of(zoo.build(name))


def test_a_network_without_a_linear_layer_gets_one_sentence():
    net = memlab.network("mine", image=(3, 8, 8)).conv(2, 3).squared_error()
    with pytest.raises(InputError, match="mine has no linear layer"):
        layers_of(net)


# -- the view ---------------------------------------------------------------------------------


def charts(view):
    """The linear layer, the convolution, the curves, the price."""
    page = view.page(960)
    (beside,) = (block for block in page.blocks if isinstance(block, SideBySide))
    price = [block for block in page.blocks if isinstance(block, Chart)]
    return [*(block for block, _ in beside.parts), *price]


def glasses(chart):
    """The bars of a layer without the map above them: full ones, and the parts of the last."""
    return [mark for mark in chart.marks if isinstance(mark, VectorCells) and mark.y1 <= TALL]


def facts(chart):
    return [str(mark.fact) for mark in chart.marks if mark.fact]


def press(view, key):
    view.on_event("key", key, False)
    return view


# -- levels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("batch", "bits"), [(5, 1024), (32, 128)])
def test_a_bar_is_filled_as_far_as_its_vector_and_has_a_cell_for_each_lane(batch, bits):
    view = views.vectors("resnet50", batch, bits=bits)
    for chart, filled in zip(charts(view)[:2], view.rows.both, strict=True):
        *full, last = (b for b in glasses(chart) if b.look is MAP)
        assert [bar.up for bar in full] == [view.rows.lanes] * len(full)
        assert last.up == filled.inside(filled.vectors - 1)
        assert last.y1 == pytest.approx(TALL * last.up / view.rows.lanes)
        idle = [bar.up for bar in glasses(chart) if bar.look is not MAP]
        assert sum(idle) == filled.idle


def test_the_level_of_one_vector_is_the_height_of_its_point():
    for batch in STOPS[:5]:
        view = views.vectors(batch=batch)
        linear, _, curves, _ = charts(view)
        (level,) = (bar.y1 for bar in glasses(linear) if bar.look is MAP)
        (point,) = (m.points[0] for m in curves.marks if isinstance(m, Points) and m.size > 8)
        assert point == pytest.approx((batch, level / TALL))


def test_curves_have_a_point_for_each_stop_and_for_the_batch_of_now():
    for batch, count in ((8, 7), (9, 8), (1000, 7)):
        marks = charts(views.vectors(batch=batch))[2].marks
        squares = [m for m in marks if isinstance(m, Glyph) and m.fact]
        rings = [m for m in marks if isinstance(m, Points) and m.fact]
        assert len(squares) == len(rings) == count
    assert "convolution, batch 4: 13 % idle" in facts(charts(views.vectors())[2])


def test_many_vectors_are_cut_before_the_last_one():
    view = views.vectors(batch=100)
    chart, filled = charts(view)[1], view.rows.both[1]
    assert filled.vectors == 154 > SHOWN
    texts_ = facts(chart)
    assert len(texts_) < SHOWN
    assert "convolution, vector 1:" in texts_[0]
    assert texts_[-1] == view.rows.vector_text(filled, 153)
    assert "in 154 vectors" in view.svg()


def test_a_cell_of_the_price_is_an_image_and_twice_the_lanes_cost_the_same():
    plain, half = views.vectors(batch=32), views.vectors(batch=64, format="fp16")
    (one,), (two,) = (
        [m for m in charts(view)[3].marks if isinstance(m, VectorCells)] for view in (plain, half)
    )
    assert (one.across, two.across) == (32, 64)
    assert two.x1 == pytest.approx(one.x1, rel=0.01)


# -- the state before -----------------------------------------------------------------------------


def test_what_was_filled_before_is_dashed():
    view = views.vectors()
    assert not any(chart.previous for chart in charts(view))
    view.batch = 32
    linear, convolution, _, price = charts(view)
    assert [mark.y1 / TALL for mark in linear.previous] == [1 / 32]
    assert [mark.y1 / TALL for mark in convolution.previous] == [1, pytest.approx(17 / 32)]
    (was,) = price.previous
    (now,) = (m for m in price.marks if isinstance(m, VectorCells))
    assert isinstance(was, Rect)
    assert now.x1 / was.x1 == pytest.approx(view.rows.nbytes / 84_508_160)


def test_lanes_of_another_width_are_not_the_same_lanes():
    view = views.vectors()
    view.format = "fp16"
    linear, convolution, _, price = charts(view)
    assert not linear.previous
    assert not convolution.previous
    assert price.previous


# -- controls and keys ----------------------------------------------------------------------------


def test_keys_change_the_batch_walk_the_vectors_and_show_all_numbers():
    view = views.vectors(batch=3)
    assert press(view, "ArrowRight").batch == 4
    assert press(press(view, "ArrowLeft"), "ArrowLeft").batch == 1
    assert press(view, "ArrowLeft").batch == 1
    press(view, "ArrowDown")
    assert view.fact(view.scene()) == view.rows.vector_text(view.rows.both[1], 0)
    press(view, "Enter")
    fact = view.fact(view.scene())
    assert fact == "convolution, vector 2: columns 33 to 49 of image 1, 15 lanes idle"
    assert fact in facts(charts(view)[1])
    assert fact.startswith(view.now_["shown"]["fact"])
    press(view, "Enter")
    assert "vector 1:" in view.fact(view.scene())
    assert "linear layer" in press(view, "ArrowUp").fact(view.scene())
    assert press(view, "Escape").fact(view.scene()) == ""
    before = view.previous
    assert press(view, "KeyN").numbers
    assert view.previous is before
    assert "84,508,160 B" in view.svg()
    assert "84,508,160 B" not in press(view, "KeyN").svg()
    assert "84,508,160 B" in view.text()


def test_surprising_is_half_precision_at_twice_the_batch():
    view = views.vectors()
    view.on_event("surprise", None, False)
    assert (view.batch, view.format, view.bits) == (64, "fp16", 1024)
    assert "Twice the images fill them, for the same bytes" in view.text() + view.svg()


def test_another_network_has_its_own_maps():
    view = views.vectors(convolution="14x14")
    view.network = "mnist_cnn"
    assert view.convolution == "14x14"
    view.convolution = "28x28"
    view.network = "alexnet"
    assert view.convolution == "13x13"
    assert view.rows.network is view.network
    assert view.code() == "memlab.views.vectors('alexnet', batch=1, bits=1024, format='fp32')"


def test_nothing_moves_while_the_batch_changes():
    """Heads, numbers, curves and the price keep their places."""
    tall = {views.vectors(batch=batch).page(960).svg().height for batch in (1, 2, 33, 64, 5000)}
    assert len(tall) == 1
    ends = {len(charts(views.vectors(batch=batch))[2].x.ticks) for batch in (1, 64)}
    assert len(ends) == 1


@pytest.mark.parametrize(
    ("settings_", "says"),
    [
        ({"network": "resnet5"}, "unknown network 'resnet5'"),
        ({"network": "gpt2"}, "has no convolution to put beside the other; try 'resnet50'"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"bits": 300}, "bits must be 128, 256, 512 or 1024, got 300"),
        ({"format": "fp8"}, "unknown format 'fp8'"),
        ({"convolution": "9x9"}, "unknown convolution '9x9'"),
        ({"source": "images"}, "unknown source 'images'"),
    ],
)
def test_bad_input_gives_one_sentence(settings_, says):
    with pytest.raises(InputError, match=re.escape(says)):
        views.vectors(**settings_)


@pytest.mark.measures
def test_a_redraw_is_quick():
    """10 ms of a processor, five times over."""
    view = views.vectors()
    seconds = []
    for batch in STOPS[1:]:
        start = thread_time()
        send(view, batch=batch)
        seconds.append(thread_time() - start)
    assert sorted(seconds)[len(seconds) // 2] < 0.05


def test_a_network_of_ones_own():
    net = memlab.network("mine", image=(3, 9, 6)).conv(2, 3).flatten().linear(5).cross_entropy()
    view = views.vectors(net, 2)
    assert view.convolution == "7x4"
    assert [filled.count for filled in view.rows.both] == [2, 2 * 28]
    assert view.network is net
    assert zoo.ZOO.keys().isdisjoint({net.name})
    view.on_event("surprise", None, False)
    assert view.network is net
