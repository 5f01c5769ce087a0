"""What an address map is made of before a placement is chosen: six made-up tensors, or a step."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property

from memlab import strings
from memlab.errors import InputError, flag, shorten
from memlab.networks.graph import Network
from memlab.planner.book import plan
from memlab.planner.entries import BEFORE
from memlab.planner.ledger import Entry, Ledger
from memlab.planner.placement import HOWS, TOY, Placement, arrange, place
from memlab.step.build import training_step
from memlab.step.op import Phase
from memlab.step.published import chen2016
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.studies.memory import network_of
from memlab.techniques.in_place import in_place
from memlab.techniques.schedules import CHEAP

Subject = str | Network | Step

TOY_NAME = "toy"
SMALL = "mnist_cnn"
"""The network that runs here in a moment; its gradients are kept, so that a run compares them."""
PUBLISHED = "resnet50 chen2016"
"""ResNet-50 v1.5 as a paper counts it (``memlab.step.published``)."""
OFFERED = (TOY_NAME, SMALL, "vgg16", "resnet50", PUBLISHED)
BATCH = 32
"""The batch that is shown first."""
KEPT = 24
"""So many placements stay in memory."""
LONG = 4
"""A life is long from this part of the step on: a quarter."""


@dataclass(frozen=True, eq=False)
class Source:
    """The toy where ``step`` is None, else a step, and ``plain``, the one before it ran in place.

    ``bands`` are the phases with their first and last operation, counted from 0.
    """

    name: str
    label: str
    operations: int
    step: Step | None = None
    plain: Step | None = None
    _placed: OrderedDict[tuple[int, str], Placement] = field(default_factory=OrderedDict)

    @property
    def toy(self) -> bool:
        """Six tensors without a network."""
        return self.step is None

    @cached_property
    def ledger(self) -> Ledger | None:
        """The plan of the step."""
        return None if self.step is None else plan(self.step)

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """What is known of every block besides its bytes and its life."""
        return {} if self.ledger is None else {entry.name: entry for entry in self.ledger.entries}

    @cached_property
    def bands(self) -> tuple[tuple[Phase, int, int], ...]:
        """The parts of the step; none for the toy."""
        found: list[tuple[Phase, int, int]] = []
        for index, row in enumerate(self.ledger.rows if self.ledger else ()):
            first = found.pop()[1] if found and found[-1][0] is row.phase else index
            found.append((row.phase, first, index))
        return tuple(found)

    @cached_property
    def backward(self) -> int:
        """The first operation of backward, or the number of operations."""
        starts = (first for phase, first, _ in self.bands if phase is Phase.BACKWARD)
        return next(starts, self.operations)

    @cached_property
    def stages(self) -> tuple[str, ...]:
        """The stages of the network, in the order of their first blocks."""
        ordered = sorted(self.entries.values(), key=lambda entry: entry.birth)
        return tuple(
            dict.fromkeys(entry.stage for entry in ordered if entry.stage and entry.birth > BEFORE)
        )

    @cached_property
    def cheap(self) -> frozenset[str]:
        """Blocks that are cheap to make again: kept for backward through a long life, and filled
        by nothing but operations that compute little for each byte that they write."""
        return frozenset(name for name, entry in self.entries.items() if self._is_cheap(entry))

    def _is_cheap(self, entry: Entry) -> bool:
        if entry.role is not Role.FEATURE_MAP or not self.keeps(entry.birth, entry.death):
            return False
        writers = [tenant.first for tenant in entry.tenants] or [entry.birth]
        long = (entry.death - entry.birth) * LONG >= self.operations
        return long and all(self.kind(index) in CHEAP for index in writers)

    def keeps(self, birth: int, death: int) -> bool:
        """Whether such a life is for backward: it begins before and ends in it."""
        return birth < self.backward <= death

    def before(self, batch: int) -> int:
        """Bytes that are there before the step; they lie beside the arena."""
        return 0 if self.ledger is None else self.ledger.before(batch)[0]

    def kind(self, index: int) -> str:
        """The kind of an operation."""
        return "" if self.ledger is None else self.ledger.rows[index].kind

    def operation(self, index: int) -> str:
        """The name of an operation; the toy's have none."""
        return "" if self.ledger is None else self.ledger.rows[index].name

    @property
    def hows(self) -> tuple[str, ...]:
        """The placings that can be chosen: the exact one for few blocks, else the best known."""
        left_out = "best" if self.toy else "exact"
        return tuple(how for how in HOWS if how != left_out)

    def placement(self, batch: int, how: str) -> Placement:
        """The addresses; the last few placements are kept.

        Raises:
            InputError: an unknown placing, or one that takes too long for so many blocks.
        """
        key = (batch, how)
        if key not in self._placed:
            made = arrange(TOY, how) if self.step is None else place(self.step, batch, how)
            self._placed[key] = made
        self._placed.move_to_end(key)
        if len(self._placed) > KEPT:
            self._placed.popitem(last=False)
        return self._placed[key]

    def best(self, batch: int) -> tuple[int, bool]:
        """The smallest arena that is known, and whether it is proved to be the smallest."""
        found = self.placement(batch, "exact" if self.toy else "best")
        return found.arena, self.toy or found.arena == found.lower_bound


_MADE: OrderedDict[tuple[object, bool], tuple[Subject, Source]] = OrderedDict()
_SOURCES = 8


def source(subject: Subject, in_place: bool = False) -> Source:
    """The source for a subject; the last few are kept.

    Raises:
        InputError: no subject, or the toy in place.
    """
    if not isinstance(subject, Subject):
        raise InputError(
            f"give the toy, a network or a step, got {shorten(subject)}; try 'resnet50'."
        )
    key = (subject if isinstance(subject, str) else id(subject), flag("in_place", in_place))
    if key not in _MADE:
        _MADE[key] = subject, _make(subject, in_place)
    _MADE.move_to_end(key)
    if len(_MADE) > _SOURCES:
        _MADE.popitem(last=False)
    return _MADE[key][1]


def _make(subject: Subject, inside: bool) -> Source:
    if isinstance(subject, str) and subject == TOY_NAME:
        if inside:
            raise InputError("the toy has no operations that run in place; leave in_place out.")
        operations = 1 + max(block.death for block in TOY)
        return Source(TOY_NAME, strings.get("addresses.toy"), operations)
    plain = _step(subject)
    step = in_place(plain) if inside else plain
    name = PUBLISHED if subject == PUBLISHED else plain.network or "step"
    label = ", ".join((plain.label or plain.network, *plain.notes))
    return Source(name, label, len(step.ops), step, plain)


def _step(subject: Subject) -> Step:
    if isinstance(subject, Step):
        return subject
    if isinstance(subject, str) and subject == PUBLISHED:
        return chen2016(_named("resnet50"))
    network = _named(subject) if isinstance(subject, str) else subject
    if network.name == SMALL:
        return training_step(network, "sgd").keep("gradients")
    return training_step(network)


def _named(name: str) -> Network:
    return network_of(name, "v1.5" if name == "resnet50" else "")
