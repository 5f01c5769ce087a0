"""A model's training step, recorded for any batch.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import torch

from memlab.errors import InputError, flag, shorten, whole
from memlab.frontends.torch import matching
from memlab.frontends.torch.recording import Recording
from memlab.frontends.torch.worlds import Change, Trace, Wish, World, as_it_is, quiet
from memlab.step.garbage_collection import paused

BATCHES = (2, 3)
"""Those that sizes are found from; a batch of 1 is a case of its own to some models."""
THIRD = 5
"""The one at which the first step is taken, and the sizes are held against."""


class Observed:
    """A model whose step was recorded, and can be recorded again with a change.

    ``recording`` is one step in its steady state, on fake tensors, or on ``real`` ones where the
    model cannot run on fake ones. With a ``batch``, it is of that batch alone.

    Raises:
        InputError: something is given that nothing can be recorded of, or the step is not the same
            at every batch; and whatever the user's own code raises.
    """

    def __init__(self, wish: Wish, batch: int | None = None, real: bool | None = None) -> None:
        _check(wish)
        self.wish, self.real = wish, None if real is None else flag("real", real)
        self.batch = None if batch is None else whole("batch", batch)
        self._world: World | None = None
        self.recording = self._real() if real else self._fake()

    def again(self, change: Change = as_it_is, parts: int | None = None) -> Recording:
        """The step of the model with a change: fake tensors take it in the world of the first
        recording, whose optimizer has its state already and whose sizes were checked.

        Raises:
            InputError: as for the first recording.
        """
        count = self.wish.parts if parts is None else parts
        if self._world is not None:
            try:
                return self._changed(self._world, change, count)
            except InputError:
                raise
            except Exception:  # it comes up again where it is the user's
                self._world = None
        wish = replace(self.wish, build=lambda: change(self.wish.build()), parts=count)
        return observe(wish, self.batch, self.real)

    @paused()
    def _changed(self, world: World, change: Change, parts: int) -> Recording:
        with _undisturbed(), quiet(), world.changed(change, parts):
            return _recorded(world, self.batch)

    def _new(self, real: bool) -> tuple[World, Recording]:
        """A world with its first step taken, and the recording in it."""
        world = World(self.wish, real)
        first = world.trace(self.batch or THIRD)
        return world, _recorded(world, self.batch, first)

    @paused()
    def _fake(self) -> Recording:
        """On fake tensors, or where they cannot run on real ones: an error that comes up there too
        is the user's."""
        with _undisturbed(), quiet():
            try:
                world, found = self._new(real=False)
            except InputError:
                raise
            except Exception as error:
                if self.real is False:
                    raise
                reason = sentence(error)
            else:
                self._world = world
                return found
        return self._real(f"recorded on real tensors, for fake ones gave: {reason}")

    @paused()
    def _real(self, note: str = "recorded on real tensors") -> Recording:
        """On real tensors: a way that the model takes is that of this data."""
        with _undisturbed():
            _, found = self._new(real=True)
        return replace(found, notes=(*found.notes, note))


def observe(wish: Wish, batch: int | None = None, real: bool | None = None) -> Recording:
    """The recording of ``Observed`` alone.

    Raises:
        InputError: as there.
    """
    return Observed(wish, batch, real).recording


def _undisturbed() -> Any:
    """In here the user's random numbers stay as they were."""
    return torch.random.fork_rng(devices=[])


def _recorded(world: World, batch: int | None, check: Trace | None = None) -> Recording:
    """In one world, which has taken a step. The sizes are held against a third batch in ``check``,
    where one is given."""
    wish = world.wish
    one, other = BATCHES if batch is None else (batch, batch)
    first = world.trace(one)
    found = matching.Matched(first, first if batch else world.trace(other, False))
    off = 0
    if batch is None:
        if check is not None:
            matching.checked(found, check, partial(world.trace, THIRD, False))
        off = found.smooth()
    return Recording(
        found.calls(),
        found.blocks(),
        type(world.model).__name__,
        _title(wish),
        BATCHES if batch is None else (batch,),
        world.real,
        world.paths.modules,
        _notes(wish, first, off),
        wish.parts,
        None if batch is None else range(batch, batch + 1),
    )


def _notes(wish: Wish, trace: Trace, off: int) -> tuple[str, ...]:
    """What is unlike the plain step."""
    notes = ["recorded from PyTorch"]
    if wish.autocast:
        notes.append(f"autocast to {wish.autocast}")
    if wish.parts > 1:
        notes.append(f"gradients of {wish.parts} parts added")
    if off:
        notes.append(f"what recurrent layers keep is rounded to pages, so up to {off:,} B off")
    if trace.resized:
        notes.append(f"{len(set(trace.resized))} storages change size, counted at their largest")
    return tuple(notes)


def _title(wish: Wish) -> str:
    """The optimizer's name, as memlab has it where it has it."""
    if isinstance(wish.optimizer, str):
        return wish.optimizer
    return getattr(wish.optimizer, "__name__", "an optimizer of your own").strip("<>")


def sentence(error: Exception) -> str:
    """An error on one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}{f': {lines[0][:120]}' if lines else ''}"


def _check(wish: Wish) -> None:
    """What is given can be called, and the names are known."""
    for name, given in (("build", wish.build), ("make_batch", wish.make_batch),
                        ("loss_fn", wish.loss_fn)):  # fmt: skip
        if not callable(given):
            raise InputError(
                f"{name} must be a function, got {shorten(given)}; try "
                "record(lambda: MyModel(), lambda B: (inputs(B), targets(B)), loss)."
            )
