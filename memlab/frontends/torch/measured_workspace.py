"""Workspace: what a kernel takes inside itself, measured by running each operation alone.

No plan knows it: a kernel allocates it, uses it and lets it go before anybody looks. So every
distinct operation of a recording runs once, in a process of its own, because made-up values can
crash one; the peak inside, less what it gives, is its workspace. Import this module only where
PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from memlab.axes import Dims
from memlab.errors import LARGEST, InputError, whole_number
from memlab.formats import FORMATS
from memlab.frontends.torch import run_one_op
from memlab.frontends.torch.checkpoint_rng import with_states
from memlab.frontends.torch.recording import BEFORE, OperatorCall, Recording, Spec, at, specs
from memlab.frontends.torch.recording_to_step import step_of
from memlab.step.op import CALL, Op
from memlab.step.step import Step
from memlab.step.storage import Size, Storage
from memlab.step.tensor import Role, Tensor

LEAST, MOST = 4, 64
_ENOUGH = 2**27
"""Bytes of the largest storage, up to which a larger batch is taken to extrapolate from."""
_FLAT: Dims = ()

Result = Mapping[str, Any]
Tell = Callable[[int, int], None]
"""Told how many operations are measured, and of how many."""

_KNOWN: dict[str, Result] = {}
"""What was measured in this session, by the operation and what decides its kernels."""


@dataclass(frozen=True)
class MeasuredWorkspace:
    """Measured workspace of the operations of a recording.

    ``extra`` are the bytes inside each call beside what it gives, by its number; ``outputs`` are
    the bytes of storages that are others than recorded; ``seconds`` are those of each call at the
    last of the ``batches``. ``off`` is the most bytes that one operation differed by, at the first
    batch, from the line through the others; 0 where there is one batch, at which all is exact.
    ``failed`` says why a call could not be run alone.
    """

    batches: tuple[int, ...]
    extra: Mapping[int, Size]
    outputs: Mapping[int, Size]
    seconds: Mapping[int, float]
    failed: Mapping[int, str] = field(default_factory=dict)
    off: int = 0

    @property
    def note(self) -> str:
        """Batches of the measurement, in a few words, and how sure it is."""
        at = " and ".join(map(str, self.batches))
        text = f"workspace measured at batch {at}"
        if self.off:
            text += f", one operation up to {self.off:,} B off a line"
        if self.failed:
            text += f", {len(self.failed)} calls not measured"
        return text


def workspace(
    recording: Recording, batch: int | None = None, tell: Tell | None = None
) -> MeasuredWorkspace:
    """Measure the distinct operations of a recording, each alone in another process.

    Args:
        found: the recording.
        batch: at which they run; without one at those of ``near``, for a line in the batch.
        tell: is told how many are measured, and of how many.

    Raises:
        InputError: a batch that the recording does not hold for.
    """
    batches = (whole_number("batch", batch),) if batch is not None else near(recording)
    if recording.valid is not None:
        if batch is not None and batch not in recording.valid:
            raise InputError(
                f"this recording is of batch {recording.valid.start} alone, got {batch}; record at "
                "that batch."
            )
        batches = (recording.valid.start,)
    jobs = {batch: Jobs(recording, batch) for batch in batches}
    results = run((text for job in jobs.values() for text in job.text.values()), tell)
    return _joined(recording, {batch: _At(recording, jobs[batch], results) for batch in batches})


def near(recording: Recording) -> tuple[int, int, int]:
    """Batches to extrapolate from to larger ones: a line through the last two, held against the
    first. They are as large as the model allows, for oneDNN chooses other kernels where there is
    little to do: of a small U-Net, a line from 8 and 16 is 8 % off at 32, one from 128 and 256 is
    exact at 512 (PyTorch 2.13, a processor)."""
    most = max(block.nbytes.per_sample for block in recording.blocks)
    batch = LEAST
    while batch < MOST and 8 * batch * most <= _ENOUGH:
        batch *= 2
    return batch, 2 * batch, 4 * batch


def with_workspace(recording: Recording, measured: MeasuredWorkspace) -> Step:
    """Return the step of a recording with everything that its allocator sees: operations with their
    workspace, storages corrected, and the random states that checkpoints keep. It holds where
    the workspace was measured, and from there on where that was at several batches."""
    blocks = tuple(
        replace(block, nbytes=measured.outputs.get(block.number, block.nbytes))
        for block in recording.blocks
    )
    notes = (*recording.notes, measured.note)
    step = step_of(replace(recording, blocks=blocks, notes=notes))
    first, several = measured.batches[0], len(measured.batches) > 1
    valid = range(first, LARGEST if several else first + 1)
    ops = tuple(_with(op, measured.extra) for op in step.ops)
    return with_states(replace(step, ops=ops, batches=valid), recording)


def _with(op: Op, extra: Mapping[int, Size]) -> Op:
    size = extra.get(op.attributes[CALL])
    if not size:
        return op
    name = f"{op.name}.workspace"
    scratch = Tensor(name, Storage(name, size), _FLAT, FORMATS["uint8"], Role.WORKSPACE)
    return replace(op, workspace={"workspace": scratch})


# -- at one batch ------------------------------------------------------------------------------


class _At:
    """Bytes and seconds that the calls of a recording take at one batch."""

    def __init__(self, recording: Recording, jobs: Jobs, results: Mapping[str, Result]) -> None:
        self.recording, self.batch = recording, jobs.batch
        self.failed = dict(jobs.lacks)
        self.extra: dict[int, int] = {}
        self.outputs: dict[int, int] = {}
        self.seconds: dict[int, float] = {}
        for number, text in jobs.text.items():
            self._take(number, results[text])

    def _take(self, number: int, result: Result) -> None:
        if "error" in result:
            self.failed[number] = result["error"]
            return
        outputs = [tuple(output) if output else None for output in result["outputs"]]
        self.extra[number] = result["peak"] - sum(
            n for at, n in {*filter(None, outputs)} if at >= 0
        )
        self.seconds[number] = result["seconds"]
        self._correct(number, outputs)

    def _correct(self, number: int, outputs: Sequence[tuple[int, int] | None]) -> None:
        """Note storages to which the operator really gives other bytes; two outputs in one storage
        count once."""
        call, seen = self.recording.calls[number], set()
        if len(outputs) != len(call.outputs):
            return
        for spec, real in zip(call.outputs, outputs, strict=True):
            if spec is None or real is None or spec.storage not in call.born or real[0] < 0:
                continue
            size = self.recording.blocks[spec.storage].nbytes.at(self.batch)
            if real[0] not in seen and real[1] != size and _own(call.outputs, spec):
                self.outputs[spec.storage] = real[1]
            seen.add(real[0])


def _own(outputs: Sequence[Spec | None], spec: Spec) -> bool:
    """Return whether no other output lies in the same storage."""
    return sum(1 for output in outputs if output and output.storage == spec.storage) == 1


def _joined(recording: Recording, seen: Mapping[int, _At]) -> MeasuredWorkspace:
    """Return one measurement from those at one batch or at several."""
    batches, last = tuple(seen), [*seen.values()][-2:]
    extra = {
        number: _line(batches[-2:], [at_batch.extra[number] for at_batch in last])
        for number in last[-1].extra
        if all(number in at_batch.extra for at_batch in last)
    }
    outputs = {
        number: _line(batches[-2:], [_bytes(recording, at_batch, number) for at_batch in last])
        for number in {number for at_batch in last for number in at_batch.outputs}
    }
    failed = {number: why for at_batch in seen.values() for number, why in at_batch.failed.items()}
    off = 0
    if len(batches) > 2:
        first = seen[batches[0]]
        pairs = ((extra[number].at(first.batch), n) for number, n in first.extra.items()
                 if number in extra)  # fmt: skip
        off = max((abs(line - n) for line, n in pairs), default=0)
    return MeasuredWorkspace(batches, extra, outputs, last[-1].seconds, failed, off)


def _bytes(recording: Recording, seen: _At, number: int) -> int:
    return seen.outputs.get(number, recording.blocks[number].nbytes.at(seen.batch))


def _line(batches: Sequence[int], values: Sequence[int]) -> Size:
    """Return the line through one value or two, exact at the last."""
    if len(batches) == 1 or values[0] == values[1]:
        return Size(values[-1])
    value = max((values[1] - values[0]) // (batches[1] - batches[0]), 0)
    return Size(values[1] - value * batches[1], value)


# -- in another process ------------------------------------------------------------------------


def run(jobs: Iterable[str], tell: Tell | None = None) -> dict[str, Result]:
    """Results of operations that run alone, by the text of each; an operation that was measured
    before is not run again. An operation that ends its process has an ``error`` that says so."""
    given = run_one_op.settings()
    key = json.dumps(given)
    texts = list(dict.fromkeys(jobs))
    todo = [text for text in texts if key + text not in _KNOWN]
    done = 0
    while done < len(todo):
        for result in _child(given, todo[done:]):
            _KNOWN[key + todo[done]] = result
            done += 1
            if tell is not None:
                tell(done, len(todo))
        if done < len(todo):
            _KNOWN[key + todo[done]] = {"error": "it ends the process that it runs in"}
            done += 1
    return {text: _KNOWN[key + text] for text in texts}


def _child(given: Mapping[str, Any], todo: Sequence[str]) -> Iterable[Result]:
    """Yield the results that a new process gives, as they come, until it ends."""
    child = subprocess.Popen(
        [sys.executable, "-P", run_one_op.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        if _asked(child, json.dumps(given)).strip() != run_one_op.READY:
            raise InputError(
                f"a process that measures operations did not start; try `{sys.executable} -c "
                "'import torch'`, and a machine with more free memory."
            )
        for text in todo:
            line = _asked(child, text)
            if not line.endswith("\n"):
                return
            yield json.loads(line)
    finally:
        _end(child)


def _asked(child: subprocess.Popen[str], text: str) -> str:
    """Return the line that a process answers with; empty where it has ended."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(text + "\n")
        child.stdin.flush()
    except BrokenPipeError:
        return ""
    return child.stdout.readline()


def _end(child: subprocess.Popen[str]) -> None:
    """Close the pipes of a process and wait for it."""
    for pipe in (child.stdin, child.stdout):
        try:
            if pipe is not None:
                pipe.close()
        except BrokenPipeError:
            pass
    child.wait()


OPAQUE = "uint8"
"""The format of what an operator keeps for its backward in an order of its own: made-up values of
it crash, so the operator makes it."""


class UnwrittenError(Exception):
    """Error for an argument that cannot be written as JSON."""


class Jobs:
    """Calls of a recording at one batch, as text for a child process; equal texts are one
    operation.

    ``text[n]`` is call n, ``lacks[n]`` says why it cannot be run alone.
    """

    def __init__(self, recording: Recording, batch: int) -> None:
        self.recording, self.batch = recording, batch
        self.text: dict[int, str] = {}
        self.lacks: dict[int, str] = {}
        for call in recording.calls:
            if not call.view and not call.copies:
                self._add(call)

    def _add(self, call: OperatorCall) -> None:
        try:
            self.text[call.number] = json.dumps(self.job(call))
        except UnwrittenError as error:
            self.lacks[call.number] = str(error)

    def job(self, call: OperatorCall) -> dict[str, Any]:
        """Return one call as JSON; ``first`` are the calls whose outputs no made-up values can
        stand for."""
        args, kwargs = at(call.args, self.batch), at(dict(call.kwargs), self.batch)
        numbers = _Numbers(specs((args, kwargs)))
        first: dict[str, Any] = {}

        def written(value: Any) -> Any:
            return self.written(value, numbers, first)

        job = {
            "op": call.func._schema.name,
            "overload": call.func._overloadname,
            "grad": call.grad,
            "args": [written(argument) for argument in args],
            "kwargs": {name: written(argument) for name, argument in kwargs.items()},
        }
        return {**job, "first": first} if first else job

    def written(self, value: Any, numbers: _Numbers, first: dict[str, Any]) -> Any:
        """Return an argument as JSON."""
        if isinstance(value, Spec):
            return self.tensor(value, numbers, first)
        if isinstance(value, list | tuple):
            return [self.written(item, numbers, first) for item in value]
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
            return {"torch": str(value).removeprefix("torch.")}
        raise UnwrittenError(f"an argument of type {type(value).__name__}")

    def tensor(self, spec: Spec, numbers: _Numbers, first: dict[str, Any]) -> Any:
        """Return a tensor as JSON: its view of a storage, or the call and the output that it is."""
        maker = self.maker(spec)
        if maker is None:
            return {"tensor": numbers.view(spec)}
        call, output = maker
        name = str(len(first))
        first[name] = self.job(call)
        return {"made": [name, output]}

    def maker(self, spec: Spec) -> tuple[OperatorCall, int] | None:
        """Return the call that an opaque tensor comes from, and the number of the output."""
        block = self.recording.blocks[spec.storage]
        if spec.dtype != OPAQUE or block.born == BEFORE:
            return None
        call = self.recording.calls[block.born]
        outputs = (output.storage if output else None for output in call.outputs)
        index = next((n for n, storage in enumerate(outputs) if storage == spec.storage), None)
        return None if index is None or not call.args else (call, index)


class _Numbers:
    """Numbers of the storages of the arguments of one call, from 0, each as large as it is seen."""

    def __init__(self, arguments: Iterable[Spec]) -> None:
        self.order: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        for spec in arguments:
            key, offset = spec.storage, _whole(spec.offset)
            self.order.setdefault(key, len(self.order))
            self.first[key] = min(offset, self.first.get(key, offset))
            self.ends[key] = max(offset + _extent(spec), self.ends.get(key, 0))

    def view(self, spec: Spec) -> list[Any]:
        """A tensor as ``run_one_op`` makes it: what no argument sees of a storage is left out."""
        key = spec.storage
        count = self.ends[key] - self.first[key]
        offset = _whole(spec.offset) - self.first[key]
        return [self.order[key], count, list(spec.shape), list(spec.stride), offset, spec.dtype,
                spec.device]  # fmt: skip


def _extent(spec: Spec) -> int:
    """Number of values between the first and the last that a tensor sees, both counted."""
    shape, stride = [*map(_whole, spec.shape)], [*map(_whole, spec.stride)]
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))


def _whole(value: Any) -> int:
    """Return a number of a ``Spec`` at a batch as an ``int``."""
    return int(value)
