"""Vectors filled like glasses: levels, keys, the state before, and what is refused."""

import re
from time import thread_time

import pytest

from memlab import InputError, views, zoo
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.marks import Glyph, Points, Rect
from memlab.pictures.draw.table import Beside
from memlab.pictures.vectors import MAP, SHOWN, TALL, Cells
from memlab.pictures.vectors_values import STOPS
from tests.pictures.shown import send


def charts(view):
    """The linear layer, the convolution, the curves, the price."""
    page = view.page(960)
    (beside,) = (block for block in page.blocks if isinstance(block, Beside))
    price = [block for block in page.blocks if isinstance(block, Chart)]
    return [*(block for block, _ in beside.parts), *price]


def glasses(chart):
    """The bars of a layer without the map above them: full ones, and the parts of the last."""
    return [mark for mark in chart.marks if isinstance(mark, Cells) and mark.y1 <= TALL]


def facts(chart):
    return [str(mark.fact) for mark in chart.marks if mark.fact]


def press(view, key):
    view.act("key", key, False)
    return view


# -- levels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [128, 1024])
@pytest.mark.parametrize("batch", [1, 5, 32])
def test_a_bar_is_filled_as_far_as_its_vector_and_has_a_cell_for_each_lane(batch, bits):
    view = views.vectors("resnet50", batch, bits=bits)
    for chart, each in zip(charts(view)[:2], view.rows.both, strict=True):
        *full, last = (b for b in glasses(chart) if b.look is MAP)
        assert [bar.up for bar in full] == [view.rows.lanes] * len(full)
        assert last.up == each.inside(each.vectors - 1)
        assert last.y1 == pytest.approx(TALL * last.up / view.rows.lanes)
        idle = [bar.up for bar in glasses(chart) if bar.look is not MAP]
        assert sum(idle) == each.idle


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
    chart, each = charts(view)[1], view.rows.both[1]
    assert each.vectors == 154 > SHOWN
    said = facts(chart)
    assert len(said) < SHOWN
    assert "convolution, vector 1:" in said[0]
    assert said[-1] == view.rows.said(each, 153)
    assert "in 154 vectors" in view.svg()


def test_a_cell_of_the_price_is_an_image_and_twice_the_lanes_cost_the_same():
    plain, half = views.vectors(batch=32), views.vectors(batch=64, format="fp16")
    (one,), (two,) = (
        [m for m in charts(view)[3].marks if isinstance(m, Cells)] for view in (plain, half)
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
    (now,) = (m for m in price.marks if isinstance(m, Cells))
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
    assert view.fact(view.scene()) == view.rows.said(view.rows.both[1], 0)
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
    view.act("surprise", None, False)
    assert (view.batch, view.format, view.bits) == (64, "fp16", 1024)
    assert "Twice the images fill them, at the same price" in view.text() + view.svg()


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
    ("given", "says"),
    [
        ({"network": "resnet5"}, "unknown network 'resnet5'"),
        ({"network": "gpt2"}, "has no convolution to put beside the other; try 'resnet50'"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"bits": 100}, "bits must be at least 128, got 100; try 128"),
        ({"bits": 300}, "bits must be 128, 256, 512 or 1024, got 300"),
        ({"format": "fp8"}, "unknown format 'fp8'"),
        ({"convolution": "9x9"}, "unknown convolution '9x9'"),
        ({"source": "images"}, "unknown source 'images'"),
    ],
)
def test_bad_input_gives_one_sentence(given, says):
    with pytest.raises(InputError, match=re.escape(says)):
        views.vectors(**given)


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
    import memlab

    net = memlab.network("mine", image=(3, 9, 6)).conv(2, 3).flatten().linear(5).cross_entropy()
    view = views.vectors(net, 2)
    assert view.convolution == "7x4"
    assert [each.count for each in view.rows.both] == [2, 2 * 28]
    assert view.network is net
    assert zoo.ZOO.keys().isdisjoint({net.name})
    view.act("surprise", None, False)
    assert view.network is net
