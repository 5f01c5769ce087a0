"""Values of the table of claims about the layers of a transformer: planned, in the terms of the
papers (F4, F5)."""

from __future__ import annotations

from math import prod

import memlab
from memlab import formats
from memlab.networks.graph import Network
from memlab.networks.zoo import transformers
from memlab.step.op import Phase
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
    step = step if precision == "fp32" else memlab.precision(step, precision)
    first = next(i for i, op in enumerate(step.ops) if op.phase is Phase.BACKWARD)
    alive = memlab.plan(step).alive(first)
    return {entry.name: entry.size.at(1) for entry in alive if entry.role is Role.FEATURE_MAP}
