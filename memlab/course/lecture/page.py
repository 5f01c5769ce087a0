"""HTML page of the lecture: slides, texts and keys in one file that needs nothing else."""

from __future__ import annotations

import json
import re
from collections import Counter
from html import escape
from math import log
from pathlib import Path
from string import Template
from typing import Any

from memlab import free_memory, strings, units
from memlab.course.lecture import slides
from memlab.course.lecture.scenes import scenes
from memlab.course.lecture.slides import (
    ANSWERS,
    COPIES,
    HIGH,
    INPUT,
    LEFT,
    MATRIX,
    MOTTO,
    RIGHT,
    TIMES,
    WIDE,
    LectureScene,
    LectureSlide,
    RecordedCopy,
    text_of,
)
from memlab.lesson.misconceptions import NEAR
from memlab.pictures.draw import theme
from memlab.pictures.draw.svg import Box
from memlab.pictures.shifted_copies.cells import PITCH, STYLE, CopiedCells, Matrix
from memlab.pictures.shifted_copies.lowering import VALUE, amount, factor, short_times, write
from memlab.pictures.shifted_copies.small_picture import (
    KERNELS,
    PIXEL,
    PLACE,
    SIZE,
    SmallPicture,
    every,
)

SHORT = ("question", "fold", "copies", "stride", "size", "need")
"""The scenes of the short form."""
HELP = (
    "next", "back", "kernel", "stride", "padding", "batch", "run", "vote", "count", "room", "pin",
    "escape", "blank", "full", "text", "notes", "light", "short", "restart",
)  # fmt: skip
"""Keys, in the order of their list."""
_HERE = Path(__file__).parent


def html(recorded: RecordedCopy | None = None) -> str:
    """Return the whole HTML file, with the given run, or with the recorded one."""
    recorded = recorded or RecordedCopy.kept()
    all_scenes = scenes(recorded)
    sections = [
        _scene(number, scene, len(all_scenes)) for number, scene in enumerate(all_scenes, 1)
    ]
    sections.append(_sheet("bench", _bench(), _targets(BENCH, HEAD, SMALL)))
    sections.append(_sheet("run", _run(recorded)))
    sections.append(_sheet("room", _room()))
    definitions, body = _shared("".join(sections))
    return Template(_file("page.html")).substitute(
        language=strings.language(),
        title=escape(text_of("page", copies=slides.kernel() ** 2)),
        css=theme.STYLE + STYLE.replace(".memlab-svg .", ".") + _file("page.css"),
        definitions=definitions,
        scenes=body,
        help=_help(all_scenes),
        help_title=escape(text_of("page_text.help")),
        data=_json(_data(all_scenes, recorded)),
        script=_file("page.js"),
    )


def _file(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8").strip()


def _json(value: object) -> str:
    """Return JSON that may stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


# -- slides as text -------------------------------------------------------------------------------


def _scene(number: int, scene: LectureScene, count: int) -> str:
    name, last = text_of("page_text.scene", number=number, count=count), len(scene.slides) - 1
    ticks = "".join(
        f'<path class="tick{" now" if at == number - 1 else ""}" d="M{x} 704h9v4h-9z"/>'
        for at, x in enumerate(range(RIGHT - 12 * count + 3, RIGHT, 12))
    )
    targets = _targets(FIELD, slides.TOP, slides.CELL)
    drawn = "".join(
        _svg(slide, name, "step last" if step == last else "step", ticks,
             targets if step < scene.pinned else "")
        for step, slide in enumerate(scene.slides)
    )  # fmt: skip
    return f'<section id="scene-{number}" class="scene">{drawn}</section>\n'


def _sheet(key: str, slide: LectureSlide, targets: str = "") -> str:
    drawn = _svg(slide, text_of(f"page_text.{key}"), "", "", targets)
    return f'<section id="{key}" class="sheet">{drawn}</section>\n'


def _svg(slide: LectureSlide, name: str, kind: str, ticks: str, targets: str) -> str:
    """Return a slide as SVG, with the ticks that show the position in the lecture and the areas
    that take clicks."""
    acts = bool(targets) or any("<foreignObject" in part for part in slide.parts)
    return (
        f'<svg class="memlab-svg {kind}" viewBox="0 0 {WIDE} {HIGH}" '
        f'role="{"group" if acts else "img"}" aria-label="{escape(name)}">'
        f"{''.join(slide.parts)}{ticks}{targets}</svg>"
    )


def _targets(corners: dict[str, tuple[int, int]], top: int, cell: int) -> str:
    """Return the areas that take clicks on pixels or places, as large as the largest kernel needs
    them, and an empty path for the marks."""
    most = max(KERNELS)
    sizes = {"copies": (most * PITCH - 1,) * 2, "matrix": (SIZE**2, most**2), "input": (SIZE, SIZE)}
    rects = "".join(
        f'<rect x="{corners[name][0]}" y="{corners[name][1]}" width="{wide}" height="{high}" '
        f'fill="transparent" data-send="{name}"/>'
        for name, (wide, high) in sizes.items()
    )
    place = f"translate({LEFT} {top})scale({cell})"
    return f'<g class="cells" transform="{place}">{rects}<path class="look-run pins"/></g>'


def _shared(text: str) -> tuple[str, str]:
    """Move drawings that many slides share, as copies, matrix rows and cell lines, into
    definitions; return the definitions and the remaining text.

    Texts for hover are dropped: nobody hovers on a projector.
    """
    text = re.sub(r'<style>.*?</style><defs>.*?</defs>| data-fact="[^"]*"', "", text)
    texts: dict[str, str] = {}

    def use(match: re.Match[str]) -> str:
        name = texts.setdefault(match["body"], f"d{len(texts)}")
        return f'<use href="#{name}"{match["how"]}/>'

    cells = r'(?:<path class="(?:on-run|pale-run|zero-run|mesh|rim)"[^>]*/>)+'
    body = re.sub(rf"<g(?P<how>[^>]*)>(?P<body>{cells})</g>", use, text)
    lines = Counter(re.findall(r'<path class="mesh"[^>]*/>', "".join(texts)))
    grids = {line: f"l{at}" for at, line in enumerate(lines)}

    def named(part: str) -> str:
        return re.sub(
            r'<path class="mesh"[^>]*/>', lambda line: f'<use href="#{grids[line[0]]}"/>', part
        )

    definitions = [f'<g id="{name}">{named(part)}</g>' for part, name in texts.items()]
    definitions += [f'<g id="{name}">{line}</g>' for line, name in grids.items()]
    return "".join(definitions), body


# -- two sheets beside the scenes -----------------------------------------------------------------

SMALL, HEAD = 8, 110
"""The side of a cell of the bench, and where its picture begins."""
BENCH = {"input": (0, 0), "copies": (17, 0), "matrix": (80, 0)}
FIELD = {"input": INPUT, "copies": COPIES, "matrix": MATRIX}
"""Corners in cells, of the bench, where all kernels are drawn on one scale, and of a scene."""


def _bench() -> LectureSlide:
    """Return the sheet with every kernel, stride and padding; the page shows one of them, and the
    browser fills in its texts."""
    slide, matrix = LectureSlide(), LEFT + SMALL * BENCH["matrix"][0]
    slide.says("title", LEFT, 64, "s42 b")
    slide.says("bench-keys", RIGHT, 64, "s28 dim", "end")
    slide.label(LEFT, 98, "label.input")
    slide.says("copies", LEFT + SMALL * BENCH["copies"][0], 98, "s28")
    slide.says("matrix", matrix, 98, "s28")
    for small in every():
        with slide.group(data_variant=small.key, class_="off"), slide.cells((LEFT, HEAD), SMALL):
            for part in _parts(small):
                part.write(slide)
    for kind, name in ((PIXEL, text_of("bench.pixels")), (PLACE, text_of("bench.places"))):
        x = LEFT + SMALL * BENCH["input" if kind == PIXEL else "copies"][0] - 4
        box = Box(x, HEAD - 4, x + SIZE * SMALL + 8, HEAD + SIZE * SMALL + 4)
        slide.rect(box, class_="cursor", data_cursor=kind, tabindex=0, role="application",
                   aria_label=name)  # fmt: skip
    for name, x, y, kind in (
        ("pinned", matrix, 546, "s30 b"), ("pinned2", matrix, 584, "s30"),
        ("bytes", LEFT, 652, "s56 b"), ("factor", 352, 632, "s30"), ("over", 352, 668, "s30 b"),
        ("formula", LEFT, 704, "s28 dim"),
    ):  # fmt: skip
        slide.says(name, x, y, kind)
    slide.says("written", RIGHT, 652, "s28", "end")
    slide.parts.append(
        f'<foreignObject x="{RIGHT - 220}" y="664" width="220" height="44"><input id="written" '
        f'type="range" min="0" max="9" value="9" aria-label="{escape(text_of("bench.slider"))}"/>'
        "</foreignObject>"
    )
    return slide


def _parts(small: SmallPicture) -> tuple[CopiedCells, Matrix]:
    parts = slides.lowering(small.k, small.stride, small.pad)
    copies = CopiedCells(parts, BENCH["copies"], None, False, BENCH["input"])
    return copies, Matrix(parts, BENCH["matrix"], None, False)


def _run(run: RecordedCopy | None) -> LectureSlide:
    """Return the sheet of one image lowered by memlab's kernel: planned and measured bytes as two
    bars on one scale. Without a run the second bar stays empty, and a text says why."""
    slide, planned = LectureSlide(), slides.lowered(slides.layer(), 1)
    slide.title("run.title" if run else "run.title_none")
    slide.write(LEFT, 150, "run.planned", 36, size=units.exact(planned))
    slide.rect(Box(LEFT, 170, RIGHT, 266), class_="hollow")
    bar = Box(LEFT, 350, RIGHT, 446)
    if run is None:
        slide.write(LEFT, 330, "run.missing", 36)
        slide.rect(bar, class_="ghost")
        slide.write(LEFT, 540, "run.here", 44, bold=True)
        slide.write(LEFT, 600, "run.whole", 34, batch=slides.BATCH)
        return slide
    slide.write(LEFT, 330, "run.measured", 36, size=units.exact(run.measured))
    end = LEFT + (RIGHT - LEFT) * run.measured / run.planned
    slide.rect(bar._replace(right=end), class_="on")
    slide.write(LEFT, 540, "run.residual", 56, bold=True, residual=run.residual)
    left = slide.write(LEFT + 560, 540, "run.time", 56, bold=True, ms=run.ms).left
    slide.write(left, 586, "run.took", 34, times=TIMES)
    slide.write(LEFT, 586, "run.whole", 34, batch=slides.BATCH)
    slide.write(LEFT, 640, "run.slower", 34)
    slide.write(LEFT, 700, "recorded", 28, dim=True, where=run.where)
    return slide


EDGES = (1, 2, 5, 10, 20, 50, 100)
"""Factors at which the columns of the room's numbers meet; the outer columns are open."""
FLOOR, CEILING = 600, 232
"""The lower ends of these columns, and the upper end of the longest one."""


def _room() -> LectureSlide:
    """Return the sheet of the numbers that the room guessed: a column for each range of factors,
    which the browser fills in, and the line of the truth, which the key for the next slide
    shows."""
    slide, wide = LectureSlide(), (RIGHT - LEFT) / (len(EDGES) + 1)
    slide.title("room.title", layer=slides.LAYER)
    slide.says("room", LEFT, 116, "s34")
    slide.parts.append(
        f'<foreignObject x="{RIGHT - 400}" y="84" width="400" height="48"><textarea id="pasted" '
        f'rows="1" placeholder="{escape(text_of("room.paste"))}" '
        f'aria-label="{escape(text_of("room.paste"))}"></textarea></foreignObject>'
    )
    for at in range(len(EDGES) + 1):
        x = LEFT + at * wide
        slide.add("rect", x=f"{x + 6:g}", y=FLOOR, width=f"{wide - 12:g}", height=0,
                  class_="guesses", data_column=at)  # fmt: skip
        slide.add("text", "", x=f"{x + wide / 2:g}", y=FLOOR - 12, class_="s32 b",
                  text_anchor="middle", data_guesses=at)  # fmt: skip
    slide.path(f"M{LEFT} {FLOOR}H{RIGHT}", class_="rule")
    for at, edge in enumerate(EDGES, 1):
        slide.path(f"M{LEFT + at * wide:g} {FLOOR}v10", class_="rule")
        slide.text(LEFT + at * wide, FLOOR + 42, f"{edge} ×", 30, "middle")
    slide.write(LEFT, MOTTO, "room.axis", 28, dim=True)
    with slide.group(class_="told-only"):
        x, times = _x_of_factor(slides.kernel() ** 2, wide), f"{slides.kernel() ** 2} ×"
        slide.path(f"M{x:g} {CEILING - 46}V{FLOOR}", class_="truth")
        slide.text(x, CEILING - 60, times, 44, "middle", bold=True)
    return slide


def _x_of_factor(times: int, wide: float) -> float:
    """Return the x of a factor in its column, whose ends are as far apart as their logarithms."""
    at = sum(edge <= times for edge in EDGES)
    low, high = EDGES[at - 1 : at + 1]
    return LEFT + wide * (at + log(times / low) / log(high / low))


# -- what the browser fills in --------------------------------------------------------------------


def _help(all_scenes: list[LectureScene]) -> str:
    numbers = [str(i) for i, scene in enumerate(all_scenes, 1) if scene.name in SHORT]
    rows = []
    for name in HELP:
        keys, _, does = text_of(f"help.{name}", scenes=" ".join(numbers)).partition("|")
        rows.append(f"<dt>{escape(keys)}</dt><dd>{escape(does)}</dd>")
    return "".join(rows)


def _data(all_scenes: list[LectureScene], recorded: RecordedCopy | None) -> dict[str, Any]:
    planned = units.exact(slides.lowered(slides.layer(), 1))
    return {
        "scenes": [
            {
                "steps": len(scene.slides),
                "twins": list(scene.twins),
                "notes": scene.notes,
                "auto": scene.auto,
                "stops": scene.stops or list(range(len(scene.slides))),
                "pinned": scene.pinned,
                "short": scene.name in SHORT,
            }
            for scene in all_scenes
        ],
        "size": [scene.name for scene in all_scenes].index("size"),
        "run": recorded.text() if recorded else text_of("run.text_none", planned=planned),
        "batches": slides.BATCHES,
        "kernels": KERNELS,
        "answers": ANSWERS,
        "bench": {small.key: _texts(small) for small in every()},
        "fields": [FIELD, BENCH],
        "room": {
            "edges": EDGES,
            "floor": FLOOR,
            "high": FLOOR - CEILING,
            "truth": slides.kernel() ** 2,
            "near": float(NEAR * (slides.kernel() ** 2 - 1)),
        },
        "words": _words(),
    }


def _words() -> dict[str, str]:
    """Return the templates that the browser fills in, with fields such as {n} and {answer}."""
    keys = (
        "page_text.votes", "page_text.vote", "page_text.mark", "page_text.far",
        "page_text.voting", "page_text.counting", "room.empty", "room.numbers", "room.number",
        "room.told", "room.under", "room.between", "room.over", "bench.written", "bench.keys",
        "bench.pixel", "bench.pixel_one", "bench.place", "bench.column", "bench.zeros",
    )  # fmt: skip
    return {key.partition(".")[2]: text_of(key) for key in keys}


def _texts(small: SmallPicture) -> dict[str, Any]:
    """Return the texts of the sheet for one kernel, stride and padding, and those of each batch."""
    count, pad = len(small.copies), text_of(f"bench.{small.pad}")
    drawn, known = short_times(small.factor), {"k": small.k, "stride": small.stride, "pad": pad}
    key = "bench.copies_one" if count == 1 else "bench.copies_many"
    copies = text_of(key, count=count, cells=f"{small.cells:,}", times=drawn, values=SIZE**2)
    twin = text_of("bench.twin", size=SIZE, count=count, places=small.places, zeros=small.zeros,
               values=small.cells - small.zeros, drawn=drawn, **known)  # fmt: skip
    return {
        "title": text_of("bench.title", **known),
        "copies": copies if small.made else text_of("bench.unmade"),
        "matrix": text_of("bench.matrix", rows=count, columns=small.places**2),
        "twin": twin if small.made else text_of("bench.twin_unmade"),
        "count": count if small.made else 0,
        "k": small.k,
        "places": small.places,
        "holds": ["".join("~" if n is None else chr(48 + n) for n in c) for c in small.copies],
        "batches": [_at_batch(small, batch) for batch in slides.BATCHES],
    }


def _at_batch(small: SmallPicture, batch: int) -> dict[str, str]:
    node = slides.layer(small.k, small.stride, small.pad)
    size, times = slides.lowered(node, batch), short_times(factor(node))
    if not size:
        return {"bytes": amount(0)}
    channels, (_, rows, columns) = node.input_shapes[0][0], node.shape
    formula = text_of("bench.formula", batch=batch, channels=channels, k=small.k, rows=rows,
                  columns=columns, each=VALUE, size=units.exact(size))  # fmt: skip
    fits = text_of("bench.over", card=slides.CARD.name, fits=slides.fits(node))
    over = fits if size > slides.CARD.memory.value else ""
    twin = text_of("bench.twin_batch", network=slides.network().title, layer=slides.LAYER,
               batch=batch,
               formula=formula, times=times, over=over and f"{over}.")  # fmt: skip
    return {
        "bytes": amount(size),
        "factor": text_of("bench.times", times=times, layer=slides.LAYER, batch=batch),
        "over": over,
        "formula": formula,
        "twin": twin,
    }


# -- by name ---------------------------------------------------------------------------------------


def k2(run: bool = True) -> tuple[str, RecordedCopy | None]:
    """Return the page of the lecture on k², nine shifted copies, and the run of one image on this
    machine that it shows; None if ``run`` is False.

    Raises:
        InputError: the run does not fit into the free memory.
    """
    recorded = record() if run else None
    return html(recorded), recorded


def record() -> RecordedCopy:
    """Lower one image of the lecture's layer with memlab's kernel, and measure its bytes and time.

    Raises:
        InputError: the run does not fit into the free memory.
    """
    otherwise = "close a program or leave the run out with --no-run"
    done = write(slides.layer(), otherwise, TIMES)
    return RecordedCopy(done.planned, done.measured, done.seconds, free_memory.here())


LECTURES = {"k2": k2}
"""By name, what writes a lecture: the page and its recorded run."""
