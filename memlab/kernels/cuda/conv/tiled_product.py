"""Fast matrix product, whose right operand may also be an image.

A block of threads computes a tile of the result. Step by step it copies a few columns of the left
operand and rows of the right one to shared memory. Each thread then multiplies ``PER_THREAD`` rows
by as many columns, so that a value that was read takes part in several products.

An **index map** tells where the right operand lies: for a column, where its values begin, and which
of them exist. A matrix in memory has a simple map. An image that is never lowered has another, and
so the same kernel computes a convolution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from memlab.kernels.cuda.compile import HIGH, SIMULATED, Values, compiled, inlined, launch
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.operands import ConvWindow

_U = np.uint64

SIDE, PER_THREAD, DEPTH = (3, 3, 8) if SIMULATED else (16, 4, 8)
"""A block has SIDE x SIDE threads; a thread computes PER_THREAD x PER_THREAD values, from DEPTH
products at a step."""
TILE = SIDE * PER_THREAD
"""Rows and columns of a tile of the result."""
SPLIT = SIDE // PER_THREAD
"""Threads that share a row of the left tile, or a column of the right one, when they fill it."""
PADDED = TILE + 8
"""Values in a row of shared memory, so that threads that write side by side use all its banks."""


class ProductLayout(NamedTuple):
    """Sizes of a product, and distances in its operands, in values.

    There is a product for each group of each image. It sums over ``turns`` turns of ``inner``
    products each. In the left operand, ``lines`` of these turns lie ``a_line`` apart, and such
    groups of turns ``a_turn`` apart.
    """

    rows: int
    columns: int
    inner: int
    turns: int
    lines: int
    images: int
    groups: int
    a_row: int
    a_inner: int
    a_image: int
    a_group: int
    a_turn: int
    a_line: int
    b_inner: int
    b_column: int
    b_image: int
    b_group: int
    b_turn: int
    out_row: int
    out_image: int
    out_group: int


IndexMap = Callable[[int, int, ProductLayout, ConvWindow], tuple[int, int, int]]
"""Function from a column of the right operand and a turn to the index at which its values begin,
the first of them that is not 0, and the one after the last."""


@inlined
def _own_part(thread: int, inwards: bool) -> tuple[int, int]:
    """Row (or column) of a tile that a thread fills, and the first of its values there.

    Neighbouring threads read neighbouring values: these lie along the sum if ``inwards``, else
    across it.
    """
    if inwards:
        return thread // SPLIT, thread % SPLIT
    return thread % TILE, thread // TILE


def tiled(where: IndexMap) -> Any:
    """Kernel for ``out = a b`` or ``out += a b``, with b where the index map says."""
    locate = inlined(where)

    def product(
        a: Values, b: Values, out: Values, at: ProductLayout, window: ConvWindow, add: bool
    ) -> None:
        a_tile = cuda.shared.array((DEPTH, PADDED), a.dtype)
        b_tile = cuda.shared.array((DEPTH, PADDED), a.dtype)
        sums = cuda.local.array((PER_THREAD, PER_THREAD), a.dtype)
        zero, x, y = a.dtype.type(0), cuda.threadIdx.x, cuda.threadIdx.y
        i, a_k = _own_part(y * SIDE + x, at.a_inner == 1)
        j, b_k = _own_part(y * SIDE + x, at.b_inner == 1 and at.b_column != 1)
        row, column = cuda.blockIdx.y * TILE + i, cuda.blockIdx.x * TILE + j
        z = cuda.blockIdx.z
        while z < at.images * at.groups:
            image, group = z // at.groups, z % at.groups
            for p in range(PER_THREAD):
                for q in range(PER_THREAD):
                    sums[p, q] = zero
            turn = 0
            while turn < at.turns:
                a_start = image * at.a_image + group * at.a_group + row * at.a_row
                a_start += turn // at.lines * at.a_turn + turn % at.lines * at.a_line
                b_start, begin, end = locate(column, turn, at, window)
                b_start += image * at.b_image + group * at.b_group
                first = 0
                while first < at.inner:
                    for s in range(0, DEPTH, SPLIT):
                        k = first + a_k + s
                        inner = row < at.rows and k < at.inner
                        a_tile[a_k + s, i] = a[_U(a_start + k * at.a_inner)] if inner else zero
                        k = first + b_k + s
                        inner = column < at.columns and begin <= k < end
                        b_tile[b_k + s, j] = b[_U(b_start + k * at.b_inner)] if inner else zero
                    cuda.syncthreads()  # now the tiles are whole
                    step = _U(0)
                    while step < DEPTH:
                        for p in range(PER_THREAD):
                            for q in range(PER_THREAD):
                                left, right = _U(y + SIDE * p), _U(x + SIDE * q)
                                sums[p, q] += a_tile[step, left] * b_tile[step, right]
                        step += _U(1)
                    cuda.syncthreads()  # now nobody reads them any more
                    first += DEPTH
                turn += 1
            start = image * at.out_image + group * at.out_group
            for p in range(PER_THREAD):
                for q in range(PER_THREAD):
                    own_row = cuda.blockIdx.y * TILE + y + SIDE * p
                    own_column = cuda.blockIdx.x * TILE + x + SIDE * q
                    if own_row < at.rows and own_column < at.columns:
                        to = _U(start + own_row * at.out_row + own_column)
                        write_or_add(out, to, sums[p, q], add)
            z += cuda.gridDim.z

    return compiled(product, where)


def launch_tiles(
    kernel: Any, a: Any, b: Any, out: Any, at: ProductLayout, window: ConvWindow, accumulate: bool
) -> None:
    """Run a kernel of ``tiled`` on lines of values, with a block for each tile.

    Args:
        kernel: a kernel of ``tiled``.
        a: the left operand, as a line.
        b: the right operand, as a line.
        out: the result, as a line.
        at: sizes and distances.
        window: sizes and settings of the convolution, for the index map.
        accumulate: True to add to ``out``.
    """
    tiles = -(-at.columns // TILE), -(-at.rows // TILE), min(at.images * at.groups, HIGH)
    launch(kernel, (tiles, (SIDE, SIDE)), a, b, out, at, window, accumulate)
