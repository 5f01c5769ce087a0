"""Task of an exercise: the function it asks for, the truth it is compared with, and usual mistakes.

The truth is a function too: it plans or runs a step, on arguments that are drawn afresh for every
check. No answer is stored anywhere. Cases of a check are drawn at random and chosen so that each
mistake gives a wrong answer in one of them at least: otherwise a wrong function could pass.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from inspect import signature
from itertools import combinations, product
from typing import Any, TypeVar

from memlab import strings
from memlab.errors import shorten
from memlab.lesson import returned_values
from memlab.lesson.function_answers import Arguments as Arguments
from memlab.lesson.function_answers import Asking

Slip = Callable[[Any, Arguments], Any]
"""A mistake: its result, from the true value and the arguments of a case."""
Function = TypeVar("Function", bound=Callable[..., Any])
Pair = tuple[str, str]
"""Two names: the truth and a mistake, or two slips."""

SIZES = 5 * (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
"""Sizes of the cases of one check; 1 is the smallest possible one."""
ROUNDS = 100
"""Number of times a case of each size is drawn, while some mistake is not yet exposed."""
TRIES = 5
"""Number of new draws, if the cases of one draw expose only some of the mistakes."""
RIGHT = ""
"""Name of the truth among the mistakes."""
HINTS = 3
"""Number of hints of an exercise of memlab's."""
EDGE = ("an edge", "no edge")
"""Member of the open pairs as long as no case at an edge was drawn."""


def case_in_words(arguments: Arguments) -> str:
    """Return a case for a sentence: ``"batch 3, channels 2"``; an array is given by its shape."""
    return ", ".join(f"{name} {_value_text(value)}" for name, value in arguments.items())


@dataclass(frozen=True)
class ExerciseTask:
    """One exercise: its name, its cases, its truth and the mistakes it knows.

    ``draw`` makes the arguments of a case from a random generator and a size, 1 the smallest.
    ``truth`` has the parameters that the learner's function must have. ``slips`` are mistakes by
    name: each gives the value that somebody who makes it gets, from the true value and the
    arguments. ``traps`` are mistakes too, so that cases are chosen that expose them, but they have
    no message of their own. The name of a slip may end with a point and more, ``"largest.0"``: a
    second form of the same mistake, with the message of ``"largest"``.

    ``plan`` gives the bytes that the planned step has at its peak besides the arguments; if it is
    set, the arrays that the learner's function allocates are measured against it. Floats agree
    within ``rel`` of the largest true one. ``score`` is for an exercise that asks for a choice: the
    bytes that follow from the returned choice, which are then compared with the least; with
    ``timed`` it is the time that follows from the choice. ``run`` is
    for a kernel, which is not called directly: it returns what the kernel stored, or None if the
    kernel did nothing. From that, ``outcome`` finds the numbers that are compared: how many values
    are wrong, and the bytes that its first warp moved. ``offered`` are the functions of memlab that
    the learner may call. ``edge`` is True of a case at the limit
    of what is allowed: every check has one. ``seconds`` is the time of the first check of a session
    on two busy cores, where that is more than 2. A task of an instructor's own carries its
    ``texts``, by the keys that those of memlab have in ``memlab/strings`` below ``task.<name>``.
    """

    name: str
    draw: Callable[[random.Random, int], Arguments]
    truth: Callable[..., Any]
    slips: Mapping[str, Slip] = field(default_factory=dict)
    traps: Mapping[str, Slip] = field(default_factory=dict)
    sizes: tuple[int, ...] = SIZES
    plan: Callable[..., int] | None = None
    score: Callable[[Any, Arguments], int] | None = None
    timed: bool = False
    show_case: Callable[[Arguments], str] = case_in_words
    rel: float = 1e-6
    run: Callable[[Callable[..., Any], Arguments], Any] | None = None
    outcome: Callable[[Any, Arguments], Any] | None = None
    offered: tuple[Callable[..., Any], ...] = ()
    edge: Callable[[Arguments], bool] | None = None
    seconds: int = 0
    texts: Mapping[str, str] = field(default_factory=dict)

    def wording(self, key: str) -> str:
        """Return a text of the task: its own, or the one in ``memlab/strings``."""
        return self.texts[key] if self.texts else strings.get(f"task.{self.name}.{key}")

    @property
    def parts(self) -> tuple[str, ...]:
        """Parts of the texts (``strings.part_of``) that the exercise is told in, in one
        language."""
        return f"task.{self.name}", "exercise"

    @property
    def hints(self) -> int:
        """Number of hints; memlab's are one of the four subgoals, the idea, the formula with
        blanks."""
        return sum(key.startswith("hint.") for key in self.texts) if self.texts else HINTS

    def ask(self, function: Callable[..., Any], case: Arguments) -> Any:
        """Return the result of a function for a copy of a case, so that the case itself stays
        unchanged."""
        return self.outcome_of(self.asking.call(function, deepcopy(case)), case)

    @property
    def asking(self) -> Asking:
        """Way to call the learner's function."""
        return Asking(self.run, self.offered)

    def outcome_of(self, value: Any, case: Arguments) -> Any:
        """Return what is compared with the truth: the value itself, or what follows from what a
        kernel stored."""
        return self.outcome(value, deepcopy(case)) if self.outcome else value

    @property
    def lesson(self) -> str:
        """Lesson of the exercise: ``"02"``."""
        return self.name.partition(".")[0]

    @property
    def function(self) -> str:
        """Name of the learner's function."""
        return self.name.partition(".")[2]

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that the learner's function takes."""
        return tuple(signature(self.truth).parameters)

    def cases(self, chance: random.Random) -> list[Arguments]:
        """Draw the arguments of a check, from the smallest case to the largest.

        In one case at least each slip and each trap differs from the truth, and each slip from any
        other slip. One case at least is at an edge, where the task has one.

        Args:
            chance: the random generator.

        Raises:
            RuntimeError: none of many cases exposes some mistake.
        """
        sizes = sorted(self.sizes)
        for _ in range(TRIES):
            cases, alike = self.telling(chance, sizes)
            if not alike:
                break
        else:
            raise RuntimeError(f"{self.name}: no case tells apart {sorted(alike)}")
        return [cases[n] if n in cases else self.draw(chance, size) for n, size in enumerate(sizes)]

    def telling(
        self, chance: random.Random, sizes: list[int], rounds: int = ROUNDS
    ) -> tuple[dict[int, Arguments], set[Pair]]:
        """Return cases, by their index among the sizes, that tell the truth and mistakes apart, and
        the pairs that no case told apart. A case of each size is drawn at most ``rounds`` times."""
        known = (RIGHT, *self.slips)
        alike = {*combinations(known, 2), *product((RIGHT,), self.traps)}
        alike |= {EDGE} if self.edge else set()
        arguments: dict[int, Arguments] = {}
        for place, size in rounds * [*enumerate(sizes)]:
            if alike and place not in arguments:
                case = self.draw(chance, size)
                if apart := self._apart(case, alike):
                    arguments[place] = case
                    alike -= apart
        return arguments, alike

    def _apart(self, case: Arguments, alike: set[Pair]) -> set[Pair]:
        """Return the pairs of truth and mistakes whose numbers differ in a case, and ``EDGE`` if
        the case is at an edge."""
        pairs, truth = alike - {EDGE}, self.truth(**deepcopy(case))
        ways = {**self.slips, **self.traps}
        numbers = {
            name: returned_values.read(
                truth if name == RIGHT else ways[name](truth, deepcopy(case))
            )
            for name in {name for pair in pairs for name in pair}
        }
        at_edge = {EDGE} if self.edge is not None and self.edge(case) else set()
        return at_edge | {pair for pair in pairs if self._differ(*(numbers[name] for name in pair))}

    def _differ(
        self, first: returned_values.Numbers | None, second: returned_values.Numbers | None
    ) -> bool:
        """True if two values, of two mistakes or of the truth and a mistake, can be told apart."""
        if first is None or second is None:
            return first is not second
        return not returned_values.agree(first, second, self.rel)


_TASKS: dict[str, ExerciseTask] = {}


def task(
    name: str, draw: Callable[[random.Random, int], Arguments], **more: Any
) -> Callable[[Function], Function]:
    """Register the decorated function as the truth of an exercise ``"02.largest_batch"``.

    Args:
        name: the lesson, a point, and the name of the learner's function.
        draw: makes the arguments of a case from a random generator and a size.
        more: further fields of ``ExerciseTask``.

    Raises:
        ValueError: another module has an exercise of that name.
    """

    def register(truth: Function) -> Function:
        if name in _TASKS and _TASKS[name].truth.__module__ != truth.__module__:
            raise ValueError(f"two exercises are called {name!r}")
        _TASKS[name] = ExerciseTask(name, draw, truth, **more)
        return truth

    return register


def tasks() -> dict[str, ExerciseTask]:
    """Return every exercise of every lesson, by its name."""
    from memlab.lesson import content

    content.load()
    return dict(_TASKS)


def _value_text(value: Any) -> str:
    value = returned_values.single(value)
    if shape := getattr(value, "shape", ()):
        return f"of shape {shape}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else shorten(value)
