"""A model's training step, recorded for any batch.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from memlab.errors import InputError, shorten, true_or_false, whole_number
from memlab.frontends.torch import real_outputs
from memlab.frontends.torch.dispatch_mode import STAYS, SeenBlock, SeenCall, SeenTensor
from memlab.frontends.torch.recording import (
    BEFORE,
    OperatorCall,
    RecordedStorage,
    Recording,
    Spec,
    copies,
)
from memlab.frontends.torch.tensor_modes import (
    Change,
    RecordingRequest,
    Trace,
    World,
    as_it_is,
    quiet,
    title,
)
from memlab.ledger.entries import LazyTuple
from memlab.step.op import Phase
from memlab.step.paused_gc import paused
from memlab.step.storage import Size
from memlab.step.tensor import Role
from memlab.units import short

BATCHES = (2, 3)
"""Those that sizes are found from; a batch of 1 is a case of its own to some models."""
THIRD = 5
"""The one at which the first step is taken, and the sizes are held against."""


class RealTensorsWarning(UserWarning):
    """Warning that a step is about to run on real tensors, with their memory and their time."""


class ChangedModelError(InputError):
    """Error for a change with which a model does not run, such as a checkpoint on a module that
    keeps what it was given for its next run."""


class Observed:
    """Model whose step was recorded, and can be recorded again with a change.

    ``recording`` is one step in its steady state, on fake tensors, or on ``real`` ones where the
    model cannot run on fake ones. With a ``batch``, it is of that batch alone.

    Warns:
        RealTensorsWarning: the model cannot run on fake tensors; said before it runs on real ones.

    Raises:
        InputError: something is given that nothing can be recorded of, or the step is not the same
            at every batch; and whatever the user's own code raises.
    """

    def __init__(
        self, wish: RecordingRequest, batch: int | None = None, real: bool | None = None
    ) -> None:
        _check(wish)
        self.wish, self.real = wish, None if real is None else true_or_false("real", real)
        self.batch = None if batch is None else whole_number("batch", batch)
        self._world: World | None = None
        self.recording = self._real() if real else self._fake()

    def again(
        self,
        change: Change = as_it_is,
        may_run: bool = True,
        batch: int | None = None,
        **options: Any,
    ) -> Recording:
        """Record the step of the model with a change, on fake tensors of the first recording, whose
        optimizer has its state already and whose sizes were checked. Where they cannot run, it
        runs on real ones if it ``may_run``. With a ``batch`` it is of that batch alone. ``options``
        are other fields of the request.

        Raises:
            ChangedModelError: the model runs, but not with the change; where it may not run on real
                tensors.
            InputError: as for the first recording.
        """
        batch = batch or self.batch
        if self._world is not None:
            try:
                return self._changed(self._world, change, batch, options)
            except InputError:
                raise
            except Exception:  # it comes up again where it is the user's
                self._world = None
        wish = replace(self.wish, build=lambda: change(self.wish.build()), **options)
        if may_run:
            return observe(wish, batch, self.real)
        try:
            return observe(wish, batch, self.recording.real)
        except InputError:
            raise
        except Exception as error:
            raise ChangedModelError(
                f"this model runs, but not with the change ({sentence(error)}); leave it out."
            ) from error

    @paused()
    def _changed(
        self, world: World, change: Change, batch: int | None, options: dict[str, Any]
    ) -> Recording:
        with _undisturbed(), quiet(), world.changed(change, options):
            return _recorded(world, batch)

    def _new(self, world: World) -> Recording:
        """Record a model that has not taken a step yet."""
        first = world.trace(self.batch or THIRD)
        return _recorded(world, self.batch, first)

    @paused()
    def _fake(self) -> Recording:
        """Record on fake tensors, or where they cannot run on real ones: an error that comes up
        there too is the user's."""
        worlds: list[World] = []
        with _undisturbed(), quiet():
            try:
                return self._on_fake_tensors(worlds)
            except InputError:
                raise
            except Exception as error:
                if self.real is False:
                    raise
                reason = sentence(error)
        return self._in_place_of_fake_tensors(worlds, reason)

    def _on_fake_tensors(self, worlds: list[World]) -> Recording:
        """Record on fake tensors of a model that was built without memory, or where its step needs
        numbers that have no value there, of one that was built for real; ``worlds`` gets the
        model."""
        worlds[:] = [World(self.wish, real=False)]
        try:
            recording = self._new(worlds[0])
        except Exception as error:
            if not worlds[0].lacks_values(error):
                raise
            worlds[:] = [World(self.wish, real=False, values=True)]
            recording = self._new(worlds[0])
        self._world = worlds[0]
        return recording

    def _warn(self, reason: str, nbytes: int) -> None:
        """Say that the step runs on real tensors, before it does, and the bytes that are there in
        any step."""
        batches = self.batch or f"{THIRD}, {BATCHES[0]} and {BATCHES[1]}"
        warnings.warn(
            f"memlab now runs this model's step on real tensors, at batch {batches}, because fake "
            f"ones gave {reason}; this takes at least {short(nbytes)} (parameters, their gradients "
            "and an estimate of the optimizer's states), and feature maps, and it may take long.",
            RealTensorsWarning,
            stacklevel=2,
        )

    def _in_place_of_fake_tensors(self, worlds: list[World], reason: str) -> Recording:
        """Record on real tensors, and say so before: where there is a fake model, before a real one
        is built."""
        if worlds:
            self._warn(reason, worlds[0].resident)
        with _undisturbed():
            world = World(self.wish, real=True)
        if not worlds:
            self._warn(reason, world.resident)
        return self._real(world, f"recorded on real tensors, for fake ones gave: {reason}")

    @paused()
    def _real(
        self, world: World | None = None, note: str = "recorded on real tensors"
    ) -> Recording:
        """Record on real tensors: a branch that the model takes is that of this data."""
        with _undisturbed():
            recording = self._new(world or World(self.wish, real=True))
        return replace(recording, notes=(*recording.notes, note))


def observe(
    wish: RecordingRequest, batch: int | None = None, real: bool | None = None
) -> Recording:
    """Return the recording of ``Observed`` alone.

    Raises:
        InputError: as there.
    """
    return Observed(wish, batch, real).recording


def _undisturbed() -> Any:
    """Keep the user's random numbers as they are inside the context."""
    return torch.random.fork_rng(devices=[])


def _recorded(world: World, batch: int | None, check: Trace | None = None) -> Recording:
    """Record a model that has taken a step, and check the sizes against the trace of a third batch
    where one is given."""
    wish = world.wish
    one, other = BATCHES if batch is None else (batch, batch)
    first = world.trace(one)
    matched = Matched(first, first if batch else world.trace(other, False))
    off = 0
    if batch is None:
        if check is not None:
            checked(matched, check, partial(world.trace, THIRD, False))
        off = matched.smooth()
    return Recording(
        matched.calls(),
        matched.blocks(),
        type(world.model).__name__,
        wish.optimizer if isinstance(wish.optimizer, str) else title(world.optimizer),
        BATCHES if batch is None else (batch,),
        world.real,
        world.paths.modules,
        _notes(wish, first, off, world.compiled),
        wish.parts,
        None if batch is None else range(batch, batch + 1),
        wish.card is not None,
    )


def _notes(wish: RecordingRequest, trace: Trace, off: int, compiled: bool) -> tuple[str, ...]:
    """Notes on everything that is unlike the plain step."""
    notes = ["recorded from PyTorch"]
    if wish.autocast:
        notes.append(f"autocast to {wish.autocast}")
    if wish.card:
        notes.append(f"as CUDA runs it, {wish.card.title}")
        if compiled:
            notes.append("compiled code planned as it was written")
    if wish.grad_scaler:
        notes.append("loss scaled")
    if wish.clip_grad_norm is not None:
        notes.append("gradients clipped")
    if wish.parts > 1:
        notes.append(f"gradients of {wish.parts} parts added")
    if off:
        notes.append(f"what recurrent layers keep is rounded to pages, so up to {off:,} B off")
    if trace.resized:
        notes.append(f"{len(set(trace.resized))} storages change size, counted at their largest")
    return tuple(notes)


def sentence(error: Exception) -> str:
    """Return an error on one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}{f': {lines[0][:120]}' if lines else ''}"


def _check(wish: RecordingRequest) -> None:
    """Refuse a request whose functions cannot be called or whose names are unknown."""
    for name, given in (("build", wish.build), ("make_batch", wish.make_batch),
                        ("loss_fn", wish.loss_fn)):  # fmt: skip
        if not callable(given):
            raise InputError(
                f"{name} must be a function, got {shorten(given)}; try "
                "record(lambda: MyModel(), lambda B: (inputs(B), targets(B)), loss)."
            )


_ALONE = "try record(..., batch=32), which records that batch alone"


# -- one recording, from what was seen at two batches: the same calls, sizes in a line ----------


class Matched:
    """Two traces of one step at two batches, matched call by call.

    Raises:
        InputError: they differ in more than sizes.
    """

    def __init__(self, one: Trace, other: Trace) -> None:
        self.one, self.other = one, other
        self.end = len(one.calls)
        self.rounded: dict[int, Size] = {}
        """Of storages that are no line in the batch, one near to what they are."""
        same_calls(one, other)
        _same_deaths(one, other)

    def line(self, one: int, other: int) -> Size:
        """Return a number as a line in the batch, from its values at two batches.

        Raises:
            InputError: no whole number for a sample.
        """
        run = self.other.batch - self.one.batch
        if one == other or not run:
            return Size(one)
        per_sample, rest = divmod(other - one, run)
        if rest:
            raise InputError(
                f"a size is {one} at batch {self.one.batch} and {other} at {self.other.batch}: "
                f"no whole number for each sample; {_ALONE}."
            )
        return Size(one - per_sample * self.one.batch, per_sample)

    def calls(self) -> Sequence[OperatorCall]:
        """Calls of the step, each made when it is asked for."""
        tail = self.one.calls[len(self.other.calls) :]
        pairs = list(zip(self.one.calls, [*self.other.calls, *tail], strict=True))
        return LazyTuple(range(self.end), lambda number: self._call(number, *pairs[number]))

    def blocks(self) -> tuple[RecordedStorage, ...]:
        """Storages of the step. One that no call was seen to make, and that is freed, has no bytes:
        it is a number that PyTorch wraps for a call, or lies outside its allocator."""
        pairs = zip(self.one.blocks, self._padded(), strict=True)
        return tuple(self._block(at, *pair) for at, pair in enumerate(pairs))

    def size(self, number: int, one: int, other: int) -> Size:
        """Return the bytes of a storage as a line in the batch."""
        return self.rounded.get(number) or self.line(one, other)

    def smooth(self) -> int:
        """Replace sizes that operators round to whole pages by a line; return the most bytes that
        the line is off, 0 where nothing is rounded."""
        calls, most = self.calls(), 0
        for number, seen in enumerate(self.other.calls):
            limit = real_outputs.ROUNDED.get(_kind(seen))
            if limit is not None and self._smooth(calls[number]):
                most += limit
        return most

    def _smooth(self, call: OperatorCall) -> bool:
        """Replace the rounded sizes of one call by lines; return whether there were any."""
        one, other = self.one, self.other
        pairs = {n: (one.blocks[n].nbytes, other.blocks[n].nbytes) for n in call.born}
        total = sum(sizes[0] for sizes in pairs.values())
        batch, outputs = real_outputs.far(call, one.batch, total)
        wrong = {
            spec.storage: nbytes
            for spec, nbytes in zip(call.outputs, outputs, strict=True)
            if spec is not None and nbytes is not None and spec.storage in pairs
            if not self._on_line(pairs[spec.storage], batch, nbytes)
        }
        for number, nbytes in wrong.items():
            per_sample = nbytes // batch
            self.rounded[number] = Size(
                max(pairs[number][0] - one.batch * per_sample, 0), per_sample
            )
        return bool(wrong)

    def _on_line(self, pair: tuple[int, int], batch: int, nbytes: int) -> bool:
        run = self.other.batch - self.one.batch
        return (nbytes - pair[0]) * run == (pair[1] - pair[0]) * (batch - self.one.batch)

    def _padded(self) -> list[SeenBlock]:
        """Storages of the other trace, followed by those of the update, which was seen once."""
        there = self.other.blocks
        return [*there, *self.one.blocks[len(there) :]]

    def _block(self, number: int, one: SeenBlock, other: SeenBlock) -> RecordedStorage:
        died = self.end if one.died == STAYS else one.died
        passing = one.foreign and one.died != STAYS
        return RecordedStorage(
            number,
            Size() if passing else self.size(number, one.nbytes, other.nbytes),
            one.born,
            died,
            _role(one, self.one.calls),
            self.fit(one.spec, other.spec),
            one.name,
            one.owner,
        )

    def _call(self, number: int, one: SeenCall, other: SeenCall) -> OperatorCall:
        return OperatorCall(
            number,
            one.func,
            self.fit(one.args, other.args),
            self.fit(one.kwargs, other.kwargs),
            self.fit(tuple(one.outputs), tuple(other.outputs)),
            one.phase,
            one.grad,
            one.path,
            one.forward,
            one.again,
            one.part,
            tuple(one.reads),
            tuple(one.updates),
            tuple(one.born),
        )

    def fit(self, one: Any, other: Any) -> Any:
        """Return an argument at any batch: tensors as ``Spec``, numbers that differ as ``Size``."""
        if isinstance(one, SeenTensor):
            shape, stride = (
                tuple(map(self.line, first, second))
                for first, second in ((one.shape, other.shape), (one.stride, other.stride))
            )
            offset = self.line(one.offset, other.offset)
            return Spec(one.storage, shape, stride, offset, *one[4:])
        if isinstance(one, list | tuple):
            return type(one)([self.fit(*pair) for pair in zip(one, other, strict=True)])
        if isinstance(one, dict):
            return {name: self.fit(size, other[name]) for name, size in one.items()}
        if type(one) is int and type(other) is int:
            return one if one == other else self.line(one, other)
        return one


def same_calls(one: Trace, other: Trace) -> None:
    """Refuse two traces of which one calls another operator than the other.

    Raises:
        InputError: the first difference.
    """
    count = len(other.calls)
    for at, (mine, yours) in enumerate(zip(one.calls, other.calls, strict=False)):
        if mine.func is not yours.func or mine.path != yours.path or _uses(mine) != _uses(yours):
            raise _differs(one, other, at)
    ended = len(one.calls) == count or one.calls[count].phase is Phase.UPDATE
    if len(one.calls) < count or not ended:
        raise _differs(one, other, min(len(one.calls), count) - 1)


def _kind(call: SeenCall) -> str:
    return str(call.func.__name__).partition(".")[0]


def _uses(call: SeenCall) -> tuple[list[int], list[int], list[int]]:
    return call.reads, call.updates, call.born


def _differs(one: Trace, other: Trace, at: int) -> InputError:
    call, there = one.calls[at], other.calls[at]
    where = f"in {call.path}" if call.path else f"in the {call.phase}"
    return InputError(
        f"the step takes another way at batch {other.batch} than at {one.batch}, {where}: "
        f"{there.func} instead of {call.func}; {_ALONE}."
    )


def _same_deaths(one: Trace, other: Trace) -> None:
    """Refuse traces in which a storage lives longer in one of them.

    Raises:
        InputError: the first that does.
    """
    last = len(other.calls)
    for mine, yours in zip(one.blocks, other.blocks, strict=False):
        stays = yours.died == STAYS and (mine.died == STAYS or mine.died >= last - 1)
        if mine.born != yours.born or (mine.died != yours.died and not stays):
            path = one.calls[mine.born].path if mine.born != BEFORE else mine.name
            raise InputError(
                f"a tensor of {path or 'the model'} lives longer at batch {other.batch} than at "
                f"{one.batch}; {_ALONE}."
            )


def unlike(matched: Matched, third: Trace, limit: int = 3) -> list[str]:
    """The modules whose sizes at a third batch are not those of the line; empty where all are.

    Raises:
        InputError: the third trace takes another way.
    """
    mine = [call for call in matched.one.calls if call.phase is not Phase.UPDATE]
    yours = [call for call in third.calls if call.phase is not Phase.UPDATE]
    if [call.func for call in mine] != [call.func for call in yours]:
        raise LookupError
    other, wrong = matched.other.blocks, dict[str, None]()
    for call, there in zip(mine, yours, strict=True):
        if _kind(call) in real_outputs.ROUNDED:
            continue
        sizes = (matched.line(matched.one.blocks[n].nbytes, other[n].nbytes) for n in call.born)
        planned = [size.at(third.batch) for size in sizes]
        if planned != [third.blocks[number].nbytes for number in there.born]:
            wrong[f"{call.path or call.phase} ({_kind(call)})"] = None
    return list(wrong)[:limit]


def checked(matched: Matched, first: Trace, again: Callable[[], Trace]) -> None:
    """Check the lines against a third batch: that of the first step, or where that took another
    branch, a trace that is taken now.

    Raises:
        InputError: a size is no line; the message names where.
    """
    try:
        wrong = unlike(matched, first)
    except LookupError:
        third = again()
        same_calls(third, matched.other)
        wrong = unlike(matched, third)
    if wrong:
        raise InputError(
            f"bytes do not grow in a line with the batch in {', '.join(wrong)}, and a plan for any "
            f"batch needs that; {_ALONE}."
        )


def _role(block: SeenBlock, calls: Sequence[SeenCall]) -> Role:
    """Role of a storage: the one that it was entered with, else by the phase in which it was born.
    Storages that the optimizer makes and lets go count as gradient maps."""
    if block.role is not None:
        return block.role
    if block.born == BEFORE:
        return Role.BUFFER
    born = calls[block.born]
    if copies(born.func):
        return Role.FEATURE_MAP
    forward = born.again or born.phase in (Phase.FORWARD, Phase.LOSS)
    return Role.FEATURE_MAP if forward else Role.GRADIENT_MAP
