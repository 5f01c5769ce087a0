"""What an address map is asked to show: one frozen value, and the ways to change it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from memlab.errors import InputError, known, whole
from memlab.networks.graph import Network
from memlab.planner.placement import HOWS, Placement
from memlab.studies.memory import Budget
from memlab.views.addresses import source as sources
from memlab.views.addresses.running import Ran
from memlab.views.addresses.source import BATCH, Source, Subject

MOST = 4096
"""The largest batch that is placed."""


@dataclass(frozen=True)
class State:
    """Everything that a picture depends on.

    ``beside`` is a second placing next to the first, of the toy. ``cursor`` is an operation, or
    None for the busiest; ``chosen`` the name of the block in focus; ``packed`` how many blocks lie
    already, None for all. ``hand`` are addresses that somebody moved; ``moving`` says that blocks
    can be moved, ``scored`` that the result was asked for. ``slid`` are the addresses before.
    ``stage`` is the stage of a network whose blocks are shown alone, empty for all. ``budgets``
    are lines; ``axis`` are bytes that the axis reaches at least.
    """

    subject: Subject = sources.TOY_NAME
    how: str = "birth"
    beside: str = ""
    in_place: bool = False
    batch: int = 0
    cursor: int | None = None
    chosen: str = ""
    packed: int | None = None
    guess: int | None = None
    stage: str = ""
    budgets: tuple[Budget, ...] = ()
    axis: int = 0
    hand: Placement | None = field(default=None, repr=False)
    moving: bool = False
    scored: bool = False
    written: bool = False
    width: int = 960
    slid: Placement | None = field(default=None, repr=False)
    ran: Ran | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        sources.source(self.subject, self.in_place)  # refuses what is none of these
        known("placing", self.how, HOWS)
        known("placing", self.beside, ["", *HOWS])
        if not self.batch:
            object.__setattr__(self, "batch", 1 if self.subject == sources.TOY_NAME else BATCH)
        whole("batch", self.batch, most=MOST)
        self._check_parts()

    def _check_parts(self) -> None:
        found = self.source
        if self.beside and not found.toy:
            raise InputError("only the toy is shown twice, side by side; leave beside out.")
        if self.cursor is not None and self.cursor >= found.operations:
            most, given = f"{found.operations:,}", f"{self.cursor + 1:,}"
            raise InputError(f"cursor must be an operation from 1 to {most}, got {given}.")
        known("stage", self.stage, ["", *found.stages])
        blocks = self.placement.blocks
        known("block", self.chosen, ["", *(block.name for block in blocks)])
        if self.packed is not None and self.packed > len(blocks):
            raise InputError(f"there are {len(blocks):,} blocks, got packed={self.packed:,}.")

    @property
    def source(self) -> Source:
        """The step, or the toy."""
        return sources.source(self.subject, self.in_place)

    @property
    def placement(self) -> Placement:
        """The addresses: those moved by hand, or those of the placing."""
        return self.hand or self.source.placement(self.batch, self.how)

    @property
    def network(self) -> str:
        """The name of what is shown, as the control has it."""
        if isinstance(self.subject, Network):
            return self.subject.name
        return self.subject if isinstance(self.subject, str) else self.source.name

    @property
    def described(self) -> tuple[object, ...]:
        """What makes the map: two states that agree in it show the same addresses."""
        return (id(self.source), self.batch, self.how, self.beside, self.hand)

    def stored(self) -> State:
        """The same without what was done on this machine, fit for a file."""
        fixed = tuple(budget for budget in self.budgets if not budget.live)
        return replace(self, budgets=fixed, ran=None, slid=None, written=False)


def moved(state: State, **changes: Any) -> State:
    """The next state: what no longer fits is dropped. What is drawn slides from where it was: the
    blocks of the toy; of a network the top of the arena, where the axis stays.

    Raises:
        InputError: a value that is not allowed.
    """
    clean: dict[str, Any] = {"slid": None}
    if {"how", "subject", "batch", "in_place"} & changes.keys():
        clean |= {"hand": None, "scored": False, "packed": None, "ran": None, "beside": ""}
    if {"subject", "in_place"} & changes.keys():
        clean |= {"cursor": None, "chosen": "", "stage": ""}
    if {"subject", "batch"} & changes.keys():
        clean |= {"axis": 0}
    if "subject" in changes:
        inside = state.in_place and changes["subject"] != sources.TOY_NAME
        clean |= {"batch": 0, "in_place": inside, "moving": False, "guess": None}
    if "hand" in changes:
        clean |= {"scored": False, "packed": None, "ran": None, "beside": ""}
    new = replace(state, **(clean | changes))
    same = state.source is new.source if new.source.toy else 0 < new.axis == state.axis
    slides = same and new.described != state.described and not state.beside
    return replace(new, slid=state.placement) if slides else new
