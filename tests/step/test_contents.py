"""A step refuses to read what was overwritten."""

from __future__ import annotations

from dataclasses import replace

import pytest

import memlab
from memlab.errors import InputError
from memlab.networks.zoo import ZOO
from memlab.step.op import Op
from memlab.step.step import Step
from memlab.step.tensor import Tensor


def network() -> Step:
    x = memlab.network("small", image=(3, 8, 8)).conv(4, 3).batch_norm().relu().conv(5, 3)
    return memlab.training_step(x.flatten().linear(3).cross_entropy())


def over(step: Step, writer: str, slot: str, there: str) -> Step:
    """The step, with the output of an operation in the storage that another one wrote."""
    home = next(t.storage for op in step.ops for t in op.writes.values() if t.name == there)
    old = next(op for op in step.ops if op.name == writer).writes[slot].storage

    def moved(tensor: Tensor) -> Tensor:
        return replace(tensor, storage=home) if tensor.storage == old else tensor

    def rehoused(op: Op) -> Op:
        reads = {name: moved(each) for name, each in op.reads.items()}
        return replace(op, reads=reads, writes={n: moved(t) for n, t in op.writes.items()})

    return replace(step, ops=tuple(map(rehoused, step.ops)))


def test_an_output_over_what_backward_still_reads_is_refused() -> None:
    expected = "norm1 overwrites conv1, which backward of norm1 still reads; give it a block of"
    with pytest.raises(InputError, match=expected):
        over(network(), "norm1", "y", "conv1")


def test_a_gradient_over_a_map_that_is_still_read_is_refused() -> None:
    with pytest.raises(InputError, match="overwrites relu1, which backward of relu1 still reads"):
        over(network(), "backward of conv2", "dx", "relu1")


def test_an_output_over_what_nobody_reads_any_more_is_not() -> None:
    step = over(network(), "relu1", "y", "norm1")
    assert memlab.plan(step).peak(4) <= memlab.plan(network()).peak(4)


def test_a_view_of_what_was_there_is_stale_and_a_later_one_is_not() -> None:
    x = memlab.network("views", image=(2, 4, 4)).conv(2, 1).relu()
    step = memlab.training_step(x.flatten().linear(3).cross_entropy())
    flat = next(op for op in step.ops if op.name == "fc1").reads["x"]
    assert flat.storage.name == "relu1"
    memlab.in_place(step)
    late = replace(step.ops[-1], name="late", reads={**step.ops[-1].reads, "x": flat})
    first = next(i for i, op in enumerate(step.ops) if op.name == "fc1")
    writer = replace(step.ops[1], name="again", writes={"y": step.ops[1].writes["y"].view("new")})
    ops = (*step.ops[: first + 1], writer, *step.ops[first + 1 :], late)
    with pytest.raises(InputError, match=r"again overwrites (flatten1|relu1), which"):
        replace(step, ops=ops)


@pytest.mark.table
@pytest.mark.parametrize("name", ZOO)
def test_no_step_of_the_zoo_reads_what_was_overwritten(name: str) -> None:
    for step in (memlab.training_step(ZOO[name](), "adam"), memlab.inference_step(ZOO[name]())):
        memlab.in_place(step)
