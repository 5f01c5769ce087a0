"""Handwritten digits, small networks that learn to read them, and dim digits that fp16 cannot
learn.

Example::

    memlab.train(digits.network(), digits.load(), settings=digits.SETTINGS)
    memlab.train(digits.dim_network(), digits.dim(), settings=digits.DIM_SETTINGS)
    digits.in_the_dark()["bf16"].errors
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from memlab import lesson_folders
from memlab.arrays import Column
from memlab.errors import InputError, whole_number
from memlab.networks.builder import network as start
from memlab.networks.graph import Network
from memlab.strings import gettext as _

if TYPE_CHECKING:
    from memlab.runtime.training import History

TEST = 360
"""Number of the 1,797 images that are kept for the test."""
CLASSES = 10
FILE = lesson_folders.LESSONS / "data/digits.csv.gz"
"""Copy of scikit-learn's file, in a web page alone."""
DIM = 2.0**-13
"""Factor that multiplies the digits and their targets in the dim data."""
SETTINGS, DIM_SETTINGS = {"rate": 0.02}, {"rate": 0.02 / DIM**2}
"""Settings of SGD with momentum, for the digits as they are and for the dim ones."""
SLOWER = 10
"""Factor that divides the rate of ``in_small_steps``."""


@dataclass(frozen=True)
class Digits:
    """Images of handwritten digits and their classes, for training and for the test.

    ``x`` is (1437, 1, 8, 8) and ``x_test`` (360, 1, 8, 8), fp32. ``y`` holds classes from 0 to 9
    (int64), or targets of shape (1437, 10); ``y_test`` holds classes.
    """

    x: Column = field(repr=False)
    y: Column = field(repr=False)
    x_test: Column = field(repr=False)
    y_test: Column = field(repr=False)


def load(seed: int = 0) -> Digits:
    """Return the digits of scikit-learn: 1,797 images of 8x8 pixels in 17 greys from 0 to 1,
    shuffled.

    Args:
        seed: seed of the order.

    Raises:
        InputError: scikit-learn is not installed, or the seed is no whole number from 0 on.
    """
    images, labels = _images_and_classes()
    order = np.random.default_rng(whole_number("seed", seed, least=0)).permutation(len(images))
    x = (images[order].reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    y = labels[order].astype(np.int64)
    return Digits(x[TEST:], y[TEST:], x[:TEST], y[:TEST])


def _images_and_classes() -> tuple[Column, Column]:
    """Return the images, a row of greys from 0 to 16 each, and their classes; a web page carries
    scikit-learn's file."""
    if FILE.exists():
        rows = np.loadtxt(FILE, delimiter=",")
        return rows[:, :-1], rows[:, -1]
    try:
        datasets = import_module("sklearn.datasets")
    except ImportError:
        raise InputError(
            _(
                "the digits come with scikit-learn, which is not installed; try pip install "
                "'memlab[lessons]'."
            )
        ) from None
    images, labels = datasets.load_digits(return_X_y=True)
    return images, labels


def network() -> Network:
    """Return a network for digits: two convolutions with batch norm, dropout and a linear layer,
    with 6,138 parameters."""
    x = start("digits", image=(1, 8, 8), title="digits network")
    x = x.conv(16, 3, pad="same", bias=False).batch_norm().relu().max_pool(2)
    x = x.conv(32, 3, pad="same", bias=False).batch_norm().relu().max_pool(2)
    return x.flatten().dropout(0.2).linear(CLASSES).cross_entropy()


def dim(seed: int = 0) -> Digits:
    """Return dim digits: images and targets times 2^-13, for a network with squared error.

    Times a power of 2, every loss and every gradient of ``dim_network`` in fp32 is the same but for
    its exponent: with a rate divided by the square of that power, training goes as before. In fp16,
    images and outputs still have values of their own, but the gradients, 2^-26 times as large, lie
    below half of fp16's smallest number and nearly all become 0: nothing is learned. A loss scale
    brings them back.

    Args:
        seed: seed of the order.

    Raises:
        InputError: scikit-learn is not installed, or the seed is no whole number from 0 on.
    """
    digits = load(seed)
    targets = np.eye(CLASSES, dtype=np.float32)[digits.y]
    scale = np.float32(DIM)
    return Digits(digits.x * scale, targets * scale, digits.x_test * scale, digits.y_test)


def dim_network() -> Network:
    """Return a network for dim digits: three linear layers without biases, 8,832 parameters.
    Without a bias, an input times 2^-13 gives an output times 2^-13."""
    x = start("dim_digits", image=(1, 8, 8), title="dim digits network").flatten()
    x = x.linear(64, bias=False).relu().linear(64, bias=False).relu()
    return x.linear(CLASSES, bias=False).squared_error()


def in_the_dark(epochs: int = 6) -> dict[str, History]:
    """Train on the dim digits in four number formats and return the histories by format.

    The formats are ``"fp32"``, ``"fp16"``, ``"bf16"`` and ``"mixed fp16"``, which scales the loss.

    Args:
        epochs: passes over the training images.

    Raises:
        InputError: scikit-learn is not installed, or ``epochs`` is no whole number of at least 1.
    """
    return _trained(("fp32", "fp16", "bf16", "mixed fp16"), epochs)


def in_small_steps(epochs: int = 6) -> dict[str, History]:
    """Train on the dim digits at a tenth of the rate and return the histories by format.

    The formats are ``"fp32"``, ``"bf16"``, which loses more of these updates, and ``"mixed bf16"``,
    which adds them to parameters in fp32.

    Args:
        epochs: passes over the training images.

    Raises:
        InputError: scikit-learn is not installed, or ``epochs`` is no whole number of at least 1.
    """
    return _trained(("fp32", "bf16", "mixed bf16"), epochs, DIM_SETTINGS["rate"] / SLOWER)


def _trained(
    modes: Sequence[str], epochs: int, rate: float = DIM_SETTINGS["rate"]
) -> dict[str, History]:
    """Return the histories of trainings on the dim digits, by format."""
    from memlab.runtime.training import train
    from memlab.techniques.precision import precision

    data, net = dim(), dim_network()
    return {
        mode: train(
            net,
            data,
            rewrite=None if mode == "fp32" else partial(precision, mode=mode),
            settings={"rate": rate},
            epochs=epochs,
        )
        for mode in modes
    }
