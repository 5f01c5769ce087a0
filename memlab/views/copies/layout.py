"""Where the parts of the picture stand, and how its cells look."""

from __future__ import annotations

from dataclasses import dataclass

from memlab.views.copies.windows import SIZE
from memlab.views.roles import Paint

WIDEST, WIDE, NARROWEST = 820, 660, 480
"""From ``WIDE`` on a cell is larger."""
LINE = 17
"""From one sentence to the next."""
DIMMED = 0.35
"""What is not pinned, where something is."""

ZERO = Paint("#E69F00", 1, "rising")
"""An added zero."""
OVER = Paint("#D55E00", 0, "falling")
"""What does not fit."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of one width. ``cell`` is the side of a cell, whatever k is: 7 x 7 is as large
    beside 3 x 3 as it is. ``left`` is where copies, matrix and bars begin."""

    width: int
    cell: int
    left: int

    @property
    def side(self) -> int:
        """The side of the input."""
        return SIZE * self.cell

    @property
    def input(self) -> int:
        """The left edge of the input: a kernel of 7 reaches three cells over it."""
        return 3 * self.cell + 1

    @property
    def matrix(self) -> int:
        """The left edge of the matrix; its names stand above it where it needs their place."""
        return min(self.left, self.right - SIZE**2 * self.cell)

    @property
    def pitch(self) -> int:
        """From one copy to the next: a cell stays free."""
        return self.side + self.cell

    @property
    def right(self) -> int:
        """Where texts end that are flush right."""
        return self.width - 4


def layout(width: int) -> Layout:
    """The layout for a page so many pixels wide."""
    wide = max(min(width, WIDEST), NARROWEST)
    return Layout(wide, 8, 150) if wide >= WIDE else Layout(wide, 6, 108)


_LIGHT = "--copy-on:#0072B2;--copy-pale:#bfdcef;--copy-look:#D55E00"
_DARK = "--copy-on:#56B4E9;--copy-pale:#23495f;--copy-look:#F0E442"
_PAGE = "var(--jp-layout-color0,var(--paper))"

STYLE = "".join(
    (
        f".memlab-svg{{{_LIGHT}}}",
        f"@media(prefers-color-scheme:dark){{.memlab-svg{{{_DARK}}}}}",
        f'.memlab-svg:is([data-jp-theme-light="true"] *){{{_LIGHT}}}',
        f'.memlab-svg:is([data-jp-theme-light="false"] *){{{_DARK}}}',
        ".memlab-svg .on{fill:var(--copy-on)}.memlab-svg .on-run{stroke:var(--copy-on)}",
        ".memlab-svg .pale-run{stroke:var(--copy-pale)}",
        f".memlab-svg .cells{{fill:none}}.memlab-svg .cells .grid{{stroke:{_PAGE};"
        "stroke-opacity:1;stroke-width:.7}",
        f".memlab-svg .seam{{stroke:{_PAGE};stroke-width:1.5;fill:none}}",
        ".memlab-svg .edge{stroke:currentColor;stroke-width:1;fill:none}",
        ".memlab-svg .input{stroke:currentColor;stroke-width:2.4;fill:none}",
        ".memlab-svg .ghost{stroke:currentColor;stroke-opacity:.55;stroke-dasharray:3 3;fill:none}",
        f".memlab-svg .veil{{fill:{_PAGE};fill-opacity:.68}}",
        ".memlab-svg .look{stroke:var(--copy-look);stroke-width:2.6;fill:none}",
        ".memlab-svg .thin-look{stroke:var(--copy-look);stroke-width:1.2;fill:none}",
        ".memlab-svg .mark{fill:var(--copy-look)}",
        ".memlab-svg .box{stroke:currentColor;stroke-width:3;fill:none}",
        ".memlab-svg :is(.marks,.print){pointer-events:none}.memlab-svg .print{opacity:0}",
        "@media(prefers-reduced-motion:no-preference){"
        ".memlab-svg .print{animation:memlab-fly .4s ease-in-out}"
        ".memlab-svg .comes{animation:memlab-come .4s}}",
        "@keyframes memlab-fly{0%{opacity:.75;transform:translate(var(--from-x),var(--from-y))}"
        "80%{opacity:.75;transform:none}100%{opacity:0}}",
        "@keyframes memlab-come{0%,70%{opacity:0}}",
    )
)
"""Every rule begins with the class of the picture: a style inside a page holds for all of it."""
