"""A tensor: named axes and a number format over one storage, and the role it plays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import groupby
from math import prod

from memlab.axes import BATCH, Dims
from memlab.formats import Format, packed
from memlab.step.initial_values import ZEROS, InitialValue
from memlab.step.paused_gc import quick
from memlab.step.storage import DEVICE, Size, Storage

_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Role(StrEnum):
    """Role of a tensor. The accounts of a training step are kept by these eight."""

    INPUT = "input"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    PARAMETER_GRADIENT = "parameter_gradient"
    OPTIMIZER_STATE = "optimizer_state"
    FEATURE_MAP = "feature_map"
    GRADIENT_MAP = "gradient_map"
    WORKSPACE = "workspace"


@quick
@dataclass(frozen=True, slots=True)
class Tensor:
    """Tensor: a view of one storage, with named axes and a format.

    ``offset`` is in bytes from the start of the storage. ``pitch`` is the distance in bytes from
    one sample to the next where the tensor is a slice of larger samples (a concat's gradient);
    ``None`` means that its samples lie side by side. ``start`` is how it begins, where it stays
    alive between steps.
    """

    name: str
    storage: Storage
    axes: Dims
    format: Format
    role: Role
    offset: int = 0
    pitch: int | None = None
    start: InitialValue = ZEROS

    @property
    def per_sample(self) -> int:
        """Return the bytes of one sample, or of the whole tensor if it has no batch axis."""
        return self.format.nbytes(prod(extent for name, extent in self.axes if name != "B"))

    @property
    def size(self) -> Size:
        """Return the bytes of its own values. A slice has fewer bytes than its storage."""
        return _size(self.axes, self.format.bits)

    def shape(self, batch: int) -> tuple[int, ...]:
        """Return its shape at that batch."""
        return tuple(batch if axis == BATCH else axis[1] for axis in self.axes)

    def formula(self, batch: int | None = None) -> str:
        """Return the formula of its bytes: ``'B·C·H·W·4 B'``, or with numbers at a batch:
        ``'32·64·112·112·4 B'``."""
        return formula(self.axes, self.format, batch)

    def view(self, name: str, axes: Dims | None = None, role: Role | None = None) -> Tensor:
        """Return a tensor with the same bytes under another name, shape or role."""
        return replace(self, name=name, axes=axes or self.axes, role=role or self.role)

    def slice(self, name: str, axes: Dims, start: int) -> Tensor:
        """Return the part of every sample that begins ``start`` bytes into it."""
        pitch = self.per_sample if self.pitch is None else self.pitch
        return replace(self, name=name, axes=axes, offset=self.offset + start, pitch=pitch)


def new(
    name: str,
    axes: Dims,
    format: Format,
    role: Role,
    memory: str = DEVICE,
    start: InitialValue = ZEROS,
) -> Tensor:
    """Return a tensor with its own storage."""
    storage = Storage(name, _size(axes, format.bits), memory)
    return Tensor(name, storage, axes, format, role, start=start)


def formula(axes: Dims, format: Format, batch: int | None = None) -> str:
    """Return the product that gives the bytes of these axes, in symbols or, at a
    batch, in numbers."""
    factors = []
    for (name, extent), run in groupby(axes):
        power = len(list(run))
        value = name if batch is None else str(batch if (name, extent) == BATCH else extent)
        factors.append(value + (str(power).translate(_SUPERSCRIPT) if power > 1 else ""))
    item = f"{format.bits // 8} B" if format.bits % 8 == 0 else f"{format.bits}/8 B"
    return "·".join([*factors, item])


@lru_cache(maxsize=4096)
def _size(axes: Dims, bits: int) -> Size:
    nbytes = packed(prod(axis[1] for axis in axes if axis != BATCH), bits)
    return Size(0, nbytes) if BATCH in axes else Size(nbytes, 0)
