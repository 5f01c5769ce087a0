"""The axes of a tensor: named extents, outermost first, and those of a sample of a network."""

from __future__ import annotations

Shape = tuple[int, ...]
"""Extents of a sample, without the batch: ``(C, H, W)`` for maps, ``(T, F)``, ``(F,)``."""
Dims = tuple[tuple[str, int], ...]
"""Named extents: ``(("K", 64), ("C", 3), ("k", 7), ("k", 7))``."""

BATCH = ("B", 0)
"""The batch axis. Its extent is not known to a plan, so it stands as 0."""

NAMES = {1: ("F",), 2: ("T", "F"), 3: ("C", "H", "W")}
"""The names of the axes of a sample: a vector, a sequence of vectors, a map."""


def dims(shape: Shape, batched: bool = True) -> Dims:
    """Return the named axes of a map ``(C, H, W)``, a sequence ``(T, F)`` or a vector ``(F,)``,
    with the batch axis in front."""
    axes = tuple(zip(NAMES[len(shape)], shape, strict=True))
    return (BATCH, *axes) if batched else axes
