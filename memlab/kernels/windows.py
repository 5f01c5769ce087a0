"""Where a window that slides over a row meets the row; kernels of several files call this."""

from __future__ import annotations

from memlab.kernels.compile import compiled


@compiled
def inside(size: int, places: int, stride: int, shift: int) -> tuple[int, int]:
    """The places ``o``, from the first to before the last, for which ``o * stride + shift`` lies
    inside a row of that size."""
    if stride == 1:  # spares two divisions
        start, stop = -shift, size - shift
    else:
        start, stop = -(shift // stride), (size - 1 - shift) // stride + 1
    start = min(max(0, start), places)
    return start, max(start, min(stop, places))
