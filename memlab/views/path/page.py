"""The page of the data path: the stations at a moment, and the lanes below them."""

from __future__ import annotations

from memlab.studies.streams.path import say
from memlab.views.draw.page import Page
from memlab.views.draw.table import Block, Key, Table, Words
from memlab.views.draw.theme import WAIT, Paint
from memlab.views.offload.page import bold
from memlab.views.path.lanes import lanes
from memlab.views.path.shown import DARK, LIGHT, Shown, told
from memlab.views.path.stations import stations

KEYS: dict[str, Paint | str] = {"empty": "edge before", "read": LIGHT, "other": DARK, "wait": WAIT}
"""What looks mean that no word stands beside."""


def page(shown: Shown, says: str) -> Page:
    """The stations, and the lanes below them."""
    found = shown.found
    heads, rows = found.table(shown.time.x.last)
    blocks: list[Block] = [
        Words([bold(found.finding)], 20),
        Words(_sentences(shown), 13, gap=3),
        stations(shown),
        lanes(shown),
        Key([(look, say(f"key.{name}")) for name, look in KEYS.items()], 11, gap=2),
        Words(found.notes, 11, dim=True, gap=6),
        Words(found.lines(shown.now), drawn=False, gap=1),
        Table(heads, rows, "<" * len(heads), drawn=False, gap=1),
    ]
    return Page(found.title, blocks, shown.width, says, titled=False)


def _sentences(shown: Shown) -> list[str]:
    """What there is to see: of the batch in focus, of the wait that was chosen, or of all."""
    found = shown.found
    if shown.chosen is not None:
        return [str(told(found, shown.chosen))]
    wait = found.waiting(shown.now) if shown.moment is not None else ""
    return [wait] if wait else found.sentences
