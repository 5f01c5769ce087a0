"""What an exercise asks for: a function, the truth that it is held against, and wrong ways.

The truth is a function too: it plans or runs a step, on arguments that are drawn afresh for every
check. No answer is stored anywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from memlab.errors import shorten

Arguments = dict[str, Any]
"""What a function is called with, by keyword."""
Slip = Callable[[Any, Arguments], Any]
"""A wrong way: what it gives, from the true value and the arguments of a case."""
Function = TypeVar("Function", bound=Callable[..., Any])

SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
"""Sizes of the cases of one check, the smallest possible one first."""


def in_words(arguments: Arguments) -> str:
    """A case for a sentence: ``"batch 3, channels 2"``; an array by its shape."""
    return ", ".join(f"{name} {_shown(value)}" for name, value in arguments.items())


@dataclass(frozen=True)
class Task:
    """One exercise. ``draw`` makes the arguments of a case from chance and a size, 1 the smallest.

    ``truth`` has the parameters that the learner's function is to have. A slip is a wrong way by
    name: the value that comes out for somebody who takes it, from the true one and the arguments.
    ``plan`` gives the bytes that the planned step has at its peak besides the arguments; where it
    is there, the arrays that the learner's function allocates are measured against it. Floats
    agree within ``rel`` of the largest true one. ``score`` is for an exercise that asks for a
    choice: the bytes that follow from what was returned, which are then compared with the least.
    """

    name: str
    draw: Callable[[random.Random, int], Arguments]
    truth: Callable[..., Any]
    slips: Mapping[str, Slip] = field(default_factory=dict)
    sizes: tuple[int, ...] = SIZES
    plan: Callable[..., int] | None = None
    score: Callable[[Any, Arguments], int] | None = None
    show_case: Callable[[Arguments], str] = in_words
    rel: float = 1e-6

    @property
    def lesson(self) -> str:
        """The lesson that it belongs to: ``"02"``."""
        return self.name.partition(".")[0]

    @property
    def function(self) -> str:
        """The name of the learner's function."""
        return self.name.partition(".")[2]

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters that it takes."""
        return tuple(signature(self.truth).parameters)

    def cases(self, chance: random.Random) -> Iterator[Arguments]:
        """Fresh arguments, from the smallest case to the largest."""
        return (self.draw(chance, size) for size in sorted(self.sizes))


_TASKS: dict[str, Task] = {}


def task(
    name: str, draw: Callable[[random.Random, int], Arguments], **more: Any
) -> Callable[[Function], Function]:
    """Register the function below as the truth of an exercise ``"02.largest_batch"``.

    Raises:
        ValueError: another module has an exercise of that name.
    """

    def register(truth: Function) -> Function:
        if name in _TASKS and _TASKS[name].truth.__module__ != truth.__module__:
            raise ValueError(f"two exercises are called {name!r}")
        _TASKS[name] = Task(name, draw, truth, **more)
        return truth

    return register


def tasks() -> dict[str, Task]:
    """Every exercise of every lesson, by its name."""
    from memlab.lesson import content

    content.load()
    return dict(_TASKS)


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.ndim:
        return f"of shape {value.shape}"
    if isinstance(value, np.generic | np.ndarray):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else shorten(value)
