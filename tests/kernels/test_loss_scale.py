"""Loss scale: detection of overflow, and changes of the scale."""

from __future__ import annotations

import numpy as np
import pytest

from memlab.formats import FORMATS, STORED
from memlab.kernels.cpu.small_formats.loss_scale import adjust_scale, check_finite
from memlab.kernels.registry import Array, KernelCall
from memlab.step.fp32_tiles import OVERFLOW, SCALE, STEPS, TAKEN


def overflows(*gradients: Array) -> bool:
    overflow = np.array(True)
    named = {f"gradient of {index}": gradient for index, gradient in enumerate(gradients)}
    check_finite(KernelCall({**named, OVERFLOW: overflow}))
    return bool(overflow)


@pytest.mark.parametrize("format", STORED)
def test_infinity_and_nan_are_found_wherever_they_are(format: str) -> None:
    entry = FORMATS[format]
    dtype = entry.dtype()
    whole = np.full((5, 7), entry.largest).astype(dtype)
    whole[::2] = dtype.type(-entry.largest)
    whole[1, 1] = dtype.type(entry.smallest)
    assert not overflows(whole, np.zeros(3, dtype))
    bad = [np.nan, np.inf, -np.inf] if entry.infinities else [np.nan, -np.nan]
    for value in bad if entry.nan else ():
        for place in ((0, 0), (2, 3), (4, 6)):
            broken = whole.copy()
            broken[place] = dtype.type(value)
            assert overflows(broken, whole)
            assert overflows(whole, broken)


def adjusted(scale: float, steps: int, overflow: bool, interval: float) -> tuple[float, int, int]:
    """Scale and counters after five updates and one adjustment."""
    arrays = {
        SCALE: np.array(scale, np.float32),
        STEPS: np.array(steps, np.int32),
        TAKEN: np.array(5, np.int32),
        OVERFLOW: np.array(overflow),
    }
    adjust_scale(KernelCall(arrays, settings={"scale_interval": interval}))
    return float(arrays[SCALE]), int(arrays[STEPS]), int(arrays[TAKEN])


@pytest.mark.parametrize(
    ("scale", "steps", "overflow", "expected"),
    [
        (1024, 0, False, (1024, 1, 6)),
        (1024, 8, False, (1024, 9, 6)),
        (1024, 9, False, (2048, 0, 6)),
        (1024, 9, True, (512, 0, 5)),
        (1024, 0, True, (512, 0, 5)),
        (2.0**127, 9, False, (2.0**127, 0, 6)),
        (2.0**-126, 3, True, (2.0**-126, 0, 5)),
    ],
)
def test_half_after_an_overflow_twice_after_a_while(
    scale: float, steps: int, overflow: bool, expected: tuple[float, int, int]
) -> None:
    assert adjusted(scale, steps, overflow, 10) == expected
