"""The rows that the picture and the text of an address map are both made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby

from memlab.planner.placement import Placement
from memlab.views.addresses import scale, story
from memlab.views.addresses.packed import Packed, Row
from memlab.views.addresses.room import Room
from memlab.views.addresses.scale import Scale
from memlab.views.addresses.source import Source
from memlab.views.addresses.state import State
from memlab.views.addresses.story import Turn


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbours in a cut that belong together: the blocks of one stage, or of one role. Where one
    stage is shown, each block stands for itself."""

    name: str
    rows: tuple[Row, ...]

    @property
    def first(self) -> int:
        """Where it begins."""
        return self.rows[0].address

    @property
    def top(self) -> int:
        """The first address behind it."""
        return max(row.top for row in self.rows)


@dataclass(frozen=True, eq=False)
class Rows:
    """A state and its maps."""

    state: State
    maps: tuple[Packed, ...]

    @property
    def packed(self) -> Packed:
        """The first map."""
        return self.maps[0]

    @property
    def source(self) -> Source:
        """The step, or the toy."""
        return self.packed.source

    @property
    def at(self) -> int:
        """The operation of the cursor."""
        cursor = self.state.cursor
        return self.packed.busiest if cursor is None else cursor

    @property
    def turn(self) -> int:
        """How many blocks lie already."""
        return len(self.packed.rows) if self.state.packed is None else self.state.packed

    @cached_property
    def scale(self) -> Scale:
        """The axis of the addresses; the toy's is always the same."""
        if self.source.toy:
            return scale.toy(self.packed.total)
        if self.state.stage:
            drawn = self.packed.drawn
            return scale.between(min(r.address for r in drawn), max(r.top for r in drawn))
        return scale.over(max(self.packed.arena, self.state.guess or 0, self.state.axis))

    @cached_property
    def rooms(self) -> tuple[Room, ...]:
        """What the budgets leave for the arena; the toy has none."""
        if self.source.toy:
            return ()
        before = self.source.before(self.state.batch)
        return tuple(Room(budget, before) for budget in self.state.budgets)

    @cached_property
    def chosen(self) -> Row | None:
        """The block in focus: the one that was chosen, else the largest alive at the cursor."""
        if self.state.chosen:
            return self.packed.by_name[self.state.chosen]
        return max(self._alive(), key=lambda row: row.size, default=None)

    @cached_property
    def told(self) -> Turn | None:
        """The turn that is told: the last one, or the one that reached the top."""
        if self.turn < len(self.packed.rows):
            return story.turn(self.packed, self.turn) if self.turn else None
        return story.highest(self.packed)

    @cached_property
    def cut(self) -> tuple[Run, ...]:
        """What lies in memory at the cursor, from address 0 up."""
        alive = [row for row in self._alive() if row.turn <= self.turn]
        groups = groupby(alive, self._group)
        return tuple(Run(name, tuple(rows)) for name, rows in groups)

    def _alive(self) -> list[Row]:
        """What is alive at the cursor, of the stage that is shown."""
        return [row for row in self.packed.at(self.at) if self.packed.born(row)]

    def _group(self, row: Row) -> str:
        if row.entry is None or self.state.stage:
            return row.name
        if row.kind in ("kept", "short"):
            return row.entry.stage or row.entry.layer or row.name
        return f"role.{row.entry.role.value}.one"


def rows(state: State) -> Rows:
    """The rows of a state."""
    found = [_packed(state.source, state.batch, state.placement, state.stage)]
    if state.beside:
        other = state.source.placement(state.batch, state.beside)
        found.append(_packed(state.source, state.batch, other))
    return Rows(state, tuple(found))


@lru_cache(maxsize=32)
def _packed(source: Source, batch: int, placement: Placement, stage: str = "") -> Packed:
    """Everything about a placement, worked out once while it is on display."""
    return Packed(source, batch, placement, stage)
