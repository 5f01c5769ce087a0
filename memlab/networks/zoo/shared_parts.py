"""Pieces that several networks of the zoo share."""

from __future__ import annotations

from memlab.errors import InputError, shorten, whole_number
from memlab.networks.builder import Handle, network

MOST = 10_000


def start(
    name: str,
    title: str,
    image: int,
    classes: int,
    channels: int = 3,
    variant: str = "",
) -> Handle:
    """Return the input of an image classifier: square images of ``channels`` x ``image`` x
    ``image`` values.

    Raises:
        InputError: ``image`` or ``classes`` is no whole number of at least 1.
    """
    size = size_of("image", image, usual=224)
    size_of("classes", classes, usual=1000)
    return network(name, image=(channels, size, size), title=title, variant=variant)


def repeats(what: str, given: object) -> int:
    """Return the number of times that a network repeats a part: more than 10,000 would take minutes
    to write down.

    Raises:
        InputError: no whole number from 1 to 10,000.
    """
    return whole_number(what, given, most=MOST)


def size_of(what: str, given: object, usual: int) -> int:
    """Return ``given`` as a whole number of at least 1. The error proposes the usual one.

    Raises:
        InputError: it is anything else.
    """
    try:
        return whole_number(what, given)
    except InputError:
        raise InputError(
            f"{what} must be a whole number of at least 1, got {shorten(given)}; try {usual}."
        ) from None


def conv_relu(
    x: Handle, name: str, channels: int, kernel: int, stride: int = 1, pad: int | None = None
) -> Handle:
    """Return the output of a convolution with bias and a ReLU. Without ``pad``, the map keeps its
    size."""
    y = x.conv(channels, kernel, stride, "same" if pad is None else pad, name=name)
    return y.relu(f"{name}.relu")


def linear_relu(x: Handle, name: str, features: int) -> Handle:
    """Return the output of a fully connected layer and a ReLU."""
    return x.linear(features, name=name).relu(f"{name}.relu")
