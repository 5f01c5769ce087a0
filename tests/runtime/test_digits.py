"""Training works: a small network learns to read handwritten digits."""

from __future__ import annotations

import numpy as np
import pytest

import memlab
from memlab.kernels.registry import Array
from memlab.networks.graph import Network
from memlab.runtime.session import Session
from memlab.step.tensor import Role

datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn brings the digits")

BATCH, EPOCHS, TEST = 32, 6, 360
Split = tuple[Array, Array]


def small() -> Network:
    """Two convolutions with batch norm, then a linear layer: 6,138 parameters."""
    x = memlab.network("digits", image=(1, 8, 8))
    x = x.conv(16, 3, pad="same", bias=False).batch_norm().relu().max_pool(2)
    x = x.conv(32, 3, pad="same", bias=False).batch_norm().relu().max_pool(2)
    return x.flatten().dropout(0.2).linear(10).cross_entropy()


def digits(rng: np.random.Generator) -> tuple[Split, Split]:
    """1,797 images of 8x8 in 17 greys, shuffled: for training, for the test."""
    images, labels = datasets.load_digits(return_X_y=True)
    order = rng.permutation(len(images))
    x, y = images[order].reshape(-1, 1, 8, 8) / 16, labels[order]
    return (x[TEST:], y[TEST:]), (x[:TEST], y[:TEST])


def trained(net: Network, x: Array, y: Array, rng: np.random.Generator) -> dict[str, Array]:
    """Parameters and running statistics after some epochs of SGD with momentum."""
    with Session(memlab.training_step(net), BATCH, settings={"rate": 0.02}) as session:
        for _ in range(EPOCHS):
            order = rng.permutation(len(x))
            for first in range(0, len(x) - BATCH + 1, BATCH):
                chosen = order[first : first + BATCH]
                session.step(x[chosen], y[chosen])
        return {
            tensor.name: session.value(tensor).copy()
            for tensor in session.residents
            if tensor.role in (Role.PARAMETER, Role.BUFFER)
        }


def test_a_small_network_learns_to_read_digits() -> None:
    rng, net = np.random.default_rng(0), small()
    (x, y), (x_test, y_test) = digits(rng)
    parameters = trained(net, x, y, rng)
    output = memlab.run(memlab.inference_step(net), TEST, x_test, parameters=parameters).output
    assert output is not None
    error = np.mean(output.argmax(1) != y_test)
    assert error < 0.05
