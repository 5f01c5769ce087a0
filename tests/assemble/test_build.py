"""The step that is built: what it keeps, where gradients meet, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab import InputError
from memlab.assemble.backward import Gradients
from memlab.layers.layer_kind import Passes
from memlab.networks.builder import network
from memlab.networks.graph import INPUT, Network
from memlab.optimizers import OPTIMIZERS
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor
from tests import operations_by_hand as by_hand
from tests.drawn import examples
from tests.joins_at_random import joined
from tests.networks_at_random import networks


def small() -> Network:
    x = network("small", image=(3, 8, 8)).conv(4, 3, pad="same").batch_norm().relu().max_pool(2)
    return x.dropout().flatten().linear(5).cross_entropy()


def named(step: Step, op: str) -> dict[str, list[str]]:
    """What an operation reads, writes and updates, by the names of the tensors."""
    found = next(each for each in step.ops if each.name == op)
    return {
        slot: [tensor.name for tensor in getattr(found, slot).values()]
        for slot in ("reads", "writes", "updates")
    }


def test_phases_come_in_order() -> None:
    phases = [op.phase for op in memlab.training_step(small()).ops]
    assert list(dict.fromkeys(phases)) == [Phase.FORWARD, Phase.LOSS, Phase.BACKWARD, Phase.UPDATE]


@pytest.mark.parametrize(
    ("op", "reads"),
    [
        ("backward of relu1", ["gradient of relu1", "relu1"]),
        (
            "backward of norm1",
            ["gradient of norm1", "conv1", "norm1.mean", "norm1.inverse_deviation", "norm1.weight"],
        ),
        ("backward of conv1", ["gradient of conv1", "input"]),
        ("backward of pool1", ["gradient of pool1", "pool1.indices"]),
        ("backward of dropout1", ["gradient of dropout1"]),
        ("backward of fc1", ["gradient of fc1", "flatten1", "fc1.weight"]),
        ("backward of loss", ["labels", "loss.probabilities"]),
    ],
)
def test_backward_reads_what_the_design_says(op: str, reads: list[str]) -> None:
    assert named(memlab.training_step(small()), op)["reads"] == reads


def test_the_first_layer_makes_no_gradient_of_the_input() -> None:
    step = memlab.training_step(small())
    assert not [t for op in step.ops for t in op.writes.values() if t.name == "gradient of input"]


def test_batch_norm_is_updated_with_its_convolution() -> None:
    step = memlab.training_step(small(), optimizer="adam")
    updated = named(step, "update of conv1")["updates"]
    assert [name for name in updated if "moment" not in name] == [
        "conv1.weight",
        "conv1.bias",
        "norm1.weight",
        "norm1.bias",
    ]
    assert len(updated) == 3 * 4


def test_flatten_is_a_view() -> None:
    step = memlab.training_step(small())
    flat = next(op for op in step.ops if op.name == "fc1").reads["x"]
    assert flat.storage.name == "dropout1"
    assert flat.shape(7) == (7, 64)


def test_concat_hands_its_gradient_on_as_slices() -> None:
    x = network("cat", image=(2, 4, 4)).conv(3, 1, name="a")
    both = x.relu(name="b").concat(x.tanh(name="c"), name="both")
    step = memlab.training_step(both.flatten().linear(2).cross_entropy())
    slices = [
        next(op for op in step.ops if op.name == f"backward of {n}").reads["dy"] for n in "bc"
    ]
    assert [s.storage.name for s in slices] == ["gradient of flatten1"] * 2
    assert [(s.offset, s.pitch, s.size.per_sample) for s in slices] == [
        (0, 384, 192),
        (192, 384, 192),
    ]


def test_a_shortcut_adds_in_place_when_nobody_else_reads() -> None:
    x = network("block", image=(2, 4, 4)).conv(2, 1).relu(name="x")
    y = x.conv(2, 3, pad=1, name="c").batch_norm(name="n").add(x).relu()
    step = memlab.training_step(y.flatten().linear(2).cross_entropy())
    assert named(step, "backward of c")["updates"] == ["gradient of x"]
    direct = memlab.training_step(x_plus_function_of_itself())
    assert named(direct, "backward of f")["writes"] == ["gradient of x, sum 1"]


def x_plus_function_of_itself() -> Network:
    """The one case where the sum cannot go in place: f reads the very storage it would add to."""
    x = network("itself", image=(2, 4, 4)).conv(2, 1).relu(name="x")
    return x.tanh(name="f").add(x).flatten().linear(2).cross_entropy()


def x_plus_two_functions_of_itself() -> Network:
    """The sum at x happens while another view of the storage is still to be read."""
    x = network("itself", image=(2, 4, 4)).conv(2, 1).relu(name="x")
    early = x.tanh(name="early")
    return early.add(x.tanh(name="late"), x).flatten().linear(2).cross_entropy()


def expected_gradients(net: Network, drawn: dict[str, int]) -> dict[str, np.ndarray]:
    """The gradient of every output, from the graph alone, where each operation hands back one
    drawn number per value."""
    expected: dict[str, np.ndarray] = {}
    for node in reversed(net.nodes[:-1]):
        total = np.zeros(int(np.prod(node.shape)), np.int64)
        for user in net.nodes:
            start = 0
            for source, shape in zip(user.inputs, user.input_shapes, strict=True):
                count = int(np.prod(shape))
                if source == node.name and user.row.passes is not Passes.COMPUTED:
                    total += expected[user.name][start : start + count]
                elif source == node.name:
                    total += drawn[user.name]
                start += count if user.kind == "concat" else 0
        expected[node.name] = total
    return expected


def check_gradients(net: Network) -> None:
    """Walk backward on numbers that stand for contributions: a sum that lands in the wrong
    storage, is overwritten or is counted twice gives another number."""
    rng = np.random.default_rng(0)
    drawn = {node.name: int(rng.integers(1, 10**9)) for node in net.nodes}
    expected, checked = expected_gradients(net, drawn), set()
    memory: dict[str, np.ndarray] = {}

    def view(tensor: Tensor) -> np.ndarray:
        whole = np.zeros((tensor.pitch or tensor.per_sample) // 4, np.int64)
        whole = memory.setdefault(tensor.storage.name, whole)
        return whole[tensor.offset // 4 :][: tensor.per_sample // 4]

    for op in memlab.training_step(net).ops:
        if op.phase is not Phase.BACKWARD:
            continue
        given = view(op.reads["dy"]).copy() if op.kind == "accumulate" else drawn[op.layer]
        if op.kind != "accumulate" and "dy" in op.reads:
            assert (view(op.reads["dy"]) == expected[op.layer]).all(), op.name
            checked.add(op.layer)
        if "dx" in op.updates:
            view(op.updates["dx"])[:] += given
        elif "dx" in op.writes:
            there = view(op.reads["addend"]) if "addend" in op.reads else 0
            view(op.writes["dx"])[:] = there + given
    assert checked >= {node.name for node in net.nodes if node.parameters}


@given(networks())
@examples(150)
def test_every_gradient_is_the_sum_of_its_contributions(net: Network) -> None:
    check_gradients(net)


def test_the_check_sees_a_sum_in_the_wrong_place(monkeypatch: pytest.MonkeyPatch) -> None:
    check_gradients(x_plus_function_of_itself())
    monkeypatch.setattr(Gradients, "may_add", lambda self, name, reads: True)
    with pytest.raises(AssertionError):
        check_gradients(x_plus_two_functions_of_itself())


def test_a_gradient_may_come_back_to_a_storage_that_it_has_left() -> None:
    """A first view of it was added up elsewhere; what is there now is another part of it."""
    x = network("m", features=3)
    f = x.linear(3, bias=False)
    first = f.add(x)
    second = f.add(first)
    net = second.add(f, first, second.relu()).squared_error()
    check_gradients(net)
    step = memlab.training_step(net, "sgd")
    read = [op.reads["dy"] for op in step.ops if op.kind == "accumulate" and op.layer == "fc1"]
    assert [part.name for part in read] == [
        "gradient of fc1 by input 0 of add2",
        "gradient of fc1 by input 0 of add1",
    ]
    assert read[1].storage.name == "gradient of add3"


@pytest.mark.parametrize("seed", range(100))
def test_gradients_that_meet_again_and_again_are_sums(seed: int) -> None:
    check_gradients(joined(seed))


@pytest.mark.parametrize(("inner", "last"), [("fc1", "loss.probabilities"), ("norm.mean", "fc2")])
def test_a_layer_named_as_a_block_of_another_gives_one_sentence(inner: str, last: str) -> None:
    """Their bytes are the same too, so one would be computed over the other."""
    x = network("m", sequence=(1, 4)).layer_norm(name="norm").linear(1, name=inner)
    net = x.flatten().linear(3, name=last).cross_entropy()
    with pytest.raises(InputError, match=r"two blocks of memory are named '\w+\.\w+'; rename a"):
        memlab.training_step(net)


@given(networks(), st.sampled_from(sorted(OPTIMIZERS)), st.sampled_from(["fp64", "fp32", "bf16"]))
@examples(60)
def test_state_and_gradients_match_the_parameters(
    net: Network, optimizer: str, format: str
) -> None:
    step = memlab.training_step(net, optimizer, format)
    item = {"fp64": 8, "fp32": 4, "bf16": 2}[format]
    born = [t for op in step.ops for t in op.writes.values() if t.role is Role.PARAMETER_GRADIENT]
    state = [t for t in step.live_in if t.role is Role.OPTIMIZER_STATE]
    slots = by_hand.STATES[optimizer]
    assert sum(t.size.fixed for t in born) == item * net.parameters
    assert sum(t.size.fixed for t in state) == item * net.parameters * slots
    assert not any(t.role is Role.PARAMETER_GRADIENT for t in step.live_out)
    kept = step.keep("gradients").live_out
    assert sum(t.role is Role.PARAMETER_GRADIENT for t in kept) == len(born)


def test_inference_keeps_nothing_and_reads_no_labels() -> None:
    step = memlab.inference_step(small())
    assert [t.name for t in step.live_in if t.role is Role.INPUT] == [INPUT]
    assert not any(
        "indices" in t.name or "mean" in t.name for op in step.ops for t in op.writes.values()
    )
    assert all(op.pure for op in step.ops)
    assert step.live_out[-1].name == "prediction"


def test_flops_of_a_linear_layer_are_exact() -> None:
    net = network("one", features=3).tanh().linear(5).squared_error()
    forward = next(op for op in memlab.training_step(net).ops if op.name == "fc1")
    assert forward.flops == Size(0, 2 * 3 * 5 + 5)
    assert forward.bytes_moved == Size(4 * (15 + 5), 4 * (3 + 5))


@pytest.mark.parametrize(("variant", "published"), [("v1", 3.86), ("v1.5", 4.09)])
def test_flops_of_resnet50_match_the_published_count(variant: str, published: float) -> None:
    """He et al. 2015, table 1, cut 3.86e9 multiply-adds (convolutions and fc, v1) down to 3.8e9;
    torchvision's page of ``resnet50`` says 4.09."""
    step = memlab.training_step(memlab.zoo.resnet50(variant=variant))
    forward = [
        op for op in step.ops if op.phase is Phase.FORWARD and op.kind in ("conv2d", "linear")
    ]
    assert round(sum(op.flops.per_sample for op in forward) / 2e9, 2) == published


def test_workspace_is_one_image_per_thread_and_none_for_pointwise() -> None:
    net = (
        network("ws", image=(3, 8, 8))
        .conv(4, 3, pad=1)
        .conv(4, 1)
        .flatten()
        .linear(2)
        .cross_entropy()
    )
    one, two = (memlab.training_step(net, threads=n) for n in (1, 2))
    sizes = [[t.size.fixed for t in op.workspace.values()] for op in one.ops]
    assert sizes[0] == [3 * 9 * 64 * 4]
    assert sizes[1] == []
    assert two.ops[0].workspace["workspace"].size.fixed == 2 * sizes[0][0]
    assert one.ops[0].bytes_moved == two.ops[0].bytes_moved
    direct = memlab.training_step(net, algorithm="direct")
    assert not any(op.workspace for op in direct.ops)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"optimizer": "adamw"}, "did you mean 'adam'"),
        ({"format": "fp31"}, "unknown format 'fp31'"),
        ({"format": "int8"}, "cannot be stored in int8"),
        ({"algorithm": "im2row"}, "unknown algorithm"),
        ({"threads": 0}, "threads must be at least 1"),
    ],
)
def test_bad_options_give_one_sentence(options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        memlab.training_step(small(), **options)  # type: ignore[arg-type]  # wrong on purpose
    assert "\n" not in str(caught.value)


def test_a_read_before_a_write_is_refused() -> None:
    step = memlab.training_step(small())
    with pytest.raises(InputError, match="before anything writes it"):
        Step(step.ops[1:], step.live_in, step.live_out)
