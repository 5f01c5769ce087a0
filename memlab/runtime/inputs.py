"""What a step takes from outside: the input and the labels, given or drawn, part by part.

Who brings them has memory of its own, on the host: what is allocated here is none of the step's,
and a meter does not see it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from typing import NamedTuple, ParamSpec, TypeVar

import numpy.typing as npt

from memlab.errors import InputError
from memlab.kernels.registry import Array
from memlab.runtime import initial_values
from memlab.step.initial_values import InitialValue
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor

P = ParamSpec("P")
T = TypeVar("T")


class Wanted(NamedTuple):
    """An input of a step, and how it is drawn. Its whole numbers are ``"tokens"`` or ``"labels"``
    and lie ``below`` a limit; other numbers have none."""

    tensor: Tensor
    start: InitialValue
    what: str = ""
    below: int = 0


def wanted(step: Step) -> list[Wanted]:
    """The inputs of a step. Tokens name a row of the table that is read with them, labels one of
    the scores that the loss compares them with."""
    scores = [r["x"] for r in (op.reads for op in step.ops) if "labels" in r and "x" in r]
    found = []
    for tensor in step.live_in:
        if tensor.role is not Role.INPUT:
            continue
        if tensor.format.kind != "int":
            found.append(Wanted(tensor, InitialValue(deviation=1.0)))
            continue
        reads = (op.reads for op in step.ops)
        tables = [r["weight"] for r in reads if "weight" in r and r.get("x") == tensor]
        if tables:
            rows = tables[0].axes[0][1]
            found.append(Wanted(tensor, InitialValue(below=rows), "tokens", rows))
        else:
            found.append(Wanted(tensor, InitialValue(below=2), "labels", scores[0].axes[-1][1]))
    return found


class Inputs:
    """The inputs of one step at a batch: ``x`` and ``labels`` hold the samples of all parts, one
    after the other; what is ``None`` is drawn. The parts together are drawn as a batch as large as
    all of them would be.

    Raises:
        InputError: as many samples as are given do not fill the parts, or no numbers.
    """

    def __init__(
        self, inputs: Sequence[Wanted], batch: int, parts: int, seed: int,
        x: npt.ArrayLike | None, labels: npt.ArrayLike | None,
    ) -> None:  # fmt: skip
        self.wanted = {each.tensor.name: each for each in inputs}
        self.batch, self.parts = batch, parts
        given: dict[str, npt.ArrayLike | None] = dict(zip(self.wanted, (x, labels), strict=False))
        self.draws = {name: aside(initial_values.generator, seed, name) for name in self.wanted}
        if self.parts > 1:
            given = {name: aside(self._checked, each, given[name])
                     for name, each in self.wanted.items()}  # fmt: skip
        self.given: Mapping[str, npt.ArrayLike | None] = given

    def write(self, name: str, tensor: Tensor, part: int, values: Array) -> None:
        """Set the values of an input in one part, counted from 1; ``name`` is its name in the
        first.

        Raises:
            InputError: what is given has another shape or kind, holds NaN or infinity, or names no
                class or no token.
        """
        given, (_, starts, what, below) = self.given[name], self.wanted[name]
        array = None if given is None else initial_values.numbers(tensor, tensor.name, given)
        if self.parts > 1 and array is not None:
            array = array[(part - 1) * self.batch : part * self.batch]
        initial_values.fill(tensor, values, array, starts, self.draws[name])
        if what:
            initial_values.check_numbers(what, values, below)

    def _checked(self, wanted: Wanted, given: npt.ArrayLike | None) -> Array | None:
        """The samples of all parts as an array."""
        if given is None:
            return None
        tensor, _, what, below = wanted
        array, samples = initial_values.numbers(tensor, tensor.name, given), self.parts * self.batch
        if len(array.shape) == 0 or len(array) != samples:
            raise InputError(
                f"{tensor.name} must hold {samples} samples, {self.batch} for each of "
                f"{self.parts} parts, got the shape {array.shape}; the first extent is that of "
                "the samples."
            )
        if what:
            initial_values.check_numbers(what, array, below)
        return array


def aside(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function whose allocations no meter of this context sees."""
    return Context().run(function, *args, **kwargs)
