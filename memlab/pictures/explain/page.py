"""The page of a model and its card: three sentences, the line to paste, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator

from memlab import strings
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import Label, Text
from memlab.pictures.draw.marks import Fact, Line, Mark, OpenEdge, Rect, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale, Steady
from memlab.pictures.draw.svg import Svg
from memlab.pictures.draw.table import Beside, Block, Table, Unnamed, Words
from memlab.pictures.draw.theme import FREE, PAINTS, Paint
from memlab.pictures.explain.explained import FLOOR, Explained
from memlab.pictures.explain.explained_changes import say
from memlab.pictures.explain.mountain import OverTime
from memlab.pictures.values.number_text import percent, three
from memlab.step.tensor import Role

WIDE, SIDE, APART = 800, 230, 22
"""From this width on the modules stand beside the mountain; so wide are they, and so far away."""
PITCH, BAR = 44, 18
"""Of the bars by module: from one to the next, and how high each is."""
GREY = Paint("#777777", 0.55)
BESIDE = {"cublas": PAINTS[Role.WORKSPACE], "rounding": FREE, "fragments": FREE, "context": GREY}
"""How what lies beside the plan is filled."""
LINES = 6
"""So many lines of code are drawn at most; all are in the text."""


def page(found: Explained, room: tuple[int, ...], width: float, numbers: bool) -> Page:
    """The whole page at a width in pixels; its axes hold so many bytes: over time, and by
    module."""
    over_time = OverTime(found, room[0])
    chart, bars = over_time.chart(numbers), _by_module(found, room[1], numbers)
    beside = [(BESIDE[row.name], say(f"row.{row.name}"))
              for row in found.now.beside(found.batch) if row.nbytes]  # fmt: skip
    key = Unnamed([*over_time.mountain.key(), *beside], gap=6)
    if width >= WIDE:
        evidence: list[Block] = [Beside([(chart, width - SIDE - APART), (bars, SIDE)], APART, 8)]
    else:
        evidence = [chart, bars]
    blocks = [*_said(found), *evidence, _card(found, room[0]), key, *_exact(found, numbers)]
    return Page(found.title, blocks, width, " ".join([f"{found.title}.", *found.sentences]),
                titled=False)  # fmt: skip


def _said(found: Explained) -> Iterator[Block]:
    """The three sentences and the lines to paste."""
    yield Words(f"{found.title}.", drawn=False)
    for number, sentence in enumerate(found.sentences):
        yield Words(sentence, 14, bold=number == 0, gap=2)
    if found.code:
        yield Code(found.code)


class Code(Block):
    """Lines to paste, on a strip of their own."""

    gap = 6

    def __init__(self, lines: tuple[str, ...]) -> None:
        self.lines = lines

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        few = self.lines[:LINES]
        tall = 17 * len(few) + 12
        svg.path(f"M{x + 2} {y}V{y + tall}", class_="limit")
        for number, line in enumerate(few):
            more = " …" if number == LINES - 1 and len(self.lines) > LINES else ""
            indent = 10 + 6 * (len(line) - len(line.lstrip()))
            words = Words(f"{line.strip()}{more}", 12, cut=True, left=indent)
            words.draw(svg, x, y + 5 + 17 * number, width - 10)
        return y + tall

    def text(self) -> list[str]:
        return ["", *(f"    {line}" for line in self.lines), ""]


# -- by module -------------------------------------------------------------------------------------


def needs(found: Explained) -> tuple[int, int]:
    """The bytes that both axes have to hold."""
    plain = found.subject.plain.total(found.batch)
    return max(found.total, plain), max(sum(parts.values()) for _, parts in _rows(found))


def _by_module(found: Explained, most: int, numbers: bool) -> Chart:
    """The peak by module, the most first, and what the modules own."""
    rows = _rows(found)
    marks: list[Mark] = [Text(0, len(rows), say("by_module"), 13, dy=-4, bold=True)]
    for index, (name, parts) in enumerate(rows):
        marks += _bar(len(rows) - 1 - index, name, parts, most, found.peak.nbytes, numbers)
    told = [f"{name}: {three(sum(parts.values()))}" for name, parts in rows] if numbers else ()
    return Chart(Scale(0, most), Scale(0, len(rows)), marks, PITCH * len(rows), left=2, right=6,
                 above=18, told=told, name=say("by_module"), gap=8)  # fmt: skip


def _rows(found: Explained) -> list[tuple[str, dict[Role, int]]]:
    """Names with bytes by role, the most first."""
    rows = [(found.row_name(row), {Role.FEATURE_MAP: row.nbytes}) for row in found.rows]
    rows.append((found.floor_name, {r: n for r, n in found.floor.items() if n} or {FLOOR[0]: 0}))
    others = {found.row_name(row) for row in found.rows if not row.name}
    return sorted(rows, key=lambda row: (row[0] in others, -sum(row[1].values())))


def _bar(
    at: int, name: str, parts: dict[Role, int], most: int, peak: int, numbers: bool
) -> Iterator[Mark]:
    nbytes, start = sum(parts.values()), 0
    low, high = at + 0.5 - (BAR + 4) / PITCH, at + 0.5 - 4 / PITCH
    share = say("share_of", percent=percent(nbytes, peak))
    said = f"{name}: {three(nbytes)}" if numbers else name
    yield Text(0, at + 0.5, said, 12, dy=-2, room=most)
    for role, part in parts.items():
        fact = Fact(name, nbytes=part, more=share)
        ends = min(start, most), min(start + part, most)
        yield Rect(*ends, low, high, PAINTS[role], fact=fact)
        start += part
    if nbytes > most:
        yield OpenEdge(low, high, side="right")
        beyond = strings.get("draw.after", amount=three(nbytes))
        yield Text(most, (low + high) / 2, beyond, 12, "end", -10, 4, chip=True)


# -- why the card shows more -----------------------------------------------------------------------


def _card(found: Explained, room: int) -> Chart:
    """The plan and what lies beside it up to the line of the card; below it what lies beside,
    enlarged."""
    memory, total, peak = found.memory, found.total, found.peak.nbytes
    most = max(memory, room) * 1.02
    marks: list[Mark] = [Text(0, 100, found.card, 13, dy=-8, bold=True)]
    parts = [(PAINTS[r], n) for r, n in found.floor.items()]
    parts.append((PAINTS[Role.FEATURE_MAP], peak - sum(found.floor.values())))
    start = 0
    for paint, nbytes in parts:
        if nbytes:
            marks.append(Rect(start, start + nbytes, 72, 100, paint))
            start += nbytes
    marks.append(
        Text(min(start, most) / 2, 72, say("the_plan"), 12, "middle", dy=-9, chip=True, held=True)
    )
    marks += _loupe(found, start, total, most)
    if total > most:
        marks.append(OpenEdge(72, 100, side="right"))
    marks.append(Rule(x=memory, span=(66, 106), look="limit"))
    spots = [(memory, 106, side, dx, -9.0) for side, dx in (("middle", 0.0), ("end", 2.0))]
    spots += [(memory, 66, side, dx, 12.0) for side, dx in (("end", -4.0), ("start", 4.0))]
    spots += [(memory, 86, side, dx, 4.0) for side, dx in (("start", 8.0), ("end", -8.0))]
    marks.append(Label(say("card_word"), spots, 12, bold=True, chip=True))
    told = [found.card]
    return Chart(Steady(0, most, most), Scale(0, 100), marks, 108, left=2, right=12, above=26,
                 below=22, told=told, name=say("sums_title"), gap=14)  # fmt: skip


def _loupe(found: Explained, start: int, total: int, most: float) -> Iterator[Mark]:
    """What lies beside the plan: where it is, and enlarged."""
    rows = [row for row in found.now.beside(found.batch) if row.nbytes]
    beside, end = total - start, most * 0.62
    at, here = 0.0, float(start)
    for row in rows:
        look = BESIDE[row.name]
        wide = row.nbytes / beside * end
        name, origin = say(f"row.{row.name}"), say(f"origin.{row.origin}")
        fact = Fact(name, nbytes=row.nbytes, more=origin)
        yield Rect(here, here + row.nbytes, 72, 100, look, fact=fact)
        yield Rect(at, at + wide, 12, 40, look, fact=fact)
        if wide * 100 < most:
            continue
        yield Label(name, [(at + wide / 2, 12, "middle", 0.0, -9.0), (at, 12, "start", 0.0, 16.0)],
                    12, chip=True, apart=1)  # fmt: skip
        at, here = at + wide, here + row.nbytes
    for a, b in ((start, 0.0), (here, at)):
        yield Line([(a, 72), (b, 40)], "rule faint")


# -- exact -----------------------------------------------------------------------------------------


def _exact(found: Explained, numbers: bool) -> Iterator[Block]:
    """The tables: modules, sums, changes. On the first level they are in the text alone."""
    keys = ("module", "bytes", "share", "mib", "origin", "change", "card", "time")
    head = {key: say(f"head.{key}") for key in keys}
    yield Table([head["module"], head["bytes"], head["share"]], found.table(), "<>>",
                say("modules_title"), drawn=numbers, gap=12)  # fmt: skip
    yield Table(["", head["bytes"], head["mib"], head["origin"]], found.sums(), "<>><",
                say("sums_title"), drawn=numbers, gap=12)  # fmt: skip
    if rows := found.listed():
        yield Table([head["change"], head["card"], head["time"], ""], rows, "<>><",
                    say("changes_title"), drawn=numbers, gap=12)  # fmt: skip
    yield Words(say("code_alone") if found.alone else "", drawn=False, gap=1)
    yield Words(found.notes, 11, dim=True, drawn=numbers, gap=8)
