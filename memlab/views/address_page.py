"""The page of the address map: the bytes alive above the map, the cut beside it, and its words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memlab import strings, units
from memlab.errors import listed
from memlab.studies.cut import hundredths
from memlab.studies.figures import binary_unit, in_binary, number
from memlab.studies.memory import Budget, budget
from memlab.studies.packed_step import PUBLISHED, recorded_peak, say, say_how
from memlab.studies.packing import Packing, Part, Placed
from memlab.views.address_map import (
    KEPT,
    LEFT,
    RIGHT,
    AddressChart,
    Moment,
    Place,
    arrow,
    filled,
    paint,
)
from memlab.views.draw import text as texts
from memlab.views.draw.board import spread
from memlab.views.draw.chart import Chart
from memlab.views.draw.labels import Label, Phase, Text
from memlab.views.draw.marks import Area, Glyph, Mark, Pen, Press, Rect, Rule
from memlab.views.draw.page import Page
from memlab.views.draw.scale import Scale, operations
from memlab.views.draw.table import Below, Beside, Block, Key, Table, Words
from memlab.views.draw.theme import FREE, Paint

STRIP, SIDE, CUT = 56, 324, 26
"""Pixels: how high the live bytes are, how wide what stands beside a map, and the bar of a cut."""
LISTED = 9
"""Parts of a cut that have a line."""
APART, PAIR = 18, 600
"""Between what stands side by side; from so many pixels on two maps do, else one below the other.
"""
WIDE = 820
"""From so many pixels on the cut stands beside the map, else below it."""


def page(
    moment: Moment,
    budgets: Sequence[Budget],
    width: float,
    was: Packing | None = None,
    slides: bool = False,
) -> Page:
    """One map with a cut, or two maps, ``width`` pixels wide. Of the map that ``was`` before, the
    top is shown; where it ``slides``, blocks are seen to come from there, but to no fault."""
    pair, wide = len(moment.maps) > 1, width
    if pair and width >= PAIR:
        wide = (width - APART) / 2
    elif not pair and width >= WIDE:
        wide = width - SIDE - APART
    found, rooms = moment.packing, _rooms(moment.packing, budgets)
    moved = was is not None and was.placement != found.placement and not found.overlaps
    slid = was.placement if was and moved and slides else None
    top = was.arena if was and was.arena != found.arena and moment.scale.holds(was.arena) else None
    charts = [
        AddressChart(moment, each, wide - LEFT - RIGHT, rooms, top, slid) for each in moment.maps
    ]
    blocks = [
        *_head(moment),
        Words(list(_axes(moment, rooms)), drawn=False),
        *(_pair(charts, width) if pair else _single(charts[0], width)),
        _key(moment.packing),
        Words("\n".join(peak(moment)).splitlines(), drawn=False, gap=1),
    ]
    return Page(_title(moment), blocks, width)


def named(given: object) -> tuple[Budget, ...]:
    """Budgets under the names that they are given: a device's, or an amount such as ``'8 GB'``.

    Raises:
        InputError: no list of these.
    """
    found = [(name, budget(name)) for name in listed("budgets", given, "12 GB card")]
    return tuple(replace(b, name=name) if isinstance(name, str) else b for name, b in found)


def _rooms(found: Packing, budgets: Sequence[Budget]) -> list[tuple[int, str]]:
    """The bytes that budgets leave for the arena, beside what is there before the step, each with
    its name; what is free here comes with its amount. The toy has none."""
    before, names = found.subject.before(found.batch), []
    for each in () if found.subject.toy else budgets:
        live = strings.get("memory.budget.live", amount=hundredths(each.nbytes))
        name = live if each.live else say("room", name=each.name)
        names.append((max(each.nbytes - before, 0), name))
    return names


# -- the head -------------------------------------------------------------------------------------


def _title(moment: Moment) -> str:
    """What is shown: ``'ResNet-50 v1.5, batch 32, in place, best fit'``."""
    found, others = moment.packing, moment.maps[1:]
    placed = say_how(found.placement.how)
    for other in others:
        placed = say("and", first=placed, second=say_how(other.placement.how))
    batch = strings.get("memory.batch", batch=f"{found.batch:,}")
    inside = say("in_place") if found.subject.inside else ""
    about = [found.subject.label, "" if found.subject.toy else batch, inside, placed, found.stage]
    return ", ".join(filter(None, about))


def bold(moment: Moment) -> list[str]:
    """What is wrong, and the score where it was asked for."""
    found = moment.packing
    return [*found.faults(), *([found.score()] if moment.scored else [])]


def _head(moment: Moment) -> Iterator[Block]:
    """The equation; what is wrong; how much is alive at once, and what this placing saves."""
    found = moment.packing
    yield Words([_equation(moment)], 20, told=False)
    yield Words(bold(moment), 13, bold=True)
    values = {"count": f"{len(found.blocks):,}", "total": in_binary(found.total)}
    values |= {"bound": in_binary(found.bound), "index": f"{found.busiest + 1:,}"}
    alone = len(moment.maps) == 1 and not found.overlaps
    sentences = [
        say("moving") if moment.moving and not moment.scored else "",
        zoomed(found),
        _before(found),
        say("together_toy" if found.subject.toy else "together", **values),
        found.saved() if alone else "",
    ]
    yield Words(sentences, 13)


def _equation(moment: Moment) -> list[tuple[str, bool]]:
    """Arena, lower bound and waste as a sum; of two maps their two arenas."""
    found = moment.packing
    if len(moment.maps) > 1:
        first, second = (in_binary(each.arena) for each in moment.maps)
        return [(say("another_order"), False), (say("or", first=first, second=second), True)]
    if found.waste < 0:
        missing = in_binary(-found.waste)
        return [(say("too_small", arena=in_binary(found.arena), missing=missing), True)]
    values = found.equation
    return [(say("arena", **values), True), (say("equation", **values), False)]


def zoomed(found: Packing) -> str:
    """Which stage is shown, and how much of all it is; nothing where all are."""
    if not found.stage:
        return ""
    born = [placed for placed in found.blocks if found.of_stage(placed)]
    counts = {"count": f"{len(born):,}", "all": f"{len(found.blocks):,}"}
    amount = in_binary(sum(placed.size for placed in born))
    return say("zoomed", stage=found.stage, amount=amount, **counts)


def _before(found: Packing) -> str:
    """How a network is counted, and what is there beside the arena."""
    there = found.subject.before(found.batch)
    key = "published" if found.subject.name == PUBLISHED else "before"
    together = in_binary(there + found.arena)
    return say(key, before=in_binary(there), sum=together) if there else ""


def _axes(moment: Moment, rooms: Sequence[tuple[int, str]]) -> Iterator[str]:
    """What the axes and lines of the picture say: phases, budgets, the guess."""
    found = moment.packing
    bands = [
        strings.get(
            f"memory.twin.{'band' if last > first else 'one'}",
            phase=strings.get(f"phase.{phase}"),
            first=f"{first + 1:,}",
            last=f"{last + 1:,}",
        )
        for phase, first, last in found.subject.phases
    ]
    if bands:
        yield say("twin.bands", bands=", ".join(bands))
    before = in_binary(found.subject.before(found.batch))
    for nbytes, name in rooms:
        key = "verdict.fits" if found.arena <= nbytes else "verdict.refused"
        yield say(key, before=before, room=in_binary(nbytes), name=name)
    if moment.guess is not None:
        yield say("twin.guess", guess=in_binary(moment.guess))


def peak(moment: Moment) -> list[str]:
    """What PyTorch was recorded to hold in the same step, in a sentence and role by role."""
    found = recorded_peak(moment.packing.subject, moment.packing.batch)
    if found is None:
        return []
    planned, recorded = found.planned, found.recorded
    role = max(recorded, key=lambda role: abs(recorded[role] - planned[role]))
    before = moment.packing.subject.before(moment.packing.batch)
    sentence = say(
        "rival",
        theirs=in_binary(sum(recorded.values())),
        ours=in_binary(sum(planned.values())),
        placed=in_binary(before + moment.packing.arena),
        role=strings.get(f"torch_memory.role.{role}"),
        planned=in_binary(planned[role]),
        recorded=in_binary(recorded[role]),
    )
    return [sentence, str(found)]


# -- the maps -------------------------------------------------------------------------------------


def _pair(charts: Sequence[AddressChart], width: float) -> Iterator[Block]:
    """Two maps side by side, or one below the other."""
    columns = [
        Below([Words(chart.packing.figures(), drawn=False), *_heading(chart), _strip(chart),
               chart.map(), *_story(chart), *_table(chart)], gap=8)
        for chart in charts
    ]  # fmt: skip
    yield from [Beside([(column, 1) for column in columns], APART)] if width >= PAIR else columns


def _single(chart: AddressChart, width: float) -> Iterator[Block]:
    """One map, with the block in focus and the cut beside it or below it."""
    wide, share = width >= WIDE, width - SIDE - APART
    strip, focus = Below([*_heading(chart), _strip(chart)]), _focus(chart)
    table, others = _listed(chart)
    yield Words(chart.packing.figures(), drawn=False, gap=1)
    if wide:
        yield Beside([(strip, share), (focus, SIDE)], APART, gap=8)
        yield Beside([(chart.map(), share), (_cut(chart, table, others), SIDE)], APART, gap=8)
    else:
        yield from (strip, chart.map(), focus)
    yield replace(table, drawn=not wide)
    yield Words([others], 11, dim=True, drawn=not wide)
    yield from (*_story(chart), *_table(chart))


def _focus(chart: AddressChart) -> Below:
    """The block in focus."""
    focus = chart.moment.focus
    if focus is None:
        return Below([])
    name = Words([focus.name], 13, bold=True, mark=paint(focus.kind))
    return Below([name, Words(chart.packing.facts(focus))])


def _heading(chart: AddressChart) -> Iterator[Block]:
    """The name of the placing of the toy, and what it gives."""
    found = chart.packing
    if not chart.toy:
        return
    key = "faulty" if found.overlaps else "waste" if found.waste else "proved"
    amounts = {"arena": in_binary(chart.top), "waste": in_binary(found.waste)}
    given = say(f"result.{key if chart.done else 'now'}", **amounts)
    runs = [(say_how(found.placement.how), True), (f" {given}", False)]
    yield Words([runs], 13, told=False, left=LEFT)


def _story(chart: AddressChart) -> Iterator[Block]:
    """How it was packed."""
    found = chart.packing
    count = chart.moment.count if chart.first else len(found.blocks)
    saved = [found.saved()] if len(chart.moment.maps) > 1 else []
    yield Words(say("packing"), 13, bold=True, told=False, left=LEFT, gap=6)
    yield Words([*found.story(count), *saved], left=LEFT)


def _table(chart: AddressChart) -> Iterator[Block]:
    """The rectangles in words: letters of the toy, and the largest blocks."""
    found = chart.packing
    if chart.toy:
        yield Words(_letters(found, chart.moment.count), drawn=False, gap=1)
    rows = found.rows
    yield Table(say("twin.heads").split("|"), rows, "<>>>><", drawn=False)
    rest = found.total - sum(found.by_name[name].size for name, *_ in rows)
    more = f"{len(found.blocks) - len(rows):,}"
    small = say("twin.small", count=more, total=units.exact(rest)) if rest else ""
    yield Words([small, *(text for _, text in _marked(found))], drawn=False)


def _letters(found: Packing, count: int) -> list[str]:
    """A letter for every unit and operation; two that overlap are an X."""
    size, operations = units.UNITS[binary_unit(found.total)], found.subject.operations
    grid = [["."] * operations for _ in range(found.arena // size)]
    for each in found.blocks:
        for level in range(each.address // size, each.top // size) if each.turn <= count else ():
            for at in range(each.block.birth, each.block.death + 1):
                grid[level][at] = each.name if grid[level][at] == "." else "X"
    lines = [f"{level:4d}  {' '.join(line)}" for level, line in enumerate(grid)]
    return [*reversed(lines), f"{'':6}{' '.join(str(at + 1) for at in range(operations))}"]


def _key(found: Packing) -> Key:
    """What the fillings mean."""
    entries: list[tuple[int | Paint | str | Glyph, str]] = []
    for kind in dict.fromkeys(each.kind for each in found.large):
        table = "toy_kind" if found.subject.toy else "key"
        name = f"addresses.{table}.{kind}"
        entries.append(
            (paint(kind), strings.get(name if strings.has(name) else f"role.{kind}.one"))
        )
    return Key([*entries, *_marked(found), (FREE, say("key.free"))], 11, gap=8)


def _marked(found: Packing) -> Iterator[tuple[int | Paint | str | Glyph, str]]:
    """The blocks that are grey, and those with a mark: how many, how large."""
    if found.small:
        key, least = "key.others" if found.stage else "key.small", -(-found.arena // 200)
        yield paint("small"), say(key, count=f"{len(found.small):,}", amount=in_binary(least))
    if found.cheap:
        total = in_binary(sum(each.size for each in found.cheap))
        glyph = Glyph(0, 0, arrow(4.5), "rule", width=1.3)
        yield glyph, say("key.cheap", count=f"{len(found.cheap):,}", amount=total)


# -- the bytes that are alive ---------------------------------------------------------------------


def _strip(chart: AddressChart) -> Chart:
    """The bytes alive inside every operation; what the arena leaves free is shaded."""
    arena, alive = chart.packing.arena, np.array(chart.packing.alive, np.float64)
    scale = Scale(0, max(chart.scale.last, arena))
    names = say("alive_in", unit=chart.scale.unit).split("|")
    marks = [
        *(Phase(strings.get(f"phase.{phase}"), first, last + 1, -36)
          for phase, first, last in chart.packing.subject.phases),
        Area(np.zeros_like(alive), alive, KEPT, 0.6),
        Area(alive, np.maximum(alive, arena), FREE, 0),
        Rule(y=arena, look="limit"),
        Rule(y=0, look="rule", opacity=0.6),
        *(Text(0, 0, name, 11, "end", dx=-8, dy=-2 - 14 * index, dim=True)
          for index, name in enumerate(reversed(names))),
        *(_amounts(chart, scale) if chart.toy else _flag(chart, scale)),
        Press("at", chart.last),
    ]  # fmt: skip
    before = [Rule(y=chart.before)] if chart.before else ()
    return Chart(operations(chart.last), scale, marks, STRIP, left=LEFT, right=RIGHT,
                 above=4 if chart.toy else 50, previous=before)  # fmt: skip


def _amounts(chart: AddressChart, scale: Scale) -> Iterator[Text]:
    """How much is alive in each operation, over its bar or in it."""
    for index, nbytes in enumerate(chart.packing.alive):
        inside = 0 <= STRIP * (chart.packing.arena - nbytes) / scale.last < 13
        yield Text(index + 0.5, nbytes, number(nbytes, chart.scale.unit), 12, "middle",
                   dy=12 if inside else -3.5, bold=index == chart.packing.busiest)  # fmt: skip


def _flag(chart: AddressChart, scale: Scale) -> Iterator[Mark]:
    """The busiest operation of a network, with its name where there is room."""
    index, top = chart.packing.busiest, scale.last
    x, at = index + 0.5, chart.wide * (index + 0.5) / chart.last
    runs = [(say("busiest", index=f"{index + 1:,}"), True),
            (f" · {chart.packing.subject.operation(index)}", False)]  # fmt: skip
    if texts.measure(runs, 12) + 16 > max(at, chart.wide - at):
        runs = runs[:1]
    fits = at + 16 + texts.measure(runs, 12) <= chart.wide
    side, anchor = (1, "start") if fits else (-1, "end")
    d = f"M0-21h{11 * side}l{-3 * side} 4.5l{3 * side} 4.5h{-11 * side}Z"
    yield Rule(x=x, look="pole", above=21)
    yield Glyph(x, top, d)
    yield Text(x, top, runs, 12, anchor, dx=15 * side, dy=-12)


# -- the cut --------------------------------------------------------------------------------------


def _listed(chart: AddressChart) -> tuple[Table, str]:
    """What lies in memory at the cursor from the top down, the largest parts; how many others."""
    found, unit, at = _parts(chart), chart.scale.unit, f"{chart.moment.at + 1:,}"
    rows = [_cells(part, unit) for part in found]
    hidden = [part for part in chart.moment.cut if part not in found]
    count, blocks = f"{len(hidden):,}", f"{sum(len(part.placed) for part in hidden):,}"
    heads = ["", *say("cut_heads", unit=unit).split("|")]
    others = say("cut_others", count=count, blocks=blocks) if hidden else ""
    return Table(heads, rows, title=say("cut", index=at), gap=8), others


def _parts(chart: AddressChart) -> list[Part]:
    """The largest parts of the cut, from the top down."""
    found = chart.moment.cut
    most = LISTED if len(found) <= LISTED else LISTED - 1
    large = sorted(found, key=lambda part: part.low - part.high)[:most]
    return [part for part in found[::-1] if part in large]


def _cells(part: Part, unit: str) -> list[str]:
    """Its line: the name, from where to where, how many blocks."""
    digits = 1 if part.placed[0].entry else None
    ends = [number(end, unit, digits) for end in (part.low, part.high)]
    return [part.name, *ends, f"{len(part.placed):,}"]


@dataclass(frozen=True, eq=False)
class Leaders(Mark):
    """The lines of a cut beside its bar, each as near to its part as the others let it: a bracket
    over the part and a line to its text. Columns end at the right edge."""

    table: Table
    ends: Sequence[tuple[float, float]]
    others: str = ""

    def draw(self, pen: Pen) -> None:
        left, right, head = pen.box.left, pen.box.right, pen.box.top - 1
        wanted = [pen.y((low + high) / 2) + 4 for low, high in self.ends]
        lines = spread(wanted, 17, head + 17, pen.box.bottom + 2)
        title = texts.shortened(self.table.title, SIDE, 12, True)
        pen.svg.text(left, head - 16, title, 12, bold=True)
        self._cells(pen, head, self.table.heads, 11)
        for (first, top), cells, y in zip(self.ends, self.table.rows, lines, strict=True):
            high, low = pen.y(top) + 0.5, pen.y(first) - 0.5
            d = f"M{right + 3} {high:.1f}h4V{low:.1f}h-4M{right + 7} {(high + low) / 2:.1f}"
            pen.svg.path(f"{d}L{right + 16} {y - 4:.1f}h6", class_="rule faint", stroke_width=0.9)
            self._cells(pen, y, cells, 12)
        if self.others:
            pen.svg.text(right + CUT, max([head, *lines]) + 17, self.others, 11, dim=True)

    def _cells(self, pen: Pen, y: float, cells: Sequence[str], size: int) -> None:
        left, edge = pen.box.right + CUT, pen.box.left + SIDE - 4
        pen.svg.text(left, y, texts.shortened(cells[0], edge - 162 - left, size), size)
        for inset, cell in zip((116, 52, 0), cells[1:], strict=True):
            pen.svg.text(edge - inset, y, cell, size, "end", dim=size == 11)

    def on(self, axes: Any) -> None:
        for (low, high), cells in zip(self.ends, self.table.rows, strict=True):
            axes.annotate("  ".join(cells), (1.2, (low + high) / 2), va="center", fontsize=8,
                          annotation_clip=False)  # fmt: skip


def _cut(chart: AddressChart, table: Table, others: str) -> Chart:
    """What lies in memory at the cursor: a bar on the scale of the map, with a line for each part.
    Its place is ``SIDE`` pixels wide."""
    moment, scale, top = chart.moment, chart.scale, max(chart.top, chart.scale.first)
    alive = chart.packing.at(moment.at, moment.count)
    large = {each.name for each in chart.packing.large}
    places: list[tuple[str, Place]] = [
        (each.kind if each.name in large else "small", (0, 1, each.address, each.top))
        for each in alive
    ]
    ends = [(part.low, part.high) for part in _parts(chart)]
    marks = [
        Rect(0, 1, scale.first, top, FREE, edge=0),
        *filled(sorted(places, key=lambda place: place[0] != "small"), edge=0.6),
        Rect(0, 1, scale.first, top),
        Rule(y=top, look="limit" if scale.holds(chart.top) else "grid", below=4, above=4),
        Text(0.5, scale.first, f"{moment.at + 1:,}", 11, "middle", dy=16),
        Leaders(table, ends, others),
        *(Label(each.name, [(0.5, (each.address + each.top) / 2, "middle", 2, 4.5)], 12,
                bold=True, chip=each.kind == "short") for each in (alive if chart.toy else ())),
    ]  # fmt: skip
    return Chart(Scale(0, 1), scale, marks, chart.height, left=0, right=SIDE - CUT, above=26,
                 below=40)  # fmt: skip


# -- from block to block --------------------------------------------------------------------------


def born(moment: Moment, way: int) -> Placed:
    """The block that is born before or after the one in focus; the small ones are left out."""
    blocks, focus = moment.packing.large, moment.focus
    if not moment.chosen or focus not in blocks:
        return blocks[0 if way > 0 else -1]
    return blocks[min(max(blocks.index(focus) + way, 0), len(blocks) - 1)]


def neighbour(moment: Moment, way: int) -> Placed:
    """The nearest block above or below that lives at the same time, else at any time."""
    focus = moment.focus
    if focus is None or not moment.chosen:
        return born(moment, 1)
    there = [p for p in moment.packing.large if (p.address - focus.address) * way > 0]
    there = [p for p in there if p.lives_with(focus)] or there or [focus]
    return min(there, key=lambda p: (abs(p.address - focus.address), p.block.birth))


def lifted(moment: Moment, focus: Placed, way: int) -> int:
    """The address of the block in focus one unit up or down, inside what all blocks take without
    reuse: 1 MiB of the toy, a twentieth of a tick else."""
    found, step = moment.packing, int(moment.scale.step)
    alignment = found.placement.alignment
    unit = step // 2 if found.subject.toy else max(step // 20 // alignment, 1) * alignment
    return min(max(focus.address + way * unit, 0), found.total - focus.size)
