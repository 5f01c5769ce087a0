"""Networks of which a part learns: frozen layers, and low-rank adapters beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from memlab.errors import InputError, listed, real_number, shorten, whole_number
from memlab.layers.attention import AttentionScores, FusedAttention
from memlab.layers.dense import Linear
from memlab.layers.layer import Node
from memlab.layers.low_rank import LowRank
from memlab.networks.graph import Network

PARTS = ("q", "k", "v")
"""Parts of a linear layer that feeds attention: queries, keys and values, side by side."""


def freeze(network: Network, *layers: str) -> Network:
    """Return the network in which the parameters of these layers do not learn.

    A training step of it has no gradient, no optimizer state and no update for them. Layers that
    share parameters are frozen together, and layers that are frozen already stay so. A frozen batch
    norm still normalizes by the batch, and moves its running statistics.

    >>> head = memlab.freeze(memlab.zoo.vgg11(), "conv*", "fc6", "fc7")
    >>> head.learning
    4097000

    Args:
        network: a network.
        *layers: names of layers; ``*`` stands for any characters, ``?`` for one.

    Raises:
        InputError: no network, no name, or one that no layer with parameters has.
    """
    _check(network, "freeze")
    owners = {node.name: node.owner for node in network.nodes
              if node.parameters or node.shares}  # fmt: skip
    chosen = _matching(owners, layers, f"layer with parameters of {network.name!r}")
    return replace(network, frozen=network.frozen | {owners[name] for name in chosen})


def lora(
    network: Network,
    rank: int = 16,
    alpha: float = 32,
    layers: str | Iterable[str] = ("*.q", "*.v"),
) -> Network:
    """Return the network with low-rank adapters on these linear layers, and all else frozen.

    An adapter adds ``alpha / rank * B A x`` to the output of its layer, as two layers: ``NAME.A``
    with ``rank`` outputs, and ``NAME.B``, which adds. ``B`` begins at 0. A linear layer that feeds
    attention has queries, keys and values side by side: ``NAME.q``, ``NAME.k`` and ``NAME.v`` are
    the names of its parts, which have adapters of their own.

    >>> adapted = memlab.lora(memlab.zoo.gpt2(), rank=16)
    >>> adapted.learning
    589824

    Source: Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models" (arXiv 2106.09685).

    Args:
        network: a network without adapters.
        rank: values between ``A`` and ``B``, for each part.
        alpha: the change is scaled by ``alpha / rank``.
        layers: names of linear layers or of their parts; ``*`` stands for any characters. A layer
            that is named as a whole has one adapter.

    Raises:
        InputError: no network, one with adapters, no rank of at least 1, no number alpha, or a name
            that no linear layer has.
    """
    _check(network, "lora")
    if any(isinstance(node.layer, LowRank) for node in network.nodes):
        raise InputError(
            f"{network.name!r} has adapters already; name all layers in one call of memlab.lora."
        )
    rank, alpha = whole_number("rank", rank), real_number("alpha", alpha, usual=2 * rank)
    names = listed("layers", layers, "*.q")
    adapters = dict(_adapters(network, names, rank, alpha))
    frozen = frozenset(node.name for node in network.nodes if node.parameters)
    variant = f"{network.variant} with LoRA of rank {rank}".strip()
    nodes = tuple(_with_adapters(network, adapters))
    return replace(network, nodes=nodes, frozen=frozen, variant=variant)


def _check(network: object, function: str) -> None:
    if not isinstance(network, Network):
        raise InputError(
            f"{function} takes a network, got {shorten(network)}; try memlab.zoo.gpt_small()."
        )


def _matching(known: Iterable[str], patterns: Iterable[object], what: str) -> list[str]:
    """Return the names that a pattern matches, in their order.

    Raises:
        InputError: no pattern, one that is no text, or one that matches none of them.
    """
    names, given = list(known), list(patterns)
    if not names:
        raise InputError(f"there is no {what}; take another network.")
    if not given:
        raise InputError(f"name at least one {what}; try {names[0]!r}.")
    for pattern in given:
        if not isinstance(pattern, str) or not any(fnmatchcase(n, pattern) for n in names):
            raise InputError(
                f"no {what} has the name {shorten(pattern)}; try one of {shorten(names)}."
            )
    return [name for name in names if any(fnmatchcase(name, str(p)) for p in given)]


def _adapters(
    network: Network, patterns: list[object], rank: int, alpha: float
) -> Iterator[tuple[str, LowRank]]:
    """Yield each linear layer that gets adapters, by its name, with what adds them."""
    parts = {node.name: _parts(network, node) for node in network.nodes
             if isinstance(node.layer, Linear)}  # fmt: skip
    known = [name for whole, own in parts.items() for name in (whole, *own)]
    chosen = set(_matching(known, patterns, f"linear layer of {network.name!r}"))
    for whole, own in parts.items():
        numbers = tuple(number for number, name in enumerate(own) if name in chosen)
        if whole in chosen:
            yield whole, LowRank(rank, alpha)
        elif numbers:
            yield whole, LowRank(rank, alpha, numbers, len(own))


def _parts(network: Network, node: Node) -> tuple[str, ...]:
    """Return the names of the parts of a linear layer: three where it feeds attention, else
    none."""
    feeds = any(
        isinstance(reader.layer, AttentionScores | FusedAttention) and node.name in reader.inputs
        for reader in network.nodes
    )
    return tuple(f"{node.name}.{part}" for part in PARTS) if feeds else ()


def _with_adapters(network: Network, adapters: Mapping[str, LowRank]) -> Iterator[Node]:
    """Yield all layers, each adapted one followed by the two of its adapter, which its readers read
    in its place."""
    for node in network.nodes:
        inputs = tuple(_changed(name) if name in adapters else name for name in node.inputs)
        base = replace(node, inputs=inputs)
        yield base
        if node.name in adapters:
            yield from _halves(base, adapters[node.name])


def _halves(base: Node, change: LowRank) -> Iterator[Node]:
    """Yield the layer that makes the few values of an adapter, and the one that adds the change."""
    down = Linear(change.rank * len(change.parts), bias=False)
    small = down.output(*base.input_shapes)
    name = f"{base.name}.A"
    yield Node(
        name, down, base.inputs, base.input_shapes, small, base.stage,
        down.parameters(*base.input_shapes),
    )  # fmt: skip
    shapes = base.shape, small
    yield Node(
        _changed(base.name), change, (base.name, name), shapes, base.shape, base.stage,
        change.parameters(*shapes),
    )  # fmt: skip


def _changed(name: str) -> str:
    """Return the name of the layer that adds the change to the output of another."""
    return f"{name}.B"
