"""NVIDIA's driver, as ``numba.cuda`` holds it inside.

Its public names allocate and copy, but not so that each allocation goes to the driver at once and
is counted (NBEP 7 describes a plugin for that, for a context that is still to be made), nor on a
stream that does not wait for the kernels. Where a version has them no more, the run on a GPU that
needs them is refused; plans and runs on the processor are as before.

``numba.cuda`` decides at its first import between a GPU and the simulator, so nothing is taken from
it before it is used.
"""

from __future__ import annotations

from typing import Any

from memlab.private_api import Internal, Package

NUMBA_CUDA = Package("numba-cuda", "0.24.0", "0.30.4")
MEASURE, RUN = "measure on a GPU", "run on a GPU"
HOME = "numba.cuda.cudadrv"

DRIVER = Internal(NUMBA_CUDA, f"{HOME}.driver", "driver", RUN)
"""The driver's own functions: ``cuMemAlloc``, ``cuStreamCreate`` ..."""
ERROR = Internal(NUMBA_CUDA, f"{HOME}.driver", "CudaAPIError", RUN)
PINNED = Internal(NUMBA_CUDA, f"{HOME}.driver", "PinnedMemory", MEASURE)
"""Page-locked bytes of the host, as a manager of memory returns them."""
MANAGER = Internal(NUMBA_CUDA, f"{HOME}.driver.Context", "memory_manager", MEASURE)
"""What allocates in a context."""
PENDING = Internal(NUMBA_CUDA, f"{HOME}.driver.HostOnlyCUDAMemoryManager", "deallocations", RUN)
"""What Numba's own manager holds back to free it later."""
BYTES = Internal(NUMBA_CUDA, f"{HOME}.devicearray.DeviceNDArray", "gpu_data", RUN)
"""Where the values of a device array lie."""
WHOSE = Internal(NUMBA_CUDA, "numba.cuda", "implementation", RUN)
"""Whether ``numba.cuda`` is the old one that Numba brings."""
MEMSET = Internal(
    NUMBA_CUDA, f"{HOME}.driver", "device_memset", "time how the driver clears memory"
)
SUPPORTED = Internal(
    NUMBA_CUDA, f"{HOME}.nvrtc", "get_supported_ccs", "say for which GPUs it compiles"
)


def built_in() -> bool:
    """Whether ``numba.cuda`` is the old one, whose manager and streams work in another way."""
    return bool(WHOSE() == "Built-in")


def driver() -> Any:
    """The driver's functions."""
    return DRIVER()


def flat(array: Any, length: int) -> Any:
    """So many values from the first of a device array on, as an array of one axis."""
    try:
        memory = array.gpu_data
    except AttributeError:
        raise BYTES.missing() from None
    return type(array)((length,), (array.dtype.itemsize,), array.dtype, gpu_data=memory)


def free_pending(context: Any) -> None:
    """Free what Numba's own manager holds back to free it later, several at once; memlab's has
    nothing of that kind."""
    pending = getattr(context.memory_manager, PENDING.name, None)
    if pending is not None:
        pending.clear()
