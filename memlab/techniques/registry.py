"""The registry of techniques: what stands above the function of each, and everything reads.

A technique is one file of this folder: a function from a step to a step, and its row above it.
Façade, command line, memory view, comparison, the check of the order and the tests read the rows.
The files are found where they lie: a new one needs no line here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memlab.errors import one_option
from memlab.moved import old_names
from memlab.step.step import Step

Rewrite = TypeVar("Rewrite", bound=Callable[..., Step])


class Order(IntEnum):
    """Order in which techniques are applied: before those of a later place, and in any order with
    those of its own. One that comes later may have taken a tensor away that an earlier one would
    still count on."""

    FORMAT = 0
    ALGORITHM = 1
    KEPT = 2
    STATE = 3
    RECOMPUTE = 4
    OFFLOAD = 5
    LAST = 6


class ArgumentKind(StrEnum):
    """Kind of an argument that has no list of values. Those of the last line are known where a step
    is planned; nobody is asked for them again."""

    COUNT, NAMES, BYTES, SPEED = "a whole number", "names", "an amount of memory", "a speed"
    BATCH, MACHINE, IN_PLACE = "the batch", "the machine", "whether in place follows"


class Argument(NamedTuple):
    """An argument of a technique by its name there: its values or its kind, what it is, and the
    option of the command line that gives it, where that is not ``--technique-argument``."""

    name: str
    values: tuple[str, ...] | ArgumentKind
    about: str = ""
    option: str = ""


class Takes(NamedTuple):
    """The arguments that a choice needs, and those that it may have beside them, by name."""

    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Technique:
    """Row of the registry: a technique with its label, its note and its arguments.

    ``label`` is its name for people, ``note`` what it does. ``choice`` is the argument that says
    how, ``more`` are the others that are offered; which of them belong to one value of the choice
    is what ``of`` says, all of them where it is None. ``shown`` tells by the operations of a step
    whether it was rewritten, which is then said of the step: it ``does``. ``idle`` is why it makes
    nothing of an inference. ``exact``: gradients are the same, bit for bit. ``compared``: ``memlab
    compare`` has a row for it, as it is without arguments. ``built``: steps that memlab builds have
    a use for it, so it is offered where one is chosen.
    """

    rewrite: Callable[..., Step]
    place: Order
    label: str
    note: str
    choice: Argument | None = None
    more: tuple[Argument, ...] = ()
    of: Callable[[str], Takes] | None = None
    shown: Callable[[Step], bool] | None = None
    does: str = ""
    idle: str = ""
    exact: bool = True
    compared: bool = False
    built: bool = True

    @property
    def name(self) -> str:
        """Name of the technique in code: ``'in_place'``."""
        return self.rewrite.__name__

    @property
    def values(self) -> tuple[str, ...]:
        """Values of the choice, none where that has no list."""
        listed = self.choice and self.choice.values
        return listed if isinstance(listed, tuple) else ()

    @property
    def usual(self) -> Any:
        """Value of the choice where none is given; None where one must be."""
        if self.choice is None:
            return None
        default = signature(self.rewrite).parameters[self.choice.name].default
        return None if default is Parameter.empty else default

    def takes(self, value: Any) -> Takes:
        """Return the arguments that belong to a value of the choice."""
        if self.of is None or value not in self.values:
            return Takes(takes=tuple(argument.name for argument in self.more))
        return self.of(value)


@dataclass(frozen=True, slots=True)
class Applied:
    """A technique with its arguments: it makes a step of another one."""

    name: str
    args: tuple[Any, ...] = ()
    given: tuple[tuple[str, Any], ...] = ()

    @property
    def technique(self) -> Technique:
        """Row of the technique in the registry."""
        return find(self.name)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the technique by name, positional ones too."""
        names = [
            parameter
            for parameter in signature(self.technique.rewrite).parameters
            if parameter != "step"
        ]
        return dict(zip(names, self.args, strict=False)) | dict(self.given)

    def __call__(self, step: Step) -> Step:
        """Return the step that the technique makes of a step.

        Raises:
            InputError: as the technique.
        """
        return self.technique.rewrite(step, *self.args, **dict(self.given))

    def line(self, step: str = "step") -> str:
        """Return the line of code: ``'memlab.recompute(step, "chain", batch=8)'``."""
        parts = [step, *map(_written, self.args)]
        parts += [f"{name}={_written(value)}" for name, value in self.given]
        return f"memlab.{self.name}({', '.join(parts)})"


def applied(name: str, *args: Any, **given: Any) -> Applied:
    """Return a technique by its name with these arguments; one that is None is left out."""
    return Applied(
        name, args, tuple((key, value) for key, value in given.items() if value is not None)
    )


def _written(value: object) -> str:
    return repr(value).replace("'", '"')


# -- the rows --------------------------------------------------------------------------------------

_FOUND: dict[str, Technique] = {}
_REGISTERS = re.compile(r"^@technique\(", re.MULTILINE)


def technique(place: Order, label: str, note: str, **row: Any) -> Callable[[Rewrite], Rewrite]:
    """Register a function from a step to a step as a technique, with its row (``Technique``)."""

    def register(rewrite: Rewrite) -> Rewrite:
        _FOUND[rewrite.__name__] = Technique(rewrite, place, label, note, **row)
        return rewrite

    return register


@cache
def techniques() -> Mapping[str, Technique]:
    """Return all techniques by name, in the order in which they are applied."""
    for module in _modules(Path(__file__).parent, __package__):
        import_module(module)
    rows = sorted(_FOUND.values(), key=lambda row: (row.place, row.name))
    return {row.name: row for row in rows}


def _modules(folder: Path, package: str) -> Iterator[str]:
    """Yield the modules below a folder that register a technique."""
    for path in folder.iterdir():
        name = f"{package}.{path.name.removesuffix('.py')}"
        if path.is_dir():
            yield from _modules(path, name)
        elif path.name.endswith(".py") and _REGISTERS.search(path.read_text(encoding="utf-8")):
            yield name.removesuffix(".__init__")


def find(name: str) -> Technique:
    """Return a technique by its name.

    Raises:
        InputError: there is none of that name.
    """
    return one_option("technique", name, techniques())


def ordered(uses: Iterable[Applied]) -> list[Applied]:
    """Return techniques with their arguments in the order in which they are applied."""
    names = list(techniques())
    return sorted(uses, key=lambda technique: names.index(technique.name))


def later(name: str) -> list[Technique]:
    """Return the techniques that this one comes before, by its place."""
    place = find(name).place
    return [row for row in techniques().values() if row.place > place]


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
