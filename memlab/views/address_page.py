"""The page of the address map: what stands around its charts, and what they say in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memlab import strings, units
from memlab.studies.amounts import binary_unit, in_binary
from memlab.studies.cut import hundredths
from memlab.studies.memory import Budget
from memlab.studies.packed_step import PUBLISHED, recorded_peak
from memlab.studies.packing import Packing, say, say_how
from memlab.views.address_map import LEFT, RIGHT, SIDE, AddressChart, Moment, arrow, paint
from memlab.views.draw.marks import Glyph
from memlab.views.draw.page import Page
from memlab.views.draw.table import Below, Beside, Block, Key, Table, Words
from memlab.views.draw.theme import FREE, Paint

APART, PAIR = 18, 600
"""Between what stands side by side; from so many pixels on two maps do, else one below the other.
"""
WIDE = 820
"""From so many pixels on the cut stands beside the map, else below it."""


def frame(width: float, pair: bool) -> float:
    """How wide a map is on a page of a width, without its margins."""
    if pair and width >= PAIR:
        width = (width - APART) / 2
    elif not pair and width >= WIDE:
        width -= SIDE + APART
    return width - LEFT - RIGHT


def page(charts: Sequence[AddressChart], budgets: Sequence[Budget], bold: Sequence[str],
         moving: bool, width: float) -> Page:  # fmt: skip
    """One map with a cut, or two maps, ``width`` pixels wide: what is wrong or was asked for is
    ``bold``, and Move mode is explained while blocks are ``moving``."""
    moment = charts[0].moment
    blocks = [
        *_head(moment, bold, moving),
        Words(list(_axes(moment, budgets, charts[0].guess)), drawn=False),
        *(_pair(charts, width) if len(charts) > 1 else _single(charts[0], width)),
        _key(moment.packing),
        Words("\n".join(peak(moment)).splitlines(), drawn=False, gap=1),
    ]
    return Page(_title(moment), blocks, width)


# -- the head -------------------------------------------------------------------------------------


def _title(moment: Moment) -> str:
    """What is shown: ``'ResNet-50 v1.5, batch 32, in place, best fit'``."""
    found, others = moment.packing, moment.maps[1:]
    placed = say_how(found.placement.how)
    for other in others:
        placed = say("and", first=placed, second=say_how(other.placement.how))
    batch = strings.get("network.batch", batch=f"{found.batch:,}")
    inside = say("in_place") if found.subject.inside else ""
    about = [found.subject.label, "" if found.subject.toy else batch, inside, placed, found.stage]
    return ", ".join(filter(None, about))


def _head(moment: Moment, bold: Sequence[str], moving: bool) -> Iterator[Block]:
    """The equation; what is wrong; how much is alive at once, and what this placing saves."""
    found = moment.packing
    yield Words([_equation(moment)], 20, told=False)
    yield Words(bold, 13, bold=True)
    values = {"count": f"{len(found.blocks):,}", "total": in_binary(found.total)}
    values |= {"bound": in_binary(found.bound), "index": f"{found.busiest + 1:,}"}
    alone = len(moment.maps) == 1 and not found.overlaps
    sentences = [
        say("moving") if moving else "",
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


def _axes(moment: Moment, budgets: Sequence[Budget], guess: int | None) -> Iterator[str]:
    """What the axes and lines of the picture say: phases, budgets, the guess."""
    found = moment.packing
    bands = [
        strings.get(
            f"network.twin.{'band' if last > first else 'one'}",
            phase=strings.get(f"phase.{phase}"),
            first=f"{first + 1:,}",
            last=f"{last + 1:,}",
        )
        for phase, first, last in found.subject.phases
    ]
    if bands:
        yield say("twin.bands", bands=", ".join(bands))
    before = in_binary(found.subject.before(found.batch))
    for nbytes, name in rooms(found, budgets):
        key = "verdict.fits" if found.arena <= nbytes else "verdict.refused"
        yield say(key, before=before, room=in_binary(nbytes), name=name)
    if guess is not None:
        yield say("twin.guess", guess=in_binary(guess))


def rooms(found: Packing, budgets: Sequence[Budget]) -> list[tuple[int, str]]:
    """The bytes that budgets leave for the arena, beside what is there before the step, each with
    its name; what is free here comes with its amount. The toy has none."""
    if found.subject.toy:
        return []
    before = found.subject.before(found.batch)
    return [(max(each.nbytes - before, 0), _room(each)) for each in budgets]


def _room(budget: Budget) -> str:
    if budget.live:
        return strings.get("network.budget.live", amount=hundredths(budget.nbytes))
    return say("room", name=budget.name)


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
        Below([Words(chart.packing.figures(), drawn=False), *_heading(chart), chart.strip(),
               chart.map(), *_story(chart), *_table(chart)], gap=8)
        for chart in charts
    ]  # fmt: skip
    yield from [Beside([(column, 1) for column in columns], APART)] if width >= PAIR else columns


def _single(chart: AddressChart, width: float) -> Iterator[Block]:
    """One map, with the block in focus and the cut beside it or below it."""
    moment, focus = chart.moment, chart.moment.focus
    strip = Below([*_heading(chart), chart.strip()])
    about = Words(chart.packing.facts(focus) if focus else [])
    named = Words([focus.name], 13, bold=True, mark=paint(focus.kind)) if focus else Words([])
    shown, hidden = moment.cut
    title, heads = say("cut", index=f"{moment.at + 1:,}"), say("cut_heads", unit=chart.scale.unit)
    blocks = sum(len(part.placed) for part in hidden)
    others = say("cut_others", count=f"{len(hidden):,}", blocks=f"{blocks:,}") if hidden else ""
    wide = width >= WIDE
    rows = [moment.cells(part) for part in shown]
    table = Table(["", *heads.split("|")], rows, title=title, drawn=not wide)
    yield Words(chart.packing.figures(), drawn=False, gap=1)
    if wide:
        share = width - SIDE - APART
        bar = chart.cut(title, heads.split("|"), others)
        yield Beside([(strip, share), (Below([named, about]), SIDE)], APART, gap=8)
        yield Beside([(chart.map(), share), (bar, SIDE)], APART, gap=8)
    else:
        yield from (strip, chart.map(), named, about)
    yield table
    yield Words([others], 11, dim=True, drawn=not wide)
    yield from (*_story(chart), *_table(chart))


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
    rows = found.rows()
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
