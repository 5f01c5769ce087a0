"""One bit instead of a map: the same gradients, and the map dies in forward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import memlab
from memlab import InputError
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.techniques.precision import MODES, precision
from memlab.techniques.relu_masks import relu_masks
from tests.rows import every_row
from tests.staged_networks import NETWORKS, TRAINED, WITH_RELU, pairwise, step


def masked(step: Step) -> list[str]:
    """The ReLUs that keep a mask."""
    return [op.name for op in step.ops if "mask" in op.writes]


@pytest.mark.measures
@pytest.mark.parametrize(
    ("network", "optimizer", "mode"),
    [
        *pairwise(WITH_RELU, TRAINED, (None, *MODES)),
        ("slices", "momentum", "fp64"),
    ],
)
def test_gradients_and_parameters_are_the_same_bit_for_bit(
    network: str, optimizer: str, mode: str | None
) -> None:
    """The last byte of a sample is not full."""
    old = step(network, optimizer, format="fp64" if mode == "fp64" else "fp32")
    old = precision(old, mode) if mode in MODES else old
    for batch in (1, 3):
        expected = memlab.run(old, batch, keep="gradients")
        found = memlab.run(relu_masks(old), batch, keep="gradients")
        assert found.residual == 0
        assert found.loss == expected.loss
        for name, due in {**expected.parameters, **expected.gradients}.items():
            mine = {**found.parameters, **found.gradients}[name]
            np.testing.assert_array_equal(mine.view("u1"), due.view("u1"), err_msg=name)


@every_row("mode", list(MODES))
@every_row("network", WITH_RELU)
def test_before_formats_or_after(network: str, mode: str) -> None:
    old = step(network, "adam")
    before, after = precision(relu_masks(old), mode), relu_masks(precision(old, mode))
    assert before.ops == after.ops
    assert memlab.plan(before).timeline(3) == memlab.plan(after).timeline(3)


def test_which_relus_keep_a_mask() -> None:
    """Those whose map a pooling, an add or a dropout reads; not where a layer needs it itself."""
    assert masked(relu_masks(step("branches"))) == ["relu2", "relu3", "relu4"]
    assert masked(relu_masks(step("slices"))) == ["relu1", "relu2"]
    assert masked(relu_masks(step("sums"))) == ["relu1"]


def test_the_map_dies_after_its_last_reader_in_forward() -> None:
    ledger = memlab.plan(relu_masks(step("slices")))
    entries = {entry.name: entry for entry in ledger.entries}
    reader = next(i for i, row in enumerate(ledger.rows) if row.name == "pool1")
    back = next(i for i, row in enumerate(ledger.rows) if row.name == "backward of relu1")
    assert entries["relu1"].death == reader
    assert entries["relu1.mask"].death == back
    assert memlab.plan(step("slices")).timeline(3)[reader + 1] > ledger.timeline(3)[reader + 1]


def test_a_mask_is_a_32nd_of_its_map() -> None:
    """F6; VGG-16 has 5 ReLUs before a pooling, and their sizes divide by 8."""
    small = relu_masks(memlab.training_step(memlab.zoo.vgg16()))
    pairs = [(op.writes["y"], op.writes["mask"]) for op in small.ops if "mask" in op.writes]
    assert len(pairs) >= 5
    for y, mask in pairs:
        assert 32 * mask.storage.size == y.storage.size


def test_a_sample_begins_on_a_byte() -> None:
    sizes = {
        op.name: op.writes["mask"].size
        for op in relu_masks(step("branches")).ops
        if "mask" in op.writes
    }
    assert sizes == {"relu2": Size(0, 40), "relu3": Size(0, 11), "relu4": Size(0, 1)}


def test_costs_follow_the_bytes() -> None:
    old, new = step("slices"), relu_masks(step("slices"))
    for op, other in zip(old.ops, new.ops, strict=True):
        assert other.flops == op.flops
        if op.name == "relu1":
            assert other.bytes_moved == op.bytes_moved + Size(0, 10)
        elif op.name == "backward of relu1":
            assert other.bytes_moved == op.bytes_moved + Size(0, 10 - 4 * 75)
    assert {op.phase for op in new.ops if "mask" in op.reads} == {Phase.BACKWARD}


def test_a_step_says_what_it_is() -> None:
    assert relu_masks(step("slices")).notes == ("1-bit ReLU masks",)


def test_an_inference_keeps_no_map_and_stays() -> None:
    for plain in (step("slices", "inference"), memlab.inference_step(memlab.zoo.linear1())):
        assert relu_masks(plain) is plain


NOBODY = "no ReLU of this step is kept for its own backward alone; try a network with a ReLU"


@every_row(
    ("given", "words"),
    [
        (NETWORKS["slices"], "relu_masks rewrites a step, got <slices: 9 layers"),
        (relu_masks(step("slices")), NOBODY),
        (memlab.training_step(memlab.zoo.linear1()), NOBODY),
        (step("slices", format="bf16"), "relu_masks rewrites a step in fp32 or fp64, got bf16"),
    ],
)
def test_bad_input_is_one_sentence(given: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        relu_masks(given)
    assert "\n" not in str(caught.value)


def test_on_a_gpu_it_is_refused() -> None:
    with pytest.raises(InputError, match="runs on cpu, got cuda; plan it instead"):
        memlab.run(relu_masks(step("slices")), 1, device="cuda")


def test_a_layer_named_as_a_mask_gives_one_sentence() -> None:
    """A mask of 32 bits and one value of 4 bytes would be one block."""
    x = memlab.network("masked", image=(2, 3, 3)).conv(8, 2).relu(name="r").max_pool(2).flatten()
    old = memlab.training_step(x.linear(1, name="r.mask").linear(2).cross_entropy())
    with pytest.raises(InputError, match=r"two blocks of memory are named 'r.mask'; rename a laye"):
        relu_masks(old)
