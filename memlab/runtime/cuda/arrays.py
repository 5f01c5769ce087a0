"""Numba's device arrays, and the backend of a GPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import numpy as np

from memlab import units
from memlab.errors import InputError
from memlab.free_memory import Room
from memlab.kernels.cuda import driver
from memlab.kernels.cuda.target import EXTRAS
from memlab.kernels.registry import Array
from memlab.runtime.async_copies import PendingCopies
from memlab.runtime.backend import ArrayPart, Backend
from memlab.runtime.cuda.manager import ManagerHook
from memlab.runtime.metering import meter
from memlab.step.op import Op

OUT_OF_MEMORY = 2
"""Code by which the driver reports that no memory is left, ``CUDA_ERROR_OUT_OF_MEMORY``."""
NON_BLOCKING = 1
"""Flag of the driver, ``CU_STREAM_NON_BLOCKING``, for a stream that neither waits for the default
stream, in which kernels run, nor makes it wait. Work that must wait says so by an event."""


class DeviceArrays(Backend):
    """Backend functions that a GPU and its simulator share.

    Values are written and read in an array on the host, which is copied to or from the device.
    """

    @cached_property
    def cuda(self) -> Any:
        """The module ``numba.cuda``, imported only once it is settled whether it runs on a GPU."""
        from numba import cuda

        return cuda

    def fill(self, values: Array, write: Callable[[Array], None]) -> None:
        staging = np.empty(values.shape, values.dtype)
        write(staging)
        device: Any = values
        device.copy_to_device(staging)

    def read(self, values: Array) -> Array:
        device: Any = values
        host: Array = device.copy_to_host()
        return host

    def copy(self, source: Array, target: Array) -> None:
        """Copy values as a whole, or sample by sample where one of the arrays is a slice of larger
        samples."""
        here: Any = source
        there: Any = target
        if here.is_c_contiguous() and there.is_c_contiguous():
            there.copy_to_device(here)
        else:
            for i in range(len(there)):
                there[i].copy_to_device(here[i])

    def host_block(self, nbytes: int) -> Array:
        """Allocate page-locked bytes of the host: a copy from or to other memory of the host runs
        beside no kernel."""
        array: Array = self.cuda.pinned_array(nbytes, np.uint8)
        return array

    def copies(self) -> PendingCopies:
        return Streams(self.cuda, self.stream, self.end)

    def stream(self) -> Any:
        """New stream for copies."""
        return self.cuda.stream()

    def end(self, stream: Any) -> None:
        """Give back a stream that is not used any more."""

    def to_host(self, source: Array, target: Array, stream: Any = None) -> None:
        device: Any = source
        device.copy_to_host(target, stream=stream or 0)

    def from_host(self, source: Array, target: Array, stream: Any = None) -> None:
        device: Any = target
        device.copy_to_device(source, stream=stream or 0)


class Gpu(DeviceArrays):
    """Backend of a GPU, as the CUDA driver sees it."""

    outside = (
        "the CUDA context",
        "compiled kernels",
        "the threads' own registers and stacks",
        "arrays of the host",
    )

    @cached_property
    def _hook(self) -> ManagerHook:
        """Hook into the memory manager, tried once before it is trusted."""
        hook = ManagerHook()
        meter.try_hook(hook, self.block)
        return hook

    def hook(self) -> ManagerHook:
        """Hook that sees every allocation and every release.

        Raises:
            InputError: this is the old ``numba.cuda``, whose memory manager works in another way.
        """
        if driver.built_in():
            raise InputError(f"to measure on a GPU, Numba needs NVIDIA's package; {EXTRAS}.")
        return self._hook

    def room(self) -> Room:
        context = self.cuda.current_context()
        driver.free_pending(context)
        return Room(int(context.get_memory_info().free))

    def block(self, nbytes: int) -> Any:
        """Allocate a block of bytes on the GPU.

        Raises:
            InputError: the GPU has too few bytes left.
        """
        with _memory_errors(nbytes, self.name, "try a smaller batch, or end what else uses it"):
            return self.cuda.device_array(nbytes, np.uint8)

    def host_block(self, nbytes: int) -> Array:
        """Allocate page-locked bytes of the host.

        Raises:
            InputError: the driver cannot lock so many bytes more.
        """
        hint = "try host='/tmp', or any other folder"
        with _memory_errors(nbytes, "the host's page-locked memory", hint):
            return super().host_block(nbytes)

    def stream(self) -> Any:
        """New stream for copies that does not wait for the kernels."""
        if driver.built_in():
            return self.cuda.stream()  # right, but it waits for the kernels
        self.cuda.current_context()
        return self.cuda.external_stream(int(driver.driver().cuStreamCreate(NON_BLOCKING)))

    def end(self, stream: Any) -> None:
        if stream.external:  # Numba ends its own
            driver.driver().cuStreamDestroy(int(stream))

    def view(self, block: Any, part: ArrayPart, start: int = 0) -> Array:
        first, _ = block.__cuda_array_interface__["data"]
        description = {
            "shape": part.shape,
            "strides": part.strides,
            "typestr": np.dtype(part.dtype).str,
            "data": (first + start + part.offset, False),
            "version": 3,
        }
        view: Array = self.cuda.from_cuda_array_interface(description, owner=block)
        return view

    @contextmanager
    def kernel_context(self, threads: int) -> Iterator[None]:
        """Context in which kernels run.

        An operand on the host is an error there: Numba would copy it to device memory that no
        manager sees.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "Host array used in CUDA kernel")
            yield
            self.cuda.synchronize()

    def device_counter(self) -> int | None:
        return self.hook().most


@contextmanager
def _memory_errors(nbytes: int, where: str, hint: str) -> Iterator[None]:
    """Context that turns the driver's error about too little memory into an InputError of one
    sentence."""
    try:
        yield
    except driver.ERROR() as error:
        if int(error.code) != OUT_OF_MEMORY:
            raise
        raise InputError(
            f"{where} has no {units.both(nbytes)} in one piece left, though the plan fits into "
            f"what was free; {hint}."
        ) from None


# -- copies between the two memories ------------------------------------------------------------


class Streams(PendingCopies):
    """Copies under way on a GPU, each with the event that marks its end.

    Args:
        cuda: the module ``numba.cuda``, which makes events.
        open_: makes a stream.
        end: gives a stream back.
    """

    def __init__(self, cuda: Any, open_: Callable[[], Any], end: Callable[[Any], None]) -> None:
        super().__init__()
        self.cuda, self.open, self.end = cuda, open_, end
        self.streams: dict[str, Any] = {}
        self._ends: dict[str, Any] = {}
        self._last: dict[str, Any] = {}

    def start(self, op: Op, copy: Callable[..., None]) -> None:
        """Send a copy to its stream, where it waits for the kernels launched before it."""
        stream = self.streams.get(op.stream)
        if stream is None:
            stream = self.streams[op.stream] = self.open()
        launched = self.cuda.event()
        launched.record()
        launched.wait(stream)
        copy(stream)
        ended = self._ends[op.name] = self.cuda.event()
        ended.record(stream)
        self._last |= {tensor.storage.name: ended for tensor in op.touched()}
        if not self.threads:
            ended.synchronize()

    def started(self, name: str) -> bool:
        return name in self._ends

    def wait(self, name: str) -> None:
        """Let the kernels that are launched from now on wait until the copy of this operation has
        ended."""
        ended = self._ends.pop(name, None)
        if ended is not None:
            ended.wait()

    def finish(self) -> None:
        for name in list(self._ends):
            self.wait(name)
        for stream in self.streams.values():
            stream.synchronize()

    def release(self, storage: str) -> None:
        ended = self._last.pop(storage, None)
        if ended is not None:
            ended.synchronize()

    def close(self) -> None:
        """Give the streams back, once the copies in them have ended or failed."""
        for stream in self.streams.values():
            with suppress(Exception):  # of a copy; whoever waited for it has it
                stream.synchronize()
            with suppress(Exception):
                self.end(stream)
        self.streams.clear()
        self._ends.clear()
        self._last.clear()
