"""The bytes of the real layer on one ruler, whose length never changes; and the copy of one image
that was written for real, beside its plan."""

from __future__ import annotations

from memlab import strings, units
from memlab.views import bars, extents
from memlab.views.copies import words
from memlab.views.copies.layer import amount
from memlab.views.copies.layout import LINE, OVER, Layout
from memlab.views.copies.rows import CARD, RULER, Rows
from memlab.views.copies.write import Written
from memlab.views.svg import Box, Svg, box_path

THIN, TALL = 10, 24


def draw(svg: Svg, rows: Rows, place: Layout, y: float) -> float:
    """Input, copy, card and what is free here; returns where they end."""
    right = place.right - 14
    _row(svg, y + 2, THIN, words.say("ruler.input"), rows.source)
    taken = _bar(svg, Box(place.left, y + 2, right, y + 2 + THIN), rows.source)
    top = y + 38
    _row(svg, top, TALL, words.say(f"ruler.{rows.state.how}"), rows.total)
    _copy(svg, rows, Box(place.left, top, right, top + TALL))
    _card(svg, rows, Box(place.left, top, right, top + TALL))
    foot = top + TALL
    _ticks(svg, place.left, right, foot + 5)
    _free(svg, rows, Box(taken + 8, y + 18, right, foot + 5), place)
    y = foot + 36
    for line in extents.flow(words.verdicts(rows), place.right, 13):
        svg.text(0, y, line, 13)
        y += LINE
    if rows.state.done:
        y = _written(svg, rows.state.done, place, y + 6)
    return y - 4


def _x(nbytes: int, left: float, right: float) -> float:
    return left + (right - left) * min(nbytes / RULER.end, 1)


def _row(svg: Svg, top: float, tall: float, name: str, nbytes: int) -> None:
    """The name of a bar and its amount, to the left of it."""
    middle = top + tall / 2
    svg.text(0, middle - 2, name, 11)
    svg.text(0, middle + 12, amount(nbytes), 13, bold=True)


def _bar(svg: Svg, box: Box, nbytes: int) -> float:
    """A bar from the left edge on; what is thinner than a line gets a pointer. Returns its end."""
    end = max(_x(nbytes, box.left, box.right), box.left + 0.6)
    svg.rect(box._replace(right=end), class_="on")
    if end - box.left >= 2:
        return end
    y = (box.top + box.bottom) / 2
    svg.path(f"M{end + 3:.1f} {y}l7 -3.5v7z")
    return svg.text(end + 14, y + 4, words.say("ruler.small"), 11, dim=True).right


def _copy(svg: Svg, rows: Rows, box: Box) -> None:
    """Filled as far as it is written; what will not fit on the card is hollow and hatched."""
    if not rows.count:
        return
    written, total = (_x(n, box.left, box.right) for n in (rows.written, rows.total))
    limit = _x(CARD.nbytes, box.left, box.right)
    if total - box.left < 2:
        _bar(svg, box, rows.written)
        return
    svg.rect(box._replace(right=min(written, limit)), class_="on")
    if written > limit:
        over = box._replace(left=limit, right=written)
        svg.fill(box_path(over), OVER)
    if written < total:
        svg.rect(Box(written + 1, box.top + 2, total, box.bottom - 2), class_="ghost")
    _seams(svg, rows, box)
    if rows.total > RULER.end:
        _beyond(svg, rows, box)


def _seams(svg: Svg, rows: Rows, box: Box) -> None:
    """The copies lie side by side: between them a line in the colour of the page."""
    each = rows.total / rows.count
    if each / RULER.end * (box.right - box.left) < 4:
        return
    xs = [_x(round(each * n), box.left, box.right) for n in range(1, rows.step)]
    svg.path("".join(f"M{x:.1f} {box.top}V{box.bottom}" for x in xs if x < box.right - 1),
             class_="seam")  # fmt: skip


def _beyond(svg: Svg, rows: Rows, box: Box) -> None:
    """The bar breaks at the end of the ruler."""
    x, step = box.right, (box.bottom - box.top) / 4
    zigzag = "".join(f"l{6 if i % 2 == 0 else -6} {step}" for i in range(4))
    svg.path(f"M{x - 3} {box.top}{zigzag}h14v-{box.bottom - box.top}z", class_="hollow")
    svg.path(f"M{x - 3} {box.top}{zigzag}", class_="edge")
    svg.text(x + 14, box.top - 7, f"{words.beyond(rows)} →", 11, "end", bold=True)


def _card(svg: Svg, rows: Rows, box: Box) -> None:
    """A box that is filled, not a mark on an axis."""
    end = _x(CARD.nbytes, box.left, box.right)
    svg.rect(Box(box.left - 1.5, box.top - 1.5, end + 1.5, box.bottom + 1.5), class_="box")
    svg.text(box.left - 2, box.top - 7, words.card(CARD.name), 11)
    if CARD.nbytes < rows.total <= RULER.end:
        svg.text(end + 6, box.top - 7, words.say("ruler.over"), 11, bold=True)


def _ticks(svg: Svg, left: float, right: float, y: float) -> None:
    svg.line(left, y, right, y, class_="rule")
    for nbytes, name in RULER.ticks:
        x = _x(nbytes, left, right)
        svg.line(x, y, x, y + 4, class_="rule")
        last = nbytes == RULER.end
        svg.text(right + 14 if last else x, y + 15, name, 11, "end" if last else "middle", dim=True)


def _free(svg: Svg, rows: Rows, box: Box, place: Layout) -> None:
    """What this machine has left, live only: a dashed line through the ruler."""
    free = rows.state.free
    if free is None:
        return
    text = words.say("ruler.free", free=words.hundredths(free))
    x = _x(free, place.left, box.right)
    if free > RULER.end:
        svg.text(box.right + 14, box.top - 5, f"{text} →", 11, "end", dim=True)
        return
    svg.line(x, box.top, x, box.bottom, class_="before")
    wide = extents.width(text, 11)
    svg.text(min(max(x, box.left + wide / 2), box.right + 14 - wide / 2), box.top - 3, text, 11,
             "middle", chip=True)  # fmt: skip


def _written(svg: Svg, done: Written, place: Layout, y: float) -> float:
    """Planned and measured: one scale, so that a difference would be seen."""
    if not done.planned:
        return y
    for line in extents.flow([(words.say("write.title"), True)], place.right, 13):
        svg.text(0, y + 8, line, 13)
        y += LINE
    end = place.left + (place.right - place.left) * 0.55
    for name, nbytes in (("planned", done.planned), ("measured", done.measured)):
        y += 8
        svg.text(0, y + 6, strings.get(f"run.origin.{name}"), 11)
        svg.text(0, y + 20, units.exact(nbytes), 12, bold=True)
        long = (end - place.left) * nbytes / max(done.planned, done.measured)
        bars.draw(svg, Box(place.left, y, place.left + long, y + bars.TALL), name)
        y += bars.PITCH
    residual = words.say("write.residual", residual=units.exact(done.residual))
    svg.text(end + 12, y - 14, residual, 16, bold=True)
    if done.seconds:
        svg.text(end + 12, y + 2, words.say("write.time", ms=done.ms), 11, dim=True)
    return y + 22
