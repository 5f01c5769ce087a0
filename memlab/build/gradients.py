"""Which tensor holds the gradient of each output while backward walks, and who still reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from memlab.step.tensor import Tensor


@dataclass
class Gradients:
    """The gradients on their way, by the name of the output they belong to.

    Several may view one storage (the inputs of an add), so a storage may be added to in place
    only when a single gradient is left in it.
    """

    current: dict[str, Tensor] = field(default_factory=dict)
    readers: Counter[str] = field(default_factory=Counter)

    def give(self, name: str, gradient: Tensor) -> Tensor:
        """Make it the gradient of ``name``, in place of an earlier one."""
        if name in self.current:
            self.take(name)
        self.current[name] = gradient
        self.readers[gradient.storage.name] += 1
        return gradient

    def take(self, name: str) -> Tensor:
        """The complete gradient of ``name``; it leaves the list."""
        gradient = self.current.pop(name)
        self.readers[gradient.storage.name] -= 1
        return gradient

    def may_add(self, name: str, reads: Iterable[Tensor]) -> bool:
        """Whether an operation with these reads may add to the gradient of ``name`` in place."""
        storage = self.current[name].storage.name
        return self.readers[storage] == 1 and all(read.storage.name != storage for read in reads)
