"""A format for each role: one parameter in cells, model state and maps of a step as bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import prod
from typing import Any, ClassVar

import numpy as np

from memlab import optimizers, strings, units
from memlab.errors import InputError
from memlab.formats import FORMATS, STORED
from memlab.ledger.ledger import evaluate
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.bars import TALL, CellBar, gone, margins, next_place
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import Fact, Mark, OpenEdge, Pen, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Band, Scale
from memlab.pictures.draw.table import Key, PageBlock, Paragraphs, SideBySide, Table
from memlab.pictures.draw.theme import PAINTS
from memlab.pictures.live.fixed_axes import Needs, SteadyView
from memlab.pictures.live.setting import Checkbox, Range, Select, Setting, State, always, never
from memlab.pictures.live.view import PageState, maker
from memlab.pictures.memory.step_memory import StepMemory
from memlab.pictures.values.network_setting import network_setting
from memlab.pictures.values.number_text import figure, percent, three_digits, three_digits_of_sum
from memlab.pictures.values.step_recipe import StepRecipe, memory_of, network_of
from memlab.step.fp32_tiles import COMPUTED, operands
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role
from memlab.techniques.precision import MODES
from memlab.techniques.precision import ROLES as STORABLE
from memlab.techniques.registry import applied

STATE = (Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE)
"""The model state, which fact F1 counts in bytes per parameter."""
MAPS = (Role.FEATURE_MAP, Role.GRADIENT_MAP, Role.INPUT)
STARTS = ("fp32", "mixed fp16", "bf16")
"""Starts to choose from; the others are compared with the first."""
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
"""Choices, and their options: a copy of the parameters, and states in 8 bits by blocks."""
Formats = dict[str, str]
"""By what is stored: a role, or the copy of the parameters."""

NAMES, TOTAL = 122, 76
"""Pixels for the names of rows, and for the bytes of one parameter."""
PITCH, PARTS, HEAD = 62, 16, 38
"""Pixels from row to row, for the line of parts below a bar, for the heads."""
NARROW, APART, SHARE = 760, 20, 0.43
"""Below that width the halves stand one below the other; beside each other the left one has so much
of the width."""
NOTE = 205
"""For what stands under a head."""
ROLES = (*STATE, *MAPS)
KEYS = ("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Escape")


# -- what is chosen --------------------------------------------------------------------------------


def usual(start: str) -> dict[str, str]:
    """Return the format of every role, and of the fp32 copy, in fp32 or in a mode of
    ``memlab.precision``."""
    if start not in MODES:
        return {**dict.fromkeys(map(str, STORABLE), COMPUTED.name), COPY: NONE}
    mode = MODES[start]
    formats_of_roles = {
        str(role): mode.half if role in mode.roles else COMPUTED.name for role in STORABLE
    }
    return formats_of_roles | {COPY: COMPUTED.name if mode.master else NONE}


def recipe(network: Network, optimizer: str, start: str, chosen: Formats) -> StepRecipe:
    """Return the step of a starting mode, with some formats replaced.

    Raises:
        InputError: a copy in fp32 of parameters that are in fp32.
    """
    wanted = usual(start) | chosen
    parameter, state, mixed = wanted[Role.PARAMETER], wanted[Role.OPTIMIZER_STATE], ""
    if wanted[COPY] != NONE:
        if parameter == COMPUTED.name:
            raise InputError(
                "a copy in fp32 is kept of parameters in fewer bits, got parameters in fp32; try "
                "no copy, or parameters in fp16."
            )
        mixed = f"mixed {'bf16' if parameter == 'bf16' else 'fp16'}"
    if state == EIGHT:
        wanted[Role.OPTIMIZER_STATE] = COMPUTED.name
    given = usual(mixed)
    roles = tuple((role, wanted[role]) for role in STORABLE if wanted[role] != given[role])
    uses = (applied("eight_bit_states"),) if state == EIGHT else ()
    return StepRecipe(network, optimizer, format=mixed or "fp32", roles=roles, uses=uses)


# -- one way to store ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Array:
    """Array that a step keeps per parameter: its role, its format and its bytes. ``copy`` is true
    for the fp32 copy beside a smaller parameter."""

    role: Role
    format: str
    copy: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of one value."""
        return FORMATS[self.format].nbytes(1)


@dataclass(frozen=True)
class StorageChoice:
    """Formats in which a step is stored, with their figures at a batch.

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
        """Bytes of model state per parameter, in a large layer."""
        return self.scales + sum(array.nbytes for array in self.arrays)

    @property
    def digits(self) -> str:
        """Bytes of model state per parameter, with three digits: ``'16'``."""
        return figure(float(self.per_parameter))

    @property
    def totals(self) -> tuple[int, int]:
        """Bytes of the model state, and of the maps."""
        return sum(self.state.values()), sum(self.maps.values())

    @property
    def sums(self) -> tuple[str, str]:
        """Return the model state and the maps as sums: by role and in total, rounded so that they
        add up."""
        state, maps = (three_digits_of_sum(sum(parts.values()), [*parts.values()])
                       for parts in (self.state, self.maps))  # fmt: skip
        return f"{' + '.join(state[1])} = {state[0]}", f"{' + '.join(maps[1])} = {maps[0]}"

    @property
    def said_peak(self) -> str:
        """Return the peak of the step with three digits."""
        return text_of("peak", peak=three_digits(self.peak))

    @property
    def cells(self) -> list[str]:
        """Return a column of the first table: the bytes of each array, and their sum."""
        kinds = (*((role, False) for role in STATE[:2]), (STATE[2], True), (STATE[2], False))
        sums = (
            " + ".join(
                str(array.nbytes) for array in self.arrays if (array.role, array.copy) == kind
            )
            for kind in kinds
        )
        return [self.name, *(amount or "-" for amount in sums),
                f"{figure(float(self.per_parameter), 5)} B"]  # fmt: skip

    @property
    def amounts(self) -> list[str]:
        """Return a column of the second table, in exact bytes."""
        roles = (*(self.state[role] for role in STATE), *(self.maps[role] for role in MAPS))
        state, maps = self.totals
        others = (self.others[Role.WORKSPACE], self.others[Role.BUFFER])
        return [f"{count:,}" for count in (*roles[:3], state, *roles[3:], maps, *others, self.peak)]


def way(name: str, memory: StepMemory, batch: int) -> StorageChoice:
    """Return the figures of one choice of formats, from the plan of its step."""
    peak = memory.ledger.peak_at(batch)
    lines = {role: evaluate(line, batch) for (place, role), line in memory.ledger.role_lines.items()
             if place == DEVICE}  # fmt: skip
    complete = int(np.sum([lines[role] for role in STATE if role in lines], axis=0).argmax())

    def inside(roles: tuple[Role, ...], at: int) -> dict[Role, int]:
        return {role: int(lines[role][at]) if role in lines else 0 for role in roles}

    arrays, scales = _arrays(memory)
    others = (Role.WORKSPACE, Role.BUFFER)
    return StorageChoice(name, arrays, scales, inside(STATE, complete), inside(MAPS, peak.index),
               inside(others, peak.index), peak.nbytes, peak.row.name)  # fmt: skip


@lru_cache(maxsize=32)
def _arrays(memory: StepMemory) -> tuple[tuple[Array, ...], Fraction]:
    """Return the arrays that each value of the largest parameter has, and its share of the block
    scales."""
    assert memory.step is not None
    slots = [(slot, operands(op)) for op in memory.step.ops for slot in op.slots]
    slot, operand_of = max(slots, key=lambda pair: pair[1][pair[0].parameter].size.fixed)
    values = [*slot.parts.values(), slot.master] if slot.master else slot.parts.values()
    arrays = [
        Array(operand_of[e].role, operand_of[e].format.name, e == slot.master) for e in values
    ]
    count = prod(extent for _, extent in operand_of[slot.parameter].axes)
    scales = Fraction(sum(operand_of[name].size.fixed for name in slot.scales.values()), count)
    return tuple(sorted(arrays, key=lambda slot: (STATE.index(slot.role), not slot.copy))), scales


# -- the ways side by side -------------------------------------------------------------------------


@dataclass(frozen=True)
class Precision:
    """Choices of formats for one step at a batch: the starting modes, and the user's own choice.

    ``changed`` names what one's own way has otherwise than ``start``; it comes last, and is there
    only where it differs. ``sample`` is what a batch is made of.
    """

    network: str
    parameters: int
    sample: str
    batch: int
    optimizer: str
    start: str
    ways: tuple[StorageChoice, ...]
    changed: tuple[str, ...] = ()

    @property
    def first(self) -> StorageChoice:
        """Choice that the others are compared with."""
        return self.ways[0]

    @property
    def origin(self) -> StorageChoice:
        """Choice that the user starts from."""
        return next(way for way in self.ways if way.name == self.start)

    @property
    def now(self) -> StorageChoice:
        """User's own choice, or the one that the user starts from."""
        return self.ways[-1] if self.changed else self.origin

    @property
    def finding(self) -> tuple[str, str]:
        """Return the finding: the choice, and what it changes."""
        if self.changed:
            first, *rest = self._clauses()
            clauses = text_of("finding.two", first=first, second=rest[0]) if rest else first
            return text_of("finding.yours", what=listed(self.changed)), clauses
        if self.now is self.first:
            return text_of("finding.way", name=self.start), text_of(
                "finding.first", bytes=self.now.digits
            )
        state, maps = (_share(self.now, self.first, side) for side in (0, 1))
        key = "both" if state == maps else "not" if state == "same" and maps == "halve" else "each"
        verbs = {side: self._verb(side) for side in ("maps", "state")}
        return text_of("finding.way", name=self.start), text_of(f"finding.{key}", **verbs)

    def _clauses(self) -> list[str]:
        """Return the clauses of the finding: first the changes, then what stays."""
        now, old = self.now, self.origin
        state, maps = text_of("state.same"), text_of("maps.same")
        if now.per_parameter != old.per_parameter:
            state = text_of("finding.parameter", now=now.digits, was=old.digits)
        if now.totals[1] != old.totals[1]:
            maps = self._verb("maps" if old is self.first else "maps_of")
        stays = state == text_of("state.same")
        return [maps, state] if stays else [state, maps][: 1 + (maps != text_of("maps.same"))]

    def _verb(self, side: str) -> str:
        """Return the change of one side against fp32, in words."""
        at = 0 if side == "state" else 1
        share = Fraction(100 * self.now.totals[at], max(self.first.totals[at], 1))
        return text_of(f"{side}.{_share(self.now, self.first, at)}", percent=f"{round(share):,}")

    @property
    def title(self) -> str:
        return " ".join(self.finding)

    @property
    def sentences(self) -> list[str]:
        """Return a hint at what to look at, as sentences."""
        if not self.changed:
            return self._moved or [text_of(f"sentence.{self.start.replace(' ', '_')}")]
        now, old = self.now.totals, self.origin.totals
        gone = any(a < b for a, b in zip(now, old, strict=True))
        said = [text_of("gone" if gone else "more", start=self.start)]
        same = [text_of(f"{side}_were") for side, a, b in zip(("state", "maps"), now, old,
                strict=True)
                if a == b]  # fmt: skip
        return [" ".join([*said, *same])]

    @property
    def _moved(self) -> list[str]:
        """Return a note that the maps at another peak are different ones, where their bytes alone
        do not show it."""
        first, now = self.first, self.origin
        if _share(now, first, 1) not in ("fall", "grow") or now.operation == first.operation:
            return []
        places = {"here": now.operation, "there": first.operation}
        return [text_of("moved", name=self.start, **places)]

    @property
    def notes(self) -> list[str]:
        """Return the subject of the figures, and what is not drawn."""
        return [
            text_of("note.what", network=self.network, batch=f"{self.batch:,}",
                optimizer=optimizers.title(self.optimizer),
                count=f"{self.parameters:,}"),
            text_of("note.moments"),
        ]  # fmt: skip

    @property
    def count(self) -> str:
        """Number of parameters in words: ``'25.6 million'``."""
        size, name = (10**9, "billion") if self.parameters >= 10**9 else (10**6, "million")
        if self.parameters < 10**6:
            return f"{self.parameters:,}"
        return text_of(name, count=figure(self.parameters / size))

    @property
    def table(self) -> list[list[str]]:
        """Return a table with a row for every role and every total, and a column for every choice,
        in exact bytes."""
        roles = [text_of(f"role.{role}") for role in (*STATE, *MAPS)]
        heads = [*roles[:3], text_of("table.state"), *roles[3:], text_of("table.maps"),
                 *(text_of(f"table.{key}") for key in ("workspace", "buffers",
                     "peak"))]  # fmt: skip
        amounts = zip(heads, *(way.amounts for way in self.ways), strict=True)
        shares = (
            [percent(way.totals[at], self.first.totals[at]) for way in self.ways] for at in (0, 1)
        )
        names = (text_of("table.state_share"), text_of("table.maps_share"))
        where = [text_of("table.operation"), *(way.operation for way in self.ways)]
        shown = ([n, *s] for n, s in zip(names, shares, strict=True))
        return [*map(list, amounts), where, *shown]

    def line(self, which: StorageChoice) -> str:
        """Return a choice in one sentence, with three digits."""
        state, maps = map(three_digits, which.totals)
        return text_of("line", name=which.name, bytes=which.digits, state=state, maps=maps)


def text_of(key: str, **values: object) -> str:
    """Return a text of this picture."""
    return strings.get(f"precision.{key}", **values)


def listed(names: tuple[str, ...]) -> str:
    """Return ``'a'``, ``'a and b'``, or ``'3 changes'``."""
    return text_of("changes", count=len(names)) if len(names) > 2 else strings.series(names)


def _share(one: StorageChoice, other: StorageChoice, side: int) -> str:
    """Key of the text that compares the bytes of two ways."""
    share = Fraction(one.totals[side], max(other.totals[side], 1))
    bounds = {"halve": (0.45, 0.55), "quarter": (0.2, 0.3), "same": (0.995, 1.005)}
    matching = (key for key, (low, high) in bounds.items() if low <= share <= high)
    return next(matching, "fall" if share < 1 else "grow")


def precision_of(
    network: Network, optimizer: str, batch: int, start: str, chosen: Formats, others: bool = True
) -> Precision:
    """Return the study of some formats. ``chosen`` holds the formats of ``OFFERED``, by role;
    without ``others`` there is no starting mode beside fp32 and ``start``.

    Raises:
        InputError: formats that ``memlab.precision`` or ``memlab.eight_bit_states`` refuses.
    """
    recipes = {name: recipe(network, optimizer, name, {}) for name in STARTS
               if others or name in (start, STARTS[0])}  # fmt: skip
    changed = tuple(_change(role, chosen[role]) for role in OFFERED
                    if role in chosen and chosen[role] != usual(start)[role])  # fmt: skip
    if changed:
        recipes[YOURS] = recipe(network, optimizer, start, chosen)
    memories = {name: memory_of(chosen) for name, chosen in recipes.items()}
    ways = tuple(way(name, memory, batch) for name, memory in memories.items())
    memory = memories[STARTS[0]]
    return Precision(memory.label, network.parameters, memory.sample, batch, optimizer, start, ways,
                     changed)  # fmt: skip


def _change(role: str, format: str) -> str:
    """Return a change in words: ``'states in 8 bits'``, ``'no copy'``."""
    if role == COPY:
        return text_of("change.none" if format == NONE else "change.copy")
    return text_of(f"change.{role}", format=format)


def states_of(optimizer: str) -> int:
    """Number of values that an optimizer keeps of one parameter."""
    return len(optimizers.OPTIMIZERS[optimizer].states)


# -- the view --------------------------------------------------------------------------------------


def _format(role: str, doc: str, when: Callable[[State], bool] = always) -> Select[str]:
    """Return the setting for the format of one role. Until it is chosen, the format is that of the
    starting mode."""
    return Select(OFFERED[role], doc=doc, default=lambda now: usual(now.start_from)[role],
                  follows=["start_from"], what="format", when=when)  # fmt: skip


@cache
def _titles() -> dict[str, str]:
    """Return the titles of the zoo, by name."""
    return {name: network_of(name).title for name in zoo.ZOO}


class FormatsByRole(SteadyView[Precision]):
    r"""Bytes of one parameter, of the model state and of the maps, with a format for each role.

    >>> view = memlab.views.precision("resnet18")
    >>> print(str(view).split("\n")[0])
    In mixed fp16 activations halve, and the model state does not
    """

    name, made_by = "precision", "precision"
    positional = ("what", "batch", "optimizer")
    picture_keys = KEYS

    what = network_setting(default="resnet50", stays=True)
    start_from = Select(
        STARTS,
        doc='the formats to start from: ``"fp32"``, ``"mixed fp16"`` or ``"bf16"``',
        default="mixed fp16",
    )
    parameter = _format(Role.PARAMETER, "of the parameters; that of the start if not given")
    parameter_gradient = _format(Role.PARAMETER_GRADIENT, "of their gradients")
    master = _format(COPY, 'of the copy of the parameters: ``"fp32"``, or ``"none"``')
    optimizer_state = _format(
        Role.OPTIMIZER_STATE, "of the optimizer's state, or ``\"8 bits\"`` (``eight_bit_states``)",
        lambda now: states_of(now.optimizer) > 0,
    )  # fmt: skip
    feature_map = _format(Role.FEATURE_MAP, "of the feature maps")
    gradient_map = _format(Role.GRADIENT_MAP, "of the gradient maps")
    network = Select(
        lambda now: {now.own.name: now.own.title} | _titles(), doc="the network; set it by name",
        place="more", argument=False, stays=True, code="never", get=lambda now: now.what.name,
        put=lambda now, name: {"what": now.own if name == now.own.name else network_of(name)},
    )  # fmt: skip
    optimizer = Select(
        {name: optimizers.title(name) for name in optimizers.OPTIMIZERS},
        doc=optimizers.ONE_OF, default="adam", place="more", stays=True,
        code="always",
    )  # fmt: skip
    batch = Range(
        1, 1_000_000, doc="the mini-batch size", default=32, stops=tuple(2**n for n in range(11)),
        box=True, stays=True, code="always",
    )  # fmt: skip
    others = Checkbox(
        doc="whether the formats that it does not start from have a row too", default=True,
        when=never, fixed=True,
    )  # fmt: skip
    numbers = Checkbox(doc="whether all numbers are shown", stays=True, argument=False, key="KeyN")
    own: Setting[Any] = Setting(
        doc="what the view was made for", default=lambda now: now.what, fixed=True, argument=False
    )
    chosen: Setting[str] = Setting(
        doc="the row and the role that the keyboard is on", default="", argument=False, code="never"
    )
    presets: ClassVar = {"surprise": {"optimizer_state": EIGHT}}

    @property
    def peak(self) -> int:
        """Bytes of the peak in the formats on display."""
        return self.rows.now.peak

    def study(self, now: State) -> Precision:
        chosen = {role: getattr(now, role) for role in OFFERED}
        return precision_of(now.what, now.optimizer, now.batch, now.start_from, chosen, now.others)

    def needs(self, now: State, rows: Precision) -> Needs:
        return tuple(max(way.totals[side] for way in rows.ways) for side in (0, 1))

    def most(self, now: State) -> Needs:
        return (max(way.totals[0] for way in self.rows_of(now).ways),)  # no batch changes it

    def question(self, now: State) -> object:
        return now.what, now.optimizer

    def outline_key(self, now: State) -> object:
        return self.rows_of(now)

    def buttons(self, now: State) -> Mapping[str, str]:
        states = {"surprise": "surprise"} if states_of(now.optimizer) else {}
        return {"start": "start", **states, "copy": "copy"}

    def test_state(self, now: State) -> str:
        study = self.rows_of(now)
        totals = map(str, study.now.totals)
        return "|".join((now.what.name, str(now.batch), study.now.name, *totals))

    def says(self, scene: PageState) -> str:
        """Return the finding after a change, else what the keyboard has reached."""
        study, here = self.rows_of(scene.now), scene.now.chosen
        if scene.news or here not in _places(study):
            return f"{study.title}. {study.line(study.now)}"
        row, _, role = here.partition(":")
        way = study.ways[int(row)]
        return (
            f"{way.name}, {text_of(f'role.{role}')}: "
            f"{units.exact((way.state | way.maps)[Role(role)])}"
        )

    def fact(self, scene: PageState) -> str:
        return f"choose:{scene.now.chosen}"

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        if value == "Escape":
            return now.replace(chosen="")
        places = _places(self.rows_of(now))
        if name == "choose" and value in places:
            return now.replace(chosen="" if value == now.chosen else value)
        return now.replace(chosen=next_place(places, now.chosen, value)) if name == "key" else None

    def compose(self, scene: PageState) -> Page:
        study, now = self.rows_of(scene.now), scene.now
        role = now.chosen.partition(":")[2]
        shown = PrecisionPageInputs(study, now.room, scene.width, now.numbers, role)
        return Page(study.title, list(_blocks(shown)), scene.width, self.says(scene), titled=False)


precision = maker(FormatsByRole)


def _places(study: Precision) -> list[str]:
    """Return the row and the role of everything that has bytes, from left to right and from top to
    bottom."""
    return [
        f"{row}:{role}"
        for row, way in enumerate(study.ways)
        for role, nbytes in (*way.state.items(), *way.maps.items())
        if nbytes
    ]


# -- the page --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PrecisionPageInputs:
    """Everything that the precision picture depends on. ``room`` is the end of its scale: bytes of
    the model state, and of the maps."""

    study: Precision
    room: tuple[int, ...]
    width: float
    numbers: bool
    role: str

    @property
    def wide(self) -> bool:
        """True if both halves stand side by side."""
        return self.width >= NARROW

    @property
    def pitch(self) -> float:
        """Distance from row to row."""
        return PITCH + PARTS * self.numbers * (1 if self.wide else 2)

    @property
    def rows(self) -> Band:
        """Scale of the rows, with the first at the top."""
        return Band(len(self.study.ways), 0)

    @property
    def height(self) -> float:
        """Height of the frame of both halves."""
        return self.pitch * len(self.study.ways)

    def counted(self, way: StorageChoice) -> bool:
        """True if the bytes of a choice are written: for the user's own choice, and the one that it
        started from."""
        study = self.study
        return self.numbers or not study.changed or way in (study.origin, study.now)

    def old(self, way: StorageChoice) -> StorageChoice:
        """Return the choice that the user's own is compared with. Any other choice is compared with
        itself."""
        return self.study.origin if way is self.study.now else way


def _blocks(shown: PrecisionPageInputs) -> Iterator[PageBlock]:
    study = shown.study
    what, finding = study.finding
    yield Paragraphs([[(what, False), (finding, True)]], 20)
    yield Paragraphs(study.sentences, 13, gap=3)
    yield Key([(PAINTS[role], text_of(f"role.{role}")) for role in ROLES], gap=8)
    halves = _cells(shown), _stacks(shown)
    beside = SideBySide([(halves[0], SHARE), (halves[1], 1 - SHARE)], APART)
    yield from [beside] if shown.wide else halves
    names = [way.name for way in study.ways]
    kinds = ("values", "gradients", "copy", "states", "sum")
    yield Table([text_of("table.parameter"), *(text_of(f"table.{kind}") for kind in kinds)],
                [way.cells for way in study.ways], drawn=False)  # fmt: skip
    yield Table([text_of("table.bytes"), *names], study.table, drawn=False)
    yield Paragraphs(study.notes, drawn=False, gap=1)


# -- one parameter ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrow(Mark):
    """Arrow above the frame with a text, from ``left`` pixels to ``right`` pixels
    beyond its end."""

    content: str
    left: float
    right: float
    dy: float

    def draw(self, pen: Pen) -> None:
        left, right = pen.box.left + self.left, pen.box.right + self.right
        y, half = pen.box.top + self.dy, texts.width(self.content, 12) / 2 + 8
        middle = (left + right) / 2
        d = f"M{left:.1f} {y:.1f}H{middle - half:.1f}M{middle + half:.1f} {y:.1f}H{right:.1f}"
        pen.svg.path(f"{d}m-6 -4l6 4l-6 4", class_="rule faint")
        pen.svg.text(middle, y + 4, self.content, 12, "middle")

    def on(self, axes: Any) -> None:
        """Draw nothing on matplotlib's axes, because the arrow leads from one chart to another."""


def _cells(shown: PrecisionPageInputs) -> Chart:
    """Return a chart that shows, for each choice, one parameter as blocks of roles with a cell for
    each byte."""
    study = shown.study
    most = float(max(way.per_parameter for way in study.ways))
    marks: list[Mark] = [
        Rule(x=float(study.first.per_parameter)),
        ChartText(0, 0, text_of("one"), 13, dy=20 - HEAD, bold=True),
        ChartText(0, 0, text_of("cell"), 11, dy=35 - HEAD, dim=True),
    ]
    if shown.wide:
        one = texts.width(text_of("one"), 13, bold=True) + 12
        marks.append(Arrow(text_of("times", count=study.count), one, TOTAL + APART, 16 - HEAD))
    for row, way in enumerate(study.ways):
        marks += [*_name(shown, row, way), *_parameter(shown, row, way)]
    return Chart(Scale(0, most), shown.rows, marks, shown.height, left=NAMES, right=TOTAL,
                 above=HEAD, told=list(_told(shown)), name=text_of("one"), gap=4)  # fmt: skip


def _name(shown: PrecisionPageInputs, row: int, way: StorageChoice) -> Iterator[Mark]:
    """Yield marks for the name of a choice, and how it differs."""
    y, own = row + 0.5, shown.study.changed
    note = text_of(f"note.row.{way.name.replace(' ', '_')}") if way.name in STARTS else listed(own)
    lines = texts.wrap(note, NAMES - 10, 11)
    if len(lines) > 2:
        lines = [text_of("changes", count=len(own))]
    yield ChartText(0, y, way.name, 13, dx=-NAMES, dy=-2, bold=True)
    for index, line in enumerate(lines):
        yield ChartText(0, y, line, 11, dx=-NAMES, dy=13 + 13 * index, dim=True)
    if shown.numbers:
        yield ChartText(0, y, way.said_peak, 11, dx=-NAMES, dy=13 + 13 * len(lines))


def _parameter(shown: PrecisionPageInputs, row: int, way: StorageChoice) -> Iterator[Mark]:
    """Yield marks for the blocks of one row, their total, and the texts above and below them."""
    y, x = row + 0.5, 0
    for array in way.arrays:
        name = text_of("copy") if array.copy else text_of(f"role.{array.role}")
        said = text_of("fact", bytes=units.exact(array.nbytes), format=array.format)
        whole = units.exact(way.state[array.role])
        fact = Fact(f"{way.name}, {name}", said, more=text_of("whole", bytes=whole))
        end = x + array.nbytes
        yield _bar(shown, row, (x, end), array.role, fact, array.nbytes)
        if shown.numbers:
            yield ChartText((x + end) / 2, y, str(array.nbytes), 12, "middle", dy=4, chip=True)
        if array.copy:
            yield ChartText((x + end) / 2, y, name, 11, "middle", dy=-TALL / 2 - 5, bold=True)
        x = end
    if not row and (states := states_of(shown.study.optimizer)):
        middle = x - states * way.arrays[-1].nbytes / 2
        name = text_of(f"states.{shown.study.optimizer}")
        yield ChartText(middle, y, name, 11, "middle", dy=-TALL / 2 - 5)
    now, old = float(way.per_parameter), float(shown.old(way).per_parameter)
    yield from gone(row, now, old)
    if shown.counted(way):
        total = text_of("total", bytes=way.digits)
        yield ChartText(max(old, now), y, total, 20, dx=12, dy=7, bold=True, chip=True)


def _told(shown: PrecisionPageInputs) -> Iterator[str]:
    """Yield the amounts that are written."""
    for way in filter(shown.counted, shown.study.ways):
        yield shown.study.line(way)
        if shown.numbers:
            state, maps = way.sums
            yield text_of("parts", name=way.name, state=state, maps=maps, peak=way.said_peak)


def _bar(
    shown: PrecisionPageInputs,
    row: int,
    ends: tuple[float, float],
    role: Role,
    fact: Fact,
    cells: int = 0,
) -> CellBar:
    """Return the block of a role in a row. A click selects the role, and the others become pale."""
    pale, inset = shown.role not in ("", role), 0.6 if cells else 0
    return CellBar(*ends, row, row + 1, PAINTS[role], inset, TALL, fact=fact,
                 send=("choose", f"{row}:{role}"), cells=max(cells, 1), pale=pale)  # fmt: skip


# -- a whole step ----------------------------------------------------------------------------------


def _stacks(shown: PrecisionPageInputs) -> Chart:
    """Return a chart that shows, for each choice, the model state to the left of a line and the
    maps to its right, on one scale."""
    study, (state, maps) = shown.study, shown.room
    room = (shown.width - APART) * (1 - SHARE) if shown.wide else shown.width
    names = 0 if shown.wide else NAMES
    sums = [texts.width(way.sums[1], 11) + 12 for way in study.ways if shown.numbers]
    noted = max(NOTE - 55, texts.width(_maps_note(study), 11) + 14)
    left, right = margins(room - names, state, maps, max(noted, *sums * shown.wide, 0))
    pixel = (room - names - left - right) / max(state + maps, 1)
    first, half = study.first.totals[0], study.first.totals[1] / 2
    marks: list[Mark] = [Rule(x=-first), *_heads(shown, state * pixel + left)]
    if half <= maps:
        place = (half, 0.5, "middle", 0.0, -TALL / 2 - 5)
        marks += [Rule(x=half), Label(text_of("half"), [place], 11, dim=True)]
    for row, way in enumerate(study.ways):
        if names:
            at = -left - state * pixel - names
            marks.append(ChartText(0, row + 0.5, way.name, 13, dx=at + 0.5, dy=5, bold=True))
        marks += [
            *_stack(shown, row, way, (state, maps)),
            *_written(shown, row, way, (state, maps), pixel),
        ]
    marks.append(Rule(x=0, look="limit", above=HEAD - 8))
    return Chart(Scale(-state, maps), shown.rows, marks, shown.height, left=names + left,
                 right=right, above=HEAD, name=text_of("state_head"), gap=4)  # fmt: skip


def _heads(shown: PrecisionPageInputs, room: float) -> Iterator[Mark]:
    """Yield marks for the line between the two sides, and their names."""
    state = text_of("state_note", network=shown.study.network)
    yield ChartText(0, 0, text_of("state_head"), 13, "end", dx=-12, dy=20 - HEAD, bold=True)
    yield ChartText(0, 0, texts.shortened(state, max(room, NOTE), 11), 11, "end", dx=-12,
               dy=35 - HEAD,
               dim=True)  # fmt: skip
    yield ChartText(0, 0, text_of("maps_head"), 13, dx=10, dy=20 - HEAD, bold=True)
    yield ChartText(0, 0, _maps_note(shown.study), 11, dx=10, dy=35 - HEAD, dim=True)


def _maps_note(study: Precision) -> str:
    """Return the text that says how many samples the maps are of."""
    count = "maps_note" if study.batch > 1 else "maps_note_one"
    return text_of(count, batch=f"{study.batch:,}", sample=study.sample)


def _stack(
    shown: PrecisionPageInputs, row: int, way: StorageChoice, most: tuple[int, int]
) -> Iterator[Mark]:
    """Yield marks for the roles of a choice in the order of its cells, and its maps as far
    as the scale goes."""
    (low, high), x = (-most[0], most[1]), -way.totals[0]
    for role, nbytes in (*way.state.items(), *way.maps.items()):
        fact = Fact(f"{way.name}, {text_of(f'role.{role}')}", nbytes=nbytes)
        ends = min(max(x, low), high), min(max(x + nbytes, low), high)
        if ends[1] > ends[0]:
            yield _bar(shown, row, ends, role, fact)
        x += nbytes
    if way.totals[1] > high:
        tall = TALL / 2 / shown.pitch
        yield OpenEdge(row + 0.5 - tall, row + 0.5 + tall, "right", high)
    old = shown.old(way).totals
    yield from gone(row, max(-way.totals[0], low), max(-old[0], low))
    yield from gone(row, min(way.totals[1], high), min(old[1], high))


def _written(
    shown: PrecisionPageInputs, row: int, way: StorageChoice, most: tuple[int, int], pixel: float
) -> Iterator[Mark]:
    """Yield marks for the amounts of a choice."""
    y, (state, maps), old = row + 0.5, way.totals, shown.old(way).totals
    if shown.counted(way):
        amount = three_digits(maps) + " →" * (maps > most[1])
        wide = texts.width(amount, 13, bold=True) + 16 < min(maps, most[1]) * pixel
        left, right = -min(max(state, old[0]), most[0]), min(max(maps, old[1]), most[1])
        model = "← " * (state > most[0]) + three_digits(state)
        yield ChartText(left, y, model, 13, "end", dx=-8, dy=5, bold=True, chip=True)
        yield ChartText(0 if wide else right, y, amount, 13, dx=8, dy=5, bold=True, chip=True)
    if shown.numbers:
        (left_sum, right_sum), dy = way.sums, TALL / 2 + 14
        low = 0 if shown.wide else 14
        yield ChartText(0, y, left_sum, 11, "end", dx=-8, dy=dy, chip=True, held=True)
        yield ChartText(0, y, right_sum, 11, dx=8, dy=dy + low, chip=True, held=True)
