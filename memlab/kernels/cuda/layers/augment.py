"""Images as bytes to the numbers that a network reads, as the CPU makes them of the same draws."""

from __future__ import annotations

import numpy as np
from numba import cuda

from memlab.kernels.cuda.arrays import line
from memlab.kernels.cuda.compile import Bytes, Values, compiled, inlined, launch
from memlab.kernels.cuda.grids import values
from memlab.kernels.maps import crops, random_numbers
from memlab.kernels.maps.random_numbers import GOLDEN
from memlab.kernels.registry import Call, kernel

_U = np.uint64

mix = inlined(random_numbers.mix)
moved_down, moved_right = inlined(crops.down), inlined(crops.right)
turned = inlined(crops.turned)


@kernel("augment", device="cuda")
def augment(call: Call) -> None:
    """x (B, C, H, W), uint8, to y of that shape: ``(x - mean) * scale``; black beyond the edge."""
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
    """A row of blocks for each image; a thread walks over the values of it."""
    middle, factor, seed = y.dtype.type(mean), y.dtype.type(scale), mix(_U(key))
    b = cuda.blockIdx.y
    while b < batch:
        drawn = mix(seed + _U(first + b + 1) * GOLDEN)
        down, right = moved_down(drawn, crop), moved_right(drawn, crop)
        turn = flip and turned(drawn)
        i = cuda.grid(1)
        while i < count:
            row, column = i // width % height + down, i % width
            column = (width - 1 - column if turn else column) + right
            shade = y.dtype.type(0)
            if 0 <= row < height and 0 <= column < width:
                plane = i // (width * height)
                shade = y.dtype.type(x[(b * count + (plane * height + row) * width) + column])
            y[b * count + i] = (shade - middle) * factor
            i += cuda.gridsize(1)
        b += cuda.gridDim.y
