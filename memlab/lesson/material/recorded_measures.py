"""Bytes that the truth of a card needs and a web page cannot measure, as they were recorded.

A page has no simulator of a GPU. There the bytes of such a card come from a file with the machine,
the date and the command, and the card says so; everywhere else they are measured.
`lessons/record_cards.py` writes the files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from memlab import strings
from memlab.errors import AbsentInPageError
from memlab.measure import recorded_figures

FOLDER = recorded_figures.FOLDER / "cards"
Measure = Callable[[], Mapping[str, int]]


def measured(card: str, measure: Measure) -> tuple[Mapping[str, int], str]:
    """Return the bytes that ``measure`` returns, by name, and an empty text; in a web page that
    lacks what measures them, the recorded ones, and one sentence that says so.

    Args:
        card: name of the card, ``"04.left"``.
        measure: runs what is measured.

    Raises:
        AbsentInPageError: a page lacks what measures them, and none are recorded.
    """
    try:
        return measure(), ""
    except AbsentInPageError as absent:
        if not file_of(card).exists():
            raise
        return _recorded(card, str(absent))


def file_of(card: str) -> Path:
    """Return the path of the recorded bytes of a card."""
    return FOLDER / f"{card.replace('.', '-')}.json"


def _recorded(card: str, why: str) -> tuple[Mapping[str, int], str]:
    kept = recorded_figures.load(file_of(card))
    day = kept.result.machine.date
    told = strings.get("recorded.measured", device=kept.device, date=day, why=why)
    return {line.name: round(line.value) for line in kept.result.lines}, told
