"""The most workspace that cuDNN may take, computed another way."""

from __future__ import annotations

from dataclasses import replace

import memlab
from memlab.placement.cudnn import (
    FIXED,
    PER_SAMPLE,
    convolution_workspace,
    has_workspace,
    with_largest_workspace,
)
from memlab.step.storage import Size


def test_winograd_transforms_every_tile_of_input_and_output() -> None:
    """VGG-16's second convolution: 64 channels to 64, 56 x 56 tiles of 4 x 4 outputs."""
    size = convolution_workspace(64, 64, (3, 3), (224, 224), Size(), plain=True)
    assert size.per_sample == 36 * 56 * 56 * (64 + 64) * 4
    assert size.fixed == 36 * 64 * 64 * 4


def test_other_convolutions_may_copy_their_operands() -> None:
    operands = Size(10, 1000)
    for kernel, plain in (((1, 1), True), ((3, 3), False), ((3,), True), ((3, 3, 3), True)):
        output = (8,) * len(kernel)
        assert convolution_workspace(2, 2, kernel, output, operands, plain) == operands


def test_the_workspace_is_inside_the_operation_alone() -> None:
    step = memlab.training_step(memlab.zoo.mnist_cnn())
    assert not has_workspace(step)
    index = next(n for n, op in enumerate(step.ops) if op.kind == "conv2d")
    op, more = step.ops[index], {FIXED: 100, PER_SAMPLE: 7}
    marked = replace(op, attributes={**op.attributes, **more})
    step = replace(step, ops=(*step.ops[:index], marked, *step.ops[index + 1 :]))
    assert has_workspace(step)
    before = memlab.plan(step).timeline(3)
    after = memlab.plan(with_largest_workspace(step)).timeline(3)
    differences = [b - a for a, b in zip(before, after, strict=True)]
    assert differences[index] == 100 + 3 * 7
    assert sum(differences) == differences[index]
