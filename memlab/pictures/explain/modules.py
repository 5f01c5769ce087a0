"""The modules of a model by their paths: which are alike, and a few rows for all of them.

A path is what ``named_modules`` of PyTorch says: ``"h.3.attn.c_proj"``. Blocks that a number tells
apart are alike where they have modules of their own: they share the path ``"h.*.attn.c_proj"``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

ANY = "*"
"""Stands for the number of a block."""
ROWS = 6
"""So many rows at most; the small ones share the last."""
LONG = 80
"""Characters of a path in a sentence or a table."""
LITTLE, NOTHING = 0.1, 0.01
"""Shares of all bytes: a row of less is not taken apart, or shares the last row."""


@dataclass(frozen=True, slots=True)
class ModuleGroup:
    """Some modules under one path; ``members`` are the layers below it, without those that have a
    row of their own where it is the ``rest``. Small ones that share a row have no path: their name
    is empty, and ``others`` counts the rows that they would be."""

    name: str
    members: tuple[str, ...]
    nbytes: int
    others: int = 0
    rest: bool = False

    def instance(self, layer: str) -> str:
        """The module of a layer at the depth of this path: ``"h.3.attn"`` for ``"h.*.attn"``; one
        step further down where the path is of one module."""
        return cut(layer, self.name.count(".") + (1 if ANY in self.name else 2))


def named(path: str, classes: Mapping[str, str]) -> str:
    """A module that is a number alone with its class: ``'features.3 (ReLU)'``."""
    kind, shown = classes.get(path, ""), ending(path)
    return f"{shown} ({kind})" if kind and path.rpartition(".")[2].isdigit() else shown


def ending(path: str) -> str:
    """A module for a sentence: of a long path its end, which tells modules apart."""
    return path if len(path) <= LONG else f"...{path[-LONG:]}"


def cut(path: str, depth: int) -> str:
    """The first ``depth`` parts of a path."""
    return ".".join(path.split(".")[:depth])


def folded(layers: Iterable[str]) -> dict[str, str]:
    """Path that each layer shares with those that are alike.

    >>> folded(["h.0.mlp", "h.1.mlp", "head"])
    {'h.0.mlp': 'h.*.mlp', 'h.1.mlp': 'h.*.mlp', 'head': 'head'}
    """
    return dict(_folded(tuple(dict.fromkeys(layers))))


@lru_cache(maxsize=32)
def _folded(layers: tuple[str, ...]) -> Mapping[str, str]:
    blocks: dict[str, set[str]] = {}
    for layer in layers:
        parent, number, _ = _split(layer)
        if number:
            blocks.setdefault(parent, set()).add(number)
    several = {parent for parent, numbers in blocks.items() if len(numbers) > 1}
    return {layer: _fold(layer, several) for layer in layers}


def _split(layer: str) -> tuple[str, str, str]:
    """Parts before the number of its innermost block, that number, and what follows; no
    number where it is in no block, or where nothing stands before it."""
    parts = layer.split(".")
    at = max((i for i, part in enumerate(parts[:-1]) if i and part.isdigit()), default=0)
    return ".".join(parts[:at]), parts[at] if at else "", ".".join(parts[at + 1 :])


def _fold(layer: str, several: Collection[str]) -> str:
    parent, number, rest = _split(layer)
    if number and parent in several:
        return f"{parent}.{ANY}.{rest}"
    parent, _, last = layer.rpartition(".")
    return f"{parent}.{ANY}" if last.isdigit() and parent in several else layer


def rows(sizes: Mapping[str, int], most: int = ROWS) -> tuple[ModuleGroup, ...]:
    """The bytes of layers in at most so many rows, the largest first.

    A row is taken apart into the modules below it while it is large and there is room; what is
    small then shares the last row.
    """
    layers = {layer: nbytes for layer, nbytes in sizes.items() if nbytes}
    groups = _apart(folded(layers), layers, most)
    cut_up = {each.rpartition(".")[0] for each in groups}
    made = [
        ModuleGroup(name, tuple(of), sum(layers[each] for each in of), rest=name in cut_up)
        for name, of in groups.items()
    ]
    made.sort(key=lambda group: (-group.nbytes, group.name))
    least = NOTHING * sum(layers.values())
    count = sum(group.nbytes >= least for group in made)
    if len(made) <= most and count == len(made):
        return tuple(made)
    few, rest = made[: min(count, most - 1)], made[min(count, most - 1) :]
    members = tuple(each for group in rest for each in group.members)
    return (*few, ModuleGroup("", members, sum(group.nbytes for group in rest), len(rest)))


def _apart(paths: Mapping[str, str], sizes: Mapping[str, int], most: int) -> dict[str, list[str]]:
    """Layers by the path of their row; the small ones below a row that is taken apart stay."""
    groups, done = _below("", list(sizes), paths), set[str]()
    while name := _largest(groups, sizes, done):
        parts = _below(name, groups[name], paths)
        large = _large(parts, sizes) if len(parts) > 1 else [each for each in parts if each != name]
        left = [layer for each, of in parts.items() if each not in large for layer in of]
        if not large or len(_large(groups, sizes)) + len(large) > most:
            done.add(name)
            continue
        del groups[name]
        groups |= {each: parts[each] for each in large}
        if left:
            groups[name] = [*groups.get(name, ()), *left]
            done.add(name)
    return groups


def _largest(groups: Mapping[str, list[str]], sizes: Mapping[str, int], done: set[str]) -> str:
    """The largest row that may be taken apart, down to the parts of blocks; empty where there is
    none."""
    found = [each for each in _large(groups, sizes) if each not in done and f"{ANY}." not in each]
    return max(
        found, key=lambda name: (sum(map(sizes.__getitem__, groups[name])), name), default=""
    )


def _large(groups: Mapping[str, list[str]], sizes: Mapping[str, int]) -> list[str]:
    """The rows that have enough of all bytes to be looked into."""
    least = LITTLE * sum(sizes.values())
    return [name for name, of in groups.items() if sum(map(sizes.__getitem__, of)) > least]


def _below(name: str, layers: Sequence[str], paths: Mapping[str, str]) -> dict[str, list[str]]:
    """The layers of a row by the modules one step further down; its own stay with its name."""
    depth = name.count(".") + 2 if name else 1
    found: dict[str, list[str]] = {}
    for layer in layers:
        found.setdefault(cut(paths[layer], depth), []).append(layer)
    return found


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
    """Family of a numbered block: ``"h"`` for ``"h.3.mlp"``; itself where it has no number.

    >>> family("h.3.mlp"), family("lm_head")
    ('h', 'lm_head')
    """
    parts = layer.split(".")
    numbers = [depth for depth, part in enumerate(parts[:-1]) if part.isdigit()]
    return ".".join(parts[: numbers[0]]) if numbers else parts[0]


def block(layer: str) -> str:
    """The innermost numbered block of a path, or the path itself.

    >>> block("h.3.mlp.fc"), block("lm_head")
    ('h.3', 'lm_head')
    """
    parts = layer.split(".")
    numbers = [depth for depth, part in enumerate(parts[:-1]) if part.isdigit()]
    return cut(layer, numbers[-1] + 1) if numbers else layer
