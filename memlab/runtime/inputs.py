"""Inputs of a step, images or tokens and labels, given or drawn, for each part of the batch.

They belong to the user and lie in memory on the host: allocations here do not count as the step's,
and no meter sees them.
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


class InputSpec(NamedTuple):
    """Input of a step, and how it is drawn if none is given.

    ``what`` is ``"tokens"`` or ``"labels"`` for whole numbers, which lie below ``below``. For other
    inputs both are empty.
    """

    tensor: Tensor
    start: InitialValue
    what: str = ""
    below: int = 0


def input_specs(step: Step) -> list[InputSpec]:
    """Inputs that a step needs.

    Tokens must be below the number of rows of the table that is read with them, labels below the
    number of scores that the loss compares them with.
    """
    scores = [r["x"] for r in (op.reads for op in step.ops) if "labels" in r and "x" in r]
    inputs = []
    for tensor in step.live_in:
        if tensor.role is not Role.INPUT:
            continue
        if tensor.format.kind != "int":
            inputs.append(InputSpec(tensor, InitialValue(deviation=1.0)))
            continue
        reads = (op.reads for op in step.ops)
        tables = [r["weight"] for r in reads if "weight" in r and r.get("x") == tensor]
        if tables:
            rows = tables[0].axes[0][1]
            inputs.append(InputSpec(tensor, InitialValue(below=rows), "tokens", rows))
        else:
            inputs.append(InputSpec(tensor, InitialValue(below=2), "labels", scores[0].axes[-1][1]))
    return inputs


class Inputs:
    """Inputs of one step at a batch, part by part.

    Several parts together get the same drawn values as one batch of their size.

    Args:
        inputs: inputs that the step needs.
        batch: samples in a part.
        parts: number of parts (micro-batches).
        seed: seed of drawn inputs.
        x: samples of all parts, one part after the other; None to draw them.
        labels: labels of all parts; None to draw them.

    Raises:
        InputError: given samples are no numbers, or do not fill the parts.
    """

    def __init__(
        self, inputs: Sequence[InputSpec], batch: int, parts: int, seed: int,
        x: npt.ArrayLike | None, labels: npt.ArrayLike | None,
    ) -> None:  # fmt: skip
        self.specs = {spec.tensor.name: spec for spec in inputs}
        self.batch, self.parts = batch, parts
        given: dict[str, npt.ArrayLike | None] = dict(zip(self.specs, (x, labels), strict=False))
        self.draws = {name: unmetered(initial_values.generator, seed, name) for name in self.specs}
        if self.parts > 1:
            given = {name: unmetered(self._checked, spec, given[name])
                     for name, spec in self.specs.items()}  # fmt: skip
        self.given: Mapping[str, npt.ArrayLike | None] = given

    def write(self, name: str, tensor: Tensor, part: int, values: Array) -> None:
        """Set the values of an input in one part.

        Args:
            name: name of the input in the first part.
            tensor: the input's tensor in this part.
            part: number of the part, from 1 on.
            values: array of the tensor, which is written.

        Raises:
            InputError: given values have another shape or kind, hold NaN or infinity, or name no
                class or no token.
        """
        given, (_, starts, what, below) = self.given[name], self.specs[name]
        array = None if given is None else initial_values.as_numbers(tensor, tensor.name, given)
        if self.parts > 1 and array is not None:
            array = array[(part - 1) * self.batch : part * self.batch]
        initial_values.fill(tensor, values, array, starts, self.draws[name])
        if what:
            initial_values.check_numbers(what, values, below)

    def _checked(self, spec: InputSpec, given: npt.ArrayLike | None) -> Array | None:
        """Given samples of all parts, as a checked array; None if none were given."""
        if given is None:
            return None
        tensor, _, what, below = spec
        array, samples = (
            initial_values.as_numbers(tensor, tensor.name, given),
            self.parts * self.batch,
        )
        if len(array.shape) == 0 or len(array) != samples:
            raise InputError(
                f"{tensor.name} must hold {samples} samples, {self.batch} for each of "
                f"{self.parts} parts, got the shape {array.shape}; the first extent is that of "
                "the samples."
            )
        if what:
            initial_values.check_numbers(what, array, below)
        return array


def unmetered(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function whose allocations no meter of this context sees, and return its result."""
    return Context().run(function, *args, **kwargs)
