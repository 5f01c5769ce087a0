"""Text of a card or an exercise, as a notebook keeps it beside its picture, read back in parts.

A picture of a card is drawn for a notebook; on a projector its letters are too small.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from memlab import strings

ASKS = re.compile(r"\blesson\.(?:predict|recall|change|exercise)\(")
"""Code of a cell that asks something."""
ANSWERS = re.compile(r"\.(?:reveal|guess)\(")
"""Code of a cell that answers a card."""
TOLD = re.compile(r"\.(?:guess|skip|retry|revise|reveal|hint|check|solution)\(")
"""Code in the text of a card, which tells how to answer it."""
OPTION = re.compile(r"  (?P<name>\w+): (?P<text>\S.*)")
ROW = re.compile(r"(?P<name>\S.*?) {2,}(?P<value>\S.*)")

HEAD = re.compile(r"(?P<head>\S+(?: \S+)?[.。]) +(?P<rest>.*)")
"""First words of a question, such as ``Predict.``, which stand apart."""
PRAISE = [f"card.verdict.{key}" for key in ("chosen", "exact", "right", "close")]
"""Keys of all that a card says to a right guess."""
LONG = 240
"""Letters of a question from which on it is set smaller."""


@dataclass(frozen=True)
class CardText:
    """Parts of the text of a card.

    ``figures`` are the right answer, or what was planned and measured, by their names. ``guess`` is
    a wrong guess with ``diagnosis``, what the card says to it; both are empty without one.
    """

    question: str
    options: tuple[str, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()
    guess: str = ""
    diagnosis: str = ""
    said: tuple[str, ...] = ()


def read(text: str) -> CardText:
    """Return the parts of the text of a card, an exercise, or anything else with a first line."""
    question, *lines = text.splitlines() or [""]
    options = tuple(found["text"] for line in lines if (found := OPTION.fullmatch(line)))
    others = [line for line in lines if not OPTION.fullmatch(line) and not TOLD.search(line)]
    rows = {found["name"]: found["value"] for line in others if (found := ROW.fullmatch(line))}
    guess = next((rows.pop(name) for name in _every("card.guess") if name in rows), "")
    for name in _every("card.because", "card.revision"):
        rows.pop(name, None)
    again = tuple(text.partition("{")[0] for text in _every("card.second"))
    said = [line.strip() for line in others if line.strip() and not ROW.fullmatch(line)]
    said = [line for line in said if not line.startswith(again)]
    diagnosis = said.pop(0) if said and guess and guess not in _every("card.none") else ""
    if diagnosis in _every(*PRAISE):
        guess = diagnosis = ""
    return CardText(question, options, tuple(rows.items()), guess, diagnosis, tuple(said))


def _every(*keys: str) -> list[str]:
    """Return texts in each language: that of a notebook need not be the reader's."""
    return [strings.table(name)[key] for name in strings.languages() for key in keys]


def question_html(card: CardText) -> str:
    """Return a question, and its options with letters to vote by."""
    options = "".join(f"<li>{escape(text)}</li>" for text in card.options)
    said = "".join(f"<p>{escape(text)}</p>" for text in card.said)
    listed = f'<ol class="options">{options}</ol>' if options else ""
    long = " long" * (len(card.question) > LONG)
    return f'<p class="question{long}">{_headed(card.question)}</p>{listed}{said}'


def answer_html(card: CardText) -> str:
    """Return an answer: the right one, a wrong guess with what the card says to it, the finding."""
    figures = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in card.figures
    )
    wrong = f'<p class="guess"><b>{escape(card.guess)}?</b> {escape(card.diagnosis)}</p>'
    found = "".join(f"<p>{escape(text)}</p>" for text in card.said)
    return (
        f'<p class="asked">{escape(card.question)}</p><dl class="answer">{figures}</dl>'
        f"{wrong if card.diagnosis else ''}{found}"
    )


def _headed(question: str) -> str:
    """Return a question whose first word or two, such as ``Predict.``, stand apart."""
    if not (found := HEAD.fullmatch(question)):
        return escape(question)
    return f"<span>{escape(found['head'])}</span> {escape(found['rest'])}"
