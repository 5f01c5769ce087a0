"""Values of the table of claims about transformers: their layers, their loss and their model state,
planned, in the terms of the texts (F2, F4, F5, F7 to F10)."""

from __future__ import annotations

from math import prod

import memlab
from memlab import formats
from memlab.claims.plan_values import per_parameter
from memlab.claims.pytorch_steps import eager_cross_entropy, gated_block
from memlab.networks import language_models
from memlab.networks.graph import Network
from memlab.networks.language_models import LanguageModel
from memlab.networks.zoo import transformers
from memlab.placement import caching_allocator
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.tensor import Role

MODELS = transformers.MODELS
LAYER = "1"
_MATRICES = (f"{LAYER}.softmax", f"{LAYER}.softmax.drop")
_ATTENTION = (*_MATRICES, f"{LAYER}.qkv", f"{LAYER}.values", f"{LAYER}.attention")
"""With what they write beside their output: the log-sum-exp of a fused one."""


def layer_of(model: str) -> Network:
    """Return one layer of a published model as a network that can be planned, with the s tokens, h
    features and a heads of ``MODELS``."""
    s, h, a = MODELS[model]
    return memlab.zoo.gpt2(steps=s, layers=1, features=h, heads=a)


def layer_bytes(network: Network) -> int:
    """Return the planned bytes that a layer keeps for backward at 16 bits, for one sequence: with 1
    byte per value of a dropout mask, and without the statistics of layer norm (F4)."""
    matrices, rest = _kept(network)
    return matrices + rest


def attention_term(network: Network) -> float:
    """Feature-map values of the matrices of attention, in units of tokens times features (F4: 5 a s
    / h)."""
    matrices, _ = _kept(network)
    return matrices / prod(network.by_name[f"{LAYER}.norm1"].shape)


def selective_saving(network: Network) -> float:
    """Return the share of a layer's bytes that is saved when the attention matrices are recomputed
    (F4)."""
    matrices, rest = _kept(network)
    return matrices / (matrices + rest)


def fused_ratio(steps: int, features: int) -> float:
    """Return the planned bytes that unfused attention with one head keeps, divided by those that
    fused attention keeps. Queries, keys and values are included, and dropout is not (F5)."""
    matrix, fused = (
        memlab.zoo.gpt2(steps, layers=1, features=features, heads=1, dropout=0, attention=way)
        for way in ("matrix", "fused")
    )
    return _attention(matrix) / _attention(fused)


def eager_loss(vocabulary: int, steps: int, batch: int) -> int:
    """Return the planned peak of PyTorch's eager cross-entropy in bytes, with its blocks rounded up
    as PyTorch's allocator does (F7)."""
    ledger = memlab.plan(eager_cross_entropy(steps, vocabulary))
    return caching_allocator.simulate(ledger, batch).rounded


def scores_in_loss(vocabulary: int, steps: int, batch: int) -> float:
    """Return the most arrays as large as the scores that memlab's own step of a small GPT holds at
    a time (F7)."""
    network = memlab.zoo.gpt_small(steps, layers=1, vocabulary=vocabulary)
    ledger = memlab.plan(memlab.training_step(network, "sgd"))
    scores = formats.find("fp32").nbytes(batch * prod(network.by_name["scores"].shape))
    sizes = ([e.size.at(batch) for e in ledger.alive(op)] for op in range(len(ledger.rows)))
    return max(alive.count(scores) for alive in sizes)


def block_bytes(steps: int, features: int, heads: int, blocks: int, batch: int) -> int:
    """Return the planned bytes that gated blocks of compiled PyTorch keep for backward (F8)."""
    alive = _kept_maps(gated_block(steps, features, heads, blocks), batch)
    return sum(alive.values())


def plain_block_bytes(steps: int, features: int, heads: int, batch: int) -> int:
    """Return the planned bytes that a layer of GPT-2's kind keeps for backward, without dropout
    (F8)."""
    network = memlab.zoo.gpt2(steps, layers=1, features=features, heads=heads, dropout=0)
    alive = _kept_maps(memlab.training_step(network, "sgd"), batch)
    return sum(size for name, size in alive.items() if name.startswith(f"{LAYER}."))


def gpt2_xl(attention: transformers.Attention = "matrix") -> Step:
    """Return a training step of the largest GPT-2, with Adam in mixed precision of 16 bits (F2)."""
    network = memlab.zoo.gpt2(layers=48, features=1600, heads=25, attention=attention)
    return memlab.precision(memlab.training_step(network, "adam"), "mixed fp16")


def cache_bytes(layers: int, features: int, heads: int, tokens: int, format: str) -> int:
    """Return the bytes of keys and values that a model keeps of a text (F9)."""
    return _model(layers, features, heads, 4 * features).cache(1, tokens, format)


def llama_state(layers: int, features: int, heads: int, inner: int) -> int:
    """Return the bytes that training a Llama of that size takes for parameters and gradients in 16
    bits and the states of Adam in fp32 (F10)."""
    count = _model(layers, features, heads, inner).parameters
    halves = memlab.training_step(memlab.zoo.mnist_cnn(), "adam", format="bf16")
    plain = memlab.training_step(memlab.zoo.mnist_cnn(), "adam")
    roles = (Role.PARAMETER, Role.PARAMETER_GRADIENT)
    states = per_parameter(plain, Role.OPTIMIZER_STATE)
    return round(count * (per_parameter(halves, *roles) + states))


def _model(layers: int, features: int, heads: int, inner: int) -> LanguageModel:
    """Return a model with the layers of Llama and its first vocabulary."""
    vocabulary = language_models.find("llama2_7b").vocabulary
    return LanguageModel("claimed", "", layers, features, heads, heads, inner, vocabulary,
                         positions=0, tied=False, source="")  # fmt: skip


def _attention(network: Network) -> int:
    kept = _alive(network, "fp32")
    return sum(size for name, size in kept.items() if name.startswith(_ATTENTION))


def _kept(network: Network) -> tuple[int, int]:
    """Return the bytes of the attention matrices, and of everything else that a layer keeps."""
    kept = _alive(network, "fp16")
    there = network.by_name[f"{LAYER}.norm1"].inputs[0]
    names = {node.name for node in network.nodes if node.name.startswith(f"{LAYER}.")}
    own = (names - {f"{LAYER}.add2"}) | {there}  # the sum is the input of the next layer
    sizes = {name: kept.get(name, 0) for name in own}
    byte = formats.find("uint8")
    for name in names:
        if network.by_name[name].kind == "dropout":
            sizes[name] += byte.nbytes(prod(network.by_name[name].shape))
    matrices = sum(sizes.pop(name) for name in _MATRICES)
    return matrices, sum(sizes.values())


def _alive(network: Network, precision: str) -> dict[str, int]:
    """Return the bytes of the maps of one sequence that are alive when backward begins, by name."""
    step = memlab.training_step(network, "sgd")
    return _kept_maps(step if precision == "fp32" else memlab.precision(step, precision), batch=1)


def _kept_maps(step: Step, batch: int) -> dict[str, int]:
    """Return the bytes of the feature maps that are alive when backward begins, by name."""
    first = next(i for i, op in enumerate(step.ops) if op.phase is Phase.BACKWARD)
    alive = memlab.plan(step).alive(first)
    return {entry.name: entry.size.at(batch) for entry in alive if entry.role is Role.FEATURE_MAP}
