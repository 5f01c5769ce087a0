"""Ways of counting one network: why published totals differ, as named values.

A convention counts, and only counts: no plan depends on it. Three rules hold for all of them. A
flatten is a view and has no values of its own. The loss stands for its softmax output, one value
per class; the squared error has none. A dropout output is counted by ``everything`` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from memlab.errors import InputError, one_option, shorten, whole_number
from memlab.layers.layer import Node
from memlab.networks.graph import INPUT, Network
from memlab.optimizers import OPTIMIZERS

FP32 = 4
COPIES = {name: optimizer.arrays for name, optimizer in OPTIMIZERS.items()}
"""Arrays as large as the parameters: they, their gradients and the optimizer's state (B1)."""

NO_VALUES = frozenset({"flatten", "squared_error"})
IN_PLACE = NO_VALUES | {"relu", "dropout"}

Parts = dict[str, int]
"""Bytes by what they hold; the total is their sum."""
Formula = Callable[["Convention", Network, int, str | None], Parts]


def stored(convention: Convention, network: Network, batch: int, optimizer: str | None) -> Parts:
    """Return 4 (P + A B) bytes: each parameter and each counted value is stored once (A4)."""
    _no_optimizer(convention, optimizer)
    return {
        "parameters": FP32 * network.parameters,
        "feature maps": FP32 * convention.values(network) * batch,
    }


def stored_with_buffers(
    convention: Convention, network: Network, batch: int, optimizer: str | None
) -> Parts:
    """Return the same bytes with the buffers. ResNet-50's 98 MiB (B6) include its running means and
    variances."""
    buffers = sum(array.count for node in network.nodes for array in node.buffers)
    parts = stored(convention, network, batch, optimizer)
    return parts | {"buffers": FP32 * buffers}


def upper_bound(
    convention: Convention, network: Network, batch: int, optimizer: str | None
) -> Parts:
    """Return 4 (2 A B + m P + I B) bytes, the bound of the CS231n notes on a training step (B1).

    A leaves the input I out, since it has no gradient; m is 2 for SGD; 3 with momentum (also what
    ``None`` means), Adagrad and RMSProp; 4 for Adam.
    """
    chosen = "momentum" if optimizer is None else optimizer
    inputs, copies = prod(network.input_shape), one_option("optimizer", chosen, COPIES)
    values = convention.values(network) - inputs
    return bound_parts(values, network.parameters, inputs, batch, copies)


def bound_parts(activations: int, parameters: int, inputs: int, batch: int, copies: int) -> Parts:
    """Return that bound from counts alone: activations and inputs per sample, and copies of the
    parameters.

    B2: ``sum(bound_parts(532_752, 19_072_984, 9_000, 128, 3).values())`` is 779,021,856.
    """
    return {
        "activations and their gradients": FP32 * 2 * activations * batch,
        "parameters, gradients and optimizer state": FP32 * copies * parameters,
        "input": FP32 * inputs * batch,
    }


def largest_pair(
    convention: Convention, network: Network, batch: int, optimizer: str | None
) -> Parts:
    """Return the bytes of W + dW + X + the largest dX + dY of one layer, without workspace (C1,
    C2).

    The first layer's dX, which no training step needs, takes part: AlexNet's 1.04 GB needs it.
    """
    _no_optimizer(convention, optimizer)
    pairs = [
        sum(map(prod, node.input_shapes)) + prod(node.shape)
        for node in network.nodes
        if convention.counts(node)
    ]
    return {
        "parameters": FP32 * network.parameters,
        "parameter gradients": FP32 * network.parameters,
        "feature maps": FP32 * convention.values(network) * batch,
        "gradient maps": FP32 * max(pairs, default=0) * batch,
    }


@dataclass(frozen=True)
class Convention:
    """Counting convention of a publication: which outputs it counts, and the total that it computes
    from them."""

    name: str
    title: str
    source: str
    description: str
    counts_input: bool
    only: frozenset[str] | None = None
    never: frozenset[str] = NO_VALUES
    formula: Formula = stored

    def counts(self, node: Node) -> bool:
        """True if the output of this layer is counted."""
        return (self.only is None or node.kind in self.only) and node.kind not in self.never

    def counted(self, network: Network) -> tuple[str, ...]:
        """Return the names of the counted outputs in order. ``"input"`` comes first if it is
        counted."""
        names = tuple(node.name for node in network.nodes if self.counts(node))
        return (INPUT, *names) if self.counts_input else names

    def values(self, network: Network) -> int:
        """Number of values per sample that the rule counts."""
        inputs = prod(network.input_shape) if self.counts_input else 0
        return inputs + sum(prod(node.shape) for node in network.nodes if self.counts(node))

    def total_bytes(self, network: Network, batch: int = 1, optimizer: str | None = None) -> Parts:
        """Return the exact bytes in fp32 by part, added up as the publication does.

        Raises:
            InputError: a bad batch, an unknown optimizer, or one where the source has none.
        """
        return self.formula(self, network, whole_number("batch", batch), optimizer)


def find(name: str) -> Convention:
    """Return the convention of that name.

    Raises:
        InputError: there is none.
    """
    return one_option("counting rule", name, CONVENTIONS)


def _no_optimizer(convention: Convention, optimizer: str | None) -> None:
    if optimizer is not None:
        raise InputError(
            f"counting rule {convention.name!r} has no optimizer state, got {shorten(optimizer)}; "
            "leave optimizer out, or try 'cs231n'."
        )


CONVENTIONS: dict[str, Convention] = {
    convention.name: convention
    for convention in (
        Convention(
            "everything",
            "every output",
            "A4",
            "The input and the output of every layer, one array each; nothing in place.",
            counts_input=True,
        ),
        Convention(
            "conv-only",
            "conv outputs",
            "A4",
            "The outputs of the convolutions.",
            counts_input=False,
            only=frozenset({"conv2d"}),
        ),
        Convention(
            "conv-sums",
            "conv outputs + residual sums",
            "A4",
            "The outputs of convolutions and of the sums at shortcuts; the rest is in place.",
            counts_input=False,
            only=frozenset({"conv2d", "add"}),
        ),
        Convention(
            "relu-in-place",
            "all but ReLU outputs",
            "B6",
            "The input and every output, softmax included; a ReLU writes over its input.",
            counts_input=True,
            never=IN_PLACE,
            formula=stored_with_buffers,
        ),
        Convention(
            "cs231n",
            "input, conv, pool and linear outputs",
            "B1",
            "What a layer table lists: an activation function belongs to the layer before it.",
            counts_input=True,
            only=frozenset({"conv2d", "linear", "max_pool2d", "avg_pool2d"}),
            formula=upper_bound,
        ),
        Convention(
            "vdnn",
            "what layers read",
            "C2",
            "The input feature map X of every layer; a ReLU works in place, the loss keeps none.",
            counts_input=True,
            never=IN_PLACE | {"softmax_cross_entropy"},
            formula=largest_pair,
        ),
    )
}
