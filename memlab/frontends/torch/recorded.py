"""A model's training step, recorded for any batch.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

from memlab.errors import InputError, flag, shorten, whole
from memlab.frontends.torch import matching
from memlab.frontends.torch.recording import Recording
from memlab.frontends.torch.worlds import Trace, Wish, World, quiet
from memlab.step.garbage_collection import paused

BATCHES = (2, 3)
"""Those that sizes are found from; a batch of 1 is a case of its own to some models."""
THIRD = 5
"""The one at which the first step is taken, and the sizes are held against."""


@paused()
def observe(wish: Wish, batch: int | None = None, real: bool | None = None) -> Recording:
    """One step in its steady state, on fake tensors, or on ``real`` ones where the model cannot run
    on fake ones. With a ``batch``, of that batch alone.

    Raises:
        InputError: something is given that nothing can be recorded of, or the step is not the same
            at every batch; and whatever the user's own code raises.
    """
    _check(wish)
    one = None if batch is None else whole("batch", batch)
    if real is not None:
        flag("real", real)
    with torch.random.fork_rng(devices=[]):  # the user's random numbers stay as they were
        return _real(wish, one) if real else _fake(wish, one, real is None)


def _fake(wish: Wish, batch: int | None, else_real: bool) -> Recording:
    """On fake tensors, or where they cannot run on real ones: an error that comes up there too is
    the user's."""
    with quiet():
        try:
            return _recorded(wish, batch, False)
        except InputError:
            raise
        except Exception as error:
            if not else_real:
                raise
            reason = _sentence(error)
    return _real(wish, batch, f"recorded on real tensors, for fake ones gave: {reason}")


def _real(wish: Wish, batch: int | None, note: str = "recorded on real tensors") -> Recording:
    """On real tensors: a way that the model takes is that of this data."""
    found = _recorded(wish, batch, True)
    return replace(found, notes=(*found.notes, note))


def _recorded(wish: Wish, batch: int | None, real: bool) -> Recording:
    """In one world."""
    one, other = BATCHES if batch is None else (batch, batch)
    world = World(wish, real, THIRD if batch is None else batch)
    trace = partial(_traced, world)
    first = trace(one)
    found = matching.Matched(first, first if batch else trace(other, False))
    off = 0
    if batch is None:
        matching.checked(found, world.first, partial(trace, THIRD, False))
        off = found.smooth()
    return Recording(
        found.calls(),
        found.blocks(),
        type(world.model).__name__,
        _title(wish),
        BATCHES if batch is None else (batch,),
        real,
        world.paths.modules,
        _notes(wish, first, off),
        wish.parts,
        None if batch is None else range(batch, batch + 1),
    )


def _traced(world: World, batch: int, update: bool = True) -> Trace:
    return world.trace(batch, update)


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


def _sentence(error: Exception) -> str:
    """An error on one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}{f': {lines[0][:120]}' if lines else ''}"


def _check(wish: Wish) -> None:
    """What is given can be called, and the names are known."""
    for name, given in (("build", wish.build), ("make_batch", wish.make_batch),
                        ("loss_fn", wish.loss_fn)):  # fmt: skip
        if not isinstance(given, Callable):  # type: ignore[arg-type]
            raise InputError(
                f"{name} must be a function, got {shorten(given)}; try "
                "record(lambda: MyModel(), lambda B: (inputs(B), targets(B)), loss)."
            )
