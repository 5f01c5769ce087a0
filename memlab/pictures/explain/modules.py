"""Modules of a model by their paths: groups of similar modules, and a few rows for all of them.

A path is a name as in PyTorch's ``named_modules``: ``"h.3.attn.c_proj"``. Modules of several
numbered blocks are similar: they share the path ``"h.*.attn.c_proj"``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

ANY = "*"
"""Sign in a path for the number of any block."""
ROWS = 6
"""Largest number of rows; small ones share the last."""
LONG = 80
"""Largest number of characters of a path in a sentence or a table."""
LITTLE, NOTHING = 0.1, 0.01
"""Shares of all bytes: a row below the first is not taken apart, one below the second shares
the last row."""


@dataclass(frozen=True, slots=True)
class ModuleGroup:
    """Bytes of some layers under one path.

    ``members`` are the layers below the path; in a ``rest`` those that have no row of their own. A
    group of small rows has an empty name, and ``others`` is the number of these rows.
    """

    name: str
    members: tuple[str, ...]
    nbytes: int
    others: int = 0
    rest: bool = False

    def instance(self, layer: str) -> str:
        """Return the module of a layer at the depth of this path: ``"h.3.attn"`` for
        ``"h.*.attn"``; one level deeper where the path has no ``*``."""
        return path_prefix(layer, self.name.count(".") + (1 if ANY in self.name else 2))


def with_class(path: str, classes: Mapping[str, str]) -> str:
    """Return a path, with the class of the module where its name is only a number: ``'features.3
    (ReLU)'``."""
    kind, name = classes.get(path, ""), shortened_path(path)
    return f"{name} ({kind})" if kind and path.rpartition(".")[2].isdigit() else name


def shortened_path(path: str) -> str:
    """Return a path for a sentence; a path of more than 80 characters without its beginning."""
    return path if len(path) <= LONG else f"...{path[-LONG:]}"


def path_prefix(path: str, depth: int) -> str:
    """Return the first ``depth`` parts of a path."""
    return ".".join(path.split(".")[:depth])


def shared_paths(layers: Iterable[str]) -> dict[str, str]:
    """Return the path that each layer shares with similar layers.

    >>> shared_paths(["h.0.mlp", "h.1.mlp", "head"])
    {'h.0.mlp': 'h.*.mlp', 'h.1.mlp': 'h.*.mlp', 'head': 'head'}
    """
    return dict(_cached_shared_paths(tuple(dict.fromkeys(layers))))


@lru_cache(maxsize=32)
def _cached_shared_paths(layers: tuple[str, ...]) -> Mapping[str, str]:
    """Return the shared path of each layer; cached."""
    blocks: dict[str, set[str]] = {}
    for layer in layers:
        parent, number, _ = _split_at_block(layer)
        if number:
            blocks.setdefault(parent, set()).add(number)
    several = {parent for parent, numbers in blocks.items() if len(numbers) > 1}
    return {layer: _shared_path(layer, several) for layer in layers}


def _split_at_block(layer: str) -> tuple[str, str, str]:
    """Return the parts before the number of a layer's innermost block, that number, and the parts
    after it. The number is empty where the layer is in no block, or where nothing stands before
    the number."""
    parts = layer.split(".")
    at = max((i for i, part in enumerate(parts[:-1]) if i and part.isdigit()), default=0)
    return ".".join(parts[:at]), parts[at] if at else "", ".".join(parts[at + 1 :])


def _shared_path(layer: str, several: Collection[str]) -> str:
    """Return the path of a layer with ``*`` for the number of its block, if its parent is in
    ``several``."""
    parent, number, rest = _split_at_block(layer)
    if number and parent in several:
        return f"{parent}.{ANY}.{rest}"
    parent, _, last = layer.rpartition(".")
    return f"{parent}.{ANY}" if last.isdigit() and parent in several else layer


def module_groups(sizes: Mapping[str, int], most: int = ROWS) -> tuple[ModuleGroup, ...]:
    """Return the bytes of layers in at most ``most`` rows, the largest first.

    A row is taken apart into the modules below it while it is large and there is room; then small
    rows share the last one.

    Args:
        sizes: bytes of each layer.
        most: largest number of rows.
    """
    layers = {layer: nbytes for layer, nbytes in sizes.items() if nbytes}
    groups = _layers_by_row(shared_paths(layers), layers, most)
    cut_up = {path.rpartition(".")[0] for path in groups}
    ranked = [
        ModuleGroup(name, tuple(of), sum(layers[path] for path in of), rest=name in cut_up)
        for name, of in groups.items()
    ]
    ranked.sort(key=lambda group: (-group.nbytes, group.name))
    least = NOTHING * sum(layers.values())
    count = sum(group.nbytes >= least for group in ranked)
    if len(ranked) <= most and count == len(ranked):
        return tuple(ranked)
    few, rest = ranked[: min(count, most - 1)], ranked[min(count, most - 1) :]
    members = tuple(path for group in rest for path in group.members)
    return (*few, ModuleGroup("", members, sum(group.nbytes for group in rest), len(rest)))


def _layers_by_row(
    paths: Mapping[str, str], sizes: Mapping[str, int], most: int
) -> dict[str, list[str]]:
    """Return the layers of each row; in a row that is taken apart, small ones stay in the row."""
    groups, done = _children("", list(sizes), paths), set[str]()
    while name := _largest(groups, sizes, done):
        parts = _children(name, groups[name], paths)
        large = _large(parts, sizes) if len(parts) > 1 else [path for path in parts if path != name]
        left = [layer for path, of in parts.items() if path not in large for layer in of]
        if not large or len(_large(groups, sizes)) + len(large) > most:
            done.add(name)
            continue
        del groups[name]
        groups |= {path: parts[path] for path in large}
        if left:
            groups[name] = [*groups.get(name, ()), *left]
            done.add(name)
    return groups


def _largest(groups: Mapping[str, list[str]], sizes: Mapping[str, int], done: set[str]) -> str:
    """Return the path of the largest row that may be taken apart, down to the parts of blocks;
    empty without one."""
    large = _large(groups, sizes)
    candidates = [path for path in large if path not in done and f"{ANY}." not in path]
    return max(
        candidates, key=lambda name: (sum(map(sizes.__getitem__, groups[name])), name), default=""
    )


def _large(groups: Mapping[str, list[str]], sizes: Mapping[str, int]) -> list[str]:
    """Return the rows with more than a tenth of all bytes."""
    least = LITTLE * sum(sizes.values())
    return [name for name, of in groups.items() if sum(map(sizes.__getitem__, of)) > least]


def _children(name: str, layers: Sequence[str], paths: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the layers of a row by the modules one level deeper; a layer that is the row itself
    keeps its name."""
    depth = name.count(".") + 2 if name else 1
    children: dict[str, list[str]] = {}
    for layer in layers:
        children.setdefault(path_prefix(paths[layer], depth), []).append(layer)
    return children


def span_name(layers: Sequence[str]) -> str:
    """Return the modules of some layers, in their order, as one name or two: ``"h.0 → h.11"``.

    >>> span_name(["h.0.mlp", "h.0.attn", "h.1.mlp"]), span_name(["head"])
    ('h.0 → h.1', 'head')
    """
    first, last = layers[0], layers[-1]
    depth = 1
    while path_prefix(first, depth) == path_prefix(last, depth) and depth <= first.count("."):
        depth += 1
    a, b = path_prefix(first, depth), path_prefix(last, depth)
    return a if a == b else f"{a} → {b}"


def block_family(layer: str) -> str:
    """Return the path before the first number in a layer's path; without a number, its first part.

    >>> block_family("h.3.mlp"), block_family("lm_head")
    ('h', 'lm_head')
    """
    parts = layer.split(".")
    numbers = [depth for depth, part in enumerate(parts[:-1]) if part.isdigit()]
    return ".".join(parts[: numbers[0]]) if numbers else parts[0]


def innermost_block(layer: str) -> str:
    """Return the path of the innermost numbered block of a layer, or the layer itself.

    >>> innermost_block("h.3.mlp.fc"), innermost_block("lm_head")
    ('h.3', 'lm_head')
    """
    parts = layer.split(".")
    numbers = [depth for depth, part in enumerate(parts[:-1]) if part.isdigit()]
    return path_prefix(layer, numbers[-1] + 1) if numbers else layer
