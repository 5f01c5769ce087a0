"""Bytes and seconds of a choice, put together from windows: what runs for one block.

The operations of a step fall into windows, one for each block: its forward, its backward, and what
runs again or is copied meanwhile. What lies before the first block or after the last one belongs to
the window of that block.

* **Bytes.** In the window of block b, blocks before b - 1 keep what they keep and nothing else of
  them is alive; blocks behind it have nothing, since backward is done with them or forward has not
  come there. All else depends on the states of b - 1, b and b + 1: maps of b - 1 may be on their
  way back already, and those of b may have come back while b + 1 ran again.
* **Seconds.** The next operation waits for a copy that leaves, and the end of a layer's backward
  for one that comes back. So a wait belongs to one layer, and a map is fetched no earlier than from
  the next convolution (C5): in its own block or in the one behind it.

So the windows of all triples of states say everything. Sequences in which neighbours have each
triple once give them: for 3 states 27 plans in place of 3 to the power of blocks.
``tests/measure/budget`` holds this against plan and clock of drawn choices, and of all choices of
small networks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from memlab.clocks.streams import COMPUTE
from memlab.measure.budget.board import (
    Block,
    BlockState,
    Board,
    Choice,
    Switch,
    block_of,
    blocks_of,
)
from memlab.step.op import Phase
from memlab.step.paused_gc import paused
from memlab.step.step import Step
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role

Triple = tuple[BlockState | None, BlockState, BlockState | None]
"""States of the block before, of a block, and of the one behind it; None where there is none."""
PICO = 10**12
"""Seconds are added up as whole picoseconds, so that the order of a sum makes no difference."""


@dataclass(frozen=True)
class Window:
    """Window of a block between two neighbours: the most ``nbytes`` in it, without what blocks
    before the previous one keep, and its ``picoseconds``."""

    nbytes: int
    picoseconds: int


@dataclass
class Windows:
    """Windows of all blocks for one combination of switches and parts.

    ``by_triple`` has a mapping of triples for each block, ``kept`` the bytes that each block keeps
    from forward to backward, by its state.
    """

    by_triple: list[dict[Triple, Window]] = field(default_factory=list)
    kept: list[dict[BlockState, int]] = field(default_factory=list)
    additive: bool = True
    """False if two sequences disagree on what is the same in both."""

    def peak(self, states: Sequence[BlockState]) -> int:
        """Return the bytes of the peak of a choice."""
        below, peaks = 0, []
        for number, window in enumerate(self._of(states)):
            below += self.kept[number - 2][states[number - 2]] if number > 1 else 0
            peaks.append(below + window.nbytes)
        return max(peaks)

    def seconds(self, states: Sequence[BlockState]) -> float:
        """Return the seconds of a choice."""
        return sum(window.picoseconds for window in self._of(states)) / PICO

    def _of(self, states: Sequence[BlockState]) -> Iterator[Window]:
        """Yield the window of every block of a choice."""
        for table, triple in zip(self.by_triple, _triples(states), strict=True):
            yield table[triple]


def _triples(states: Sequence[BlockState]) -> Iterator[Triple]:
    return zip((None, *states[:-1]), states, (*states[1:], None), strict=True)


@paused()
def windows_of(
    board: Board,
    switches: frozenset[Switch],
    parts: int,
    rows: Iterable[Sequence[BlockState]] | None = None,
) -> Windows:
    """Return the windows of a board for one combination of switches and parts.

    Args:
        board: the board.
        switches: the switches that are on.
        parts: the parts of the batch.
        rows: states of all blocks, one plan for each; those with all triples if not given.
    """
    count = len(board.blocks)
    windows = Windows([{} for _ in range(count)], [{} for _ in range(count)])
    for states in rows or sequences(board.level.states, count):
        _read(board, Choice(switches, parts, tuple(states)), windows)
    return windows


def sequences(states: Sequence[BlockState], count: int) -> Iterator[tuple[BlockState, ...]]:
    """Yield sequences of states of so many blocks, in which every three neighbours have each triple
    of states exactly once: a triple fixes where a sequence stands, its step there, and how the step
    grows."""
    size = len(states)
    for first, step, growth in product(range(size), repeat=3):
        places = (first + step * n + growth * (n * (n - 1) // 2) for n in range(count))
        yield tuple(states[place % size] for place in places)


def _read(board: Board, choice: Choice, windows: Windows) -> None:
    """Add the windows of one choice, and note where it disagrees with another one."""
    ledger, schedule = board.scheduled(choice)
    step, count, states = schedule.step, len(board.blocks), choice.states
    places = window_numbers(step, board.blocks)
    kept = _kept(step, places, board.batch_of(choice), count)
    below = [sum(kept[: max(number - 1, 0)]) for number in range(count)]
    inside, took = [0] * count, [0] * count
    timeline = ledger.timeline(board.batch_of(choice))
    for number, nbytes, slot in zip(places, timeline, schedule.slots, strict=True):
        inside[number] = max(inside[number], nbytes - below[number])
        if slot.op.stream == COMPUTE:
            took[number] += round(PICO * slot.seconds) + round(PICO * slot.stall)
    for number, triple in enumerate(_triples(states)):
        window = Window(inside[number], took[number])
        same = windows.by_triple[number].setdefault(triple, window) == window
        same &= windows.kept[number].setdefault(triple[1], kept[number]) == kept[number]
        windows.additive &= same


def window_numbers(step: Step, blocks: Sequence[Block]) -> list[int]:
    """Return for every operation of a step the number of the block whose window it is in. A copy is
    in that of the operation before it."""
    numbers = {block.name: number for number, block in enumerate(blocks)}
    behind = _layers_behind(step, blocks)
    places: list[int] = []
    for op in step.ops:
        if op.phase is Phase.COPY and places:
            places.append(places[-1])
        elif (name := block_of(op.layer)) in numbers and op.phase is not Phase.UPDATE:
            places.append(numbers[name])
        else:
            last = op.layer in behind and op.phase is not Phase.UPDATE
            places.append(len(blocks) - 1 if last else 0)
    return places


def _layers_behind(step: Step, blocks: Sequence[Block]) -> set[str]:
    """Return the layers that forward and loss come to after the last block."""
    phases = Phase.FORWARD, Phase.LOSS
    layers = [*dict.fromkeys(op.layer for op in step.ops if op.phase in phases)]
    inside = [n for n, layer in enumerate(layers) if block_of(layer) == blocks[-1].name]
    return {*layers[max(inside) + 1 :]}


def _kept(step: Step, places: Sequence[int], batch: int, count: int) -> list[int]:
    """Return the bytes that each block keeps at the loss: feature maps on the device that it made
    before, without those of the layers around all blocks."""
    loss = next(n for n, op in enumerate(step.ops) if op.phase is Phase.LOSS)
    kept = [0] * count
    for life in step.lifetimes.values():
        if not 0 <= life.birth < loss < life.death or life.memory != DEVICE:
            continue
        if life.role is Role.FEATURE_MAP and block_of(step.ops[life.birth].layer):
            kept[places[life.birth]] += life.size.at(batch)
    return kept


# -- what the board shows of a block ---------------------------------------------------------------


@dataclass(frozen=True)
class BlockCost:
    """Costs of a block, beside the switches that are on.

    ``keeps`` are the bytes that making it again frees between forward and backward, ``moves`` those
    that go to the host, and ``frees`` what their move frees: nothing of a map that is made again
    anyway. ``again`` and ``host`` are the seconds that all parts take longer than where it is kept,
    with all blocks alike; those of the host may be below 0, where what moves would be made again
    otherwise.
    """

    keeps: int
    moves: int
    frees: int
    again: float
    host: float


def block_costs(board: Board, switches: frozenset[Switch], parts: int) -> list[BlockCost]:
    """Return the costs of every block, from the steps with all blocks in one state."""
    alike = [[state] * len(board.blocks) for state in board.level.states]
    windows = windows_of(board, switches, parts, alike)
    times = [_seconds_by_state(table) for table in windows.by_triple]
    rows = zip(windows.kept, _moved(board, switches, parts), times, strict=True)
    return [
        BlockCost(_freed(kept, BlockState.AGAIN), moves, _freed(kept, BlockState.HOST),
                  *(time.get(state, 0.0) - time[BlockState.KEPT]
                    for state in (BlockState.AGAIN, BlockState.HOST)))
        for kept, moves, time in rows
    ]  # fmt: skip


def _freed(kept: Mapping[BlockState, int], state: BlockState) -> int:
    """Return the bytes that a state frees between forward and backward."""
    return max(kept[BlockState.KEPT] - kept.get(state, kept[BlockState.KEPT]), 0)


def _seconds_by_state(table: dict[Triple, Window]) -> dict[BlockState, float]:
    """Return the seconds of a window by the state of its block."""
    return {state: window.picoseconds / PICO for (_, state, _), window in table.items()}


def _moved(board: Board, switches: frozenset[Switch], parts: int) -> Iterator[int]:
    """Yield the bytes of every block that go to the host where it is chosen."""
    step, batch = board.formatted(switches), board.level.batch // parts
    lives = step.lifetimes
    for block in blocks_of(step):
        yield sum(lives[name].size.at(batch) for name in block.moved)
