"""How pictures follow the page: its colours in JupyterLab, the reader's theme anywhere else."""

from __future__ import annotations

from memlab.views.roles import Paint

_SIZES = (11, 12, 13, 14, 16, 20)

_RULES = (
    ".memlab-svg{--ink:#161616;--paper:#fff;"
    "color:var(--jp-content-font-color1,var(--ink));"
    "font-family:Arial,'Liberation Sans',Helvetica,sans-serif;fill:currentColor;"
    "text-rendering:geometricPrecision}",
    "@media(prefers-color-scheme:dark){.memlab-svg{--ink:#e6e6e6;--paper:#111}}",
    ".memlab-svg :is(.page,.chip,.hollow){fill:var(--jp-layout-color0,var(--paper))}",
    ".memlab-svg .chip{fill-opacity:.86}",
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
"""Every rule begins with the class of the picture: a style inside a page holds for all of it."""

GRID_INK = "#7a6f00"


def pattern(name: str, paint: Paint) -> str:
    """The definition of a pattern, lines or dots over a tint."""
    tile, turn, marks = _PATTERNS[paint.pattern]
    ink = GRID_INK if paint.pattern == "grid" else paint.colour
    turned = f' patternTransform="rotate({turn})"' if turn else ""
    return (
        f'<pattern id="{name}" width="{tile}" height="{tile}" patternUnits="userSpaceOnUse"'
        f"{turned}>{marks.format(ink=ink)}</pattern>"
    )


_PATTERNS: dict[str, tuple[int, int, str]] = {
    "level": (4, 0, '<path d="M0 2H4" stroke="{ink}" stroke-width="1.3"/>'),
    "rising": (6, 45, '<path d="M3 0V6" stroke="{ink}" stroke-width="1.6"/>'),
    "falling": (5, -45, '<path d="M2.5 0V5" stroke="{ink}" stroke-width="1.5"/>'),
    "grid": (5, 0, '<path d="M0 2.5H5M2.5 0V5" stroke="{ink}" stroke-width="0.9"/>'),
    "dots": (5, 0, '<circle cx="2.5" cy="2.5" r="1" fill="{ink}"/>'),
}
"""Tile in pixels, turn in degrees, marks."""
