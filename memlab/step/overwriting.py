"""What lies in every block of memory while a step runs, and who overwrote what was there."""

from __future__ import annotations

from dataclasses import dataclass, field

from memlab.errors import InputError
from memlab.step.op import Op
from memlab.step.tensor import Tensor


@dataclass(slots=True)
class Contents:
    """Follows the writes to every storage. A tensor that shares its storage with others must not
    be read once one of them was written over it; views of it that came later are the new one's.
    """

    writers: dict[str, list[Op]] = field(default_factory=dict)
    """The operations that wrote the whole of each storage, in order."""
    seen: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many of them had done so when a tensor was written, or read first."""

    def read(self, tensor: Tensor, op: Op) -> None:
        """Refuse to read what is no longer there.

        Raises:
            InputError: it was overwritten; the message says by which operation.
        """
        writers = self.writers.get(tensor.storage.name, ())
        known = self.seen.setdefault((tensor.storage.name, tensor.name), len(writers))
        if known < len(writers):
            raise InputError(
                f"{writers[known].name} overwrites {tensor.name}, which {op.name} still reads; "
                "give it a block of memory of its own."
            )

    def write(self, tensor: Tensor, op: Op) -> None:
        """Note a new value; a slice of larger samples leaves the others as they were."""
        writers = self.writers.setdefault(tensor.storage.name, [])
        if tensor.pitch is None:
            writers.append(op)
        self.seen[tensor.storage.name, tensor.name] = len(writers)
