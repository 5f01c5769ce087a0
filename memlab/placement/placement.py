"""A placement: an address in one arena for every block that is born in a step.

Operations are numbered from 0 here; texts and pictures number them from 1, as people do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from memlab import units
from memlab.errors import InputError, one_option, shorten, whole_number
from memlab.ledger.entries import BEFORE, Entry
from memlab.ledger.ledger import Ledger
from memlab.placement import exact_packing, packing
from memlab.placement.packing import Load, Packing
from memlab.step.paused_gc import paused
from memlab.step.step import Step
from memlab.step.storage import DEVICE, Size
from memlab.step.tensor import Role

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Block:
    """Block of bytes that are alive in the operations ``birth`` to ``death``, both included."""

    name: str
    nbytes: int
    birth: int
    death: int


TOY = (
    Block("A", 1 * MIB, 0, 3),
    Block("B", 2 * MIB, 1, 4),
    Block("C", 1 * MIB, 2, 5),
    Block("D", 3 * MIB, 4, 4),
    Block("E", 2 * MIB, 4, 6),
    Block("F", 4 * MIB, 5, 7),
)
"""Six made-up blocks: reuse in order of birth saves nothing, and some order reaches the bound."""


@paused()
def blocks(step: Step, batch: int) -> tuple[Block, ...]:
    """Return the blocks that are born in a step on ``device:0`` at a batch, workspace too, in order
    of birth; a block has the name of its storage.

    Raises:
        InputError: no step, a bad batch, or one that the step does not hold for.
    """
    if not isinstance(step, Step):
        raise InputError(
            f"a placement is of a step, got {shorten(step)}; try "
            "memlab.place(memlab.training_step(network), batch=32)."
        )
    last, batch = len(step.ops) - 1, step.held(batch)
    return tuple(
        Block(life.tensor.storage.name, life.size.at(batch), life.birth, min(life.death, last))
        for life in step.at(batch).lifetimes.blocks
        if life.birth != BEFORE and life.memory == DEVICE
    )


# -- the ways to place ---------------------------------------------------------------------------

NEAR = 100
"""The search for the best order ends where at most 1/100 of the lower bound is lost."""


def _in_turn(
    order: Callable[[Load], list[int]], fit: Callable[[Load, Sequence[int]], list[int]]
) -> Callable[[Load], Packing]:
    """Return a placement strategy without a search: the blocks in one order, each placed where it
    fits at that time."""

    def way(load: Load) -> Packing:
        addresses = order(load)
        return addresses, fit(load, addresses)

    return way


def _best(load: Load) -> Packing:
    bound, _ = load.bound()
    return packing.search(load, bound + bound // NEAR)


def _exact(load: Load) -> Packing:
    bound, _ = load.bound()
    smallest = packing.search(load, bound)
    top = load.top(smallest[1])
    return smallest if top == bound else exact_packing.solve(load, top)


WAYS = {
    "no reuse": _in_turn(packing.by_birth, packing.stacked),
    "birth": _in_turn(packing.by_birth, packing.first_fit),
    "biggest": _in_turn(packing.by_size, packing.first_fit),
    "best fit": _in_turn(packing.by_birth, packing.best_fit),
    "exact": _exact,
    "best": _best,
}
"""From a load to the order of placing and the addresses, by name."""

# -- a placement ---------------------------------------------------------------------------------

HOWS = tuple(WAYS)
"""The ways to place."""
BY_HAND = "by hand"
"""How a placement came about in which a block was moved."""
ARENA = "arena"
"""The name of the one block that everything lies in."""


@dataclass(frozen=True)
class Placement:
    """Address of every block, in bytes from the start of the arena.

    ``order`` holds the numbers of the blocks in the order in which they were placed; ``how`` is the
    way, one of ``HOWS`` or ``"by hand"``. Every block takes its bytes rounded up to the
    ``alignment``.
    """

    blocks: tuple[Block, ...]
    addresses: tuple[int, ...]
    order: tuple[int, ...]
    how: str
    alignment: int = 64

    @cached_property
    def load(self) -> Load:
        """Rounded sizes and lifetimes, in the order of the blocks."""
        return _load_of(self.blocks, self.alignment)

    @property
    def arena(self) -> int:
        """Bytes of the arena, which ends at the end of its highest block."""
        return self.load.top(self.addresses)

    @property
    def lower_bound(self) -> int:
        """Most rounded bytes that are alive inside one operation. No arena is smaller."""
        return self._bound[0]

    @property
    def busiest(self) -> int:
        """First operation in which so many bytes are alive."""
        return self._bound[1]

    @property
    def waste(self) -> int:
        """Bytes of the arena above the lower bound."""
        return self.arena - self.lower_bound

    @property
    def total(self) -> int:
        """Bytes of all blocks, as if none shared addresses."""
        return sum(self.load.sizes)

    def address(self, name: str) -> int:
        """Return the address at which a block begins.

        Raises:
            InputError: no block of that name.
        """
        return self.addresses[self._number(name)]

    def overlaps(self) -> tuple[tuple[Block, Block], ...]:
        """Pairs of blocks that are alive together and share bytes. A correct placement has none."""
        pairs = self.sharing(together=True)
        return tuple((self.blocks[one], self.blocks[other]) for one, other in pairs if one < other)

    def moved(self, name: str, address: int) -> Placement:
        """Return the placement with one block at another address, where it may overlap others.

        Raises:
            InputError: no block of that name, or an address that is negative or not aligned.
        """
        number, start = self._number(name), whole_number("address", address, least=0)
        if start % self.alignment:
            near = start // self.alignment * self.alignment
            raise InputError(
                f"an address must be a multiple of {self.alignment} B, got {start}; try {near}."
            )
        addresses = (*self.addresses[:number], start, *self.addresses[number + 1 :])
        return replace(self, addresses=addresses, how=BY_HAND)

    def sharing(self, together: bool) -> Iterator[tuple[int, int]]:
        """Yield the numbers of two blocks that share bytes and are alive together, or are not;
        every pair in both orders."""
        ends = [a + size for a, size in zip(self.addresses, self.load.sizes, strict=True)]
        rank = {edge: n for n, edge in enumerate(sorted({*self.addresses, *ends}))}
        start = np.array([rank[edge] for edge in self.addresses])
        end = np.array([rank[edge] for edge in ends])
        birth, death = np.array(self.load.births), np.array(self.load.deaths)
        for n in np.flatnonzero(start < end).tolist():
            meet = (birth <= death[n]) & (birth[n] <= death)
            both = (start < end[n]) & (start[n] < end) & (start < end) & (meet == together)
            both[n] = False
            yield from ((n, other) for other in np.flatnonzero(both).tolist())

    def text(self, most: int = 20) -> str:
        """Return a sentence, and a table of the first ``most`` blocks with a count
        of the others."""
        return _text(self, most)

    def as_dict(self) -> dict[str, Any]:
        """Return the placement as plain values for JSON."""
        return {
            "how": self.how,
            "alignment": self.alignment,
            "arena_bytes": self.arena,
            "lower_bound_bytes": self.lower_bound,
            "busiest_index": self.busiest,
            "waste_bytes": self.waste,
        }

    def __str__(self) -> str:
        """Return the arena, the lower bound and the waste in one sentence."""
        return _sentence(self)

    @cached_property
    def _bound(self) -> tuple[int, int]:
        return self.load.bound()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {block.name: number for number, block in enumerate(self.blocks)}

    def _number(self, name: str) -> int:
        return one_option("block", name, self._numbers)


def place(step: Step, batch: int, how: str = "best", alignment: int = 64) -> Placement:
    """Give everything that is born in a step an address in one arena, workspace too.

    Tensors that are alive before the step, or lie in another memory than ``device:0``, have no
    address here.

    >>> step = memlab.training_step(memlab.zoo.resnet18())
    >>> memlab.place(step, 32).arena >= memlab.place(step, 32).lower_bound
    True

    Args:
        step: a step.
        batch: samples of a step.
        how: the way of placing: ``"best"``, or another one of ``arrange``.
        alignment: bytes that every address is a multiple of.

    Raises:
        InputError: no step, a bad batch, one that the step does not hold for, an unknown way, or
            a load that ``arrange`` refuses.
    """
    return arrange(blocks(step, batch), how, alignment)


def arrange(blocks: Iterable[Block], how: str = "best", alignment: int = 64) -> Placement:
    """Return addresses for blocks, so that no two that are alive together share bytes.

    ``"no reuse"`` stacks them in order of birth. ``"birth"`` reuses, in order of birth: each block
    takes the lowest gap that it fits into. ``"best fit"`` takes the smallest such gap instead.
    ``"biggest"`` places the biggest first, at the lowest address that is free during their whole
    life. ``"best"`` tries several orders so, and changes of them. ``"exact"`` proves its arena the
    smallest: because it reaches the lower bound, or by a search for at most 40 blocks.

    Raises:
        InputError: no blocks, two of the same name, a negative size or birth, a death before the
            birth, an alignment below 1, an unknown way, or no exact result.
    """
    way, given = one_option("way to place", how, WAYS), _known(blocks)
    alignment = whole_number("alignment", alignment)
    load = _load_of(given, alignment)
    order, addresses = way(load)
    return Placement(given, tuple(addresses), tuple(order), how, alignment)


def _known(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return the blocks after checking that they can be placed.

    Raises:
        InputError: what is given is none, two have one name, a size or birth is negative, or a
            death lies before the birth.
    """
    if not isinstance(blocks, Iterable):
        raise _no_block(blocks)
    given = tuple(blocks)
    for block in given:
        if not isinstance(block, Block):
            raise _no_block(block)
        _check(block)
    twice = [name for name, count in Counter(block.name for block in given).items() if count > 1]
    if twice:
        raise InputError(f"two blocks are named {shorten(twice[0])}; rename one.")
    return given


def _no_block(given: object) -> InputError:
    return InputError(f"blocks are placed, got {shorten(given)}; try memlab.place(step, batch).")


def _check(block: Block) -> None:
    if not isinstance(block.name, str):
        raise InputError(f"a block has a text as its name, got {shorten(block.name)}; try 'A'.")
    whole_number(f"the size of {block.name}", block.nbytes, least=0)
    whole_number(f"the birth of {block.name}", block.birth, least=0)
    if whole_number(f"the death of {block.name}", block.death, least=0) < block.birth:
        raise InputError(
            f"{block.name} is born in operation {block.birth} and dies before, in {block.death}; "
            f"a death is at least the birth, try {block.birth}."
        )


def _load_of(blocks: Sequence[Block], alignment: int) -> Load:
    """Load of these blocks: each takes its bytes rounded up to the alignment."""
    return Load(
        [-(-int(block.nbytes) // alignment) * alignment for block in blocks],
        [int(block.birth) for block in blocks],
        [int(block.death) for block in blocks],
    )


def booked(ledger: Ledger, placement: Placement, batch: int) -> Ledger:
    """Return the plan of a step in which everything that is born in the step lies in one arena,
    beside what exists before the step."""
    there = (e for e in ledger.entries if e.birth == BEFORE or e.memory != DEVICE)
    arena = Entry(ARENA, Role.WORKSPACE, Size(placement.arena), BEFORE, len(ledger.rows))
    return replace(
        ledger,
        entries=(*there, arena),
        notes=(*ledger.notes, f"placed: {placement.how}"),
        batches=range(batch, batch + 1),
        measure=None,
    )


# -- a placement in words ----------------------------------------------------------------------

COLUMNS = ("name", "bytes", "born", "freed after", "address", "shares its address with")


def _sentence(placement: Placement) -> str:
    """Return a placement as a sentence: ``'Arena 13 MiB, lower bound 8 MiB (operation 5 of 8),
    waste 5 MiB.'``"""
    figures = (placement.arena, placement.lower_bound, placement.waste)
    arena, bound, waste = map(_unit(figures), figures)
    operations = max(placement.load.deaths, default=-1) + 1
    at = f" (operation {placement.busiest + 1} of {operations})" if operations else ""
    return f"Arena {arena}, lower bound {bound}{at}, waste {waste}."


def _text(placement: Placement, most: int = 20) -> str:
    """Return the sentence, a row for each of the first ``most`` blocks, and the number of the
    others."""
    sharing: dict[int, list[str]] = {}
    for one, other in placement.sharing(together=False):
        sharing.setdefault(one, []).append(placement.blocks[other].name)
    rows: list[tuple[str, ...]] = [COLUMNS]
    for number, block in enumerate(placement.blocks[:most]):
        address, partners = placement.addresses[number], _some(sharing.get(number, []))
        figures = (block.nbytes, block.birth + 1, block.death + 1, address)
        rows.append((block.name, *(f"{figure:,}" for figure in figures), partners))
    left = len(placement.blocks) - most
    return "\n".join([_sentence(placement), *_table(rows), *([f"{left} others"] * (left > 0))])


def _unit(figures: Iterable[int]) -> Callable[[int], str]:
    """Return a function that writes bytes as whole MiB if all figures are, else
    with three digits."""
    if any(nbytes % units.BINARY["MiB"] for nbytes in figures):
        return units.short
    return lambda nbytes: units.in_unit(nbytes, "MiB", 0)


def _some(names: Sequence[str], most: int = 3) -> str:
    left = len(names) - most
    return ", ".join([*names[:most], *([f"{left} others"] * (left > 0))]) or "-"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return rows as text, with figures aligned to the right and words to the left."""
    name, *figures, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = []
    for first, *middle, last in rows:
        cells = [cell.rjust(width) for cell, width in zip(middle, figures, strict=True)]
        lines.append("  ".join([first.ljust(name), *cells, last]))
    return lines
