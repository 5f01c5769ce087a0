"""Guesses of a room that were pasted or typed: a column of a poll, a row of numbers, votes.

Example::

    guesses = pasted_guesses.read(topics()["03.stride"], "2.25\\n9\\n9\\n4.5")
    [(row.label, row.counts[0].guesses) for row in guesses.rows()]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memlab.errors import InputError
from memlab.lesson import sentences
from memlab.lesson.card_question import Answer, Attempt, Question
from memlab.lesson.class_guesses import ClassGuesses
from memlab.strings import gettext as _

MOST = 20_000
"""Most characters of a pasted text: a class of hundreds."""
LINES = re.compile(r"[\n\r;\uff1b]+")
"""Ends of a line: a semicolon is one, too."""
SEPARATORS = r"[\uff0c\u3001\t]|,\s"
"""Signs between two answers on a line, those of Chinese and Japanese among them."""
_NUMBERS = re.compile(r"[\d.\s,]+")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_COUNTED = re.compile(r"(.*?\S)\s*[:=\s]\s*(\d{1,3})")
"""An option and the number of its votes, as a poll tells them: ``"A: 12"``."""


def read(topic: Question, first: str, after: str = "") -> ClassGuesses:
    """Return the guesses that stand in a text, one on a line; plain numbers may also stand in a
    row, ``"9, 3, 27"``, and options be given by letter, or with their votes, ``"A: 12"``.

    Args:
        topic: the question.
        first: the guesses before anything is shown.
        after: those after a discussion; empty if nobody answered again.

    Raises:
        InputError: a text is longer than ``MOST``.
    """
    unread: list[str] = []
    texts = (first, after) if after.strip() else (first,)
    series = tuple(tuple(_answers(topic, text, unread)) for text in texts)
    return ClassGuesses(topic, series, unread=tuple(unread))


def _answers(topic: Question, text: str, unread: list[str]) -> Iterator[Answer]:
    """Yield the answers in a text; parts that are none go to ``unread``."""
    if len(text) > MOST:
        raise InputError(_("the guesses have {given} characters; give at most {most}, an answer on "
                           "a line.", given=f"{len(text):,}", most=f"{MOST:,}"))  # fmt: skip
    for line in lines(text):
        for part in _parts(topic, line):
            try:
                yield from voted(topic, part)
            except InputError:
                unread.append(part)


def lines(text: str) -> list[str]:
    """Return the lines of a text that are not empty."""
    return [line for line in map(str.strip, LINES.split(text)) if line]


def _parts(topic: Question, line: str) -> list[str]:
    """Return the parts of a line that are an answer each. A row of plain numbers is several, even
    where it could be read as one: 9 100."""
    if not topic.options and _NUMBERS.fullmatch(line):
        return [part for piece in _split(r",?\s+", line) for part in _apart(piece)]
    ways = [line], _split(SEPARATORS, line), _split(r"[\s,]+", line)
    return next((way for way in ways if _readable(topic, way)), ways[1])


def _split(shape: str, line: str) -> list[str]:
    return [part for part in map(str.strip, re.split(shape, line)) if part]


def _apart(piece: str) -> list[str]:
    """Return the numbers of a piece without spaces: 9,3,27 is three, 1,024 and 2,5 are one."""
    several = piece.count(",") > 1 and not _GROUPED.fullmatch(piece)
    return _split(",", piece) if several else [piece]


def _readable(topic: Question, parts: Iterable[str]) -> bool:
    try:
        return all(voted(topic, part) for part in parts)
    except InputError:
        return False


def voted(topic: Question, part: str) -> list[Answer]:
    """Return the answers that a part of a text stands for: one, or as many votes for an option as
    it says.

    Raises:
        InputError: it is no answer.
    """
    part = " ".join(part.split())
    if topic.options and (match := _COUNTED.fullmatch(part)):
        try:
            return [_answer(topic, match[1])] * int(match[2])
        except InputError:
            pass  # an option may end in a number
    return [_answer(topic, part)]


def _answer(topic: Question, part: str) -> Answer:
    """Return the answer that a text is: an option by its name, its text or its letter."""
    if not topic.options:
        return topic.read(part)
    turn = Attempt(topic, topic.first)
    plain = part.strip().rstrip(sentences.STOPS).casefold()
    for name in topic.options:
        told = sentences.option(turn, name).rstrip(sentences.STOPS).casefold()
        if plain in (name.casefold(), told):
            return name
    letters = {chr(ord("a") + at): name for at, name in enumerate(topic.options)}
    return letters[plain] if plain in letters else topic.read(part)
