"""A product of two matrices with tiles in shared memory, short enough to be read, which counts how
often it loads each value of the right one.

>>> from memlab.kernels.cuda import counted
>>> counted.loads(16, tile=4)
4
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numba import cuda

from memlab.errors import divisor, whole_number
from memlab.kernels.cuda.compile import Function, launch
from memlab.kernels.registry import Array

MOST = 32
"""Of a tile's side: CUDA allows 32·32 threads in a block."""


def tiled(T: int) -> Function:
    """The product as a Python function, for tiles of T·T values and blocks of T·T threads."""

    def product(a: Array, b: Array, out: Array, loads: Array) -> None:
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        j, i = cuda.grid(2)  # the result of this thread: row i, column j
        a_tile = cuda.shared.array((T, T), a.dtype)
        b_tile = cuda.shared.array((T, T), a.dtype)
        total = 0.0
        for r in range(0, a.shape[1], T):
            a_tile[y, x], b_tile[y, x] = a[i, r + x], b[r + y, j]
            cuda.atomic.add(loads, (r + y, j), 1)
            cuda.syncthreads()  # the whole block waits here: now the tiles are full
            for q in range(T):
                total += a_tile[y, q] * b_tile[q, x]
            cuda.syncthreads()  # and now nobody needs them any more
        out[i, j] = total

    return product


def source() -> str:
    """The kernel as it is written, without the types of its arguments."""
    code = inspect.cleandoc("\n" + inspect.getsource(tiled(1)))
    return code.replace(": Array", "").replace(" -> None", "")


def loads(size: int, tile: int) -> int:
    """How often a product of matrices of ``size``·``size`` loads each value of the right one,
    counted while it runs, on a GPU or in the simulator of one.

    Raises:
        InputError: a tile whose side does not divide the size, or of more than 32·32 values.
    """
    size = whole_number("size", size, 1)
    tile = divisor("tile", tile, "size", size, MOST)
    a, b = np.random.default_rng(0).random((2, size, size), np.float32)
    out = cuda.device_array((size, size), np.float32)
    counts = cuda.to_device(np.zeros((size, size), np.int32))
    shape = 2 * (size // tile,), 2 * (tile,)
    launch(cuda.jit(tiled(tile)), shape, cuda.to_device(a), cuda.to_device(b), out, counts)
    return _one(out, a @ b, counts)


def _one(out: Any, due: Any, counts: Any) -> int:
    """The count of every value, after a look at the result."""
    if not np.allclose(out.copy_to_host(), due):
        raise AssertionError("the product is not that of NumPy")
    (found,) = np.unique(counts.copy_to_host())
    return int(found)
