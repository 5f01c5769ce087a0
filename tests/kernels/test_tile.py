"""Tile kernels compared with their plain NumPy versions."""

from __future__ import annotations

import numpy as np
import pytest

from memlab.kernels.cpu.conv_tiles import packing
from memlab.kernels.operands import ConvWindow, conv_window
from memlab.layers import Conv2d
from tests.kernels import plain_tiles as plain
from tests.kernels_by_case import Case, Trial, distance

SETTINGS = [
    ((3, 7, 6), Conv2d(5, 3, pad="same", bias=False)),
    ((3, 9, 8), Conv2d(5, 3, 2, 1, bias=False)),
    ((2, 11, 10), Conv2d(4, 3, 3, 2, 2, bias=False)),
    ((4, 5, 9), Conv2d(9, 1, bias=False)),
]
NEAR = 1e-12


def of(trial: Trial) -> ConvWindow:
    return conv_window(trial.prepared(trial.forward_op, trial.values))


@pytest.mark.parametrize("tile", [1, 5, 48, 1000])
@pytest.mark.parametrize("way", ["im2col-tile", "offsets"])
@pytest.mark.parametrize(("shape", "layer"), SETTINGS, ids=str)
def test_forward_is_that_of_the_plain_kernel(shape, layer, way, tile):
    trial = Trial(Case(layer, (shape,), way), 2)
    y, weight = trial.forward()["y"], trial.values["weight"]
    for image, maps in zip(trial.values["x"], y, strict=True):
        expected = plain.convolution(image, weight, of(trial), tile)
        assert distance(maps.reshape(len(maps), -1), expected) < NEAR


@pytest.mark.parametrize("tile", [1, 5, 48])
@pytest.mark.parametrize(("shape", "layer"), SETTINGS, ids=str)
def test_gradients_are_those_of_the_plain_kernel(shape, layer, tile):
    trial = Trial(Case(layer, (shape,), "im2col-tile"), 2)
    x, weight, dy = trial.values["x"], trial.values["weight"], trial.weights()
    assert dy is not None
    gradients, total = trial.backward(dy), np.zeros_like(weight)
    for image, dmaps, dx in zip(x, dy, gradients["dx"], strict=True):
        lines = dmaps.reshape(len(dmaps), -1)
        dweight, dimage = plain.gradients(image, weight, lines, of(trial), tile)
        total += dweight
        assert distance(dx, dimage) < NEAR
    assert distance(gradients["dweight"], total) < NEAR


@pytest.mark.parametrize("first", [0, 3, 11])
@pytest.mark.parametrize(("shape", "layer"), SETTINGS, ids=str)
def test_a_packed_tile_is_that_of_the_plain_kernel(shape, layer, first):
    trial = Trial(Case(layer, (shape,), "im2col-tile"), 1, "fp32")
    image, at = trial.values["x"][0], of(trial)
    places = range(first, min(first + 40, at.rows * at.columns))
    packed = np.full((len(image) * at.kernel**2, 48), np.nan, np.float32)
    flat = packed.reshape(-1)
    channels = 0, len(image)
    packing.pack(image.reshape(-1), channels, at, first, len(places), flat, 48)
    assert (packed[:, : len(places)] == plain.panel(image, at, places)).all()


def test_the_plain_kernels_do_not_depend_on_the_tile() -> None:
    at = ConvWindow(6, 5, 6, 5, 3, 1, 1, 1)
    image, weight = np.arange(60.0).reshape(2, 6, 5), np.ones((1, 2, 3, 3))
    one, other = (plain.convolution(image, weight, at, tile) for tile in (4, 30))
    assert (one == other).all()
