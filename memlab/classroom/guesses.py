"""The guesses of a class as text and as JSON, from its progress files. No learner is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memlab.errors import shorten
from memlab.lesson.card_question import Question, Truth
from memlab.lesson.class_files import ClassFiles
from memlab.lesson.class_guesses import ClassGuesses, GuessRow, Tally, share
from memlab.pictures.values.number_text import columns

SCHEMA = "memlab.guesses/1"
WIDE = 24
"""Characters of the longest bar."""
BLOCKS = " ▏▎▍▌▋▊▉█"
"""Eighths of a character, and a whole one."""
NAMED = 5
"""Most cards that a sentence names."""


@dataclass(frozen=True)
class CardGuesses:
    """Guesses at one card, with the truth if it is to be shown."""

    guesses: ClassGuesses
    truth: Truth | None = None

    def text(self, whole: bool) -> str:
        """Return the histogram with its sentences; ``whole`` adds the question."""
        asked = [self.guesses.question] if whole else []
        name, told = self.guesses.topic.name, self.guesses.told(self.truth)
        return "\n".join([name, *asked, *told, *self._bars()])

    def as_dict(self) -> dict[str, Any]:
        """Return the counts, for JSON; what is right is there with the truth alone."""
        guesses, truth = self.guesses, self.truth
        return {
            "card": guesses.topic.name,
            "kind": str(guesses.topic.kind),
            "guesses": len(guesses.series[0]),
            "after": len(guesses.series[1]) if guesses.series[1:] else None,
            "skipped": guesses.skipped,
            "unread": len(guesses.unread),
            "rows": [_row_as_dict(row, truth is not None) for row in guesses.rows(truth)],
            "truth": truth and guesses.truth_in_words(truth),
            "right": truth and guesses.right(truth),
        }

    def _bars(self) -> list[str]:
        rows = self.guesses.rows(self.truth)
        most = max((tally.guesses for row in rows for tally in row.counts), default=0)
        return [f"  {line}" for line in columns([c for r in rows for c in self._cells(r, most)],
                                                align="<<>><")] if rows else []  # fmt: skip

    def _cells(self, row: GuessRow, most: int) -> Iterator[tuple[str, ...]]:
        """Yield the cells of a row, and those of its later answers below it."""
        for at, (tally, answers) in enumerate(zip(row.counts, self.guesses.series, strict=True)):
            label = row.label if at == 0 else "  after that"
            yield (label, bar(tally.guesses, most), str(tally.guesses),
                   share(tally.guesses, len(answers)), self._mark(row, tally))  # fmt: skip

    def _mark(self, row: GuessRow, tally: Tally) -> str:
        """Return what is right in a row: nothing while the truth is hidden."""
        if 0 < tally.right < tally.guesses:
            return f"{tally.right} right"
        return "right" if tally.right or row.truth else ""


def bar(count: int, most: int) -> str:
    """Return a bar of blocks, the longest one for ``most``; it is not empty where ``count`` is not.

    >>> bar(1, 2)
    '████████████'
    """
    eighths = max(round(8 * WIDE * count / most), 1) if count else 0
    return BLOCKS[-1] * (eighths // 8) + BLOCKS[eighths % 8].strip()


def _row_as_dict(row: GuessRow, revealed: bool) -> dict[str, Any]:
    counts = [tally.guesses for tally in row.counts]
    right = {"right": [tally.right for tally in row.counts], "truth": row.truth}
    return {"answer": row.label, "counts": counts, **(right if revealed else {})}


def of_class(
    files: ClassFiles, known: Mapping[str, Question], card: str | None, reveal: bool
) -> list[CardGuesses]:
    """Return the guesses at one card, or at each card that somebody answered or skipped.

    Args:
        files: the progress files.
        known: the cards of all lessons.
        card: the card, one of those known; None for all.
        reveal: whether the truth is found, which runs a step.
    """
    names = [name for name in known if name in files.answers] if card is None else [card]
    return [
        CardGuesses(files.guesses(known[name]), known[name].truth(known[name].first) if reveal
                    else None)
        for name in names
    ]  # fmt: skip


def text(cards: Sequence[CardGuesses], files: ClassFiles, known: Mapping[str, Question]) -> str:
    """Return the guesses at some cards; at a single one, with its question."""
    blocks = [card.text(len(cards) == 1) for card in cards]
    head = f"{files.files} progress files" if files.files != 1 else "1 progress file"
    if files.broken:
        head += f", and {len(files.broken)} that could not be read"
    told = [f"{head}.", *_others(files, known)]
    return "\n\n".join([" ".join(told), *(blocks or ["No card of a lesson is answered."])])


def _others(files: ClassFiles, known: Mapping[str, Question]) -> list[str]:
    """Return the sentence on answers to cards that are not known here, where there are any."""
    others = files.others(known)
    if not others:
        return []
    names = ", ".join(shorten(name) for name, _count in others.most_common(NAMED))
    more = f" and {len(others) - NAMED} others" if len(others) > NAMED else ""
    return [f"Cards of no lesson are not counted: {names}{more}."]


def as_dict(cards: Sequence[CardGuesses], files: ClassFiles) -> dict[str, Any]:
    """Return the guesses at some cards for JSON."""
    return {
        "schema": SCHEMA,
        "files": files.files,
        "broken": len(files.broken),
        "cards": [card.as_dict() for card in cards],
    }
