"""A training step that may not fit its card, explained: three sentences, a line of code, the
evidence.

The sentences name the peak, the largest batch that fits, and the cheapest change that makes the
batch fit. The evidence is the bytes of every module at the peak, the bytes that CUDA and the
allocator add to the plan, and the bytes over time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from memlab import optimizers, strings, units
from memlab.clocks import roofline
from memlab.ledger.ledger import Entry, Peak
from memlab.pictures.explain import modules
from memlab.pictures.explain.explained_changes import (
    ExplainedStep,
    PlannedStep,
    StepChange,
    text_of,
)
from memlab.pictures.explain.explained_time import ModuleRun, PlanColumns
from memlab.pictures.explain.modules import ModuleGroup
from memlab.pictures.memory.step_memory import phases
from memlab.pictures.mountain.stack_parts import ROLES, StackPart
from memlab.pictures.values.number_text import batches, percent, three_digits
from memlab.step.op import Phase
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role

FLOOR, MAPS = ROLES[: ROLES.index(Role.WORKSPACE)], ROLES[ROLES.index(Role.WORKSPACE) :]
"""Roles of a stack from the bottom up: bytes that a module owns, and bytes that pass through it."""
SHARES = (
    (0.9, "nearly_all"), (0.55, "most"), (0.48, "half"), (0.40, "nearly_half"), (0.31, "third"),
    (0.0, "largest"),
)  # fmt: skip
"""Least share of the peak for which each word is used."""
OUTLINES = 3
"""Largest number of changes that are drawn as outlines."""
SMALL = 10**9
"""Memory in bytes below which the context of CUDA is said apart."""
SLABS = 40
"""Largest number of slabs: more are thinner than a line."""
MOST = 100_000
"""Largest batch that is explained."""
FAR = 64
"""Largest multiple of the batch that is tried to find one that no longer fits."""


class OutOfMemory(NamedTuple):
    """First operation that no longer fits: its index, the number of the training step and its
    module. The allocator gives up there."""

    at: int
    step: int
    layer: str


@dataclass(frozen=True, eq=False)
class Explained:
    """A subject at a batch and a memory in bytes, as it is or with the change named ``key``.

    ``rows`` are the modules at the peak, ``sentences`` the three sentences, ``code`` the lines to
    paste.
    """

    subject: ExplainedStep
    batch: int
    memory: int
    key: str = ""

    # -- the plan ---------------------------------------------------------------------------

    @property
    def changes(self) -> tuple[StepChange, ...]:
        """Changes that make this batch fit, the cheapest first; none where it fits already."""
        return () if self.fits else self.subject.changes(self.batch, self.memory)

    @cached_property
    def helping(self) -> tuple[StepChange, ...]:
        """Changes that are enough to make the batch fit."""
        return tuple(change for change in self.changes if self.fitting(change))

    def fitting(self, planned: PlannedStep) -> bool:
        """Return True if the card surely holds a plan and the bytes that CUDA and the allocator
        add: the most that they may be."""
        return planned.most(self.batch) <= self.memory

    def may_fit(self, planned: PlannedStep) -> bool:
        """Return True if the card may hold a plan, or may not: it lies within what is unknown."""
        return planned.total(self.batch) <= self.memory < planned.most(self.batch)

    @cached_property
    def fits(self) -> bool:
        """True if the card holds the step without a change."""
        return self.fitting(self.subject.plain)

    @cached_property
    def chosen(self) -> StepChange | None:
        """The change that is on, or None."""
        return next((change for change in self.changes if change.key == self.key), None)

    @cached_property
    def best(self) -> StepChange | None:
        """The cheapest change that is enough, or None."""
        return next(iter(self.helping), None)

    @property
    def now(self) -> PlannedStep:
        """The step on display, with the change that is on."""
        return self.chosen or self.subject.plain

    @cached_property
    def peak(self) -> Peak:
        """The peak of the step on display: its operation and its bytes."""
        return self.now.ledger.peak_at(self.now.micro_batch(self.batch))

    @property
    def module(self) -> str:
        """Path of the module of the peak; empty where the operation belongs to none."""
        return self.subject.path(self.peak.row.layer)

    @property
    def total(self) -> int:
        """Bytes that the card shows at least: the plan, and the bytes that CUDA and the allocator
        add."""
        return self.now.total(self.batch)

    @property
    def most(self) -> int:
        """Bytes that the card shows at most."""
        return self.now.most(self.batch)

    @cached_property
    def largest(self) -> int | None:
        """The largest batch that the card holds, with the bytes that CUDA and the allocator add to
        the plan; None where it holds every batch. This batch is measured where others have an upper
        bound of workspace, so it may fit where that says no."""
        largest = self.now.fit(self.memory)
        if largest is not None and largest < self.batch and self.fitting(self.now):
            return self.batch
        return largest

    @cached_property
    def error(self) -> OutOfMemory | None:
        """First operation that does not fit, in the first step, in which the optimizer has no state
        before its update, or in a later step; None where all fit."""
        plain = self.subject.plain
        ledger, micro_batch = plain.ledger, plain.micro_batch(self.batch)
        room = self.memory - sum(row.nbytes for row in plain.card_estimates(self.batch))
        line = ledger.timeline(micro_batch)
        absent = sum(
            entry.size.at(micro_batch) for entry in ledger.entries
            if entry.role is Role.OPTIMIZER_STATE and entry.memory == DEVICE and entry.birth < 0
        )  # fmt: skip
        update = (i for i, row in enumerate(ledger.rows) if row.phase is Phase.UPDATE)
        begin = next(update, len(line))
        stop = plain.begins[1] if len(plain.begins) > 1 else len(line)
        first = [n - absent if i < begin else n for i, n in enumerate(line[:stop])]
        for timeline in (first, line):
            for at, nbytes in enumerate(timeline):
                if nbytes > room:
                    step = 1 if timeline is first else 2 + bisect_right(plain.begins[1:], at)
                    return OutOfMemory(at, step, self.subject.path(ledger.rows[at].layer))
        return None

    # -- by module --------------------------------------------------------------------------

    @cached_property
    def floor(self) -> dict[Role, int]:
        """Bytes at the peak that modules own, by role: parameters, their gradients, optimizer state
        and the like."""
        nbytes_of = self.now.ledger.roles(self.now.micro_batch(self.batch), self.peak.index)
        return {role: nbytes_of[role] for role in FLOOR}

    @cached_property
    def rows(self) -> tuple[ModuleGroup, ...]:
        """Bytes at the peak that pass through modules, such as feature maps, by module; the most
        first."""
        micro_batch, sizes = self.now.micro_batch(self.batch), dict[str, int]()
        for entry in self.now.ledger.at(micro_batch).alive(self.peak.index):
            if entry.role in MAPS:
                path = self.path(entry)
                sizes[path] = sizes.get(path, 0) + entry.size.at(micro_batch)
        return modules.module_groups(sizes)

    def path(self, entry: Entry) -> str:
        """Return the path of the module that made a block."""
        return self.subject.path(entry.layer or entry.name)

    def row_name(self, group: ModuleGroup) -> str:
        """Return the display name of a row of modules."""
        if group.rest:
            return text_of("rest_of", module=modules.shortened_path(group.name))
        return self.subject.module_name(group.name) or text_of("others", count=group.others)

    @property
    def floor_name(self) -> str:
        """Display name of the row of bytes that modules own."""
        optimizer = optimizers.title(self.now.ledger.optimizer, short=True)
        state = self.floor[Role.OPTIMIZER_STATE]
        return text_of("floor_state" if state else "floor", optimizer=optimizer)

    # -- over time --------------------------------------------------------------------------

    @property
    def outlined(self) -> tuple[StepChange, ...]:
        """The cheapest changes that help, which are drawn as outlines."""
        return self.helping[:OUTLINES]

    def plan_columns(self, count: int) -> tuple[PlanColumns, PlanColumns]:
        """Return the step on display and the unchanged step, each over ``count`` columns of one
        time axis, which stays when a change is put on and off."""
        plain = self.columns_of(self.subject.plain, count)
        return self.columns_of(self.now, count) if self.chosen else plain, plain

    def columns_of(self, planned: PlannedStep, count: int) -> PlanColumns:
        """Return a plan over ``count`` columns of the time axis."""
        key = id(planned), count
        if key not in self._columns:
            self._columns[key] = PlanColumns(planned, self.batch, self._longest, count)
        return self._columns[key]

    @cached_property
    def _columns(self) -> dict[tuple[int, int], PlanColumns]:
        """Columns that were computed, by plan and number."""
        return {}

    @cached_property
    def _longest(self) -> float:
        """Seconds of the longest of the steps that are drawn on one time axis."""
        return max(planned.seconds(self.batch)
                   for planned in (self.subject.plain, self.now, *self.outlined))  # fmt: skip

    def slabs(self, columns: PlanColumns) -> dict[str, list[Entry]]:
        """Return the feature maps that are drawn module by module, in order of birth, by the name
        of the module.

        They are the maps that the best change would remove. Where it removes no whole map, or no
        change is needed, they are the maps of the row with the most bytes.
        """
        if gone := self.removed(columns):
            blocks = [modules.innermost_block(self.path(entry)) for entry in gone]
            return _entries_by_name(gone, blocks)
        named = [row for row in self.rows if row.name]
        if not named:
            return {}
        group, members = named[0], set(named[0].members)
        entries = [e for e in columns.entries if _is_feature_map(e) and self.path(e) in members]
        return _entries_by_name(entries, [group.instance(self.path(entry)) for entry in entries])

    def removed(self, columns: PlanColumns) -> list[Entry]:
        """Return the feature maps that are kept for backward in the step on display and are not
        with the best change; none while a change is on."""
        best = self.best
        if best is None or self.chosen:
            return []
        after = PlanColumns(best, self.batch, 1.0, 1)
        maps = filter(_is_feature_map, after.entries)
        waits = {e.name for e in maps if e.birth < after.backward <= e.death}
        return [
            e for e in columns.entries
            if _is_feature_map(e) and e.birth < columns.backward <= e.death and e.name not in waits
        ]  # fmt: skip

    def spans(self, columns: PlanColumns) -> list[ModuleRun]:
        """Return the runs of operations of one family of modules, through every forward and
        backward; none for a step that takes a batch in parts."""
        if columns.planned.parts > 1:
            return []
        rows = columns.planned.ledger.rows
        last = next(filter(None, (self.subject.path(row.layer) for row in rows)), "")
        where = list[tuple[str, Phase, int, str]]()
        for index, row in enumerate(rows):
            last = self.subject.path(row.layer) or last
            phase = row.phase if row.phase in (Phase.BACKWARD, Phase.UPDATE) else Phase.FORWARD
            step = bisect_right(columns.planned.begins, index)
            where.append((modules.block_family(last), phase, step, last))
        runs, index = list[ModuleRun](), 0
        for (_, phase, _), run in groupby(where, lambda place: place[:3]):
            layers = [layer for *_, layer in run]
            end = index + len(layers) - 1
            if phase is not Phase.UPDATE:
                runs.append(ModuleRun(layers[0], layers[-1], phase is Phase.BACKWARD, index, end))
            index = end + 1
        return runs

    def phases(self, columns: PlanColumns) -> list[tuple[str, int, int]]:
        """Return the name of each phase with its first and last operation; the loss is part of
        forward. In parts, forward and backward of all parts are one phase."""
        phase_spans: list[tuple[str, int, int]] = []
        rows = columns.planned.ledger.rows
        if columns.planned.parts > 1:
            begin = next((i for i, row in enumerate(rows) if row.phase is Phase.UPDATE), len(rows))
            name = text_of("in_parts", parts=columns.planned.parts)
            late = [(_phase_name(Phase.UPDATE), begin, len(rows) - 1)] if begin < len(rows) else []
            return [(name, 0, begin - 1), *late]
        for phase, first, last in phases(columns.planned.ledger.rows):
            name = _phase_name(phase)
            if phase_spans and phase_spans[-1][0] == name:
                first = phase_spans.pop()[1]
            phase_spans.append((name, first, last))
        return [part for span in phase_spans for part in _cut_at(span, columns.planned.begins)]

    def steps(self, columns: PlanColumns) -> list[tuple[str, int, int]]:
        """Return the name of each training step with its first and last operation; none where the
        plan is of one step."""
        begins, count = columns.planned.begins, len(columns.planned.ledger.rows)
        if len(begins) < 2:
            return []
        stops = (*begins[1:], count)
        spans = enumerate(zip(begins, stops, strict=True), 2)
        return [(text_of("nth_step", number=n), begin, stop - 1) for n, (begin, stop) in spans]

    # -- in words ---------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Title of the page: ``'GPT, batch 8, fp32, Adam, 12.0 GB of memory'``."""
        ledger = self.subject.plain.ledger
        batch, memory = (
            text_of("batch", batch=f"{self.batch:,}"),
            text_of("of", memory=memory_text(self.memory)),
        )
        optimizer = optimizers.title(ledger.optimizer)
        words = [self.subject.label, batch, ledger.format, optimizer, memory]
        return ", ".join(filter(None, words))

    @property
    def _beside_sentence(self) -> str:
        """Sentence on the context of CUDA and cuBLAS beside the plan, where they decide: in a small
        memory, or where the plan fits without them. Empty elsewhere."""
        rows = [
            row for row in self.now.card_estimates(self.batch) if row.name in ("context", "cublas")
        ]
        low, high = sum(row.nbytes for row in rows), sum(row.nbytes + row.more for row in rows)
        decides = self.most - high <= self.memory < self.most
        if not rows or not (decides or self.memory < SMALL):
            return ""
        plan = three_digits(self.peak.nbytes)
        return text_of("fits.beside", plan=plan, beside=range_text(low, high))

    @property
    def sentences(self) -> list[str]:
        """The three sentences: the peak, the largest batch that fits, and the change that makes
        this one fit."""
        fit = " ".join(filter(None, (self.fit_sentence, self._beside_sentence)))
        return [self.peak_sentence, fit, self.advice, *filter(None, (self.subject.growth,))]

    @property
    def peak_sentence(self) -> str:
        """Sentence on the peak: its bytes, its phase, its module, and the largest part of it."""
        at = self.peak.row.phase
        phase = text_of(f"in.{Phase.BACKWARD if at is Phase.COPY else at}")
        layer = self.subject.module_name(self.module)
        place = text_of("at", phase=phase, module=layer) if layer else phase
        key = "peak_now" if self.chosen else "peak"
        peak = text_of(key, peak=three_digits(self.peak.nbytes), at=place)
        cause = "" if self.chosen else self.subject.cause(self.batch)
        return " ".join(filter(None, (peak, self._largest_part, cause)))

    @property
    def _largest_part(self) -> str:
        """Sentence on the largest part of the peak: a role that modules own, or the
        tensors that a module makes."""
        owned, maps = sum(self.floor.values()), sum(row.nbytes for row in self.rows)
        if owned >= maps:
            role = max(self.floor, key=self.floor.__getitem__)
            what, nbytes = StackPart(role, False).label, self.floor[role]
            return text_of(f"share.{share_word(nbytes, self.peak.nbytes)}", what=what)
        row = self.rows[0]
        what = text_of("made_in", module=self.row_name(row))
        return text_of(f"share.{share_word(row.nbytes, self.peak.nbytes)}", what=what)

    @property
    def fit_sentence(self) -> str:
        """Sentence on the largest batch that the card holds."""
        memory, batch, largest = memory_text(self.memory), f"{self.batch:,}", self.largest
        where = text_of("where_card" if self.now.card else "where_cpu")
        if self.chosen and self.now.ledger.batches is not None:
            key = self._verdict(self.chosen, "holds", "may_not", "over")
            return text_of(f"fits.{key}", memory=memory, batch=batch, where=where,
                           total=self.total_text(self.now))  # fmt: skip
        if largest is None:
            return text_of("fits.always", memory=memory, where=where)
        values = {"memory": memory, "where": where, "batch": batch, "largest": batches(largest)}
        valid = self.now.ledger.batches
        if self.may_fit(self.now):
            values |= {"total": self.total_text(self.now), "why": text_of(f"why.{self._unsure}")}
            one = valid is not None and len(valid) == 1
            return text_of(f"fits.may{'_one' if one else '' if largest else '_none'}", **values)
        return text_of(f"fits.{self._fit_key(largest)}", **values)

    @property
    def _unsure(self) -> str:
        """Name of the estimate that is known least."""
        return max(self.now.card_estimates(self.batch), key=lambda row: row.more).name

    def total_text(self, planned: PlannedStep) -> str:
        """Return the bytes that the card shows for a plan, as text. Where they are a range, it is
        the end that decides: the most of what fits, the least of what does not, else both."""
        low, high = planned.total(self.batch), planned.most(self.batch)
        if self.may_fit(planned):
            return range_text(low, high)
        return most_text(low, high) if self.fitting(planned) else least_text(low, high)

    def _verdict(self, planned: PlannedStep, fits: str, may: str, over: str) -> str:
        """Return one of three keys: the plan surely fits, it may or may not, or it does not."""
        return fits if self.fitting(planned) else may if self.may_fit(planned) else over

    def _fit_key(self, largest: int) -> str:
        """Return the key of the sentence about the largest batch.

        Fragments do not grow evenly with the batch, so a batch below the largest may not fit.
        """
        valid = self.now.ledger.batches
        if not self.fitting(self.now):
            if valid is not None and len(valid) == 1:
                return "not_one"
            least = self.now.total(self.now.parts) <= self.memory
            return "less" if largest else "none_sure" if least else "none"
        if valid is not None and largest + 1 >= valid.stop:
            return "alone" if len(valid) == 1 else "last"
        return "more" if largest > self.batch else "just"

    @property
    def advice(self) -> str:
        """Sentence on the cheapest change that makes the batch fit, and its cost; or that none is
        needed."""
        if self.chosen:
            return self._change_sentence(self.chosen, "now")
        if self.best:
            return self._change_sentence(self.best, "best")
        if self.fits:
            return " ".join(filter(None, (text_of("nothing"), self._next_batch_sentence)))
        return self._no_change_sentence("none", self.batch, self.changes)

    def _change_sentence(self, change: StepChange, key: str) -> str:
        """Return a sentence on gain and cost of a change, and on its other effects."""
        total = self.total_text(change)
        sentence = text_of(f"advice.{key}", change=change.title, cost=change.cost, total=total)
        return " ".join(filter(None, (sentence, change.asks)))

    def _no_change_sentence(self, key: str, batch: int, changes: Sequence[StepChange]) -> str:
        """Return the sentence that no change is enough, with the fewest bytes that any of them
        needs."""
        tried = [self.subject.plain, *changes]
        least = min(tried, key=lambda planned: planned.most(batch))
        values = {"batch": f"{batch:,}", "memory": memory_text(self.memory),
                "least": most_text(least.total(batch), least.most(batch))}  # fmt: skip
        if isinstance(least, StepChange):
            return text_of(f"{key}_over", how=least.title, **values)
        return text_of(f"{key}_plain", **values)

    @cached_property
    def larger(self) -> int | None:
        """The first batch of 2, 4, ... times this one that does not fit; None where none up to 64
        times is."""
        batches = (self.batch * 2**power for power in range(1, FAR.bit_length()))
        largest = self.subject.plain.fit(self.memory)
        valid = self.subject.plain.ledger.batches
        if largest is None:
            return None
        larger = next((batch for batch in batches if batch > largest), None)
        return larger if larger and (valid is None or larger in valid) else None

    @property
    def _next_batch_sentence(self) -> str:
        """Sentence on the change that the next larger batch needs; empty without such a batch."""
        if self.larger is None:
            return ""
        changes = self.subject.changes(self.larger, self.memory)
        best = next((c for c in changes if c.most(self.larger) <= self.memory), None)
        if best is None:
            return self._no_change_sentence("next", self.larger, changes)
        return text_of("next", batch=f"{self.larger:,}", change=best.title, cost=best.cost)

    @property
    def code(self) -> tuple[str, ...]:
        """Lines of code to paste for the change; none where nothing is to change."""
        change = self.chosen or self.best
        return change.code if change else ()

    @property
    def alone(self) -> tuple[str, ...]:
        """Lines of code with the same effect without memlab, where those of ``code`` need it."""
        change = self.chosen or self.best
        return change.alone if change else ()

    @property
    def cross(self) -> str:
        """Step and module of the error in words, on two lines."""
        return self.cross_in("error")

    def cross_in(self, form: str) -> str:
        """Return step and module of the error in words; empty where no error comes.

        Args:
            form: ``"error"`` for two lines, ``"error_one"`` for one, ``"error_tall"`` for more.
        """
        error = self.error
        if error is None:
            return ""
        names = {1: text_of("first_step"), 2: text_of("second_step")}
        which = names.get(error.step) or text_of("nth_step", number=error.step)
        module = self.subject.module_name(error.layer) or text_of("no_module")
        return text_of(form, step=which, module=module)

    @property
    def card(self) -> str:
        """Sentence on the bytes that the card shows, which are more than the plan, and on whether
        they fit."""
        when = "now" if self.chosen else "plain"
        when = when if self.now.card else f"{when}_cpu"
        key = self._verdict(self.now, "holds", "may", "over")
        return text_of(f"card.{when}.{key}", total=self.total_text(self.now))

    @property
    def notes(self) -> list[str]:
        """Sources of the figures, as sentences."""
        rates = roofline.rates()
        key = "planned_here" if rates.here else "planned"
        measured = [text_of("kernels", how=how) for how in self._workspace_notes]
        if self.subject.lacks_workspace:
            measured = [text_of("no_kernels")]
        return [
            text_of(key, machine=rates.processor, date=rates.machine["date"]),
            *([text_of("beside")] if self.now.card else []),
            *(
                text_of("cudnn")
                for row in self.now.card_estimates(self.batch)
                if row.name == "cudnn"
            ),
            *measured,
        ]

    @property
    def _workspace_notes(self) -> tuple[str, ...]:
        """Notes on the batches at which workspace was measured; empty where it was planned."""
        ledger = self.now.ledger
        return ledger.at(self.now.micro_batch(self.batch)).notes[len(ledger.notes) :]

    # -- exact ------------------------------------------------------------------------------

    def table(self) -> list[list[str]]:
        """Return rows of module, bytes and share of the peak; the last one is the peak."""
        cells = [(self.row_name(row), row.nbytes) for row in self.rows]
        cells += [(StackPart(role, False).label, n) for role, n in self.floor.items() if n]
        cells.sort(key=lambda cell: -cell[1])
        cells.append((text_of("peak_row"), self.peak.nbytes))
        return [[name, f"{n:,}", percent(n, self.peak.nbytes) + " %"] for name, n in cells]

    def sums(self) -> list[list[str]]:
        """Return rows of the plan and of the bytes that CUDA and the allocator add: name, bytes,
        MiB (as nvidia-smi counts) and origin; the last one is the sum."""
        plan = self.now.ledger.peak(self.now.micro_batch(self.batch), workspace=False)
        inside = self.peak.nbytes - plan
        workspace = [("workspace", inside, inside, "measured")] if inside else []
        rows = self.now.card_estimates(self.batch)
        beside = [(row.name, row.nbytes, row.nbytes + row.more, row.origin) for row in rows]
        cells = [("plan", plan, plan, "planned"), *workspace, *beside,
                 ("sum", self.total, self.most, "")]  # fmt: skip
        return [
            [
                text_of(f"row.{key}"),
                exact_range(low, high),
                exact_range(round(low / 2**20), round(high / 2**20)),
                origin and text_of(f"origin.{origin}"),
            ]
            for key, low, high, origin in cells
        ]

    def change_rows(self) -> list[list[str]]:
        """Return rows of all changes: title, bytes that the card shows, cost in time, and whether
        it is enough."""
        return [
            [change.title, exact_range(change.total(self.batch), change.most(self.batch)),
             change.cost, text_of(self._verdict(change, "enough", "may", "too_much"))]
            for change in self.changes
        ]  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
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
            "beside": [row._asdict() for row in self.now.card_estimates(self.batch)],
            "total_bytes": self.total,
            "total_bytes_at_most": self.most,
            "may_fit": self.may_fit(self.now),
            "growth": self.subject.growth or None,
            "changes": [
                {"key": change.key, "title": change.title, "total_bytes": change.total(self.batch),
                 "total_bytes_at_most": change.most(self.batch), "extra_time": change.extra,
                 "same_numbers": change.same,
                 "fits": self.fitting(change), "code": list(change.code)}
                for change in self.changes
            ],
        }  # fmt: skip


def range_text(low: int, high: int) -> str:
    """Return bytes with three digits; where the two ends differ, from one to the other."""
    ends = [three_digits(low), three_digits(high)]
    return ends[0] if ends[0] == ends[1] else text_of("range", low=ends[0], high=ends[1])


def most_text(low: int, high: int) -> str:
    """Return the upper end of a range with three digits: ``'at most 2.66 GB'``."""
    most = three_digits(high)
    return most if most == three_digits(low) else text_of("at_most", nbytes=most)


def least_text(low: int, high: int) -> str:
    """Return the lower end of a range with three digits: ``'at least 2.08 GB'``."""
    least = three_digits(low)
    return least if least == three_digits(high) else text_of("at_least", nbytes=least)


def exact_range(low: int, high: int) -> str:
    """Return a number with all digits; where the two ends differ, from one to the other."""
    return f"{low:,}" if low == high else text_of("range", low=f"{low:,}", high=f"{high:,}")


def memory_text(nbytes: int) -> str:
    """Return a memory in a decimal unit with four digits: ``'12 GB'``, ``'1.5 GB'``."""
    for unit in ("TB", "GB", "MB", "kB"):
        if nbytes >= units.DECIMAL[unit]:
            return f"{nbytes / units.DECIMAL[unit]:,.4g} {unit}"
    return units.exact(nbytes)


def _entries_by_name(entries: Sequence[Entry], paths: Sequence[str]) -> dict[str, list[Entry]]:
    """Return blocks by the name of their module; where there are more than 40 names, all under the
    empty name."""
    named: dict[str, list[Entry]] = {}
    names = [modules.shortened_path(path) for path in paths]
    many = len(set(names)) > SLABS
    for entry, name in zip(entries, names, strict=True):
        named.setdefault("" if many else name, []).append(entry)
    return named


def _is_feature_map(entry: Entry) -> bool:
    """True if a block is a feature map that grows with the batch."""
    return entry.role is Role.FEATURE_MAP and bool(entry.size.per_sample)


def _cut_at(span: tuple[str, int, int], begins: Sequence[int]) -> Iterator[tuple[str, int, int]]:
    """Yield the parts of a span of operations that lie in one training step each."""
    name, first, last = span
    edges = [first, *(begin for begin in begins if first < begin <= last), last + 1]
    for begin, stop in pairwise(edges):
        yield name, begin, stop - 1


def _phase_name(phase: Phase) -> str:
    """Return the name of a phase; the loss counts as forward."""
    return strings.get(f"phase.{Phase.FORWARD if phase is Phase.LOSS else phase}")


def share_word(part: int, whole: int) -> str:
    """Return the word for a part of a whole, such as ``"most"`` or ``"half"``."""
    return next(word for least, word in SHARES if part >= least * whole)
