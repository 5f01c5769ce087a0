"""The guesses of a room at one card: a histogram, with the answer hidden until Reveal is pressed.

An instructor asks a card, pastes what the room guessed or names the folder of its progress files,
lets the room discuss, and reveals. Bars are shares of a series, so that the answers after a
discussion compare with those before, also where fewer people answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from memlab import strings
from memlab.errors import InputError, listed, one_option, printed, shorten, true_or_false
from memlab.lesson import class_files, pasted_guesses
from memlab.lesson.card import Card
from memlab.lesson.card_question import Question, Truth, topics
from memlab.lesson.class_guesses import ClassGuesses, GuessRow, share
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Glyph, Mark, Rect, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.table import Key, PageBlock, Paragraphs, Table
from memlab.pictures.draw.theme import Paint
from memlab.pictures.live.setting import Setting, State, TextArea, TextBox
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.values.study import Study
from memlab.strings import gettext as _

COLOURS = (("#0072B2", ""), ("#D55E00", "falling"))
"""Colour and pattern of each series: the first guesses, and the answers after that."""
HIDDEN, RIGHT, WRONG = 0.5, 0.95, 0.28
"""Opacity of a bar while the answer is hidden; and of its right and its other part then."""
BAR, ROOM, APART, TICK = 20, 8, 8, 24
"""Pixels: height of a bar; free between two rows, and before a bar; room for the tick of a right
answer."""
NAMES = 0.36
"""Largest share of the width that the names of rows may take beside their bars."""
TICKED = "M-6 0l4 5 8-11"
REVEAL = "KeyR"


# -- what it shows --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RoomStudy(Study):
    """Guesses of a room, with the truth once it is revealed."""

    guesses: ClassGuesses
    truth: Truth | None = None
    broken: int = 0

    @cached_property
    def rows(self) -> list[GuessRow]:
        """The rows of the histogram, for each its label, its tallies, and whether it is right."""
        return self.guesses.rows(self.truth)

    @property
    def title(self) -> str:
        return _text("title", card=self.guesses.topic.name)

    @property
    def empty(self) -> bool:
        """True if nobody has guessed yet."""
        return not self.guesses.series[0]

    @property
    def sentences(self) -> list[str]:
        """Sentences on the guesses; the answer is the first of them once it is revealed."""
        told = self.guesses.told(self.truth)
        if self.truth is None:
            first = _text("empty") if self.empty else _text("hidden", counted=told[0])
            told = [first, *told[1:]]
        if self.broken:
            key = "broken.one" if self.broken == 1 else "broken.many"
            told.append(_text(key, count=self.broken))
        return told

    def table(self) -> Table:
        """Return the histogram as a table, for the text."""
        series = self.guesses.series
        after = [_text("head.after"), ""] if series[1:] else []
        right = [_text("head.right")] if self.truth else []
        heads = [_text("head.answer"), _text("head.first"), "", *after, *right]
        rows = [
            [
                row.label,
                *(cell for tally, answers in zip(row.counts, series, strict=True)
                  for cell in (str(tally.guesses), share(tally.guesses, len(answers)))),
                *([_right(row)] if self.truth else []),
            ]
            for row in self.rows
        ]  # fmt: skip
        return Table(heads, rows, align="<" + ">" * (len(heads) - 1), drawn=False)


def _right(row: GuessRow) -> str:
    """Return what is right in a row: all of it, a part of each series, or nothing."""
    if row.truth or all(tally.right == tally.guesses for tally in row.counts if tally.right):
        return _text("right_one") if row.truth or any(t.right for t in row.counts) else ""
    return ", ".join(str(tally.right) for tally in row.counts)


# -- where guesses come from ----------------------------------------------------------------------


def asked(given: object) -> Question:
    """Return the question of a card, which is given by its name or as a card of one's own.

    Raises:
        InputError: it is neither.
    """
    if isinstance(given, Question):
        return given
    return given.topic if isinstance(given, Card) else one_option("question", given, topics())


def pasted(given: object) -> str:
    """Return guesses as text, an answer on a line: they are given so, or as a list."""
    if isinstance(given, str):
        return given
    return "\n".join(map(printed, listed("guesses", given, "9", "2.25")))


def _one_line(text: str) -> str:
    """Return guesses as they stand in their field: a column would push the histogram away."""
    return "; ".join(pasted_guesses.lines(text))


def _folder(given: object) -> str:
    if not isinstance(given, str | Path):
        raise InputError(_("{given} is no folder; give its name, such as 'handed-in'.",
                           given=shorten(given)))  # fmt: skip
    return str(given)


_TRUTHS: dict[str, tuple[Question, Truth]] = {}
"""Truths that were found, by the name of their question: to find one may take seconds."""


def truth_of(topic: Question) -> Truth:
    """Return the truth of a question on its first numbers, found once."""
    kept = _TRUTHS.get(topic.name)
    if kept is None or kept[0] is not topic:
        kept = _TRUTHS[topic.name] = topic, topic.truth(topic.first)
    return kept[1]


# -- the view -------------------------------------------------------------------------------------


class GuessesOfClass(View[RoomStudy]):
    """Histogram of the guesses of a room at a card; the answer is hidden until Reveal is pressed.

    >>> view = memlab.views.class_guesses("03.stride", given=["9", "9", "2.25"])
    >>> [(row.label, row.counts[0].guesses) for row in view.rows.rows]
    [('2.25 x', 1), ('9 x', 2)]
    """

    name, made_by = "class_guesses", "class_guesses"
    positional = ("card",)
    picture_keys = (REVEAL,)

    card: Setting[Question] = Setting(
        doc="the name of a card, such as ``'03.stride'``, or a card of your own",
        default="03.stride", check=asked, code="plain", fixed=True,
        write=lambda topic: topic.handle if topic.variable else repr(topic.name),
    )  # fmt: skip
    given = TextArea(
        doc="the guesses of the room, as a list or as text with one on a line", default="",
        check=pasted, show=_one_line, when=lambda now: not now.folder,
    )  # fmt: skip
    later = TextArea(
        doc="the answers of the room after a discussion, likewise", default="", check=pasted,
        show=_one_line, when=lambda now: bool(now.given) and not now.folder,
    )  # fmt: skip
    folder = TextBox(
        doc="a folder with the ``progress.json`` of each learner, in place of ``given``",
        default="", check=_folder, linked=False, place="more", when=lambda now: not now.given,
    )  # fmt: skip
    revealed: Setting[bool] = Setting(
        doc="whether the answer is shown", default=False, linked=False, code="never",
        check=lambda given: true_or_false("revealed", given),
    )  # fmt: skip
    readings: Setting[int] = Setting(
        doc="how often the folder was read again", default=0, argument=False, code="never"
    )

    @property
    def parts(self) -> tuple[str, ...]:
        return *super().parts, f"ask.{self.state.card.name}", "card"

    def reconcile(self, new: State, was: State | None) -> State:
        """Refuse guesses from two places."""
        if new.folder and (new.given or new.later):
            raise InputError(_("guesses come from a folder or from a list, and both are given; "
                               "leave one of them empty."))  # fmt: skip
        return new

    def study(self, now: State) -> RoomStudy:
        truth = truth_of(now.card) if now.revealed else None
        if now.folder:
            files = class_files.read(now.folder)
            guesses = files.guesses(now.card)
            if truth is None:  # most revisions are right
                guesses = replace(guesses, series=guesses.series[:1])
            return RoomStudy(guesses, truth, len(files.broken))
        return RoomStudy(pasted_guesses.read(now.card, now.given or "", now.later or ""), truth)

    def outline_key(self, now: State) -> object:
        return now.card.name

    def buttons(self, now: State) -> Mapping[str, str]:
        again = {"again": "again"} if now.folder else {}
        shows = "hide" if now.revealed else "reveal"
        return {shows: shows, **again}

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        if name in ("reveal", "hide"):
            return now.replace(revealed=name == "reveal")
        if name == "again":
            return now.replace(readings=now.readings + 1)
        return now.replace(revealed=not now.revealed) if (name, value) == ("key", REVEAL) else None

    def test_state(self, now: State) -> str:
        first, *after = map(len, self.rows_of(now).guesses.series)
        return f"{first}|{after[0] if after else ''}|{now.revealed}"

    def says(self, scene: PageState) -> str:
        return " ".join(self.rows_of(scene.now).sentences)

    def compose(self, scene: PageState) -> Page:
        room = self.rows_of(scene.now)
        first, *others = room.sentences
        blocks = [
            Paragraphs(room.guesses.question, 16, bold=True, gap=2),
            Paragraphs(first, 16, gap=8),
            *(Paragraphs(sentence, 13, gap=4) for sentence in others),
            *_histogram(room, scene.width),
        ]
        return Page(room.title, blocks, scene.width, self.says(scene), titled=False)


class_guesses = maker(GuessesOfClass)


# -- how it is drawn ------------------------------------------------------------------------------


def _histogram(room: RoomStudy, width: float) -> Iterator[PageBlock]:
    """Yield the legend and the rows: their names beside the bars, or above where they are long."""
    rows = room.rows
    if not rows:
        return
    yield Key(list(_legend(room)), 13, gap=8)
    names = max(texts.width(row.label, 13) for row in rows) * 1.1
    if names <= NAMES * width:
        yield _chart(room, rows, names + TICK, True, 10)
    else:
        for row in rows:
            yield Paragraphs(row.label, 13, bold=row.truth, left=TICK, gap=8, told=False)
            yield _chart(room, [row], TICK, False, 0)
    yield room.table()


def _legend(room: RoomStudy) -> Iterator[tuple[Paint, str]]:
    """Yield the looks of bars with their names, where there are several."""
    count = len(room.guesses.series)
    names = [_text("head.first"), _text("head.after")][:count]
    if room.truth is None:
        if count > 1:
            yield from ((_paint(at, HIDDEN), name) for at, name in enumerate(names))
        return
    for at, name in enumerate(names):
        yield _paint(at, RIGHT), _text("legend.right", series=name)
        yield _paint(at, WRONG), _text("legend.other", series=name)


def _paint(series: int, tint: float) -> Paint:
    colour, pattern = COLOURS[series]
    return Paint(colour, tint, pattern if tint < RIGHT else "")


def _chart(room: RoomStudy, rows: list[GuessRow], left: float, named: bool, gap: float) -> Chart:
    """Return the bars of some rows on the scale of all of them."""
    count = len(room.guesses.series)
    longest = max(part for row in room.rows for part in _shares(room, row))
    pitch = BAR * count + ROOM
    marks = [Rule(0, look="rule", opacity=0.5), *_marks(room, rows, named)]
    right = max(texts.width(_amount(room, row, at), 13) for row in rows for at in range(count))
    return Chart(Scale(0, longest or 1), Scale(len(rows), 0), marks, pitch * len(rows),
                 left=left, right=right * 1.1 + APART + 2, gap=gap)  # fmt: skip


def _shares(room: RoomStudy, row: GuessRow) -> Iterator[float]:
    """Yield the length of the bar of each series."""
    for tally, answers in zip(row.counts, room.guesses.series, strict=True):
        yield tally.guesses / max(len(answers), 1)


def _amount(room: RoomStudy, row: GuessRow, series: int) -> str:
    """Return the text after a bar: how many, their share, and where only some are right how many
    of them."""
    tally = row.counts[series]
    if not tally.guesses:
        return "0"
    told = f"{tally.guesses} · {share(tally.guesses, len(room.guesses.series[series]))}"
    some = 0 < tally.right < tally.guesses
    return f"{told} · {_text('some_right', count=tally.right)}" if some else told


def _marks(room: RoomStudy, rows: Iterable[GuessRow], named: bool) -> Iterator[Mark]:
    for index, row in enumerate(rows):
        if row.truth or any(tally.right for tally in row.counts):
            yield Glyph(0, index + 0.5, TICKED, "rule", dx=-TICK / 2, width=2.4)
        if named:
            yield ChartText(0, index + 0.5, row.label, 13, "end", -TICK, 5, bold=row.truth)
        for at, length in enumerate(_shares(room, row)):
            yield from _bar(room, row, at, (index, length))


def _bar(room: RoomStudy, row: GuessRow, at: int, place: tuple[int, float]) -> Iterator[Mark]:
    """Yield the bar of a series in a row: its right part, the rest, and its amount."""
    index, length = place
    count, tally = len(row.counts), row.counts[at]
    low = index + (ROOM / 2 + at * BAR) / (BAR * count + ROOM)
    high = low + BAR / (BAR * count + ROOM)
    amount = _amount(room, row, at)
    fact = Fact(f"{row.label} {amount}")
    part = length * (tally.right / max(tally.guesses, 1))
    hidden = room.truth is None
    for start, end, tint in ((0.0, part, RIGHT), (part, length, HIDDEN if hidden else WRONG)):
        if end > start:
            yield Rect(start, end, low, high, _paint(at, tint), inset=1, fact=fact)
    yield ChartText(length, (low + high) / 2, amount, 13, dx=APART, dy=5, bold=bool(tally.right))


def _text(key: str, **values: object) -> str:
    return strings.get(f"class_guesses.{key}", **values)
