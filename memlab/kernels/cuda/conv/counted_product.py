"""Product of two matrices with tiles in shared memory, short enough to be read, which counts how
often it loads each value of the right matrix.

>>> from memlab.kernels.cuda.conv import counted_product
>>> counted_product.loads(16, tile=4)
4
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from memlab.errors import divisor, whole_number
from memlab.kernels.registry import Array

if TYPE_CHECKING:
    from memlab.kernels.cuda.compile import Function

MOST = 32
"""Largest side of a tile: CUDA allows 32·32 threads in a block."""


def tiled(T: int) -> Function:
    """Kernel of the product as a Python function, for tiles of T x T values and blocks of T x T
    threads."""

    def product(a: Array, b: Array, out: Array, loads: Array) -> None:
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        j, i = cuda.grid(2)  # the result of this thread: row i, column j
        a_tile = cuda.shared.array((T, T), a.dtype)
        b_tile = cuda.shared.array((T, T), a.dtype)
        total = 0.0
        for r in range(0, a.shape[1], T):
            a_tile[y, x], b_tile[y, x] = a[i, r + x], b[r + y, j]
            cuda.atomic.add(loads, (r + y, j), 1)
            cuda.syncthreads()
            for q in range(T):
                total += a_tile[y, q] * b_tile[q, x]
            cuda.syncthreads()
        out[i, j] = total

    return product


def source() -> str:
    """Source code of the kernel, without the types of its arguments."""
    code = inspect.cleandoc("\n" + inspect.getsource(tiled(1)))
    return code.replace(": Array", "").replace(" -> None", "")


def loads(size: int, tile: int) -> int:
    """Number of times that a product of square matrices loads each value of the right matrix.

    It is counted while the product runs, on a GPU or in the simulator of one.

    Args:
        size: rows and columns of the matrices.
        tile: rows and columns of a tile; it divides ``size`` and is at most 32.

    Raises:
        InputError: the tile does not divide the size, or has more than 32 x 32 values.
    """
    from memlab.kernels.cuda.compile import launch  # late: the code is read where it cannot run

    size = whole_number("size", size, 1)
    tile = divisor("tile", tile, "size", size, MOST)
    a, b = np.random.default_rng(0).random((2, size, size), np.float32)
    out = cuda.device_array((size, size), np.float32)
    counts = cuda.to_device(np.zeros((size, size), np.int32))
    shape = 2 * (size // tile,), 2 * (tile,)
    launch(cuda.jit(tiled(tile)), shape, cuda.to_device(a), cuda.to_device(b), out, counts)
    return _loads_of_each(out, a @ b, counts)


def _loads_of_each(out: Any, due: Any, counts: Any) -> int:
    """Number of loads, which is the same for every value, after a check of the product."""
    if not np.allclose(out.copy_to_host(), due):
        raise AssertionError("the product is not that of NumPy")
    (count,) = np.unique(counts.copy_to_host())
    return int(count)
