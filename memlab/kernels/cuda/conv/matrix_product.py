"""Matrix products: a simple kernel to read, and the fast one of ``tiled_product`` for matrices in
memory.

In the **simple** kernel a thread computes one value of the result. A block first copies a square of
each operand to shared memory, from where each of its threads reads a row and a column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from memlab.errors import InputError, one_option
from memlab.kernels.cuda.compile import SIMULATED, Values, compiled, launch
from memlab.kernels.cuda.conv.tiled_product import ProductLayout, launch_tiles, tiled
from memlab.kernels.cuda.flat_arrays import line, pitch
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.operands import ConvWindow

_U = np.uint64
SQUARE = 4 if SIMULATED else 16
"""Rows and columns of the square that a block of the simple kernel copies."""
NO_WINDOW = ConvWindow(0, 0, 0, 0, 0, 0, 0, 0)


class Operand(NamedTuple):
    """Matrix in a line of values, or one matrix for each group of each image.

    ``row``, ``column``, ``image`` and ``group`` are the distances from one to the next, in values.
    """

    values: Any
    row: int
    column: int = 1
    image: int = 0
    group: int = 0

    @property
    def transposed(self) -> Operand:
        """The transposed matrix, in the same memory."""
        return self._replace(row=self.column, column=self.row)


def matrix(array: Any) -> Operand:
    """Operand for a matrix with contiguous rows, between which there may be a gap."""
    assert array.strides[1] == array.dtype.itemsize or array.shape[1] == 1
    return Operand(line(array), pitch(array))


def product(
    a: Any, b: Any, out: Any, accumulate: bool = False, transpose_a: bool = False,
    transpose_b: bool = False, way: str = "fast",
) -> None:  # fmt: skip
    """Multiply two matrices on the device: ``out = a b``, or ``out += a b``.

    The rows of each matrix are contiguous; between rows there may be a gap.

    Args:
        a: (rows, inner), or (inner, rows) if it is transposed; fp32 or fp64.
        b: (inner, columns), or (columns, inner) if it is transposed; of the same format.
        out: (rows, columns), of the same format.
        accumulate: True to add to ``out``.
        transpose_a: True to multiply by the transpose of ``a``.
        transpose_b: True to multiply by the transpose of ``b``.
        way: ``"fast"`` or ``"simple"``.

    Raises:
        InputError: there is no such ``way``, or the shapes do not fit.
    """
    rows, inner = a.shape[::-1] if transpose_a else a.shape
    depth, columns = b.shape[::-1] if transpose_b else b.shape
    if depth != inner or tuple(out.shape) != (rows, columns):
        raise InputError(
            f"matrices {(rows, inner)} and {(depth, columns)} have no product of shape "
            f"{tuple(out.shape)}; try transpose_a, transpose_b or another out."
        )
    left, right = matrix(a), matrix(b)
    left = left.transposed if transpose_a else left
    right = right.transposed if transpose_b else right
    one_option("way", way, WAYS)(left, right, matrix(out), (rows, columns, inner), accumulate)


def multiply(
    a: Operand, b: Operand, out: Operand, extents: tuple[int, int, int], accumulate: bool = False,
    images: int = 1, groups: int = 1, summed: bool = False,
) -> None:  # fmt: skip
    """Run the fast product for each group of each image.

    Args:
        a: left matrices.
        b: right matrices.
        out: results.
        extents: rows and columns of a result, and the number of products that a value sums.
        accumulate: True to add to ``out``.
        images: number of images.
        groups: number of groups.
        summed: True to sum the products of all images into one result per group.
    """
    layout = ProductLayout(
        *extents, images if summed else 1, 1, 1 if summed else images, groups,
        a.row, a.column, a.image, a.group, a.image, 0,
        b.row, b.column, b.image, b.group, b.image,
        out.row, out.image, out.group,
    )  # fmt: skip
    launch_tiles(_product, a.values, b.values, out.values, layout, NO_WINDOW, accumulate)


def _multiply_simply(
    a: Operand, b: Operand, out: Operand, extents: tuple[int, int, int], accumulate: bool
) -> None:
    """Run the simple product of two matrices."""
    rows, columns, _ = extents
    shape = (-(-columns // SQUARE), -(-rows // SQUARE)), (SQUARE, SQUARE)
    launch(_simple, shape, *a[:3], *b[:3], *out[:2], *extents, accumulate)


WAYS = {"fast": multiply, "simple": _multiply_simply}


@tiled
def _product(column: int, turn: int, at: ProductLayout, window: ConvWindow) -> tuple[int, int, int]:
    """Index map of a matrix in memory: every value of a column is there."""
    return column * at.b_column + turn * at.b_turn, 0, at.inner


@compiled
def _simple(
    a: Values, a_row: int, a_column: int, b: Values, b_row: int, b_column: int, out: Values,
    out_row: int, rows: int, columns: int, inner: int, add: bool,
) -> None:  # fmt: skip
    """Compute one value of the product in each thread, from squares in shared memory."""
    a_square = cuda.shared.array((SQUARE, SQUARE), a.dtype)
    b_square = cuda.shared.array((SQUARE, SQUARE), a.dtype)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    zero = a.dtype.type(0)
    total = zero
    first = 0
    while first < inner:
        k = first + x
        inside = row < rows and k < inner
        a_square[y, x] = a[_U(row * a_row + k * a_column)] if inside else zero
        k = first + y
        inside = column < columns and k < inner
        b_square[y, x] = b[_U(k * b_row + column * b_column)] if inside else zero
        cuda.syncthreads()  # now the squares are whole
        for i in range(SQUARE):
            total += a_square[y, i] * b_square[i, x]
        cuda.syncthreads()  # now nobody reads them any more
        first += SQUARE
    if row < rows and column < columns:
        to = _U(row * out_row + column)
        write_or_add(out, to, total, add)
