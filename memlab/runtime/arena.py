"""Arena: one block of memory in which everything that is born in a step has its address."""

from __future__ import annotations

from memlab.errors import InputError, shorten
from memlab.placement.placement import ARENA, Block, Placement, blocks
from memlab.runtime.async_copies import Host
from memlab.runtime.backend import ArrayPart, Backend
from memlab.runtime.memory import Piece, RunMemory
from memlab.runtime.metering.meter import Meter
from memlab.step.step import Step
from memlab.step.storage import Size, Storage

POISON = 0xFF
"""Value of every free byte. As a float it is NaN in every format."""


class Arena(RunMemory):
    """Memory of a run that puts the storages of a placement at their addresses in one block, and
    all others in blocks of their own.

    With ``poison``, bytes that no storage occupies are filled with NaN: an operation that reads
    values which are not, or no longer, there computes with NaN.
    """

    def __init__(
        self,
        batch: int,
        backend: Backend,
        meter: Meter | None,
        placement: Placement,
        poison: bool = False,
        host: Host | None = None,
    ) -> None:
        super().__init__(batch, backend, meter, host)
        self.poison = poison
        self.addresses = {
            block.name: (address, block.nbytes)
            for block, address in zip(placement.blocks, placement.addresses, strict=True)
        }
        self.allocate(Storage(ARENA, Size(placement.arena)), ARENA)
        self.arena = self.blocks.pop(ARENA).block
        self._wipe(0, placement.arena)

    def allocate(self, storage: Storage, label: str) -> None:
        """Put a storage at its address in the arena, or into a block of its own if the placement
        does not have it."""
        if storage.name in self.addresses:
            self.blocks[storage.name] = Piece(self.arena, self.addresses[storage.name][0])
        else:
            super().allocate(storage, label)

    def free(self, name: str) -> None:
        """Drop a storage, and fill its bytes in the arena with NaN if the arena is poisoned."""
        super().free(name)
        if name in self.addresses:
            self._wipe(*self.addresses[name])

    def _wipe(self, address: int, nbytes: int) -> None:
        """Fill bytes of the arena with NaN, if it is poisoned."""
        if self.poison and nbytes:
            values = self.backend.view(self.arena, ArrayPart((nbytes,), "uint8", 0, None), address)
            self.backend.fill(values, lambda array: array.fill(POISON))

    def clear(self) -> None:
        """Drop all storages and the arena."""
        super().clear()
        self.arena = None


def check(placement: Placement, step: Step, batch: int, overlapping: bool) -> None:
    """Refuse a placement that is not of this step at this batch, or whose blocks overlap.

    Args:
        placement: addresses of blocks in an arena.
        step: the step that will run.
        batch: samples in a batch.
        overlapping: True to allow blocks that share bytes while both are alive, if both hold floats
            only.

    Raises:
        InputError: it is no placement, or of another step or batch, or two of its blocks share
            bytes while both are alive and that is not allowed.
    """
    if not isinstance(placement, Placement):
        raise InputError(
            f"a placement is needed, got {shorten(placement)}; try memlab.place(step, batch)."
        )
    if sorted(placement.blocks, key=_block_name) != sorted(blocks(step, batch), key=_block_name):
        raise InputError(
            "this placement is of another step, another batch, or one that keeps other tensors; "
            "try memlab.place(step, batch)."
        )
    both = placement.overlaps()
    if both and not overlapping:
        first, second = both[0]
        raise InputError(
            f"{first.name} and {second.name} share bytes while both are alive; move one of them, "
            "or pass overlapping=True to see what becomes of the results."
        )
    _only_floats(both, step)


def _only_floats(both: tuple[tuple[Block, Block], ...], step: Step) -> None:
    """Refuse overlapping blocks that hold indices: an overwritten index would lead a kernel out of
    its arrays."""
    kinds = {
        tensor.storage.name: tensor.format
        for op in step.ops
        for tensor in (*op.writes.values(), *op.workspace.values())
    }
    for block in (block for pair in both for block in pair):
        if kinds[block.name].kind != "float":
            raise InputError(
                f"{block.name} holds {kinds[block.name].name}, which lead a kernel to its values: "
                "nothing may overlap it; try another block."
            )


def _block_name(block: Block) -> str:
    """Name under which the arena's block appears in a ledger."""
    return block.name
