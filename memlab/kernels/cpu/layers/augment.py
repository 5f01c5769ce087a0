"""Images as bytes to the numbers that a network reads: cropped, turned and normalised at random.

What is drawn for an image depends on the key and its number alone: the values are the same in
whatever batch, thread or memory. A difference times a factor has no part that could be fused, so
the CPU and a GPU also round alike.
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.formulas import crops
from memlab.kernels.formulas.crops import moved
from memlab.kernels.formulas.random_numbers import mix
from memlab.kernels.registry import Array, KernelCall, kernel


@kernel("augment")
def augment(call: KernelCall) -> None:
    """x (B, C, H, W), uint8, to y of that shape: ``(x - mean) * scale``; black beyond the edge."""
    _augment(call["x"], call["y"], *crops.settings(call))


@compiled
def _augment(
    x: Array, y: Array, key: int, first: int, crop: int, flip: bool, mean: float, scale: float
) -> None:
    batch, channels, height, width = x.shape
    seed, middle, factor = mix(np.uint64(key)), y.dtype.type(mean), y.dtype.type(scale)
    black = (y.dtype.type(0) - middle) * factor
    for n in range(batch):
        down, right, turned = moved(seed, first + n, crop, flip)
        for c in range(channels):
            for i in range(height):
                for j in range(width):
                    row, column = i + down, (width - 1 - j if turned else j) + right
                    if 0 <= row < height and 0 <= column < width:
                        y[n, c, i, j] = (y.dtype.type(x[n, c, row, column]) - middle) * factor
                    else:
                        y[n, c, i, j] = black
