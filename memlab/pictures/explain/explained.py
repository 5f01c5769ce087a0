"""A model that may not fit its card, explained: three sentences, a line of code, and the evidence.

Where the peak is; the largest batch that fits; the cheapest change that makes the batch fit. Then
the bytes of every module at the peak, why a card shows more, and the mountain over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from memlab import optimizers, strings, units
from memlab.clocks import roofline
from memlab.ledger.ledger import Entry, Peak
from memlab.pictures.explain import modules
from memlab.pictures.explain.explained_changes import ExplainedStep, Planned, StepChange, text_of
from memlab.pictures.explain.explained_time import ModuleRun, PlanColumns
from memlab.pictures.explain.modules import ModuleGroup
from memlab.pictures.memory.step_memory import phases
from memlab.pictures.mountain.stack_parts import ROLES, StackPart
from memlab.pictures.values.number_text import batches, percent, three_digits
from memlab.step.op import Phase
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role

FLOOR, MAPS = ROLES[: ROLES.index(Role.WORKSPACE)], ROLES[ROLES.index(Role.WORKSPACE) :]
"""The roles of a stack from the bottom up: what each module owns, and what passes through it."""
SHARES = ((0.9, "nearly_all"), (0.55, "most"), (0.45, "half"), (0.28, "third"), (0.0, "largest"))
"""From which share of the peak on a word is used."""
SLABS = 40
"""So many slabs at most: more are thinner than a line."""
MOST = 100_000
"""The largest batch that is explained."""
FAR = 64
"""Up to so many times the batch a larger one is looked for that no longer fits."""


class OutOfMemory(NamedTuple):
    """First operation that no longer fits, in step 1 or 2: the allocator gives up there."""

    at: int
    step: int
    layer: str


@dataclass(frozen=True, eq=False)
class Explained:
    """A subject at a batch and a memory, as it is or with the change of a key.

    ``rows`` are the modules at the peak; ``sentences`` are the three, ``code`` the lines to paste.
    """

    subject: ExplainedStep
    batch: int
    memory: int
    key: str = ""

    # -- what is planned --------------------------------------------------------------------

    @property
    def changes(self) -> tuple[StepChange, ...]:
        """Changes that make this batch fit, the cheapest first; none where it fits."""
        return () if self.fits else self.subject.changes(self.batch, self.memory)

    @cached_property
    def helping(self) -> tuple[StepChange, ...]:
        """Changes that are enough."""
        return tuple(each for each in self.changes if self.fitting(each))

    def fitting(self, planned: Planned) -> bool:
        """Whether the card holds a plan with all that lies beside it."""
        return planned.total(self.batch) <= self.memory

    @cached_property
    def fits(self) -> bool:
        """Whether it does as the step is."""
        return self.fitting(self.subject.plain)

    @cached_property
    def chosen(self) -> StepChange | None:
        """The change that is on."""
        return next((each for each in self.changes if each.key == self.key), None)

    @cached_property
    def best(self) -> StepChange | None:
        """The cheapest that is enough."""
        return next(iter(self.helping), None)

    @property
    def now(self) -> Planned:
        """The step with the change that is on."""
        return self.chosen or self.subject.plain

    @cached_property
    def peak(self) -> Peak:
        """Operation in which the most is alive."""
        return self.now.ledger.peak_at(self.now.held(self.batch))

    @property
    def module(self) -> str:
        """The module of the peak; empty where it is in none."""
        return self.subject.path(self.peak.row.layer)

    @property
    def total(self) -> int:
        """Bytes that the card shows."""
        return self.now.total(self.batch)

    @cached_property
    def largest(self) -> int | None:
        """The largest batch that the card holds, with all that lies beside the plan; None where
        every batch is."""
        return self.now.fit(self.memory)

    @cached_property
    def error(self) -> OutOfMemory | None:
        """End of a run: in the first step, in which the optimizer has no state yet, or in the
        second."""
        plain = self.subject.plain
        ledger, held = plain.ledger, plain.held(self.batch)
        room = self.memory - sum(row.nbytes for row in plain.beside(self.batch))
        line = ledger.timeline(held)
        absent = sum(
            each.size.at(held) for each in ledger.entries
            if each.role is Role.OPTIMIZER_STATE and each.memory == DEVICE and each.birth < 0
        )  # fmt: skip
        update = (i for i, row in enumerate(ledger.rows) if row.phase is Phase.UPDATE)
        begin = next(update, len(line))
        first = [n - absent if i < begin else n for i, n in enumerate(line)]
        for step, tried in ((1, first), (2, line)):
            for at, nbytes in enumerate(tried):
                if nbytes > room:
                    return OutOfMemory(at, step, self.subject.path(ledger.rows[at].layer))
        return None

    # -- by module --------------------------------------------------------------------------

    @cached_property
    def floor(self) -> dict[Role, int]:
        """The bytes at the peak of what every module owns."""
        found = self.now.ledger.roles(self.now.held(self.batch), self.peak.index)
        return {role: found[role] for role in FLOOR}

    @cached_property
    def rows(self) -> tuple[ModuleGroup, ...]:
        """Bytes that pass through the modules, the most first."""
        held, sizes = self.now.held(self.batch), dict[str, int]()
        for each in self.now.ledger.alive(self.peak.index):
            if each.role in MAPS:
                path = self.path(each)
                sizes[path] = sizes.get(path, 0) + each.size.at(held)
        return modules.rows(sizes)

    def path(self, entry: Entry) -> str:
        """The module that made a block."""
        return self.subject.path(entry.layer or entry.name)

    def row_name(self, group: ModuleGroup) -> str:
        """Display name of a row."""
        if group.rest:
            return text_of("rest_of", module=modules.ending(group.name))
        return self.subject.module_name(group.name) or text_of("others", count=group.others)

    @property
    def floor_name(self) -> str:
        """Display name of the row of what modules own."""
        optimizer = optimizers.title(self.now.ledger.optimizer, short=True)
        state = self.floor[Role.OPTIMIZER_STATE]
        return text_of("floor_state" if state else "floor", optimizer=optimizer)

    # -- over time --------------------------------------------------------------------------

    def shown(self, count: int) -> tuple[PlanColumns, PlanColumns]:
        """The step of now and the plain one over so many columns of the same time."""
        plain = PlanColumns(self.subject.plain, self.batch, 1, count)
        now = PlanColumns(self.now, self.batch, 1, count) if self.chosen else plain
        longest = max(float(each.times.sum()) for each in (plain, now))
        made = [PlanColumns(each.planned, self.batch, longest, count) for each in (now, plain)]
        return made[0], made[0] if now is plain else made[1]

    def slabs(self, shown: PlanColumns) -> dict[str, list[Entry]]:
        """Maps by module, in order of birth: those that the change would remove; where it removes
        no map as a whole, or none is needed, those of the row with the most."""
        if gone := self.removed(shown):
            return _few(gone, [modules.ending(modules.block(self.path(each))) for each in gone])
        named = [row for row in self.rows if row.name]
        if not named:
            return {}
        group, members = named[0], set(named[0].members)
        found = [e for e in shown.entries if _map(e) and self.path(e) in members]
        return _few(found, [modules.ending(group.instance(self.path(each))) for each in found])

    def removed(self, shown: PlanColumns) -> list[Entry]:
        """The maps that wait for backward in the plain step, and with the change do not."""
        best = self.best
        if best is None or self.chosen:
            return []
        after = PlanColumns(best, self.batch, 1.0, 1)
        waits = {e.name for e in after.entries if _map(e) and e.birth < after.backward <= e.death}
        return [
            e for e in shown.entries
            if _map(e) and e.birth < shown.backward <= e.death and e.name not in waits
        ]  # fmt: skip

    def spans(self, shown: PlanColumns) -> list[ModuleRun]:
        """Runs of operations by module, through forward and backward."""
        if shown.planned.parts > 1:
            return []
        rows = shown.planned.ledger.rows
        last, where = "", list[tuple[str, bool, str]]()
        for row in rows:
            if row.phase is Phase.UPDATE:
                break
            last = self.subject.path(row.layer) or last
            where.append((modules.family(last), row.phase is Phase.BACKWARD, last))
        found, index = list[ModuleRun](), 0
        for (_, back), run in groupby(where, lambda each: each[:2]):
            layers = [layer for *_, layer in run]
            found.append(ModuleRun(layers[0], layers[-1], back, index, index + len(layers) - 1))
            index += len(layers)
        return found

    def phases(self, shown: PlanColumns) -> list[tuple[str, int, int]]:
        """The phases with their first and last operation; the loss is part of forward."""
        found: list[tuple[str, int, int]] = []
        rows = shown.planned.ledger.rows
        if shown.planned.parts > 1:
            begin = next((i for i, row in enumerate(rows) if row.phase is Phase.UPDATE), len(rows))
            name = text_of("in_parts", parts=shown.planned.parts)
            late = [(_phase(Phase.UPDATE), begin, len(rows) - 1)] if begin < len(rows) else []
            return [(name, 0, begin - 1), *late]
        for phase, first, last in phases(shown.planned.ledger.rows):
            name = _phase(phase)
            if found and found[-1][0] == name:
                first = found.pop()[1]
            found.append((name, first, last))
        return found

    # -- in words ---------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """``'GPT, batch 8, fp32, Adam, 12.0 GB of memory'``."""
        ledger = self.subject.plain.ledger
        batch, memory = (
            text_of("batch", batch=f"{self.batch:,}"),
            text_of("of", memory=amount(self.memory)),
        )
        optimizer = optimizers.title(ledger.optimizer)
        words = [self.subject.label, batch, ledger.format, optimizer, memory]
        return ", ".join(filter(None, words))

    @property
    def sentences(self) -> list[str]:
        """The peak and where; the largest batch that fits; what makes this one fit."""
        return [self.where, self.held, self.advice]

    @property
    def where(self) -> str:
        """The peak, its phase, its module, and what most of it is."""
        at = self.peak.row.phase
        phase = text_of(f"in.{Phase.BACKWARD if at is Phase.COPY else at}")
        layer = self.subject.module_name(self.module)
        said = text_of("at", phase=phase, module=layer) if layer else phase
        key = "peak_now" if self.chosen else "peak"
        return f"{text_of(key, peak=three_digits(self.peak.nbytes), at=said)} {self._mostly}"

    @property
    def _mostly(self) -> str:
        """Largest part of the peak, in words."""
        owned, maps = sum(self.floor.values()), sum(row.nbytes for row in self.rows)
        if owned >= maps:
            role = max(self.floor, key=lambda each: self.floor[each])
            what, nbytes = StackPart(role, False).label, self.floor[role]
            return text_of(f"share.{_share(nbytes, self.peak.nbytes)}", what=what)
        row = self.rows[0]
        what = text_of("maps_of", module=self.row_name(row))
        return text_of(f"share.{_share(row.nbytes, self.peak.nbytes)}", what=what)

    @property
    def held(self) -> str:
        """The largest batch that the card holds."""
        memory, batch, largest = amount(self.memory), f"{self.batch:,}", self.largest
        if self.chosen and self.now.ledger.batches is not None:
            return text_of("fits.holds" if self.fitting(self.chosen) else "fits.over",
                       memory=memory, batch=batch, total=three_digits(self.total))  # fmt: skip
        if largest is None:
            return text_of("fits.always", memory=memory)
        return text_of(f"fits.{self._holds(largest)}", memory=memory, batch=batch,
                   largest=batches(largest))  # fmt: skip

    def _holds(self, largest: int) -> str:
        """The sentence that says what the card holds. Fragments do not grow evenly with the batch,
        so a batch below the largest may not fit."""
        if not self.fitting(self.now):
            return "less" if largest else "none"
        valid = self.now.ledger.batches
        if valid is not None and largest + 1 >= valid.stop:
            return "alone"
        return "more" if largest > self.batch else "just"

    @property
    def advice(self) -> str:
        """The cheapest change that makes the batch fit, and its cost; or that none is needed."""
        if self.chosen:
            return self._of_change(self.chosen, "now")
        if self.best:
            return self._of_change(self.best, "best")
        if self.fits:
            return " ".join(filter(None, (text_of("nothing"), self._next)))
        return self._none("none", self.batch, self.changes)

    def _of_change(self, change: StepChange, key: str) -> str:
        """Gain and cost of a change, and what it asks for."""
        total = three_digits(change.total(self.batch))
        said = text_of(f"advice.{key}", change=change.title, cost=change.cost, total=total)
        return " ".join(filter(None, (said, change.asks)))

    def _none(self, key: str, batch: int, changes: Sequence[StepChange]) -> str:
        """Sentence that no change is enough, with the least that there is."""
        tried = [self.subject.plain, *changes]
        least = min(tried, key=lambda each: each.total(batch))
        said = {"batch": f"{batch:,}", "memory": amount(self.memory),
                "least": three_digits(least.total(batch))}  # fmt: skip
        if isinstance(least, StepChange):
            return text_of(f"{key}_over", how=least.title, **said)
        return text_of(f"{key}_plain", **said)

    @cached_property
    def larger(self) -> int | None:
        """The next batch that does not fit: so many times this one; None where none is near."""
        tried = (self.batch * 2**power for power in range(1, FAR.bit_length()))
        largest = self.subject.plain.fit(self.memory)
        valid = self.subject.plain.ledger.batches
        found = next((each for each in tried if largest is not None and each > largest), None)
        return found if found and (valid is None or found in valid) else None

    @property
    def _next(self) -> str:
        """Change that a larger batch would take."""
        if self.larger is None:
            return ""
        changes = self.subject.changes(self.larger, self.memory)
        best = next((c for c in changes if c.total(self.larger) <= self.memory), None)
        if best is None:
            return self._none("next", self.larger, changes)
        return text_of("next", batch=f"{self.larger:,}", change=best.title, cost=best.cost)

    @property
    def code(self) -> tuple[str, ...]:
        """The lines to paste; none where nothing is to change."""
        found = self.chosen or self.best
        return found.code if found else ()

    @property
    def alone(self) -> tuple[str, ...]:
        """Lines that do the same without memlab, where those of ``code`` need it."""
        found = self.chosen or self.best
        return found.alone if found else ()

    @property
    def cross(self) -> str:
        """Place of the error, in words."""
        return self.cross_in("error")

    def cross_in(self, form: str) -> str:
        """The same in two lines, ``"error"``, or in more, ``"error_tall"``; empty where none
        comes."""
        found = self.error
        if found is None:
            return ""
        which = text_of("first_step" if found.step == 1 else "second_step")
        module = self.subject.module_name(found.layer) or text_of("no_module")
        return text_of(form, step=which, module=module)

    @property
    def card(self) -> str:
        """Reason why the card shows more, and whether that fits."""
        when = "now" if self.chosen else "plain"
        key = "holds" if self.fitting(self.now) else "over"
        return text_of(f"card.{when}.{key}", total=three_digits(self.total))

    @property
    def notes(self) -> list[str]:
        """Sources of the figures."""
        rates = roofline.rates()
        key = "planned_here" if rates.here else "planned"
        return [
            text_of(key, machine=rates.processor, date=rates.machine["date"]),
            text_of("beside"),
        ]

    # -- exact ------------------------------------------------------------------------------

    def table(self) -> list[list[str]]:
        """Module, bytes, share of the peak; the sum is the peak."""
        cells = [(self.row_name(row), row.nbytes) for row in self.rows]
        cells += [(StackPart(role, False).label, n) for role, n in self.floor.items() if n]
        cells.sort(key=lambda cell: -cell[1])
        cells.append((text_of("peak_row"), self.peak.nbytes))
        return [[name, f"{n:,}", percent(n, self.peak.nbytes) + " %"] for name, n in cells]

    def sums(self) -> list[list[str]]:
        """The plan and what lies beside it, in bytes and in MiB, as nvidia-smi counts, each with
        where it comes from."""
        plan = self.now.ledger.peak(self.now.held(self.batch), workspace=False)
        inside = self.peak.nbytes - plan
        workspace = [("workspace", inside, "measured")] if inside else []
        beside = (row[:3] for row in self.now.beside(self.batch))
        cells = [("plan", plan, "planned"), *workspace, *beside, ("sum", self.total, "")]
        return [
            [
                text_of(f"row.{key}"),
                f"{n:,}",
                f"{n / 2**20:,.0f}",
                origin and text_of(f"origin.{origin}"),
            ]
            for key, n, origin in cells
        ]

    def listed(self) -> list[list[str]]:
        """Every change: what it is, the card's bytes with it, its time, whether it is enough."""
        return [
            [each.title, f"{each.total(self.batch):,}", each.cost,
             text_of("enough" if self.fitting(each) else "too_much")]
            for each in self.changes
        ]  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """Figures for JSON."""
        error = self.error
        return {
            "title": self.title,
            "batch": self.batch,
            "memory_bytes": self.memory,
            "fits": self.fitting(self.now),
            "sentences": self.sentences,
            "code": list(self.code),
            "alone": list(self.alone),
            "peak": {"bytes": self.peak.nbytes, "operation": self.peak.row.name,
                     "phase": str(self.peak.row.phase), "module": self.module},
            "largest_batch": self.largest,
            "error": error and {"step": error.step, "module": error.layer},
            "modules": [{"module": self.row_name(row), "bytes": row.nbytes} for row in self.rows],
            "owned": {str(role): nbytes for role, nbytes in self.floor.items()},
            "beside": [row._asdict() for row in self.now.beside(self.batch)],
            "total_bytes": self.total,
            "changes": [
                {"key": each.key, "title": each.title, "total_bytes": each.total(self.batch),
                 "extra_time": each.extra, "same_numbers": each.same,
                 "fits": self.fitting(each), "code": list(each.code)}
                for each in self.changes
            ],
        }  # fmt: skip


def amount(nbytes: int) -> str:
    """A memory as it was asked for: ``'12 GB'``, ``'1.5 GB'``."""
    for unit in ("TB", "GB", "MB", "kB"):
        if nbytes >= units.DECIMAL[unit]:
            return f"{nbytes / units.DECIMAL[unit]:,.4g} {unit}"
    return units.exact(nbytes)


def _few(entries: Sequence[Entry], names: Sequence[str]) -> dict[str, list[Entry]]:
    """Blocks by name; where there are many names, all in one."""
    found: dict[str, list[Entry]] = {}
    many = len(set(names)) > SLABS
    for entry, name in zip(entries, names, strict=True):
        found.setdefault("" if many else name, []).append(entry)
    return found


def _map(entry: Entry) -> bool:
    return entry.role is Role.FEATURE_MAP and bool(entry.size.per_sample)


def _phase(phase: Phase) -> str:
    """The name of a phase; the loss counts as forward."""
    return strings.get(f"phase.{Phase.FORWARD if phase is Phase.LOSS else phase}")


def _share(part: int, whole: int) -> str:
    return next(word for least, word in SHARES if part >= least * whole)
