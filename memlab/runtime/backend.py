"""Where the arrays of a run live: on this machine's processor, or on a CUDA device."""

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
    """A part of a block as an array sees it; ``offset`` and ``strides`` in bytes."""

    shape: tuple[int, ...]
    dtype: npt.DTypeLike
    offset: int
    strides: tuple[int, ...] | None


class Backend(ABC):
    """How arrays are made, filled, read and measured on one device.

    ``name`` is what readers know it by. ``outside`` names what the hook does not see.
    ``one_memory`` says that the device has no memory of its own: it lies in the host's.
    ``compiling`` is Numba's event while it compiles: for CUDA it has none of its own, but the lock
    of the compiler is held for as long.
    """

    simulated = False
    one_memory = False
    outside: tuple[str, ...] = ()
    compiling = "numba:compiler_lock"

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def hook(self) -> Reporting:
        """What sees every allocation and release."""

    @abstractmethod
    def room(self) -> Room:
        """Bytes that arrays can still take, and the limit that makes them so few."""

    @abstractmethod
    def block(self, nbytes: int) -> Any:
        """New bytes."""

    @abstractmethod
    def view(self, block: Any, part: ArrayPart, start: int = 0) -> Array:
        """A part of what begins at the byte ``start`` of a block as an array, without a copy."""

    @abstractmethod
    def fill(self, values: Array, write: Callable[[Array], None]) -> None:
        """Let a function write the values, into an array on the host."""

    @abstractmethod
    def read(self, values: Array) -> Array:
        """The values as an array on the host."""

    @abstractmethod
    def copy(self, source: Array, target: Array) -> None:
        """Copy values of one shape, without scratch memory."""

    @abstractmethod
    def waiting(self, nbytes: int) -> Array:
        """New bytes of the host's memory for a map to wait in, which the hook sees."""

    @abstractmethod
    def copies(self) -> PendingCopies:
        """What copies between the two memories, beside the kernels."""

    @abstractmethod
    def to_host(self, source: Array, target: Array, stream: Any = None) -> None:
        """Copy bytes of the device into an array of the host, in a stream of ``copies``."""

    @abstractmethod
    def from_host(self, source: Array, target: Array, stream: Any = None) -> None:
        """Copy an array of the host into bytes of the device, in a stream of ``copies``."""

    @abstractmethod
    def running(self, threads: int) -> AbstractContextManager[object]:
        """What kernels run in; they have ended where the ``with`` block has. ``threads`` is how
        many they may use on the processor."""

    def let_go(self, error: BaseException) -> None:
        """Drop the arrays that the functions which an error ended still hold."""
        traceback.clear_frames(error.__traceback__)

    def counted(self) -> int | None:
        """The most bytes by which the device's own counter rose in the last measurement; ``None``
        where there is no such counter."""
        return None


def find(device: str) -> Backend:
    """The backend of that name; ``cuda`` is a GPU where there is one, else the simulator.

    Raises:
        InputError: no such device, or neither GPU nor simulator can be had in this process.
    """
    return _made(known("device", device, DEVICES))


@cache
def _made(device: str) -> Backend:
    made: Backend = import_module(f"memlab.runtime.{device}").backend()
    return made
