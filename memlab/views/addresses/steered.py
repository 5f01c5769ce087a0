"""The address map as a value that Python can steer."""

from __future__ import annotations

from typing import Any

from memlab import units
from memlab.errors import flag, known, whole
from memlab.networks.graph import Network
from memlab.planner.placement import Placement
from memlab.step.step import Step
from memlab.views.addresses import words
from memlab.views.addresses.room import fresh
from memlab.views.addresses.rows import Rows, rows
from memlab.views.addresses.running import Ran, run_map
from memlab.views.addresses.source import Subject
from memlab.views.addresses.state import State, moved
from memlab.views.widget import View


class Steered(View):
    """What an address map shows, as properties. ``free`` says that what is free on this machine
    is a budget."""

    def __init__(
        self,
        state: State,
        subjects: tuple[str, ...],
        own: Subject | None = None,
        free: bool = True,
    ) -> None:
        self.subjects, self.own, self.free = subjects, own, free
        self._told: tuple[object, ...] | None = None
        self.state = self._start = fresh(state, free)
        super().__init__()

    @property
    def rows(self) -> Rows:
        """The figures on display, exact."""
        return rows(self.state)

    @property
    def placement(self) -> Placement:
        """The addresses on display."""
        return self.state.placement

    @property
    def what(self) -> str:
        """What is packed: ``"toy"``, or the name of a network or step."""
        return self.state.network

    @what.setter
    def what(self, chosen: Subject) -> None:
        self._set(subject=self._find(chosen))

    @property
    def how(self) -> str:
        """The placing, a name of ``memlab.planner.placement.HOWS``; ``"by hand"`` once moved."""
        return self.placement.how

    @how.setter
    def how(self, chosen: str) -> None:
        self._set(how=chosen)

    @property
    def beside(self) -> str:
        """A second placing of the toy beside the first; empty for none."""
        return self.state.beside

    @beside.setter
    def beside(self, chosen: str | None) -> None:
        self._set(beside="" if chosen is None else chosen)

    @property
    def in_place(self) -> bool:
        """Whether outputs overwrite inputs that nobody needs any more."""
        return self.state.in_place

    @in_place.setter
    def in_place(self, chosen: bool) -> None:
        self._set(in_place=flag("in_place", chosen))

    @property
    def batch(self) -> int:
        """The mini-batch size; the toy has none."""
        return self.state.batch

    @batch.setter
    def batch(self, chosen: int) -> None:
        self._set(batch=whole("batch", chosen))

    @property
    def cursor(self) -> int | None:
        """The operation that is cut, counted from 1; None for the busiest."""
        return None if self.state.cursor is None else self.state.cursor + 1

    @cursor.setter
    def cursor(self, chosen: int | None) -> None:
        self._set(cursor=None if chosen is None else whole("cursor", chosen) - 1)

    @property
    def chosen(self) -> str:
        """The name of the block in focus; empty for none."""
        return self.state.chosen

    @chosen.setter
    def chosen(self, name: str | None) -> None:
        self._set(chosen="" if name is None else name)

    @property
    def stage(self) -> str:
        """The stage of a network whose blocks are shown alone; empty for all."""
        return self.state.stage

    @stage.setter
    def stage(self, name: str | None) -> None:
        self._set(stage="" if name is None else name)

    @property
    def packed(self) -> int | None:
        """How many blocks lie already; None for all."""
        return self.state.packed

    @packed.setter
    def packed(self, count: int | None) -> None:
        self._set(packed=None if count is None else whole("packed", count, least=0))

    @property
    def guess(self) -> int | None:
        """The guess at the arena in bytes; a text such as ``"9 MiB"`` is understood."""
        return self.state.guess

    @guess.setter
    def guess(self, chosen: int | str | None) -> None:
        self._set(guess=None if chosen is None else units.parse(chosen))

    def move(self, name: str, address: int | str) -> None:
        """Put a block at another address, in bytes or as ``"3 MiB"``.

        Raises:
            InputError: no such block, or no such address.
        """
        known("block", name, self.rows.packed.by_name)
        self._set(hand=self.placement.moved(name, units.parse(address)), chosen=name)

    def score(self) -> str:
        """The top of this map beside the lower bound and the optimum, in words."""
        return words.score(self.rows)

    def run(self) -> Ran:
        """Run the step with these addresses, and as it was without an arena.

        Raises:
            InputError: the toy, which has no arithmetic; a step that takes long.
        """
        self._set(ran=self._run())
        assert self.state.ran is not None
        return self.state.ran

    # -- inside -----------------------------------------------------------------------------

    def _set(self, **changes: Any) -> None:
        self._to(**changes)
        self.refresh()

    def _to(self, **changes: Any) -> None:
        self.state = fresh(moved(self.state, **changes), self.free)

    def _run(self) -> Ran:
        return run_map(self.state.source, self.placement, self.state.batch)

    def _find(self, chosen: Subject) -> Subject:
        """What may be shown, by name or as it was given.

        Raises:
            InputError: a name that this view does not offer.
        """
        if isinstance(chosen, Network | Step):
            return chosen
        name = known("subject", chosen, self.subjects)
        return self.own if self.own is not None and name == self.subjects[0] else name
