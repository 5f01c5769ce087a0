"""Where a window reads that slides over an image, or over channels, in plain Python.

The kernels of every device compile these functions, and a picture calls them as they are.
Most hold along one axis: rows and columns follow the same map.
"""

from __future__ import annotations

from math import gcd

from memlab.kernels.operands import Geometry


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


def covered(place: int, kernel: int, size: int, at: Geometry) -> tuple[int, int]:
    """The rows (or columns) under a window, from the first to before the last."""
    start = place * at.stride - at.pad
    return max(0, start), min(start + kernel, size)


def counted(place: int, kernel: int, size: int, at: Geometry) -> int:
    """The rows (or columns) that a window counts: those of the padding too, but not what hangs over
    the padded image."""
    start = place * at.stride - at.pad
    return min(start + kernel, size + at.pad) - start


def covering(row: int, kernel: int, places: int, at: Geometry) -> tuple[int, int]:
    """The windows over a row (or column), from the first to before the last: the way back of
    ``covered``."""
    first = -((kernel - 1 - at.pad - row) // at.stride)
    return max(0, first), min(places, (row + at.pad) // at.stride + 1)


def around(channel: int, channels: int, size: int) -> tuple[int, int]:
    """The channels that local response normalisation sees from one, from the first to before the
    last."""
    return max(0, channel - size // 2), min(channels, channel + (size - 1) // 2 + 1)


def seeing(channel: int, channels: int, size: int) -> tuple[int, int]:
    """The channels that see one: the way back of ``around``."""
    return max(0, channel - (size - 1) // 2), min(channels, channel + size // 2 + 1)
