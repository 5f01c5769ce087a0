"""The same training step in PyTorch: a network's layers as PyTorch's functions, one by one.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt
import torch
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it

from memlab.layers.layer import Node
from memlab.networks.graph import INPUT, Network
from memlab.runtime.session import SETTINGS, Session
from memlab.step.tensor import Role

Arrays = Mapping[str, npt.ArrayLike]
Values = dict[str, Any]


class TorchStep:
    """A network that trains by SGD with momentum, from arrays named as memlab names them.

    It knows the layers of residual networks.
    """

    def __init__(self, network: Network, arrays: Arrays, rate: float, momentum: float) -> None:
        self.network = network
        self.arrays: Values = {name: torch.tensor(array) for name, array in arrays.items()}
        names = [f"{node.name}.{p.name}" for node in network.nodes for p in node.parameters]
        learned = [self.arrays[name].requires_grad_() for name in names]
        self.optimizer = torch.optim.SGD(learned, rate, momentum)

    def step(self, x: Any, labels: Any) -> float:
        """Forward, backward and update; the loss."""
        self.optimizer.zero_grad()
        loss = self.loss(x, labels)
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def loss(self, x: Any, labels: Any) -> Any:
        """Forward. As with PyTorch's own modules, a map is let go when no layer reads it again."""
        maps = {INPUT: x}
        last = {name: node for node in self.network.nodes for name in node.inputs}
        for node in self.network.nodes[:-1]:
            own = {
                array.name: self.arrays[f"{node.name}.{array.name}"]
                for array in (*node.parameters, *node.buffers)
            }
            maps[node.name] = FUNCTIONS[node.kind](node, [maps[name] for name in node.inputs], own)
            for name in {name for name in node.inputs if last[name] is node}:
                del maps[name]
        return F.cross_entropy(maps[self.network.loss.inputs[0]], labels)


def started(network: Network, session: Session) -> TorchStep:
    """A network in PyTorch, from the parameters and buffers that a session of it has now."""
    arrays = {
        tensor.name: session.value(tensor)
        for tensor in session.residents
        if tensor.role in (Role.PARAMETER, Role.BUFFER)
    }
    return TorchStep(network, arrays, SETTINGS["rate"], SETTINGS["momentum"])


def _conv(node: Node, x: list[Any], own: Values) -> Any:
    layer: Any = node.layer
    settings = (layer.stride, layer.padding, layer.dilation, layer.groups)
    return F.conv2d(x[0], own["weight"], own.get("bias"), *settings)


def _norm(node: Node, x: list[Any], own: Values) -> Any:
    layer: Any = node.layer
    running, learned = (own["running_mean"], own["running_var"]), (own["weight"], own["bias"])
    return F.batch_norm(x[0], *running, *learned, True, layer.momentum, layer.epsilon)


def _pool(function: Callable[..., Any]) -> Callable[..., Any]:
    def pool(node: Node, x: list[Any], own: Values) -> Any:
        layer: Any = node.layer
        rows, columns, stride, pad = layer.geometry(node.input_shapes[0])
        return function(x[0], (rows, columns), stride, pad, ceil_mode=layer.ceil)

    return pool


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "conv2d": _conv,
    "batch_norm": _norm,
    "max_pool2d": _pool(F.max_pool2d),
    "avg_pool2d": _pool(F.avg_pool2d),
    "relu": lambda node, x, own: F.relu(x[0], inplace=True),
    "add": lambda node, x, own: x[0] + x[1],
    "flatten": lambda node, x, own: x[0].flatten(1),
    "linear": lambda node, x, own: F.linear(x[0], own["weight"], own.get("bias")),
}
"""By kind of layer. As in torchvision, a ReLU writes over its input."""
