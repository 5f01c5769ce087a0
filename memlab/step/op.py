"""One operation of a step: what it reads, writes and updates, and what it costs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from memlab.step.paused_gc import quick
from memlab.step.rewrite_traits import PLAIN, RerunRule, Traits
from memlab.step.storage import Size
from memlab.step.tensor import Tensor

Operands = Mapping[str, Tensor]
"""Tensors by the name under which a kernel knows them: ``{"x": ..., "weight": ...}``."""

NONE: Operands = {}

LOAD = "load"
"""The kind of an operation that no kernel computes: what it writes comes from outside, as the
input and the labels do."""
OF_PART = " of the part"
"""After the name of a gradient that is added to, the name of the workspace for what one part of
the batch adds, where the kernel has to read that alone."""


CALL = "call"
"""The attribute of an operation that was recorded elsewhere: its number in the recording. No kernel
of memlab computes it."""


PLANNED = "planned"
"""The attribute of an operation that is planned and that no kernel computes: what makes it so, in
words."""


def ending(part: int) -> str:
    """End of the names of operations and blocks that belong to a later part of the batch; the first
    part, 1, has plain names."""
    return f" in part {part}" if part > 1 else ""


def plain(name: str) -> str:
    """Return a name without its part: ``'conv1 in part 2'`` gives ``'conv1'``."""
    return _ENDING.sub("", name)


_ENDING = re.compile(r" in part \d+$")


class Phase(StrEnum):
    """Phase of a training step that an operation belongs to."""

    FORWARD = "forward"
    LOSS = "loss"
    BACKWARD = "backward"
    UPDATE = "update"
    COPY = "copy"


PARAMETER, GRADIENT = "parameter", "gradient"
"""What two of the parts of an update are called; the others are states, by their own names."""


@dataclass(frozen=True, slots=True)
class UpdateSlot:
    """Parameter of an update with its gradient and states, each by its name among the operands.

    ``states`` are those of the optimizer, by what it calls them; ``scales``, by the same, are those
    of the blocks of a state in 8 bits. ``master`` is the copy of the parameter in fp32, where it
    has one.
    """

    parameter: str
    gradient: str
    states: Mapping[str, str] = field(default_factory=dict)
    master: str = ""
    scales: Mapping[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> dict[str, str]:
        """Operands that the optimizer computes with: gradient, parameter and states, by their
        parts."""
        return {GRADIENT: self.gradient, PARAMETER: self.parameter, **self.states}

    @property
    def kept(self) -> tuple[str, ...]:
        """States that the optimizer keeps beside the parameter."""
        master = (self.master,) if self.master else ()
        return (*master, *self.states.values(), *self.scales.values())


@quick
@dataclass(frozen=True, slots=True)
class Op:
    """Operation of a step, with the tensors that it reads, writes and updates.

    ``writes`` are born here unless an earlier operation wrote them; ``updates`` are read and
    changed in place. ``attributes`` hold the ``layer``, and ``draw``, the key of its random
    numbers. ``workspace`` is alive inside the operation only. ``flops`` counts an addition, a
    multiplication, a comparison and a root as one each; ``bytes_moved`` counts what is read and
    written, workspace included. ``after`` names operations of other streams that must have ended.
    ``traits`` are what is known of its kind; ``again`` is how it runs another time where it changes
    something in place, and may run once alone where that is None. ``slots`` say of an update which
    operands belong to each of its parameters. ``holds`` are tensors that it does not need, and that
    a framework lets go only after it.
    """

    name: str
    kind: str
    phase: Phase
    reads: Operands = field(default_factory=dict)
    writes: Operands = field(default_factory=dict)
    updates: Operands = field(default_factory=dict)
    workspace: Operands = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    algorithm: str = ""
    flops: Size = Size()
    bytes_moved: Size = Size()
    layer: str = ""
    stage: str = ""
    stream: str = "compute"
    after: tuple[str, ...] = ()
    traits: Traits = PLAIN
    again: RerunRule | None = None
    slots: tuple[UpdateSlot, ...] = ()
    holds: Operands = field(default_factory=dict)

    @property
    def pure(self) -> bool:
        """True if the operation can run twice with the same result, because it changes nothing in
        place."""
        return not self.updates

    @property
    def transfers(self) -> bool:
        """True if the operation only copies or loads bytes, so that no kernel computes it."""
        return self.phase is Phase.COPY or self.kind == LOAD

    def touched(self) -> Iterator[Tensor]:
        """Yield every tensor that the operation reads, writes or updates, without its workspace."""
        yield from self.reads.values()
        yield from self.writes.values()
        yield from self.updates.values()

    def __str__(self) -> str:
        return self.name
