"""What stands on the map: the top of the arena, the lower bound, budgets, the guess, the focus."""

from __future__ import annotations

from memlab.views import extents
from memlab.views.addresses import scale, words
from memlab.views.addresses.chart import Chart
from memlab.views.addresses.room import Room
from memlab.views.place import Board
from memlab.views.svg import Box, text_box


def draw(chart: Chart) -> None:
    """All of them."""
    _focus(chart)
    board = _board(chart)
    if chart.frame.holds(chart.top):
        with chart.svg.group(class_="glides" if _fall(chart) else None, style=_style(chart)):
            _top(chart, board)
    _bound(chart, board)
    for room in chart.rows.rooms:
        if chart.frame.holds(room.nbytes):
            _room(chart, board, room)
    _above(chart)
    _guess(chart)


def _fall(chart: Chart) -> float:
    """How far above its place the top of a network's arena was before, in pixels."""
    before = None if chart.packed.source.toy else chart.rows.state.slid
    return chart.frame.y(before.arena) - chart.frame.y(chart.top) if before else 0.0


def _style(chart: Chart) -> str | None:
    return f"--from:{_fall(chart):.1f}px" if _fall(chart) else None


def targets(chart: Chart) -> None:
    """Where a pointer chooses an operation, or a block."""
    strip, steps = chart.strip.box, chart.frame.operations
    chart.svg.rect(strip, fill="transparent", data_send="at", data_steps=steps)
    numbers = Box(chart.left, chart.frame.box.bottom, chart.right, chart.frame.box.bottom + 22)
    chart.svg.rect(numbers, fill="transparent", data_send="at", data_steps=steps)
    for row in chart.shown:
        box = Box(*(round(edge, 1) for edge in chart.box(row)))
        chart.svg.rect(box, fill="transparent", data_send="choose", data_value=row.name)


def _focus(chart: Chart) -> None:
    """A frame around the block in focus."""
    row = chart.rows.chosen
    given = chart.rows.state.chosen or not chart.packed.source.toy
    if row is not None and given and not chart.index and row.turn <= chart.rows.turn:
        left, top, right, bottom = chart.box(row)
        box = Box(left, top, right, max(bottom, top + 1.5))
        chart.svg.rect(box, class_="rule", stroke_width=2.6)


def _top(chart: Chart, board: Board) -> None:
    """The thick line that closes the arena, its name and its number."""
    svg, packed, unit = chart.svg, chart.packed, chart.rows.scale.unit
    y = chart.frame.y(chart.top)
    svg.line(chart.left - 4, y, chart.right + 6, y, stroke="currentColor", stroke_width=3)
    done = chart.rows.turn >= len(packed.rows)
    key = "top_equal" if chart.top == packed.bound and done else "top" if done else "top_now"
    _label(chart, board, words.say(key, amount=words.whole(chart.top, unit)), y, bold=True)
    if chart.top not in [nbytes for nbytes, _ in chart.rows.scale.ticks]:
        svg.text(chart.left - 12, y + 4, scale.plain(chart.top, unit), 11, "end", bold=True)


def _bound(chart: Chart, board: Board) -> None:
    """The name of the lower bound, at its line or at the top of the arena close to it."""
    packed, frame = chart.packed, chart.frame
    if packed.bound == chart.top or not frame.holds(packed.bound):
        return
    y, bound = frame.y(chart.top), frame.y(packed.bound)
    name = words.say("bound", amount=words.whole(packed.bound, chart.rows.scale.unit))
    near = abs(bound - y) < 16
    _label(chart, board, name, y if near else bound, right=near)


def _room(chart: Chart, board: Board, room: Room) -> None:
    """A dotted line at what a budget leaves for the arena."""
    y = chart.frame.y(room.nbytes)
    chart.svg.line(chart.left, y, chart.right, y, stroke="currentColor", stroke_width=1.8,
                   stroke_dasharray="2 3")  # fmt: skip
    _label(chart, board, words.room(room), y, right=True)


def _above(chart: Chart) -> None:
    """The budgets that this axis does not reach, in words."""
    end = chart.rows.scale.end
    names = ", ".join(words.room(room) for room in chart.rows.rooms if room.nbytes > end)
    if not names:
        return
    name, y = words.say("above", names=names), chart.frame.box.top - 16
    taken = Board([label.box for label in chart.svg.labels])
    wide = extents.width(name, 11)
    lefts = [left for left in (chart.right - wide, chart.left + 40) if left > chart.left]
    if box := taken.first([text_box(left, y, name, 11) for left in lefts]):
        chart.svg.text(box.left, y, name, 11, dim=True)


def _board(chart: Chart) -> Board:
    """What no label may cover: the letters' blocks, the lines, the numbers above the map."""
    boxes = [chart.box(row) for row in chart.shown] if chart.packed.source.toy else []
    x = chart.middle(chart.packed.busiest)
    poles = [Box(x - 1, chart.strip.box.bottom, x + 1, chart.frame.y(chart.packed.bound))]
    if (cursor := chart.rows.state.cursor) is not None:
        x = chart.middle(cursor)
        poles.append(Box(x - 1, chart.frame.box.top - 14, x + 1, chart.frame.box.bottom))
    heights = [chart.top, *(room.nbytes for room in chart.rows.rooms)]
    ys = [chart.frame.y(nbytes) for nbytes in heights if chart.frame.holds(nbytes)]
    lines = [Box(chart.left, y - 1.5, chart.right, y + 1.5) for y in ys]
    return Board([*boxes, *lines, *poles, *(label.box for label in chart.svg.labels)])


def _label(
    chart: Chart, board: Board, name: str, y: float, bold: bool = False, right: bool = False
) -> None:
    """A name at a line: above or below it, at the left, at the right, in between."""
    wide, inner = extents.width(name, 12, bold), chart.right - chart.left
    between = [chart.left + inner * part / 8 for part in range(1, 8)]
    lefts = [chart.left + 6, *between, chart.right - 4 - wide]
    room = [left for left in lefts if left + wide <= chart.right][:: -1 if right else 1]
    places = [text_box(left, y + down, [(name, bold)], 12) for down in (-8, 15) for left in room]
    inside = [box for box in places if box.top > chart.frame.box.top - 12]
    box = board.first(inside, 1) or (inside[0] if inside else None)
    if box:
        chart.svg.text(box.left, box.top + 9, name, 12, bold=bold, chip=True)


def _guess(chart: Chart) -> None:
    """The guess of the learner: a hollow triangle at the axis, and a dotted line that stays."""
    guess = chart.rows.state.guess
    if guess is None or guess < chart.frame.first:
        return
    y = max(chart.frame.y(guess), chart.frame.box.top)
    chart.svg.line(chart.left, y, chart.right, y, class_="rule", stroke_width=1.4,
                   stroke_dasharray="1.5 4")  # fmt: skip
    arrow = f"M{chart.left - 10} {y - 5.5:.1f}V{y + 5.5:.1f}L{chart.left} {y:.1f}Z"
    chart.svg.path(arrow, class_="hollow rule", stroke_width=1.5)
    taken = Board([label.box for label in chart.svg.labels])
    for down in (4, 16, -8, 22, -14):
        box = text_box(chart.left - 13, y + down, words.say("guess"), 11, "end")
        if box.left >= 0 and taken.free(box, 0.5):
            chart.svg.text(chart.left - 13, y + down, words.say("guess"), 11, "end", bold=True)
            return
