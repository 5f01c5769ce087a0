"""Causes of a peak that a recording shows: what the loop or the model does, and how many bytes of
the peak it holds.

Each cause is looked for in the calls and storages of a recording alone. Import this module only
where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from memlab.frontends.torch.recording import BEFORE, OperatorCall, RecordedStorage, Recording
from memlab.ledger.plan import plan
from memlab.step.op import CALL, Phase
from memlab.step.step import Step
from memlab.step.tensor import Role

LEAST = 0.1
"""Least share of the peak that a cause holds to be named."""
OFTEN = 10
"""Runs of one module in a step from which on it is said that it runs often."""
LITTLE = 0.02
"""Share of the peak that checkpoints must save not to be called useless."""


@dataclass(frozen=True)
class Cause:
    """Cause of a peak: the name of its text, the bytes of the peak that it holds, and what the text
    names."""

    key: str
    nbytes: int
    names: dict[str, Any] = field(default_factory=dict)


def causes(recording: Recording, call: int, batch: int) -> list[Cause]:
    """Return the causes of the bytes that are there in a call, those that hold most first.

    Args:
        recording: the recorded step.
        call: number of the call of the peak.
        batch: samples of the step.
    """
    moment = _Moment(recording, call, batch)
    found = [cause for look in _LOOKS for cause in look(moment)]
    return sorted(found, key=lambda cause: -cause.nbytes)


def cause_of_peak(recording: Recording, step: Step, batch: int) -> Cause | None:
    """Return the cause that holds most of the peak of a recorded step; None where there is none."""
    at = plan(step).peak_at(batch, workspace=False).index
    return next(iter(causes(recording, step.ops[at].attributes[CALL], batch)), None)


class _Moment:
    """Storages that are there in one call of a recording."""

    def __init__(self, recording: Recording, call: int, batch: int) -> None:
        self.recording, self.batch, self.number = recording, batch, call
        self.calls: Sequence[OperatorCall] = recording.calls
        self.phase = self.calls[call].phase
        self.alive = list(recording.alive(call))
        self.total = self.size(self.alive)

    def size(self, blocks: Any) -> int:
        """Return the bytes of storages."""
        return sum(block.nbytes.at(self.batch) for block in blocks)

    def matters(self, nbytes: int) -> bool:
        """Return whether bytes are a part of the peak that is worth a sentence."""
        return nbytes >= LEAST * self.total

    @cached_property
    def maps(self) -> list[RecordedStorage]:
        """Feature maps that are there."""
        return [block for block in self.alive if block.role is Role.FEATURE_MAP]

    @cached_property
    def frozen(self) -> set[int]:
        """Numbers of the parameters that have no gradient in the step."""
        blocks = self.recording.blocks
        owners = {block.owner for block in blocks if block.role is Role.PARAMETER_GRADIENT}
        parameters = (block for block in blocks if block.role is Role.PARAMETER)
        return {block.number for block in parameters if block.name not in owners}

    @cached_property
    def parameters(self) -> list[RecordedStorage]:
        """All parameters."""
        return [block for block in self.recording.blocks if block.role is Role.PARAMETER]

    @cached_property
    def forward(self) -> list[OperatorCall]:
        """Calls of forward and of the loss, without those that a checkpoint runs again."""
        phases = (Phase.FORWARD, Phase.LOSS)
        return [call for call in self.calls if call.phase in phases and not call.again]

    def born_in(self, block: RecordedStorage) -> OperatorCall | None:
        """Return the call that made a storage, None for one that was there before."""
        return None if block.born == BEFORE else self.calls[block.born]


def _foreach(moment: _Moment) -> Iterator[Cause]:
    """Yield the temporaries of an optimizer that updates all parameters at once."""
    made = (moment.born_in(block) for block in moment.alive)
    temporaries = [
        block for block, call in zip(moment.alive, made, strict=True)
        if call and call.phase is Phase.UPDATE and call.kind.startswith("_foreach")
        and block.role is Role.GRADIENT_MAP
    ]  # fmt: skip
    if moment.phase is Phase.UPDATE and moment.matters(nbytes := moment.size(temporaries)):
        yield Cause("foreach", nbytes)


def _often(moment: _Moment) -> Iterator[Cause]:
    """Yield the module that runs most often in a step."""
    runs: Counter[int] = Counter()
    most: Counter[int] = Counter()
    paths: dict[int, str] = {}
    weights = {block.number for block in moment.parameters}
    for call in moment.calls:
        if call.phase is Phase.BACKWARD:
            runs.clear()
        elif not call.again and not call.view:
            for number in weights.intersection(call.reads):
                runs[number] += 1
                most[number] = max(most[number], runs[number])
                paths[number] = call.path
    (number, count), *_ = most.most_common(1) or [(0, 0)]
    nbytes = moment.size(moment.maps)
    again = any(call.again and number in call.reads for call in moment.calls)
    if count < OFTEN or again or moment.phase is Phase.UPDATE:
        return
    if moment.matters(nbytes):
        path = paths[number]
        module = path or moment.recording.model
        kind = moment.recording.modules.get(path, "")
        yield Cause("often", nbytes, {"module": f"{module} ({kind})" if path and kind else module,
                                      "count": count})  # fmt: skip


def _frozen(moment: _Moment) -> Iterator[Cause]:
    """Yield what frozen parameters leave: maps that are kept at their layers, or the gradients and
    the states of the others."""
    frozen = [block for block in moment.parameters if block.number in moment.frozen]
    whole, part = moment.size(moment.parameters), moment.size(frozen)
    if not frozen or len(frozen) == len(moment.parameters):
        return
    names = {"percent": round(100 * part / whole)}
    read = {
        number for call in moment.forward if moment.frozen.intersection(call.reads)
        for number in call.reads
    }  # fmt: skip
    kept = moment.size(block for block in moment.maps if block.number in read)
    if moment.phase is Phase.BACKWARD and moment.matters(kept):
        yield Cause("frozen_maps", kept, names)
    owned = (Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE)
    others = moment.size(block for block in moment.alive if block.role in owned)
    if moment.phase is Phase.UPDATE and moment.matters(others):
        trained = [block for block in moment.parameters if block.number not in moment.frozen]
        largest = max(trained, key=lambda block: moment.size([block]))
        yield Cause("frozen_state", others, names | {"name": largest.name})


def _retained(moment: _Moment) -> Iterator[Cause]:
    """Yield the maps that more than one backward pass reads."""
    readers: dict[int, set[int]] = {}
    passes, before = 0, Phase.FORWARD
    for call in moment.calls:
        if call.phase is Phase.BACKWARD and not call.again:
            passes += before is not Phase.BACKWARD
            for number in call.reads:
                readers.setdefault(number, set()).add(passes)
        before = call.phase
    kept = [block for block in moment.maps if len(readers.get(block.number, ())) > 1]
    if moment.matters(nbytes := moment.size(kept)):
        yield Cause("retained", nbytes)


def _waiting_gradients(moment: _Moment) -> Iterator[Cause]:
    """Yield the gradients that were there before the last forward pass."""
    if moment.phase is Phase.UPDATE:
        return
    begins = [call.number for call in moment.forward if call.number <= moment.number]
    begin = begins[-1] if begins else 0
    waiting = [
        block for block in moment.alive
        if block.role is Role.PARAMETER_GRADIENT and block.born < begin
    ]  # fmt: skip
    if moment.matters(nbytes := moment.size(waiting)):
        yield Cause("gradients", nbytes)


def _scores(moment: _Moment) -> Iterator[Cause]:
    """Yield the tensors of one size that the loss makes, in forward and backward."""

    def of_loss(block: RecordedStorage) -> bool:
        call = moment.born_in(block)
        if call is None or block.role not in (Role.FEATURE_MAP, Role.GRADIENT_MAP):
            return False
        first = call if call.forward is None else moment.calls[call.forward]
        return first.phase is Phase.LOSS

    sizes = Counter(moment.size([block]) for block in moment.alive if of_loss(block))
    nbytes, count = max(sizes.items(), key=lambda item: item[0] * item[1], default=(0, 0))
    if count > 1 and moment.matters(nbytes * count):
        yield Cause("scores", nbytes * count, {"count": count, "each": nbytes})


def _useless_checkpoints(moment: _Moment) -> Iterator[Cause]:
    """Yield checkpoints of which backward needs nothing that they run again."""
    if not any(call.again for call in moment.calls):
        return
    again = {number for call in moment.calls if call.again for number in call.born}
    backward = (call for call in moment.calls if call.phase is Phase.BACKWARD and not call.again)
    used = again.intersection(number for call in backward for number in call.reads)
    saved = moment.size(moment.recording.blocks[number] for number in used)
    if saved < LITTLE * moment.total:
        yield Cause("useless", moment.size(moment.maps))


_LOOKS: tuple[Callable[[_Moment], Iterator[Cause]], ...] = (
    _foreach, _often, _frozen, _retained, _waiting_gradients, _scores, _useless_checkpoints,
)  # fmt: skip
