"""A placement told: what lies where in one arena, how each block came to its address, which
blocks overlap, and how far the arena is from the smallest one.

Operations are numbered from 0 here; sentences number them from 1, as people do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any, NamedTuple

from memlab import strings, units
from memlab.planner.entries import Tenant
from memlab.planner.ledger import Entry
from memlab.planner.placement import BY_HAND, Block, Placement
from memlab.step.tensor import Role
from memlab.studies.figures import binary_sum, binary_unit, in_binary, number
from memlab.studies.packed_step import Subject, ordinal, say, say_how

SHARE, SHARE_OF_STAGE = 200, 2_000
"""A block stands for itself from this part of the arena on: 0.5 %; less in one stage."""
MOST = 400
"""Blocks that stand for themselves."""
NAMED = 2
"""Blocks, or overlaps, that a sentence names; the others are counted."""
LONGEST = 64
"""Names of blocks in a line of facts; longer ones are counted."""
FILLED = ("kept", "short")
"""The kinds of feature maps."""
LISTED = 20
"""Blocks of a network that have a line in the text, the largest."""


# -- what lies where ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Placed:
    """One block at its address. ``size`` is rounded to the alignment, ``turn`` counts from 1.

    ``kind`` is ``"kept"`` or ``"short"`` for a feature map, else the name of a role.
    """

    block: Block
    address: int
    size: int
    turn: int
    kind: str
    entry: Entry | None = None

    @property
    def name(self) -> str:
        """The name of the block."""
        return self.block.name

    @property
    def top(self) -> int:
        """The first address behind it."""
        return self.address + self.size

    @property
    def place(self) -> tuple[int, int, int, int]:
        """Its rectangle: from operation to operation, from address to address."""
        return self.block.birth, self.block.death + 1, self.address, self.top

    @property
    def tenants(self) -> tuple[Tenant, ...]:
        """The tensors that fill it one after another, where they are several."""
        return self.entry.tenants if self.entry else ()

    def lives_with(self, other: Placed) -> bool:
        """Whether there is an operation in which both are alive."""
        a, b = self.block, other.block
        return a.birth <= b.death and b.birth <= a.death

    def meets(self, other: Placed) -> bool:
        """Whether they share addresses, at whatever time."""
        return self.address < other.top and other.address < self.top


class Overlap(NamedTuple):
    """Two blocks that live together and share bytes, a fault: in the operations ``first`` to
    ``last``, at the addresses from ``low`` up to ``high``."""

    one: Placed
    other: Placed
    first: int
    last: int
    low: int
    high: int

    def text(self) -> str:
        """``'A and D both live at operation 5.'``"""
        index = f"{self.first + 1:,}"
        return say("fault", index=index, first=self.one.name, second=self.other.name)


@dataclass(frozen=True, slots=True)
class Turn:
    """One block is placed. ``holes`` are free during its life below the blocks placed before it,
    each from which address to which; ``fate`` says what it took: ``first``, ``hole``, ``top``,
    ``stack``, ``own`` or ``apart``."""

    placed: Placed
    holes: tuple[tuple[int, int], ...]
    fate: str

    @property
    def refused(self) -> tuple[tuple[int, int], ...]:
        """The holes that are too small, where it had to go on top of them."""
        return self.holes if self.fate == "top" else ()

    def text(self) -> str:
        """``'5th: E needs 2 MiB. Free while it lives: 1 MiB. Too small, so it goes on top.'``"""
        size, address = in_binary(self.placed.size), in_binary(self.placed.address)
        name = self.placed.name
        start = say("turn", ordinal=ordinal(self.placed.turn), name=name, amount=size)
        sizes = sorted((high - low for low, high in self.holes), reverse=True)
        shown = [in_binary(size) for size in sizes[:3]]
        holes = f" {say('sharing.and')} ".join(shown)
        if len(sizes) > 3:
            holes = say("largest_hole", amount=shown[0], count=f"{len(sizes):,}")
        return f"{start} {say(f'fate.{self.fate}', holes=holes, address=address)}"


class Part(NamedTuple):
    """Neighbours in memory at one moment that belong together: the blocks of one stage, or of one
    role, or a block by itself; from the address ``low`` up to ``high``."""

    name: str
    placed: tuple[Placed, ...]
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class Packing:
    """A placement of a subject at a batch, with everything that is said of it.

    With a ``stage`` only the blocks that are born in it stand for themselves. ``made`` is the
    placement that was moved by hand, where it was.
    """

    subject: Subject
    batch: int
    placement: Placement
    stage: str = ""
    made: Placement | None = None

    @cached_property
    def blocks(self) -> tuple[Placed, ...]:
        """Every block, in order of birth."""
        map_, subject = self.placement, self.subject
        turns = {index: turn for turn, index in enumerate(map_.order, 1)}
        found = []
        for index, block in enumerate(map_.blocks):
            entry, address = subject.entries.get(block.name), map_.addresses[index]
            kind = subject.kind(entry, block.birth, block.death)
            size = map_.load.sizes[index]
            found.append(Placed(block, address, size, turns[index], kind, entry))
        return tuple(sorted(found, key=lambda placed: placed.block.birth))

    @cached_property
    def by_name(self) -> dict[str, Placed]:
        """The blocks by name."""
        return {placed.name: placed for placed in self.blocks}

    @cached_property
    def turns(self) -> tuple[Placed, ...]:
        """The blocks in the order in which they were placed."""
        return tuple(sorted(self.blocks, key=lambda placed: placed.turn))

    @cached_property
    def arena(self) -> int:
        """Bytes of the arena."""
        return self.placement.arena

    @property
    def bound(self) -> int:
        """The lower bound: the most bytes that are alive at once."""
        return self.placement.lower_bound

    @property
    def busiest(self) -> int:
        """The first operation where so many are alive."""
        return self.placement.busiest

    @property
    def waste(self) -> int:
        """Bytes of the arena above the lower bound."""
        return self.arena - self.bound

    @cached_property
    def total(self) -> int:
        """All blocks together."""
        return self.placement.total

    @cached_property
    def alive(self) -> list[int]:
        """Bytes alive inside every operation."""
        change = [0] * (self.subject.operations + 1)
        for placed in self.blocks:
            change[placed.block.birth] += placed.size
            change[placed.block.death + 1] -= placed.size
        return list(accumulate(change[:-1]))

    @cached_property
    def overlaps(self) -> tuple[Overlap, ...]:
        """The faults of this map."""
        pairs = self.placement.overlaps()
        return tuple(self._overlap(self.by_name[a.name], self.by_name[b.name]) for a, b in pairs)

    @staticmethod
    def _overlap(one: Placed, other: Placed) -> Overlap:
        first, last, low, high = zip(one.place, other.place, strict=True)
        return Overlap(one, other, max(first), min(last) - 1, max(low), min(high))

    def of_stage(self, placed: Placed) -> bool:
        """Whether a block is born in the stage that is shown; every block where all are."""
        return not self.stage or (placed.entry is not None and placed.entry.stage == self.stage)

    @cached_property
    def large(self) -> tuple[Placed, ...]:
        """The blocks that stand for themselves; what overlaps is among them."""
        faults = {each.name for fault in self.overlaps for each in (fault.one, fault.other)}
        born = [placed for placed in self.blocks if self.of_stage(placed)]
        share = SHARE_OF_STAGE if self.stage else SHARE
        found = [placed for placed in born if placed.size * share >= self.arena] or born
        found += [placed for placed in self.blocks if placed.name in faults]
        if len(found) > MOST:
            found = sorted(found, key=lambda placed: -placed.size)[:MOST]
        chosen = {placed.name for placed in found}
        return tuple(placed for placed in self.blocks if placed.name in chosen)

    @cached_property
    def small(self) -> tuple[Placed, ...]:
        """The others: small ones, or those of other stages."""
        chosen = {placed.name for placed in self.large}
        return tuple(placed for placed in self.blocks if placed.name not in chosen)

    @cached_property
    def cheap(self) -> tuple[Placed, ...]:
        """The blocks that are cheap to make again."""
        cheap = self.subject.cheap
        return tuple(each for each in self.blocks if each.name in cheap and self.of_stage(each))

    def at(self, operation: int, turn: int | None = None) -> list[Placed]:
        """The blocks that lie after so many turns and are alive inside an operation, from address
        0 up."""
        alive = (p for p in self.blocks if p.block.birth <= operation <= p.block.death)
        return sorted(
            (p for p in alive if turn is None or p.turn <= turn), key=lambda placed: placed.address
        )

    def cut(self, operation: int, turn: int | None = None) -> tuple[Part, ...]:
        """The same in parts; of one stage where one is shown."""
        alive = filter(self.of_stage, self.at(operation, turn))
        parts = [(name, tuple(group)) for name, group in groupby(alive, self._part)]
        return tuple(
            Part(name, group, group[0].address, max(each.top for each in group))
            for name, group in parts
        )

    def _part(self, placed: Placed) -> str:
        if placed.entry is None or self.stage:
            return placed.name
        if placed.kind in FILLED:
            return placed.entry.stage or placed.entry.layer or placed.name
        return strings.get(f"role.{placed.entry.role.value}.one")

    def sharing(self, placed: Placed) -> list[Placed]:
        """The blocks that use some of its addresses at another time, in order of birth."""
        others = (other for other in self.blocks if other.meets(placed))
        return [other for other in others if not other.lives_with(placed)]

    # -- how it was packed --------------------------------------------------------------------

    def turn(self, count: int) -> Turn:
        """The block that was placed as number so many, from 1."""
        placed = self.turns[count - 1]
        before = [other for other in self.turns[: count - 1] if other.lives_with(placed)]
        holes, top = [], 0
        for other in sorted(before, key=lambda other: other.address):
            if other.address > top:
                holes.append((top, other.address))
            top = max(top, other.top)
        return Turn(placed, tuple(holes), self._fate(placed, holes, top))

    def _fate(self, placed: Placed, holes: list[tuple[int, int]], top: int) -> str:
        if self.placement.how == "no reuse":
            return "own"
        if any(low <= placed.address and placed.top <= high for low, high in holes):
            return "hole"
        if placed.address != top:
            return "apart"
        if not top:
            return "first"
        if not holes:
            return "stack"
        return "top" if all(high - low < placed.size for low, high in holes) else "apart"

    def told(self, count: int) -> Turn | None:
        """The turn to tell after so many: the last one; at the end the one that reached the top."""
        if count < len(self.blocks):
            return self.turn(count) if count else None
        return self.turn(min(self.large, key=lambda each: (-each.top, each.turn)).turn)

    @cached_property
    def best(self) -> tuple[int, bool]:
        """The smallest arena that is known, and whether it is proved to be the smallest."""
        toy = self.subject.toy
        found = self.subject.placement(self.batch, "exact" if toy else "best")
        return found.arena, toy or found.arena == found.lower_bound

    @cached_property
    def moved(self) -> tuple[tuple[Placed, int], ...]:
        """The blocks that were moved by hand, each with the address that it had."""
        if self.made is None:
            return ()
        pairs = ((placed, self.made.address(placed.name)) for placed in self.blocks)
        return tuple((placed, was) for placed, was in pairs if placed.address != was)

    def broken(self) -> tuple[Placed, int]:
        """A fault that no message reports: the block to move, and the address to move it to. A
        gradient map that comes and goes in backward lies on a feature map that is read once more
        after that; the loss is there already.

        Raises:
            ValueError: no two blocks are like that.
        """
        kept = [each for each in self.blocks if each.kind == "kept" and not each.tenants]
        large = sorted(self.blocks, key=lambda each: -each.size)
        passing = [each for each in large if each.kind == Role.GRADIENT_MAP]
        for still in kept:  # the first layer's first: its error reaches the fewest others
            for each in passing:
                ends = each.lives_with(still) and each.block.death < still.block.death
                if ends and each.size <= still.size:
                    return each, still.address
        raise ValueError("no block is kept for backward here.")

    # -- in words -----------------------------------------------------------------------------

    @property
    def equation(self) -> dict[str, str]:
        """Arena, lower bound and waste without their unit, rounded so that they add up, and the
        unit."""
        arena, (bound, waste), unit = binary_sum(self.arena, [self.bound, self.waste])
        return {"arena": arena, "bound": bound, "waste": waste, "unit": unit}

    def figures(self) -> list[str]:
        """Arena, lower bound and waste, rounded and exactly."""
        name = self.subject.operation(self.busiest)
        index = f"{self.busiest + 1:,}" + (name and f", {name}")
        said = {"how": say_how(self.placement.how), "index": index}
        exact = {"arena": self.arena, "bound": self.bound, "waste": self.waste, "total": self.total}
        if self.waste < 0:
            amounts = {key: in_binary(nbytes) for key, nbytes in exact.items() if nbytes >= 0}
            return [say("twin.below", missing=in_binary(-self.waste), **amounts, **said)]
        rounded = self.equation
        unit = rounded.pop("unit")
        return [
            say("twin.placed", **{key: f"{text} {unit}" for key, text in rounded.items()}, **said),
            say("twin.exact", **{key: units.exact(nbytes) for key, nbytes in exact.items()}),
        ]

    def story(self, count: int) -> list[str]:
        """How it was packed after so many turns: the order of a few blocks with their addresses,
        and the turn that decides; or what was moved by hand."""
        if self.placement.how == BY_HAND:
            return self._by_hand()
        told = self.told(count)
        last = told.text() if told else say("nothing_yet")
        if not self.subject.toy:
            return [last]
        unit, shown = binary_unit(self.total), self.turns[:count]
        order = [say("at", name=p.name, address=number(p.address, unit)) for p in shown]
        return [", ".join(order), last]

    def _by_hand(self) -> list[str]:
        if len(self.moved) > NAMED:
            return [say("by_hand.some", count=f"{len(self.moved):,}")]
        lines = [
            say("by_hand.one", name=p.name, before=in_binary(was), address=in_binary(p.address))
            for p, was in self.moved
        ]
        return lines or [say("by_hand.none")]

    def faults(self) -> list[str]:
        """The blocks that live together and share bytes."""
        more = len(self.overlaps) - NAMED
        counted = [say("more_faults", count=f"{more:,}")] if more > 0 else []
        return [*(fault.text() for fault in self.overlaps[:NAMED]), *counted]

    def saved(self) -> str:
        """What this placing saves against an address of its own for every block."""
        if self.placement.how == "no reuse":
            return say("saved.own")
        if self.arena >= self.total:
            return say("saved.nothing")
        if not self.waste:
            return say("saved.proved")
        return say(
            "saved.some", amount=in_binary(self.total - self.arena), total=in_binary(self.total)
        )

    def score(self) -> str:
        """The arena beside the lower bound and the smallest one that is known."""
        best, proved = self.best
        values = {
            "top": in_binary(self.arena),
            "bound": in_binary(self.bound),
            "best": in_binary(best),
        }
        text, more = say("score" if proved else "score_known", **values), self.arena - best
        if self.overlaps:
            return f"{text} {say('score_faulty')}"
        if more > 0:
            return f"{text} {say('score_above', amount=in_binary(more))}"
        return f"{text} {say('score_best' if more == 0 else 'score_better')}"

    def facts(self, placed: Placed) -> list[str]:
        """One block: what it is, its bytes, its life, its addresses, who else uses them."""
        exact = f" · {in_binary(placed.size)} = {units.exact(placed.size)}"
        tenants = [
            say("tenant", name=t.name, first=f"{t.first + 1:,}", last=f"{t.last + 1:,}")
            for t in placed.tenants
        ]
        return [
            self._kind(placed) + ("" if placed.entry else exact),
            *([placed.entry.formula(self.batch)] if placed.entry else []),
            self.life(placed),
            self.where(placed),
            *([say("tenants", names=", ".join(tenants))] if tenants else []),
            self._shared(placed),
        ]

    def life(self, placed: Placed) -> str:
        """When it is born and freed."""
        birth, death = f"{placed.block.birth + 1:,}", f"{placed.block.death + 1:,}"
        return say("life", birth=birth, death=death)

    def where(self, placed: Placed) -> str:
        """From which address to which."""
        return say("address", first=f"{placed.address:,}", end=f"{placed.top:,}")

    def _kind(self, placed: Placed) -> str:
        """``'feature map, kept for backward'``."""
        if placed.entry is None:
            return say(f"toy_kind.{placed.kind}")
        role = strings.get(f"role.{placed.entry.role.value}.one")
        kind = say(f"kind.{placed.kind}", role=role) if placed.kind in FILLED else role
        return say("cheap", kind=kind) if placed.name in self.subject.cheap else kind

    def _shared(self, placed: Placed) -> str:
        others = self.sharing(placed)
        names = f" {say('sharing.and')} ".join(_other(each, placed) for each in others[:NAMED])
        text = say("sharing.with", names=names) if others else say("sharing.none")
        if len(others) <= NAMED and len(text) <= LONGEST:
            return text
        return say("sharing.count", count=f"{len(others):,}")

    @cached_property
    def rows(self) -> list[list[str]]:
        """The blocks in order of birth, of a network the largest: name, bytes, the operations that
        they live from and to, address, and who shares it."""
        large = sorted(self.large, key=lambda each: -each.size)[:LISTED]
        return [self._row(each) for each in sorted(large, key=lambda each: each.block.birth)]

    def _row(self, placed: Placed) -> list[str]:
        block, others = placed.block, self.sharing(placed)
        shared = ", ".join([*(other.name for other in others[:3]), *"…"[: len(others) > 3]])
        figures = (placed.size, block.birth + 1, block.death + 1, placed.address)
        return [placed.name, *(f"{figure:,}" for figure in figures), shared or say("twin.nobody")]

    def text(self) -> str:
        """What it gives, what is wrong with it, how it was packed, and what that saves."""
        lines = [*self.figures(), *self.faults(), *self.story(len(self.blocks)), self.saved()]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: figures in bytes, operations from 0."""
        blocks = [
            {"name": each.name, "kind": each.kind, "bytes": each.size, "place": each.place}
            for each in self.blocks
        ]
        overlaps = [(fault.one.name, fault.other.name) for fault in self.overlaps]
        found = {"subject": self.subject.name, "batch": self.batch, "total_bytes": self.total}
        return self.placement.as_dict() | found | {"overlaps": overlaps, "blocks": blocks}

    __str__ = text


def _other(other: Placed, placed: Placed) -> str:
    if other.block.death < placed.block.birth:
        return say("sharing.earlier", name=other.name, index=f"{other.block.death + 1:,}")
    return say("sharing.later", name=other.name, index=f"{other.block.birth + 1:,}")
