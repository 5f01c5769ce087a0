"""Random crops and mirroring of images on a GPU, from the same random numbers as on the CPU."""

from __future__ import annotations

import numpy as np
from numba import cuda

from memlab.kernels.cuda.compile import Bytes, Values, compiled, launch, values
from memlab.kernels.cuda.flat_arrays import line
from memlab.kernels.formulas import crops
from memlab.kernels.formulas.crops import crop_of_image
from memlab.kernels.formulas.random_numbers import mix
from memlab.kernels.registry import KernelCall, kernel

_U = np.uint64


@kernel("augment", device="cuda")
def augment(call: KernelCall) -> None:
    """Crop, mirror and normalise images: ``y = (x - mean) * scale``; pixels beyond the edge are
    black.

    Shapes: x (B, C, H, W), uint8, and y (B, C, H, W).
    """
    x, y = call["x"], call["y"]
    batch, channels, height, width = y.shape
    count = channels * height * width
    extents = (batch, count, height, width)
    launch(_augment, values(count, batch), line(x), line(y), *extents, *crops.settings(call))


@compiled
def _augment(
    x: Bytes, y: Values, batch: int, count: int, height: int, width: int, key: int, first: int,
    crop: int, flip: bool, mean: float, scale: float,
) -> None:  # fmt: skip
    """Crop, mirror and normalise a batch, with a row of blocks for each image; a thread takes
    several of its values."""
    middle, factor, seed = y.dtype.type(mean), y.dtype.type(scale), mix(_U(key))
    b = cuda.blockIdx.y
    while b < batch:
        down, right, turned = crop_of_image(seed, first + b, crop, flip)
        i = cuda.grid(1)
        while i < count:
            row, column = i // width % height + down, i % width
            column = (width - 1 - column if turned else column) + right
            shade = y.dtype.type(0)
            if 0 <= row < height and 0 <= column < width:
                plane = i // (width * height)
                shade = y.dtype.type(x[(b * count + (plane * height + row) * width) + column])
            y[b * count + i] = (shade - middle) * factor
            i += cuda.gridsize(1)
        b += cuda.gridDim.y
