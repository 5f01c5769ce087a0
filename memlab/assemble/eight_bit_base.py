"""Weights of frozen linear layers in 8 bits, with a scale for each row.

LLM.int8() stores them so (Dettmers et al. 2022, arXiv 2208.07339). They are planned: no kernel
computes with them.
"""

from __future__ import annotations

from memlab.formats import FORMATS
from memlab.layers.dense import Linear
from memlab.layers.layer import Node
from memlab.networks.graph import Network
from memlab.step import tensor
from memlab.step.op import Operands
from memlab.step.tensor import Tensor

BASE = "an 8-bit base"
"""Name of the 8-bit base in a message."""
SCALES = "scales"
"""Operand of a linear layer whose weight is in 8 bits: a scale for each row."""


def layers_in_eight_bits(network: Network) -> frozenset[str]:
    """Return the names of the layers whose weights an 8-bit base stores in 8 bits: those of frozen
    linear layers, which no layer of another kind shares."""
    users: dict[str, list[Node]] = {}
    for node in network.nodes:
        users.setdefault(node.owner, []).append(node)
    return frozenset(
        name
        for name in network.frozen
        if all(isinstance(node.layer, Linear) for node in users[name])
    )


def in_eight_bits(parameters: Operands) -> dict[str, Tensor]:
    """Return parameters with the weight in 8 bits, and a scale in fp32 for each of its rows."""
    weight = parameters["weight"]
    small = tensor.new(weight.name, weight.axes, FORMATS["int8"], weight.role, start=weight.start)
    scales = tensor.new(f"{weight.name}.scales", weight.axes[:1], FORMATS["fp32"], weight.role)
    return {**parameters, "weight": small, SCALES: scales}
