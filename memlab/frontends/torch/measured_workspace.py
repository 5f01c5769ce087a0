"""Workspace: what a kernel takes inside itself, measured by running each operation alone.

No plan knows it: a kernel allocates it, uses it and lets it go before anybody looks. So every
distinct operation of a recording runs once, in a process of its own, because made-up values can
crash one; the peak inside, less what it gives, is its workspace. Import this module only where
PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any

import torch
from tqdm import tqdm

from memlab import free_memory, strings, units
from memlab.axes import Dims
from memlab.errors import InputError, whole_number
from memlab.formats import FORMATS
from memlab.frontends.torch import run_one_op
from memlab.frontends.torch.checkpoint_rng import with_states
from memlab.frontends.torch.recording import BEFORE, OperatorCall, Recording, Spec, at, specs
from memlab.frontends.torch.recording_to_step import step_of
from memlab.step.op import CALL, Op, Operands
from memlab.step.step import Step
from memlab.step.storage import Size, Storage
from memlab.step.tensor import Role, Tensor

SMALL, LEAST, MOST = 2, 4, 64
PATIENCE = 3.0
"""Seconds after which a progress bar is shown."""
NAMED = 3
"""Number of operations that a note names."""
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
    last of the ``batches``. At one batch both are exact, at several an upper bound: a line that no
    measurement lies above. ``bound`` has the batches of such a bound for calls whose tensors are
    too large to run them at the one batch, by their numbers; ``failed`` says why a call could not
    be run at all.
    """

    batches: tuple[int, ...]
    extra: Mapping[int, Size]
    outputs: Mapping[int, Size]
    seconds: Mapping[int, float]
    failed: Mapping[int, str] = field(default_factory=dict)
    bound: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def notes(self, step: Step) -> tuple[str, ...]:
        """Batches of the measurement in a few words, and the operations of a step for which it is
        a bound, or that have none."""
        if len(self.batches) > 1:
            notes = [f"workspace an upper bound from batches {_listed(self.batches)}"]
        else:
            notes = [f"workspace measured at batch {self.batches[0]}"]
        for batches in dict.fromkeys(self.bound.values()):
            calls = {number for number, bound in self.bound.items() if bound == batches}
            if names := _named(step, calls):
                word = "batches" if len(batches) > 1 else "batch"
                notes.append(f"that of {names} an upper bound from {word} {_listed(batches)}")
        for why in dict.fromkeys(self.failed.values()):
            if names := _named(step, {n for n, reason in self.failed.items() if reason == why}):
                notes.append(f"that of {names} not measured ({why})")
        return tuple(notes)


def _listed(words: Iterable[object]) -> str:
    """Return words in a row: ``'2, 4 and 8'``."""
    *most, last = map(str, words)
    return f"{', '.join(most)} and {last}" if most else last


def _named(step: Step, calls: Container[int]) -> str:
    """Return the operations of some calls in words: how many they are, and the first names."""
    names = [op.name for op in step.ops if op.attributes.get(CALL, BEFORE) in calls]
    if len(names) > NAMED:
        return f"{len(names)} operations ({', '.join(names[:NAMED])}, ...)"
    return _listed(names) if names else ""


def workspace(
    recording: Recording, batch: int | None = None, tell: Tell | None = None
) -> MeasuredWorkspace:
    """Measure the distinct operations of a recording, each alone in another process.

    Args:
        recording: the recording.
        batch: at which they run; without one at those of ``near``, for a bound at any batch.
        tell: is told how many are measured, and of how many.

    Raises:
        InputError: a batch that the recording does not hold for.
    """
    if batch is None:
        return measured(recording, near(recording), tell)
    return measured(recording, (whole_number("batch", batch),), tell)


def measured(
    recording: Recording, batches: Sequence[int], tell: Tell | None = None
) -> MeasuredWorkspace:
    """Measure the distinct operations of a recording at one batch, or at several for a bound.

    An operation whose tensors take more than a quarter of the memory that is free runs at smaller
    batches instead.

    Raises:
        InputError: a batch that the recording does not hold for.
    """
    valid = recording.valid
    if valid is not None:
        if len(batches) == 1 and batches[0] not in valid:
            raise InputError(
                f"this recording is of batch {valid.start} alone, got {batches[0]}; record at "
                "that batch."
            )
        batches = (valid.start,)
    return _Measuring(recording, tuple(batches)).result(tell)


def near(recording: Recording) -> tuple[int, ...]:
    """Batches to bound all others from: a small one, and three that are as large as the model
    allows, for oneDNN chooses other kernels where there is little to do: of a small U-Net, a line
    from 8 and 16 is 8 % off at 32, one from 128 and 256 is exact at 512 (PyTorch 2.13, a
    processor)."""
    most = max(block.nbytes.per_sample for block in recording.blocks)
    batch = LEAST
    while batch < MOST and 8 * batch * most <= _ENOUGH:
        batch *= 2
    return SMALL, batch, 2 * batch, 4 * batch


def with_workspace(recording: Recording, measured: MeasuredWorkspace) -> Step:
    """Return the step of a recording with everything that its allocator sees: operations with their
    workspace, storages corrected, and the random states that checkpoints keep. It holds where
    the workspace was measured, or for any batch where that was at several."""
    blocks = tuple(
        replace(block, nbytes=measured.outputs.get(block.number, block.nbytes))
        for block in recording.blocks
    )
    return attached(step_of(replace(recording, blocks=blocks)), recording, measured)


def attached(step: Step, recording: Recording, measured: MeasuredWorkspace) -> Step:
    """Return a step of a recording, or a rewrite of it, with the workspace of its operations and
    the random states that checkpoints keep."""
    batch = measured.batches[0]
    valid = step.batches if len(measured.batches) > 1 else range(batch, batch + 1)
    ops = tuple(_with(op, measured.extra) for op in step.ops)
    notes = (*step.notes, *measured.notes(step))
    done = replace(step, ops=ops, batches=valid, notes=notes, measurement=None)
    return with_states(done, recording)


def _with(op: Op, extra: Mapping[int, Size]) -> Op:
    size = extra.get(op.attributes.get(CALL, BEFORE))
    if not size:
        return op
    name = f"{op.name}.workspace"
    scratch = Tensor(name, Storage(name, size), _FLAT, FORMATS["uint8"], Role.WORKSPACE)
    return replace(op, workspace={**op.workspace, "workspace": scratch})


# -- when it is asked for ------------------------------------------------------------------------


class LazyMeasurement:
    """Measurement of the workspace of a recording, made at the batch that is asked for.

    Args:
        recording: the recording.
        exact: the batches at which operations run for an answer at just that batch; all where it
            is ``None``. At any other the answer is an upper bound.
        progress: True for a progress bar where it takes longer than a moment.
    """

    def __init__(
        self, recording: Recording, exact: Set[int] | None = None, progress: bool = True
    ) -> None:
        self.recording, self.exact, self.progress = recording, exact, progress
        self._measured: dict[tuple[int, ...], MeasuredWorkspace] = {}

    def key(self, batch: int | None) -> tuple[int, ...]:
        """Return the batches at which operations run for an answer at ``batch``: that one, or those
        that an upper bound is taken from. A small batch is of no use to bound large ones, at which
        oneDNN chooses other kernels."""
        if batch is not None and (self.exact is None or batch in self.exact):
            return (batch,)
        small, *large = self._batches()
        return (small, *large) if batch is None or batch < large[0] else tuple(large)

    def measured(self, batch: int | None) -> MeasuredWorkspace:
        """Return the workspace at a batch, or an upper bound for any."""
        key = self.key(batch)
        if key not in self._measured:
            with _progress_bar(self.progress) as tell:
                self._measured[key] = measured(self.recording, key, tell)
        return self._measured[key]

    def _batches(self) -> tuple[int, ...]:
        """Return the batches that a bound is taken from: those of ``near``, or where answers are
        exact at a batch below the last of these, parts of that batch, which take less time."""
        batches = self._near
        exact = sorted(self.exact or ())
        if exact and 4 * SMALL <= exact[-1] < batches[-1]:
            batches = SMALL, exact[-1] // 4, exact[-1] // 2
        return tuple(sorted({*batches, *exact}))

    @cached_property
    def _near(self) -> tuple[int, ...]:
        return near(self.recording)

    def step(self, step: Step, batch: int | None) -> Step:
        """Return a step of the recording with workspace: as it was recorded, or rewritten."""
        measured = self.measured(batch)
        if not measured.outputs:
            return attached(step, self.recording, measured)
        plain = step_of(self.recording)
        if (step.ops, step.live_out) == (plain.ops, plain.live_out):
            return with_workspace(self.recording, measured)
        return attached(_resized(step, self.recording, measured.outputs), self.recording, measured)


def lazy_step(recording: Recording, exact: Set[int] | None = None, progress: bool = True) -> Step:
    """Return the step of a recording whose workspace is measured when a batch is asked for. The
    kernels of a card cannot be measured on a processor: its step is returned as it is."""
    if recording.cuda:
        return step_of(recording)
    measurement = LazyMeasurement(recording, exact, progress)
    return replace(step_of(recording), measurement=measurement)


def _resized(step: Step, recording: Recording, outputs: Mapping[int, Size]) -> Step:
    """Return a rewritten step in which the storages of outputs have other sizes."""
    sizes: dict[str, Size] = {}
    for op in step.ops:
        born = recording.calls[op.attributes[CALL]].born if CALL in op.attributes else ()
        counted = [number for number in born if recording.blocks[number].nbytes]
        slots = {f"out{index}": number for index, number in enumerate(counted)}
        sizes |= {
            tensor.storage.name: outputs[slots[slot]]
            for slot, tensor in op.writes.items()
            if slots.get(slot) in outputs
        }

    def resized(operands: Operands) -> Operands:
        return {slot: _sized(tensor, sizes) for slot, tensor in operands.items()}

    ops = tuple(
        replace(
            op,
            reads=resized(op.reads),
            writes=resized(op.writes),
            updates=resized(op.updates),
            holds=resized(op.holds),
        )
        for op in step.ops
    )
    live_out = tuple(_sized(tensor, sizes) for tensor in step.live_out)
    return replace(step, ops=ops, live_out=live_out)


def _sized(tensor: Tensor, sizes: Mapping[str, Size]) -> Tensor:
    storage = tensor.storage
    if storage.name not in sizes:
        return tensor
    return replace(tensor, storage=replace(storage, size=sizes[storage.name]), axes=_FLAT)


@contextmanager
def _progress_bar(shown: bool) -> Iterator[Tell]:
    """Show a progress bar that moves with every measured operation."""
    description = strings.get("explain.measuring")
    with tqdm(desc=description, leave=False, disable=not shown, delay=PATIENCE) as bar:

        def tell(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield tell


# -- at some batches -----------------------------------------------------------------------------


class _Measuring:
    """Measurement of the calls of a recording at some batches; of a call whose tensors are too
    large there at smaller ones."""

    def __init__(self, recording: Recording, batches: tuple[int, ...]) -> None:
        self.recording, self.batches = recording, batches
        self.failed: dict[int, str] = {}
        self.limit = room()
        self.jobs = Jobs(recording)
        self.texts: dict[int, dict[int, str]] = {}
        for call in recording.calls:
            if not call.view and not call.copies:
                self._add(call)

    def _add(self, call: OperatorCall) -> None:
        """Write down a call at every batch at which it is to run."""
        batches = self._batches(call)
        if not batches:
            limit = units.short(self.limit)
            why = f"its tensors need more than a quarter of the free memory, {limit}"
            self.failed[call.number] = why
            return
        try:
            texts = {batch: json.dumps(self.jobs.job(call, batch)) for batch in batches}
        except UnwrittenError as error:
            self.failed[call.number] = str(error)
        else:
            self.texts[call.number] = texts

    def _batches(self, call: OperatorCall) -> tuple[int, ...]:
        """Return the batches at which a call runs: those that are asked for, or where its tensors
        are too large there, up to three smaller ones."""
        blocks = self.recording.blocks
        numbers = {*call.reads, *call.updates, *call.born}
        size = sum((blocks[number].nbytes for number in numbers), Size())
        fitting = tuple(batch for batch in self.batches if size.at(batch) <= self.limit)
        if fitting == self.batches or self.recording.valid is not None:
            return fitting
        most = min(self.batches)
        powers = [2**power for power in range((most - 1).bit_length())]
        small = [batch for batch in powers if size.at(batch) <= self.limit][-3:]
        return tuple(sorted({*fitting, *small}))

    def result(self, tell: Tell | None) -> MeasuredWorkspace:
        """Run the operations and return their workspace."""
        results = run((text for job in self.texts.values() for text in job.values()), tell)
        extra: dict[int, Size] = {}
        outputs: dict[int, Size] = {}
        seconds: dict[int, float] = {}
        bound: dict[int, tuple[int, ...]] = {}
        for number, texts in self.texts.items():
            calls = {batch: _Call(self.recording, number, batch, results[text])
                     for batch, text in texts.items()}  # fmt: skip
            if failed := next((call.failed for call in calls.values() if call.failed), ""):
                self.failed[number] = failed
                continue
            extra[number] = self._size({batch: call.extra for batch, call in calls.items()})
            for storage in {storage for call in calls.values() for storage in call.outputs}:
                block = self.recording.blocks[storage]
                outputs[storage] = self._size({
                    batch: call.outputs.get(storage, block.nbytes.at(batch))
                    for batch, call in calls.items()
                })  # fmt: skip
            last = max(calls)
            seconds[number] = calls[last].seconds * max(1.0, self.batches[-1] / last)
            if tuple(calls) != self.batches:
                bound[number] = tuple(calls)
        return MeasuredWorkspace(self.batches, extra, outputs, seconds, self.failed, bound)

    def _size(self, values: Mapping[int, int]) -> Size:
        """Return the bytes of a call from those at some batches: at the one batch, or for any."""
        line = upper_line(values)
        return Size(line.at(self.batches[0])) if len(self.batches) == 1 else line


def upper_line(values: Mapping[int, int]) -> Size:
    """Return the line in the batch that no measured value lies above. It is as steep as the last
    two values or as the first and the last one, whichever is more."""
    batches = sorted(values)
    last, most = batches[-1], 0
    for batch in batches[:1] + batches[-2:-1]:
        if batch != last:
            most = max(most, -((values[batch] - values[last]) // (last - batch)))
    return Size(max(0, *(values[batch] - most * batch for batch in batches)), most)


def room() -> int:
    """Return the bytes that the tensors of one operation may take: a quarter of what is free."""
    return free_memory.free_memory() // 4


class _Call:
    """Bytes and seconds that one call of a recording takes at one batch; ``outputs`` are the bytes
    of storages that are others than recorded, ``failed`` says why there are none."""

    def __init__(self, recording: Recording, number: int, batch: int, result: Result) -> None:
        self.failed = str(result.get("error", ""))
        if self.failed:
            return
        given = [tuple(output) if output else None for output in result["outputs"]]
        self.extra: int = result["peak"] - sum(
            n for storage, n in {*filter(None, given)} if storage >= 0
        )
        self.seconds: float = result["seconds"]
        self.outputs = dict(_corrected(recording, number, batch, given))


def _corrected(
    recording: Recording, number: int, batch: int, given: Sequence[tuple[int, int] | None]
) -> Iterator[tuple[int, int]]:
    """Yield the storages to which an operator really gives other bytes, with these bytes; two
    outputs in one storage count once."""
    call, seen = recording.calls[number], set()
    known = recording.real and batch in recording.batches
    if known or len(given) != len(call.outputs) or _decided_by_values(call):
        return
    for spec, real in zip(call.outputs, given, strict=True):
        if spec is None or real is None or spec.storage not in call.born or real[0] < 0:
            continue
        size = recording.blocks[spec.storage].nbytes.at(batch)
        if real[0] not in seen and real[1] != size and _own(call.outputs, spec):
            yield spec.storage, real[1]
        seen.add(real[0])


def _decided_by_values(call: OperatorCall) -> bool:
    """Return whether the values that a call gets decide about the bytes of its outputs: it runs
    alone with others."""
    return torch.Tag.dynamic_output_shape in getattr(call.func, "tags", ())


def _own(outputs: Sequence[Spec | None], spec: Spec) -> bool:
    """Return whether no other output lies in the same storage."""
    return sum(1 for output in outputs if output and output.storage == spec.storage) == 1


# -- in another process ------------------------------------------------------------------------


def run(jobs: Iterable[str], tell: Tell | None = None) -> dict[str, Result]:
    """Results of operations that run alone, by the text of each; an operation that was measured
    before is not run again. An operation that ends its process has an ``error`` that says so."""
    given = json.dumps(run_one_op.settings())
    texts = list(dict.fromkeys(jobs))
    todo = [text for text in texts if given + text not in _KNOWN]
    for done, text in enumerate(todo, 1):
        with _ASKING:
            _KNOWN[given + text] = _measured_alone(given, text)
        if tell is not None:
            tell(done, len(todo))
    return {text: _KNOWN[given + text] for text in texts}


_ASKING = Lock()
"""Held by the thread that waits for an answer."""
_CHILDREN: dict[tuple[int, str], subprocess.Popen[str]] = {}
"""Processes that measure, by the process that they belong to and their settings. One that has
nothing to do for a while ends itself."""


def _measured_alone(given: str, text: str) -> Result:
    """Return the result of one operation in another process."""
    while True:
        child, line = _child(given), ""
        try:
            line = _asked(child, text)
        finally:
            if not line.endswith("\n"):  # it has ended, or its answer is not waited for
                _CHILDREN.pop((os.getpid(), given))
                _end(child)
        if line.endswith("\n"):
            result: Result = json.loads(line)
            return result
        if child.returncode:  # else it had nothing to do for too long
            return {"error": "it ends the process that it runs in"}


def _child(given: str) -> subprocess.Popen[str]:
    """Return a process with these settings that measures operations.

    Raises:
        InputError: none starts.
    """
    key = os.getpid(), given
    if key not in _CHILDREN:
        child = subprocess.Popen(
            [sys.executable, "-P", run_one_op.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        if _asked(child, given).strip() != run_one_op.READY:
            _end(child)
            raise InputError(
                f"a process that measures operations did not start; try `{sys.executable} -c "
                "'import torch'`, and a machine with more free memory."
            )
        _CHILDREN[key] = child
    return _CHILDREN[key]


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


@atexit.register
def _end_all() -> None:
    """End the processes that belong to this one."""
    for key in [key for key in _CHILDREN if key[0] == os.getpid()]:
        _end(_CHILDREN.pop(key))


OPAQUE = "uint8"
"""The format of what an operator keeps for its backward in an order of its own: made-up values of
it crash, so the operator makes it."""


class UnwrittenError(Exception):
    """Error for an argument that cannot be written as JSON."""


class Jobs:
    """Calls of a recording as JSON for a child process; equal ones are one operation."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    def job(self, call: OperatorCall, batch: int) -> dict[str, Any]:
        """Return one call at a batch as JSON; ``first`` are the calls whose outputs no made-up
        values can stand for.

        Raises:
            UnwrittenError: an argument that cannot be written.
        """
        args, kwargs = at(call.args, batch), at(dict(call.kwargs), batch)
        numbers = _Numbers(specs((args, kwargs)))
        first: dict[str, Any] = {}

        def written(value: Any) -> Any:
            return self.written(value, batch, numbers, first)

        job = {
            "op": call.func._schema.name,
            "overload": call.func._overloadname,
            "grad": call.grad,
            "args": [written(argument) for argument in args],
            "kwargs": {name: written(argument) for name, argument in kwargs.items()},
        }
        return {**job, "first": first} if first else job

    def written(self, value: Any, batch: int, numbers: _Numbers, first: dict[str, Any]) -> Any:
        """Return an argument as JSON."""
        if isinstance(value, Spec):
            return self.tensor(value, batch, numbers, first)
        if isinstance(value, list | tuple):
            return [self.written(item, batch, numbers, first) for item in value]
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
            return {"torch": str(value).removeprefix("torch.")}
        raise UnwrittenError(f"an argument of type {type(value).__name__}")

    def tensor(self, spec: Spec, batch: int, numbers: _Numbers, first: dict[str, Any]) -> Any:
        """Return a tensor as JSON: its view of a storage, or the call and the output that it is."""
        maker = self.maker(spec)
        if maker is None:
            return {"tensor": numbers.view(spec)}
        call, output = maker
        name = str(len(first))
        first[name] = self.job(call, batch)
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
