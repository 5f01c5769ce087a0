"""What can be packed: six made-up tensors or the blocks of a step; and a step that runs at the
addresses of a map, held to the same step without an arena."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab import strings, units
from memlab.bench import torch_memory
from memlab.errors import InputError, known, shorten
from memlab.networks.graph import Network
from memlab.planner.book import plan
from memlab.planner.ledger import Entry, Ledger
from memlab.planner.placement import HOWS, TOY, Placement, arrange, place
from memlab.step.build import training_step
from memlab.step.op import Phase
from memlab.step.published import chen2016
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.studies.memory import phases
from memlab.studies.recipe import network_of
from memlab.techniques.in_place import in_place
from memlab.techniques.schedules import CHEAP

if TYPE_CHECKING:
    from memlab.kernels.registry import Array
    from memlab.runtime.run import Run

TOY_NAME = "toy"
SMALL = "mnist_cnn"
"""The network that runs here in a moment; its gradients are kept, so that a run compares them."""
PUBLISHED = "resnet50 chen2016"
"""ResNet-50 v1.5 as a paper counts it (``memlab.step.published``)."""
OFFERED = (TOY_NAME, SMALL, "vgg16", "resnet50", PUBLISHED)

LONG = 4
"""A life is long from this part of the step on: a quarter."""
GFLOP = 10**9
PATIENCE = 150 * GFLOP
"""The work of one step that is worth waiting for."""


def say(key: str, /, **values: object) -> str:
    """A text of the address map."""
    return strings.get(f"addresses.{key}", **values)


def say_how(name: str) -> str:
    """A way to place as people say it."""
    return say(f"how.{name.replace(' ', '_')}")


def ordinal(number: int) -> str:
    """``'1st'``, ``'22nd'``, ``'13th'``."""
    last = "th" if number % 100 in (11, 12, 13) else str(number % 10)
    return say(f"ordinal.{last if last in ('1', '2', '3') else 'th'}", number=f"{number:,}")


# -- what is packed -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Subject:
    """What is packed: six made-up tensors where ``step`` is None, else a step, and ``plain``, the
    one before it ran in place. ``named`` says that its name makes it again."""

    name: str
    label: str
    step: Step | None = None
    plain: Step | None = None
    named: bool = False

    @property
    def toy(self) -> bool:
        """Six tensors without a network."""
        return self.step is None

    @property
    def inside(self) -> bool:
        """Whether outputs overwrite inputs."""
        return self.step is not self.plain

    @cached_property
    def in_place(self) -> Subject:
        """The same with outputs that overwrite inputs which nobody needs any more.

        Raises:
            InputError: the toy, or a step that cannot run so.
        """
        if self.plain is None:
            raise InputError("the toy has no operations that run in place; leave in_place out.")
        return replace(self, step=in_place(self.plain))

    @cached_property
    def ledger(self) -> Ledger | None:
        """The plan of the step."""
        return None if self.step is None else plan(self.step)

    @cached_property
    def operations(self) -> int:
        """How many there are."""
        return 1 + max(block.death for block in TOY) if self.step is None else len(self.step.ops)

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """What is known of every block besides its bytes and its life."""
        return {} if self.ledger is None else {entry.name: entry for entry in self.ledger.entries}

    @cached_property
    def phases(self) -> tuple[tuple[Phase, int, int], ...]:
        """The parts of the step with their first and last operation; none for the toy."""
        return phases(self.ledger.rows) if self.ledger else ()

    @cached_property
    def stages(self) -> tuple[str, ...]:
        """The stages of the network, in the order of forward."""
        rows = self.ledger.rows if self.ledger else ()
        return tuple(dict.fromkeys(row.stage for row in rows if row.stage))

    @cached_property
    def cheap(self) -> frozenset[str]:
        """Blocks that are cheap to make again: kept for backward through a long life, and filled
        by nothing but operations that compute little for each byte that they write."""
        return frozenset(name for name, entry in self.entries.items() if self._is_cheap(entry))

    def _is_cheap(self, entry: Entry) -> bool:
        if self.ledger is None or self.kind(entry, entry.birth, entry.death) != "kept":
            return False
        writers = [tenant.first for tenant in entry.tenants] or [entry.birth]
        long = (entry.death - entry.birth) * LONG >= self.operations
        return long and all(self.ledger.rows[index].kind in CHEAP for index in writers)

    def kind(self, entry: Entry | None, birth: int, death: int) -> str:
        """``"kept"`` or ``"short"`` for a feature map and in the toy, else the name of a role. What
        is kept for backward is born before backward and ends in it."""
        if entry is None:
            return "kept" if death > birth else "short"
        if entry.role is not Role.FEATURE_MAP:
            return entry.role.value
        return "kept" if birth < self._backward <= death else "short"

    @cached_property
    def _backward(self) -> int:
        starts = (first for phase, first, _ in self.phases if phase is Phase.BACKWARD)
        return next(starts, self.operations)

    def before(self, batch: int) -> int:
        """Bytes that are there before the step; they lie beside the arena."""
        return _before(self, batch)

    def operation(self, index: int) -> str:
        """The name of an operation; the toy's have none."""
        return "" if self.ledger is None else self.ledger.rows[index].name

    @property
    def hows(self) -> tuple[str, ...]:
        """The ways to place that can be chosen: the exact one for few blocks, else the best."""
        left_out = "best" if self.toy else "exact"
        return tuple(how for how in HOWS if how != left_out)

    def placement(self, batch: int, how: str) -> Placement:
        """The addresses; the last few placements are kept.

        Raises:
            InputError: an unknown way to place, or one that takes too long for so many blocks.
        """
        return _placed(self, batch, known("placing", how, HOWS))


@lru_cache(maxsize=24)
def _before(subject: Subject, batch: int) -> int:
    return 0 if subject.ledger is None else subject.ledger.before(batch)[0]


@lru_cache(maxsize=24)
def _placed(subject: Subject, batch: int, how: str) -> Placement:
    return arrange(TOY, how) if subject.step is None else place(subject.step, batch, how)


def subject_of(given: str | Network | Step) -> Subject:
    """What is packed, from ``"toy"``, a name of ``memlab.zoo``, ``"resnet50 chen2016"``, a network
    or a step.

    Raises:
        InputError: none of these.
    """
    if isinstance(given, str):
        return _of_name(given)
    if isinstance(given, Network):
        kept = given.name == SMALL
        given = training_step(given, "sgd").keep("gradients") if kept else training_step(given)
    if not isinstance(given, Step):
        said = shorten(given)
        raise InputError(f"give the toy, a network or a step, got {said}; try 'resnet50'.")
    return Subject(given.network or "step", _label(given), given, given)


@lru_cache(maxsize=8)
def _of_name(name: str) -> Subject:
    if name == TOY_NAME:
        return Subject(TOY_NAME, strings.get("addresses.toy"), named=True)
    if name == PUBLISHED:
        step = chen2016(network_of("resnet50", "v1.5"))
        return Subject(PUBLISHED, _label(step), step, step, named=True)
    network = network_of(name, "v1.5" if name == "resnet50" else "")
    return replace(subject_of(network), named=True)


def _label(step: Step) -> str:
    return ", ".join((step.label or step.network, *step.notes))


def recorded_peak(subject: Subject, batch: int) -> torch_memory.Beside | None:
    """The peak of the plan beside what PyTorch was recorded to hold in the same step, in place or
    not; None where none was recorded."""
    step = subject.step
    if step is None or batch != torch_memory.BATCH or not torch_memory.FILE.exists():
        return None
    settings = (step.network, step.optimizer, step.format, step.training)
    same = settings == (torch_memory.NETWORK, "momentum", "fp32", True)
    plain = torch_memory.VARIANT in step.label and set(step.notes) <= {"in place"}
    return _beside(subject) if same and plain else None


@lru_cache(maxsize=8)
def _beside(subject: Subject) -> torch_memory.Beside:
    assert subject.step is not None
    return torch_memory.beside(subject.step)


# -- running it ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """How many values of one array differ in any bit, of how many."""

    name: str
    values: int
    of: int


@dataclass(frozen=True, repr=False)
class ArenaRun:
    """What came out. ``what`` is compared: ``"gradients"``, ``"parameters"`` after the update
    where the step frees its gradients, or ``"predictions"`` of an inference, which has no loss.
    ``placement`` is what the run reports, ``arena`` its measured bytes; ``faults`` are the pairs of
    blocks that overlap. Without a fault, what is free was filled with NaN: ``nan`` names the
    operations that read one, and ``unclear`` those that wrote one where there was no room to run
    the same step without an arena."""

    placement: Placement
    arena: int
    loss: float | None
    expected: float | None
    what: str
    differences: tuple[Difference, ...]
    faults: int
    nan: tuple[str, ...]
    unclear: tuple[str, ...] = ()

    @property
    def planned(self) -> int:
        """The bytes of the arena in the plan."""
        return self.placement.arena

    @property
    def same_loss(self) -> bool:
        """The loss is the same, bit for bit; NaN is the same as NaN."""
        return repr(self.loss) == repr(self.expected)

    @property
    def wrong(self) -> tuple[Difference, ...]:
        """The arrays that differ."""
        return tuple(found for found in self.differences if found.values)

    def news(self) -> str:
        """All of it in one sentence."""
        trained = "news_same" if self.same_loss else "news_other"
        key = "news" if self.loss is None else trained
        return say(f"run.{key}", measured=units.exact(self.arena), **self._counts)

    def sentences(self) -> list[str]:
        """Arena, loss, arrays; one line for every array that differs."""
        residual = units.exact(abs(self.arena - self.planned))
        measured, planned = units.exact(self.arena), units.exact(self.planned)
        return [
            say("run.arena", residual=residual, measured=measured, planned=planned),
            *self._losses(),
            say("run.some_differ" if self.wrong else "run.none_differ", **self._counts),
            *self._faults(),
            *(say("run.differ", name=found.name, values=f"{found.values:,}", of=f"{found.of:,}")
              for found in self.wrong),
        ]  # fmt: skip

    @property
    def _counts(self) -> dict[str, object]:
        what = say(f"run.what.{self.what}")
        return {"wrong": len(self.wrong), "count": len(self.differences), "what": what}

    def _losses(self) -> list[str]:
        if self.loss is None or self.expected is None:
            return []
        key = "same_loss" if self.same_loss else "other_loss"
        return [say(f"run.{key}", loss=f"{self.loss:.6f}", expected=f"{self.expected:.6f}")]

    def _faults(self) -> list[str]:
        """That a fault is silent; without one, who read what is free."""
        if self.faults:
            silent = self.loss is not None and self.same_loss and self.wrong
            return [say("run.silent")] if silent else []
        key = "unclear" if self.unclear else "nan" if self.nan else "no_nan"
        return [say(f"run.{key}", names=", ".join((self.unclear or self.nan)[:3]))]

    def text(self) -> str:
        """The sentences, one in a line."""
        return "\n".join(self.sentences())

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {
            "placement": self.placement.as_dict(),
            "same_loss": self.same_loss,
        }

    __str__ = __repr__ = text


def run_map(subject: Subject, placement: Placement, batch: int) -> ArenaRun:
    """Run it twice: at these addresses, and as it was before, without an arena.

    Raises:
        InputError: the toy, or a step that takes long here.
    """
    from memlab.runtime.run import run

    if subject.step is None or subject.plain is None:
        raise InputError(say("run.toy"))
    if subject.name == PUBLISHED:
        raise InputError(say("run.published"))
    work = sum(op.flops.at(batch) for op in subject.step.ops)
    if work > PATIENCE:
        flops = f"{work // GFLOP:,}"
        raise InputError(say("run.long", what=subject.label, batch=f"{batch:,}", flops=flops))
    faults = len(placement.overlaps())
    apart = run(subject.plain, batch)
    here = run(subject.step, batch, placement=placement, poison=not faults, overlapping=faults > 0)
    trained = "gradients" if apart.gradients else "parameters"
    what = trained if subject.step.training else "predictions"
    found = differences(_arrays(apart, what), _arrays(here, what))
    assert here.arena is not None
    assert here.placement is not None
    return ArenaRun(
        here.placement, here.arena, here.loss, apart.loss, what, found, faults, here.nan,
        here.unclear,
    )  # fmt: skip


def _arrays(found: Run, what: str) -> Mapping[str, Array]:
    if what == "predictions":
        return {} if found.output is None else {"prediction": found.output}
    return found.gradients if what == "gradients" else found.parameters


def differences(wanted: Mapping[str, Array], got: Mapping[str, Array]) -> tuple[Difference, ...]:
    """Every array compared bit for bit: NaN equals NaN, and 0 is not -0."""
    return tuple(
        Difference(name, int(np.count_nonzero(_bits(array) != _bits(got[name]))), array.size)
        for name, array in wanted.items()
    )


def _bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(f"u{array.itemsize}")
