"""Every argument of what plans and places, with values that nobody means."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

import memlab
from memlab.claims import revolve
from memlab.placement.placement import TOY, Block, arrange, place
from memlab.techniques.recompute import (
    chain,
    chain_optimum,
    exact_order,
    segments,
    slots,
)
from memlab.techniques.recompute.chain import Chain, Stage
from memlab.techniques.recompute.exact_order import GraphTask
from tests.rows import every_row
from tests.strange import mostly_refused

STEP = memlab.training_step(memlab.zoo.linear1())
LEDGER, PLACEMENT = memlab.plan(STEP), memlab.place(STEP, 2)
STAGE = Stage(1, 2, 4, 8, 4, 8, 4, 8, 16)
CHAIN, TASKS = Chain((STAGE,) * 3), (GraphTask("a", 1, 4, ()), GraphTask("b", 1, 4, (0,)))
USUAL: dict[str, Any] = {
    "step": STEP, "batch": 2, "at": 1, "layer": "h", "nbytes": 100, "address": 0, "blocks": TOY,
    "name": PLACEMENT.blocks[0].name, "chain": CHAIN, "budget": 100, "tasks": TASKS,
    "order": (0, 1), "schedule": (1, 2, 3, -3, -2, -1), "k": 2, "limit": 100, "t": 5, "m": 3,
    "l": 5, "s": 3, "n": 3, "forwards": 9, "backward": 1, "slots": 3,
}  # fmt: skip
MODULES = (revolve, slots, chain_optimum, segments, chain, exact_order)
QUESTIONS = (
    "timeline", "peak", "peak_at", "before", "after", "line", "roles", "alive", "events",
    "reserved", "why", "of", "fit",
)  # fmt: skip


def functions() -> list[Callable[..., Any]]:
    found = [
        function
        for module in MODULES
        for name, function in vars(module).items()
        if inspect.isfunction(function) and not name.startswith("_")
        if function.__module__ == module.__name__
    ]
    own = [memlab.plan, place, arrange, PLACEMENT.address, PLACEMENT.moved]
    return [*found, *own, *(getattr(LEDGER, name) for name in QUESTIONS)]


PARTS = {"chain", "tasks", "schedule", "order", "time_limit", "stages"}
"""What techniques hand on, and nobody writes."""
ARGUMENTS = [
    (call, name)
    for call in functions()
    for name in inspect.signature(call).parameters
    if name not in PARTS
]


@pytest.mark.parametrize(
    ("call", "name"), ARGUMENTS, ids=lambda part: getattr(part, "__name__", part)
)
def test_every_argument(call: Callable[..., Any], name: str) -> None:
    needed = [
        each for each, parameter in inspect.signature(call).parameters.items()
        if parameter.default is inspect.Parameter.empty
    ]  # fmt: skip
    usual = {each: USUAL[each] for each in needed}

    def ask(given: Any) -> str:
        found = call(**usual | {name: given})
        shown = str(list(found) if inspect.isgenerator(found) else found)
        assert not re.search(r"\b(nan|inf)\b", shown)
        return shown

    ask(usual[name] if name in usual else inspect.signature(call).parameters[name].default)
    mostly_refused(ask)


MADE = {Block: ("A", 4, 0, 1), Stage: (1, 2, 4, 8, 4, 8, 4, 8, 16), GraphTask: ("a", 1, 4, ())}


@every_row(
    ("kind", "number"),
    [
        (kind, n)
        for kind, usual in MADE.items()
        for n in range(len(usual))
        if kind is not GraphTask or n in (1, 2)
    ],
)
def test_every_field_of_what_is_placed_or_scheduled(kind: Callable[..., Any], number: int) -> None:
    use: dict[Any, Callable[[Any], Any]] = {
        Block: lambda block: str(arrange([block])),
        Stage: lambda stage: chain_optimum.frontier(Chain((stage, STAGE))),
        GraphTask: lambda task: exact_order.simulate([task], [0]),
    }
    name = fields(kind)[number].name  # type: ignore[arg-type]  # a dataclass
    usual = dict(zip([f.name for f in fields(kind)], MADE[kind], strict=False))  # type: ignore[arg-type,index]  # a dataclass
    mostly_refused(lambda given: use[kind](kind(**usual | {name: given})))
