"""Fake CUDA drivers, which answer like ``libcuda``."""

from __future__ import annotations

import ctypes
from typing import Any

NAMES = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")


class Driver:
    """Fake driver. Numbers are returned through pointers, and 0 means success."""

    def __init__(self, gpus: int = 1, initialised: int = 0) -> None:
        self.gpus, self.initialised = gpus, initialised

    def cuInit(self, flags: int) -> int:  # noqa: N802 - the driver's name
        return self.initialised

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = self.gpus
        return 0

    def cuDeviceGet(self, device: Any, index: int) -> int:  # noqa: N802
        return 0 if index < self.gpus else 101

    def cuDeviceGetName(self, name: Any, length: int, device: Any) -> int:  # noqa: N802
        name.value = b"NVIDIA H200"
        return 0

    def cuDeviceGetAttribute(self, value: Any, number: int, device: Any) -> int:  # noqa: N802
        value._obj.value = {75: 9, 76: 0}[number]
        return 0


def install(gpus: int) -> None:
    """Let this process find a driver with this number of GPUs, whatever the machine has."""
    real = ctypes.CDLL

    def load(name: Any, *rest: Any, **options: Any) -> Any:
        return Driver(gpus) if name in NAMES else real(name, *rest, **options)

    ctypes.CDLL = load  # type: ignore[assignment,misc]  # planted
