"""The page: scenes, parts, texts and keys in one file that needs nothing else."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from memlab import strings
from memlab.views.copies import pixels, windows
from memlab.views.lecture import facts, parts
from memlab.views.lecture.record import Recorded
from memlab.views.lecture.scene import Scene
from memlab.views.lecture.scenes import (
    bench,
    copies,
    fold,
    formula,
    need,
    pixel,
    pointwise,
    question,
    run,
    size,
    stride,
    window,
)
from memlab.views.lecture.sheet import HIGH, LEFT, RIGHT, WIDE, Sheet, say

SHORT = ("question", "copies", "stride", "size", "need")
"""The scenes of the short form."""
HELP = (
    "next", "back", "kernel", "stride", "padding", "batch", "run", "vote", "count", "pin",
    "escape", "blank", "full", "text", "notes", "light", "short", "restart",
)  # fmt: skip
"""Keys, in the order of their list."""
_HERE = Path(__file__).parent


def scenes(recorded: Recorded | None = None) -> list[Scene]:
    """The scenes in order."""
    modules = question, window, fold, copies, pixel, stride, pointwise, size
    return [*(module.make() for module in modules), need.make(recorded), formula.make()]


def page(recorded: Recorded | None = None) -> str:
    """The whole file; without a recorded run it says so."""
    shown = scenes(recorded)
    sections = [_section(number, one, len(shown)) for number, one in enumerate(shown, 1)]
    sections.append(_sheet("bench", bench.draw(), say("page_text.bench"), _cursors() + _slider()))
    sections.append(_sheet("run", run.draw(recorded), say("page_text.run"), ""))
    return Template(_file("page.html")).substitute(
        language=strings.language(),
        title=escape(say("page", copies=facts.kernel() ** 2)),
        css=_file("page.css"),
        definitions=parts.definitions(),
        scenes="".join(sections),
        help=_help(shown),
        help_title=escape(say("page_text.help")),
        data=_json(_data(shown, recorded)),
        script=_file("page.js"),
    )


def _file(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8").strip()


def _json(value: object) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _section(number: int, scene: Scene, count: int) -> str:
    name = escape(say("page_text.scene", number=number, count=count))
    body = scene.sheet.written() + _ticks(number, count)
    return _svg(f"scene-{number}", "scene", name, body, bool(scene.pins))


def _sheet(key: str, sheet: Sheet, name: str, more: str) -> str:
    return _svg(key, "sheet", escape(name), sheet.written() + more, bool(more))


def _svg(key: str, kind: str, name: str, body: str, parts: bool) -> str:
    role = "group" if parts else "img"
    marks = '<g class="pins"></g>' if parts else ""
    return (
        f'<section id="{key}" class="{kind}"><svg viewBox="0 0 {WIDE} {HIGH}" role="{role}" '
        f'aria-label="{name}">{body}{marks}</svg></section>\n'
    )


def _ticks(number: int, count: int) -> str:
    """Where in the lecture the scene is."""
    left = RIGHT - 12 * count + 3
    return "".join(
        f'<rect x="{left + 12 * i}" y="704" width="9" height="4" '
        f'class="{"tick now" if i == number - 1 else "tick"}"/>'
        for i in range(count)
    )


def _cursors() -> str:
    """What Tab reaches on the sheet: the pixels of the input, and the output places."""
    rooms = (
        ("pixel", LEFT, say("bench.pixels")),
        ("place", bench.COPIES, say("bench.places")),
    )
    return "".join(
        f'<rect class="cursor" data-cursor="{kind}" x="{x}" y="{bench.TOP}" width="{bench.SIDE}" '
        f'height="{bench.SIDE}" tabindex="0" role="application" aria-label="{escape(name)}"/>'
        for kind, x, name in rooms
    )


def _slider() -> str:
    return (
        f'<foreignObject x="{RIGHT - 220}" y="664" width="220" height="44">'
        f'<input id="written" type="range" min="0" max="9" value="9" '
        f'aria-label="{escape(say("bench.slider"))}"/></foreignObject>'
    )


def _help(shown: list[Scene]) -> str:
    numbers = [str(i) for i, one in enumerate(shown, 1) if one.name in SHORT]
    rows = []
    for name in HELP:
        keys, _, does = say(f"help.{name}", scenes=" ".join(numbers)).partition("|")
        rows.append(f"<dt>{escape(keys)}</dt><dd>{escape(does)}</dd>")
    return "".join(rows)


def _data(shown: list[Scene], recorded: Recorded | None) -> dict[str, Any]:
    return {
        "scenes": [
            {
                "steps": one.sheet.steps,
                "twins": list(one.twins),
                "notes": one.notes,
                "auto": one.auto,
                "stops": one.stops or list(range(one.sheet.steps)),
                "pins": one.pins,
                "short": one.name in SHORT,
            }
            for one in shown
        ],
        "size": [one.name for one in shown].index("size"),
        "run": run.twin(recorded),
        "batches": facts.BATCHES,
        "kernels": windows.KERNELS,
        "answers": question.ANSWERS,
        "pins": bench.PINS,
        "maps": bench.maps(),
        "letter": [pixels.CLASSES[kind] for kind in "".join(windows.LETTER)],
        "bench": bench.texts(),
        "words": _words(),
    }


def _words() -> dict[str, str]:
    """Templates that the browser fills in: {n}, {answer}."""
    keys = (
        "page_text.votes", "page_text.vote", "page_text.mark", "page_text.far",
        "page_text.voting", "page_text.counting", "bench.written", "bench.keys", "bench.pixel",
        "bench.pixel_one", "bench.place", "bench.column", "bench.zeros",
    )  # fmt: skip
    return {key.partition(".")[2]: say(key) for key in keys}
