"""The arithmetic: a kernel for every kind of operation, into arrays that are given to it.

>>> memlab.kernels.im2col(x, k=3, pad=1)  # lowering, for a batch of images
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memlab import free_memory

if TYPE_CHECKING:
    from memlab.kernels.cpu.conv.batch_lowering import col2im as col2im
    from memlab.kernels.cpu.conv.batch_lowering import im2col as im2col

__all__ = ["col2im", "im2col"]


def __getattr__(name: str) -> Any:
    """The public functions, loaded when first asked for: they load Numba."""
    if name not in __all__:
        raise AttributeError(f"memlab.kernels has no {name!r}; it has {', '.join(__all__)}.")
    free_memory.require_kernels()
    value = getattr(import_module("memlab.kernels.cpu.conv.batch_lowering"), name)
    globals()[name] = value
    return value
