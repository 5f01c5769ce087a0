"""What the kernel suite runs on: compiled for the processor, as plain Python, in CUDA's simulator,
and on a GPU.

The same cases run everywhere. As plain Python, NumPy checks every index; the simulator checks those
of the CUDA kernels, thread by thread.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from memlab.kernels import registry
from memlab.kernels.registry import Array, Kernel, KernelCall

DEVICES = {"numba": "cpu", "python": "cpu", "cudasim": "cuda", "cuda": "cuda"}
"""The targets, and the device that their kernels are registered for."""
EXPLICIT = {
    "im2col-tile": "its vectors are written out for the processor",
    "offsets": "its vectors are written out for the processor",
}
"""Algorithms that are no plain Python, and why."""


def missing(target: str, algorithm: str = "") -> str | None:
    """Why a target cannot run here, or not this algorithm; ``None`` where it can."""
    if target == "python":
        return EXPLICIT.get(algorithm)
    if DEVICES[target] == "cpu":
        return None
    simulated = import_module("memlab.kernels.cuda").target().simulated
    if target == "cuda":
        return "there is no GPU here" if simulated else None
    return None if simulated else "there is a GPU; NUMBA_ENABLE_CUDASIM=1 takes the simulator"


def run(target: str, kernel: Kernel, call: KernelCall) -> None:
    """Call a kernel on a target, with arrays of the host."""
    if target == "python":
        with uncompiled(), np.errstate(over="ignore"):
            kernel(call)
    elif DEVICES[target] == "cpu":
        kernel(call)
    else:
        there = {name: Copied(array) for name, array in call.arrays.items()}
        kernel(replace(call, arrays={name: copied.there for name, copied in there.items()}))
        for copied in there.values():
            copied.bring_back()


class Copied:
    """An array of the host with its copy on the device: a slice is one of larger samples there."""

    def __init__(self, array: Array) -> None:
        from numba import cuda

        whole = array if array.flags.c_contiguous else array.base
        assert whole is not None
        self.here, self.whole = whole, cuda.to_device(whole)
        self.there: Any = self.whole
        if whole is not array:
            first = (array.ctypes.data - whole.ctypes.data) // whole.strides[1]
            self.there = self.whole[:, first : first + array.shape[1]]

    def bring_back(self) -> None:
        """Take over what is there now, around a slice too."""
        self.here[...] = self.whole.copy_to_host()


@contextmanager
def uncompiled() -> Iterator[None]:
    """Every compiled function of the processor's kernels as the Python that it was made of."""
    from memlab.kernels.cpu import elementwise_loops, memcpy

    registry.load()
    plain = {id(memcpy.copy): copy, id(memcpy.clear): clear}
    with pytest.MonkeyPatch.context() as patch:
        for module in [m for name, m in sys.modules.items() if name.startswith("memlab.kernels.")]:
            for name, value in list(vars(module).items()):
                if hasattr(value, "inspect_llvm"):
                    patch.setattr(module, name, value.py_func)
                elif id(value) in plain:
                    patch.setattr(module, name, plain[id(value)])
        patch.setattr(elementwise_loops, "compiled", lambda function: function)
        patch.setattr(elementwise_loops, "LOOPS", type(elementwise_loops.LOOPS)())
        yield


def copy(source: Array, start: int, target: Array, at: int, count: int) -> None:
    """``memcpy.copy`` in Python."""
    target.reshape(-1)[at : at + count] = source.reshape(-1)[start : start + count]


def clear(target: Array, at: int, count: int) -> None:
    """``memcpy.clear`` in Python."""
    target.reshape(-1)[at : at + count] = 0
