"""Colours and motion of the picture, as CSS: what a reader without it sees is in attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

LOOKS = {
    "page": ("fill", "#fff", "#0d1117"),
    "ink": ("fill", "#161616", "#e8e8e8"),
    "dim": ("fill", "#595959", "#a6a6a6"),
    "bar": ("fill", "#0072B2", "#56B4E9"),
    "on": ("stroke", "#0072B2", "#56B4E9"),
    "pale": ("stroke", "#bfdcef", "#23495f"),
    "seam": ("stroke", "#fff", "#0d1117"),
    "zero": ("stroke", "#b77f00", "#E69F00"),
    "edge": ("stroke", "#161616", "#e8e8e8"),
    "ghost": ("stroke", "#595959", "#a6a6a6"),
    "look": ("stroke", "#D55E00", "#F0E442"),
}
"""Attribute that a class sets, and its colour on a light page and on a dark one."""
LOOP, LOOPS = 11.0, 2
"""Seconds of the motion, and how often it is shown."""
FADE = 0.15
"""Seconds in which something comes or goes."""
FIRST, STEP, WAIT, FLIGHT = 0.6, 0.46, 0.12, 0.62
"""Seconds: start of the first copy, from copy to copy, before one opens, until it lands."""
ASKED, TILED, ANSWERED, READ = 5.0, 6.7, 8.5, 10.8
"""Seconds at which the question is there, the first tile, the answer, and the last window."""
CURVE = "cubic-bezier(.45,0,.2,1)"
Span = tuple[float, float]
"""Seconds from which and until which something is shown."""
Frame = tuple[float, str]
"""Second, and the declarations that hold at it."""


def look(name: str, *classes: str) -> dict[str, Any]:
    """Return the attributes of a class, with its colour on a light page, and other classes."""
    attribute, light, _ = LOOKS[name]
    return {"class_": " ".join((name, *filter(None, classes))), attribute: light}


def leaves(index: int) -> float:
    """Return the second at which a copy leaves the input."""
    return FIRST + STEP * index


def lands(index: int) -> float:
    """Return the second at which a copy lies in its row of the matrix."""
    return leaves(index) + WAIT + FLIGHT


@dataclass
class Motion:
    """Rules of the animations, by the name of the class that each moves."""

    rules: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, frames: Sequence[Frame]) -> str:
        """Add an animation, and return the classes of an element that it moves."""
        steps = "".join(f"{100 * at / LOOP:.3g}%{{{what}}}" for at, what in frames)
        self.rules[name] = f"@keyframes {name}{{{steps}}}.{name}{{animation-name:{name}}}"
        return f"k {name}"

    def show(self, name: str, *spans: Span, low: float = 0, fade: float = FADE) -> str:
        """Add an animation that shows an element in spans of time, and return its classes.

        Outside of them, its opacity is ``low``.
        """
        hidden = f"opacity:{low:g}"
        frames = [] if spans[0][0] == 0 else [(0.0, hidden)]
        for start, end in spans:
            frames += [(start - fade, hidden)] if start else []
            frames += [(start, "opacity:1"), (end, "opacity:1")]
            frames += [(end + fade, hidden)] if end < LOOP else []
        return self.add(name, [*frames, (LOOP, frames[-1][1])])

    @property
    def style(self) -> str:
        """Text of the style: dark colours, and the animations where motion is wanted.

        After the last loop the last frame stays; what is ``still`` has no place in the motion.
        """
        dark = "".join(f".{name}{{{kind}:{night}}}" for name, (kind, _, night) in LOOKS.items())
        moved = f".k{{animation:{LOOP:g}s linear {LOOPS} both}}.still{{opacity:0}}"
        return (
            f"@media(prefers-color-scheme:dark){{{dark}}}"
            "@media(prefers-reduced-motion:no-preference)"
            f"{{{moved}{''.join(self.rules.values())}}}"
        )
