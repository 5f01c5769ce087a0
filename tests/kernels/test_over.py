"""Statements of a layer's row about its kernels: outputs that may lie over inputs, and cheap
operations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memlab.kernels import registry
from memlab.kernels.registry import Array
from memlab.layers import Concat, MaxPool2d
from memlab.step.op import Op
from memlab.step.tensor import Tensor
from tests.kernels_by_case import CASES, Case, Trial

ALSO = {
    ("local_response_norm.backward", "dx", "dy"),
    ("lstm_output", "y", "x1"),
    ("lstm_output.backward", "dx1", "dy"),
    ("lstm_state", "y", "x1"),
    ("lstm_state.backward", "dx1", "dy"),
    ("positions.backward", "dx", "dy"),
    ("softmax_cross_entropy", "probabilities", "x"),
}
"""Where a kernel would allow an output over an input, and no row says so: it would save little."""
MOST = 1.25
"""Operations for each byte that a cheap kind reads or writes, at most."""
BATCH = 3


def alike(one: Tensor, other: Tensor) -> bool:
    shapes = one.shape(BATCH), other.shape(BATCH)
    return shapes[0] == shapes[1] and one.format is other.format and one.role is other.role


def given(trial: Trial) -> dict[str, Array]:
    values, dy = {**trial.values, **trial.forward()}, trial.weights()
    return values if dy is None else {**values, "dy": dy}


def same(trial: Trial, op: Op, slot: str, source: str, training: bool = True) -> bool:
    """Return whether a kernel computes the same bits when its output lies over an input."""
    kernel, values = registry.find(op.kind, op.algorithm, format=trial.format), given(trial)
    apart, over = (trial.prepared(op, values, training=training) for _ in range(2))
    there = over[source].copy()
    over = replace(over, arrays={**over.arrays, slot: there, source: there})
    kernel(apart)
    kernel(over)
    return all(np.array_equal(apart[name], over[name]) for name in (*op.writes, *op.updates))


def places(case: Case) -> list[tuple[Op, bool, str, str]]:
    """Every operation of a case, in training or inference, with each pair of an output and an input
    of the same shape and format."""
    ops = [(op, training) for training in (True, False) for op in case.ops("fp64", training)]
    return [
        (op, training, slot, source)
        for op, training in ops
        for slot, output in op.writes.items()
        for source, there in op.reads.items()
        if alike(output, there)
    ]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_row_says_where_an_output_may_lie_over_an_input(case: Case) -> None:
    trial = Trial(case, BATCH)
    for op, training, slot, source in places(case):
        allowed = source in op.traits.over.get(slot, ())
        expected = allowed or (op.kind, slot, source) in ALSO
        assert same(trial, op, slot, source, training) == expected, (op.kind, slot, source, allowed)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_a_row_lays_over_an_input_is_like_it(case: Case) -> None:
    for op in case.ops("fp64"):
        for slot, sources in op.traits.over.items():
            inputs = [op.reads[source] for source in sources]
            assert inputs
            assert all(alike(op.writes[slot], tensor) for tensor in inputs)


@pytest.mark.parametrize("case", [c for c in CASES if c.layer.row.cheap], ids=str)
def test_what_a_row_calls_cheap_computes_little(case: Case) -> None:
    forward, *_ = case.ops("fp32")
    assert forward.flops.at(64) <= MOST * forward.bytes_moved.at(64)


def test_a_wrong_place_is_seen() -> None:
    trial = Trial(Case(MaxPool2d(3, 1, 1), ((2, 4, 4),)), BATCH)
    assert not same(trial, trial.forward_op, "y", "x")


def test_what_is_not_cheap_is_seen() -> None:
    dear = next(case for case in CASES if case.layer.kind == "conv2d")
    forward, *_ = dear.ops("fp32")
    assert forward.flops.at(64) > MOST * forward.bytes_moved.at(64)
    assert not Concat.row.cheap
