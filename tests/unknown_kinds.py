"""A step of operations that nobody knows, as one would be that was recorded elsewhere.

It was written by hand: its kinds are no layers', and its operations name no layer, no algorithm and
nothing else but what they read, write and change. ``meaning`` says what such a step computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from memlab.axes import BATCH, Dims
from memlab.formats import FORMATS
from memlab.step.op import Op, Phase, UpdateSlot
from memlab.step.rewrite_traits import PLAIN, Traits
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor, new

WIDTH = 8
F, B, U = Phase.FORWARD, Phase.BACKWARD, Phase.UPDATE
Known = Mapping[str, Traits]


def by_hand(
    depth: int = 6,
    known: Known | None = None,
    counts: bool = False,
    slots: tuple[UpdateSlot, ...] = (),
) -> Step:
    """A chain of ``depth`` turns, a fork of two ways that meet, a loss, all backwards and updates.

    ``known`` are traits of some kinds, and ``slots`` those of every update. With ``counts`` the
    second turn also changes a counter in place, so that it may run once only.
    """
    x, truth = a_map("pixels", Role.INPUT), a_map("truth", Role.INPUT)
    knobs = [square(f"knob{i}", Role.PARAMETER) for i in range(depth + 1)]
    speeds = [square(f"{each.name}.speed", Role.OPTIMIZER_STATE) for each in knobs]
    turns = [a_map(f"turn{i}") for i in range(depth)]
    seen = tensor("seen", (("F", WIDTH),), Role.BUFFER)
    loss = tensor("badness", (), Role.FEATURE_MAP)
    ops = [
        op(f"turn {i}", "turn", F, (source, knob), (turn,), (seen,) if counts and i == 1 else ())
        for i, (source, knob, turn) in enumerate(zip([x, *turns], knobs, turns, strict=False))
    ]
    ops += _fork(turns[-1], knobs[-1], truth, loss)
    ops += _backwards([x, *turns], knobs[:-1])
    ops += [
        replace(
            op(f"teach {knob.name}", "teach", U, (_change(knob),), (), (knob, speed)), slots=slots
        )
        for knob, speed in zip(knobs, speeds, strict=True)
    ]
    traits = known or {}
    ops = [replace(each, traits=traits.get(each.kind, PLAIN)) for each in ops]
    kept = (*knobs, *speeds, *([seen] if counts else []))
    return Step(tuple(ops), (*kept, x, truth), (*kept, loss), network="recorded")


def _fork(x: Tensor, knob: Tensor, truth: Tensor, loss: Tensor) -> list[Op]:
    """Two ways that meet, the loss, and back; both add to the gradient of where they part."""
    left, right, met = map(a_map, ("left", "right", "met"))
    blame, change = a_map("blame", Role.GRADIENT_MAP), gradient(x)
    return [
        op("go left", "bend", F, (x,), (left,)),
        op("go right", "turn", F, (x, knob), (right,)),
        op("meet", "meet", F, (left, right), (met,)),
        op("judge", "judge", Phase.LOSS, (met, truth), (loss,)),
        op("blame", "blame", B, (met, truth), (blame,)),
        op("back from right", "turn back", B, (blame, x, knob), (change, _change(knob))),
        op("back from left", "bend back", B, (blame, left), (), (change,)),
    ]


def _backwards(maps: list[Tensor], knobs: list[Tensor]) -> list[Op]:
    """Those of the turns: each reads its input and its parameter, and hands a gradient on."""
    found = []
    for i in reversed(range(len(knobs))):
        makes = (_change(knobs[i]), gradient(maps[i])) if i else (_change(knobs[i]),)
        found.append(
            op(f"back {i}", "turn back", B, (gradient(maps[i + 1]), maps[i], knobs[i]), makes)
        )
    return found


def op(
    name: str, kind: str, phase: Phase, reads: Iterable[Tensor], writes: Iterable[Tensor],
    updates: Iterable[Tensor] = (), traits: Traits = PLAIN,
) -> Op:  # fmt: skip
    """An operation whose operands have numbers for names."""
    given, made, changed = (
        {f"{part}{i}": each for i, each in enumerate(tensors)}
        for part, tensors in (("in", reads), ("out", writes), ("at", updates))
    )
    touched = [each.size for each in (*given.values(), *made.values(), *changed.values())]
    moved = sum(touched, Size())
    return Op(
        name, kind, phase, given, made, changed,
        flops=Size(0, WIDTH), bytes_moved=moved, traits=traits,
    )  # fmt: skip


def tensor(name: str, axes: Dims, role: Role) -> Tensor:
    """In fp32."""
    return new(name, axes, FORMATS["fp32"], role)


def a_map(name: str, role: Role = Role.FEATURE_MAP) -> Tensor:
    """A vector for each sample."""
    return tensor(name, (BATCH, ("F", WIDTH)), role)


def square(name: str, role: Role) -> Tensor:
    """A matrix."""
    return tensor(name, (("O", WIDTH), ("F", WIDTH)), role)


def gradient(of: Tensor) -> Tensor:
    """That of a map."""
    return a_map(f"change of {of.name}", Role.GRADIENT_MAP)


def _change(knob: Tensor) -> Tensor:
    return square(f"change of {knob.name}", Role.PARAMETER_GRADIENT)


def renamed(step: Step) -> Step:
    """A step whose operations no longer tell their kinds, layers, stages and attributes; what is
    known of them, and how they run again, stays."""
    none: dict[str, Any] = {"layer": "", "stage": "", "attributes": {}, "algorithm": ""}
    ops = (replace(each, kind=f"my {each.kind[::-1]}", **none) for each in step.ops)
    return replace(step, ops=tuple(ops))


def meaning(step: Step) -> dict[str, int]:
    """What outlives a step, each value as a number that tells it from others: of what was read,
    by which kind of operation, in which order. Steps that mean the same compute the same."""
    there = {each.storage.name: hash(each.storage.name) for each in step.live_in}
    for each in step.ops:
        given = tuple(there[t.storage.name] for t in (*each.reads.values(), *each.updates.values()))
        copies = each.phase is Phase.COPY
        for slot, made in (*each.writes.items(), *each.updates.items()):
            there[made.storage.name] = given[0] if copies else hash((each.kind, slot, given))
    return {each.name: there[each.storage.name] for each in step.live_out}
