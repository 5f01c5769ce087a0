"""Where lowering reads: the index map in plain Python, for whoever needs it.

The CPU kernels compile these functions, a GPU kernel may, and a picture calls them as they are.
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


def recurrence(stride: int, dilation: int) -> tuple[int, int]:
    """After how many kernel positions the same rows are read again, and how many places later.

    ``source(place, position + positions) == source(place + places, position)``: the lowered rows
    of one position are those of an earlier one, moved up.

    >>> recurrence(stride=2, dilation=1)
    (2, 1)
    """
    positions = stride // gcd(stride, dilation)
    return positions, positions * dilation // stride
