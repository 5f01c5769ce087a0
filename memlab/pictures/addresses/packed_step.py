"""What can be packed: six made-up tensors or the blocks of a step; and a step that runs at the
addresses of a map, held to the same step without an arena."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from memlab import strings, units
from memlab.build.step import training_step
from memlab.errors import InputError, known, shorten
from memlab.ledger.entries import BEFORE
from memlab.ledger.ledger import Entry, Ledger
from memlab.ledger.plan import plan
from memlab.networks.graph import Network
from memlab.pictures.memory.step_memory import phases
from memlab.pictures.values.recipe import name_of, network_of
from memlab.placement.placement import HOWS, TOY, Placement, arrange, place
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role
from memlab.techniques.in_place import in_place

if TYPE_CHECKING:
    from memlab.kernels.registry import Array
    from memlab.runtime.run import Run

TOY_NAME = "toy"
SMALL = "mnist_cnn"
"""The network that runs here in a moment; its gradients are kept, so that a run compares them."""
OFFERED = (TOY_NAME, SMALL, "vgg16", "resnet50")

GFLOP = 10**9
PATIENCE = 150 * GFLOP
"""The work of one step that is worth waiting for."""


def say(key: str, /, **values: object) -> str:
    """A text of the address map."""
    return strings.get(f"addresses.{key}", **values)


def say_how(name: str) -> str:
    """A way to place as people say it."""
    return say(f"how.{name.replace(' ', '_')}")


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

    @cached_property
    def outside(self) -> tuple[Entry, ...]:
        """What is there before the step: it lies beside the arena. What is needed longest first."""
        found = (e for e in self.entries.values() if e.birth == BEFORE and e.memory == DEVICE)
        return tuple(sorted(found, key=lambda entry: -entry.death))

    def before(self, batch: int) -> int:
        """Its bytes."""
        return sum(entry.size.at(batch) for entry in self.outside)

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
def _placed(subject: Subject, batch: int, how: str) -> Placement:
    return arrange(TOY, how) if subject.step is None else place(subject.step, batch, how)


def subject_of(given: str | Network | Step) -> Subject:
    """What is packed, from ``"toy"``, a name of ``memlab.zoo``, a network or a step.

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
    label = ", ".join((given.label or given.network, *given.notes))
    return Subject(given.network or "step", label, given, given)


@lru_cache(maxsize=8)
def _of_name(name: str) -> Subject:
    if name == TOY_NAME:
        return Subject(TOY_NAME, say("toy"), named=True)
    network = network_of(name)
    return replace(subject_of(network), name=name_of(network), named=True)


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
    def same_loss(self) -> bool:
        """The loss is the same, bit for bit; NaN is the same as NaN."""
        return repr(self.loss) == repr(self.expected)

    @property
    def wrong(self) -> tuple[Difference, ...]:
        """The arrays that differ."""
        return tuple(found for found in self.differences if found.values)

    def sentences(self) -> list[str]:
        """Arena, loss, arrays; who read what is free; one line for every array that differs."""
        planned = self.placement.arena
        amounts = {"measured": self.arena, "planned": planned, "residual": self.arena - planned}
        count, what = len(self.differences), say(f"run.what.{self.what}")
        return [
            say("run.arena", **{key: units.exact(abs(n)) for key, n in amounts.items()}),
            *self._losses(),
            say("run.some_differ" if self.wrong else "run.none_differ", count=count, what=what,
                wrong=len(self.wrong)),
            *self._faults(),
            *(say("run.differ", name=found.name, values=f"{found.values:,}", of=f"{found.of:,}")
              for found in self.wrong),
        ]  # fmt: skip

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
        return asdict(self) | {"placement": self.placement.as_dict(), "same_loss": self.same_loss}

    __str__ = __repr__ = text


def run_map(subject: Subject, placement: Placement, batch: int) -> ArenaRun:
    """Run it twice: at these addresses, and as it was before, without an arena.

    Raises:
        InputError: the toy, or a step that takes long here.
    """
    from memlab.runtime.run import run

    step, plain = _runnable(subject, batch)
    faults = len(placement.overlaps())
    apart = run(plain, batch)
    here = run(step, batch, placement=placement, poison=not faults, overlapping=faults > 0)
    trained = "gradients" if apart.gradients else "parameters"
    what = trained if step.training else "predictions"
    found = differences(_arrays(apart, what), _arrays(here, what))
    assert here.arena is not None
    assert here.placement is not None
    return ArenaRun(
        here.placement, here.arena, here.loss, apart.loss, what, found, faults, here.nan,
        here.unclear,
    )  # fmt: skip


def _runnable(subject: Subject, batch: int) -> tuple[Step, Step]:
    """The step, and the one before it ran in place."""
    if subject.step is None or subject.plain is None:
        raise InputError(say("run.toy"))
    work = sum(op.flops.at(batch) for op in subject.step.ops)
    if work > PATIENCE:
        flops = f"{work // GFLOP:,}"
        raise InputError(say("run.long", what=subject.label, batch=f"{batch:,}", flops=flops))
    return subject.step, subject.plain


def _arrays(found: Run, what: str) -> Mapping[str, Array]:
    if what == "predictions":
        return {} if found.output is None else {"prediction": found.output}
    return found.gradients if what == "gradients" else found.parameters


def differences(wanted: Mapping[str, Array], got: Mapping[str, Array]) -> tuple[Difference, ...]:
    """Every array compared bit for bit: NaN equals NaN, and 0 is not -0."""
    return tuple(
        Difference(name, int((_bits(array) != _bits(got[name])).sum()), array.size)
        for name, array in wanted.items()
    )


def _bits(array: Array) -> Array:
    import numpy as np  # who runs nothing needs none

    return np.ascontiguousarray(array).view(f"u{array.itemsize}")
