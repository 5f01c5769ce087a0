"""Steps from choices about them: a network, how it trains, its techniques.

The last few steps are kept, each with its memory, so that what was seen before is there at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from inspect import Parameter, signature
from typing import Any

from memlab import strings, units
from memlab.assemble.step import inference_step, training_step
from memlab.errors import InputError, known, shorten
from memlab.formats import WHOLE
from memlab.layers import algorithms
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.networks.zoo.resnets import VARIANTS
from memlab.pictures.memory.step_memory import StepMemory
from memlab.pictures.mountain.stack_parts import STACK, StackPart
from memlab.pictures.values.cache import RecentResults
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.strings import gettext as _
from memlab.techniques.precision import MODES
from memlab.techniques.registry import Applied, applied, ordered

MIXED = tuple(name for name, mode in MODES.items() if mode.master)
"""Mixed precision: parameters in a small format, with a master copy in fp32."""

OFFERED = (*WHOLE, *MIXED)
"""The formats of a step built here: one for every array, or mixed."""

RECOMPUTES = ("every", "cheap", "chain")
"""The ways to recompute that are offered (``memlab.recompute``)."""


@dataclass(frozen=True, eq=False)
class StepRecipe:
    """Recipe of a step: a network, how it trains, and its techniques, in their order.

    ``format`` is that of every array, or mixed; ``roles`` are the pairs of a role and its format
    that differ. ``uses`` are the other techniques with their arguments.
    """

    network: Network
    optimizer: str = "momentum"
    training: bool = True
    format: str = "fp32"
    roles: tuple[tuple[str, str], ...] = ()
    algorithm: str = algorithms.DEFAULT
    uses: tuple[Applied, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Key that tells the recipe from others: this network, and the choices."""
        values = [getattr(self, field.name) for field in fields(self)]
        return id(self.network), self.optimizer if self.training else "", *values[2:]

    @property
    def mixed(self) -> str:
        """Name of its mixed precision, or ``''``."""
        return self.format if self.format in MIXED else ""

    def step(self) -> Step:
        """Return the step.

        Raises:
            InputError: an unknown optimizer, format, role or algorithm, and as its techniques.
        """
        stored = "fp32" if self.mixed else self.format
        if self.training:
            step = training_step(self.network, self.optimizer, stored, self.algorithm)
        else:
            step = inference_step(self.network, stored, self.algorithm)
        if self.mixed or self.roles:
            step = applied("precision", self.mixed or None, **dict(self.roles))(step)
        for rewrite in ordered(self.uses):
            step = rewrite(step)
        return step

    @property
    def words(self) -> tuple[str, ...]:
        """Choices beside network, format and optimizer, in words."""
        words = [] if self.algorithm == algorithms.DEFAULT else [
            algorithms.ALGORITHMS[self.algorithm].title
        ]  # fmt: skip
        names = {part.role.value: part.label for part in STACK
                 if part.usual or part == StackPart(Role.BUFFER, False)}  # fmt: skip
        words += [_say("role", role=names[role], format=format) for role, format in self.roles]
        return (*words, *map(chosen, ordered(self.uses)))


@dataclass(frozen=True, eq=False)
class Called:
    """Function that makes a step, and its arguments."""

    make: Callable[..., object]
    given: Mapping[str, Any]

    @property
    def key(self) -> tuple[object, ...]:
        """Key that tells the call from others."""
        return self.make, *self.given.items()

    @property
    def words(self) -> tuple[str, ...]:
        """Arguments of the call, but for the batch, in words."""
        return tuple(f"{name} = {value}" for name, value in self.given.items() if name != "batch")

    def step(self) -> Step | Ledger:
        """Return the step that the call makes.

        Raises:
            InputError: that is no step.
        """
        step = self.make(**self.given)
        if isinstance(step, Step | Ledger):
            return step
        raise InputError(
            _("the function makes {made} and no step; return a step, as "
              "memlab.training_step(network) does.", made=shorten(step))
        )  # fmt: skip


def arguments(make: Callable[..., object], settings: tuple[str, ...]) -> dict[str, Any]:
    """Return the settings that a function takes as arguments, each with its default, or None.

    Raises:
        InputError: it needs an argument that is no setting.
    """
    try:
        taken = signature(make).parameters.values()
    except ValueError:
        raise InputError(
            _("nobody knows the arguments of {made}; write lambda batch: ... around it.",
              made=shorten(make))
        ) from None  # fmt: skip
    plain = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    for argument in taken:
        variable = argument.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        fits = argument.kind in plain and argument.name in settings
        if not (fits or variable or argument.default is not Parameter.empty):
            raise InputError(
                _("the function takes {name!r}, which is no setting; name its arguments after some "
                  "of {known}.", name=argument.name, known=", ".join(settings))
            )  # fmt: skip
    plain_arguments = [
        argument for argument in taken if argument.kind in plain and argument.name in settings
    ]
    return {
        argument.name: None if argument.default is Parameter.empty else argument.default
        for argument in plain_arguments
    }


def chosen(one: Applied) -> str:
    """Return a technique with its arguments in words, without the batch:
    ``'recomputed, k = 4'``."""
    row, given = one.technique, one.arguments
    how = given[row.choice.name] if row.choice else ""
    more = f"{'_k' if 'k' in given else ''}{'_budget' if 'budget' in given else ''}"
    key = f"{one.name}.{how}{more}" if how else one.name
    if not strings.has(f"memory.chosen.{key}"):
        return f"{row.label} {how}".strip()
    limit = units.short(given["budget"]) if "budget" in given else ""
    return _say(key, k=given.get("k"), budget=limit)


def _say(key: str, **values: object) -> str:
    return strings.get(f"memory.chosen.{key}", **values)


Subject = StepRecipe | Called | Step | Ledger
_MADE = RecentResults(32)
"""Memories by keys; each holds the network, step or ledger whose identity is in its key."""


def memory_of(subject: Subject) -> StepMemory:
    """The memory of the step of a recipe or of a function, of a step, or of the one that a ledger
    has; the last few are kept.

    Raises:
        InputError: as ``StepRecipe.step``, and as ``Called.step``.
    """
    key = subject.key if isinstance(subject, StepRecipe | Called) else (id(subject),)
    return _MADE.of(key, lambda: _make(subject))


def _make(subject: Subject) -> StepMemory:
    if isinstance(subject, StepRecipe):
        step = subject.step()
        return StepMemory(plan(step).at(), subject.network, subject.mixed, step, subject.words)
    planned = subject.step() if isinstance(subject, Called) else subject
    ledger = (planned if isinstance(planned, Ledger) else plan(planned)).at()
    words = subject.words or None if isinstance(subject, Called) else None
    return StepMemory(ledger, step=None if isinstance(planned, Ledger) else planned, chosen=words)


# -- networks of the zoo ---------------------------------------------------------------------------

SIZES = {"variant": "variant", "image": "image", "depth": "layers", "inputs": "features",
         "outputs": "outputs"}  # fmt: skip
"""What can be chosen of a network of the zoo, and what its builder calls that."""

Size = int | str
_BUILT: dict[tuple[str, tuple[tuple[str, Size], ...]], Network] = {}


def network_of(name: str, variant: str = "", **sizes: Size) -> Network:
    """Return a network of the zoo, the same object each time. A variant may follow its name, as in
    ``"resnet50-v1"``; ``sizes`` are some of ``SIZES``.

    Raises:
        InputError: an unknown name or variant, or a size that it does not have or not allow.
    """
    name, chosen = zoo.split(name, variant or None)
    usual = _usual(name)
    if chosen is not None:
        sizes["variant"] = known("variant", chosen, VARIANTS)
    if strange := [size for size in sizes if size not in usual]:
        raise InputError(_("{name} has no {what}; leave it out.", name=name, what=strange[0]))
    key = name, tuple((usual | sizes).items())
    if key not in _BUILT:
        _BUILT[key] = zoo.ZOO[name](**{SIZES[size_name]: value for size_name, value in key[1]})
    return _BUILT[key]


def name_of(network: Network) -> str:
    """Return the name from which ``network_of`` makes a network, with its variant if that is not
    the default: ``"resnet50-v1"``."""
    usual = _usual(network.name).get("variant", "") if network.name in zoo.ZOO else network.variant
    return network.name if network.variant in ("", usual) else f"{network.name}-{network.variant}"


@cache
def _usual(name: str) -> dict[str, Size]:
    """Return the sizes of a network of the zoo as published. Inputs are those of a single layer."""
    taken = signature(zoo.ZOO[name]).parameters
    usual_sizes = {
        size_name: taken[given].default for size_name, given in SIZES.items() if given in taken
    }
    return {
        size_name: size
        for size_name, size in usual_sizes.items()
        if size_name != "inputs" or "outputs" in usual_sizes
    }


def sizes_of(network: Network) -> dict[str, Size]:
    """Sizes that were chosen of a network, by name: of one of the zoo alone. A network that has one
    form has no variant."""
    if network.name in zoo.ZOO:
        network_of(network.name)
    for (name, sizes), built in _BUILT.items():
        if built is network or (name == network.name and built == network):
            return {
                size_name: size
                for size_name, size in sizes
                if size_name != "variant" or network.variant
            }
    return {}


def unusual(network: Network) -> list[str]:
    """Return the sizes of a network that differ from the published ones, in words."""
    own_sizes = [item for item in sizes_of(network).items() if item[0] != "variant"]
    others = [
        named_size
        for named_size in own_sizes
        if named_size[1] != _usual(network.name)[named_size[0]]
    ]
    return [_say(f"size.{name}", value=value) for name, value in others]


def named_or_given(given_network: object) -> Network:
    """Return a network, or the network of the zoo of that name.

    Raises:
        InputError: neither.
    """
    if not isinstance(given_network, Network | str):
        raise InputError(_("give a network or its name, got {given}; try 'vgg16'.",
                           given=shorten(given_network)))  # fmt: skip
    return network_of(given_network) if isinstance(given_network, str) else given_network
