"""Layers of recurrent networks: one step of a sequence, and the cell of an LSTM in two parts.

The cell follows Hochreiter and Schmidhuber 1997 with the forget gate of Gers et al. 2000, without
peepholes. Its gates come as one vector of 4 H values before their sigmoid or tanh, in PyTorch's
order: input i, forget f, candidate g, output o::

    c = sigmoid(f) * c_before + sigmoid(i) * tanh(g)      h = sigmoid(o) * tanh(c)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from memlab.axes import Dims, Shape
from memlab.errors import InputError
from memlab.layers.layer import Layer, text, validate
from memlab.layers.layer_kind import VIEW, Flops, LayerKind, by_value
from memlab.step.rewrite_traits import SplitAxis
from memlab.step.tensor import Tensor


@dataclass(frozen=True)
class At(Layer):
    """Vector at step ``t`` of a sequence ``(T, F)``, counted from 0, as a view of the input."""

    t: int
    kind: ClassVar[str] = "at"
    of_input: ClassVar[bool] = True
    row: ClassVar[LayerKind] = VIEW

    def __post_init__(self) -> None:
        validate(self, "at", "t", least=0)

    def output(self, *inputs: Shape) -> Shape:
        if len(inputs[0]) != 2:
            raise InputError(
                f"at needs a sequence (T, F), got {text(inputs[0])}; "
                "try network('name', sequence=(28, 28))."
            )
        steps, features = inputs[0]
        if self.t >= steps:
            raise InputError(f"at: t must be below {steps}, got {self.t}; steps count from 0.")
        return (features,)

    def describe(self) -> str:
        return f"index {self.t}"

    def view(self, name: str, axes: Dims, x: Tensor) -> Tensor:
        features = x.axes[-1][1]
        return x.slice(name, axes, x.format.nbytes(self.t * features))


def _hidden(kind: str, gates: Shape, *states: Shape) -> Shape:
    """Return the shape ``(H,)`` of an LSTM's state, from gates of 4 H values and states of H."""
    hidden = gates[0] // 4
    if gates != (4 * hidden,) or any(state != (hidden,) for state in states):
        given = " and ".join(text(shape) for shape in (gates, *states))
        raise InputError(
            f"{kind} needs gates of 4 H values and states of H, got {given}; "
            f"try linear({4 * max(1, hidden)})."
        )
    return (hidden,)


@dataclass(frozen=True)
class LstmState(Layer):
    """State c of an LSTM cell, from the gates and the previous state. Without a previous state, it
    is 0.

    Backward reads the gates and computes their sigmoids and tanh again.
    """

    kind: ClassVar[str] = "lstm_state"
    arity: ClassVar[int | None] = 2
    row: ClassVar[LayerKind] = LayerKind(
        keeps=("x",), cut=SplitAxis.SAMPLES, cheap=False, devices=("cpu",)
    )

    def output(self, *inputs: Shape) -> Shape:
        return _hidden("lstm_state", *inputs)

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return by_value(y, *((10, 20) if len(inputs) == 2 else (5, 12)))


@dataclass(frozen=True)
class LstmOutput(Layer):
    """Output h of an LSTM cell, from the gates and the state c."""

    kind: ClassVar[str] = "lstm_output"
    arity: ClassVar[int | None] = 2
    row: ClassVar[LayerKind] = LayerKind(
        keeps=("x",), cut=SplitAxis.SAMPLES, cheap=False, devices=("cpu",)
    )

    def output(self, *inputs: Shape) -> Shape:
        if len(inputs) != 2:
            raise InputError("lstm_output needs gates and a state; try gates.lstm_output(c).")
        return _hidden("lstm_output", *inputs)

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return by_value(y, 5, 12)
