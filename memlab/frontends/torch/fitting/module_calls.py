"""Which modules of a model could run their forward again, and which calls are theirs.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memlab.frontends.torch.dispatch_mode import Recorder
from memlab.frontends.torch.recording import BEFORE, RecordedStorage, Recording
from memlab.frontends.torch.torch_private_api import NORM, STACK
from memlab.step.op import Phase
from memlab.step.tensor import Role


@dataclass(frozen=True, slots=True)
class CallSpan:
    """The calls of one run of a module's forward: ``first`` counted, ``end`` not."""

    first: int
    end: int

    def __contains__(self, call: object) -> bool:
        return isinstance(call, int) and self.first <= call < self.end


@dataclass
class Watched:
    """Observations of a model's modules while it is recorded.

    ``spans`` has every run of every module, by its path; ``norms`` are the modules of batch norm,
    with the bytes of their statistics.
    """

    spans: dict[str, list[CallSpan]] = field(default_factory=dict)
    norms: dict[str, int] = field(default_factory=dict)
    _handles: list[Any] = field(default_factory=list)
    _recorder: Any = None
    _open: list[tuple[str, int]] = field(default_factory=list)

    def build(self, build: Callable[[], Any]) -> Callable[[], Any]:
        """Return a function that builds the same model, with its modules watched."""

        def watched() -> Any:
            model = build()
            for name, module in getattr(model, "named_modules", tuple)():
                self._handles += [
                    module.register_forward_pre_hook(self._enter(name)),
                    module.register_forward_hook(self._leave, always_call=True),
                ]
                if isinstance(module, NORM()):
                    kept = (buffer for buffer in module.buffers(recurse=False))
                    self.norms[name] = sum(storage.nbytes for storage in kept)
            return model

        return watched

    def close(self) -> None:
        """Stop watching: the model may be recorded with a change."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _enter(self, name: str) -> Callable[[Any, Any], None]:
        return lambda module, inputs: self._open.append((name, self._now()))

    def _leave(self, module: Any, inputs: Any, output: Any) -> None:
        name, first = self._open.pop()
        end = self._now()
        if end > first >= 0:
            self.spans.setdefault(name, []).append(CallSpan(first, end))

    def _now(self) -> int:
        """Number of calls recorded so far; every recording begins anew, and backward is not looked
        at."""
        stack = STACK()()
        recorder = next((mode for mode in stack if isinstance(mode, Recorder)), None)
        if recorder is None or recorder.phase is Phase.BACKWARD:
            return -1
        if recorder is not self._recorder:
            self._recorder = recorder
            self.spans.clear()
        return len(recorder.calls)


def candidates(recording: Recording, seen: Watched) -> dict[str, list[CallSpan]]:
    """The modules that can run again with the same result, with all their runs: not the model
    itself, and none of those that ``unfit`` gives a reason for."""
    uses = _Uses(recording)
    return {
        name: spans
        for name, spans in seen.spans.items()
        if name and not any(uses.unfit(name, span, seen.norms) for span in spans)
    }


def savers(recording: Recording, seen: Watched) -> dict[str, list[CallSpan]]:
    """The modules of which what autograd saves can wait elsewhere with the same result, with all
    their runs; the model itself, under the empty name, is one of them."""
    uses = _Uses(recording)
    return {
        name: spans
        for name, spans in seen.spans.items()
        if not any(uses.unsaved(name, span) for span in spans)
    }


class _Uses:
    """Changes of the storages of a recording, by storage and by call."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.changes: dict[int, list[int]] = {}
        for call in recording.calls:
            if call.phase is not Phase.UPDATE:
                for number in call.updates:
                    self.changes.setdefault(number, []).append(call.number)
        self.saved: dict[int, set[int]] = {}
        for call in recording.calls:
            if call.phase is Phase.BACKWARD and call.forward is not None:
                self.saved.setdefault(call.forward, set()).update(call.reads)
        self.again = [call for call in recording.calls if call.again]

    def unfit(self, name: str, span: CallSpan, norms: Mapping[str, int]) -> str:
        """Return the reason why a run of a module would not be the same another time; empty where
        it would."""
        calls = self.recording.calls[span.first : span.end]
        for call in calls:
            for number in call.updates:
                if self._outer(number, span) and not self._statistics(number, norms):
                    return "it changes what it is given"
        for number in {number for call in calls for number in call.reads}:
            if self._outer(number, span) and self._changed_after(number, span):
                return "what it reads is changed later"
        if any(_related(rerun.path, name) for rerun in self.again):
            return "it has a checkpoint already"
        return ""

    def unsaved(self, name: str, span: CallSpan) -> str:
        """Return the reason why tensors that a run of a module saves cannot wait elsewhere; empty
        where they can."""
        if any(_related(rerun.path, name) for rerun in self.again):
            return "it has a checkpoint already"
        for call in self.recording.calls[span.first : span.end]:
            for number in self.saved.get(call.number, ()):
                block = self.recording.blocks[number]
                if not resident(block) and self._changed_in_forward(number, call.number):
                    return "what it saved is changed later"
        return ""

    def _changed_in_forward(self, number: int, after: int) -> bool:
        phases = (Phase.FORWARD, Phase.LOSS)
        changes = [change for change in self.changes.get(number, ()) if change > after]
        return any(self.recording.calls[change].phase in phases for change in changes)

    def _outer(self, number: int, span: CallSpan) -> bool:
        return self.recording.blocks[number].born not in span

    def _statistics(self, number: int, norms: Mapping[str, int]) -> bool:
        block = self.recording.blocks[number]
        return block.role is Role.BUFFER and block.name.rpartition(".")[0] in norms

    def _changed_after(self, number: int, span: CallSpan) -> bool:
        kept = self.recording.blocks[number].role in (Role.BUFFER, Role.PARAMETER)
        return not kept and any(change >= span.end for change in self.changes.get(number, ()))


def inside(name: str, other: str) -> bool:
    """Return whether the module of one name lies in that of another; all lie in the model itself,
    whose name is empty."""
    return name != other and (not other or name.startswith(f"{other}."))


def _related(path: str, name: str) -> bool:
    """Whether one of two modules is inside the other; what the model itself calls is in none."""
    return path == name or inside(path, name) or (bool(path) and inside(name, path))


def resident(block: RecordedStorage) -> bool:
    """Return whether a storage is there before the step and stays, so that no choice changes it."""
    return block.born == BEFORE and block.role is not Role.INPUT
