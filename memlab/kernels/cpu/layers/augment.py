"""Random crops and mirroring of images, from bytes to normalised numbers.

The random numbers of an image depend on nothing but the key and the number of the image: the values
are the same in any batch, thread or memory. A difference times a factor contains nothing that could
be fused, so the CPU and a GPU also round alike.
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.formulas import crops
from memlab.kernels.formulas.crops import crop_of_image
from memlab.kernels.formulas.random_numbers import mix
from memlab.kernels.registry import Array, KernelCall, kernel


@kernel("augment")
def augment(call: KernelCall) -> None:
    """Crop, mirror and normalise images: ``y = (x - mean) * scale``; pixels beyond the edge are
    black.

    Shapes: x (B, C, H, W), uint8, and y (B, C, H, W).
    """
    _augment(call["x"], call["y"], *crops.settings(call))


@compiled
def _augment(
    x: Array, y: Array, key: int, first: int, crop: int, flip: bool, mean: float, scale: float
) -> None:
    """Crop, mirror and normalise a batch; ``first`` is the number of its first image."""
    batch, channels, height, width = x.shape
    seed, middle, factor = mix(np.uint64(key)), y.dtype.type(mean), y.dtype.type(scale)
    black = (y.dtype.type(0) - middle) * factor
    for n in range(batch):
        down, right, turned = crop_of_image(seed, first + n, crop, flip)
        for c in range(channels):
            for i in range(height):
                for j in range(width):
                    row, column = i + down, (width - 1 - j if turned else j) + right
                    if 0 <= row < height and 0 <= column < width:
                        y[n, c, i, j] = (y.dtype.type(x[n, c, row, column]) - middle) * factor
                    else:
                        y[n, c, i, j] = black
