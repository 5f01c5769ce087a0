"""A format for each role of a step: bytes of one parameter, of the model state and of maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np

from memlab import strings
from memlab.errors import InputError
from memlab.formats import FORMATS, STORED
from memlab.ledger.ledger import evaluate
from memlab.networks.graph import Network
from memlab.optimizers import OPTIMIZERS, title
from memlab.pictures.memory.step_memory import StepMemory
from memlab.pictures.values.number_text import few, figure, percent, three
from memlab.pictures.values.recipe import Recipe, memory_of
from memlab.pictures.values.study import Study
from memlab.step.staging import COMPUTED, operands
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role
from memlab.techniques.precision import MODES
from memlab.techniques.precision import ROLES as STORABLE
from memlab.techniques.registry import use

STATE = (Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE)
"""The model state, which fact F1 counts in bytes per parameter."""
MAPS = (Role.FEATURE_MAP, Role.GRADIENT_MAP, Role.INPUT)
STARTS = ("fp32", "mixed fp16", "bf16")
"""What one starts from; the first is what the others are compared with."""
YOURS = "yours"
COPY, NONE, EIGHT = "master", "none", "8 bits"
SMALL = tuple(name for name in STORED if not FORMATS[name].unused)
"""The formats of a role. One that leaves bits unused takes as many as a longer one."""
OFFERED: dict[str, tuple[str, ...]] = {
    Role.PARAMETER: SMALL,
    Role.PARAMETER_GRADIENT: SMALL,
    COPY: (COMPUTED.name, NONE),
    Role.OPTIMIZER_STATE: (*SMALL, EIGHT),
    Role.FEATURE_MAP: SMALL,
    Role.GRADIENT_MAP: SMALL,
}
"""What can be chosen, and from what: a copy of the parameters, and states in 8 bits by blocks."""
Formats = dict[str, str]
"""By what is stored: a role, or the copy of the parameters."""


# -- what is chosen --------------------------------------------------------------------------------


def usual(start: str) -> dict[str, str]:
    """The format of every role, and of the copy, in fp32 or in a mode of ``memlab.precision``."""
    if start not in MODES:
        return {**dict.fromkeys(map(str, STORABLE), COMPUTED.name), COPY: NONE}
    mode = MODES[start]
    found = {str(role): mode.half if role in mode.roles else COMPUTED.name for role in STORABLE}
    return found | {COPY: COMPUTED.name if mode.master else NONE}


def recipe(network: Network, optimizer: str, start: str, chosen: Formats) -> Recipe:
    """The step of a start with some formats of one's own.

    Raises:
        InputError: a copy in fp32 of parameters that are in fp32.
    """
    wanted = usual(start) | chosen
    mixed = "" if wanted[COPY] == NONE else f"mixed {_half(wanted[Role.PARAMETER])}"
    eight = wanted[Role.OPTIMIZER_STATE] == EIGHT
    if eight:
        wanted[Role.OPTIMIZER_STATE] = COMPUTED.name
    given = usual(mixed)
    roles = tuple((role, wanted[role]) for role in STORABLE if wanted[role] != given[role])
    uses = (use("eight_bit_states"),) if eight else ()
    return Recipe(network, optimizer, format=mixed or "fp32", roles=roles, uses=uses)


def _half(parameter: str) -> str:
    """The half precision of the mixed mode that keeps a copy of such parameters."""
    if parameter == COMPUTED.name:
        raise InputError(
            "a copy in fp32 is kept of parameters in fewer bits, got parameters in fp32; try no "
            "copy, or parameters in fp16."
        )
    return "bf16" if parameter == "bf16" else "fp16"


# -- one way to store ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Array:
    """What is kept of one parameter: its role, its format, its whole bytes. ``copy`` is the one in
    fp32 beside a smaller parameter."""

    role: Role
    format: str
    copy: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of one value."""
        return FORMATS[self.format].nbytes(1)


@dataclass(frozen=True)
class Way:
    """One way to store a step, at a batch.

    ``arrays`` is what is kept of one parameter, in the order of the model state; the ``scales`` of
    8-bit states take the bytes of a block that each value has a part in. ``state`` has the model
    state by role, when it is complete, ``maps`` and ``others`` what else is alive inside the
    ``operation`` of the ``peak``.
    """

    name: str
    arrays: tuple[Array, ...]
    scales: Fraction
    state: dict[Role, int]
    maps: dict[Role, int]
    others: dict[Role, int]
    peak: int
    operation: str

    @property
    def per_parameter(self) -> Fraction:
        """Bytes of model state for one parameter of a layer that is large."""
        return self.scales + sum(each.nbytes for each in self.arrays)

    @property
    def digits(self) -> str:
        """The same in three digits: ``'16'``."""
        return figure(float(self.per_parameter))

    @property
    def totals(self) -> tuple[int, int]:
        """Bytes of the model state and of the maps."""
        return sum(self.state.values()), sum(self.maps.values())

    @property
    def sums(self) -> tuple[str, str]:
        """The model state and the maps by role, and in all, as they add up."""
        return _sum(self.state), _sum(self.maps)

    @property
    def said_peak(self) -> str:
        """The peak of the step, in three digits."""
        return say("peak", peak=three(self.peak))

    @property
    def cells(self) -> list[str]:
        """For the first table: bytes of each array, and in all."""
        kinds = (*((role, False) for role in STATE[:2]), (STATE[2], True), (STATE[2], False))
        sums = (
            " + ".join(str(each.nbytes) for each in self.arrays if (each.role, each.copy) == kind)
            for kind in kinds
        )
        return [self.name, *(each or "-" for each in sums),
                f"{figure(float(self.per_parameter), 5)} B"]  # fmt: skip

    @property
    def amounts(self) -> list[str]:
        """For the second table: exact bytes."""
        roles = (*(self.state[role] for role in STATE), *(self.maps[role] for role in MAPS))
        state, maps = self.totals
        others = (self.others[Role.WORKSPACE], self.others[Role.BUFFER])
        return [f"{each:,}" for each in (*roles[:3], state, *roles[3:], maps, *others, self.peak)]


def way(name: str, memory: StepMemory, batch: int) -> Way:
    """The figures of one way to store, from the plan of its step."""
    peak = memory.ledger.peak_at(batch)
    lines = {role: evaluate(line, batch) for (place, role), line in memory.ledger.role_lines.items()
             if place == DEVICE}  # fmt: skip
    complete = int(np.sum([lines[role] for role in STATE if role in lines], axis=0).argmax())

    def inside(roles: tuple[Role, ...], at: int) -> dict[Role, int]:
        return {role: int(lines[role][at]) if role in lines else 0 for role in roles}

    arrays, scales = _arrays(memory)
    others = (Role.WORKSPACE, Role.BUFFER)
    return Way(name, arrays, scales, inside(STATE, complete), inside(MAPS, peak.index),
               inside(others, peak.index), peak.nbytes, peak.row.name)  # fmt: skip


@lru_cache(maxsize=32)
def _arrays(memory: StepMemory) -> tuple[tuple[Array, ...], Fraction]:
    """What is kept of each value of the largest parameter, and its share in block scales."""
    assert memory.step is not None
    slots = [(slot, operands(op)) for op in memory.step.ops for slot in op.slots]
    slot, found = max(slots, key=lambda each: each[1][each[0].parameter].size.fixed)
    values = [*slot.parts.values(), slot.master] if slot.master else slot.parts.values()
    arrays = [Array(found[e].role, found[e].format.name, e == slot.master) for e in values]
    count = prod(extent for _, extent in found[slot.parameter].axes)
    scales = Fraction(sum(found[name].size.fixed for name in slot.scales.values()), count)
    return tuple(sorted(arrays, key=lambda each: (STATE.index(each.role), not each.copy))), scales


# -- the ways side by side -------------------------------------------------------------------------


@dataclass(frozen=True)
class Precision(Study):
    """The ways to store one step at a batch: those to start from, and one's own.

    ``changed`` names what one's own way has otherwise than ``start``; it comes last, and is there
    only where it differs. ``sample`` is what a batch is made of.
    """

    network: str
    parameters: int
    sample: str
    batch: int
    optimizer: str
    start: str
    ways: tuple[Way, ...]
    changed: tuple[str, ...] = ()

    @property
    def first(self) -> Way:
        """What the others are compared with."""
        return self.ways[0]

    @property
    def origin(self) -> Way:
        """The way that one starts from."""
        return self.ways[STARTS.index(self.start)]

    @property
    def now(self) -> Way:
        """One's own way, or the one that one starts from."""
        return self.ways[-1] if self.changed else self.origin

    @property
    def finding(self) -> tuple[str, str]:
        """What the picture shows: of which way, and what."""
        if self.changed:
            what = listed(self.changed)
            return say("finding.yours", what=what), ", ".join(self._clauses())
        if self.now is self.first:
            return say("finding.way", name=self.start), say("finding.first", bytes=self.now.digits)
        state, maps = (_share(self.now, self.first, side) for side in (0, 1))
        key = "both" if state == maps else "not" if state == "same" and maps == "halve" else "each"
        found = {side: self._verb(side) for side in ("maps", "state")}
        return say("finding.way", name=self.start), say(f"finding.{key}", **found)

    def _clauses(self) -> list[str]:
        """What has changed first, then what has not."""
        now, old = self.now, self.origin
        state, maps = say("state.same"), say("maps.same")
        if now.per_parameter != old.per_parameter:
            state = say("finding.parameter", now=now.digits, was=old.digits)
        if now.totals[1] != old.totals[1]:
            maps = self._verb("maps" if old is self.first else "maps_of")
        stays = state == say("state.same")
        return [maps, state] if stays else [state, maps][: 1 + (maps != say("maps.same"))]

    def _verb(self, side: str) -> str:
        """What becomes of a side of fp32."""
        at = 0 if side == "state" else 1
        share = Fraction(100 * self.now.totals[at], max(self.first.totals[at], 1))
        return say(f"{side}.{_share(self.now, self.first, at)}", percent=f"{round(share):,}")

    @property
    def title(self) -> str:
        return " ".join(self.finding)

    @property
    def sentences(self) -> list[str]:
        """What to look at."""
        if not self.changed:
            return self._moved or [say(f"sentence.{self.start.replace(' ', '_')}")]
        now, old = self.now.totals, self.origin.totals
        gone = any(a < b for a, b in zip(now, old, strict=True))
        said = [say("gone" if gone else "more", start=self.start)]
        same = [say(f"{side}_were") for side, a, b in zip(("state", "maps"), now, old, strict=True)
                if a == b]  # fmt: skip
        return [" ".join([*said, *same])]

    @property
    def _moved(self) -> list[str]:
        """That other maps are alive at another peak, where their bytes alone do not say it."""
        first, now = self.first, self.origin
        if _share(now, first, 1) not in ("fall", "grow") or now.operation == first.operation:
            return []
        places = {"here": now.operation, "there": first.operation}
        return [say("moved", name=self.start, **places)]

    @property
    def notes(self) -> list[str]:
        """What the figures are of, and what is not drawn."""
        return [
            say("note.what", network=self.network, batch=f"{self.batch:,}",
                optimizer=title(self.optimizer),
                count=f"{self.parameters:,}"),
            say("note.moments"),
        ]  # fmt: skip

    @property
    def count(self) -> str:
        """How many parameters there are: ``'25.6 million'``."""
        size, name = (10**9, "billion") if self.parameters >= 10**9 else (10**6, "million")
        if self.parameters < 10**6:
            return f"{self.parameters:,}"
        return say(name, count=figure(self.parameters / size))

    @property
    def table(self) -> list[list[str]]:
        """A line for every role and every total, a column for every way, in exact bytes."""
        roles = [say(f"role.{role}") for role in (*STATE, *MAPS)]
        heads = [*roles[:3], say("table.state"), *roles[3:], say("table.maps"),
                 *(say(f"table.{key}") for key in ("workspace", "buffers", "peak"))]  # fmt: skip
        amounts = zip(heads, *(way.amounts for way in self.ways), strict=True)
        shares = (
            [percent(way.totals[at], self.first.totals[at]) for way in self.ways] for at in (0, 1)
        )
        names = (say("table.state_share"), say("table.maps_share"))
        where = [say("table.operation"), *(way.operation for way in self.ways)]
        shown = ([n, *s] for n, s in zip(names, shares, strict=True))
        return [*map(list, amounts), where, *shown]

    def line(self, which: Way) -> str:
        """A way in one sentence, in three digits."""
        state, maps = map(three, which.totals)
        return say("line", name=which.name, bytes=which.digits, state=state, maps=maps)


def say(key: str, **values: object) -> str:
    """A text of this picture."""
    return strings.get(f"precision.{key}", **values)


def _sum(parts: Mapping[Role, int]) -> str:
    whole, each = few(sum(parts.values()), list(parts.values()))
    return f"{' + '.join(each)} = {whole}"


def listed(names: tuple[str, ...]) -> str:
    """``'a'``, ``'a and b'``, ``'3 changes'``."""
    return say("changes", count=len(names)) if len(names) > 2 else say("and").join(names)


def _share(one: Way, other: Way, side: int) -> str:
    """How the bytes of two ways compare, as the key of a text."""
    share = Fraction(one.totals[side], max(other.totals[side], 1))
    bounds = {"halve": (0.45, 0.55), "quarter": (0.2, 0.3), "same": (0.995, 1.005)}
    found = (key for key, (low, high) in bounds.items() if low <= share <= high)
    return next(found, "fall" if share < 1 else "grow")


def precision_of(
    network: Network, optimizer: str, batch: int, start: str, chosen: Formats
) -> Precision:
    """The study of some formats; ``chosen`` are those of ``OFFERED``, by role.

    Raises:
        InputError: formats that ``memlab.precision`` or ``memlab.eight_bit_states`` refuses.
    """
    made = {name: recipe(network, optimizer, name, {}) for name in STARTS}
    changed = tuple(_change(role, chosen[role]) for role in OFFERED
                    if role in chosen and chosen[role] != usual(start)[role])  # fmt: skip
    if changed:
        made[YOURS] = recipe(network, optimizer, start, chosen)
    memories = {name: memory_of(each) for name, each in made.items()}
    ways = tuple(way(name, memory, batch) for name, memory in memories.items())
    memory = memories[STARTS[0]]
    return Precision(memory.label, network.parameters, memory.sample, batch, optimizer, start, ways,
                     changed)  # fmt: skip


def _change(role: str, format: str) -> str:
    """``'states in 8 bits'``, ``'no copy'``."""
    if role == COPY:
        return say("change.none" if format == NONE else "change.copy")
    return say(f"change.{role}", format=format)


def states_of(optimizer: str) -> int:
    """How many values an optimizer keeps of one parameter."""
    return len(OPTIMIZERS[optimizer].states)
