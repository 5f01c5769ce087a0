"""The looks of the theme in matplotlib, which is loaded by whoever asks for a figure."""

from __future__ import annotations

from typing import Any

from memlab.views.draw import theme
from memlab.views.draw.theme import Paint

HA = {"start": "left", "middle": "center", "end": "right"}
_MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "wedge": "v"}


def ink() -> Any:
    """The colour of texts, by the style that the reader has chosen."""
    import matplotlib as mpl

    return mpl.rcParams["text.color"]


def sheet() -> Any:
    """The colour behind a chart, by the same style."""
    import matplotlib as mpl

    return mpl.rcParams["axes.facecolor"]


def colour(name: str) -> Any:
    """A colour of ours; the page's own where it is the current one, and what stands for a variable
    of a style: ``"var(--copy-on,#0072B2)"``."""
    name = name.removeprefix("var(").removesuffix(")").rpartition(",")[2]
    return ink() if name == "currentColor" else name


def filled(paint: Paint) -> dict[str, Any]:
    """How an area is filled."""
    from matplotlib.colors import to_rgba

    known = colour(paint.colour)
    hatch = theme.HATCHES.get(paint.pattern)
    edge = theme.GRID_INK if paint.pattern == "grid" else known
    return {"facecolor": to_rgba(known, paint.tint), "edgecolor": edge, "hatch": hatch,
            "linewidth": 0.6}  # fmt: skip


def hollow(look: str) -> dict[str, Any]:
    """How a rectangle is drawn of which there is only the edge."""
    if look in ("chip", "hollow"):
        return {"facecolor": "none", "edgecolor": "none"}
    if look == "page":
        return {"facecolor": sheet(), "edgecolor": "none"}
    style = lined(look)
    return {"facecolor": "none", "edgecolor": style.pop("color"), **style}


def lined(look: str | int, dashes: str = "") -> dict[str, Any]:
    """How a line is drawn."""
    style: dict[str, Any] = {"color": ink() if isinstance(look, str) else theme.symbol(look)[1]}
    for name in look.split() if isinstance(look, str) else ():
        style |= theme.LINES.get(name, {})
    if dashes:
        style["linestyle"] = (0, tuple(float(part) for part in dashes.split()))
    return style


def marked(look: str | int, size: float) -> dict[str, Any]:
    """How points are drawn."""
    if isinstance(look, str):
        face = ink() if look == "dot" else "none"
        return {"marker": "o", "s": size**2, "facecolors": face, "edgecolors": ink()}
    shape, name, full = theme.symbol(look)
    return {"marker": _MARKERS[shape], "s": 50, "facecolors": name if full else "none",
            "edgecolors": name}  # fmt: skip
