"""Cell of an LSTM. Its gates lie side by side in every sample: i, f, g, o, of H values each.

Forward keeps no gate: backward computes the sigmoids and tanhs that it needs again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.flat_arrays import lines
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.registry import Array, KernelCall, kernel


@kernel("lstm_state")
def lstm_state(call: KernelCall) -> None:
    """Compute the state ``c = sigmoid(f) c_before + sigmoid(i) tanh(g)``; the first step has no
    ``c_before``.

    Shapes: gates (B, 4H), as x or x0; state before (B, H), as x1; y (B, H).
    """
    c = call["y"]
    gates, before = _gates_and_before(call)
    for gate, last, state in lines(gates, c if before is None else before, c):
        _state(gate, last, state, c.shape[1], before is None)


@kernel("lstm_state.backward")
def lstm_state_backward(call: KernelCall) -> None:
    """Compute the gradients of the gates i, f and g, and of the state before.

    Shapes: dy (B, H), gradient of the gates (B, 4H), as dx or dx0, that of the state before (B, H),
    as dx1.
    """
    dc, (gates, before) = call["dy"], _gates_and_before(call)
    name = "dx" if before is None else "dx0"
    if name in call.arrays:
        stand = dc if before is None else before
        for dy, gate, last, dx in lines(dc, gates, stand, call[name]):
            _state_gates(dy, gate, last, dx, dc.shape[1], before is None, call.adds(name))
    if "dx1" in call.arrays:
        for dy, gate, dx in lines(dc, gates, call["dx1"]):
            _state_before(dy, gate, dx, dc.shape[1], call.adds("dx1"))


@kernel("lstm_output")
def lstm_output(call: KernelCall) -> None:
    """Compute the output ``h = sigmoid(o) tanh(c)``.

    Shapes: gates x0 (B, 4H), state x1 (B, H), y (B, H).
    """
    for gates, c, h in lines(call["x0"], call["x1"], call["y"]):
        _output(gates, c, h, call["y"].shape[1])


@kernel("lstm_output.backward")
def lstm_output_backward(call: KernelCall) -> None:
    """Compute the gradients of the gate o and of the state.

    Shapes: dy (B, H), gradient of the gates dx0 (B, 4H), that of the state dx1 (B, H).
    """
    read, hidden = (call["dy"], call["x0"], call["x1"]), call["dy"].shape[1]
    if "dx0" in call.arrays:
        for dh, gates, c, dx in lines(*read, call["dx0"]):
            _output_gates(dh, gates, c, dx, hidden, call.adds("dx0"))
    if "dx1" in call.arrays:
        for dh, gates, c, dx in lines(*read, call["dx1"]):
            _output_state(dh, gates, c, dx, hidden, call.adds("dx1"))


def _gates_and_before(call: KernelCall) -> tuple[Array, Array | None]:
    """Gates of a call, and the state before; None for it at the first step."""
    if "x" in call.arrays:
        return call["x"], None
    return call["x0"], call["x1"]


@compiled
def _sigmoid(x: float, one: float) -> Any:
    """Sigmoid of x; ``one`` is 1 in the format of x."""
    return one / (one + np.exp(-x))


@compiled
def _gate(k: int, hidden: int) -> int:
    """Index of the first gate of value ``k`` of a batch; its other gates are ``hidden`` values
    apart."""
    return 4 * hidden * (k // hidden) + k % hidden


@compiled
def _state(gates: Array, before: Array, c: Array, hidden: int, first: bool) -> None:
    """State of every value, from its gates and the state before."""
    one = c.dtype.type(1)
    for k in range(c.size):
        at = _gate(k, hidden)
        new = _sigmoid(gates[at], one) * np.tanh(gates[at + 2 * hidden])
        c[k] = new if first else new + _sigmoid(gates[at + hidden], one) * before[k]


@compiled
def _state_gates(
    dc: Array, gates: Array, before: Array, dgates: Array, hidden: int, first: bool, add: bool
) -> None:
    """Gradient of the gates from that of the state; that of gate o is 0."""
    one, zero = dc.dtype.type(1), dc.dtype.type(0)
    for k in range(dc.size):
        at = _gate(k, hidden)
        i, f = _sigmoid(gates[at], one), _sigmoid(gates[at + hidden], one)
        g, last = np.tanh(gates[at + 2 * hidden]), zero if first else before[k]
        write_or_add(dgates, at, dc[k] * g * i * (one - i), add)
        write_or_add(dgates, at + hidden, dc[k] * last * f * (one - f), add)
        write_or_add(dgates, at + 2 * hidden, dc[k] * i * (one - g * g), add)
        write_or_add(dgates, at + 3 * hidden, zero, add)


@compiled
def _state_before(dc: Array, gates: Array, dbefore: Array, hidden: int, add: bool) -> None:
    """Gradient of the state before from that of the state."""
    one = dc.dtype.type(1)
    for k in range(dc.size):
        write_or_add(dbefore, k, dc[k] * _sigmoid(gates[_gate(k, hidden) + hidden], one), add)


@compiled
def _output(gates: Array, c: Array, h: Array, hidden: int) -> None:
    """Output of every value, from its gates and its state."""
    one = h.dtype.type(1)
    for k in range(h.size):
        h[k] = _sigmoid(gates[_gate(k, hidden) + 3 * hidden], one) * np.tanh(c[k])


@compiled
def _output_gates(dh: Array, gates: Array, c: Array, dgates: Array, hidden: int, add: bool) -> None:
    """Gradient of the gates from that of the output; only that of gate o is not 0."""
    one, zero = dh.dtype.type(1), dh.dtype.type(0)
    for k in range(dh.size):
        at = _gate(k, hidden)
        o = _sigmoid(gates[at + 3 * hidden], one)
        for other in range(3):
            write_or_add(dgates, at + other * hidden, zero, add)
        write_or_add(dgates, at + 3 * hidden, dh[k] * np.tanh(c[k]) * o * (one - o), add)


@compiled
def _output_state(dh: Array, gates: Array, c: Array, dc: Array, hidden: int, add: bool) -> None:
    """Gradient of the state from that of the output."""
    one = dh.dtype.type(1)
    for k in range(dh.size):
        o, squashed = _sigmoid(gates[_gate(k, hidden) + 3 * hidden], one), np.tanh(c[k])
        write_or_add(dc, k, dh[k] * o * (one - squashed * squashed), add)
