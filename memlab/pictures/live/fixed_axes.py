"""A view whose axes stay: their range is chosen when the view is made, and never by a slider.

A picture that rescales with what it shows hides the growth that it is there to show. So the range
follows from the state that the view was made with. It holds the whole range of the first control
where what is shown at first stays readable, ``READABLE`` of the axis or more; else the card, where
that leaves it readable; else twice what is shown at first, so that the next stop of a slider has
room; a quarter more where no card is shown at all. What exceeds it is cut at an open edge with its
figure, and one button gives more room. Another question, such as another network, chooses a new
range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import Any, TypeVar

from memlab import strings
from memlab.pictures.live.setting import Range, Setting, State, resolve
from memlab.pictures.live.view import View
from memlab.pictures.live.widget import Control

S = TypeVar("S")
READABLE = Fraction(1, 5)
"""Share of the axis that is taken at first, at least."""
MORE = "more_room"
"""The button."""
Needs = tuple[int, ...]
"""Ends that the axes have to hold: whole bytes, or whole nanoseconds."""


def room_for(first: int, whole: int | None, card: int | None = None) -> int:
    """Return the end of an axis, from the bytes that are ``first`` shown, the ``whole`` most over
    the range of the first control (if known), and the memory of the ``card``, 0 where none is
    shown."""
    most = int(first / READABLE)
    if whole is not None and whole <= most:
        return max(first, whole)
    if card == 0:
        return first + first // 4
    return card if card is not None and 2 * first <= card <= most else 2 * first


class SteadyView(View[S]):
    """View whose axes keep their range while a setting changes. A subclass says what the axes need,
    and its picture reads their ranges from ``state.room``."""

    room: Setting[Needs] = Setting(
        doc="what each axis holds", default=lambda now: (), argument=False, code="never"
    )

    # -- what a subclass gives --------------------------------------------------------------

    def needs(self, now: State, rows: S) -> Needs:
        """Return the ends that the axes need to show a state completely."""
        raise NotImplementedError

    def most(self, now: State) -> Sequence[int | None]:
        """Return the ends that the axes need over the whole range of the first control, where these
        are known in advance."""
        return ()

    def card(self, now: State) -> Sequence[int | None]:
        """Return the memory that is available, for axes of bytes."""
        return ()

    def question(self, now: State) -> object:
        """Return a value that changes whenever the axes should choose a new range."""
        return None

    # -- the range --------------------------------------------------------------------------

    def exceeds(self, now: State) -> bool:
        """True if something continues beyond the end of an axis."""
        needs = self.needs(now, self.rows_of(now))
        return any(need > room for need, room in zip(needs, now.room, strict=True))

    def changed(self, now: State, **changes: Any) -> State:
        new = super().changed(now, **changes)
        asked = now.room and self.question(new) != self.question(now)
        return self._roomy(new) if asked else new

    def controls(self) -> list[Control]:
        if not self.exceeds(self.state):
            return super().controls()
        label = strings.get(f"widget.{MORE}")
        return [*super().controls(), Control("button", MORE, label, place="buttons")]

    def on_event(self, name: str, value: Any, dragging: bool) -> None:
        if name == MORE:
            self.state = self._with(self.state, self._larger(self.state))
        else:
            super().on_event(name, value, dragging)

    def _made(self, kept: Mapping[str, Any], given: Mapping[str, Any]) -> State:
        return self._roomy(super()._made(kept, given))

    def _roomy(self, now: State) -> State:
        """Return a state with the range that is chosen for it."""
        needs = self.needs(now, self.rows_of(now))
        ends = zip_longest(needs, self.most(now), self.card(now))
        return self._with(now, tuple(room_for(*end) for end in ends))

    def _larger(self, now: State) -> Needs:
        """Return a range that is doubled until all of the state fits."""
        needs = self.needs(now, self.rows_of(now))
        return tuple(_doubled(room, need) for need, room in zip(needs, now.room, strict=True))

    def _with(self, now: State, room: Needs) -> State:
        """Return a state with another range and the same figures."""
        new = now.replace(room=room)
        self._kept.append((new, self.rows_of(now)))
        return new


def _doubled(room: int, need: int) -> int:
    while room < need:
        room = max(2 * room, 1)
    return room


def extremes(setting: Range, now: State) -> list[State]:
    """Return the states at both ends of a slider that has stops."""
    stops = resolve(setting.stops, now)
    return [now.replace(**{setting.name: end}) for end in (stops[0], stops[-1])] if stops else []
