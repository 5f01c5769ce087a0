"""The sentences of cards and exercises, for their text and for their widgets."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from memlab import strings, units
from memlab.lesson.misconceptions import Verdict
from memlab.lesson.question import Figure, Kind

if TYPE_CHECKING:
    from memlab.lesson.card import Card, Round


def first(name: str) -> str:
    """What a card says that has not been answered."""
    return strings.get("card.first", name=name)


def locked(name: str) -> str:
    """What a card says to a second guess."""
    return strings.get("card.locked", name=name)


def card(shown: Card) -> str:
    """A card as text: the question, how to answer it, what came out."""
    turn = shown.now
    parts = [f"{strings.get('card.predict')} {question(turn)}", *_options(turn)]
    if turn.open:
        parts.append(how(shown))
    elif turn.truth is None:
        key = "skipped" if turn.skipped else "waits"
        parts.append(strings.get(f"card.{key}", guess=given(turn), name=shown.name))
    else:
        parts += [*reveal(turn), strings.get("card.again", name=shown.name)]
    return "\n".join(parts + earlier(shown))


def question(turn: Round) -> str:
    """What is asked, with its numbers."""
    return _text(turn, "question")


def how(shown: Card) -> str:
    """How to answer without the widget."""
    example = shown.topic.options[0] if shown.topic.options else ""
    full = shown.topic.name
    return strings.get(f"card.how.{shown.topic.kind}", name=shown.name, full=full, example=example)


def option(turn: Round, name: str) -> str:
    """An option as a learner reads it."""
    return _text(turn, f"option.{name}")


def given(turn: Round) -> str:
    """The guess as the learner made it."""
    if not turn.typed:
        return strings.get("card.none")
    if turn.topic.kind is Kind.CHOICE:
        return option(turn, turn.typed).removesuffix(".")
    return times_of(turn.typed) if turn.topic.kind is Kind.TIMES else turn.typed


def reveal(turn: Round) -> list[str]:
    """The guess, the plan and the measurement below each other, then what is to be said."""
    assert turn.truth is not None
    rows = [(strings.get("card.guess"), given(turn))]
    if isinstance(turn.truth.value, str):
        rows.append((strings.get("card.right"), came_out(turn)))
    rows += [(figure_name(f), amount(f.value, turn.topic.kind)) for f in turn.truth.figures]
    wide = max(len(name) for name, _ in rows)
    return [*(f"{name:{wide}}  {value}" for name, value in rows), *said(turn)]


def figure_name(figure: Figure) -> str:
    """Where a figure comes from, and what it is where there are several."""
    if not figure.origin:
        return figure.label
    origin = strings.get(f"run.origin.{figure.origin}")
    return f"{origin}, {figure.label}" if figure.label else origin


def said(turn: Round) -> list[str]:
    """The diagnosis, where there was a guess, and one sentence on what was seen."""
    assert turn.truth is not None
    lines = [] if turn.verdict is None else [diagnosis(turn, turn.verdict)]
    return [*lines, _text(turn, "seen", **turn.truth.seen)]


def diagnosis(turn: Round, verdict: Verdict) -> str:
    """One sentence on a guess: right, or how far off and from which mistake perhaps."""
    if verdict.right:
        if turn.topic.kind is Kind.CHOICE:
            return strings.get("card.verdict.chosen")
        if not verdict.unit:
            return strings.get("card.verdict.right")
        return strings.get("card.verdict.unit", unit=verdict.unit, guess=turn.typed)
    if turn.topic.kind is Kind.CHOICE:
        return _text(turn, f"wrong.{turn.typed}", **(turn.truth.seen if turn.truth else {}))
    if verdict.cause is None:
        return _no_cause(turn, verdict)
    assert turn.truth is not None
    value = turn.truth.value
    assert isinstance(value, Fraction)
    ratio = verdict.cause.value / value if value else Fraction(0)
    cause = strings.get(f"cause.{verdict.cause.name}", **verdict.cause.values)
    return strings.get("card.verdict.cause", off=off(ratio), cause=cause)


def _no_cause(turn: Round, verdict: Verdict) -> str:
    """A wrong guess that no cause explains: how far off, and what the question is about."""
    think = _text(turn, "far") if strings.has(f"ask.{turn.topic.name}.far") else ""
    if not turn.topic.near:
        return strings.get("card.verdict.other", think=think)
    if verdict.close or not verdict.ratio:
        return strings.get(f"card.verdict.{'close' if verdict.close else 'zero'}")
    return strings.get("card.verdict.far", off=off(verdict.ratio), think=think).strip()


def off(ratio: Fraction) -> str:
    """``"Exactly 32 times too small"``, ``"About 1.13 times too large"``."""
    if not ratio:
        return ""
    side, ratio = ("small", 1 / ratio) if ratio < 1 else ("large", ratio)
    key = "exactly" if ratio.denominator == 1 else "about"
    return strings.get(f"card.verdict.{key}", ratio=number(ratio), side=_side(side))


def earlier(shown: Card) -> list[str]:
    """One line for each asking before this one: the guess stays."""
    return [
        strings.get("card.before", question=question(turn), guess=given(turn), truth=came_out(turn))
        for turn in shown.rounds[:-1]
    ]


def came_out(turn: Round) -> str:
    """The truth of a round in words."""
    assert turn.truth is not None
    if isinstance(turn.truth.value, str):
        return option(turn, turn.truth.value).removesuffix(".")
    return amount(turn.truth.value, turn.topic.kind)


def amount(value: Fraction, kind: Kind) -> str:
    """Bytes, with every digit and in a larger unit, or a ratio."""
    if kind is Kind.TIMES:
        return times_of(number(value))
    nbytes = round(value)
    return units.exact(nbytes) + (f" = {units.both(nbytes)}" if nbytes >= 1000 else "")


def number(value: Fraction) -> str:
    """A ratio for people: 3 digits, all of them where it is whole."""
    if value.denominator == 1:
        return f"{value.numerator:,}"
    return f"{float(value):,.0f}" if value >= 999 else f"{float(value):.3g}"


def times_of(text: str) -> str:
    """``"9"`` as ``"9 times"``."""
    return strings.get("card.times", number=text)


def _side(side: str) -> str:
    return strings.get(f"card.verdict.{side}")


def _options(turn: Round) -> list[str]:
    return [f"  {name}: {option(turn, name)}" for name in turn.topic.options]


def _text(turn: Round, key: str, **values: object) -> str:
    named = {**turn.topic.words(turn.numbers), **values}
    return strings.get(f"ask.{turn.topic.name}.{key}", **named)
