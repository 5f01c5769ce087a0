"""How a step is made from what one can choose about it: a network, how it trains, its techniques.

The last few steps are kept, each with its memory, so that what was seen before is there at once.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import Any

from memlab.errors import InputError, known, shorten, unknown
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.networks.resnets import VARIANTS
from memlab.planner.book import plan
from memlab.planner.ledger import Ledger
from memlab.step import algorithms
from memlab.step.build import STORABLE, inference_step, training_step
from memlab.step.step import Step
from memlab.studies.memory import StepMemory
from memlab.techniques.block_states import eight_bit_states
from memlab.techniques.in_place import in_place
from memlab.techniques.precision import MODES, precision
from memlab.techniques.recompute import recompute

MIXED = tuple(name for name, mode in MODES.items() if mode.master)
"""Mixed precision: parameters in a small format, with a master copy in fp32."""

OFFERED = (*STORABLE, *MIXED)
"""The formats of a step built here: one for every array, or mixed."""

RECOMPUTES = ("every", "cheap", "chain")
"""The ways to recompute that are offered (``memlab.recompute``)."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """What a step is made of: a network, how it trains, and its techniques, in their order.

    ``format`` is that of every array, or mixed; ``roles`` are the pairs of a role and its format
    that differ; with ``eight_bit`` the optimizer's state is in 8 bits (``eight_bit_states``).
    ``again`` is a way to recompute, with ``k`` stages in a segment of ``"every"``, and with the
    ``batch`` and the ``budget`` in bytes of ``"chain"``.
    """

    network: Network
    optimizer: str = "momentum"
    training: bool = True
    format: str = "fp32"
    roles: tuple[tuple[str, str], ...] = ()
    eight_bit: bool = False
    algorithm: str = algorithms.DEFAULT
    again: str = ""
    k: int | None = None
    batch: int | None = None
    budget: int | None = None
    in_place: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others: this network, and the choices."""
        values = [getattr(self, each.name) for each in fields(self)]
        return id(self.network), self.optimizer if self.training else "", *values[2:]

    @property
    def mixed(self) -> str:
        """The name of its mixed precision, where it has one."""
        return self.format if self.format in MIXED else ""

    def step(self) -> Step:
        """The step.

        Raises:
            InputError: an unknown optimizer, format, role, algorithm or way; an optimizer without
                a state in fp32 for 8 bits; a budget below the least peak that was found.
        """
        stored = "fp32" if self.mixed else self.format
        if self.training:
            step = training_step(self.network, self.optimizer, stored, self.algorithm)
        else:
            step = inference_step(self.network, stored, self.algorithm)
        if self.mixed or self.roles:
            roles: Any = dict(self.roles)
            step = precision(step, self.mixed or None, **roles)
        if self.eight_bit:
            step = eight_bit_states(step)
        if self.again:
            given: Any = {"k": self.k, "batch": self.batch, "budget": self.budget}
            step = recompute(step, self.again, **given)
        return in_place(step) if self.in_place else step


_MADE: OrderedDict[tuple[object, ...], tuple[Recipe | Step | Ledger, StepMemory]] = OrderedDict()
_KEPT = 32


def memory_of(subject: Recipe | Step | Ledger) -> StepMemory:
    """The memory of the step of a recipe, of a step, or of the one that a ledger has; the last few
    are kept.

    Raises:
        InputError: as ``Recipe.step``.
    """
    key = subject.key if isinstance(subject, Recipe) else (id(subject),)
    if key not in _MADE:
        _MADE[key] = subject, _make(subject)
    _MADE.move_to_end(key)
    if len(_MADE) > _KEPT:
        _MADE.popitem(last=False)
    return _MADE[key][1]


def _make(subject: Recipe | Step | Ledger) -> StepMemory:
    if isinstance(subject, Ledger):
        return StepMemory(subject)
    if isinstance(subject, Step):
        return StepMemory(plan(subject), step=subject)
    step = subject.step()
    return StepMemory(plan(step), subject.network, subject.mixed, step)


# -- networks of the zoo ---------------------------------------------------------------------------

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


def named_or_given(found: object) -> Network:
    """A network, or the one of the zoo that a name stands for.

    Raises:
        InputError: neither.
    """
    if not isinstance(found, Network | str):
        raise InputError(f"give a network or its name, got {shorten(found)}; try 'vgg16'.")
    return network_of(found) if isinstance(found, str) else found


def variants(network: Network) -> tuple[str, ...]:
    """The published forms of a network of the zoo; none where there is one form."""
    if not network.variant or network.name not in zoo.ZOO:
        return ()
    return VARIANTS
