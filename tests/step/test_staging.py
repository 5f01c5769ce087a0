"""Which buffers an operation on small formats has, and what it moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import memlab
from memlab.axes import BATCH
from memlab.formats import FORMATS
from memlab.layers import LAYERS
from memlab.step import fp32_tiles as staging
from memlab.step.op import LOAD, Op, UpdateSlot, plain
from memlab.step.rewrite_traits import SplitAxis
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor
from tests.rows import every_row
from tests.staged_networks import NETWORKS, OPTIMIZERS, step


def in_half(network: str, optimizer: str = "adam") -> Step:
    return memlab.precision(step(network, optimizer), "fp16")


def named(step: Step, name: str) -> Op:
    return next(op for op in step.ops if op.name == name)


@every_row("optimizer", OPTIMIZERS)
@every_row("network", NETWORKS)
def test_every_operation_on_small_tensors_computes_on_buffers(network: str, optimizer: str) -> None:
    for op in in_half(network, optimizer).ops:
        assert staging.is_staged(op) != (op.traits.as_stored or op.traits.moves)
        buffers = staging.tiles(op)
        assert all(each.format is staging.COMPUTED for each in buffers.values())
        assert all(each.role is Role.WORKSPACE for each in buffers.values())


def test_a_copy_between_formats_computes_on_buffers() -> None:
    op = named(memlab.precision(step("joins"), input="fp16"), "concat1")
    assert op.attributes["cut"] is SplitAxis.SAMPLES
    assert list(staging.tiles(op)) == ["x0" + staging.SUFFIX]


def test_the_networks_hold_every_kind() -> None:
    kinds = {op.kind for name in NETWORKS for op in step(name).ops}
    assert {kind for kind, layer in LAYERS.items() if not layer.row.is_view} <= kinds


def test_the_bits_of_gradients_are_looked_at_as_they_are_stored() -> None:
    ops = memlab.precision(step("sums", "adam"), "mixed fp16").ops
    assert {op.kind for op in ops if op.traits.as_stored} == {staging.CHECK, staging.ADJUST}


def test_what_is_in_fp32_has_no_buffers() -> None:
    for op in step("branches", "adam").ops:
        assert staging.with_fp32_tiles(op) == op
        assert not staging.is_staged(op)


def test_back_in_fp32_nothing_is_left() -> None:
    old = step("branches", "adam")
    for op, half in zip(old.ops, in_half("branches").ops, strict=True):
        again = staging.rewritten(half, reads=op.reads, writes=op.writes, updates=op.updates)
        assert again == op


@every_row("network", NETWORKS)
def test_copies_and_loads_have_no_buffers(network: str) -> None:
    after = memlab.accumulate(memlab.offload(in_half(network), "all"), 3)
    moved = [op for op in after.ops if op.transfers]
    assert {op.kind for op in moved} == {"copy in", "copy out", LOAD}
    for op in moved:
        assert not op.workspace
        touched = sum((each.size for each in op.touched()), Size())
        assert op.bytes_moved == touched
        assert staging.with_fp32_tiles(op) == op


REWRITES: dict[str, Callable[[Step], Step]] = {
    "accumulate": lambda step: memlab.accumulate(memlab.offload(step, "all")),
    "recompute": lambda step: memlab.recompute(step, "every", k=1),
}


@every_row("rewrite", REWRITES)
@every_row("format", ["fp16", "bf16"])
def test_a_step_that_computes_in_half_precision_still_does(format: str, rewrite: str) -> None:
    after = REWRITES[rewrite](step("branches", "adam", format=format))
    assert not any(map(staging.tiles, after.ops))


@every_row("rewrite", REWRITES)
@every_row("network", NETWORKS)
def test_what_runs_again_moves_what_it_moved(network: str, rewrite: str) -> None:
    """What adds to a sum reads it as well, and a batch norm reads what it wrote before."""
    after = REWRITES[rewrite](memlab.precision(step(network), "mixed bf16"))
    first = {op.name: op for op in after.ops}
    for op in after.ops:
        name = plain(op.name).removesuffix(" again")
        if name != op.name and len(op.writes) == len(first[name].writes):
            assert op.bytes_moved == first[name].bytes_moved, op.name
            assert _bytes(staging.tiles(op)) == _bytes(staging.tiles(first[name])), op.name


def _bytes(buffers: Mapping[str, Tensor]) -> list[Size]:
    return [each.size for each in buffers.values()]


@every_row(
    ("format", "expected"),
    [("fp64", False), ("fp32", False), ("tf32", True), ("bf16", True), ("fp8_e4m3fn", True),
     ("int64", False), ("uint8", False), ("bit", False)],
)  # fmt: skip
def test_only_small_floats_are_widened(format: str, expected: bool) -> None:
    assert staging.small(FORMATS[format]) == expected


def test_the_bytes_of_buffers() -> None:
    """The sizes of the cuts, by hand."""
    half = in_half("branches")
    workspace = {
        name: {operand.removesuffix(staging.SUFFIX): each.size for operand, each in found.items()}
        for name, found in ((op.name, staging.tiles(op)) for op in half.ops)
    }
    image, map_ = Size(4 * 3 * 63), Size(4 * 4 * 63)
    assert workspace["conv1"] == {
        "x": image, "weight": Size(4 * 4 * 27), "bias": Size(16), "y": map_,
    }  # fmt: skip
    assert workspace["relu1"] == dict.fromkeys("xy", Size(4 * 2**10))
    assert workspace["norm1"]["x"] == Size(0, 4 * 63)
    assert workspace["fc2"]["x"] == Size(0, 4 * 5)
    assert workspace["update of fc2"] == dict.fromkeys(
        ("gradient", "parameter", "first_moment", "second_moment"), Size(4 * 2**10)
    )


def test_a_sum_over_samples_has_a_buffer_for_one_of_them() -> None:
    op = named(in_half("branches"), "backward of conv2")
    ones = [name for name in staging.tiles(op) if staging.ONE in name]
    assert ones == ["dweight" + staging.ONE + staging.SUFFIX]


def test_no_buffer_grows_with_the_batch_where_values_or_samples_are_cut() -> None:
    for op in in_half("branches").ops:
        if op.attributes.get("cut") in (SplitAxis.VALUES, SplitAxis.SAMPLES, SplitAxis.PARAMETERS):
            assert all(BATCH not in each.axes for each in staging.tiles(op).values())


def test_large_things_are_cut() -> None:
    x = memlab.network("large", image=(2, 150, 150)).conv(600, 1).batch_norm().relu()
    large = x.max_pool("all").flatten().linear(700).linear(2).cross_entropy()
    half = memlab.precision(memlab.training_step(large), "bf16")
    tile = {op.name: op.attributes.get("tile") for op in half.ops}
    assert tile["norm1"] == 1
    assert tile["relu1"] == staging.MOST
    assert tile["fc1"] == staging.MATRIX // 600
    assert tile["fc2"] == 2
    assert tile["update of fc1"] == staging.MOST


@every_row("network", NETWORKS)
def test_bytes_moved_are_the_small_ones_and_those_through_the_buffers(network: str) -> None:
    """Of 4 bytes per value come 2, and 4 each into a buffer and out of it."""
    old, half = step(network, "adam"), in_half(network)
    for op, new in zip(old.ops, half.ops, strict=True):
        assert new.flops == op.flops
        through = 8 if staging.is_staged(new) else 0
        more = 0
        halved = {
            name for name, each in staging.operands(new).items() if staging.small(each.format)
        }
        for group, times in ((op.reads, 1), (op.writes, 1), (op.updates, 2)):
            for name in halved.intersection(group):
                more += (through - 2 * times) * group[name].size.at(8) // 4
        assert new.bytes_moved.at(8) == op.bytes_moved.at(8) + more


def test_an_update_says_what_belongs_to_each_parameter() -> None:
    small = memlab.eight_bit_states(memlab.precision(step("sums", "adam"), "mixed fp16"))
    weight, bias = named(memlab.accumulate(small, 2), "update of fc2").slots
    states = {name: f"fc2.bias.{name}" for name in ("first_moment", "second_moment")}
    scales = {name: f"{state}.scales" for name, state in states.items()}
    assert bias == UpdateSlot("fc2.bias", "gradient of fc2.bias", states, "fc2.bias.master", scales)
    assert weight.parameter == "fc2.weight"


def test_the_bits_of_a_mask_are_cut_by_samples() -> None:
    op = named(memlab.relu_masks(step("slices")), "relu1")
    assert staging.cut(op) is SplitAxis.SAMPLES
    assert staging.cut(replace(op, writes={"y": op.writes["y"]})) is SplitAxis.VALUES
