"""The controls of the address map, its presets, and the line of Python that makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memlab import strings
from memlab.views.addresses import words
from memlab.views.addresses.broken import broken
from memlab.views.addresses.rows import rows
from memlab.views.addresses.scale import amount
from memlab.views.addresses.source import SMALL, TOY_NAME, source
from memlab.views.addresses.state import State
from memlab.views.addresses.words import say
from memlab.views.network.source import network_of
from memlab.views.widget import Control

if TYPE_CHECKING:
    from memlab.views.addresses.view import AddressMap

PRESETS: dict[str, dict[str, Any]] = {
    "start": {"subject": TOY_NAME, "how": "no reuse"},
    "surprise": {"subject": TOY_NAME, "how": "birth", "beside": "biggest"},
    "break": {"subject": SMALL, "how": "best"},
}
"""Nothing is shared; an order that saves nothing beside one that is best; a fault."""
STOPS = tuple(2**power for power in range(10))
"""The batches to choose from."""


def preset(name: str, state: State) -> State:
    """The state behind a button; the guess at the toy and the width stay."""
    toy = PRESETS[name]["subject"] == TOY_NAME
    guess = state.guess if toy and state.source.toy else None
    found = State(**PRESETS[name], guess=guess, width=state.width)
    if name != "break":
        return found
    packed = rows(found).packed
    hand = broken(packed)
    moved = next(row for row in packed.rows if hand.address(row.name) != row.address)
    return State(**PRESETS[name], hand=hand, chosen=moved.name, cursor=moved.block.birth,
                 width=state.width)  # fmt: skip


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
        Control("button", name, _label(name), place="buttons",
                busy=_label("running") if name in ("run", "break") else "")
        for name in (*names, "copy")
    ]  # fmt: skip


def _more(view: AddressMap) -> list[Control]:
    """The guess; of a step the batch, and whether it runs in place."""
    state = view.state
    guess = amount(state.guess) if state.guess is not None else ""
    example = _label("guess_example")
    found = [Control("text", "guess", _label("guess"), guess, "more", placeholder=example)]
    if state.source.toy:
        return found
    batches = sorted({*STOPS, state.batch})
    names = {str(batch): f"{batch:,}" for batch in batches}
    return [
        Control("checkbox", "in_place", _label("in_place"), state.in_place, "more"),
        _select("batch", str(state.batch), names, "more"),
        *found,
    ]


def more(view: AddressMap) -> str:
    """The values that the disclosure hides."""
    state = view.state
    values = []
    if not state.source.toy:
        values = [strings.get("network.batch", batch=f"{state.batch:,}")]
        values += [say("in_place")] if state.in_place else []
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
    values |= {"guess": state.guess} if state.guess is not None else {}
    values |= {"moved": by_hand(state)} if state.hand else {}
    written = ", ".join(f"{name}={value!r}" for name, value in values.items())
    subject = repr(state.subject) if isinstance(state.subject, str) else "subject"
    return f"memlab.views.addresses({subject}, {written})"


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
    return source(TOY_NAME).label if name == TOY_NAME else network_of(name).title


def _label(name: str, **values: object) -> str:
    return say(f"control.{name}", **values)


def _select(name: str, value: str, options: dict[str, str], place: str = "main") -> Control:
    return Control("select", name, _label(name), value, place, tuple(options.items()))
