"""Bytes that ``torch.utils.checkpoint`` keeps beside the inputs of a part that runs again: the
state of the random numbers, which no operator makes, so that no recording sees it.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from memlab.formats import FORMATS
from memlab.frontends.torch.recording import BEFORE, OperatorCall, Recording
from memlab.step.op import CALL, Operands, Phase
from memlab.step.step import Step
from memlab.step.storage import Size, Storage
from memlab.step.tensor import Role, Tensor


@dataclass(frozen=True, slots=True)
class Rerun:
    """Calls that a checkpoint runs again, by their numbers.

    ``begin`` is the first in forward, ``first`` to ``last`` run again, and after ``end`` nothing in
    backward needs it.
    """

    begin: int
    first: int
    last: int
    end: int


def nbytes() -> int:
    """Bytes of the state of the processor's random numbers."""
    return int(torch.get_rng_state().numel())


def reruns(recording: Recording) -> list[Rerun]:
    """Every checkpoint of a recording, in the order in which they run again."""
    calls = [call for call in recording.calls if not call.view]
    forward = [call for call in calls if call.phase in (Phase.FORWARD, Phase.LOSS)]
    ends = {call.forward: call.number for call in calls if _of_node(call)}
    return [
        Rerun(begin[0].number, run[0].number, run[-1].number, end)
        for run, cause in _runs(calls)
        if (begin := _matching(forward, run, cause))
        and (end := max(ends.get(storage, -1) for storage in (*(b.number for b in begin), cause)))
        >= 0
    ]


def _of_node(call: OperatorCall) -> bool:
    """Return whether a call is the backward of a call of forward."""
    return call.phase is Phase.BACKWARD and call.forward is not None and not call.again


def with_states(step: Step, recording: Recording) -> Step:
    """Return the step with the random states that checkpoints keep: one from forward on, and
    another while the operations run again. Their role is workspace, as nobody asked for them."""
    numbers = [op.attributes.get(CALL, BEFORE) for op in step.ops]
    at = {number: index for index, number in enumerate(numbers)}
    first = {number: index for index, number in reversed([*enumerate(numbers)])}
    ops, size = list(step.ops), Size(nbytes())
    for number, rerun in enumerate(reruns(recording)):
        for name, (born, died) in {
            f"random state {number}": (rerun.begin, rerun.end),
            f"random state of now {number}": (rerun.first, rerun.last),
        }.items():
            if born not in at or died not in at:
                continue
            tensor = Tensor(name, Storage(name, size), (), FORMATS["uint8"], Role.WORKSPACE)
            op, last = ops[first[born]], at[died]
            ops[first[born]] = replace(op, writes=_also(op.writes, tensor))
            ops[last] = replace(ops[last], holds=_also(ops[last].holds, tensor))
    return replace(step, ops=tuple(ops))


def _also(operands: Operands, tensor: Tensor) -> Operands:
    return {**operands, tensor.name.replace(" ", "_"): tensor}


def _runs(calls: Sequence[OperatorCall]) -> Iterator[tuple[list[OperatorCall], int]]:
    """Yield the calls in a row that run again, with the call of forward whose backward asks for
    them."""
    run: list[OperatorCall] = []
    for call in calls:
        if call.again:
            run.append(call)
        elif run:
            yield run, -1 if call.forward is None else call.forward
            run = []


def _matching(
    forward: Sequence[OperatorCall], run: Sequence[OperatorCall], cause: int
) -> Sequence[OperatorCall]:
    """Return the calls of forward that run again here. Of several matches the ones that end nearest
    to the cause are taken: backward begins with what forward did last. Copies belong to no
    module."""
    kinds = [call.func for call in forward]
    wanted = [call.func for call in run if call.kind != "clone"]
    starts = (
        [
            at
            for at in range(len(forward) - len(wanted) + 1)
            if kinds[at] is wanted[0] and kinds[at : at + len(wanted)] == wanted
        ]
        if wanted
        else []
    )
    if not starts:
        return ()
    at = min(starts, key=lambda at: abs(forward[at + len(wanted) - 1].number - cause))
    return forward[at : at + len(wanted)]
