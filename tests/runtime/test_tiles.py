"""Whole training steps whose convolutions are lowered by tiles, or not at all.

The plan holds, and the gradients are those of lowering one image at a time.
"""

from __future__ import annotations

import numpy as np
import pytest

import memlab
from memlab.layers.algorithms import ALGORITHMS, DEFAULT
from memlab.networks.graph import Network

NAMES = ("im2col-tile", "offsets")


def grouped() -> Network:
    """Network with groups, dilation, strides and a fork."""
    x = memlab.network("grouped", image=(4, 19, 17)).conv(6, 3, pad="same", groups=2).relu()
    y = x.conv(12, 3, stride=2, pad=3, dilation=2, groups=3).batch_norm().relu()
    y = y.conv(8, 5, pad=1, bias=False).add(y.conv(8, 3, groups=4))
    return y.flatten().linear(5).cross_entropy()


def wide() -> Network:
    """Network with more channels than a panel holds, so that they are lowered in turns; backward
    the maps, too."""
    x = memlab.network("wide", image=(3, 12, 13)).conv(90, 1).relu().conv(530, 3, pad=1).relu()
    return x.conv(7, 3, stride=2).flatten().linear(3).cross_entropy()


NETWORKS = {
    "wide": wide,
    "mnist_cnn": lambda: memlab.zoo.mnist_cnn(image=12),
    "grouped": grouped,
    "resnet18": lambda: memlab.zoo.resnet18(image=64, classes=10),
}


@pytest.mark.parametrize("algorithm", NAMES)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_plan_holds_and_the_gradients_agree(network: str, algorithm: str) -> None:
    net = NETWORKS[network]()
    steps = [memlab.training_step(net, "sgd", "fp64", a) for a in (algorithm, DEFAULT)]
    tiled, expected = (memlab.run(step, 2, keep="gradients") for step in steps)
    assert tiled.residual == 0
    assert tiled.loss == pytest.approx(expected.loss, rel=1e-10)
    for name, gradient in expected.gradients.items():
        scale = max(np.abs(gradient).max(), 1e-3)  # of a bias before a batch norm it is 0
        np.testing.assert_allclose(tiled.gradients[name], gradient, 0, 1e-10 * scale)


@pytest.mark.parametrize("algorithm", NAMES)
def test_a_workspace_for_each_thread(algorithm: str) -> None:
    step = memlab.training_step(grouped(), algorithm=algorithm, threads=3)
    assert memlab.run(step, 2).residual == 0


@pytest.mark.parametrize("name", ["vgg16", "googlenet", "resnet50"])
@pytest.mark.parametrize("algorithm", NAMES)
def test_no_workspace_is_larger_than_half_a_mebibyte(name: str, algorithm: str) -> None:
    step = memlab.training_step(memlab.zoo.build(name), "sgd", "fp64", algorithm)
    convolutions = [op for op in step.ops if op.algorithm]
    assert {op.algorithm for op in convolutions} <= {*NAMES}
    assert ALGORITHMS[algorithm].name in {op.algorithm for op in convolutions}
    for op in convolutions:
        assert 0 < sum(tensor.size.at(64) for tensor in op.workspace.values()) <= 2**19
