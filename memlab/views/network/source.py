"""What a picture draws, before a batch is chosen: the ledger of a step, summed up in slices."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from memlab import strings
from memlab.errors import known, unknown
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.networks.resnets import VARIANTS
from memlab.planner.book import plan
from memlab.planner.ledger import Column, Entry, Ledger, Line
from memlab.step.build import STORABLE, inference_step, training_step
from memlab.step.op import Phase
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role
from memlab.techniques.precision import MODES, precision
from memlab.views.network.blocks import Blocks, Slice
from memlab.views.roles import FLOOR, MOUNTAIN, STACK, Look

Curve = npt.NDArray[np.float64]
"""Bytes inside every operation, for drawing only."""

MIXED = tuple(name for name, mode in MODES.items() if mode.master)
"""Mixed precision: parameters in a small format, with a master copy in fp32."""

OFFERED = (*STORABLE, *MIXED)
"""The formats of a step built here: one for every array, or mixed."""

ROWS = 6
"""Rows of the lower picture; the small ones share the last."""


@dataclass(frozen=True, eq=False)
class Source:
    """The ledger of one step, and the network that it was built from where there is one.

    ``mixed`` is the name of its mixed precision, of which the ledger knows the small format alone.
    """

    ledger: Ledger
    network: Network | None = None
    mixed: str = ""
    _fits: dict[int, int | None] = field(default_factory=dict)
    _slices: dict[str, tuple[Slice, ...]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Its name for people."""
        return self.ledger.label or self.ledger.network

    @property
    def format(self) -> str:
        """The format of its arrays, or the name of its mixed precision."""
        return self.mixed or self.ledger.format

    @cached_property
    def of_images(self) -> bool:
        """Whether a batch is made of images."""
        inputs = [e for e in self.ledger.entries if e.role is Role.INPUT]
        return any(name == "H" for entry in inputs for name, _ in entry.axes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The stages, in the order of forward; none where nothing names them."""
        return tuple(dict.fromkeys(row.stage for row in self.ledger.rows if row.stage))

    @property
    def operations(self) -> int:
        """How many operations the step has."""
        return len(self.ledger.rows)

    @cached_property
    def lines(self) -> dict[Look, Column]:
        """For every slice of the stack, bytes or bytes per sample inside every operation."""
        nothing: Line = (np.zeros(self.operations, np.int64),) * 2
        found = {role: self.ledger.role_lines.get((DEVICE, role), nothing) for role in Role}
        return {look: found[look.role][int(look.grows)] for look in STACK}

    @cached_property
    def floor(self) -> Column:
        """The bytes inside every operation that do not depend on the batch."""
        return self._sum(FLOOR)

    @cached_property
    def mountain(self) -> Column:
        """The bytes inside every operation that each sample adds."""
        return self._sum(MOUNTAIN)

    def _sum(self, looks: tuple[Look, ...]) -> Column:
        return sum((self.lines[look] for look in looks), np.zeros(self.operations, np.int64))

    def curve(self, batch: int) -> Curve:
        """The whole stack at a batch."""
        return self.floor.astype(np.float64) + batch * self.mountain.astype(np.float64)

    def at(self, operation: int, batch: int) -> int:
        """Bytes inside one operation."""
        return int(self.floor[operation]) + batch * int(self.mountain[operation])

    @cached_property
    def looks(self) -> tuple[Look, ...]:
        """The slices that have a line in the table, from the bottom up."""
        return tuple(look for look in STACK if look.usual or self.lines[look].any())

    @cached_property
    def bands(self) -> tuple[tuple[Phase, int, int], ...]:
        """The phases with their first and last operation."""
        found: list[tuple[Phase, int, int]] = []
        for index, row in enumerate(self.ledger.rows):
            if found and found[-1][0] is row.phase:
                found[-1] = (row.phase, found[-1][1], index)
            else:
                found.append((row.phase, index, index))
        return tuple(found)

    @cached_property
    def blocks(self) -> Blocks:
        """All blocks on the device."""
        found = [entry for entry in self.ledger.entries if entry.memory == DEVICE]
        return Blocks(found, self.operations)

    def largest_batch(self, nbytes: int) -> int | None:
        """The largest batch that fits into so many bytes (``Ledger.fit``)."""
        if nbytes not in self._fits:
            self._fits[nbytes] = self.ledger.fit(nbytes).batch
        return self._fits[nbytes]

    def slices(self, stage: str = "") -> tuple[Slice, ...]:
        """The mountain by stage, or one stage by the layer whose operation made each block.

        Where the network names no stages it is cut by layer at once.
        """
        if stage not in self._slices:
            self._slices[stage] = self._cut(stage)
        return self._slices[stage]

    def _cut(self, stage: str) -> tuple[Slice, ...]:
        first = self.names[0] if self.names else ""
        groups: dict[str, list[Entry]] = {}
        for entry in self.blocks.entries:
            place = entry.stage or first
            if entry.size.per_sample and stage in ("", place):
                name = entry.layer or entry.name if stage or not first else place
                groups.setdefault(name, []).append(entry)
        found = [Slice(name, Blocks(group, self.operations)) for name, group in groups.items()]
        return self._few(found)

    def _few(self, slices: list[Slice]) -> tuple[Slice, ...]:
        if len(slices) <= ROWS:
            return tuple(slices)
        large = sorted(slices, key=lambda part: -part.highest)[: ROWS - 1]
        small = [part for part in slices if part not in large]
        entries = [entry for part in small for entry in part.blocks.entries]
        name = strings.get("network.others", count=len(small))
        rest = Slice(name, Blocks(entries, self.operations))
        return (*(part for part in slices if part in large), rest)


_MADE: OrderedDict[tuple[object, ...], tuple[Network | Ledger, Source]] = OrderedDict()
_KEPT = 12


def source(subject: Network | Ledger, optimizer: str, training: bool, format: str) -> Source:
    """The source for these settings, which a ledger has already; the last few are kept.

    Raises:
        InputError: an unknown optimizer or format.
    """
    key: tuple[object, ...] = (id(subject), optimizer if training else "", training, format)
    if key not in _MADE:
        _MADE[key] = subject, _make(subject, optimizer, training, format)
    _MADE.move_to_end(key)
    if len(_MADE) > _KEPT:
        _MADE.popitem(last=False)
    return _MADE[key][1]


def _make(subject: Network | Ledger, optimizer: str, training: bool, format: str) -> Source:
    if isinstance(subject, Ledger):
        return Source(subject)
    mixed = format if format in MIXED else ""
    stored = "fp32" if mixed else format
    if training:
        step = training_step(subject, optimizer, stored)
    else:
        step = inference_step(subject, stored)
    return Source(plan(precision(step, mixed) if mixed else step), subject, mixed)


_BUILT: dict[tuple[str, str], Network] = {}


def network_of(name: str, variant: str = "") -> Network:
    """A network of the zoo; the same one each time.

    Raises:
        InputError: an unknown name or variant.
    """
    if not isinstance(variant, str):
        raise unknown("variant", variant, VARIANTS)
    key = (known("network", name, zoo.ZOO), variant)
    if key not in _BUILT:
        _BUILT[key] = zoo.build(name, variant=variant or None)
    return _BUILT[key]


def variants(network: Network) -> tuple[str, ...]:
    """The published forms of a network of the zoo; none where there is one form."""
    if not network.variant or network.name not in zoo.ZOO:
        return ()
    return VARIANTS
