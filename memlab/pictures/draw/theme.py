"""One palette for every view: colour, pattern and shape tell a role, an alternative or an origin.

A solid area is a value that is kept, a diagonal pattern is a gradient. The floor of the stack
(parameters, optimizer state) has cool colours, the mountain above it is green and orange.
Neighbours in a stack differ in grey too. Pictures follow the page: its colours in JupyterLab, the
reader's theme anywhere else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from memlab.errors import InputError, library, shorten
from memlab.pictures.mountain.stack_parts import StackPart
from memlab.step.tensor import Role


@dataclass(frozen=True, slots=True)
class Paint:
    """Fill of an area: its colour, its opacity from 0 to 1, and the name of the pattern over it."""

    colour: str
    tint: float
    pattern: str = ""


# -- roles --------------------------------------------------------------------------------------

PAINTS: dict[Role, Paint] = {
    Role.PARAMETER: Paint("#0072B2", 0.62),
    Role.OPTIMIZER_STATE: Paint("#56B4E9", 0.30, "level"),
    Role.BUFFER: Paint("#999999", 0.30, "level"),
    Role.INPUT: Paint("#999999", 0.30, "dots"),
    Role.FEATURE_MAP: Paint("#009E73", 0.38),
    Role.PARAMETER_GRADIENT: Paint("#CC79A7", 0.28, "rising"),
    Role.WORKSPACE: Paint("#F0E442", 0.75, "grid"),
    Role.GRADIENT_MAP: Paint("#D55E00", 0.34, "falling"),
}
"""The colours of Okabe and Ito, which people with any colour vision can tell apart."""

STATISTICS = Paint("#009E73", 0.16, "level")
"""Kept values whose bytes do not grow with the batch: statistics of batch norm, the loss."""


def paint(part: StackPart) -> Paint:
    """Return the fill of one slice of the stack: by its role, or ``STATISTICS`` for feature-map
    bytes that do not grow with the batch."""
    odd = part.role is Role.FEATURE_MAP and not part.grows
    return STATISTICS if odd else PAINTS[part.role]


MATRICES = Paint("#009E73", 0.18, "squares")
"""The feature maps that grow with the square of a text's length."""
LOGITS = Paint("#009E73", 0.13, "upright")
"""The feature maps as wide as the vocabulary."""

FREE = Paint("currentColor", 0.0, "free")
"""Free bytes, which no block takes."""

IDLE = Paint("#009E73", 0.0, "idle")
"""A feature map while nothing reads or writes it."""
WAIT = Paint("currentColor", 0.0, "wait")
"""Time in which nothing is computed."""

# -- where a figure comes from ------------------------------------------------------------------

PLANNED = Paint("currentColor", 0.20)
ORIGINS: dict[str, Paint | str] = {
    "planned": PLANNED,
    "measured": Paint("currentColor", 0.04, "dots"),
    "recorded": Paint("currentColor", 0.04, "level"),
    "simulated": Paint("currentColor", 0.04, "falling"),
    "guess": "before",
    "": "rule",
}
"""Looks by origin: a planned figure is filled, one of a run has a pattern; a guess, and a figure
that a question gives, have an edge only."""


def origin(name: str) -> Paint | str:
    """Return the look of a figure by its origin, a paint or the class of an edge. A name that is
    not in ``ORIGINS`` looks like ``"measured"``."""
    return ORIGINS.get(name, ORIGINS["measured"])


# -- several alternatives -----------------------------------------------------------------------

SHAPES = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
    "square": "M-3.6-3.6h7.2v7.2h-7.2Z",
    "triangle": "M0-4.6L4.5 3.4H-4.5Z",
    "diamond": "M0-5L5 0L0 5L-5 0Z",
    "wedge": "M0 4.6L4.5-3.4H-4.5Z",
}
SYMBOLS = (
    ("circle", "#0072B2", True), ("square", "#D55E00", True), ("triangle", "#009E73", True),
    ("diamond", "#E69F00", True), ("circle", "#CC79A7", False), ("square", "#56B4E9", False),
    ("triangle", "#999999", False), ("diamond", "#0072B2", False), ("wedge", "#D55E00", True),
    ("wedge", "#009E73", False),
)  # fmt: skip
"""Symbols of alternatives: shape, colour, True if filled. Any two differ without colour too."""
DASHES = ("", "7 3", "2 2.5", "10 3 2 3", "4 2")
"""Dashes of the lines of alternatives, where these differ by more than their symbols."""


def alternative_symbol(index: int) -> tuple[str, str, bool]:
    """Return shape, colour and True if filled, for the alternative with that number; they repeat
    after the last of ``SYMBOLS``."""
    return SYMBOLS[index % len(SYMBOLS)]


# -- style --------------------------------------------------------------------------------------

_SIZES = (11, 12, 13, 14, 16, 20)
_RULES = (
    ".memlab-svg{--ink:#161616;--paper:#fff;"
    "color:var(--jp-content-font-color1,var(--ink));"
    "font-family:Arial,'Liberation Sans',Helvetica,sans-serif;fill:currentColor;"
    "text-rendering:geometricPrecision}",
    "@media(prefers-color-scheme:dark){.memlab-svg{--ink:#e6e6e6;--paper:#111}}",
    ".memlab-svg :is(.page,.chip,.hollow){fill:var(--jp-layout-color0,var(--paper))}",
    ".memlab-svg .chip{fill-opacity:.97}",
    ".memlab-svg .b{font-weight:700}.memlab-svg .dim{fill-opacity:.66}",
    ".memlab-svg .rule{stroke:currentColor;fill:none}",
    ".memlab-svg .faint{stroke-opacity:.5}",
    ".memlab-svg .chosen{stroke-width:2.2;stroke-dasharray:6 3}",
    ".memlab-svg .pole{stroke:currentColor;stroke-width:1.6}",
    ".memlab-svg .grid{stroke:currentColor;stroke-opacity:.16;fill:none}",
    ".memlab-svg .limit{stroke:currentColor;stroke-width:2.6;fill:none;stroke-linejoin:round}",
    ".memlab-svg .before{stroke:currentColor;stroke-opacity:.55;stroke-width:1.6;"
    "stroke-dasharray:5 3;fill:none}",
    ".memlab-svg .thin{stroke-width:1.1;stroke-dasharray:4 2.5}",
    *(f".memlab-svg .s{size}{{font-size:{size}px}}" for size in _SIZES),
)
STYLE = "".join(_RULES)
"""CSS rules, each for elements inside a picture only: a style element holds for its whole page."""

GRID_INK = "#7a6f00"

_PATTERNS: dict[str, tuple[int, int, str]] = {
    "level": (4, 0, '<path d="M0 2H4" stroke="{ink}" stroke-width="1.3"/>'),
    "rising": (6, 45, '<path d="M3 0V6" stroke="{ink}" stroke-width="1.6"/>'),
    "falling": (5, -45, '<path d="M2.5 0V5" stroke="{ink}" stroke-width="1.5"/>'),
    "grid": (5, 0, '<path d="M0 2.5H5M2.5 0V5" stroke="{ink}" stroke-width="0.9"/>'),
    "squares": (7, 0, '<path d="M0 3.5H7M3.5 0V7" stroke="{ink}" stroke-width="1.1"/>'),
    "upright": (5, 0, '<path d="M2.5 0V5" stroke="{ink}" stroke-width="1.3"/>'),
    "free": (7, 45, '<path d="M3.5 0V7" stroke="{ink}" stroke-opacity=".2"/>'),
    "idle": (9, 45, '<path d="M4.5 0V9" stroke="{ink}" stroke-width="1"/>'),
    "wait": (7, 45, '<path d="M3.5 0V7" stroke="{ink}" stroke-width="2.8"/>'),
    "dots": (5, 0, '<circle cx="2.5" cy="2.5" r="1" fill="{ink}"/>'),
}
"""Size of a pattern's tile in pixels, its rotation in degrees, the elements in it."""
HATCHES = {"level": "---", "rising": "///", "falling": "\\\\\\", "grid": "+++", "dots": "...",
           "squares": "++", "upright": "|||", "free": "/", "idle": "/", "wait": "////"}  # fmt: skip
"""The patterns as matplotlib's hatches."""
LINES: dict[str, dict[str, object]] = {
    "rule": {"linewidth": 1.0},
    "grid": {"linewidth": 0.8, "alpha": 0.16},
    "limit": {"linewidth": 2.6},
    "pole": {"linewidth": 1.6},
    "before": {"linewidth": 1.6, "alpha": 0.55, "linestyle": (0, (5, 3))},
    "thin": {"linewidth": 1.1, "linestyle": (0, (4, 2.5))},
    "faint": {"alpha": 0.5},
    "chosen": {"linewidth": 2.2, "linestyle": (0, (6, 3))},
}
"""The CSS classes of lines as keyword arguments of matplotlib."""


def pattern_element(name: str, paint: Paint) -> str:
    """Return the SVG ``<pattern>`` element with the id ``name``: the lines or dots of a paint, in
    its colour."""
    tile, turn, marks = _PATTERNS[paint.pattern]
    ink = GRID_INK if paint.pattern == "grid" else paint.colour
    turned = f' patternTransform="rotate({turn})"' if turn else ""
    return (
        f'<pattern id="{name}" width="{tile}" height="{tile}" patternUnits="userSpaceOnUse"'
        f"{turned}>{marks.format(ink=ink)}</pattern>"
    )


# -- in matplotlib -------------------------------------------------------------------------------

HA = {"start": "left", "middle": "center", "end": "right"}
_MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "wedge": "v"}


BACKEND = "MPLBACKEND"


def load_matplotlib() -> None:
    """Load matplotlib, which reads the environment variable ``MPLBACKEND`` as it loads.

    Raises:
        InputError: it is not installed, or that variable names no backend.
    """
    try:
        library("matplotlib", "a figure or a picture of pixels")
    except InputError:
        raise
    except ValueError:
        backend = os.environ.get(BACKEND)
        if not backend:
            raise
        raise InputError(
            f"matplotlib knows no backend {shorten(backend)}, which {BACKEND} names; unset it in "
            f"the environment, or set {BACKEND}=agg."
        ) from None


def ink() -> Any:
    """Return matplotlib's colour of texts, from the style that the reader has chosen."""
    import matplotlib as mpl

    return mpl.rcParams["text.color"]


def background() -> Any:
    """Return matplotlib's colour behind a chart, from the style that the reader has chosen."""
    import matplotlib as mpl

    return mpl.rcParams["axes.facecolor"]


def colour(name: str) -> Any:
    """Return the matplotlib colour of a CSS colour of ours: the colour of texts for
    ``"currentColor"``, the fallback for a CSS variable such as ``"var(--copy-on,#0072B2)"``,
    else the name itself."""
    name = name.removeprefix("var(").removesuffix(")").rpartition(",")[2]
    return ink() if name == "currentColor" else name


def area_style(paint: Paint) -> dict[str, Any]:
    """Return the matplotlib keyword arguments that fill an area like a paint."""
    from matplotlib.colors import to_rgba

    known = colour(paint.colour)
    hatch = HATCHES.get(paint.pattern)
    edge = GRID_INK if paint.pattern == "grid" else known
    return {"facecolor": to_rgba(known, paint.tint), "edgecolor": edge, "hatch": hatch,
            "linewidth": 0.6}  # fmt: skip


def edge_style(look: str) -> dict[str, Any]:
    """Return the matplotlib keyword arguments of a rectangle that is drawn by the name of a CSS
    class: an edge without a fill, for ``"page"`` a fill without an edge, for ``"chip"`` and
    ``"hollow"`` neither."""
    if look in ("chip", "hollow"):
        return {"facecolor": "none", "edgecolor": "none"}
    if look == "page":
        return {"facecolor": background(), "edgecolor": "none"}
    style = line_style(look)
    return {"facecolor": "none", "edgecolor": style.pop("color"), **style}


def line_style(look: str | int, dashes: str = "") -> dict[str, Any]:
    """Return the matplotlib keyword arguments of a line.

    Args:
        look: CSS classes of the line, or the number of an alternative.
        dashes: lengths of dashes and gaps in pixels, separated by spaces.
    """
    tone = ink() if isinstance(look, str) else alternative_symbol(look)[1]
    style: dict[str, Any] = {"color": tone}
    for name in look.split() if isinstance(look, str) else ():
        style |= LINES.get(name, {})
    if dashes:
        style["linestyle"] = (0, tuple(float(part) for part in dashes.split()))
    return style


def point_style(look: str | int, size: float) -> dict[str, Any]:
    """Return the keyword arguments of matplotlib's ``scatter`` for points.

    Args:
        look: ``"dot"``, another name for an empty circle, or the number of an alternative.
        size: diameter of a circle in pixels; symbols of alternatives have one size.
    """
    if isinstance(look, str):
        face = ink() if look == "dot" else "none"
        return {"marker": "o", "s": size**2, "facecolors": face, "edgecolors": ink()}
    shape, name, full = alternative_symbol(look)
    return {"marker": _MARKERS[shape], "s": 50, "facecolors": name if full else "none",
            "edgecolors": name}  # fmt: skip
