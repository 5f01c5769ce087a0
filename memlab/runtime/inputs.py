"""What a step takes from outside: the input and the labels, given or drawn, part by part.

Who brings them has memory of its own, on the host: what is allocated here is none of the step's,
and a meter does not see it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import Context
from typing import ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from memlab.errors import InputError
from memlab.kernels.registry import Array
from memlab.runtime import start
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor
from memlab.techniques import order

P = ParamSpec("P")
T = TypeVar("T")


class Inputs:
    """The inputs of one step at a batch: ``x`` and ``labels`` hold the samples of all parts, one
    after the other; what is ``None`` is drawn. The parts together are drawn as a batch as large as
    all of them would be.

    Raises:
        InputError: as many samples as are given do not fill the parts, or no numbers.
    """

    def __init__(
        self, step: Step, batch: int, seed: int, x: npt.ArrayLike | None,
        labels: npt.ArrayLike | None,
    ) -> None:  # fmt: skip
        self.step, self.batch, self.parts = step, batch, order.parts(step)
        self.tensors = [each for each in step.live_in if each.role is Role.INPUT]
        names = [each.name for each in self.tensors]
        self.given: Mapping[str, npt.ArrayLike | None] = dict(zip(names, (x, labels), strict=False))
        self.draws = {name: aside(start.generator, seed, name) for name in names}
        if self.parts > 1:
            self.given = {each.name: aside(self._checked, each) for each in self.tensors}

    def write(self, name: str, tensor: Tensor, part: int, values: Array) -> None:
        """Set the values of an input in one part, counted from 1; ``name`` is its name in the
        first.

        Raises:
            InputError: what is given has another shape or kind, holds NaN or infinity, or names no
                class or no token.
        """
        if part == 1:
            self._write(name, tensor, part, values)
        else:
            aside(self._write, name, tensor, part, values)

    def _write(self, name: str, tensor: Tensor, part: int, values: Array) -> None:
        given, vocabulary = self.given[name], _vocabulary(self.step, tensor)
        if self.parts > 1 and given is not None:
            given = np.asarray(given)[(part - 1) * self.batch : part * self.batch]
        start.fill_input(tensor, values, self.draws[name], given, vocabulary or 2)
        self._check(tensor, values)

    def _checked(self, tensor: Tensor) -> Array | None:
        """The samples of all parts as an array."""
        given = self.given[tensor.name]
        if given is None:
            return None
        array, samples = start.numbers(tensor, tensor.name, given), self.parts * self.batch
        if len(array.shape) == 0 or len(array) != samples:
            raise InputError(
                f"{tensor.name} must hold {samples} samples, {self.batch} for each of "
                f"{self.parts} parts, got the shape {array.shape}; the first extent is that of "
                "the samples."
            )
        self._check(tensor, array)
        return array

    def _check(self, tensor: Tensor, values: Array) -> None:
        """Whether whole numbers name tokens, or classes."""
        if vocabulary := _vocabulary(self.step, tensor):
            start.check_tokens(values, vocabulary)
        elif tensor.format.kind == "int":
            start.check_labels(values, _classes(self.step))


def aside(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function whose allocations no meter of this context sees."""
    return Context().run(function, *args, **kwargs)


def _classes(step: Step) -> int:
    """How many classes the labels may name: the scores that the loss compares them with."""
    loss = next(op for op in step.ops if "labels" in op.reads and "x" in op.reads)
    return loss.reads["x"].axes[-1][1]


def _vocabulary(step: Step, tensor: Tensor) -> int:
    """How many tokens an input may name; 0 for one that holds none."""
    readers = (op for op in step.ops if op.kind == "embedding" and op.reads["x"] == tensor)
    return next((op.reads["weight"].axes[0][1] for op in readers), 0)
