"""Time and bytes of one image of a batch: against the recording, the plan, and in words."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from memlab import views
from memlab.errors import InputError
from memlab.lesson.content.lesson_05 import moved, one_layer
from memlab.measure.batch_times import BatchCurve
from memlab.networks.builder import network
from memlab.pictures.draw.marks import Line, Points, Rect
from memlab.pictures.per_image import batch_speed
from memlab.pictures.per_image.batch_speed import BatchSpeed
from memlab.pictures.per_image.curves import share_text
from tests.pictures.pages import page_of

LINEAR = {"inputs": 512, "outputs": 256}
CONVOLUTION = {"channels": 8, "kernels": 16, "k": 3, "size": 14}


def charts(view: Any) -> list[Any]:
    """The charts of a view, from left to right."""
    blocks = [block for block in page_of(view).blocks if hasattr(block, "parts")]
    return [chart for block in blocks for chart, _ in block.parts] or [
        block for block in page_of(view).blocks if hasattr(block, "marks")
    ]


def made(linear: list[float], convolution: list[float], batch: int) -> BatchSpeed:
    """Speeds from seconds per image at batch 1, 2 and 4."""
    curves = (
        BatchCurve(name, {2**i: (seconds,) for i, seconds in enumerate(times)})
        for name, times in (("linear-4096", linear), ("pixels", convolution))
    )
    return BatchSpeed(tuple(curves), batch, "Recorded somewhere.")


# -- time -----------------------------------------------------------------------------------------


def test_the_gain_is_that_of_the_recorded_medians() -> None:
    lines = batch_speed.recording().result.lines
    seconds = {line.name: line.value for line in lines if ": per sample at batch " in line.name}
    for batch in (1, 8, 128):
        rows = views.batch_speed(batch).rows
        for curve in rows.curves:
            alone, now = (seconds[f"{curve.name}: per sample at batch {n}"] for n in (1, batch))
            assert rows.gain(curve) == pytest.approx(alone / now)


@pytest.mark.parametrize(
    ("times", "says"),
    [
        (([8, 4, 2], [3, 3, 3.1]), "an image is 4 times faster in the linear layer* and as fast"),
        (([8, 4, 2.5], [3, 3, 4.5]), "and 1.5 times slower in the convolution."),
        (([8, 4, 0.5], [3, 3, 2]), "an image is 16 times faster in the linear layer* and 1.5"),
    ],
)
def test_the_headline_says_both_gains(times: tuple[list[float], list[float]], says: str) -> None:
    assert says in made(*times, 4).headline


def test_at_batch_1_nothing_is_gained_yet() -> None:
    speed = made([8, 4, 2], [3, 3, 3], 1)
    assert "times" not in speed.headline
    assert {speed.gain(curve) for curve in speed.curves} == {1}


def test_a_ring_marks_the_chosen_batch_on_each_curve() -> None:
    (chart,) = charts(views.batch_speed(16))
    rings = [
        mark.points[0] for mark in chart.marks if isinstance(mark, Points) and mark.look == "ring"
    ]
    rows = views.batch_speed(16).rows
    assert rings == [(16, 1 / rows.gain(curve)) for curve in rows.curves]


def test_a_batch_between_the_recorded_ones_is_refused() -> None:
    with pytest.raises(InputError, match="batch 3 was not recorded; try one of 1, 2, 4, 8"):
        views.batch_speed(3)


def test_the_picture_says_where_and_when_it_was_recorded() -> None:
    machine = batch_speed.recording().result.machine
    assert f"Recorded on {machine.processor}, {machine.date}" in views.batch_speed().text()


# -- bytes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [LINEAR, CONVOLUTION])
@pytest.mark.parametrize("batch", [1, 4, 64])
def test_the_bytes_are_those_of_the_plan(numbers: dict[str, Any], batch: int) -> None:
    rows = views.layer_bytes(one_layer(numbers), batch=batch).rows
    weights, images = moved(numbers, batch)
    assert (rows.weights, rows.batch * rows.per_image) == (weights, images)
    assert rows.total == weights + images
    assert rows.share == pytest.approx(Fraction(rows.total, batch * rows.alone))


def test_biases_are_weights_too() -> None:
    net = network("biased", features=3).linear(2, name="layer").squared_error()
    assert views.layer_bytes(net).rows.weights == 4 * (3 * 2 + 2)


@pytest.mark.parametrize("batch", [1, 16, 64])
def test_the_bars_end_at_the_bytes_on_an_axis_for_the_larger_one(batch: int) -> None:
    view = views.layer_bytes(one_layer(CONVOLUTION), batch=batch)
    bars, _ = charts(view)
    ends = [mark.x1 for mark in bars.marks if isinstance(mark, Rect)]
    rows = view.rows
    assert ends == [rows.weights, rows.alone, rows.weights, rows.total]
    assert bars.x.last / 2 < rows.total <= bars.x.last


def test_the_axis_holds_the_batch_before_too() -> None:
    view = views.layer_bytes(one_layer(CONVOLUTION), batch=64)
    before = view.rows.total
    view.batch = 2
    assert charts(view)[0].x.last >= before


@pytest.mark.parametrize(("numbers", "name"), [(LINEAR, "linear"), (CONVOLUTION, "convolution")])
def test_a_layer_has_the_look_that_it_has_beside_its_time(
    numbers: dict[str, Any], name: str
) -> None:
    (times,) = charts(views.batch_speed())
    names = [batch_speed.name_of(curve) for curve in views.batch_speed().rows.curves]
    looks = [mark.look for mark in times.marks if isinstance(mark, Line)]
    _, curve = charts(views.layer_bytes(one_layer(numbers)))
    (look,) = [mark.look for mark in curve.marks if isinstance(mark, Line)]
    assert name in names[looks.index(look)]


def test_the_batch_before_is_dashed_and_another_layer_is_not() -> None:
    view = views.layer_bytes("mnist_cnn", batch=2)
    assert not charts(view)[0].previous
    view.batch = 8
    (outline,) = charts(view)[0].previous
    assert outline.x1 == view.rows.at(2).total
    view.layer = "conv2"
    assert not charts(view)[0].previous


def test_every_layer_with_weights_can_be_chosen() -> None:
    view = views.layer_bytes("mnist_cnn")
    layers = dict(next(c for c in view.controls() if c.name == "layer").options)
    assert view.layer == next(iter(layers))
    for name in layers:
        view.layer = name
        assert view.rows.weights > 0


def test_a_network_without_such_a_layer_is_refused() -> None:
    plain = network("plain", image=(1, 4, 4)).max_pool("all").flatten().squared_error()
    with pytest.raises(InputError, match="no linear layer and no convolution; try 'vgg16'"):
        views.layer_bytes(plain)
    with pytest.raises(InputError, match="unknown layer 'conv9'"):
        views.layer_bytes("mnist_cnn", "conv9")


def test_shares_are_fractions() -> None:
    assert [share_text(share) for share in (2, 1, 0.5, 1 / 128)] == ["2", "1", "÷2", "÷128"]
