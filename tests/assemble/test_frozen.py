"""Steps of which a part learns: what is computed, kept and updated, as in the whole step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab.errors import InputError
from memlab.layers import LAYERS
from memlab.layers import algorithms as conv_algorithms
from memlab.networks.graph import Network
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.tensor import Role
from tests.drawn import examples
from tests.kernels_by_case import distance
from tests.oracles.requirement import torch_or_skip
from tests.rows import every_row
from tests.runtime.test_transformers import EXACT, HEADS, inputs, shaken, small
from tests.runtime.test_transformers import LAYERS as DEPTH
from tests.staged_networks import NETWORKS

BATCH = 3
WHOLE = {name: net for name, net in NETWORKS.items() if not net.frozen}
"""The networks in which all layers learn."""
OWNERS = {name: [n.name for n in net.nodes if n.parameters] for name, net in WHOLE.items()}


def chain() -> Network:
    """Two convolutions with a ReLU between them, and a head."""
    x = memlab.network("chain", image=(2, 5, 5)).conv(3, 3, name="a").relu(name="r")
    return x.conv(4, 3, name="b").relu(name="s").flatten().linear(3, name="head").cross_entropy()


def normed_chain() -> Network:
    """The same with a batch norm behind the second convolution."""
    x = memlab.network("chain", image=(2, 5, 5)).conv(3, 3, name="a").relu(name="r")
    x = x.conv(4, 3, name="b").batch_norm(name="n").relu(name="s")
    return x.flatten().linear(3, name="head").cross_entropy()


def step_of(*layers: str, **options: Any) -> Step:
    return memlab.training_step(memlab.freeze(chain(), *layers), "adam", **options)


def named(step: Step, name: str) -> Op:
    return next(op for op in step.ops if op.name == name)


# -- what there is ---------------------------------------------------------------------------


def test_a_frozen_layer_has_no_gradient_no_state_and_no_update() -> None:
    step = step_of("b")
    tensors = {t.name: t.role for op in step.ops for t in op.touched()}
    of_b = {name for name in tensors if name.startswith(("b.", "gradient of b."))}
    assert of_b == {"b.weight", "b.bias"}
    assert [op.name for op in step.ops if op.phase is Phase.UPDATE] == [
        "update of a",
        "update of head",
    ]
    assert {"b.weight", "b.bias"} <= {t.name for t in step.live_in} & {
        t.name for t in step.live_out
    }


def test_backward_passes_through_a_frozen_layer_without_its_input() -> None:
    op = named(step_of("b"), "backward of b")
    assert (list(op.reads), list(op.writes), list(op.updates)) == (["dy", "weight"], ["dx"], [])
    whole = named(memlab.training_step(chain()), "backward of b")
    assert list(whole.reads) == ["dy", "x", "weight"]
    products, of_the_bias = 2 * 4 * 3 * 9, 4
    assert whole.flops.per_sample - op.flops.per_sample == products + of_the_bias


def test_backward_ends_where_nothing_in_front_learns() -> None:
    step = step_of("a", "b")
    assert [op.name for op in step.ops if op.phase is Phase.BACKWARD] == [
        "backward of loss",
        "backward of head",
    ]
    gradients = [t for op in step.ops for t in op.writes.values() if t.role is Role.GRADIENT_MAP]
    assert [t.name for t in gradients] == ["gradient of head"]


def test_a_map_that_was_kept_to_learn_alone_dies_in_forward() -> None:
    """A GELU keeps its input, so that its output waits for the weights of the next layer alone."""
    x = memlab.network("gelus", tokens=4, vocabulary=6).embedding(6, name="table").gelu(name="g")
    net = x.linear(6, name="fc1").gelu(name="h").linear(6, name="fc2").cross_entropy()
    for frozen, dies in (((), "backward of fc1"), (("fc1",), "fc1")):
        step = memlab.training_step(memlab.freeze(net, *frozen) if frozen else net, "sgd")
        assert step.ops[step.lifetimes["g"].death].name == dies


def test_parameters_that_are_shared_are_frozen_together() -> None:
    tokens = WHOLE["tokens"]
    for name in ("embedding", "scores"):
        frozen = memlab.freeze(tokens, name)
        assert frozen.frozen == {"embedding"}
        step = memlab.training_step(frozen, "sgd")
        assert "update of embedding" not in [op.name for op in step.ops]
        assert "dweight" not in named(step, "backward of scores").writes


def test_a_frozen_batch_norm_moves_its_statistics() -> None:
    x = memlab.network("normed", features=4).linear(5).batch_norm(name="n").linear(2)
    net = memlab.freeze(x.cross_entropy(), "fc1", "n")
    step = memlab.training_step(net)
    assert set(named(step, "n").updates) == {"running_mean", "running_var"}
    assert step.lifetimes["n.mean"].birth == step.lifetimes["n.mean"].death


def test_the_step_says_what_is_frozen() -> None:
    assert step_of("a", "b").notes == ("2 of 3 layers frozen",)
    assert step_of("a", autograd=True).notes[-1] == "kept as by PyTorch's autograd"
    assert memlab.inference_step(memlab.freeze(chain(), "a")).notes == ()


def test_an_inference_is_the_same() -> None:
    for name, net in WHOLE.items():
        frozen = memlab.freeze(net, OWNERS[name][0])
        assert memlab.inference_step(frozen).ops == memlab.inference_step(net).ops


def test_a_network_of_which_nothing_learns_is_not_trained() -> None:
    with pytest.raises(InputError) as refused:
        step_of("*")
    assert str(refused.value) == (
        "every layer of 'chain' is frozen, so no step trains it; freeze fewer, or try "
        "memlab.inference_step(network)."
    )
    memlab.plan(memlab.inference_step(memlab.freeze(chain(), "*")))


# -- runs ------------------------------------------------------------------------------------


@st.composite
def part_frozen(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A network, and some of its layers but not all."""
    name = draw(st.sampled_from([name for name, owners in OWNERS.items() if len(owners) > 1]))
    owners = OWNERS[name]
    return name, draw(
        st.lists(st.sampled_from(owners), unique=True, min_size=1, max_size=len(owners) - 1)
    )


@pytest.mark.measures
@given(part_frozen(), st.sampled_from(["sgd", "momentum", "adam"]), st.booleans())
@examples(30)
def test_what_learns_has_the_gradients_of_the_whole_step(
    drawn: tuple[str, list[str]], optimizer: str, autograd: bool
) -> None:
    """Bit for bit, and its update too; the frozen values stay."""
    name, layers = drawn
    frozen = memlab.freeze(WHOLE[name], *layers)
    whole = memlab.run(memlab.training_step(WHOLE[name], optimizer), BATCH, keep="gradients")
    step = memlab.training_step(frozen, optimizer, autograd=autograd)
    run = memlab.run(step, BATCH, keep="gradients")
    assert run.residual == 0
    assert run.loss == whole.loss
    learned = {f"gradient of {n.name}.{a.name}" for n in frozen.nodes for a in n.parameters
               if n.name not in frozen.frozen}  # fmt: skip
    assert set(run.gradients) == learned
    for key, gradient in run.gradients.items():
        np.testing.assert_array_equal(gradient, whole.gradients[key])
    before = memlab.run(memlab.training_step(WHOLE[name], "sgd"), BATCH, settings={"rate": 0})
    for key, value in run.parameters.items():
        source = (
            before if key.rpartition(".")[0] in frozen.frozen and "running" not in key else whole
        )
        np.testing.assert_array_equal(value, source.parameters[key])


@pytest.mark.measures
@every_row("algorithm", conv_algorithms.on("cpu"))
def test_every_algorithm_passes_gradients_through_a_frozen_convolution(algorithm: str) -> None:
    first, second = (
        memlab.run(memlab.training_step(net, "sgd", algorithm=algorithm), BATCH, keep="gradients")
        for net in (chain(), memlab.freeze(chain(), "b"))
    )
    assert second.residual == 0
    assert set(second.gradients) < set(first.gradients)
    for key, gradient in second.gradients.items():
        np.testing.assert_array_equal(gradient, first.gradients[key])


@pytest.mark.measures
@pytest.mark.parametrize("algorithm", ["im2col-image", "implicit-gemm", "direct"])
def test_a_gpu_does_so_too(algorithm: str) -> None:
    x = memlab.network("small", image=(2, 4, 4)).conv(2, 1).batch_norm().relu()
    x = x.conv(3, 2, name="b").batch_norm(name="n").flatten().linear(4, name="f").relu()
    net = x.linear(2).cross_entropy()
    first, second = (
        memlab.run(
            memlab.training_step(each, "sgd", algorithm=algorithm), 2, keep="gradients",
            device="cuda",
        )
        for each in (net, memlab.freeze(net, "b", "n", "f"))
    )  # fmt: skip
    assert second.residual == 0
    for key, gradient in second.gradients.items():
        np.testing.assert_array_equal(gradient, first.gradients[key])


# -- as PyTorch keeps it ---------------------------------------------------------------------


def test_a_frozen_convolution_holds_its_input_as_in_pytorch() -> None:
    ideal, kept = step_of("b"), step_of("b", autograd=True)
    assert named(kept, "backward of b").holds.keys() == {"x"}
    assert not any(op.holds for op in ideal.ops)
    assert memlab.release(kept).ops == ideal.ops
    held = {t.name for op in kept.ops for t in op.holds.values()}
    assert held == {"r"}
    whole = memlab.training_step(chain(), "adam", autograd=True)
    assert whole == memlab.training_step(chain(), "adam")


def kept_bytes(step: Step, batch: int) -> int:
    """Bytes of the maps, inputs and labels that wait for backward when the loss is known."""
    last = next(n for n, op in enumerate(step.ops) if op.phase is Phase.LOSS)
    return sum(
        life.size.at(batch)
        for life in step.lifetimes.values()
        if life.birth <= last < life.death < len(step.ops)
        and life.role in (Role.FEATURE_MAP, Role.INPUT)
    )


FREEZES: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "the table": ("embedding",),
    "norms": ("*norm*",),
    "the first layer": ("embedding", "positions", "1.*"),
    "the second layer": ("2.*",),
    "linear layers": ("*.qkv", "*.project", "*.fc?"),
}


def as_tensors(net: Network) -> tuple[dict[str, Any], Any, Any]:
    """Random parameters of PyTorch, of which some learn; the input; and labels in a line."""
    torch = torch_or_skip()
    parameters = {
        key: torch.tensor(value, requires_grad=key.rpartition(".")[0] not in net.frozen)
        for key, value in shaken(net).items()
    }
    x, labels = map(torch.tensor, inputs(net))
    return parameters, x, labels.flatten()


def transformer_keeps_what_pytorch_saves(net: Network) -> bool:
    """Whether the maps that wait for backward have as many bytes."""
    parameters, x, labels = as_tensors(net)
    from tests.oracles.saved_tensors import saved_bytes
    from tests.oracles.transformers import gpt2

    def forward() -> Any:
        scores = gpt2(parameters, x, DEPTH, HEADS).flatten(0, -2)
        return torch_or_skip().nn.functional.cross_entropy(scores, labels)

    step = memlab.training_step(net, "sgd", "fp64", autograd=True)
    return kept_bytes(step, len(x)) == saved_bytes(forward, parameters.values())


@pytest.mark.measures
@pytest.mark.parametrize("name", FREEZES)
def test_a_transformer_keeps_what_pytorch_saves(name: str) -> None:
    net, layers = small("gpt2", "fused"), FREEZES[name]
    assert transformer_keeps_what_pytorch_saves(memlab.freeze(net, *layers) if layers else net)


@pytest.mark.measures
def test_adapters_keep_what_pytorch_saves() -> None:
    layers = ("*.q", "*.v", "*.fc2")
    assert transformer_keeps_what_pytorch_saves(memlab.lora(small("gpt2", "fused"), 2, 3, layers))


@pytest.mark.measures
@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("layers", [(), ("a",), ("b",), ("a", "b"), ("head",), ("b", "head")])
def test_a_convolution_keeps_what_pytorch_saves(layers: tuple[str, ...], normed: bool) -> None:
    """With ``normed`` a batch norm follows the second convolution, frozen if that is."""
    net = normed_chain() if normed else chain()
    frozen = (*layers, "n") if normed and "b" in layers else layers
    net = memlab.freeze(net, *frozen) if frozen else net
    p, x, labels = as_tensors(net)
    from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it

    from tests.oracles.saved_tensors import saved_bytes

    mean, variance = (torch_or_skip().ones(4, dtype=x.dtype) for _ in range(2))

    def forward() -> Any:
        y = F.conv2d(x, p["a.weight"], p["a.bias"]).relu()
        y = F.conv2d(y, p["b.weight"], p["b.bias"])
        if normed:
            y = F.batch_norm(y, mean, variance, p["n.weight"], p["n.bias"], training=True)
        y = y.relu().flatten(1)
        return F.cross_entropy(F.linear(y, p["head.weight"], p["head.bias"]), labels)

    step = memlab.training_step(net, "sgd", "fp64", autograd=True)
    assert kept_bytes(step, len(x)) == saved_bytes(forward, [*p.values(), mean, variance])


# -- adapters --------------------------------------------------------------------------------


@pytest.mark.measures
@pytest.mark.parametrize("attention", ["matrix", "fused"])
@pytest.mark.parametrize("layers", [("*.q", "*.v"), ("*.qkv", "*.fc?"), ("*.project",)])
def test_gradients_of_adapters_are_those_of_pytorch(
    attention: str, layers: tuple[str, ...]
) -> None:
    torch = torch_or_skip()
    from tests.oracles.transformers import ALPHA, gpt2

    net = memlab.lora(small("gpt2", attention), 2, ALPHA, layers)
    values, (x, labels) = shaken(net), inputs(net)
    step = memlab.training_step(net, "sgd", "fp64")
    run = memlab.run(step, BATCH, x, labels, values, settings={"rate": 0}, keep="gradients")
    theirs = {key: torch.tensor(value, requires_grad=True) for key, value in values.items()}
    scores = gpt2(theirs, torch.tensor(x), DEPTH, HEADS).flatten(0, -2)
    loss = torch.nn.functional.cross_entropy(scores, torch.tensor(labels).flatten())
    loss.backward()
    assert run.residual == 0
    assert run.loss == pytest.approx(loss.item(), rel=EXACT)
    adapters = {key for key in theirs if key.endswith((".A.weight", ".B.weight"))}
    assert set(run.gradients) == {f"gradient of {key}" for key in adapters}
    for key in adapters:
        assert distance(run.gradients[f"gradient of {key}"], theirs[key].grad.numpy()) < EXACT, key


@pytest.mark.measures
def test_an_adapter_changes_nothing_before_it_learns() -> None:
    """``B`` begins at 0: loss and output are those of the network without it."""
    plain, adapted = WHOLE["tokens"], memlab.lora(WHOLE["tokens"], 2, layers=("*",))
    first, second = (
        memlab.run(memlab.training_step(net, "sgd"), BATCH) for net in (plain, adapted)
    )
    assert second.loss == first.loss
    assert second.residual == 0


def test_the_gradient_of_the_first_input_is_that_of_the_output() -> None:
    net = memlab.lora(WHOLE["tokens"], 2, layers=("*.fc1",))
    again = memlab.training_step(memlab.lora(small("gpt2"), 2))
    op = named(again, "backward of 2.qkv.B")
    assert set(op.writes) == {"dweight", "dx1"}
    assert named(again, "backward of 2.qkv").reads["dy"].storage == op.reads["dy"].storage
    assert "backward of 1.fc1" not in [op.name for op in memlab.training_step(net).ops]


def test_the_networks_that_are_tried_have_every_kind_that_learns() -> None:
    kinds = {node.kind for net in NETWORKS.values() for node in net.nodes if node.parameters}
    assert kinds == {kind for kind, layer in LAYERS.items() if "parameters" in vars(layer)}


# -- a base in 8 bits ------------------------------------------------------------------------


def test_a_base_in_8_bits_has_a_byte_for_each_weight_and_a_scale_for_each_row() -> None:
    """The matrices of GPT-2's layers; table, positions, norms and biases stay in fp32."""
    adapted = memlab.lora(memlab.zoo.gpt2(attention="fused"))
    plain = memlab.training_step(adapted, "adam")
    step = memlab.training_step(adapted, "adam", eight_bit_base=True)
    matrices, rows = 12 * 12 * 768**2, 12 * (3 + 1 + 4 + 1) * 768
    of_plain, of_step = (memlab.plan(each).roles(8)[Role.PARAMETER] for each in (plain, step))
    assert of_plain - of_step == 3 * matrices - 4 * rows
    assert step.notes[-1] == "8-bit base (planned, not run)"


def test_one_weight_at_a_time_is_wide() -> None:
    net = memlab.lora(WHOLE["tokens"], 2)
    step = memlab.training_step(net, "sgd", eight_bit_base=True)
    for name in ("1.qkv", "backward of 1.fc2"):
        op = named(step, name)
        assert op.reads["weight"].format.name == "int8"
        assert op.reads["scales"].shape(1) == op.reads["weight"].shape(1)[:1]
        (wide,) = op.workspace.values()
        assert (wide.axes, wide.format.name) == (op.reads["weight"].axes, "fp32")
    assert "scales" not in named(step, "scores").reads
    assert named(step, "scores").reads["weight"].format.name == "fp32"


def test_a_base_in_8_bits_is_planned_and_not_run() -> None:
    step = memlab.training_step(memlab.lora(WHOLE["tokens"], 2), eight_bit_base=True)
    for rewritten in (step, memlab.recompute(step, "every"), memlab.in_place(step)):
        memlab.plan(rewritten)
        with pytest.raises(InputError) as refused:
            memlab.run(rewritten, BATCH)
        assert str(refused.value) == (
            "an 8-bit base is planned and not run; leave it out to run the step."
        )


@pytest.mark.parametrize("mode", ["bf16", "mixed fp16"])
def test_scales_stay_in_fp32_where_all_else_is_small(mode: str) -> None:
    step = memlab.training_step(memlab.lora(WHOLE["tokens"], 2), "adam", eight_bit_base=True)
    op = named(memlab.precision(step, mode), "1.qkv")
    formats = {name: tensor.format.name for name, tensor in op.reads.items()}
    small = mode.removeprefix("mixed ")
    assert formats == {"x": small, "weight": "int8", "bias": small, "scales": "fp32"}


@pytest.mark.parametrize("net", [WHOLE["tokens"], memlab.freeze(WHOLE["branches"], "conv1")])
def test_a_base_in_8_bits_is_made_of_frozen_linear_layers(net: Network) -> None:
    with pytest.raises(InputError, match="an 8-bit base is made of frozen linear layers, and "):
        memlab.training_step(net, eight_bit_base=True)


def test_the_figures_of_gpt2() -> None:
    """LoRA of rank 16 on q and v, 8 texts of 1,024 tokens, fused attention, Adam (see the notes of
    the drawing): less than by hand by the input of the first norm, which no gradient passes, and
    its statistics."""
    whole = memlab.zoo.gpt2(attention="fused")
    adapted = memlab.lora(whole)
    full, lora, small = (
        memlab.plan(memlab.training_step(net, "adam", eight_bit_base=small))
        for net, small in ((whole, False), (adapted, False), (adapted, True))
    )
    assert [ledger.peak(8) for ledger in (full, lora, small)] == [
        9_675_578_372,
        7_139_308_548,
        6_884_836_356,
    ]
    values = 8 * 1024 * 768 * 4
    gone = 12 * 5 * values + values  # norm2 and gelu of each layer, the last norm
    statistics = 2 * 4 * 8 * 1024
    kept = 12 * 8 * 1024 * 2 * 16 * 4  # A x
    maps = [ledger.roles(8)[Role.FEATURE_MAP] for ledger in (full, lora)]
    assert maps[0] - maps[1] == gone - kept + values + statistics


def test_an_adapter_of_which_one_half_learns_computes_that_half_alone() -> None:
    adapted = memlab.lora(memlab.zoo.gpt_small(64, layers=1), 4)
    whole, half = (_of_b(net) for net in (adapted, memlab.freeze(adapted, "*.A")))
    assert {*whole.writes} == {"dweight", "dx1"}
    assert {*half.writes} == {"dweight"}
    layer = adapted.by_name["1.qkv.B"]
    assert half.flops == layer.flops.weights
    assert whole.flops.per_sample == half.flops.per_sample + layer.flops.input.per_sample


def _of_b(network: Network) -> Op:
    """Return the backward operation of the second half of the first adapter."""
    step = memlab.training_step(network, "adam")
    return next(op for op in step.ops if op.name == "backward of 1.qkv.B")


def test_no_operation_computes_what_nobody_reads() -> None:
    """Where the base alone learns, backward hands the gradient on through its frozen adapter."""
    step = _with_a_frozen_adapter()
    assert all(op.writes or op.updates for op in step.ops)
    assert not any(op.name == "backward of 1.qkv.B" for op in step.ops)


@pytest.mark.measures
def test_a_frozen_adapter_runs_to_the_byte_and_gives_the_gradients_of_its_base() -> None:
    run = memlab.run(_with_a_frozen_adapter().keep("gradients"), 2)
    assert run.residual == 0
    assert {*run.gradients} == {"gradient of 1.qkv.weight", "gradient of 1.qkv.bias"}


def _with_a_frozen_adapter() -> Step:
    """Return a step in which one linear layer learns, and all else, adapters too, is frozen."""
    adapted = memlab.lora(memlab.zoo.gpt_small(64, layers=1), 4)
    owners = frozenset(node.name for node in adapted.nodes if node.parameters)
    return memlab.training_step(replace(adapted, frozen=owners - {"1.qkv"}), "adam")
