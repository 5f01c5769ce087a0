"""What changed from one cut through a step to another: the peak, and the curve as it was."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import chain

import numpy as np

from memlab.arrays import Integers
from memlab.pictures.memory.snapshot import Cut, say
from memlab.pictures.memory.step_memory import StepMemory
from memlab.pictures.mountain.layers import Curve
from memlab.pictures.values import number_text as figures

Spans = Integers
"""Of two operations each: the first of a span, and the one after its last."""


def before(old: Cut, new: Cut) -> Curve:
    """What was shown last, as a curve over the operations of now.

    Operations of the same name stand for each other; what ran between two of them counts at the
    second, by its most bytes, and where there was nothing the level stays. Steps that share few
    names are laid over each other phase by phase.
    """
    if old.memory.ledger.rows is new.memory.ledger.rows:
        return old.curve
    spans = _spans(old.memory, new.memory)
    found: Curve = np.maximum.reduceat(np.append(old.curve, 0), spans)[::2]
    return found


@lru_cache(maxsize=16)
def _spans(old: StepMemory, new: StepMemory) -> Spans:
    """The operations of ``old`` that stand for each one of ``new``."""
    places = {row.name: index for index, row in enumerate(old.ledger.rows)}
    shared = sum(row.name in places for row in new.ledger.rows)
    named = 2 * shared >= min(old.operations, new.operations)
    pairs = _by_name(places, new) if named else _by_phase(old, new)
    return np.array(list(chain.from_iterable(pairs)), np.intp)  # reduceat asks for it


def _by_name(places: dict[str, int], new: StepMemory) -> Iterator[tuple[int, int]]:
    last = -1
    for row in new.ledger.rows:
        at = places.get(row.name, -1)
        if at > last:
            yield last + 1, at + 1
            last = at
        else:
            yield max(last, 0), max(last, 0) + 1


def _by_phase(old: StepMemory, new: StepMemory) -> Iterator[tuple[int, int]]:
    known = {phase: (first, last + 1 - first) for phase, first, last in old.phases}
    stop = 1
    for phase, first, last in new.phases:
        start, length = known.get(phase, (stop - 1, 0))
        count = last + 1 - first
        for index in range(count):
            begin = start + length * index // count
            stop = max(start - (-length * (index + 1) // count), begin + 1)
            yield begin, stop


def news(old: Cut, new: Cut) -> str:
    """What a change of the settings did to the peak."""
    change = new.peak.nbytes - old.peak.nbytes
    moves = say("change.moves") if _moves(old, new) else ""
    key = "grows" if change > 0 else "falls" if change else "same"
    effect = say(f"change.{key}", amount=figures.three(abs(change)), moves=moves)
    return f"{_cause(old, new)} {effect}"


def details(old: Cut, new: Cut) -> str:
    """More of it: in percent, of both parts, and where the peak was and is."""
    floor, mountain = new.peak_floor - old.peak_floor, new.peak_mountain - old.peak_mountain
    said = say(
        "change.parts",
        percent=figures.change(old.peak.nbytes, new.peak.nbytes),
        floor=figures.signed(floor),
        mountain=figures.signed(mountain),
    )
    moved = say("change.moved", old=f"{old.peak.index + 1:,}", new=f"{new.peak.index + 1:,}")
    return f"{said} {moved}" if _moves(old, new) else said


def _moves(old: Cut, new: Cut) -> bool:
    return new.peak.row.name != old.peak.row.name


def differences(old: Cut, new: Cut) -> tuple[str, str]:
    """The settings that differ, as they were and as they are."""
    was, now = old.settings, new.settings
    gone = [each for each in was if each not in now]
    come = [each for each in now if each not in was]
    return ", ".join(gone), ", ".join(come)


def _cause(old: Cut, new: Cut) -> str:
    """Which setting changed; a change of the batch alone is a statement about every operation."""
    if old.memory is not new.memory:
        was, now = differences(old, new)
        key = "other" if was and now else "on" if now else "off"
        return say(f"change.{key}", old=was, new=now)
    ratio = Fraction(new.batch, old.batch)
    key = {Fraction(2): "double", Fraction(1, 2): "half"}.get(ratio, "times")
    if ratio < 1 and key == "times":
        key = "part"
    value = str(ratio) if ratio.numerator == 1 else f"{float(ratio):,.4g}"
    return say(f"change.{key}", old=f"{old.batch:,}", new=f"{new.batch:,}", ratio=value)
