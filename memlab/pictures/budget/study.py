"""A choice on the board in figures and in words, and after Submit its distance to the optimum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from memlab import hardware, optimizers, strings, units
from memlab.errors import InputError
from memlab.measure.budget.board import BlockState, Board, Choice, RatedChoice, Switch
from memlab.measure.budget.rounding import IMAGES, PARTS, TEXT, recorded
from memlab.measure.budget.search import Optimum, Search
from memlab.measure.budget.windows import BlockCost
from memlab.pictures.values.number_text import (
    figure,
    round_bytes,
    signed_percent,
    three_digits,
)
from memlab.pictures.values.study import Study
from memlab.techniques.registry import find

TECHNIQUES = {
    Switch.HALF: "precision", Switch.EIGHT: "eight_bit_states", Switch.CHEAP: "recompute",
    Switch.PLACE: "in_place",
}  # fmt: skip
"""Technique of the registry behind each switch."""
NEAR = 5e-12
"""Seconds by which two sums of the same operations may differ."""
SAME = 0.05
"""Points of time below which two choices are as fast as each other: no figure shows less."""
LINE = 24
"""Budgets that the line of best choices is searched for."""


@dataclass(frozen=True, eq=False)
class BudgetStudy(Study):
    """A choice on the board of a level and the bytes that its peak may have, with the choices that
    were tried before it.

    ``submitted`` reveals the optimum. ``best`` is the fastest choice that was submitted before,
    where there is one.
    """

    search: Search
    choice: Choice
    budget: int
    tries: tuple[Choice, ...] = ()
    submitted: bool = False
    best: Choice | None = None

    # -- figures ----------------------------------------------------------------------------

    @property
    def board(self) -> Board:
        """Board of the level."""
        return self.search.board

    @cached_property
    def rated(self) -> RatedChoice:
        """Choice with its bytes and seconds."""
        return self.board.rated(self.choice)

    @property
    def plain(self) -> RatedChoice:
        """Plain step with its bytes and seconds."""
        return self.board.rated(self.board.plain)

    @property
    def peak(self) -> int:
        """Bytes of the peak."""
        return self.rated.peak

    @property
    def over(self) -> int:
        """Bytes of the peak above the budget; negative where it fits."""
        return self.peak - self.budget

    @property
    def fits(self) -> bool:
        """True if the peak is within the budget."""
        return self.over <= 0

    @property
    def slower(self) -> float:
        """Percent by which the step takes longer than plain."""
        return self.board.slower(self.rated)

    @cached_property
    def costs(self) -> list[BlockCost]:
        """Costs of every block beside the switches that are on."""
        return self.search.block_costs(self.choice.switches, self.choice.parts)

    @property
    def plain_costs(self) -> list[BlockCost]:
        """Costs of every block of the plain step."""
        return self.search.block_costs(frozenset(), 1)

    @cached_property
    def optimum(self) -> Optimum:
        """Fastest choice within the budget, by the search."""
        return self.search.within(self.budget)

    @cached_property
    def known(self) -> RatedChoice:
        """Fastest choice that is known: that of the search, or a submission that is faster."""
        submissions = [self.rated, *([self.board.rated(self.best)] if self.best else [])]
        fastest = min((self.optimum.rated, *submissions), key=lambda rated: rated.seconds + NEAR * (
            rated is not self.optimum.rated))  # fmt: skip
        return fastest if fastest is self.rated else self._without_idle_transfers(fastest)

    def _without_idle_transfers(self, rated: RatedChoice) -> RatedChoice:
        """Return a choice in which no block goes to the host for less time than a figure shows."""
        most = rated.seconds + SAME / 100 * self.plain.seconds
        for number, state in enumerate(rated.choice.states):
            if state is BlockState.HOST:
                stays = self.board.rated(rated.choice.with_block(number, BlockState.KEPT))
                if stays.peak <= self.budget and stays.seconds < most:
                    rated = stays
        return rated

    @property
    def points(self) -> float:
        """Percent of the plain step's time by which the choice is slower than the known one."""
        return max(self.slower - self.board.slower(self.known), 0.0)

    @property
    def is_known(self) -> bool:
        """True if no choice that is known is faster by what a figure shows."""
        return self.points < SAME

    @cached_property
    def line(self) -> list[tuple[int, float]]:
        """Peak in bytes and percent of extra time of the fastest choices within budgets up to twice
        this one, from the least bytes to the most."""
        budgets = [2 * self.budget * number // LINE for number in range(1, LINE + 1)]
        plain = self.plain.seconds
        return [(peak, 100 * (s / plain - 1)) for peak, s in self.search.line(budgets)]

    @property
    def differing(self) -> list[int]:
        """Numbers of the blocks whose state differs from that of the known choice."""
        if self.is_known:
            return []
        both = zip(self.choice.states, self.known.choice.states, strict=True)
        return [number for number, (own, other) in enumerate(both) if own != other]

    def check_fits(self) -> None:
        """Refuse a choice that does not fit.

        Raises:
            InputError: the peak is above the budget.
        """
        if not self.fits:
            raise InputError(
                f"this choice takes {units.exact(self.peak)}, {units.exact(self.over)} above the "
                f"budget of {units.exact(self.budget)}; try one more block or switch."
            )

    # -- in words -----------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """Network, batch and budget: ``'ResNet-50 v1.5, batch 256, within 6 GB'``."""
        level = self.board.level
        return text_of("label", network=level.network.label, batch=f"{level.batch:,}",
                       budget=round_bytes(self.budget))  # fmt: skip

    @property
    def title(self) -> str:
        if self.choice == self.board.plain and not self.fits:
            return text_of("title.plain", over=three_digits(self.over))
        if not self.fits:
            return text_of("title.over", over=three_digits(self.over), time=self.time(self.rated))
        if not self.submitted:
            return text_of("title.fits", time=self.time(self.rated))
        exact = "optimum" if self.optimum.exact else "known"
        if self.is_known:
            slower = self.rated.seconds > self.optimum.rated.seconds + NEAR
            return text_of("title.optimum_equal" if self.optimum.exact and slower else
                           f"title.{exact}")  # fmt: skip
        return text_of(f"title.{exact}_slower", points=f"{self.points:.1f}")

    @property
    def sentences(self) -> list[str]:
        if not self.submitted:
            hosts = BlockState.HOST in self.board.level.states
            return [text_of("see.host" if hosts else "see.again")]
        values = {"own": self.time(self.rated), "best": self.time(self.known),
                  "count": f"{self.board.count:,}"}  # fmt: skip
        if self.optimum.exact:
            return [text_of("see.optimum", **values)]
        gap = 100 * (self.known.seconds - self.optimum.bound) / self.plain.seconds
        return [text_of("see.known", gap=f"{max(gap, 0.0):.1f}", **values)]

    @property
    def difference(self) -> str:
        """Sentence on the switches that differ from those of the known choice; empty before
        Submit and where nothing differs."""
        if not self.submitted or self.is_known:
            return ""
        own, best = self.choice, self.known.choice
        names = {"more": best.switches - own.switches, "less": own.switches - best.switches}
        parts = [text_of("differ.blocks" if self.differing else "differ.same")]
        who = text_of("differ.optimum" if self.optimum.exact else "differ.known")
        parts += [text_of(f"differ.{key}", who=who, names=self._names(switches))
                  for key, switches in names.items() if switches]  # fmt: skip
        if own.parts != best.parts:
            parts.append(text_of("differ.parts", who=who, parts=best.parts))
        return " ".join(parts)

    def _names(self, switches: frozenset[Switch]) -> str:
        return ", ".join(switch_name(switch) for switch in Switch if switch in switches)

    @property
    def result(self) -> str:
        """Sentence on what the techniques of the choice change in the result, with the shares that
        were measured on a small network."""
        on = (switch for switch in Switch if switch in self.choice.switches)
        names = [str(switch) for switch in on if not find(TECHNIQUES[switch]).exact]
        names += [PARTS] if self.choice.parts > 1 else []
        if not names:
            return text_of("result.same")
        of = TEXT if self.board.level.network.vocabulary else IMAGES
        shares = ((name, recorded(of, name)) for name in names)
        told = [text_of(f"result.{name}", share=figure(100 * share, 2))
                for name, share in shares if share is not None]  # fmt: skip
        return text_of("result.rounded", told="; ".join(told))

    @property
    def notes(self) -> list[str]:
        level = self.board.level
        return [text_of("notes", label=self.label, optimizer=optimizers.title(level.optimizer),
                        machine=hardware.find(level.machine).title.partition(",")[0])]  # fmt: skip

    @property
    def exactly(self) -> str:
        """Sentence with the exact bytes: ``'6,129,842,800 B of 6,000,000,000 B: ...'``."""
        key = "exactly.over" if self.over > 0 else "exactly.fits"
        nbytes = {"peak": self.peak, "budget": self.budget, "over": abs(self.over),
                  "host": self.rated.host, "plain": self.plain.peak}  # fmt: skip
        exact = {name: units.exact(amount) for name, amount in nbytes.items()}
        return text_of(key, time=signed_percent(self.slower), **exact)

    def time(self, rated: RatedChoice) -> str:
        """Return the time of a choice in words: ``'23 % more time than plain'``."""
        extra = self.board.slower(rated)
        key = "more" if extra >= 0 else "less"
        return text_of(f"time.{key}", percent=f"{abs(extra):.1f} %")

    def block_fact(self, number: int) -> str:
        """Return the sentence on a block: its bytes, the time of each state, and its state now."""
        cost, state = self.costs[number], self.choice.states[number]
        parts = [text_of("block.keeps", bytes=three_digits(cost.keeps)),
                 text_of("block.again", time=self.share(cost.again))]  # fmt: skip
        if BlockState.HOST in self.board.level.states:
            parts.append(text_of("block.host", bytes=three_digits(cost.moves),
                                 frees=three_digits(cost.frees),
                                 time=self.share(cost.host)))  # fmt: skip
        return "; ".join([*parts, text_of(f"now.{state}")])

    def share(self, seconds: float) -> str:
        """Return seconds as a share of the plain step's: ``'+2.0 %'``."""
        return signed_percent(100 * seconds / self.plain.seconds)

    def rows(self) -> list[list[str]]:
        """Return the table of blocks with bytes, times and state, its heads first."""
        states = self.board.level.states
        hosts = BlockState.HOST in states
        keys = ["block", "keeps", "again", *(["moves", "frees", "host"] * hosts), "state"]
        keys += ["best"] * self.submitted
        rows = [[text_of(f"head.{key}") for key in keys]]
        for number, (block, cost) in enumerate(zip(self.board.blocks, self.costs, strict=True)):
            row = [block.name, units.exact(cost.keeps), self.share(cost.again)]
            host = [units.exact(cost.moves), units.exact(cost.frees), self.share(cost.host)]
            row += host * hosts
            row.append(state_name(self.choice.states[number]))
            if self.submitted:
                row.append(state_name(self.known.choice.states[number]))
            rows.append(row)
        return rows

    def switch_lines(self) -> list[str]:
        """Return a line for each switch: its name, whether it is on, and what it changes in the
        result."""
        lines = []
        for switch in self.board.level.switches:
            on = "on" if switch in self.choice.switches else "off"
            result = "same" if find(TECHNIQUES[switch]).exact else "rounds"
            words = {"on": text_of(f"switch.{on}"), "result": text_of(f"switch.{result}")}
            lines.append(text_of("switch.line", name=switch_name(switch), **words))
        return lines

    def try_name(self, choice: Choice) -> str:
        """Return the name of a choice that was tried, where its blocks are all alike: ``'all blocks
        made again'``, or its only switch; empty for any other."""
        states = {*choice.states}
        if states == {BlockState.KEPT} and choice.parts == 1 and len(choice.switches) == 1:
            return self._names(choice.switches)
        if len(states) == 1 and BlockState.KEPT not in states:
            return text_of("all_blocks", state=state_name(*states))
        return ""

    def try_lines(self) -> list[str]:
        """Return a line for each choice that was tried: its line, bytes and time."""
        rated = [self.board.rated(choice) for choice in self.tries]
        return [text_of("try", line=self.board.line(one.choice), peak=units.exact(one.peak),
                        time=signed_percent(self.board.slower(one))) for one in rated]  # fmt: skip


def switch_name(switch: Switch) -> str:
    """Return the name of a switch for people: ``'maps in 16 bits'``."""
    return text_of(f"control.{switch}")


def state_name(state: BlockState) -> str:
    """Return the name of a state of a block for people: ``'made again'``."""
    return text_of(f"state.{state}")


def text_of(key: str, **values: object) -> str:
    """Return a text of the board by its key."""
    return strings.get(f"budget.{key}", **values)
