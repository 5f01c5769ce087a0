"""Sizes that know the batch, and the blocks of memory that have them."""

from __future__ import annotations

from dataclasses import dataclass

from memlab.step.paused_gc import quick

DEVICE = "device:0"
HOST = "host"
MEMORIES = (DEVICE, "device:1", HOST, "disk")


@quick
@dataclass(frozen=True, slots=True)
class Size:
    """Exact whole number ``fixed + batch * per_sample`` of bytes or operations.

    Because every size has this form, a plan is evaluated at any batch without building it again.
    """

    fixed: int = 0
    per_sample: int = 0

    def at(self, batch: int) -> int:
        """Return its value at that batch."""
        return self.fixed + batch * self.per_sample

    def __add__(self, other: Size) -> Size:
        return Size(self.fixed + other.fixed, self.per_sample + other.per_sample)

    def __mul__(self, factor: int) -> Size:
        return Size(self.fixed * factor, self.per_sample * factor)

    __rmul__ = __mul__

    def __bool__(self) -> bool:
        return bool(self.fixed or self.per_sample)


@quick
@dataclass(frozen=True, slots=True)
class Storage:
    """Storage: one block of memory that is allocated and freed as a whole. Names are unique within
    a step."""

    name: str
    size: Size
    memory: str = DEVICE
