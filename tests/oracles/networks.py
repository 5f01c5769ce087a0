"""The loss and the gradients of a small network by PyTorch, from the graph alone.

Import this module only where torch is known to be there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it

from memlab.kernels.registry import Array
from memlab.networks.graph import INPUT, Network

Weights = Mapping[str, Tensor]

KINDS: Mapping[str, Callable[[list[Tensor], Weights], Tensor]] = {
    "linear": lambda x, w: F.linear(x[0], w["weight"], w.get("bias")),
    "conv2d": lambda x, w: F.conv2d(x[0], w["weight"], w.get("bias")),  # 1x1
    "relu": lambda x, w: x[0].relu(),
    "tanh": lambda x, w: x[0].tanh(),
    "add": lambda x, w: sum(x[1:], start=x[0]),
    "concat": lambda x, w: torch.cat(x, 1),
    "flatten": lambda x, w: x[0].flatten(1),
}
"""The layers of ``joins_at_random``; a convolution is one of a single place."""


def trained(
    net: Network, parameters: Mapping[str, Array], x: Array, truth: Array
) -> tuple[float, dict[str, Array]]:
    """The loss, and the gradients by the names of the parameters."""
    given = {name: torch.tensor(v, requires_grad=True) for name, v in parameters.items()}
    values = {INPUT: torch.tensor(x)}
    for node in net.nodes[:-1]:
        owner, layer = node.shares or node.name, node.layer
        arrays = layer.parameters(*node.input_shapes)
        weights = {array.name: given[f"{owner}.{array.name}"] for array in arrays}
        inputs = [values[source] for source in node.inputs]
        values[node.name] = KINDS[node.kind](inputs, weights)
    loss = _loss(net, values[net.loss.inputs[0]], torch.tensor(truth))
    loss.backward()
    found: dict[str, Any] = {
        name: torch.zeros_like(each) if each.grad is None else each.grad
        for name, each in given.items()
    }
    return loss.item(), {name: each.numpy() for name, each in found.items()}


def _loss(net: Network, y: Tensor, truth: Tensor) -> Tensor:
    if net.loss.kind == "softmax_cross_entropy":
        return F.cross_entropy(y, truth)
    return ((y - truth) ** 2).sum() / len(y)
