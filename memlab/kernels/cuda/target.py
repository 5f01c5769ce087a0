"""Target of the CUDA kernels: a GPU, or Numba's simulator where there is none.

Numba decides between the two when ``numba.cuda`` is first imported. So the GPU is looked for before
that, in the driver's own library, which does not involve Numba.
"""

from __future__ import annotations

import ctypes as c
import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from memlab.errors import IN_PAGE, InputError, absent_in_page, library

SWITCH = "NUMBA_ENABLE_CUDASIM"
"""Environment variable by which a user decides: 1 for the simulator, 0 for the real package."""
EXTRAS = "try pip install 'memlab[cuda13]', or 'memlab[cuda12]' for an older driver"
KERNEL = "a kernel for a GPU"
CONFIG: Any = library("numba", KERNEL).config
MAJOR, MINOR = 75, 76
"""Numbers of the driver's attributes for the two parts of a compute capability."""


@dataclass(frozen=True, slots=True)
class CudaTarget:
    """GPU with its name and compute capability, or the simulator, which has none."""

    name: str
    simulated: bool
    capability: tuple[int, int] | None


SIMULATOR = CudaTarget("simulator", True, None)


@cache
def target() -> CudaTarget:
    """Return the GPU that kernels run on, or the simulator if there is none.

    Raises:
        InputError: Numba cannot use the GPU that is there, or it was told to use a GPU and there is
            none; or this is a web page.
    """
    if IN_PAGE:
        raise absent_in_page(KERNEL, "numba")
    if simulated():
        return SIMULATOR
    device = gpu()
    if device is None:
        raise InputError(
            "there is no GPU, and numba.cuda was imported without its simulator; set "
            f"{SWITCH}=1 and start Python again."
        )
    if not usable():
        raise InputError(
            f"Numba cannot use the {device.name}: a part of CUDA is missing; {EXTRAS}."
        )
    return device


def simulated() -> bool:
    """Return whether ``numba.cuda`` is the simulator; the first call imports it.

    Raises:
        InputError: ``numba.cuda`` cannot be imported.
    """
    if "numba.cuda" not in sys.modules and SWITCH not in os.environ and gpu() is None:
        CONFIG.ENABLE_CUDASIM = True
    CONFIG.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # small layers have small grids
    try:
        import_module("numba.cuda")
    except ImportError as error:
        raise InputError(f"numba.cuda cannot be imported ({error}); {EXTRAS}.") from error
    return bool(CONFIG.ENABLE_CUDASIM)


def usable() -> bool:
    """Return whether Numba finds the compiler and the libraries that it needs beside the driver."""
    try:
        return bool(sys.modules["numba.cuda"].is_available())
    except Exception:  # whatever a broken installation raises
        return False


@cache
def gpu() -> CudaTarget | None:
    """First GPU that the driver lists, or None; no context is made on it."""
    driver = _driver()
    count, device, name = c.c_int(), c.c_int(), c.create_string_buffer(256)
    if driver is None or driver.cuInit(0) or driver.cuDeviceGetCount(c.byref(count)):
        return None
    if count.value == 0 or driver.cuDeviceGet(c.byref(device), 0):
        return None
    driver.cuDeviceGetName(name, len(name), device)
    major, minor = (_attribute(driver, number, device) for number in (MAJOR, MINOR))
    return CudaTarget(name.value.decode(), False, (major, minor))


def driver() -> int | None:
    """Return what the driver answers to its start: 0, or the number of an error; None where there
    is no driver."""
    found = _driver()
    return None if found is None else int(found.cuInit(0))


def _driver() -> Any:
    """Library of the CUDA driver, or None."""
    for name in ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so"):
        try:
            return c.CDLL(name)
        except OSError:
            continue
    return None


def _attribute(driver: Any, number: int, device: c.c_int) -> int:
    """Attribute of a device, by its number in the driver's interface."""
    value = c.c_int()
    driver.cuDeviceGetAttribute(c.byref(value), number, device)
    return value.value
