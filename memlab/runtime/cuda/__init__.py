"""Backend of a CUDA device: a GPU where there is one, else Numba's simulator of it."""

from __future__ import annotations

from memlab import free_memory
from memlab.runtime.backend import Backend


def backend() -> Backend:
    """New backend of the GPU, or of the simulator.

    Raises:
        InputError: neither can be used in this process.
    """
    free_memory.require_kernels()
    from memlab.kernels.cuda.target import target
    from memlab.runtime.cuda.arrays import Gpu
    from memlab.runtime.cuda.simulator import Simulator

    device = target()
    return Simulator("CUDA simulator") if device.simulated else Gpu(device.name)
