"""View of the board: fit a step into a budget, and find out how far the optimum is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memlab import units
from memlab.errors import InputError, whole_number
from memlab.measure.budget.board import LETTERS, Board, Choice, Switch
from memlab.measure.budget.levels import NUMBERS, search_of
from memlab.measure.budget.proof import Proof, prove
from memlab.measure.budget.search import Search
from memlab.pictures.budget.page import page
from memlab.pictures.budget.study import NEAR, BudgetStudy
from memlab.pictures.draw.page import Page
from memlab.pictures.live.setting import (
    Checkbox,
    NumberBox,
    Select,
    Setting,
    State,
    TextBox,
    once,
)
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.values.number_text import round_bytes
from memlab.step.step import Step

KEYS = ("ArrowLeft", "ArrowRight", "Space", "Enter", "KeyZ")
ALONG = {"ArrowRight": 1, "ArrowLeft": -1}
KEPT = 40
"""Choices that Undo goes back through."""


def board_of(now: State) -> Board:
    """Return the board of a state."""
    return search(now).board


def search(now: State) -> Search:
    """Return the search over the board of a state."""
    return search_of(now.level, now.seed)


@once
def choice_of(now: State) -> Choice:
    """Return the choice of a state."""
    switches = frozenset(switch for switch in Switch if getattr(now, switch))
    states = board_of(now).read(now.blocks).states
    return Choice(switches, now.batch_parts, states)


@once
def line_of(now: State) -> str:
    """Return the choice of a state as one line."""
    return board_of(now).line(choice_of(now))


SHORT = 9
"""Digits of the number of a block that is read at all."""


def _chosen(now: State, line: str) -> Mapping[str, Any]:
    """Return the changes that a line makes."""
    board = board_of(now)
    choice = board.read(line)
    switches = {switch.value: switch in choice.switches for switch in Switch}
    return {**switches, "batch_parts": choice.parts, "blocks": _letters(choice)}


def _letters(choice: Choice) -> str:
    return "".join(LETTERS[state] for state in choice.states)


def _switch(switch: Switch, key: str, doc: str) -> Checkbox:
    return Checkbox(doc=doc, key=key, argument=False, code="never", follows=["level", "seed"],
                    when=lambda now: switch in board_of(now).level.switches)  # fmt: skip


def _budget(given: Any) -> int:
    """Return the bytes of a budget, at least 1.

    Raises:
        InputError: no amount of bytes.
    """
    return whole_number("budget (bytes)", units.exact_or_parsed(given), least=1)


class BudgetBoard(View[BudgetStudy]):
    """Board on which techniques are combined, block by block, until a training step fits into a
    budget; after Submit the fastest of all choices appears.

    ``view.choice`` is the whole choice in one line, which a colleague can read back: the switches
    that are on (``half``, ``eight``, ``cheap``, ``place``), ``parts=2`` where the batch is in
    parts, and a letter for each block: K for kept, A for made again, H for the host.
    ``view.submit()`` does what its button does, ``view.run()`` runs the choice on this machine.

    >>> view = memlab.views.budget(1, "half place AKK-KKKK-KKKKKK-KKK")
    >>> view.peak, view.fits
    (9931979376, False)
    """

    name, made_by = "budget", "budget"
    positional = ("level", "choice")
    picture_keys = KEYS

    level = Select(
        NUMBERS, code="plain",
        doc="1: ResNet-50 with 256 images; 2: a small GPT; 3: one that is drawn",
    )  # fmt: skip
    seed = NumberBox(
        doc="what level 3 is drawn from, a whole number", default=0, least=0,
        when=lambda now: now.level == NUMBERS[-1],
    )  # fmt: skip
    half = _switch(Switch.HALF, "Digit1", "whether maps are kept in 16 bits, in mixed precision")
    cheap = _switch(Switch.CHEAP, "Digit2", "whether cheap maps are made again")
    place = _switch(Switch.PLACE, "Digit3", "whether operations write in place")
    eight = _switch(Switch.EIGHT, "Digit4", "whether the optimizer's state takes 8 bits")
    batch_parts = Select(
        lambda now: board_of(now).level.parts, default=1, argument=False, code="never",
        doc="parts of the batch, whose gradients are added up", follows=["level", "seed"],
        when=lambda now: len(board_of(now).level.parts) > 1,
    )  # fmt: skip
    blocks: Setting[str] = Setting(
        doc="a letter for each block: K for kept, A for made again, H for the host",
        default=lambda now: _letters(board_of(now).plain), argument=False, code="never",
        follows=["level", "seed"],
    )  # fmt: skip
    budget = TextBox(
        doc="bytes that the peak may have, or ``'8 GB'``; those of the level if not given",
        default=lambda now: board_of(now).level.budget, check=_budget, show=round_bytes,
        follows=["level", "seed"], place="more",
    )  # fmt: skip
    choice: Setting[str] = Setting(
        doc="switches, parts and a letter for each block in one line, as ``view.choice`` has it",
        default=lambda now: board_of(now).line(board_of(now).plain), get=line_of, put=_chosen,
        synced=True,
    )  # fmt: skip
    answer: Setting[str] = Setting(
        doc="the choice that was submitted, as a line",
        default="",
        argument=False,
        code="never",
        follows=["budget"],
    )
    best: Setting[str] = Setting(
        doc="the fastest submission before it, as a line", default="", argument=False,
        code="never", follows=["budget"],
    )  # fmt: skip
    tries: Setting[tuple[str, ...]] = Setting(
        doc="the choices before this one, as lines", default=(), argument=False, code="never"
    )
    chosen: Setting[int] = Setting(
        doc="the number of the block in focus, or -1", default=-1, argument=False, code="never"
    )

    @property
    def peak(self) -> int:
        """Bytes of the peak."""
        return self.rows.peak

    @property
    def fits(self) -> bool:
        """True if the peak is within the budget."""
        return self.rows.fits

    @property
    def step(self) -> Step:
        """Step of the choice, for one part of the batch: a plan, a clock and a run hold for it."""
        return board_of(self.state).step_of(choice_of(self.state))

    def submit(self) -> None:
        """Submit the choice: the optimum and the distance to it appear.

        Raises:
            InputError: it does not fit.
        """
        self._set(**self._submission(self.state))

    def run(self, seed: int = 0) -> Proof:
        """Run the choice on this machine: on the level itself where that fits, else on a small
        version with the same blocks; plan and measurement side by side.

        Args:
            seed: seed of everything that is drawn.

        Raises:
            InputError: the choice does not fit into the budget of the level.
            DoesNotFitError: what runs needs more than is free.
        """
        self.rows.check_fits()
        return prove(board_of(self.state), choice_of(self.state), seed)

    # -- states -----------------------------------------------------------------------------

    def reconcile(self, new: State, was: State | None) -> State:
        """Refuse a switch that the board does not have, and begin anew where the level changes."""
        board_of(new).read(line_of(new))
        if was is None or (new.level, new.seed) != (was.level, was.seed):
            return new.replace(tries=(), answer="", best="", chosen=-1)
        return new

    def changed(self, now: State, **changes: Any) -> State:
        new = super().changed(now, **changes)
        same = (new.level, new.seed) == (now.level, now.seed)
        if not same or "tries" in changes or line_of(new) == line_of(now):
            return new
        return new.replace(tries=(*now.tries, line_of(now))[-KEPT:])

    def study(self, now: State) -> BudgetStudy:
        board = board_of(now)
        tries = tuple(board.read(line) for line in now.tries)
        best = board.read(now.best) if now.best else None
        submitted = now.answer == line_of(now)
        return BudgetStudy(search(now), choice_of(now), now.budget, tries, submitted, best)

    def _submission(self, now: State) -> dict[str, Any]:
        """Return the changes that a submission makes.

        Raises:
            InputError: the choice does not fit.
        """
        rows = self.rows_of(now)
        rows.check_fits()
        board = board_of(now)
        faster = not now.best or (
            rows.rated.seconds < board.rated(board.read(now.best)).seconds - NEAR
        )
        return {"answer": line_of(now), **({"best": line_of(now)} if faster else {})}

    def outline_key(self, now: State) -> object:
        return line_of(now), now.answer, now.level, now.seed, now.budget

    # -- what it shows ------------------------------------------------------------------------

    def buttons(self, now: State) -> dict[str, str]:
        submitted = now.answer == line_of(now)
        last = {"retry": "retry"} if submitted else {"submit": "submit"}
        return {"undo": "undo", **last, "start": "start", "copy": "copy"}

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        if name == "block":
            number = str(value) if str(value).isdecimal() else ""
            return self._next_state(now, int(number)) if 0 < len(number) <= SHORT else None
        if name == "undo":
            return self._undone(now)
        if name == "submit":
            return now.replace(**self._submission(now))
        if name == "retry":
            return now.replace(answer="")
        return self._on_key(now, str(value)) if name == "key" else None

    def _on_key(self, now: State, key: str) -> State | None:
        if key == "KeyZ":
            return self._undone(now)
        if key == "Enter":
            submitted = now.answer == line_of(now)
            return now.replace(answer="") if submitted else now.replace(**self._submission(now))
        if key == "Space":
            return self._next_state(now, max(now.chosen, 0))
        if key not in ALONG:
            return None
        last = len(board_of(now).blocks) - 1
        return now.replace(chosen=min(max(now.chosen + ALONG[key], 0), last))

    def _next_state(self, now: State, number: int) -> State:
        """Return the state in which a block has its next state."""
        board, choice = board_of(now), choice_of(now)
        if not 0 <= number < len(board.blocks):
            raise InputError(f"this board has {len(board.blocks)} blocks, got {number}.")
        states = board.level.states
        state = states[(states.index(choice.states[number]) + 1) % len(states)]
        new = self.changed(now, blocks=_letters(choice.with_block(number, state)))
        return new.replace(chosen=number)

    def _undone(self, now: State) -> State | None:
        """Return the state before the last change of the choice; None where there is none."""
        if not now.tries:
            return None
        return self.changed(now, choice=now.tries[-1], tries=now.tries[:-1])

    def test_state(self, now: State) -> str:
        rows = self.rows_of(now)
        return "|".join((str(now.level), line_of(now), str(rows.peak), f"{rows.slower:.3f}"))

    def fact(self, scene: PageState) -> str:
        return f"block:{scene.now.chosen}" if scene.now.chosen >= 0 else ""

    def says(self, scene: PageState) -> str:
        rows = self.rows_of(scene.now)
        if scene.now.chosen >= 0 and not scene.news:
            block = board_of(scene.now).blocks[scene.now.chosen]
            return f"{block.stage}, {block.name}: {rows.block_fact(scene.now.chosen)}."
        return f"{rows.title}. {rows.exactly}"

    def compose(self, scene: PageState) -> Page:
        return page(self.rows_of(scene.now), scene.width, scene.now.chosen, self.says(scene))


budget = maker(BudgetBoard)
