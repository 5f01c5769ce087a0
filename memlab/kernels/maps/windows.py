"""Where lowering reads: the index map in plain Python, for whoever needs it.

The kernels of every device compile these functions, and a picture calls them as they are.
They hold along one axis: rows and columns follow the same map.
"""

from __future__ import annotations

from math import gcd


def source(place: int, position: int, stride: int, pad: int, dilation: int) -> int:
    """The row of the image that output row ``place`` reads under kernel row ``position``.

    Below 0, or from the image's height on, it lies in the padding and reads 0. The same for
    columns (Dumoulin and Visin 2016, sections 2 and 5).

    >>> [source(0, ky, stride=2, pad=1, dilation=1) for ky in range(3)]
    [-1, 0, 1]
    """
    return place * stride + position * dilation - pad


def reader(row: int, position: int, stride: int, pad: int, dilation: int) -> int:
    """The output row that reads row ``row`` of the image under kernel row ``position``: the way
    back of ``source``.

    Below 0, or from the number of output rows on, there is none.

    >>> [reader(0, ky, stride=2, pad=1, dilation=1) for ky in range(3)]
    [-1, 0, -1]
    """
    steps = row + pad - position * dilation
    place = steps // stride
    return place if place * stride == steps else -1


def inside(size: int, places: int, stride: int, shift: int) -> tuple[int, int]:
    """Where a window that slides over a row meets the row: the places ``o``, from the first to
    before the last, for which ``o * stride + shift`` lies inside a row of that size."""
    if stride == 1:  # spares two divisions
        start, stop = -shift, size - shift
    else:
        start, stop = -(shift // stride), (size - 1 - shift) // stride + 1
    start = min(max(0, start), places)
    return start, max(start, min(stop, places))


def recurrence(stride: int, dilation: int) -> tuple[int, int]:
    """After how many kernel positions the same rows are read again, and how many places later.

    ``source(place, position + positions) == source(place + places, position)``: the lowered rows
    of one position are those of an earlier one, moved up.

    >>> recurrence(stride=2, dilation=1)
    (2, 1)
    """
    positions = stride // gcd(stride, dilation)
    return positions, positions * dilation // stride
