"""Loss scale: the check whether a gradient overflowed, and the adjustment of the scale.

As in PyTorch's ``GradScaler``, the scale is halved after an overflow and doubled after a number of
steps without one.
"""

from __future__ import annotations

import numpy as np

from memlab.formats import FLOATS
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.registry import Array, KernelCall, kernel
from memlab.step.fp32_tiles import ADJUST, CHECK, OVERFLOW, SCALE, STEPS, TAKEN

_MASKS = {f.type_name: f.top + 1 << f.padding for f in FLOATS.values() if f.nan}
"""Bits that are all set in infinity and NaN, or in NaN alone, by type. A format with neither is
missing: in it nothing overflows."""

LEAST, MOST = np.float32(2.0**-126), np.float32(2.0**127)
"""Bounds of the scale: the normal values of fp32, or its inverse would be infinite."""


@kernel(CHECK)
def check_finite(call: KernelCall) -> None:
    """Set the overflow flag if any gradient contains infinity or NaN, else clear it.

    Shapes: overflow (); gradients of any shape.
    """
    overflow = call[OVERFLOW].reshape(-1)
    _clear_flag(overflow)
    for name, array in call.arrays.items():
        if name != OVERFLOW and array.dtype.name in _MASKS:
            bits = array.reshape(-1).view(f"uint{8 * array.itemsize}")
            _flag_overflow(bits, _MASKS[array.dtype.name], overflow)


@kernel(ADJUST)
def adjust_scale(call: KernelCall) -> None:
    """Halve the scale after an overflow; double it after ``scale_interval`` steps without one.

    An update counts as taken if nothing overflowed. Shapes: scale, steps, updates taken and
    overflow ().
    """
    names = SCALE, STEPS, TAKEN, OVERFLOW
    scale, steps, taken, overflow = (call[name].reshape(-1) for name in names)
    _adjust(scale, steps, taken, overflow, call.settings["scale_interval"])


@compiled
def _clear_flag(overflow: Array) -> None:
    """Clear the overflow flag."""
    overflow[0] = False


@compiled
def _flag_overflow(bits: Array, mask: int, overflow: Array) -> None:
    """Set the overflow flag if all bits of ``mask`` are set in any value."""
    seen = False
    for i in range(bits.size):
        seen |= bits[i] & mask == mask
    overflow[0] |= seen


@compiled
def _adjust(scale: Array, steps: Array, taken: Array, overflow: Array, interval: float) -> None:
    """Adjust scale and counters after a step."""
    if overflow[0]:
        scale[0] = max(scale[0] / 2, LEAST)
        steps[0] = 0
        return
    taken[0] += 1
    steps[0] += 1
    if steps[0] >= interval:
        scale[0] = min(scale[0] * 2, MOST)
        steps[0] = 0
