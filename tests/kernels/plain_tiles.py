"""Plain NumPy versions of the tile kernels, for one image and one group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from memlab.kernels.formulas.windows import source
from memlab.kernels.operands import ConvWindow
from memlab.kernels.registry import Array


def panel(image: Array, at: ConvWindow, places: range) -> Array:
    """Lower some output places of an image (C, H, W): (C k k, places), 0 in the padding."""
    lowered = np.zeros((len(image), at.kernel, at.kernel, len(places)), image.dtype)
    for ky, kx, lane, iy, ix in _reads(at, places):
        lowered[:, ky, kx, lane] = image[:, iy, ix]
    return lowered.reshape(-1, len(places))


def add_back(lowered: Array, image: Array, at: ConvWindow, places: range) -> None:
    """Add a panel to the places of the image that it was read from."""
    values = lowered.reshape(len(image), at.kernel, at.kernel, len(places))
    for ky, kx, lane, iy, ix in _reads(at, places):
        image[:, iy, ix] += values[:, ky, kx, lane]


def convolution(image: Array, weight: Array, at: ConvWindow, tile: int) -> Array:
    """Output maps ``Y = W L``, computed tile by tile of ``L``, as (K, places)."""
    matrix = weight.reshape(len(weight), -1)
    return np.concatenate([matrix @ panel(image, at, some) for some in tiles(at, tile)], axis=1)


def gradients(
    image: Array, weight: Array, dy: Array, at: ConvWindow, tile: int
) -> tuple[Array, Array]:
    """Gradients ``dW = dY L^T``, and the image's from ``dL = W^T dY``; ``dy`` is (K, places)."""
    matrix, dimage = weight.reshape(len(weight), -1), np.zeros_like(image)
    dweight = np.zeros_like(matrix)
    for some in tiles(at, tile):
        part = dy[:, some.start : some.stop]
        dweight += part @ panel(image, at, some).T
        add_back(matrix.T @ part, dimage, at, some)
    return dweight.reshape(weight.shape), dimage


def tiles(at: ConvWindow, tile: int) -> list[range]:
    """Ranges of neighbouring output places that cover all places."""
    places = range(at.rows * at.columns)
    return [places[first : first + tile] for first in range(0, len(places), tile)]


def _reads(at: ConvWindow, places: range) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield, for every tap and place that reads inside the image: (ky, kx), the place's number, and
    the row and column that it reads."""
    for ky, kx in np.ndindex(at.kernel, at.kernel):
        for lane, place in enumerate(places):
            oy, ox = divmod(place, at.columns)
            iy = source(oy, ky, at.stride, at.pad, at.dilation)
            ix = source(ox, kx, at.stride, at.pad, at.dilation)
            if 0 <= iy < at.height and 0 <= ix < at.width:
                yield ky, kx, lane, iy, ix
