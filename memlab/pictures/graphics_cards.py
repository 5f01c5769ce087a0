"""Memory of a training step that frees nothing, laid out over graphics cards drawn to scale.

The bytes fill one card after the other, in the order of a stack: parameters, their state and their
gradients, then all that grows with the images. A guess stands as a mark at its number of bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

from memlab import optimizers, strings, units
from memlab.assemble.step import training_step
from memlab.errors import known, whole_number
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.networks.graph import Network
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import Fact, Glyph, Mark, Pen, Rect, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.svg import Svg
from memlab.pictures.draw.table import Key, Paragraphs, Table
from memlab.pictures.draw.theme import SHAPES, paint
from memlab.pictures.live.setting import Range, Setting, State
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.mountain.stack_parts import STACK, StackPart
from memlab.pictures.values.cache import RecentResults
from memlab.pictures.values.network_setting import network_setting
from memlab.pictures.values.number_text import MOST, three_digits
from memlab.pictures.values.study import Study
from memlab.techniques.no_reuse import no_reuse

WIDEST, SHAPE, GAP = 190, 128 / 180, 13 / 180
"""Pixels of the widest card; height of a card and gap to the next, as shares of its width."""
MOST_CARDS = 12
"""Most cards in the picture: bytes beyond them stand at its right edge."""
ABOVE, BELOW = 50, 20
"""Pixels above the cards, for the marks of guesses, and below them, for their names."""
SEEN, LITTLE = 6, 0.05
"""Least pixels of a part that is seen by itself; share of the rest below which a part is not
named."""
KEY = 18
"""Pixels of a legend of one line."""
DEEP = 8
"""Pixels that the edge connector of a card reaches below it."""


def text_of(key: str, **values: object) -> str:
    """Return a text of this picture with its values filled in."""
    return strings.get(f"graphics_cards.{key}", **values)


# -- what is shown ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StepInCards(Study):
    """Bytes of one training step of a network that frees nothing, in cards of ``card`` GB; no more
    than ``most`` images are asked for."""

    network: Network
    optimizer: str
    batch: int
    most: int
    card: int
    ledger: Ledger

    @property
    def budget(self) -> int:
        """Bytes of one card."""
        return self.card * units.DECIMAL["GB"]

    @cached_property
    def peak(self) -> int:
        """Bytes that the step needs."""
        return self.ledger.peak(self.batch)

    @cached_property
    def parts(self) -> dict[StackPart, int]:
        """Bytes by part of the stack at the peak, in the order in which the cards are filled."""
        parts = dict.fromkeys(STACK, 0)
        for entry in self.ledger.alive(self.ledger.peak_at(self.batch).index):
            parts[StackPart(entry.role, False)] += entry.size.fixed
            parts[StackPart(entry.role, True)] += entry.size.per_sample * self.batch
        return {part: nbytes for part, nbytes in parts.items() if nbytes}

    @cached_property
    def largest(self) -> int:
        """Most images that fit one card; 0 if none does."""
        return self.ledger.fit(self.budget).batch or 0

    @property
    def needed(self) -> str:
        """Number of cards that the bytes fill, in words: ``'5.5'``."""
        cards = self.peak / self.budget
        return f"{cards:.{1 if cards > 1.05 else 2}f}"

    # -- in words

    @property
    def title(self) -> str:
        return text_of("title", **self._subject, batch=f"{self.batch:,}", card=self.card)

    @property
    def headline(self) -> str:
        """Sentence on the bytes and the cards that they fill."""
        values = {"batch": f"{self.batch:,}", "bytes": three_digits(self.peak), "card": self.card}
        key = "fit" if self.peak <= self.budget else "need"
        number = "one" if self.batch == 1 else "several"
        return text_of(f"{key}.{number}", **values, cards=self.needed)

    @property
    def sentences(self) -> list[str]:
        return [self.headline, self.prompt]

    @property
    def prompt(self) -> str:
        """Sentence on what to do next: look for the most images that fit one card."""
        if self.peak > self.budget:
            return text_of("move" if self.largest else "none")
        if self.batch == self.largest:
            return text_of("most")
        return text_of("all" if self.batch == self.most else "more", most=f"{self.most:,}")

    @property
    def origin(self) -> str:
        """Line on the step that was planned."""
        return text_of("planned", **self._subject)

    @property
    def _subject(self) -> dict[str, str]:
        """Titles of the network and of the optimizer."""
        return {"network": self.network.label, "optimizer": optimizers.title(self.optimizer)}

    def table(self) -> Table:
        """Return the bytes of every part, and as a share of one card; the last row is their
        sum."""
        heads = [text_of(f"head.{key}") for key in ("part", "rounded", "bytes", "cards")]
        rows = [(part.label, nbytes) for part, nbytes in self.parts.items()]
        cells = [
            [name, three_digits(nbytes), f"{nbytes:,}", f"{nbytes / self.budget:.3f}"]
            for name, nbytes in (*rows, (text_of("head.sum"), self.peak))
        ]
        return Table(heads, cells, "<>>>", drawn=False, gap=8)


_LEDGERS = RecentResults(4)


def ledger_of(network: Network, optimizer: str) -> Ledger:
    """Return the plan of a training step that frees nothing; the last few are kept."""
    return _LEDGERS.of(
        (network, optimizer), lambda: plan(no_reuse(training_step(network, optimizer)))
    )


# -- how it is drawn -------------------------------------------------------------------------------


@dataclass(frozen=True)
class CardScale(Scale):
    """Scale of bytes over cards that stand beside each other with a gap between them; a value
    beyond the last card stands at its end."""

    budget: int = 1
    count: int = 1

    def at(self, value: Any) -> float:
        """Return the position of a number of bytes; the end of a full card belongs to it."""
        cards = min(max(value / self.budget, 0.0), self.count)
        gaps = max(ceil(cards) - 1, 0)
        return float((cards + gaps * GAP) / (self.count + (self.count - 1) * GAP))


@dataclass(frozen=True)
class Connector(Mark):
    """Edge connector below the card with this number, from 0 on: by it a rectangle is seen as a
    card."""

    card: int
    budget: int

    def draw(self, pen: Pen) -> None:
        left, right = pen.x(self.card * self.budget + 1), pen.x((self.card + 1) * self.budget)
        x, y, wide = left + 0.07 * (right - left), pen.box.bottom, 0.26 * (right - left)
        teeth = "".join(f"M{x + wide * n / 10:.1f} {y + 1:.1f}v4" for n in range(1, 10))
        pen.svg.path(f"M{x:.1f} {y:.1f}v{DEEP}h{wide:.1f}v-{DEEP}{teeth}", class_="rule")

    def on(self, axes: Any) -> None:
        """Draw nothing: a figure has the rectangles and their names."""


@dataclass(frozen=True)
class RowOfKeys(Key):
    """Legend that is at least one line high, so that nothing below it moves."""

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        return max(super().draw(svg, x, y, width), y + KEY)


@dataclass(frozen=True)
class CardsPicture:
    """Chart of a step over ``count`` cards, ``width`` pixels wide."""

    step: StepInCards
    count: int
    width: float
    guesses: tuple[tuple[str, int], ...] = ()
    """Key of the name and bytes of each guess: ``("guess", 18 * 10**9)``."""

    @cached_property
    def scale(self) -> CardScale:
        """Scale of bytes from the first card to the last."""
        return CardScale(0, self.count * self.step.budget, self.step.budget, self.count)

    @cached_property
    def card(self) -> float:
        """Width of a card in pixels."""
        return min(WIDEST, (self.width - 2) / (self.count + (self.count - 1) * GAP))

    def chart(self, previous: StepInCards | None) -> Chart:
        """Return the whole chart; ``previous`` is the state before."""
        used = self.card * (self.count + (self.count - 1) * GAP)
        before = [_edge(previous.peak)] if previous else []
        return Chart(self.scale, Scale(0, 1), [*self._marks()], SHAPE * self.card, left=1,
                     right=self.width - used - 1, above=ABOVE, below=BELOW, gap=4,
                     previous=before, told=list(self._told()))  # fmt: skip

    @property
    def _named(self) -> tuple[int, ...]:
        """Numbers of the cards that have a name: a row needs no more than its ends."""
        return tuple(dict.fromkeys((0, self.count - 1)))

    def _told(self) -> Iterator[str]:
        """Yield the names of the cards and the guesses in words."""
        yield text_of("drawn", names=", ".join(map(self._caption, self._named)))
        for key, nbytes in self.guesses:
            yield text_of("marked", name=text_of(key), bytes=three_digits(nbytes))

    def _marks(self) -> Iterator[Mark]:
        yield from self._filled()
        for card in range(self.count):
            yield from self._card(card)
        yield _edge(self.step.peak)
        yield _above(self.step.peak, self._amount(self.step.peak), 16, kept=True)
        for key, nbytes in self.guesses:
            yield from self._guess(key, nbytes)
        yield from self._names()

    def _pieces(self) -> Iterator[tuple[StackPart, int, int]]:
        """Yield the parts, cut at the ends of cards, each with the numbers of its first and last
        byte: byte 1 is the first of all."""
        done = 0
        for part, nbytes in self.step.parts.items():
            end = min(done + nbytes, self.count * self.step.budget)
            while done < end:
                last = min(end, (done // self.step.budget + 1) * self.step.budget)
                yield part, done + 1, last
                done = last

    def _filled(self) -> Iterator[Mark]:
        for part, first, last in self._pieces():
            fact = Fact(part.label, nbytes=self.step.parts[part])
            yield Rect(first, last, 0, 1, paint(part), edge=0, fact=fact)

    def _card(self, card: int) -> Iterator[Mark]:
        """Yield the outline of a card, its connector and its name."""
        first, last = card * self.step.budget + 1, (card + 1) * self.step.budget
        yield Rect(first, last, 0, 1, "rule pole", radius=6)
        yield Connector(card, self.step.budget)
        if card in self._named:
            yield ChartText(last, 0, self._caption(card), 12, "end", dx=-1, dy=15, bold=not card,
                       dim=bool(card))  # fmt: skip

    def _caption(self, card: int) -> str:
        """Return the name of the first card, a short one where there is no room for
        ``1 card: 12 GB``, or the number of another one."""
        room = texts.width(text_of("card.first", card=self.step.card), 12, True) + 2
        key = "number" if card else "first" if room <= 0.65 * self.card else "size"
        return text_of(f"card.{key}", number=card + 1, card=self.step.card)

    def _guess(self, key: str, nbytes: int) -> Iterator[Mark]:
        """Yield the mark of a guess: a line with an open diamond, for a revision a full one."""
        name = f"{text_of(key)} {self._amount(nbytes)}"
        yield Rule(x=nbytes, span=(0, 1), look="rule", above=6, width=1.8, crossed=True,
                   fact=Fact(name))  # fmt: skip
        yield Glyph(nbytes, 1, SHAPES["diamond"], "hollow pole" if key == "guess" else None,
                    "D", dy=-9)  # fmt: skip
        yield _above(nbytes, name, 13, kept=key == "guess")

    def _amount(self, nbytes: int) -> str:
        """Return bytes with three digits, with an arrow where they are beyond the last card."""
        amount = three_digits(nbytes)
        beyond = nbytes > self.count * self.step.budget
        return text_of("beyond", bytes=amount) if beyond else amount

    # -- names of the parts

    def _pixels(self, nbytes: int) -> float:
        return nbytes / self.step.budget * self.card

    @cached_property
    def named(self) -> dict[StackPart, tuple[int, int]]:
        """First and last byte of the widest piece of each part that has room for its name."""
        named: dict[StackPart, tuple[int, int]] = {}
        for part, first, last in sorted(self._pieces(), key=lambda piece: piece[1] - piece[2]):
            room = self._pixels(last - first) - 10
            if part not in named and texts.width(part.label, 13, True) <= room:
                named[part] = first, last
        return named

    def _names(self) -> Iterator[Mark]:
        """Yield the names with their bytes below, in the middle of the widest piece."""
        for part, (first, last) in self.named.items():
            lines = part.label, three_digits(self.step.parts[part])
            for line, dy in zip(lines, (-3, 14), strict=True):
                yield ChartText((first + last) // 2, 0.5, line, 13, "middle", dy=dy, bold=True,
                           chip=True)  # fmt: skip

    def key(self) -> Key:
        """Return the legend of the parts that are wide enough to be seen, but have no name in the
        picture."""
        return RowOfKeys([
            (paint(part), text_of("named", name=part.label, bytes=three_digits(nbytes)))
            for part, nbytes in self.step.parts.items()
            if part not in self.named and self._pixels(nbytes) >= SEEN
        ])  # fmt: skip

    def rest(self) -> str:
        """Return the sentence on the parts that are too thin to be seen."""
        parts = self.step.parts.items()
        rest = {part: nbytes for part, nbytes in parts if self._pixels(nbytes) < SEEN}
        whole = sum(rest.values())
        names = [part.label for part, nbytes in rest.items() if nbytes > LITTLE * whole]
        return text_of("rest", bytes=three_digits(whole), names=", ".join(names)) if rest else ""


def _edge(nbytes: int) -> Rule:
    """Return the line at the end of the bytes of a step."""
    return Rule(x=nbytes, span=(0, 1), look="limit", above=10, crossed=True)


def _above(nbytes: int, content: str, size: int, kept: bool) -> Label:
    """Return a text above the cards at a number of bytes, in one of two lines."""
    spots = (("middle", 0), ("start", 0), ("end", 0))
    places = [(nbytes, 1, anchor, dx, dy) for dy in (-18, -38) for anchor, dx in spots]
    return Label(content, places, size, bold=True, kept=kept)


# -- the view --------------------------------------------------------------------------------------


class GraphicsCards(View[StepInCards]):
    """Memory of a training step that frees nothing, laid out over graphics cards of one size.

    >>> view = memlab.views.graphics_cards("resnet50", batch=256)
    >>> view.rows.headline
    '256 images need 66.1 GB: 5.5 cards of 12 GB.'
    """

    name, made_by = "graphics_cards", "graphics_cards"
    positional = ("network", "batch")

    network = network_setting(default="resnet50", fixed=True)
    batch = Range(
        1, lambda now: now.most, doc="the images of one step", default=lambda now: now.most,
        box=True, code="always",
    )  # fmt: skip
    most = Setting[int](
        doc="the most images on the slider", default=256, fixed=True,
        check=lambda given: whole_number("most", given, 1, MOST),
    )  # fmt: skip
    optimizer = Setting[str](
        doc="the name of an optimizer", default="momentum", fixed=True,
        check=lambda given: known("optimizer", given, optimizers.OPTIMIZERS),
    )  # fmt: skip
    card = Setting[int](
        doc="the memory of one card in GB", default=12, fixed=True,
        check=lambda given: whole_number("card", given, 1, 1000),
    )  # fmt: skip
    guess = Setting[int | None](
        doc="a guess at the bytes, marked in the picture", default=None, check=units.parse,
        fixed=True,
    )  # fmt: skip
    revision = Setting[int | None](
        doc="a second guess at the bytes", default=None, check=units.parse, fixed=True
    )

    def study(self, now: State) -> StepInCards:
        ledger = ledger_of(now.network, now.optimizer)
        return StepInCards(now.network, now.optimizer, now.batch, now.most, now.card, ledger)

    def test_state(self, now: State) -> str:
        return f"{now.batch}|{self.rows_of(now).peak}"

    def says(self, scene: PageState) -> str:
        return " ".join(self.rows_of(scene.now).sentences)

    def compose(self, scene: PageState) -> Page:
        step, picture = self.rows_of(scene.now), self._picture(scene)
        before = self.rows_of(scene.previous) if scene.previous else None
        blocks = [
            Paragraphs(step.headline, 20, bold=True),
            Paragraphs(step.prompt, 14),
            picture.chart(before),
            Paragraphs(picture.rest(), 12, told=False),
            Paragraphs(step.origin, 11, dim=True),
            picture.key(),
            step.table(),
        ]
        return Page(step.title, blocks, scene.width, self.says(scene), titled=False)

    def _picture(self, scene: PageState) -> CardsPicture:
        """Return the picture of a scene; guesses are of the most images, and stand there alone."""
        now, whole = scene.now, self.rows_of(scene.now.replace(batch=scene.now.most))
        marks = (("guess", now.guess), ("revision", now.revision))
        guesses = tuple(mark for mark in marks if mark[1] is not None and now.batch == now.most)
        count = min(ceil(whole.peak / whole.budget), MOST_CARDS)
        return CardsPicture(self.rows_of(now), count, scene.width, guesses)


graphics_cards = maker(GraphicsCards)
