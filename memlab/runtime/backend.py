"""Backends: where the arrays of a run live, on this machine's processor or on a CUDA device."""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy.typing as npt

from memlab.devices import DEVICES
from memlab.errors import known
from memlab.free_memory import Room
from memlab.kernels.registry import Array
from memlab.runtime.async_copies import PendingCopies
from memlab.runtime.metering.meter import Reporting


class ArrayPart(NamedTuple):
    """Part of a block that an array occupies; ``offset`` and ``strides`` are in bytes."""

    shape: tuple[int, ...]
    dtype: npt.DTypeLike
    offset: int
    strides: tuple[int, ...] | None


class Backend(ABC):
    """Functions that allocate, fill, read and measure arrays on one device.

    Attributes:
        name: name of the device, for readers.
        simulated: True for the simulator of a GPU.
        one_memory: True if the device has no memory of its own, but uses the host's.
        outside: kinds of memory that the hook does not see.
        compiling: name of the event that Numba sends while it compiles. For CUDA it sends none, but
            the lock of the compiler is held for as long.
    """

    simulated = False
    one_memory = False
    outside: tuple[str, ...] = ()
    compiling = "numba:compiler_lock"

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def hook(self) -> Reporting:
        """Hook that sees every allocation and every release."""

    @abstractmethod
    def room(self) -> Room:
        """Bytes that arrays can still take, and the limit that makes them so few."""

    @abstractmethod
    def block(self, nbytes: int) -> Any:
        """Allocate a block of bytes on the device."""

    @abstractmethod
    def view(self, block: Any, part: ArrayPart, start: int = 0) -> Array:
        """View, without a copy, of a part of what begins at byte ``start`` of a block."""

    @abstractmethod
    def fill(self, values: Array, write: Callable[[Array], None]) -> None:
        """Set the values of a device array by a function that writes them into an array on the
        host."""

    @abstractmethod
    def read(self, values: Array) -> Array:
        """Values of a device array, as an array on the host."""

    @abstractmethod
    def copy(self, source: Array, target: Array) -> None:
        """Copy values from one device array to another of its shape, without scratch memory."""

    @abstractmethod
    def host_block(self, nbytes: int) -> Array:
        """Allocate bytes of the host's memory, which the hook sees, for an offloaded map to wait
        in."""

    @abstractmethod
    def copies(self) -> PendingCopies:
        """New set of copies between the two memories that run beside the kernels."""

    @abstractmethod
    def to_host(self, source: Array, target: Array, stream: Any = None) -> None:
        """Copy bytes of the device into an array of the host, in a stream of ``copies``."""

    @abstractmethod
    def from_host(self, source: Array, target: Array, stream: Any = None) -> None:
        """Copy an array of the host into bytes of the device, in a stream of ``copies``."""

    @abstractmethod
    def kernel_context(self, threads: int) -> AbstractContextManager[object]:
        """Context in which kernels run; when it is left, they have ended.

        Args:
            threads: number of threads that kernels may use on the processor.
        """

    def drop_references(self, error: BaseException) -> None:
        """Drop the arrays that functions ended by an error still hold."""
        traceback.clear_frames(error.__traceback__)

    def device_counter(self) -> int | None:
        """Largest rise of the device's own counter of used bytes in the last measurement; None if
        there is no such counter."""
        return None


def find(device: str) -> Backend:
    """Return the backend of a device; ``"cuda"`` is a GPU where there is one, else the simulator.

    Raises:
        InputError: no such device, or neither GPU nor simulator can be used in this process.
    """
    return _new_backend(known("device", device, DEVICES))


@cache
def _new_backend(device: str) -> Backend:
    """Backend of a device, made at the first use."""
    backend: Backend = import_module(f"memlab.runtime.{device}").backend()
    return backend
