"""A placement in words and figures: the blocks in one arena and their addresses, the order in which
they were placed, the blocks that overlap, and the distance to the smallest arena.

Operations are numbered from 0 here; sentences number them from 1, as people do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple

from memlab import strings, units
from memlab.assemble.step import training_step
from memlab.errors import InputError, known, shorten
from memlab.ledger.entries import BEFORE
from memlab.ledger.ledger import Entry, Ledger
from memlab.ledger.plan import plan
from memlab.networks.graph import Network
from memlab.pictures.memory.step_memory import phases
from memlab.pictures.values.number_text import in_binary, number, ratio
from memlab.pictures.values.step_recipe import name_of, network_of
from memlab.placement.placement import BY_HAND, HOWS, TOY, Block, Placement, arrange, place
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role
from memlab.techniques.in_place import in_place

TOY_NAME = "toy"
SMALL = "mnist_cnn"
"""A network that runs in a moment; its gradients are kept, so that a run can compare them."""
OFFERED = (TOY_NAME, SMALL, "vgg16", "resnet50")
SHARE = 200
"""A block is drawn alone if it takes at least this fraction of the arena: 1/200, 0.5 %."""
MOST = 400
"""Largest number of blocks that are drawn one by one."""
NAMED = 2
"""Number of overlaps that are named; the others are counted."""


def short_bytes(nbytes: int) -> str:
    """Return bytes with three digits in a binary unit: ``'13 MiB'``, ``'1.28 GiB'``, ``'40 B'``."""
    fits = (u for u in ("TiB", "GiB", "MiB", "KiB") if nbytes * 1024 >= units.UNITS[u] * 1000)
    size = units.UNITS[unit := next(fits, "B")]
    return f"{ratio(nbytes / size) if nbytes % size else f'{nbytes // size:,}'} {unit}"


def _both_forms(nbytes: int) -> str:
    """Return bytes rounded in a binary unit, and every digit in brackets where these differ."""
    short, exact = in_binary(nbytes), units.exact(nbytes)
    return exact if short == exact else f"{short} ({exact})"


def text_of(key: str, /, **values: object) -> str:
    """Return a text of the address map from the language files."""
    return strings.get(f"addresses.{key}", **values)


def placing_name(name: str) -> str:
    """Return the display name of a placing, such as ``"best fit"``."""
    return text_of(f"how.{name.replace(' ', '_')}")


# -- the subject ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PackingSubject:
    """Tensors to pack into an arena: six made-up ones (the toy) where ``step`` is None, else those
    of a step.

    ``plain`` is the step before it ran in place. ``named`` is True if ``name`` is enough to make
    the subject again.
    """

    name: str
    label: str
    step: Step | None = None
    plain: Step | None = None
    named: bool = False

    @property
    def toy(self) -> bool:
        """True for the six made-up tensors without a network."""
        return self.step is None

    @cached_property
    def in_place(self) -> PackingSubject:
        """The subject with a step in which outputs overwrite inputs that no later operation needs.

        Raises:
            InputError: the toy, or a step that cannot run in place.
        """
        if self.plain is None:
            raise InputError("the toy has no operations that run in place; leave in_place out.")
        return replace(self, step=in_place(self.plain))

    @cached_property
    def ledger(self) -> Ledger | None:
        """Ledger of the step; None for the toy."""
        return None if self.step is None else plan(self.step).at()

    @cached_property
    def operations(self) -> int:
        """Number of operations."""
        return 1 + max(block.death for block in TOY) if self.step is None else len(self.step.ops)

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Entries of the ledger by name; none for the toy."""
        return {} if self.ledger is None else {entry.name: entry for entry in self.ledger.entries}

    @cached_property
    def phases(self) -> tuple[tuple[Phase, int, int], ...]:
        """The phases of the step, each with its first and last operation; none for the toy."""
        return phases(self.ledger.rows) if self.ledger else ()

    def kind(self, entry: Entry | None, birth: int, death: int) -> str:
        """Return the kind of a block: the name of its role, but for a feature map and in the toy
        ``"kept"`` or ``"short"``.

        A kept feature map is born before backward and ends in it. In the toy a block of more than
        one operation is kept.

        Args:
            entry: entry in the ledger; None in the toy.
            birth: index of the block's first operation.
            death: index of its last operation.
        """
        if entry is None:
            return "kept" if death > birth else "short"
        if entry.role is not Role.FEATURE_MAP:
            return entry.role.value
        return "kept" if birth < self._backward <= death else "short"

    @cached_property
    def _backward(self) -> int:
        """Index of the first operation of backward; without backward, the number of operations."""
        starts = (first for phase, first, _ in self.phases if phase is Phase.BACKWARD)
        return next(starts, self.operations)

    @cached_property
    def outside(self) -> tuple[Entry, ...]:
        """Entries from before the step, which do not lie in the arena; those that are needed
        longest come first."""
        entries = (e for e in self.entries.values() if e.birth == BEFORE and e.memory == DEVICE)
        return tuple(sorted(entries, key=lambda entry: -entry.death))

    def before(self, batch: int) -> int:
        """Return the bytes allocated before the step, which do not lie in the arena."""
        return sum(entry.size.at(batch) for entry in self.outside)

    def operation(self, index: int) -> str:
        """Return the name of an operation; empty for the toy."""
        return "" if self.ledger is None else self.ledger.rows[index].name

    def placement(self, batch: int, how: str) -> Placement:
        """Return the placement of the subject; the last 24 placements are cached.

        Args:
            batch: number of samples.
            how: placing, such as ``"biggest"``.

        Raises:
            InputError: an unknown placing, or one that takes too long for so many blocks.
        """
        return _cached_placement(self, batch, known("placing", how, HOWS))


@lru_cache(maxsize=24)
def _cached_placement(subject: PackingSubject, batch: int, how: str) -> Placement:
    """Return a placement of a subject; the last 24 are cached."""
    return arrange(TOY, how) if subject.step is None else place(subject.step, batch, how)


def subject_of(given: str | Network | Step) -> PackingSubject:
    """Return the subject of ``"toy"``, a name of ``memlab.zoo``, a network or a step.

    Raises:
        InputError: none of these.
    """
    if isinstance(given, str):
        return _named_subject(given)
    if isinstance(given, Network):
        small = given.name == SMALL
        given = training_step(given, "sgd").keep("gradients") if small else training_step(given)
    if not isinstance(given, Step):
        text = shorten(given)
        raise InputError(f"give the toy, a network or a step, got {text}; try 'resnet50'.")
    label = ", ".join((given.label or given.network, *given.notes))
    return PackingSubject(given.network or "step", label, given, given)


@lru_cache(maxsize=8)
def _named_subject(name: str) -> PackingSubject:
    """Return the subject of a name; the last 8 are cached."""
    if name == TOY_NAME:
        return PackingSubject(TOY_NAME, text_of("toy"), named=True)
    network = network_of(name)
    return replace(subject_of(network), name=name_of(network), named=True)


# -- the map --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Placed:
    """One block at its address.

    ``size`` is rounded up to the alignment, ``turn`` its number in the order of placing, from 1.
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
        """Name of the block."""
        return self.block.name

    @property
    def top(self) -> int:
        """First address behind the block."""
        return self.address + self.size

    @property
    def place(self) -> tuple[int, int, int, int]:
        """Rectangle of the block: its first operation, the one after its last, its address, its
        top."""
        return self.block.birth, self.block.death + 1, self.address, self.top

    def lives_with(self, other: Placed) -> bool:
        """True if both blocks are alive in one operation."""
        a, b = self.block, other.block
        return a.birth <= b.death and b.birth <= a.death


class Overlap(NamedTuple):
    """A fault: two blocks that share bytes while both are alive, in the operations ``first`` to
    ``last`` at the addresses from ``low`` up to ``high``."""

    one: Placed
    other: Placed
    first: int
    last: int
    low: int
    high: int


class PackingTurn(NamedTuple):
    """The placing of one block.

    ``holes`` are the free ranges of addresses, during the life of the block, below blocks that were
    placed before it. ``refused`` are the same holes where all were too small and the block went on
    top, else empty.
    """

    placed: Placed
    holes: tuple[tuple[int, int], ...]
    refused: tuple[tuple[int, int], ...]

    def text(self) -> str:
        """Return the turn as a sentence: ``'E needs 2 MiB. Free while it lives: 3 MiB. It goes to 4
        MiB.'``"""
        sizes = sorted((high - low for low, high in self.holes), reverse=True)
        holes = f" {text_of('and')} ".join(map(in_binary, sizes[:3]))
        if len(sizes) > 3:
            holes = text_of("largest_hole", amount=in_binary(sizes[0]), count=f"{len(sizes):,}")
        key = "turn_refused" if self.refused else "turn_hole" if sizes else "turn"
        size, address = in_binary(self.placed.size), in_binary(self.placed.address)
        return text_of(key, name=self.placed.name, amount=size, holes=holes, address=address)


@dataclass(frozen=True, eq=False)
class Packing:
    """A placement of a subject at a batch, and all figures and texts about it.

    ``automatic`` is the placement before blocks were moved by hand.
    """

    subject: PackingSubject
    batch: int
    placement: Placement
    automatic: Placement | None = None

    @cached_property
    def blocks(self) -> tuple[Placed, ...]:
        """All blocks, in order of birth."""
        map_, subject = self.placement, self.subject
        turns = {index: turn for turn, index in enumerate(map_.order, 1)}
        blocks = []
        for index, block in enumerate(map_.blocks):
            entry, size = subject.entries.get(block.name), map_.load.sizes[index]
            kind = subject.kind(entry, block.birth, block.death)
            blocks.append(Placed(block, map_.addresses[index], size, turns[index], kind, entry))
        return tuple(sorted(blocks, key=lambda placed: placed.block.birth))

    @cached_property
    def by_name(self) -> dict[str, Placed]:
        """The blocks by name."""
        return {placed.name: placed for placed in self.blocks}

    @cached_property
    def turns(self) -> tuple[Placed, ...]:
        """The blocks in the order in which they were placed."""
        return tuple(sorted(self.blocks, key=lambda placed: placed.turn))

    @cached_property
    def live_bytes(self) -> list[int]:
        """True bytes alive in every operation, not rounded to the alignment."""
        change = [0] * (self.subject.operations + 1)
        for block in self.placement.blocks:
            change[block.birth] += block.nbytes
            change[block.death + 1] -= block.nbytes
        return list(accumulate(change[:-1]))

    @property
    def rounds(self) -> bool:
        """True if the alignment adds more than a hundredth to the bytes of all blocks."""
        true = sum(placed.block.nbytes for placed in self.blocks)
        return 100 * true < 99 * self.placement.total

    @cached_property
    def overlaps(self) -> tuple[Overlap, ...]:
        """The faults of the map: pairs of blocks that share bytes while both are alive."""
        overlaps = []
        for a, b in self.placement.overlaps():
            one, other = self.by_name[a.name], self.by_name[b.name]
            first, last, low, high = zip(one.place, other.place, strict=True)
            overlaps.append(Overlap(one, other, max(first), min(last) - 1, max(low), min(high)))
        return tuple(overlaps)

    @cached_property
    def large(self) -> tuple[Placed, ...]:
        """Blocks that are drawn one by one: those of at least 0.5 % of the arena and those that
        overlap, at most the 400 largest."""
        faults = {placed.name for fault in self.overlaps for placed in (fault.one, fault.other)}
        least = min(-(-self.placement.arena // SHARE), max(placed.size for placed in self.blocks))
        large = [placed for placed in self.blocks if placed.size >= least or placed.name in faults]
        by_size = sorted(large, key=lambda placed: -placed.size)
        chosen = {placed.name for placed in by_size[:MOST]}
        return tuple(placed for placed in self.blocks if placed.name in chosen)

    @property
    def unit(self) -> int:
        """Bytes by which a block is moved by hand: 1 MiB in the toy, else 1 % of the arena."""
        map_ = self.placement
        rest = max(map_.arena // 100 // map_.alignment, 1) * map_.alignment
        return units.UNITS["MiB"] if self.subject.toy else rest

    def free_addresses(self, placed: Placed) -> list[int]:
        """Return the addresses, from low to high, at which a block lies on or under another one, or
        at 0, and overlaps none that is in memory with it."""
        others = [p for p in self.blocks if p is not placed and p.lives_with(placed)]
        ends = {0, *(p.top for p in others), *(p.address - placed.size for p in others)}
        return sorted(
            low for low in ends
            if low >= 0 and all(low + placed.size <= p.address or p.top <= low for p in others)
        )  # fmt: skip

    def at(self, operation: int, turn: int | None = None) -> list[Placed]:
        """Return the blocks that are alive in an operation, from address 0 upwards.

        Args:
            operation: index of the operation.
            turn: number of blocks that are placed already; None for all.
        """
        alive = (p for p in self.blocks if p.block.birth <= operation <= p.block.death)
        lie = (placed for placed in alive if turn is None or placed.turn <= turn)
        return sorted(lie, key=lambda placed: placed.address)

    def sharing(self, placed: Placed) -> list[Placed]:
        """Return the blocks at some of a block's addresses at another time, in order of birth."""
        return self._sharing.get(placed.name, [])

    @cached_property
    def _sharing(self) -> dict[str, list[Placed]]:
        """Blocks at some of each block's addresses at another time, by its name."""
        sharing: dict[str, list[Placed]] = {}
        names = [block.name for block in self.placement.blocks]
        for one, other in self.placement.sharing(together=False):
            sharing.setdefault(names[one], []).append(self.by_name[names[other]])
        return sharing

    # -- how it was packed --------------------------------------------------------------------

    def turn(self, count: int) -> PackingTurn:
        """Return the turn with a number, counted from 1: a block and the holes that were free for
        it."""
        placed = self.turns[count - 1]
        before = [other for other in self.turns[: count - 1] if other.lives_with(placed)]
        holes, top = [], 0
        for other in sorted(before, key=lambda other: other.address):
            if other.address > top:
                holes.append((top, other.address))
            top = max(top, other.top)
        looked, small = self.placement.how != "no reuse", tuple(holes)
        fits = placed.address != top or any(high - low >= placed.size for low, high in holes)
        return PackingTurn(placed, small if looked else (), small if looked and not fits else ())

    def decisive_turn(self, count: int) -> PackingTurn | None:
        """Return the turn to describe after ``count`` blocks: the last one, or after all blocks the
        one that reached the top. None before the first."""
        if count < len(self.blocks):
            return self.turn(count) if count else None
        return self.turn(min(self.large, key=lambda placed: (-placed.top, placed.turn)).turn)

    @cached_property
    def best(self) -> tuple[int, bool]:
        """Bytes of the smallest arena that is known, and True if no smaller one is possible."""
        toy = self.subject.toy
        placement = self.subject.placement(self.batch, "exact" if toy else "best")
        return placement.arena, toy or placement.arena == placement.lower_bound

    @cached_property
    def moved(self) -> tuple[tuple[Placed, int], ...]:
        """Blocks that were moved by hand, each with its former address."""
        if self.automatic is None:
            return ()
        pairs = ((placed, self.automatic.address(placed.name)) for placed in self.blocks)
        return tuple((placed, was) for placed, was in pairs if placed.address != was)

    def silent_fault(self) -> tuple[Placed, int]:
        """Return a fault that no message reports: a block to move, and the address to move it to.

        The block is a gradient map that comes and goes in backward. The address is that of a kept
        feature map that is read once more after that; the loss exists already. It is the earliest
        such feature map: an error there reaches the fewest gradients.
        """
        kept = [p for p in self.blocks if p.kind == "kept" and not (p.entry and p.entry.tenants)]
        large = sorted(self.blocks, key=lambda placed: -placed.size)
        gradients = [placed for placed in large if placed.kind == Role.GRADIENT_MAP]
        pairs = ((brief, long) for long in kept for brief in gradients if brief.lives_with(long))
        return next(
            (brief, long.address)
            for brief, long in pairs
            if brief.block.death < long.block.death and brief.size <= long.size
        )

    # -- in words -----------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Title of the map: ``'ResNet-50 v1.5, batch 32, in place, best known'``."""
        subject, inside = self.subject, self.subject.step is not self.subject.plain
        batch = "" if subject.toy else text_of("batch", batch=f"{self.batch:,}")
        how = placing_name(self.placement.how)
        about = [subject.label, batch, text_of("in_place") if inside else "", how]
        return ", ".join(filter(None, about))

    def headline(self, count: int | None = None) -> str:
        """Return the result as a sentence with three digits; after ``count`` of the blocks, the top
        so far."""
        map_, blocks = self.placement, f"{len(self.blocks):,}"
        if count is not None and count < len(self.blocks):
            top = max((placed.top for placed in self.turns[:count]), default=0)
            return text_of("finding.now", count=f"{count:,}", all=blocks, arena=short_bytes(top))
        key = "alone" if map_.arena == map_.total else "above"
        key = "faulty" if self.overlaps else key if map_.waste else "proved"
        amounts = {"arena": map_.arena, "bound": map_.lower_bound, "total": map_.total}
        amounts |= {"waste": abs(map_.waste)}
        return text_of(f"finding.{key}", **{name: short_bytes(n) for name, n in amounts.items()})

    @property
    def sentences(self) -> list[str]:
        """Sentences with exact figures: arena, lower bound and waste; the bytes alive at once; the
        bytes outside the arena; the faults."""
        map_, name = self.placement, self.subject.operation(self.placement.busiest)
        amounts = {"arena": map_.arena, "bound": map_.lower_bound, "total": map_.total}
        amounts |= {"waste": map_.waste} if map_.waste >= 0 else {}
        figures = text_of("figures" if "waste" in amounts else "too_small",
                      **{key: _both_forms(nbytes) for key, nbytes in amounts.items()})  # fmt: skip
        index = f"{map_.busiest + 1:,}" + (name and f", {name}")
        true = self.live_bytes[map_.busiest]
        alive = text_of("alive_rounded" if true < map_.lower_bound else "alive", index=index,
                    true=units.exact(true), bound=units.exact(map_.lower_bound),
                    count=f"{len(self.at(map_.busiest)):,}", align=map_.alignment)  # fmt: skip
        return [*filter(None, [figures, alive, self._outside(), *self.faults()])]

    def _outside(self) -> str:
        """Return a sentence on the bytes from before the step, by role, and their sum with the
        arena."""
        roles = Counter[str]()
        for entry in self.subject.outside:
            role = strings.get(f"role.{entry.role.value}.one")
            roles[role] += entry.size.at(self.batch)
        if not (there := sum(roles.values())):
            return ""
        parts = ", ".join(f"{role} {in_binary(nbytes)}" for role, nbytes in roles.items())
        total = in_binary(there + self.placement.arena)
        return text_of("before", parts=parts, before=in_binary(there), sum=total)

    def story(self, count: int) -> list[str]:
        """Return the story of the packing after ``count`` blocks: the addresses in order (toy only)
        and the turn that decides, or the blocks that were moved by hand."""
        if self.placement.how == BY_HAND:
            names = ", ".join(placed.name for placed, _ in self.moved)
            return [text_of("by_hand", names=names or text_of("nobody"))]
        turn = self.decisive_turn(count)
        last = turn.text() if turn else text_of("nothing_yet")
        if turn and not turn.refused and count == len(self.blocks):
            last = self._sharing_sentence() or last
        if not self.subject.toy:
            return [last]
        order = [text_of("at", name=block.name, address=number(block.address, "MiB"))
                 for block in self.turns[:count]]  # fmt: skip
        return [", ".join(order), last]

    def _sharing_sentence(self) -> str:
        """Return a sentence on the first pair of blocks, in order of placing, that share addresses
        at different times; empty without one."""
        for one in self.turns:
            if others := self.sharing(one):
                other = min(others, key=lambda placed: placed.turn)
                return text_of("share", first=one.name, second=other.name)
        return ""

    def faults(self) -> list[str]:
        """Return sentences on the blocks that share bytes while both are alive."""
        more, named = len(self.overlaps) - NAMED, self.overlaps[:NAMED]
        counted = [text_of("more_faults", count=f"{more:,}")] if more > 0 else []
        values = ((f"{fault.first + 1:,}", fault.one.name, fault.other.name) for fault in named)
        sentences = [text_of("fault", index=at, first=a, second=b) for at, a, b in values]
        return [*sentences, *counted]

    def score(self, optimum: bool = True) -> str:
        """Return a sentence that compares the arena with the lower bound, and with the smallest one
        that is known unless ``optimum`` is False."""
        if not optimum:
            return self._own_score()
        best, proved = self.best
        arena, more = self.placement.arena, self.placement.arena - best
        amounts = {"top": arena, "bound": self.placement.lower_bound, "best": best}
        text = text_of("score.proved" if proved else "score.known",
                   **{name: in_binary(nbytes) for name, nbytes in amounts.items()})  # fmt: skip
        key = "above" if more > 0 else "better" if more else "best"
        key = "faulty" if self.overlaps else key
        return f"{text} {text_of(f'score.{key}', amount=in_binary(abs(more)))}"

    def _own_score(self) -> str:
        """Return a sentence that compares the arena with its lower bound alone."""
        top, bound = in_binary(self.placement.arena), in_binary(self.placement.lower_bound)
        text = text_of("score.own", top=top, bound=bound)
        return f"{text} {text_of('score.faulty')}" if self.overlaps else text

    def about(self, placed: Placed) -> list[str]:
        """Return sentences on one block: its role and kind, its life, its addresses, the other
        blocks there."""
        entry, (birth, stop, first, end) = placed.entry, placed.place
        tenants = [text_of("tenant", name=t.name, first=f"{t.first + 1:,}", last=f"{t.last + 1:,}")
                   for t in (entry.tenants if entry else ())]  # fmt: skip
        table = "toy_kind" if entry is None else "key"
        kind = text_of(f"{table}.{placed.kind}") if placed.kind in ("kept", "short") else ""
        role = strings.get(f"role.{entry.role.value}.one") if entry else ""
        return [
            ", ".join(filter(None, [role, kind])),
            text_of("life", birth=f"{birth + 1:,}", death=f"{stop:,}"),
            text_of("address", first=f"{first:,}", end=f"{end:,}"),
            *([text_of("tenants", names=", ".join(tenants))] if tenants else []),
            *(self._sharing_sentences(placed) or [text_of("shares_none")]),
        ]

    def _sharing_sentences(self, placed: Placed) -> list[str]:
        """Return sentences on other users of a block's addresses: at the same time, which is a
        fault, and at another time."""
        pairs = [(fault.one.name, fault.other.name) for fault in self.overlaps]
        over = ", ".join(one if other == placed.name else other for one, other in pairs
                         if placed.name in (one, other))  # fmt: skip
        names_by_key = {"lies_over": over, "shares": self._sharing_names(placed)}
        return [text_of(key, names=names) for key, names in names_by_key.items() if names]

    def _sharing_names(self, placed: Placed) -> str:
        """Return the names of the first three blocks that use some addresses of a block at another
        time."""
        others = self.sharing(placed)
        return ", ".join([*(other.name for other in others[:3]), *"…"[: len(others) > 3]])

    def row(self, placed: Placed) -> list[str]:
        """Return the table row of a block: name, bytes, rounded bytes, first and last operation,
        address, and the blocks that share its addresses."""
        block = placed.block
        figures = (block.nbytes, placed.size, block.birth + 1, block.death + 1, placed.address)
        shared = self._sharing_names(placed) or text_of("nobody")
        return [placed.name, *(f"{figure:,}" for figure in figures), shared]

    def letters(self, count: int) -> list[str]:
        """Return the map of the toy as lines of text: a letter for each MiB and operation; X is a
        fault."""
        size, operations = units.UNITS["MiB"], range(self.subject.operations)
        grid = [["."] * len(operations) for _ in range(self.placement.arena // size)]
        for placed in self.turns[:count]:
            for level in range(placed.address // size, placed.top // size):
                for at in range(placed.block.birth, placed.block.death + 1):
                    grid[level][at] = placed.name if grid[level][at] == "." else "X"
        lines = [f"{level:4d}  {' '.join(line)}" for level, line in enumerate(grid)]
        return [*reversed(lines), f"{'':6}{' '.join(str(at + 1) for at in operations)}"]
