"""Bytes of a step where some modules run again, from the recording of the plain step alone.

A storage of forward is held by the calls of backward that read it. Where a module runs again, its
own backward holds none of what forward made: it makes that another time, right before its backward
begins, and until then only its inputs stay. So the bytes inside every operation are linear in the
choice, and the best choice is a mixed-integer program (``choosing``). A second recording, of the
model that is wrapped, proves what was chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memlab.frontends.torch.checkpoint_rng import nbytes as state_nbytes
from memlab.frontends.torch.checkpoint_rng import reruns
from memlab.frontends.torch.fitting.module_calls import CallSpan, inside, resident
from memlab.frontends.torch.measured_workspace import MeasuredWorkspace
from memlab.frontends.torch.recording import BEFORE, OperatorCall, RecordedStorage, Recording
from memlab.step.op import Phase

Literal = tuple[str, ...]
"""When something holds: where the named module runs again, ``("+", name)``; where none of these
does, ``("-", *names)``."""
ALWAYS: Literal = ("-",)


@dataclass(slots=True)
class SavedStorage:
    """A storage with its bytes, born inside call ``born``.

    ``until`` says up to which call each condition holds it, none of which excludes another.
    ``second`` says from which call to which it is there another time, where a module runs again.
    """

    nbytes: int
    born: int
    until: dict[Literal, int] = field(default_factory=dict)
    second: dict[str, tuple[int, int]] = field(default_factory=dict)

    def hold(self, when: Literal, call: int) -> None:
        """Note that the storage is held up to a call at least, where the condition holds."""
        self.until[when] = max(call, self.until.get(when, BEFORE))


@dataclass(frozen=True, slots=True)
class ModuleRerun:
    """One run of a module that runs again before call ``at`` of backward.

    ``inside`` are the most bytes while it does, beside what is there, of which ``less`` belong to
    the call ``at`` itself; ``end`` is the last call that needs it.
    """

    name: str
    span: CallSpan
    at: int
    end: int
    inside: int
    less: int


@dataclass(frozen=True)
class Model:
    """Bytes of a step at one batch as they depend on the choice of modules.

    ``base`` are the bytes inside every call that no choice changes, ``held`` the storages that one
    may; ``agains`` are the runs of the candidates, ``seconds`` what running each again takes, and
    ``total`` those of the plain step; ``shared`` is what several modules take together once.
    """

    base: Sequence[int]
    held: Sequence[SavedStorage]
    agains: Sequence[ModuleRerun]
    seconds: Mapping[str, float]
    total: float
    parents: Mapping[str, tuple[str, ...]]
    shared: Mapping[frozenset[str], float] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The candidates, in the order of the model."""
        return tuple(self.seconds)


def model_of(
    recording: Recording, measured: MeasuredWorkspace, spans: Mapping[str, Sequence[CallSpan]],
    norms: Mapping[str, int], batch: int,
) -> Model:  # fmt: skip
    """Model of the bytes of a recording at a batch, as a sum over the candidates
    that are chosen."""
    return CandidateRecording(recording, measured, spans, norms, batch).model()


class CandidateRecording:
    """Reader of a recording that looks for modules that may run again."""

    def __init__(
        self, recording: Recording, measured: MeasuredWorkspace, spans: Mapping[str,
        Sequence[CallSpan]],
        norms: Mapping[str, int], batch: int,
    ) -> None:  # fmt: skip
        self.recording, self.measured, self.norms, self.batch = recording, measured, norms, batch
        self.spans = spans
        self.owners = self._owners()
        self.nodes = self._nodes()
        self.readers = self._readers()

    def model(self) -> Model:
        """Model of the recording; candidates that spare nothing are left out."""
        agains = [rerun for rerun in self._agains() if self._spares(rerun)]
        kept = list(dict.fromkeys(rerun.name for rerun in agains))
        self.spans = {name: self.spans[name] for name in kept}
        self.owners = self._owners()
        seconds = self.measured.seconds
        again = {name: sum(self._seconds(rerun) for rerun in agains if rerun.name == name)
                 for name in kept}  # fmt: skip
        ends = {(rerun.name, rerun.span): rerun for rerun in agains}
        moving = [block for block in self.recording.blocks if self._moves(block)]
        held = [self._held(storage, ends) for storage in moving]
        base = self._base(moving)
        held += [SavedStorage(state_nbytes(), rerun.span.first, {("+", rerun.name): rerun.end})
                 for rerun in agains]  # fmt: skip
        held += list(self._states())
        return Model(base, held, agains, again, sum(seconds.values()), self._parents(kept))

    def _base(self, moving: Sequence[RecordedStorage]) -> list[int]:
        """Bytes inside every call that no choice changes, beside these storages."""
        extra = np.array([self._extra(call.number) for call in self.recording.calls], np.int64)
        steps = np.zeros(len(extra) + 1, np.int64)
        apart = {storage.number for storage in moving}
        for block in self.recording.blocks:
            if block.number not in apart:
                steps[max(block.born, 0)] += self._bytes(block)
                steps[min(block.died + 1, len(extra))] -= self._bytes(block)
        bytes_inside: list[int] = (extra + np.cumsum(steps)[:-1]).tolist()
        return bytes_inside

    def _states(self) -> Iterator[SavedStorage]:
        """Storages that the model's own checkpoints keep."""
        for rerun in reruns(self.recording):
            yield SavedStorage(state_nbytes(), rerun.begin, {ALWAYS: rerun.end})
            yield SavedStorage(state_nbytes(), rerun.first, {ALWAYS: rerun.last})

    # -- who reads what -----------------------------------------------------------------------

    def _owners(self) -> dict[int, tuple[str, ...]]:
        """Candidates that each call of forward lies in, the outermost first."""
        owner_names: dict[int, list[str]] = {}
        for name, spans in self.spans.items():
            for span in spans:
                for call in range(span.first, span.end):
                    owner_names.setdefault(call, []).append(name)
        return {call: tuple(names) for call, names in owner_names.items()}

    def _nodes(self) -> dict[int, list[int]]:
        """Calls of backward that belong to each call of forward, in their order."""
        nodes: dict[int, list[int]] = {call.number: [] for call in self.recording.calls}
        for call in self.recording.calls:
            if call.phase is Phase.BACKWARD and call.forward is not None:
                nodes[call.forward].append(call.number)
        return nodes

    def _readers(self) -> dict[int, list[OperatorCall]]:
        """Calls that read or change each storage, by its number; the last call is the one that lets
        it go."""
        calls: dict[int, list[OperatorCall]] = {block.number: [] for block in self.recording.blocks}
        for call in self.recording.calls:
            for number in (*call.reads, *call.updates):
                calls[number].append(call)
        for block in self.recording.blocks:
            if block.died < len(self.recording.calls) and block.died != BEFORE:
                last = self.recording.calls[block.died]
                if last.phase is Phase.BACKWARD:
                    calls[block.number].append(last)
        return calls

    def _bytes(self, block: RecordedStorage) -> int:
        return self.measured.outputs.get(block.number, block.nbytes).at(self.batch)

    def _extra(self, call: int) -> int:
        extra_bytes = self.measured.extra.get(call)
        return extra_bytes.at(self.batch) if extra_bytes else 0

    def _forward(self, block: RecordedStorage) -> bool:
        """Return whether forward makes a storage, or it is the input."""
        if block.born == BEFORE:
            return not resident(block)
        return self.recording.calls[block.born].phase in (Phase.FORWARD, Phase.LOSS)

    def _moves(self, block: RecordedStorage) -> bool:
        """Return whether a choice can change when a storage is alive."""
        if not self._forward(block) or not self._bytes(block):
            return False
        if self.owners.get(block.born):
            return block.died < len(self.recording.calls) and self._in_backward(block.died)
        return any(self.owners.get(call.number) for call in self.readers[block.number])

    def _in_backward(self, call: int) -> bool:
        return self.recording.calls[call].phase is Phase.BACKWARD

    # -- what holds it ------------------------------------------------------------------------

    def _held(
        self, block: RecordedStorage, agains: Mapping[tuple[str, CallSpan], ModuleRerun]
    ) -> SavedStorage:
        """Return a storage with the calls that may hold it, each under its condition; the docstring
        of the module says how."""
        held = SavedStorage(self._bytes(block), max(block.born, 0))
        inner, readers = set(self.owners.get(block.born, ())), self.readers[block.number]
        for call in readers:
            if call.phase is not Phase.BACKWARD:
                held.hold(ALWAYS, call.number)
                for name in self.owners.get(call.number, ()):
                    if name not in inner:
                        held.hold(("+", name), self._end(name, call.number, agains))
            elif call.forward is None:
                held.hold(ALWAYS, call.number)
            else:
                end = max(self.nodes[call.forward][-1], call.number)
                held.hold(("-", *self.owners.get(call.forward, ())), min(end, block.died))
        if not self._in_backward(min(block.died, len(self.recording.calls) - 1)):
            held.hold(ALWAYS, block.died)
        held.hold(ALWAYS, held.born)
        held.second = dict(self._second(block, agains, readers))
        return held

    def _second(
        self,
        block: RecordedStorage,
        agains: Mapping[tuple[str, CallSpan], ModuleRerun],
        readers: Sequence[OperatorCall],
    ) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield the spans in which a storage is there another time, by the module
        that runs again."""
        for name in self.owners.get(block.born, ()):
            span = next(span for span in self.spans[name] if block.born in span)
            own = [min(max(self.nodes[call.forward][-1], call.number), block.died)
                   for call in readers
                   if self._in_backward(call.number) and call.forward is not None
                   and call.forward in span]  # fmt: skip
            if own and (name, span) in agains:
                yield name, (agains[name, span].at, max(own))

    def _end(self, name: str, call: int, agains: Mapping[tuple[str, CallSpan], ModuleRerun]) -> int:
        span = next(span for span in self.spans[name] if call in span)
        rerun = agains.get((name, span))
        return rerun.end if rerun else call

    # -- running again ------------------------------------------------------------------------

    def _agains(self) -> Iterator[ModuleRerun]:
        for name, spans in self.spans.items():
            for span in spans:
                reruns = self._again(name, span)
                if reruns is not None:
                    yield reruns

    def _again(self, name: str, span: CallSpan) -> ModuleRerun | None:
        """Return a run of a module that backward needs; None where it needs nothing of it."""
        nodes = [number for index in range(span.first, span.end) for number in self.nodes[index]]
        if not nodes:
            return None
        at, end = min(nodes), max(nodes)
        less = self._extra(at) + sum(map(self._bytes, self.recording.born(at)))
        return ModuleRerun(name, span, at, end, self._inside(name, span), less)

    def _inside(self, name: str, span: CallSpan) -> int:
        """Return the most bytes while the calls of a span run again: storages that backward needs
        stay, the rest goes as in forward."""
        alive = most = state_nbytes() + self._statistics(name)
        gone: dict[int, int] = {}
        last = self._last(span)
        for number in range(span.first, last + 1):
            for block in self.recording.born(number):
                alive += self._bytes(block)
                ends = self._needed(block, span, last)
                gone[ends] = gone.get(ends, 0) + self._bytes(block)
            most = max(most, alive + self._extra(number))
            alive -= gone.pop(number, 0)
        return most

    def _statistics(self, name: str) -> int:
        return sum(n for path, n in self.norms.items() if f"{path}.".startswith(f"{name}."))

    def _needed(self, block: RecordedStorage, span: CallSpan, last: int) -> int:
        """Return the last call of the span that needs a storage; one beyond it
        where backward does."""
        readers = self.readers[block.number]
        if any(self._in_backward(call.number) and call.forward in span for call in readers):
            return last + 1
        if block.died in span:
            return min(block.died, last)
        return min(max((c.number for c in readers if c.number in span), default=block.born), last)

    def _last(self, span: CallSpan) -> int:
        """Return the last call that runs again: after it backward has all that it needs."""
        kernel = span.first
        for number in range(span.first, span.end):
            call = self.recording.calls[number]
            for block in (*call.born, *call.updates):
                readers = self.readers[block] if self.recording.blocks[block].born in span else ()
                if any(self._in_backward(c.number) and c.forward in span for c in readers):
                    kernel = number
        return kernel

    def _spares(self, again: ModuleRerun) -> bool:
        """Return whether running a module again frees anything that nobody outside
        needs as long."""
        for number in range(again.span.first, again.span.end):
            for block in self.recording.born(number):
                readers = [c for c in self.readers[block.number] if self._in_backward(c.number)]
                own = [c.number for c in readers if c.forward in again.span]
                others = [c.number for c in readers if c.forward not in again.span]
                if own and max(own) > max(others, default=BEFORE) and self._bytes(block):
                    return True
        return False

    def _seconds(self, again: ModuleRerun) -> float:
        numbers = range(again.span.first, self._last(again.span) + 1)
        return sum(self.measured.seconds.get(number, 0.0) for number in numbers)

    def _parents(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Candidates that each candidate lies in."""
        return {name: tuple(other for other in names if inside(name, other)) for name in names}
