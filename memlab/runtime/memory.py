"""Memory of a run: one block for each storage, allocated and dropped when the step says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from memlab import units
from memlab.errors import InputError
from memlab.kernels.registry import Array
from memlab.runtime.async_copies import Host
from memlab.runtime.backend import ArrayPart, Backend
from memlab.runtime.metering.meter import Meter
from memlab.step.storage import DEVICE, HOST, Storage
from memlab.step.tensor import Tensor


class Piece(NamedTuple):
    """Place of a storage: a block, and the byte in it at which the storage begins."""

    block: Any
    start: int = 0


Operand = tuple[str, ArrayPart]
"""Name of a storage, and the part of its block that an operand is."""


def part_of(tensor: Tensor, batch: int) -> ArrayPart:
    """Part of its storage's block that a tensor occupies. Single bits are packed, sample by sample,
    into bytes."""
    if tensor.format.bits % 8:
        return ArrayPart((batch, tensor.per_sample), np.dtype(np.uint8), tensor.offset, None)
    shape, dtype = tensor.shape(batch), tensor.format.dtype()
    strides = None
    if tensor.pitch is not None:
        inner = [dtype.itemsize]
        for extent in reversed(shape[2:]):
            inner.insert(0, inner[0] * extent)
        strides = (tensor.pitch, *inner)
    return ArrayPart(shape, dtype, tensor.offset, strides)


class RunMemory:
    """Storages by name, as blocks of bytes; tensors are views of them at one batch.

    Storages of the host's memory are placed by ``host``. A GPU has to lock the pages of such
    memory, which takes longer than a copy: where nothing is measured, these blocks are kept for the
    next step.
    """

    def __init__(
        self,
        batch: int,
        backend: Backend,
        meter: Meter | None = None,
        host: Host | None = None,
    ) -> None:
        self.batch = batch
        self.backend = backend
        self.meter = meter
        self.host = host or Host()
        self.blocks: dict[str, Piece] = {}
        self._counted: dict[str, int] = {}
        self._locked: set[str] = set()
        self._spare: dict[int, list[Array]] = {}

    def allocate(self, storage: Storage, label: str) -> None:
        """Allocate the block of a storage.

        Args:
            storage: the storage.
            label: name under which the meter records the block.

        Raises:
            InputError: too little memory is left.
        """
        if self.meter is not None:
            self.meter.label, self.meter.memory = label, storage.memory
        nbytes = storage.size.at(self.batch)
        try:
            if storage.memory == HOST:
                self._allocate_on_host(storage.name, nbytes)
            else:
                self.blocks[storage.name] = Piece(self.backend.block(nbytes))
        except InputError:
            raise
        except (MemoryError, ValueError):  # NumPy counts in 32 bits where pointers have them
            raise InputError(
                f"this machine has no {units.both(nbytes)} in one piece left, though the plan fits "
                "into what was free; try a smaller batch, or end what else uses it."
            ) from None
        finally:
            if self.meter is not None:
                self.meter.label, self.meter.memory = "", DEVICE

    def _allocate_on_host(self, name: str, nbytes: int) -> None:
        """Allocate a block of the host's memory, or in a file, which is reported to the meter here
        because no hook sees it."""
        if self.host.folder is None:
            spare = self._spare.get(nbytes)
            self.blocks[name] = Piece(spare.pop() if spare else self.backend.host_block(nbytes))
            self._locked |= set() if self.backend.one_memory else {name}
            return
        array, disk_bytes = self.host.file(nbytes)
        self.blocks[name] = Piece(array)
        if self.meter is not None:
            address = self._counted[name] = array.ctypes.data
            self.meter.report(0, address, disk_bytes)

    def free(self, name: str) -> None:
        """Drop the block of a storage; its bytes are free once no view of it is left."""
        block = self.blocks.pop(name).block
        if name in self._locked:
            self._locked.discard(name)
            if self.meter is None:
                self._spare.setdefault(len(block), []).append(block)
        del block
        address = self._counted.pop(name, 0)
        if address and self.meter is not None:
            self.meter.report(address, 0, 0)

    def clear(self) -> None:
        """Release every block of memory."""
        self.blocks.clear()
        self._counted.clear()
        self._locked.clear()
        self._spare.clear()

    def view(self, tensor: Tensor) -> Array:
        """Array of a tensor, without a copy."""
        block, start = self.blocks[tensor.storage.name]
        return self.backend.view(block, part_of(tensor, self.batch), start)

    def views(self, operands: Mapping[str, Operand]) -> dict[str, Array]:
        """Return, by name, array views of an operation's operands into the blocks of memory."""
        arrays = {}
        for name, (storage, part) in operands.items():
            block, start = self.blocks[storage]
            arrays[name] = self.backend.view(block, part, start)
        return arrays

    def bytes_of(self, storage: Storage) -> Any:
        """Array of all bytes of a storage, in the memory that it is in."""
        piece = self.blocks[storage.name]
        if storage.memory == HOST:
            return piece.block
        part = ArrayPart((storage.size.at(self.batch),), np.uint8, 0, None)
        return self.backend.view(piece.block, part, piece.start)

    def copy(self, source: Storage, target: Storage, stream: Any = None) -> None:
        """Copy a storage from one memory to the other, in a device's stream if one is given."""
        here, there = self.bytes_of(source), self.bytes_of(target)
        if target.memory == HOST:
            self.backend.to_host(here, there, stream)
        else:
            self.backend.from_host(here, there, stream)
