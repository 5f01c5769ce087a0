"""Kernels of ``memlab.kernels`` on a GPU, or in Numba's simulator of one.

>>> from memlab.kernels.cuda import im2col  # first
>>> from numba import cuda

This package must be imported before ``numba.cuda``: it looks for a GPU, and where there is none, it
switches the simulator on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memlab.kernels.cuda.target import CudaTarget, simulated, target

if TYPE_CHECKING:
    from memlab.kernels.cuda.compile import Compiled
    from memlab.kernels.cuda.conv.im2col import col2im as col2im
    from memlab.kernels.cuda.conv.im2col import im2col as im2col

__all__ = ["CudaTarget", "all_kernels", "col2im", "im2col", "target"]

simulated()


def all_kernels() -> list[Compiled]:
    """Return every kernel as a Python function, once for each signature that it is called with.

    They need no GPU: ``numba.cuda.compile_ptx(kernel.function, kernel.signature, cc=(9, 0))``
    compiles one where ``NUMBA_ENABLE_CUDASIM=0`` keeps the simulator away.
    """
    from memlab.kernels import registry
    from memlab.kernels.cuda import compile

    registry.load("cuda")
    return compile.all_kernels()


def __getattr__(name: str) -> Any:
    """Return ``im2col`` or ``col2im``; their module is imported at the first use."""
    if name not in __all__:
        raise AttributeError(f"memlab.kernels.cuda has no {name!r}; it has {', '.join(__all__)}.")
    value = getattr(import_module("memlab.kernels.cuda.conv.im2col"), name)
    globals()[name] = value
    return value
