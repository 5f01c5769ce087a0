"""The reasons that learners gave at cards, for a person to read: a rubric file in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from memlab import strings
from memlab.classroom.marks import CardCall
from memlab.errors import visible
from memlab.lesson import sentences
from memlab.lesson.card_question import AnswerKind, Attempt, topics

LONGEST = 400
"""Characters of a reason, which are as many as a card takes."""
_MARKS = re.compile(r"([\\`*_\[\]<>&#|~()!:@$])")
"""Characters that Markdown or HTML would read as more than themselves."""


@dataclass(frozen=True)
class Reason:
    """A reason of a learner, with the guess, and whether that was right; None where it is not
    known."""

    card: str
    learner: str
    guess: str
    because: str
    right: bool | None = None
    revision: str = ""


def reasons(
    records: Mapping[str, Mapping[str, Any]], calls: Mapping[str, Iterable[CardCall]]
) -> list[Reason]:
    """Return the reasons in the progress files of learners and in the code of their notebooks, each
    once.

    Args:
        records: the content of a progress file, by the name of its learner.
        calls: the answers in the code of notebooks, by the name of the learner.
    """
    every = [*_recorded(records), *_called(calls)]
    once = {(one.learner, one.card, one.because): one for one in reversed(every)}
    return [one for one in every if once.get((one.learner, one.card, one.because)) is one]


def page(said: Iterable[Reason]) -> str:
    """Return the rubric file: for each card its question, its true answer, and all reasons."""
    by_card: dict[str, list[Reason]] = {}
    for one in said:
        by_card.setdefault(one.card, []).append(one)
    parts = [
        "# Reasons at the cards",
        "",
        "Marked for completion alone: nobody loses a point by what stands here. Whether a guess "
        "was right is as the learner's own file says; numbers differ where a card was asked "
        "again.",
        "",
    ]
    for card in sorted(by_card):
        parts += [f"## {escaped(card)}", "", *_asked(card)]
        parts += [*map(_line, by_card[card]), ""]
    return "\n".join(parts if by_card else [*parts, "No reasons were given."]).rstrip() + "\n"


def escaped(text: str) -> str:
    """Return a text of a learner on one line, cut where it is long, in which Markdown and HTML find
    nothing.

    >>> escaped("<b>all</b> of it")
    '\\\\<b\\\\>all\\\\</b\\\\> of it'
    """
    text = visible(" ".join(text.split()))
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return re.sub(r"(?i)\bwww\.", r"www\.", _MARKS.sub(r"\\\1", text))


def _recorded(records: Mapping[str, Mapping[str, Any]]) -> Iterator[Reason]:
    for learner, record in records.items():
        for card, turns in record["cards"].items():
            for turn in turns:
                if turn.get("because"):
                    yield Reason(
                        card,
                        learner,
                        turn["guess"],
                        turn["because"],
                        turn["right"],
                        turn.get("revision", ""),
                    )


def _called(calls: Mapping[str, Iterable[CardCall]]) -> Iterator[Reason]:
    for learner, answers in calls.items():
        for call in answers:
            if call.because:
                yield Reason(call.name, learner, call.guess, call.because, None, call.revision)


def _asked(card: str) -> list[str]:
    """Return the question of a card and its true answer, on its first numbers; nothing for a card
    that memlab does not have."""
    topic = topics().get(card)
    if topic is None:
        return []
    turn = Attempt(topic, topic.first)
    with strings.speaking(f"ask.{card}", "card"):
        return [escaped(sentences.question(turn)), "", f"**Answer:** {_truth(turn)}", ""]


def _truth(turn: Attempt) -> str:
    try:
        found = replace(turn, truth=turn.topic.truth(turn.numbers))
    except (ImportError, ValueError, OSError) as error:  # what this machine cannot find out
        return f"not found here: {escaped(str(error))}"
    return escaped(sentences.truth_text(found))


def _line(one: Reason) -> str:
    verdict = {True: " (right)", False: " (wrong)", None: ""}[one.right]
    revised = f", revised to {escaped(_guess(one.card, one.revision))}" if one.revision else ""
    guess = escaped(_guess(one.card, one.guess))
    return f"- **{escaped(one.learner)}** guessed {guess}{verdict}{revised}: {escaped(one.because)}"


def _guess(card: str, guess: str) -> str:
    """Return a guess for reading: an option by its text."""
    topic = topics().get(card)
    if topic is None or topic.kind is not AnswerKind.CHOICE or guess not in topic.options:
        return guess
    with strings.speaking(f"ask.{card}", "card"):
        return sentences.option(Attempt(topic, topic.first), guess).rstrip(sentences.STOPS)
