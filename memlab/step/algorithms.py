"""Ways to compute one layer that differ in workspace, operations and bytes moved; no arithmetic.

A kernel of the same name does the work; a test holds the two lists against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memlab.errors import pick
from memlab.networks.layers import Conv2d, Dims, Shape

DEFAULT = "im2col-image"


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A way to convolve. ``workspace`` gives, for the shapes of input and output per sample, the
    axes of the buffer that one thread holds, none where it needs none; the buffer is written and
    read once per image and pass."""

    name: str
    title: str
    workspace: Callable[[Conv2d, Shape, Shape], Dims]
    source: str


def _none(layer: Conv2d, x: Shape, y: Shape) -> Dims:
    return ()


def _lowered_image(layer: Conv2d, x: Shape, y: Shape) -> Dims:
    if (layer.kernel, layer.stride, layer.padding) == (1, 1, 0):
        return ()  # the lowered matrix of a pointwise convolution is its input
    kernel = (("k", layer.kernel), ("k", layer.kernel))
    return (("C", x[0]), *kernel, ("Ho", y[1]), ("Wo", y[2]))


ALGORITHMS: dict[str, Algorithm] = {
    entry.name: entry
    for entry in (
        Algorithm("direct", "direct", _none, "G1"),
        Algorithm(DEFAULT, "im2col, one image at a time", _lowered_image, "G3"),
    )
}
"""The algorithms of a convolution, by name."""


def find(name: str) -> Algorithm:
    """The algorithm of that name.

    Raises:
        InputError: no such algorithm.
    """
    return pick("algorithm", name, ALGORITHMS)
