"""Choices that the board of a level offers, and the step, the bytes and the seconds of each.

A choice has switches for the whole step, a number of parts, and a state for each block of the
network. Its step is made of techniques of the registry alone, so a plan and a run hold for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from math import prod

from memlab.assemble.step import training_step
from memlab.clocks import streams
from memlab.errors import InputError, shorten
from memlab.layers import Conv2d, Linear
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.networks.graph import Network
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.step.tensor import Role
from memlab.techniques.accumulate import accumulate
from memlab.techniques.in_place import in_place
from memlab.techniques.offload import offload
from memlab.techniques.offload.rules import candidates
from memlab.techniques.precision import precision
from memlab.techniques.precision.eight_bit_states import eight_bit_states
from memlab.techniques.recompute import recompute
from memlab.techniques.recompute.methods import cheap_operations
from memlab.techniques.recompute.repeated_operations import names_of


class Switch(StrEnum):
    """Technique that is on or off for the whole step: maps in 16 bits, the optimizer's state in 8
    bits, cheap maps made again, and in place."""

    HALF = "half"
    EIGHT = "eight"
    CHEAP = "cheap"
    PLACE = "place"


class BlockState(StrEnum):
    """State of a block: it keeps its maps, makes them again in backward, or the inputs of its
    convolutions and linear layers wait in host memory."""

    KEPT = "kept"
    AGAIN = "again"
    HOST = "host"


LETTERS = {state: state.value[0].upper() for state in BlockState}
"""Letter of each state in the line of a choice: K, A or H."""
PARTS = "parts="
"""Before the number of parts in the line of a choice."""
MODE = "mixed fp16"
"""The 16 bits of the board: mixed precision with master copies in fp32 (Micikevicius et al.
2018)."""


@dataclass(frozen=True)
class Choice:
    """Choice on a board: the switches that are on, the parts of the batch, and the state of every
    block.

    >>> str(Choice(frozenset({Switch.HALF}), 1, (BlockState.AGAIN, BlockState.KEPT)))
    'half AK'
    """

    switches: frozenset[Switch] = frozenset()
    parts: int = 1
    states: tuple[BlockState, ...] = ()

    @property
    def techniques(self) -> list[str]:
        """Names of the techniques that take part: switches, parts, and states of blocks."""
        names = [switch.value for switch in Switch if switch in self.switches]
        names += ["parts"] * (self.parts > 1)
        return names + [s.value for s in BlockState if s in self.states and s != BlockState.KEPT]

    def with_block(self, number: int, state: BlockState) -> Choice:
        """Return the choice with another state of one block, counted from 0."""
        states = (*self.states[:number], state, *self.states[number + 1 :])
        return Choice(self.switches, self.parts, states)

    def __str__(self) -> str:
        words = [switch.value for switch in Switch if switch in self.switches]
        words += [f"{PARTS}{self.parts}"] if self.parts > 1 else []
        return " ".join([*words, "".join(LETTERS[state] for state in self.states)])


@dataclass(frozen=True, eq=False)
class Level:
    """Puzzle of the board: a step that does not fit, and what may be done about it.

    Seconds are those of ``machine``; ``budget`` are the bytes that the peak may have. ``switches``,
    ``parts`` and ``states`` are what the board offers. ``reads`` are the combinations of
    switches and parts that the search looks at where one of them has a choice that fits; None for
    all.
    """

    network: Network
    batch: int
    budget: int
    machine: str
    optimizer: str = "momentum"
    switches: tuple[Switch, ...] = (Switch.HALF, Switch.CHEAP, Switch.PLACE)
    parts: tuple[int, ...] = (1,)
    states: tuple[BlockState, ...] = tuple(BlockState)
    reads: int | None = None


@dataclass(frozen=True)
class Block:
    """Block of a network: its operations of forward, the last of which makes its output, and the
    stage that it belongs to."""

    name: str
    stage: str
    ops: tuple[Op, ...]

    @property
    def inner(self) -> tuple[Op, ...]:
        """Operations whose outputs no other block reads."""
        return self.ops[:-1]

    @property
    def maps(self) -> set[str]:
        """Storages that its inner operations write."""
        return set(names_of(tensor for op in self.inner for tensor in op.writes.values()))

    @property
    def moved(self) -> set[str]:
        """Storages of its own that its convolutions and linear layers read: those that go to the
        host."""
        products = (op for op in self.ops if op.kind in (Conv2d.kind, Linear.kind))
        return self.maps & set(names_of(t for op in products for t in op.reads.values()))


_BLOCK = re.compile(r"((?:\d+\.)*\d+)\.")


def block_of(layer: str) -> str:
    """Return the name of the block of a layer, which its name begins with; empty for one that is in
    none.

    >>> block_of("3.6.conv1"), block_of("2.fc1"), block_of("conv1")
    ('3.6', '2', '')
    """
    match = _BLOCK.match(layer)
    return match[1] if match else ""


def blocks_of(step: Step) -> list[Block]:
    """Return the blocks of a step, in the order of forward."""
    forward: dict[str, list[Op]] = {}
    for op in step.ops:
        if op.phase is Phase.FORWARD and (name := block_of(op.layer)):
            forward.setdefault(name, []).append(op)
    return [Block(name, ops[0].stage, tuple(ops)) for name, ops in forward.items()]


@dataclass(frozen=True)
class RatedChoice:
    """Choice with what its step costs: the bytes of its peak on the device, their ``roles`` there,
    the most bytes in host memory, and the seconds of all its parts."""

    choice: Choice
    peak: int
    roles: Mapping[Role, int] = field(repr=False)
    host: int
    seconds: float


class Board:
    """Board of a level: the step of any choice, with its bytes and seconds.

    Args:
        level: the puzzle.

    Raises:
        InputError: a network without blocks.
    """

    def __init__(self, level: Level) -> None:
        self.level = level
        self.step = training_step(level.network, level.optimizer)
        self._formatted: dict[frozenset[Switch], Step] = {}
        self._rated: dict[Choice, RatedChoice] = {}
        if not self.blocks:
            raise InputError(
                f"{level.network.label} has no blocks that a board could show; a block is all "
                "layers whose names begin with the same number, as in memlab.zoo.resnet50()."
            )

    @cached_property
    def blocks(self) -> list[Block]:
        """Blocks of the network, in the order of forward."""
        return blocks_of(self.step)

    @property
    def plain(self) -> Choice:
        """Choice without any technique."""
        return Choice(states=(BlockState.KEPT,) * len(self.blocks))

    @property
    def count(self) -> int:
        """Number of choices that the board offers."""
        level = self.level
        switched, by_block = 2 ** len(level.switches), len(level.states) ** len(self.blocks)
        return prod((switched, len(level.parts), by_block))

    # -- the line of a choice -----------------------------------------------------------------

    def read(self, line: str) -> Choice:
        """Return the choice of a line: ``'half place KKA'``, a letter for each block.

        Raises:
            InputError: a word or a letter that the board does not offer, or not one letter for each
                block.
        """
        if not isinstance(line, str):
            raise InputError(f"a choice is a line of text, got {shorten(line)}; "
                             f"try {self.line(self.plain)!r}.")  # fmt: skip
        switches, parts, letters = set[Switch](), 1, ""
        for word in line.split():
            if word.startswith(PARTS):
                parts = self._parts(word)
            elif word.isupper():
                letters += word.replace("-", "")
            else:
                switches.add(self._switch(word))
        return Choice(frozenset(switches), parts, self._states(letters))

    def line(self, choice: Choice) -> str:
        """Return the line of a choice, with the blocks in groups by stage: ``'half KKA-AA'``."""
        words = str(Choice(choice.switches, choice.parts)).split()
        groups: dict[str, str] = {}
        for block, state in zip(self.blocks, choice.states, strict=True):
            groups[block.stage] = groups.get(block.stage, "") + LETTERS[state]
        joint = "-" if len(groups) < len(self.blocks) else ""
        return " ".join([*words, joint.join(groups.values())])

    def _switch(self, word: str) -> Switch:
        if word not in self.level.switches:
            raise InputError(f"this board has no switch {shorten(word)}; "
                             f"it has {', '.join(self.level.switches)}.")  # fmt: skip
        return Switch(word)

    def _parts(self, word: str) -> int:
        allowed = {str(parts): parts for parts in self.level.parts}
        number = word.removeprefix(PARTS)
        if number not in allowed:
            raise InputError(f"this board offers {PARTS}{', '.join(allowed)}, got "
                             f"{shorten(number)}; try {PARTS}{max(self.level.parts)}.")  # fmt: skip
        return allowed[number]

    def _states(self, letters: str) -> tuple[BlockState, ...]:
        """Return the states of all blocks; all are kept where no letter is given."""
        by_letter = {LETTERS[state]: state for state in self.level.states}
        letters = letters or LETTERS[BlockState.KEPT] * len(self.blocks)
        if len(letters) != len(self.blocks) or not {*letters} <= by_letter.keys():
            raise InputError(
                f"the {len(self.blocks)} blocks of this board have a letter each, one of "
                f"{', '.join(by_letter)}, got {shorten(letters)}; try {self.line(self.plain)!r}."
            )
        return tuple(by_letter[letter] for letter in letters)

    # -- the step of a choice -----------------------------------------------------------------

    def step_of(self, choice: Choice) -> Step:
        """Return the step of a choice: formats first, then what is made again, what waits in host
        memory, what lies in place, and the batch in parts."""
        step = self.formatted(choice.switches)
        states = dict(zip((block.name for block in self.blocks), choice.states, strict=True))
        blocks = blocks_of(step)
        again = [block for block in blocks if states[block.name] is BlockState.AGAIN]
        host = [block for block in blocks if states[block.name] is BlockState.HOST]
        moved = set[str]().union(*(block.moved for block in host))
        dropped = [op.name for block in again for op in block.inner]
        if Switch.CHEAP in choice.switches:
            cheap = (op for op in cheap_operations(step)
                     if moved.isdisjoint(names_of(op.writes.values())))  # fmt: skip
            dropped += [op.name for op in cheap]
        if dropped:
            step = recompute(step, "drop", layers=list(dict.fromkeys(dropped)))
        if maps := [name for name in candidates(step) if name in moved] if moved else []:
            step = offload(step, maps=maps)
        if Switch.PLACE in choice.switches:
            step = in_place(step)
        return accumulate(step, choice.parts)

    def formatted(self, switches: Iterable[Switch]) -> Step:
        """Return the step in the formats of these switches alone."""
        formats = frozenset(switches) & {Switch.HALF, Switch.EIGHT}
        if formats not in self._formatted:
            step = precision(self.step, MODE) if Switch.HALF in formats else self.step
            step = eight_bit_states(step) if Switch.EIGHT in formats else step
            self._formatted[formats] = step
        return self._formatted[formats]

    def batch_of(self, choice: Choice) -> int:
        """Return the samples of one part of the batch, which the step of a choice is planned
        for."""
        return self.level.batch // choice.parts

    def scheduled(self, choice: Choice) -> tuple[Ledger, streams.Schedule]:
        """Return plan and clock of the step of a choice."""
        step = self.step_of(choice)
        return plan(step), streams.clock(step, self.batch_of(choice), self.level.machine)

    def rated(self, choice: Choice) -> RatedChoice:
        """Return a choice with bytes and seconds of its step, by plan and clock; each is made
        once."""
        if choice not in self._rated:
            ledger, schedule = self.scheduled(choice)
            batch = self.batch_of(choice)
            self._rated[choice] = RatedChoice(
                choice, ledger.peak(batch), ledger.roles(batch), ledger.peak(batch, HOST),
                schedule.seconds,
            )  # fmt: skip
        return self._rated[choice]

    def slower(self, rated: RatedChoice) -> float:
        """Return by how many percent a choice takes longer than the plain step; negative where it
        is faster."""
        return 100 * (rated.seconds / self.rated(self.plain).seconds - 1)
