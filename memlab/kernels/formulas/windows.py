"""Index maps of windows that slide over an image or over channels, in plain Python.

The kernels of every device compile these functions, and a picture calls them as they are. Most hold
along one axis: rows and columns follow the same map.
"""

from __future__ import annotations

from math import gcd

from memlab.kernels.operands import Geometry


def source(place: int, position: int, stride: int, pad: int, dilation: int) -> int:
    """Row of the image that output row ``place`` reads under kernel row ``position``; columns
    likewise.

    A result below 0, or from the image's height on, lies in the padding and reads 0 (Dumoulin and
    Visin 2016, sections 2 and 5).

    >>> [source(0, ky, stride=2, pad=1, dilation=1) for ky in range(3)]
    [-1, 0, 1]
    """
    return place * stride + position * dilation - pad


def reader(row: int, position: int, stride: int, pad: int, dilation: int) -> int:
    """Output row that reads row ``row`` of the image under kernel row ``position``: the inverse of
    ``source``.

    A result below 0, or from the number of output rows on, means that no output row does.

    >>> [reader(0, ky, stride=2, pad=1, dilation=1) for ky in range(3)]
    [-1, 0, -1]
    """
    steps = row + pad - position * dilation
    place = steps // stride
    return place if place * stride == steps else -1


def inside(size: int, places: int, stride: int, shift: int) -> tuple[int, int]:
    """First output place, and the one after the last, at which a sliding window reads inside a row.

    These are the places ``o`` below ``places`` with ``0 <= o * stride + shift < size``, where
    ``size`` is the length of the row.
    """
    if stride == 1:  # spares two divisions
        start, stop = -shift, size - shift
    else:
        start, stop = -(shift // stride), (size - 1 - shift) // stride + 1
    start = min(max(0, start), places)
    return start, max(start, min(stop, places))


def recurrence(stride: int, dilation: int) -> tuple[int, int]:
    """Number of kernel positions after which the same rows are read again, and the shift in output
    places.

    ``source(place, position + positions) == source(place + places, position)``: the lowered rows of
    one position are those of an earlier one, moved up.

    >>> recurrence(stride=2, dilation=1)
    (2, 1)
    """
    positions = stride // gcd(stride, dilation)
    return positions, positions * dilation // stride


def covered_rows(place: int, kernel: int, size: int, at: Geometry) -> tuple[int, int]:
    """First row under a pooling window, and the one after the last; columns likewise."""
    start = place * at.stride - at.pad
    return max(0, start), min(start + kernel, size)


def counted_rows(place: int, kernel: int, size: int, at: Geometry) -> int:
    """Number of rows (or columns) that average pooling divides by: padding counts, rows beyond the
    padded image do not."""
    start = place * at.stride - at.pad
    return min(start + kernel, size + at.pad) - start


def covering_windows(row: int, kernel: int, places: int, at: Geometry) -> tuple[int, int]:
    """First output place whose pooling window covers a row (or column), and the one after the last:
    the inverse of ``covered_rows``."""
    first = -((kernel - 1 - at.pad - row) // at.stride)
    return max(0, first), min(places, (row + at.pad) // at.stride + 1)


def channels_around(channel: int, channels: int, size: int) -> tuple[int, int]:
    """First channel in the window of local response normalisation around ``channel``, and the one
    after the last."""
    return max(0, channel - size // 2), min(channels, channel + (size - 1) // 2 + 1)


def channels_seeing(channel: int, channels: int, size: int) -> tuple[int, int]:
    """First channel whose normalisation window contains ``channel``, and the one after the last:
    the inverse of ``channels_around``."""
    return max(0, channel - (size - 1) // 2), min(channels, channel + size // 2 + 1)
