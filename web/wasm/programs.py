"""Steps that a page may run: every layer, optimizer, technique and algorithm, on small networks.

Code depends on the types of arrays and not on their sizes. So the networks here are small, and each
is declared for the kinds of layers, formats and layouts that it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import product
from typing import Any, Literal

import memlab
from memlab.errors import InputError
from memlab.layers import algorithms
from memlab.networks.graph import Network
from memlab.optimizers import OPTIMIZERS
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.techniques import registry
from memlab.techniques.registry import Technique

SIZES: Mapping[str, dict[str, Any]] = {
    "linear1": {},
    "rnn": {"steps": 3, "features": 3, "hidden": 6, "classes": 3},
    "lstm": {"steps": 3, "features": 3, "hidden": 6, "classes": 3},
    "vit_s": {"image": 32, "classes": 3, "layers": 1, "features": 12, "heads": 3},
}
"""Networks of the zoo that are small by their own arguments."""


def maps() -> Network:
    """Convolutions of every kind, both norms and both poolings, gradients that meet in sums and
    slices."""
    x = memlab.network("maps", image=(3, 13, 11)).conv(4, 3, pad=1).batch_norm().relu()
    first = x.conv(6, 3, pad=1, groups=2, bias=False).local_response_norm().tanh()
    second = x.conv(5, 1).relu().max_pool(3, 1, 1)
    third = x.avg_pool(3, 1, 1).dropout(0.3)
    y = first.concat(second, third).conv(7, 3, stride=2).gelu().max_pool(2)
    y = y.add(y.conv(7, 1).batch_norm(), y).flatten().linear(5).batch_norm().relu().dropout()
    return y.linear(3).cross_entropy()


def windows() -> Network:
    """Poolings of windows with more than 256 places, whose indices take four bytes."""
    x = memlab.network("windows", image=(2, 20, 17)).conv(3, 1)
    return x.max_pool("all").flatten().squared_error()


def vectors() -> Network:
    """Linear layers without images, and a squared error."""
    x = memlab.network("vectors", features=11).linear(9, bias=False).tanh()
    return x.add(x.linear(9).relu(), x).linear(4).squared_error()


def slices() -> Network:
    """Gradients that are slices of a concat's, behind each kind of layer."""
    x = memlab.network("slices", image=(3, 8, 6)).conv(5, 3, pad=1).batch_norm().relu()
    parts = [
        x.conv(3, 1), x.conv(4, 3, pad=1, bias=False).relu(), x.conv(2, 3, pad=1).tanh(),
        x.max_pool(3, 1, 1), x.avg_pool(3, 1, 1), x.batch_norm(), x.dropout(0.2), x.gelu(),
        x.local_response_norm(), x.add(x.conv(5, 1)),
    ]  # fmt: skip
    return x.concat(*parts).conv(3, 1).flatten().squared_error()


def normalized() -> Network:
    """A norm as the first layer, which computes no gradient of the input."""
    x = memlab.network("normalized", image=(3, 5, 4)).batch_norm().relu().flatten()
    return x.linear(3).cross_entropy()


def strided() -> Network:
    """Convolutions that are no shift of a plane."""
    x = memlab.network("strided", image=(4, 17, 16)).conv(6, 3, stride=2, pad=1).relu()
    x = x.conv(4, 2, stride=3, pad=1, groups=2).relu().conv(5, 3, pad=2, dilation=2)
    return x.flatten().linear(3).cross_entropy()


def plain() -> Network:
    """Convolutions at stride 1 that every algorithm computes."""
    x = memlab.network("plain", image=(4, 10, 9)).conv(6, 3, pad=1).relu().conv(5, 3).relu()
    return x.conv(3, 1, bias=False).flatten().linear(3).cross_entropy()


def texts(attention: Literal["matrix", "fused"] = "matrix", heads: int = 2) -> Network:
    """Language model whose output layer shares the table of its tokens."""
    return memlab.zoo.gpt2(
        steps=6, layers=1, features=8, heads=heads, vocabulary=7, attention=attention
    )  # type: ignore[call-overload, no-any-return, unused-ignore]


def networks() -> Iterator[Network]:
    """Yield all networks."""
    for name, sizes in SIZES.items():
        yield memlab.zoo.ZOO[name](**sizes)
    for make in (maps, windows, vectors, slices, normalized, strided, plain, texts):
        yield make()
    for heads in (1, 2):
        yield texts("fused", heads)
    yield memlab.zoo.vit_s(**SIZES["vit_s"], attention="fused")
    named = ("conv1", "norm1", "conv3", "conv4", "norm3", "fc1", "norm4")
    yield memlab.freeze(maps(), *named)
    yield memlab.lora(texts(), 2, 3, ("*.q", "*.v", "*.fc2", "scores"))


FORMATS = ("fp32", "fp64")


def steps() -> Iterator[tuple[Step, int]]:
    """Yield the steps of each network in both formats, with a batch."""
    for network, format in product(networks(), FORMATS):
        for batch in (1, 2):  # a slice of one sample's channels has no gaps
            yield memlab.training_step(network, format=format), batch
            yield memlab.inference_step(network, format=format), batch


def others() -> Iterator[Step]:
    """Yield the steps after each technique, with each optimizer and each algorithm, for a batch of
    2. Some are planned and never run."""
    for network in networks():
        yield from _rewritten(memlab.training_step(network, "momentum"))
    for network in (plain(), maps(), strided()):
        for format in FORMATS:
            yield from _lowered(network, format)
    for optimizer in OPTIMIZERS:
        for format in FORMATS:
            yield memlab.training_step(vectors(), optimizer, format=format)
        yield from _rewritten(memlab.training_step(vectors(), optimizer))


def _lowered(network: Network, format: str) -> Iterator[Step]:
    """Yield a step with each algorithm of convolution that computes it, on one thread and two."""
    for name in algorithms.on("cpu"):
        for threads in (1, 2):
            with suppress(InputError):
                yield memlab.training_step(network, format=format, algorithm=name, threads=threads)


def _rewritten(step: Step) -> Iterator[Step]:
    """Yield a step after each technique, with each of its choices."""
    for row in registry.techniques().values():
        for how in row.values or (None,):
            with suppress(InputError):
                yield _applied(row, how, step)


def _applied(row: Technique, how: str | None, step: Step) -> Step:
    """Step after a technique, with what its choice needs."""
    known: dict[str, Callable[[], Any]] = {
        "k": lambda: 2,
        "batch": lambda: 2,
        "layers": lambda: [op.name for op in step.ops if op.phase is Phase.FORWARD][:2],
        "memory": lambda: "1 GB",
    }
    needs = row.takes(how).needs
    given = {name: known[name]() for name in needs if name in known}
    args = () if how is None else (how,)
    return registry.applied(row.name, *args, **given)(step)
