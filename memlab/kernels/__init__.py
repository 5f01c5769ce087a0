"""The arithmetic: one kernel for every kind of operation, which writes into arrays that the caller
allocated.

>>> import numpy as np
>>> from memlab.kernels import im2col
>>> im2col(np.ones((1, 2, 4, 4), np.float32), k=3, pad=1).shape  # lowering, for a batch of images
(1, 18, 16)
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
    """Return ``im2col`` or ``col2im``; their module, which loads Numba, is imported at the first
    use.

    Raises:
        AttributeError: the package has no public function of that name.
        InputError: too little memory is free to load Numba.
    """
    if name not in __all__:
        raise AttributeError(f"memlab.kernels has no {name!r}; it has {', '.join(__all__)}.")
    free_memory.require_kernels()
    value = getattr(import_module("memlab.kernels.cpu.conv.batch_lowering"), name)
    globals()[name] = value
    return value
