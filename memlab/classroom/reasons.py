"""The reasons that learners gave at cards, for a person to read: a rubric file in Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import memlab
from memlab import atomic_files, strings
from memlab.classroom.marks import CardCall
from memlab.errors import InputError, visible
from memlab.lesson import sentences
from memlab.lesson.card_question import AnswerKind, Attempt, Question, topics

LONGEST = 400
"""Characters of a reason, which are as many as a card takes."""
MOST = 5
"""Reasons of a learner at one card."""
ABOUT = (
    "Marked for completion alone: nobody loses a point by what stands here. Whether a guess was "
    "right is as the learner's own file says; numbers differ where a card was asked again."
)
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
    records: Mapping[str, Mapping[str, Any]], calls: Iterable[tuple[str, Iterable[CardCall]]]
) -> list[Reason]:
    """Return the reasons in the progress files of learners and in the code of their notebooks, each
    once, and at most ``MOST`` of a learner at one of memlab's cards.

    Args:
        records: the content of a progress file, by the name of its learner.
        calls: the answers in the code of each notebook, with the name of its learner.
    """
    known, kept = topics(), dict[tuple[str, str], dict[str, Reason]]()
    for one in (*_recorded(records), *_called(calls)):
        if one.card in known:
            kept.setdefault((one.learner, one.card), {}).setdefault(one.because, one)
    return [one for said in kept.values() for one in [*said.values()][:MOST]]


def answers(cards: Iterable[str], file: Path) -> dict[str, str]:
    """Return the true answer of each card in words, on its first numbers. Some plan, others run a
    step: so they are kept in a file for the next call."""
    kept = _kept(file)
    known = {
        card: kept.get(card) or _answer(topics()[card]) for card in sorted({*cards} & {*topics()})
    }
    found = {**kept, **{card: text for card, text in known.items() if text}}
    if found != kept:
        content = {"version": memlab.__version__, "answers": found}
        atomic_files.write(file, json.dumps(content, indent=1) + "\n")
    return known


def page(said: Iterable[Reason], answers: Mapping[str, str]) -> str:
    """Return the rubric file: for each card its question, its true answer, and all reasons."""
    by_card: dict[str, list[Reason]] = {}
    for one in said:
        by_card.setdefault(one.card, []).append(one)
    parts = ["# Reasons at the cards", "", ABOUT, ""]
    for card in sorted(by_card):
        parts += [f"## {escaped(card)}", "", *_asked(card, answers.get(card, ""))]
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


def _called(calls: Iterable[tuple[str, Iterable[CardCall]]]) -> Iterator[Reason]:
    for learner, answers in calls:
        for call in answers:
            if call.because:
                yield Reason(call.name, learner, call.guess, call.because, None, call.revision)


def _kept(file: Path) -> dict[str, str]:
    """Return the answers that an earlier call found with this version of memlab."""
    try:
        content = json.loads(file.read_bytes())
        return dict(content["answers"]) if content["version"] == memlab.__version__ else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _answer(topic: Question) -> str:
    """Return the true answer in words; empty for what this machine cannot find out."""
    turn = Attempt(topic, topic.first)
    try:
        found = replace(turn, truth=topic.truth(turn.numbers))
    except (ImportError, InputError, OSError):
        return ""
    with strings.speaking(f"ask.{topic.name}", "card"):
        return sentences.truth_text(found)


def _asked(card: str, answer: str) -> list[str]:
    """Return the question of a card and its true answer, on its first numbers; nothing for a card
    that memlab does not have."""
    topic = topics().get(card)
    if topic is None:
        return []
    with strings.speaking(f"ask.{card}", "card"):
        question = sentences.question(Attempt(topic, topic.first))
    told = escaped(answer) or "not found on this machine"
    return [escaped(question), "", f"**Answer:** {told}", ""]


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
