"""Networks of the zoo as PyTorch's modules, as people write them.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it

from memlab.bench.accuracy.training import AccuracyCase
from memlab.errors import InputError, shorten
from memlab.layers.layer import Node
from memlab.networks.graph import INPUT, Network


class ZooModel(nn.Module):
    """The layers of a network before its loss, each a module of PyTorch.

    A map is let go when no layer reads it again, as in a model that is written by hand; a ReLU
    writes over its input where nothing else reads that.

    Raises:
        InputError: a layer of a kind that has no module here.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.nodes = network.nodes[:-1]
        self.result = network.loss.inputs[0]
        readers = [name for node in network.nodes for name in node.inputs]
        self.last = {name: node.name for node in self.nodes for name in node.inputs}
        self.last.pop(self.result, None)
        self.layers = nn.ModuleDict()
        for node in self.nodes:
            alone = node.inputs[0] != INPUT and readers.count(node.inputs[0]) == 1
            self.layers[_key(node.name)] = _module(node, alone)
        for node in self.nodes:
            if node.shares:
                self.layers[_key(node.name)].weight = self.layers[_key(node.shares)].weight

    def forward(self, x: Any) -> Any:
        """The scores of a batch."""
        maps = {INPUT: x}
        del x
        for node in self.nodes:
            given = [maps[name] for name in node.inputs]
            for name in set(node.inputs):
                if self.last.get(name) == node.name:
                    del maps[name]
            maps[node.name] = self.layers[_key(node.name)](*given)
            del given
        return maps[self.result]


class SumModule(nn.Module):
    """Module that returns the sum of its inputs."""

    def forward(self, *inputs: Any) -> Any:
        """Add the inputs one after the other."""
        total = inputs[0]
        for input_ in inputs[1:]:
            total = total + input_
        return total


class ConcatModule(nn.Module):
    """Module that puts its inputs side by side along the channels."""

    def forward(self, *inputs: Any) -> Any:
        """Return the inputs as one map."""
        return torch.cat(inputs, 1)


class PositionsModule(nn.Module):
    """Module that adds a learned vector to each of T tokens of F values."""

    def __init__(self, tokens: int, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(tokens, features))

    def forward(self, x: Any) -> Any:
        """Add the vectors to tokens of shape ``(B, T, F)``."""
        return x + self.weight


class Attention(nn.Module):
    """Module of PyTorch's own attention: ``(B, T, 3F)`` to ``(B, T, F)``."""

    def __init__(self, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal

    def forward(self, x: Any) -> Any:
        """Return the outputs of all heads of attention, side by side again."""
        batch, tokens, columns = x.shape
        shape = batch, tokens, 3, self.heads, columns // 3 // self.heads
        q, k, v = x.view(shape).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return y.transpose(1, 2).reshape(batch, tokens, columns // 3)


def _key(name: str) -> str:
    """Return the name of a layer as that of a module, which has no dot."""
    return name.replace(".", "_")


def _module(node: Node, alone: bool) -> Any:
    if node.kind not in MODULES:
        raise InputError(
            f"layer {shorten(node.name)} is of the kind {node.kind!r}, which has no module of "
            f"PyTorch here; the kinds are {', '.join(MODULES)}."
        )
    module = MODULES[node.kind](node)
    if alone and isinstance(module, nn.ReLU):
        module.inplace = True
    return module


def _conv(node: Node) -> Any:
    layer: Any = node.layer
    return nn.Conv2d(
        node.input_shapes[0][0], layer.out_channels, layer.kernel, layer.stride, layer.padding,
        layer.dilation, layer.groups, layer.bias,
    )  # fmt: skip


def _pool(kind: Any, node: Node) -> Any:
    layer: Any = node.layer
    rows, columns, stride, pad = layer.geometry(node.input_shapes[0])
    return kind((rows, columns), stride, pad, ceil_mode=layer.ceil)


def _batch_norm(node: Node) -> Any:
    layer: Any = node.layer
    return nn.BatchNorm2d(node.shape[0], layer.epsilon, layer.momentum)


def _local_response(node: Node) -> Any:
    layer: Any = node.layer
    return nn.LocalResponseNorm(layer.size, layer.alpha, layer.beta, layer.k)


def _linear(node: Node) -> Any:
    layer: Any = node.layer
    return nn.Linear(node.input_shapes[0][-1], layer.out_features, layer.bias)


def _embedding(node: Node) -> Any:
    layer: Any = node.layer
    return nn.Embedding(layer.vocabulary, layer.features)


def _gelu(node: Node) -> Any:
    layer: Any = node.layer
    return nn.GELU("tanh" if layer.form == "tanh" else "none")


def _attention(node: Node) -> Any:
    layer: Any = node.layer
    return Attention(layer.heads, layer.causal)


def _dropout(node: Node) -> Any:
    layer: Any = node.layer
    return nn.Dropout(layer.p)


def _layer_norm(node: Node) -> Any:
    layer: Any = node.layer
    return nn.LayerNorm(node.shape[-1], layer.epsilon)


MODULES: dict[str, Callable[[Node], Any]] = {
    "conv2d": _conv,
    "batch_norm": _batch_norm,
    "local_response_norm": _local_response,
    "max_pool2d": partial(_pool, nn.MaxPool2d),
    "avg_pool2d": partial(_pool, nn.AvgPool2d),
    "relu": lambda node: nn.ReLU(),
    "tanh": lambda node: nn.Tanh(),
    "add": lambda node: SumModule(),
    "concat": lambda node: ConcatModule(),
    "flatten": lambda node: nn.Flatten(),
    "dropout": _dropout,
    "linear": _linear,
    "embedding": _embedding,
    "positions": lambda node: PositionsModule(*node.shape),
    "layer_norm": _layer_norm,
    "gelu": _gelu,
    "fused_attention": _attention,
}
"""By kind of layer."""


def zoo_case(network: Network, batch: int, optimizer: str, device: str = "cpu") -> AccuracyCase:
    """Return the case of a network with drawn inputs and labels, trained by cross entropy.

    Raises:
        InputError: another loss; and as ``ZooModel``, when the case builds it.
    """
    if network.loss.kind != "softmax_cross_entropy":
        raise InputError(f"{network.name} ends in {network.loss.kind}; try one that ends in "
                         "cross_entropy().")  # fmt: skip
    scores = network.by_name[network.loss.inputs[0]].shape
    return AccuracyCase(
        network.name, partial(ZooModel, network), partial(_batch, network, scores), _loss,
        optimizer, batch, device=device,
    )  # fmt: skip


def _batch(network: Network, scores: tuple[int, ...], batch: int) -> tuple[Any, Any]:
    *tokens, classes = scores
    target = torch.randint(classes, (batch, *tokens))
    shape = (batch, *network.input_shape)
    if network.vocabulary:
        return torch.randint(network.vocabulary, shape), target
    return torch.randn(shape), target


def _loss(scores: Any, target: Any) -> Any:
    """Return the cross entropy of scores, over all samples or over all tokens."""
    return F.cross_entropy(scores.flatten(0, -2), target.flatten())
