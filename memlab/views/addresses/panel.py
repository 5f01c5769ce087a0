"""The controls of the address map, its presets, and the line of Python that makes it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memlab import strings
from memlab.studies.memory import network_of
from memlab.views.addresses import words
from memlab.views.addresses.broken import broken
from memlab.views.addresses.room import named
from memlab.views.addresses.rows import rows
from memlab.views.addresses.scale import amount
from memlab.views.addresses.source import PUBLISHED, SMALL, TOY_NAME, source
from memlab.views.addresses.state import State, moved
from memlab.views.addresses.words import say
from memlab.views.widget import Control

if TYPE_CHECKING:
    from memlab.views.addresses.view import AddressMap

PRESETS: dict[str, dict[str, Any]] = {
    "start": {"subject": TOY_NAME, "how": "no reuse"},
    "surprise": {"subject": TOY_NAME, "how": "birth", "beside": "biggest"},
    "break": {"subject": SMALL, "how": "best"},
    "real": {"subject": PUBLISHED, "how": "no reuse"},
}
"""Nothing is shared; an order that saves nothing beside one that is best; a fault; a network."""
REAL: tuple[dict[str, Any], ...] = (
    {"how": "no reuse", "in_place": False},
    {"how": "no reuse", "in_place": True},
    {"how": "best", "in_place": True},
)
"""What one press after the other shows of the network: nothing is reused, in place, shared."""
PASSED = ("8 GB", "4 GB")
"""The budgets that the top of its arena goes past."""
BUDGETS = ("12 GB card",)
"""The usual budgets."""
STOPS = tuple(2**power for power in range(10))
"""The batches to choose from."""


def preset(name: str, state: State) -> State:
    """The state behind a button; the guess at the toy, the budgets and the width stay."""
    if name == "real":
        return real(state)
    toy = PRESETS[name]["subject"] == TOY_NAME
    guess = state.guess if toy and state.source.toy else None
    kept: dict[str, Any] = {"budgets": state.budgets, "width": state.width}
    found = State(**PRESETS[name], guess=guess, **kept)
    if name != "break":
        return found
    packed = rows(found).packed
    hand = broken(packed)
    wrong = next(row for row in packed.rows if hand.address(row.name) != row.address)
    return State(**PRESETS[name], hand=hand, chosen=wrong.name, cursor=wrong.block.birth, **kept)


def real(state: State) -> State:
    """The next of the three pictures of a network; the first one sets the axis for all."""
    turn = next_of_real(state)
    if turn or state.axis:
        return moved(state, **REAL[turn])
    budgets = tuple(named(name) for name in PASSED)
    found = State(**PRESETS["real"], budgets=budgets, width=state.width)
    return replace(found, axis=found.placement.arena)


def next_of_real(state: State) -> int:
    """Which of the three a press shows: the one after the one on display, else the first."""
    shown = {"how": state.placement.how, "in_place": state.in_place}
    known = state.subject == PUBLISHED and state.axis and shown in REAL
    return (REAL.index(shown) + 1) % len(REAL) if known else 0


def controls(view: AddressMap) -> list[Control]:
    """What, placing, cursor and replay in sight, the rest behind the disclosure, then buttons."""
    state, found = view.state, view.rows
    count, at = found.source.operations, found.at + 1
    every, lie = len(found.packed.rows), found.turn
    spoken = _label("spoken", index=f"{at:,}", count=f"{count:,}")
    hows = {how: words.how(how) for how in found.source.hows}
    now = state.placement.how
    if now not in hows:
        hows[now] = words.how(now)
    listed = [
        *([_select("what", state.network, _subjects(view))] if len(view.subjects) > 1 else []),
        _select("how", now, hows),
        Control("range", "operation", _label("operation", count=f"{count:,}"), at, least=1,
                most=count, spoken=spoken),
        Control("number", "operation_number", _label("operation_number"), at, least=1, most=count,
                beside=True),
        Control("range", "packed", _label("packed", count=f"{every:,}"), lie, least=0, most=every,
                spoken=_label("packed_spoken", count=f"{lie:,}", all=f"{every:,}")),
        *_more(view),
    ]  # fmt: skip
    return [*listed, *_buttons(view)]


def _buttons(view: AddressMap) -> list[Control]:
    moving = view.state.moving
    names = ["leave" if moving else "move", *(["score"] if moving else []), "run"]
    names += [name for name in PRESETS if PRESETS[name]["subject"] in view.subjects]
    return [
        Control("button", name, _button(view, name), place="buttons",
                busy=_label("running") if name in ("run", "break") else "")
        for name in (*names, "copy")
    ]  # fmt: skip


def _button(view: AddressMap, name: str) -> str:
    """Its label; that of the network says what the next press shows."""
    turn = next_of_real(view.state) if name == "real" else 0
    return _label(f"{name}_{turn}" if turn else name)


def _more(view: AddressMap) -> list[Control]:
    """The guess; of a step the batch, and whether it runs in place."""
    state = view.state
    guess = amount(state.guess) if state.guess is not None else ""
    example = _label("guess_example")
    found = [Control("text", "guess", _label("guess"), guess, "more", placeholder=example)]
    if state.source.toy:
        return found
    stages = {name: name for name in state.source.stages}
    batches = sorted({*STOPS, state.batch})
    names = {str(batch): f"{batch:,}" for batch in batches}
    return [
        Control("checkbox", "in_place", _label("in_place"), state.in_place, "more"),
        _select("batch", str(state.batch), names, "more"),
        _select("stage", state.stage, {"": _label("every_stage")} | stages, "more"),
        *found,
    ]


def more(view: AddressMap) -> str:
    """The values that the disclosure hides."""
    state = view.state
    values = []
    if not state.source.toy:
        values = [strings.get("network.batch", batch=f"{state.batch:,}")]
        values += [say("in_place")] if state.in_place else []
        values += [state.stage] if state.stage else []
    values += [f"{say('guess')} {amount(state.guess)}" if state.guess is not None else say("guess")]
    return _label("more", values=", ".join(values))


def code(state: State) -> str:
    """The line that makes this view again; a step, or a network of one's own, is ``subject``."""
    values: dict[str, Any] = {"how": state.how}
    values |= {"beside": state.beside} if state.beside else {}
    values |= {"batch": state.batch} if not state.source.toy else {}
    values |= {"in_place": True} if state.in_place else {}
    values |= {"cursor": state.cursor + 1} if state.cursor is not None else {}
    values |= {"chosen": state.chosen} if state.chosen else {}
    values |= {"packed": state.packed} if state.packed is not None else {}
    values |= {"stage": state.stage} if state.stage else {}
    values |= {"guess": state.guess} if state.guess is not None else {}
    values |= budgets(state)
    values |= {"moved": by_hand(state)} if state.hand else {}
    written = ", ".join(f"{name}={value!r}" for name, value in values.items())
    subject = repr(state.subject) if isinstance(state.subject, str) else "subject"
    return f"memlab.views.addresses({subject}, {written})"


def budgets(state: State) -> dict[str, Any]:
    """The budgets that stay, where they are not the usual ones."""
    names = tuple(found.name for found in state.budgets if not found.live)
    return {} if state.source.toy or names == BUDGETS else {"budgets": names}


def by_hand(state: State) -> dict[str, int]:
    """The addresses that are not those of the placing."""
    before, now = state.source.placement(state.batch, state.how), state.placement
    pairs = zip(now.blocks, before.addresses, now.addresses, strict=True)
    return {block.name: at for block, was, at in pairs if was != at}


def _subjects(view: AddressMap) -> dict[str, str]:
    """What can be chosen, by name."""
    return {name: _title(view, name) for name in view.subjects}


def _title(view: AddressMap, name: str) -> str:
    if view.own is not None and name == view.subjects[0]:
        return source(view.own).label
    if name in (TOY_NAME, PUBLISHED):
        return source(name).label
    return network_of(name).title


def _label(name: str, **values: object) -> str:
    return say(f"control.{name}", **values)


def _select(name: str, value: str, options: dict[str, str], place: str = "main") -> Control:
    return Control("select", name, _label(name), value, place, tuple(options.items()))
