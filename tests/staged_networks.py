"""Small networks that hold every kind of layer in odd sizes, and rows that hold every pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import memlab
from memlab import optimizers
from memlab.networks.graph import Network
from memlab.step.step import Step


def branches() -> Network:
    """Convolutions with groups, stride and without bias, both poolings, gradients that meet."""
    x = memlab.network("branches", image=(3, 9, 7)).conv(4, 3, pad=1).batch_norm().relu()
    first = x.conv(6, 3, pad=1, groups=2, bias=False).local_response_norm().tanh()
    second = x.conv(5, 1).relu().max_pool(3, 1, 1)
    third = x.avg_pool(3, 1, 1).dropout(0.3)
    y = first.concat(second, third).conv(7, 3, stride=2).relu().max_pool(2)
    y = y.add(y.conv(7, 1).batch_norm()).flatten().linear(5).batch_norm().relu().dropout()
    return y.linear(3).cross_entropy()


def sums() -> Network:
    """Vectors, a fork of three and a squared error."""
    x = memlab.network("sums", features=11).linear(9, bias=False).tanh()
    return x.add(x.linear(9).relu(), x).linear(4).squared_error()


def slices() -> Network:
    """ReLUs before poolings, and gradients that are slices of a concat's."""
    x = memlab.network("slices", image=(3, 7, 5)).conv(5, 3).relu().max_pool(2)
    return x.concat(x.conv(3, 1).relu().max_pool(1), x).flatten().squared_error()


def joins() -> Network:
    """The input meets what was made of it: where roles differ in format, so do the operands."""
    x = memlab.network("joins", image=(3, 5, 7))
    x = x.concat(x.conv(4, 3, pad=1))
    return x.add(x.conv(7, 1).relu()).flatten().linear(3).cross_entropy()


def cells() -> Network:
    """Two steps of an LSTM: shared parameters, views of a sequence, layers of two inputs."""
    x = memlab.network("cells", sequence=(3, 5))
    first = x.at(0).linear(28)
    c = first.lstm_state()
    h = first.lstm_output(c).linear(28, bias=False)
    gates = x.at(2).linear(28, share=first).add(h)
    c = gates.lstm_state(c)
    return gates.lstm_output(c).relu().add(c).linear(3).cross_entropy()


def tokens() -> Network:
    """A language model whose output layer shares its table."""
    sizes = {"steps": 5, "layers": 1, "features": 6, "heads": 2, "vocabulary": 7}
    return memlab.zoo.gpt2(**sizes)  # type: ignore[arg-type]  # whole numbers by name


def patches() -> Network:
    """A classifier of patches, with attention in one layer."""
    sizes = {"image": 6, "classes": 3, "layers": 1, "features": 6, "heads": 2, "patch": 2}
    return memlab.zoo.vit_s(**sizes, attention="fused")


def frozen() -> Network:
    """Some layers of each kind frozen: behind one that learns, and in front of all that do."""
    named = ("conv1", "norm1", "conv3", "conv4", "norm3", "fc1", "norm4")
    return memlab.freeze(branches(), *named)


def adapted() -> Network:
    """A language model that learns in adapters alone: of two parts of a layer, and of whole ones
    behind them."""
    return memlab.lora(tokens(), 2, 3, ("*.q", "*.v", "*.fc2", "scores"))


NETWORKS = {
    build.__name__: build()
    for build in (branches, sums, slices, joins, cells, tokens, patches, frozen, adapted)
}
TRAINED = tuple(optimizers.OPTIMIZERS)
OPTIMIZERS = (*TRAINED, "inference")
WITH_STATE = tuple(name for name, each in optimizers.OPTIMIZERS.items() if each.states)


def step(network: str, optimizer: str = "sgd", **options: Any) -> Step:
    """A step of one of these networks."""
    if optimizer == "inference":
        return memlab.inference_step(NETWORKS[network], **options)
    return memlab.training_step(NETWORKS[network], optimizer, **options)


WITH_RELU = [name for name in NETWORKS if any(op.kind == "relu" for op in step(name).ops)]
"""Those that ``relu_masks`` rewrites."""


def pairwise(*choices: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Few rows with one of each choice, in which every two choices meet."""

    def pairs(row: tuple[Any, ...]) -> set[tuple[Any, ...]]:
        return set(combinations(enumerate(row), 2))

    rows = {row: pairs(row) for row in product(*choices)}
    missing, found = set[tuple[Any, ...]]().union(*rows.values()), []
    while missing:
        best = max(rows, key=lambda row: len(rows[row] & missing))
        missing -= rows[best]
        found.append(best)
    return found
