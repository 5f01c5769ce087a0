"""What the network-memory view is asked to show: one frozen value, and the ways to change it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from memlab import devices
from memlab.errors import InputError, flag, known, whole
from memlab.networks import counting
from memlab.networks.graph import Network
from memlab.planner.ledger import Ledger
from memlab.step.rules import UPDATES
from memlab.views.axis import Axis
from memlab.views.network import source as sources
from memlab.views.network.source import OFFERED, Source

STOPS = tuple(2**power for power in range(10))
"""The batches that the slider stops at."""

MOST = 1_000_000
"""The largest batch that is drawn."""


@dataclass(frozen=True, slots=True)
class Budget:
    """So much memory and no more. A live one was read on this machine a moment ago."""

    name: str
    nbytes: int
    live: bool = False


@dataclass(frozen=True, slots=True)
class Scales:
    """The axes of the plot and of the rows below it."""

    plot: Axis
    rows: Axis


@dataclass(frozen=True)
class State:
    """Everything that a picture depends on.

    ``subject`` is a network, of which the settings make a step, or a ledger as it is.

    ``cursor`` is an operation, or ``None`` for the peak; ``unfolded`` a stage whose layers are
    shown; ``chosen`` the line that the keyboard is on. ``before`` is what was shown last, and
    ``held`` the axes that stay while the batch is dragged. ``was`` is the axis before this change,
    ``origin`` the state that a drag began with.
    """

    subject: Network | Ledger
    batch: int = 32
    optimizer: str = "momentum"
    training: bool = True
    format: str = "fp32"
    rule: str = ""
    cursor: int | None = None
    unfolded: str = ""
    chosen: str = ""
    guess: int | None = None
    budgets: tuple[Budget, ...] = ()
    width: int = 960
    before: State | None = field(default=None, repr=False)
    held: Scales | None = None
    was: Axis | None = None
    origin: State | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch", whole("batch", self.batch, most=MOST))
        object.__setattr__(self, "training", flag("training", self.training))
        known("optimizer", self.optimizer, UPDATES)
        known("format", self.format, OFFERED)
        known("counting rule", self.rule, ["", *counting.CONVENTIONS])
        if self.rule and not self.network:
            raise InputError("a counting rule needs a network, got a ledger; leave rule out.")

    @property
    def source(self) -> Source:
        """The ledger that it draws."""
        return sources.source(self.subject, self.optimizer, self.training, self.format)

    @property
    def network(self) -> Network | None:
        """The network, where it is one that is shown and not a ledger alone."""
        return self.subject if isinstance(self.subject, Network) else None

    @property
    def dragging(self) -> bool:
        """The batch is being dragged."""
        return self.held is not None

    @property
    def described(self) -> tuple[int, int]:
        """What makes the bytes: two states that agree in it show the same mountain."""
        ledger = self.source.ledger
        return (id(ledger), self.batch)

    def alone(self) -> State:
        """The same without what came before."""
        return replace(self, before=None, held=None, was=None, origin=None)

    def stored(self) -> State:
        """The same without what is free on this machine: fit for a file."""
        fixed = tuple(budget for budget in self.budgets if not budget.live)
        before = self.before.stored() if self.before else None
        return replace(self, budgets=fixed, before=before)


def moved(state: State, **changes: Any) -> State:
    """The next state; where the bytes change, this one becomes its ``before``.

    Raises:
        InputError: a value that is not allowed.
    """
    new = replace(state, held=None, origin=None, **changes)
    if new.rule != state.rule:
        new = replace(new, before=None)
    if new.described == state.described:
        return new
    if new.source.operations != state.source.operations:
        new = replace(new, cursor=None, chosen="", unfolded="")
    return replace(new, before=state.alone())


def dragged(state: State, batch: int, scales: Scales) -> State:
    """A state during a drag: the axes stay as they were when it began."""
    if state.dragging:
        return replace(state, batch=batch)
    return replace(state, batch=batch, before=state.alone(), held=scales, origin=state)


def released(state: State, batch: int) -> State:
    """The drag has ended: the axes follow, and what was there when it began stays as outline."""
    if state.origin is None:
        return moved(state, batch=batch)
    if state.origin.batch == batch:
        return state.origin
    return replace(state, batch=batch, held=None, origin=None)


def comparable(before: State | None, state: State) -> bool:
    """Whether the two have the same operations, so that one outlines the other."""
    return (
        before is not None
        and before.source.ledger.network == state.source.ledger.network
        and before.source.ledger.training is state.source.ledger.training
        and before.source.operations == state.source.operations
    )


def budget(name: str | int) -> Budget:
    """A budget by the name of a device, or by an amount such as ``'8 GB'``.

    Raises:
        InputError: neither a device nor an amount.
    """
    from memlab import units

    if isinstance(name, str) and name in devices.DEVICES:
        return Budget(name, devices.DEVICES[name].memory)
    nbytes = units.parse(name)
    return Budget(units.short(nbytes), nbytes)
