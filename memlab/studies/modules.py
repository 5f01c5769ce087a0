"""The modules of a model by their paths: which are alike, and a few rows for all of them.

A path is what ``named_modules`` of PyTorch says: ``"h.3.attn.c_proj"``. Blocks that a number tells
apart are alike where they have modules of their own: they share the path ``"h.*.attn.c_proj"``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

ANY = "*"
"""Stands for the number of a block."""
ROWS = 6
"""So many rows at most; the small ones share the last."""
LITTLE = 0.1
"""What has less of all bytes than this is not taken apart."""


@dataclass(frozen=True, slots=True)
class Group:
    """Some modules under one path; ``members`` are the layers below it. Small ones that share a
    row have no path: their name is empty, and ``others`` counts the rows that they would be."""

    name: str
    members: tuple[str, ...]
    nbytes: int
    others: int = 0

    def instance(self, layer: str) -> str:
        """The module of a layer at the depth of this path: ``"h.3.attn"`` for ``"h.*.attn"``."""
        return cut(layer, self.name.count(".") + 1) if self.name else layer


def cut(path: str, depth: int) -> str:
    """The first ``depth`` parts of a path."""
    return ".".join(path.split(".")[:depth])


def folded(layers: Iterable[str]) -> dict[str, str]:
    """Of every layer the path that it shares with those that are alike.

    >>> folded(["h.0.mlp", "h.1.mlp", "head"])
    {'h.0.mlp': 'h.*.mlp', 'h.1.mlp': 'h.*.mlp', 'head': 'head'}
    """
    return dict(_folded(tuple(dict.fromkeys(layers))))


@lru_cache(maxsize=32)
def _folded(layers: tuple[str, ...]) -> Mapping[str, str]:
    blocks: dict[str, set[str]] = {}
    for layer in layers:
        parts = layer.split(".")
        for depth, part in enumerate(parts[:-1]):
            if part.isdigit():
                blocks.setdefault(".".join(parts[:depth]), set()).add(part)
    several = {parent for parent, numbers in blocks.items() if len(numbers) > 1}
    return {layer: _fold(layer, several) for layer in layers}


def _fold(layer: str, several: set[str]) -> str:
    parts = layer.split(".")
    found = [
        ANY if part.isdigit() and depth < len(parts) - 1 and ".".join(parts[:depth]) in several
        else part
        for depth, part in enumerate(parts)
    ]  # fmt: skip
    return ".".join(found)


def rows(sizes: Mapping[str, int], most: int = ROWS) -> tuple[Group, ...]:
    """The bytes of layers in at most so many rows, the largest first.

    A row is taken apart into the modules below it while it is large and there is room; what is
    small then shares the last row.
    """
    layers = {layer: nbytes for layer, nbytes in sizes.items() if nbytes}
    groups = _apart(folded(layers), layers, most)
    made = [Group(name, tuple(of), sum(layers[each] for each in of)) for name, of in groups.items()]
    made.sort(key=lambda group: (-group.nbytes, group.name))
    if len(made) <= most:
        return tuple(made)
    few, rest = made[: most - 1], made[most - 1 :]
    members = tuple(each for group in rest for each in group.members)
    return (*few, Group("", members, sum(group.nbytes for group in rest), len(rest)))


def _apart(
    paths: Mapping[str, str], sizes: Mapping[str, int], most: int
) -> dict[str, Sequence[str]]:
    """Layers by the path of their row."""
    groups: dict[str, Sequence[str]] = {}
    for layer in sizes:
        groups.setdefault(cut(paths[layer], 1), []).append(layer)  # type: ignore[attr-defined]  # lists so far
    total, done = sum(sizes.values()), set[str]()
    while True:
        weight = {name: sum(sizes[each] for each in of) for name, of in groups.items()}
        open_ = [name for name in groups if name not in done and weight[name] > LITTLE * total]
        if not open_:
            return groups
        name = max(open_, key=lambda each: (weight[each], each))
        parts = _below(name, groups[name], paths)
        large = [
            each for each, of in parts.items() if sum(map(sizes.__getitem__, of)) > LITTLE * total
        ]
        if len(parts) > 1 and (len(groups) + len(large) - 1 <= most or len(groups) == 1):
            del groups[name]
            groups |= parts
        elif list(parts) != [name]:
            if len(parts) == 1:
                del groups[name]
                groups |= parts
            else:
                done.add(name)
        else:
            done.add(name)


def _below(name: str, layers: Sequence[str], paths: Mapping[str, str]) -> dict[str, Sequence[str]]:
    """The layers of a row by the modules one step further down; its own stay with its name."""
    found: dict[str, list[str]] = {}
    for layer in layers:
        found.setdefault(cut(paths[layer], name.count(".") + 2), []).append(layer)
    return dict(found)


def span(layers: Sequence[str]) -> str:
    """Some layers in one or two words, in their order: ``"h.0 → h.11"``, ``"lm_head"``.

    >>> span(["h.0.mlp", "h.0.attn", "h.1.mlp"]), span(["head"])
    ('h.0 → h.1', 'head')
    """
    first, last = layers[0], layers[-1]
    depth = 1
    while cut(first, depth) == cut(last, depth) and depth <= first.count("."):
        depth += 1
    a, b = cut(first, depth), cut(last, depth)
    return a if a == b else f"{a} → {b}"


def family(layer: str) -> str:
    """What a block is numbered in: ``"h"`` for ``"h.3.mlp"``; itself where it has no number.

    >>> family("h.3.mlp"), family("lm_head")
    ('h', 'lm_head')
    """
    parts = layer.split(".")
    numbers = [depth for depth, part in enumerate(parts[:-1]) if part.isdigit()]
    return ".".join(parts[: numbers[0]]) if numbers else parts[0]
