"""A placement told: what is packed into one arena, what lies where, how each block came to its
address, which blocks overlap, and how far the arena is from the smallest one.

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
"""The network that runs here in a moment; its gradients are kept, so that a run compares them."""
OFFERED = (TOY_NAME, SMALL, "vgg16", "resnet50")
SHARE = 200
"""A block stands for itself from this part of the arena on: 0.5 %."""
MOST = 400
"""Blocks that stand for themselves."""
NAMED = 2
"""Overlaps that are named; the others are counted."""


def shortly(nbytes: int) -> str:
    """Three digits in a binary unit: ``'13 MiB'``, ``'1.28 GiB'``, ``'40 B'``."""
    fits = (u for u in ("TiB", "GiB", "MiB", "KiB") if nbytes * 1024 >= units.UNITS[u] * 1000)
    size = units.UNITS[unit := next(fits, "B")]
    return f"{ratio(nbytes / size) if nbytes % size else f'{nbytes // size:,}'} {unit}"


def _both(nbytes: int) -> str:
    """Rounded, and every digit."""
    short, exact = in_binary(nbytes), units.exact(nbytes)
    return exact if short == exact else f"{short} ({exact})"


def text_of(key: str, /, **values: object) -> str:
    """A text of the address map."""
    return strings.get(f"addresses.{key}", **values)


def say_how(name: str) -> str:
    """A way to place as people say it."""
    return text_of(f"how.{name.replace(' ', '_')}")


# -- what is packed -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PackingSubject:
    """Tensors to pack: six made-up ones where ``step`` is None, else a step, and ``plain``, the
    one before it ran in place. ``named`` says that its name makes it again."""

    name: str
    label: str
    step: Step | None = None
    plain: Step | None = None
    named: bool = False

    @property
    def toy(self) -> bool:
        """Six tensors without a network."""
        return self.step is None

    @cached_property
    def in_place(self) -> PackingSubject:
        """The same with outputs that overwrite inputs which nobody needs any more.

        Raises:
            InputError: the toy, or a step that cannot run so.
        """
        if self.plain is None:
            raise InputError("the toy has no operations that run in place; leave in_place out.")
        return replace(self, step=in_place(self.plain))

    @cached_property
    def ledger(self) -> Ledger | None:
        """The plan of the step."""
        return None if self.step is None else plan(self.step)

    @cached_property
    def operations(self) -> int:
        """Number of operations."""
        return 1 + max(block.death for block in TOY) if self.step is None else len(self.step.ops)

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Entries of the plan by name: more than bytes and life of a block."""
        return {} if self.ledger is None else {entry.name: entry for entry in self.ledger.entries}

    @cached_property
    def phases(self) -> tuple[tuple[Phase, int, int], ...]:
        """The parts of the step with their first and last operation; none for the toy."""
        return phases(self.ledger.rows) if self.ledger else ()

    def kind(self, entry: Entry | None, birth: int, death: int) -> str:
        """``"kept"`` or ``"short"`` for a feature map and in the toy, else the name of a role. What
        is kept for backward is born before backward and ends in it."""
        if entry is None:
            return "kept" if death > birth else "short"
        if entry.role is not Role.FEATURE_MAP:
            return entry.role.value
        return "kept" if birth < self._backward <= death else "short"

    @cached_property
    def _backward(self) -> int:
        starts = (first for phase, first, _ in self.phases if phase is Phase.BACKWARD)
        return next(starts, self.operations)

    @cached_property
    def outside(self) -> tuple[Entry, ...]:
        """Blocks from before the step, beside the arena; needed longest first."""
        found = (e for e in self.entries.values() if e.birth == BEFORE and e.memory == DEVICE)
        return tuple(sorted(found, key=lambda entry: -entry.death))

    def before(self, batch: int) -> int:
        """Its bytes."""
        return sum(entry.size.at(batch) for entry in self.outside)

    def operation(self, index: int) -> str:
        """The name of an operation; the toy's have none."""
        return "" if self.ledger is None else self.ledger.rows[index].name

    def placement(self, batch: int, how: str) -> Placement:
        """The addresses; the last few placements are kept.

        Raises:
            InputError: an unknown way to place, or one that takes too long for so many blocks.
        """
        return _placed(self, batch, known("placing", how, HOWS))


@lru_cache(maxsize=24)
def _placed(subject: PackingSubject, batch: int, how: str) -> Placement:
    return arrange(TOY, how) if subject.step is None else place(subject.step, batch, how)


def subject_of(given: str | Network | Step) -> PackingSubject:
    """Subject made from ``"toy"``, a name of ``memlab.zoo``, a network or a step.

    Raises:
        InputError: none of these.
    """
    if isinstance(given, str):
        return _of_name(given)
    if isinstance(given, Network):
        kept = given.name == SMALL
        given = training_step(given, "sgd").keep("gradients") if kept else training_step(given)
    if not isinstance(given, Step):
        said = shorten(given)
        raise InputError(f"give the toy, a network or a step, got {said}; try 'resnet50'.")
    label = ", ".join((given.label or given.network, *given.notes))
    return PackingSubject(given.network or "step", label, given, given)


@lru_cache(maxsize=8)
def _of_name(name: str) -> PackingSubject:
    if name == TOY_NAME:
        return PackingSubject(TOY_NAME, text_of("toy"), named=True)
    network = network_of(name)
    return replace(subject_of(network), name=name_of(network), named=True)


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

    def lives_with(self, other: Placed) -> bool:
        """Whether there is an operation in which both are alive."""
        a, b = self.block, other.block
        return a.birth <= b.death and b.birth <= a.death


class Overlap(NamedTuple):
    """Two blocks that live together and share bytes, a fault: in the operations ``first`` to
    ``last``, at the addresses from ``low`` up to ``high``."""

    one: Placed
    other: Placed
    first: int
    last: int
    low: int
    high: int


class PackingTurn(NamedTuple):
    """One block is placed. ``holes`` are free during its life below the blocks placed before it,
    each from which address to which; ``refused`` are those holes where all were too small, so that
    it went on top."""

    placed: Placed
    holes: tuple[tuple[int, int], ...]
    refused: tuple[tuple[int, int], ...]

    def text(self) -> str:
        """``'E needs 2 MiB. Free while it lives: 3 MiB. It goes to 4 MiB.'``"""
        sizes = sorted((high - low for low, high in self.holes), reverse=True)
        holes = f" {text_of('and')} ".join(map(in_binary, sizes[:3]))
        if len(sizes) > 3:
            holes = text_of("largest_hole", amount=in_binary(sizes[0]), count=f"{len(sizes):,}")
        key = "turn_refused" if self.refused else "turn_hole" if sizes else "turn"
        size, address = in_binary(self.placed.size), in_binary(self.placed.address)
        return text_of(key, name=self.placed.name, amount=size, holes=holes, address=address)


@dataclass(frozen=True, eq=False)
class Packing:
    """A placement of a subject at a batch, with everything that is said of it.

    ``made`` is the placement from which blocks were moved by hand, where they were.
    """

    subject: PackingSubject
    batch: int
    placement: Placement
    made: Placement | None = None

    @cached_property
    def blocks(self) -> tuple[Placed, ...]:
        """Every block, in order of birth."""
        map_, subject = self.placement, self.subject
        turns = {index: turn for turn, index in enumerate(map_.order, 1)}
        found = []
        for index, block in enumerate(map_.blocks):
            entry, size = subject.entries.get(block.name), map_.load.sizes[index]
            kind = subject.kind(entry, block.birth, block.death)
            found.append(Placed(block, map_.addresses[index], size, turns[index], kind, entry))
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
    def true(self) -> list[int]:
        """Bytes alive inside every operation, not rounded."""
        change = [0] * (self.subject.operations + 1)
        for block in self.placement.blocks:
            change[block.birth] += block.nbytes
            change[block.death + 1] -= block.nbytes
        return list(accumulate(change[:-1]))

    @property
    def rounds(self) -> bool:
        """Whether rounding takes more than a hundredth of what the blocks take."""
        true = sum(each.block.nbytes for each in self.blocks)
        return 100 * true < 99 * self.placement.total

    @cached_property
    def overlaps(self) -> tuple[Overlap, ...]:
        """The faults of this map."""
        found = []
        for a, b in self.placement.overlaps():
            one, other = self.by_name[a.name], self.by_name[b.name]
            first, last, low, high = zip(one.place, other.place, strict=True)
            found.append(Overlap(one, other, max(first), min(last) - 1, max(low), min(high)))
        return tuple(found)

    @cached_property
    def large(self) -> tuple[Placed, ...]:
        """The blocks that stand for themselves, and what overlaps; the others are small."""
        faults = {each.name for fault in self.overlaps for each in (fault.one, fault.other)}
        least = min(-(-self.placement.arena // SHARE), max(each.size for each in self.blocks))
        found = [each for each in self.blocks if each.size >= least or each.name in faults]
        chosen = {placed.name for placed in sorted(found, key=lambda each: -each.size)[:MOST]}
        return tuple(placed for placed in self.blocks if placed.name in chosen)

    @property
    def unit(self) -> int:
        """Bytes by which a block is moved by hand: 1 MiB of the toy, else 1 % of the arena."""
        map_ = self.placement
        rest = max(map_.arena // 100 // map_.alignment, 1) * map_.alignment
        return units.UNITS["MiB"] if self.subject.toy else rest

    def at(self, operation: int, turn: int | None = None) -> list[Placed]:
        """The blocks that lie after so many turns and are alive inside an operation, from address
        0 up."""
        alive = (p for p in self.blocks if p.block.birth <= operation <= p.block.death)
        lie = (placed for placed in alive if turn is None or placed.turn <= turn)
        return sorted(lie, key=lambda placed: placed.address)

    def sharing(self, placed: Placed) -> list[Placed]:
        """The blocks that use some of its addresses at another time, in order of birth."""
        return self._sharing.get(placed.name, [])

    @cached_property
    def _sharing(self) -> dict[str, list[Placed]]:
        found: dict[str, list[Placed]] = {}
        names = [block.name for block in self.placement.blocks]
        for one, other in self.placement.sharing(together=False):
            found.setdefault(names[one], []).append(self.by_name[names[other]])
        return found

    # -- how it was packed --------------------------------------------------------------------

    def turn(self, count: int) -> PackingTurn:
        """The block that was placed as number so many, from 1."""
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

    def told(self, count: int) -> PackingTurn | None:
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
        after that; the loss is there already. The first layer's: its error reaches the fewest."""
        kept = [p for p in self.blocks if p.kind == "kept" and not (p.entry and p.entry.tenants)]
        large = sorted(self.blocks, key=lambda each: -each.size)
        passing = [each for each in large if each.kind == Role.GRADIENT_MAP]
        pairs = ((each, still) for still in kept for each in passing if each.lives_with(still))
        return next(
            (each, still.address)
            for each, still in pairs
            if each.block.death < still.block.death and each.size <= still.size
        )

    # -- in words -----------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """``'ResNet-50 v1.5, batch 32, in place, best known'``."""
        subject, inside = self.subject, self.subject.step is not self.subject.plain
        batch = "" if subject.toy else text_of("batch", batch=f"{self.batch:,}")
        how = say_how(self.placement.how)
        about = [subject.label, batch, text_of("in_place") if inside else "", how]
        return ", ".join(filter(None, about))

    def headline(self, count: int | None = None) -> str:
        """Result in three digits; after so many turns, how far it is."""
        map_, blocks = self.placement, f"{len(self.blocks):,}"
        if count is not None and count < len(self.blocks):
            top = max((each.top for each in self.turns[:count]), default=0)
            return text_of("finding.now", count=f"{count:,}", all=blocks, arena=shortly(top))
        key = "alone" if map_.arena == map_.total else "above"
        key = "faulty" if self.overlaps else key if map_.waste else "proved"
        amounts = {"arena": map_.arena, "bound": map_.lower_bound, "total": map_.total}
        amounts |= {"waste": abs(map_.waste)}
        return text_of(f"finding.{key}", **{name: shortly(n) for name, n in amounts.items()})

    @property
    def sentences(self) -> list[str]:
        """Arena, lower bound and waste, rounded and exactly; what is alive at once; what lies
        beside the arena; what is wrong."""
        map_, name = self.placement, self.subject.operation(self.placement.busiest)
        amounts = {"arena": map_.arena, "bound": map_.lower_bound, "total": map_.total}
        amounts |= {"waste": map_.waste} if map_.waste >= 0 else {}
        figures = text_of("figures" if "waste" in amounts else "too_small",
                      **{key: _both(nbytes) for key, nbytes in amounts.items()})  # fmt: skip
        index = f"{map_.busiest + 1:,}" + (name and f", {name}")
        true = self.true[map_.busiest]
        alive = text_of("alive_rounded" if true < map_.lower_bound else "alive", index=index,
                    true=units.exact(true), bound=units.exact(map_.lower_bound),
                    count=f"{len(self.at(map_.busiest)):,}", align=map_.alignment)  # fmt: skip
        return [*filter(None, [figures, alive, self._outside(), *self.faults()])]

    def _outside(self) -> str:
        """Bytes from before the step, by role, and with the arena."""
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
        """Story of the packing after so many turns: the order of a few blocks with their addresses,
        and the turn that decides; or what was moved by hand."""
        if self.placement.how == BY_HAND:
            names = ", ".join(placed.name for placed, _ in self.moved)
            return [text_of("by_hand", names=names or text_of("nobody"))]
        told = self.told(count)
        last = told.text() if told else text_of("nothing_yet")
        if told and not told.refused and count == len(self.blocks):
            last = self._shared() or last
        if not self.subject.toy:
            return [last]
        order = [text_of("at", name=each.name, address=number(each.address, "MiB"))
                 for each in self.turns[:count]]  # fmt: skip
        return [", ".join(order), last]

    def _shared(self) -> str:
        """The two that were placed first of those that share addresses; empty where none do."""
        for one in self.turns:
            if others := self.sharing(one):
                other = min(others, key=lambda each: each.turn)
                return text_of("share", first=one.name, second=other.name)
        return ""

    def faults(self) -> list[str]:
        """The blocks that live together and share bytes."""
        more, named = len(self.overlaps) - NAMED, self.overlaps[:NAMED]
        counted = [text_of("more_faults", count=f"{more:,}")] if more > 0 else []
        values = ((f"{each.first + 1:,}", each.one.name, each.other.name) for each in named)
        told = [text_of("fault", index=at, first=one, second=other) for at, one, other in values]
        return [*told, *counted]

    def score(self) -> str:
        """The arena beside the lower bound and the smallest one that is known."""
        best, proved = self.best
        arena, more = self.placement.arena, self.placement.arena - best
        amounts = {"top": arena, "bound": self.placement.lower_bound, "best": best}
        text = text_of("score.proved" if proved else "score.known",
                   **{name: in_binary(nbytes) for name, nbytes in amounts.items()})  # fmt: skip
        key = "above" if more > 0 else "better" if more else "best"
        key = "faulty" if self.overlaps else key
        return f"{text} {text_of(f'score.{key}', amount=in_binary(abs(more)))}"

    def about(self, placed: Placed) -> list[str]:
        """One block: what it is, its life, its addresses, who else uses them."""
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
            *(self._company(placed) or [text_of("shares_none")]),
        ]

    def _company(self, placed: Placed) -> list[str]:
        """Other users of the addresses of a block: at the same time, which is a fault, or never."""
        pairs = [(fault.one.name, fault.other.name) for fault in self.overlaps]
        over = ", ".join(one if other == placed.name else other for one, other in pairs
                         if placed.name in (one, other))  # fmt: skip
        said = {"lies_over": over, "shares": self._partners(placed)}
        return [text_of(key, names=names) for key, names in said.items() if names]

    def _partners(self, placed: Placed) -> str:
        others = self.sharing(placed)
        return ", ".join([*(other.name for other in others[:3]), *"…"[: len(others) > 3]])

    def row(self, placed: Placed) -> list[str]:
        """Cells of a block: name, bytes, the same rounded, the operations that it lives from and
        to, address, and who shares it."""
        block = placed.block
        figures = (block.nbytes, placed.size, block.birth + 1, block.death + 1, placed.address)
        shared = self._partners(placed) or text_of("nobody")
        return [placed.name, *(f"{figure:,}" for figure in figures), shared]

    def letters(self, count: int) -> list[str]:
        """The toy after so many turns, a letter for every unit and operation; an X is a fault."""
        size, operations = units.UNITS["MiB"], range(self.subject.operations)
        grid = [["."] * len(operations) for _ in range(self.placement.arena // size)]
        for each in self.turns[:count]:
            for level in range(each.address // size, each.top // size):
                for at in range(each.block.birth, each.block.death + 1):
                    grid[level][at] = each.name if grid[level][at] == "." else "X"
        lines = [f"{level:4d}  {' '.join(line)}" for level, line in enumerate(grid)]
        return [*reversed(lines), f"{'':6}{' '.join(str(at + 1) for at in operations)}"]
