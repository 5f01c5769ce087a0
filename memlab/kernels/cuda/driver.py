"""Parts of NVIDIA's driver inside ``numba.cuda`` that are not public.

The public names of ``numba.cuda`` allocate and copy. But they cannot make each allocation go to the
driver at once and be counted (NBEP 7 describes a plugin for that, for a context that does not exist
yet), nor copy on a stream that does not wait for the kernels. Where a version lacks these parts, a
run on a GPU that needs them is refused; plans and runs on the processor are not affected.

``numba.cuda`` decides at its first import between a GPU and the simulator, so nothing is read from
it before it is used.
"""

from __future__ import annotations

from typing import Any

from memlab.private_api import Internal, Package

NUMBA_CUDA = Package("numba-cuda", "0.24.0", "0.30.4")
MEASURE, RUN = "measure on a GPU", "run on a GPU"
HOME = "numba.cuda.cudadrv"

DRIVER = Internal(NUMBA_CUDA, f"{HOME}.driver", "driver", RUN)
"""Functions of the driver: ``cuMemAlloc``, ``cuStreamCreate`` ..."""
ERROR = Internal(NUMBA_CUDA, f"{HOME}.driver", "CudaAPIError", RUN)
PINNED = Internal(NUMBA_CUDA, f"{HOME}.driver", "PinnedMemory", MEASURE)
"""Page-locked bytes of the host, as a memory manager returns them."""
MANAGER = Internal(NUMBA_CUDA, f"{HOME}.driver.Context", "memory_manager", MEASURE)
"""Memory manager of a context, which allocates in it."""
PENDING = Internal(NUMBA_CUDA, f"{HOME}.driver.HostOnlyCUDAMemoryManager", "deallocations", RUN)
"""Memory that Numba's own manager holds back to free it later."""
BYTES = Internal(NUMBA_CUDA, f"{HOME}.devicearray.DeviceNDArray", "gpu_data", RUN)
"""Memory of a device array."""
WHOSE = Internal(NUMBA_CUDA, "numba.cuda", "implementation", RUN)
"""Name that tells whether ``numba.cuda`` is the old one inside Numba."""
MEMSET = Internal(
    NUMBA_CUDA, f"{HOME}.driver", "device_memset", "time how the driver clears memory"
)
SUPPORTED = Internal(
    NUMBA_CUDA, f"{HOME}.nvrtc", "get_supported_ccs", "say for which GPUs it compiles"
)


def built_in() -> bool:
    """Return whether ``numba.cuda`` is the old one inside Numba, whose memory manager and streams
    work in another way."""
    return bool(WHOSE() == "Built-in")


def driver() -> Any:
    """Return Numba's binding of the CUDA driver, with its functions as attributes."""
    return DRIVER()


def flat(array: Any, length: int) -> Any:
    """View of ``length`` values, from the first of a device array on, as an array of one axis."""
    try:
        memory = array.gpu_data
    except AttributeError:
        raise BYTES.missing() from None
    return type(array)((length,), (array.dtype.itemsize,), array.dtype, gpu_data=memory)


def free_pending(context: Any) -> None:
    """Free the memory that Numba's own manager holds back to free it later; memlab's manager holds
    nothing back."""
    pending = getattr(context.memory_manager, PENDING.name, None)
    if pending is not None:
        pending.clear()
