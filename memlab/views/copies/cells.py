"""Cells as text of an SVG: the picture, a copy, a row of the matrix, a few cells apart."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from memlab.views.copies import pixels, windows
from memlab.views.copies.layout import ZERO
from memlab.views.svg import Svg


def look(svg: Svg, cell: int) -> dict[str, Any]:
    """What a group of cells needs: runs as wide as a cell, added zeros hatched."""
    name = svg.patterns.setdefault(ZERO, f"{svg.key}-zero")
    return {"class_": "cells", "stroke": f"url(#{name})", "stroke_width": cell}


@lru_cache
def letter(cell: int) -> str:
    """The picture, from its top left corner on."""
    kinds = "".join(windows.LETTER)
    return pixels.strokes(kinds, windows.SIZE, cell) + pixels.grid(windows.SIZE, windows.SIZE, cell)


@lru_cache(maxsize=1024)
def copy(lowered: windows.Lowered, index: int, cell: int) -> str:
    """A copy as a picture."""
    places = lowered.places
    kinds = windows.kinds(lowered.copies[index])
    return pixels.strokes(kinds, places, cell) + pixels.grid(places, places, cell)


@lru_cache(maxsize=1024)
def row(lowered: windows.Lowered, index: int, cell: int) -> str:
    """The same copy as a row of the matrix."""
    kinds = windows.kinds(lowered.copies[index])
    return pixels.strokes(kinds, len(kinds), cell)


def single(svg: Svg, cell: int, found: Iterable[tuple[float, float, str]]) -> None:
    """Cells one by one: left, top and kind of each."""
    marks: dict[str, list[str]] = {}
    for x, y, kind in found:
        marks.setdefault(kind, []).append(f"M{x:g} {y + cell / 2:g}h{cell}")
    with svg.group(**look(svg, cell)):
        for kind, path in marks.items():
            svg.path("".join(path), class_=f"{pixels.CLASSES[kind]}-run")
