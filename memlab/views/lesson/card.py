"""A prediction card as a widget: it knows where a card stands, and computes nothing itself."""

from __future__ import annotations

from functools import cache
from typing import Any

from memlab import strings, units
from memlab.errors import InputError, shorten
from memlab.lesson import words
from memlab.lesson.card import Card
from memlab.lesson.guess import Guess
from memlab.lesson.question import Kind
from memlab.views.lesson import controls, picture
from memlab.views.lesson.rows import Rows, rows
from memlab.views.widget import Control, Line, Picture, View, width


class PredictionCard(View):
    """A card that is answered in the browser; it follows the card when Python changes it."""

    name = "card"
    classes = "memlab-card"
    twin = False

    def __init__(self, card: Card) -> None:
        self.card, self.width = card, picture.WIDEST
        self._entered: dict[int, str] = {}
        self._acting = False
        super().__init__()
        card.watch(self._follow)

    @property
    def entered(self) -> str:
        """What the controls hold and nobody has locked yet."""
        return self._entered.get(len(self.card.rounds), "")

    # -- for the widget ---------------------------------------------------------------------

    def heading(self) -> tuple[str, str]:
        return strings.get("card.predict"), words.question(self.card.now)

    def controls(self) -> list[Control]:
        return controls.of(self.card.now, self.entered)

    def next(self) -> str:
        return self.controls()[0].name

    def label(self) -> str:
        return self._rows.spoken if self._rows else ""

    def draw(self, stored: bool) -> Picture:
        earlier = words.earlier(self.card)
        found, svg = self._rows, ""
        if found:
            width = picture.WIDEST if stored else self.width
            before = earlier if stored else ()
            drawn = picture.draw(found, width, alone=stored, before=before)
            svg = drawn.render(found.question, standalone=stored)
        return Picture(
            svg=svg,
            text=self.card.text(),
            state=self._state,
            says=self._says(),
            status=self._status(),
            lines=tuple(Line(line) for line in self._lines()),
            after=tuple(Line(line) for line in earlier),
        )

    def act(self, name: str, value: Any, dragging: bool) -> None:
        if name == "width":
            self.width = width(value)
            return
        self._acting = True
        try:
            self._do(name, value)
        finally:
            self._acting = False

    # -- inside -----------------------------------------------------------------------------

    def _do(self, name: str, value: Any) -> None:
        if name == "lock":
            if not self.entered:
                raise InputError(strings.get("card.control.nothing"))
            self.card.guess(self.entered)
        elif name in ("skip", "reveal", "retry"):
            getattr(self.card, name)()
        elif name in ("guess", "exact"):
            self._enter(controls.read(self.card.topic, name, value))

    def _enter(self, given: str) -> None:
        self._entered[len(self.card.rounds)] = given
        if given:
            self.card.topic.read(given)

    def _follow(self) -> None:
        """Python changed the card; what the browser did is answered once, at its end."""
        if not self._acting:
            self.refresh()

    @property
    def _rows(self) -> Rows | None:
        return rows(self.card.now) if self.card.now.truth else None

    @property
    def _state(self) -> str:
        turn = self.card.now
        if turn.truth:
            return "revealed"
        return "open" if turn.open else "skipped" if turn.skipped else "locked"

    def _lines(self) -> list[str]:
        """What is known by now, besides the picture."""
        if self._rows:
            return [self._rows.seen]
        if self._state == "locked":
            return [strings.get("card.control.locked", guess=words.given(self.card.now))]
        return [strings.get("card.control.skipped")] if self._state == "skipped" else []

    def _status(self) -> str:
        """An amount in bytes: whether its unit was read as it was meant."""
        topic = self.card.topic
        if self._state != "open" or topic.kind is not Kind.AMOUNT or not self.entered:
            return ""
        try:
            given = topic.read(self.entered)
        except InputError:
            return ""
        assert isinstance(given, Guess)
        nbytes = units.exact(round(given.value))
        if given.text == nbytes:
            return ""
        return strings.get("card.control.read", guess=given.text, bytes=nbytes)

    def _says(self) -> str:
        """What the ear alone is told: the picture, or the question on new numbers."""
        if self._rows:
            return f"{self._rows.spoken}. {self._rows.diagnosis}".strip()
        again = self._state == "open" and len(self.card.rounds) > 1
        return words.question(self.card.now) if again else ""

    def __repr__(self) -> str:
        return self.card.text()


def prediction_card(card: Card) -> PredictionCard:
    """The widget of a card: the same one wherever it is shown.

    Raises:
        InputError: no card.
    """
    if not isinstance(card, Card):
        raise InputError(f"a card is shown, got {shorten(card)}; try lesson.predict('02.output').")
    return _widget(card)


_widget = cache(PredictionCard)
