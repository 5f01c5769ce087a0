"""The mountain of the start page: every state of one slider, drawn by the memory view at build
time, as elements that the states share.

Nothing of the picture is drawn in the browser: ``web/page/states.js`` puts the elements of a state
together. A state is a batch and the batch before it, which stays as an outline.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any

from memlab import views, zoo
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.table import Paragraphs
from memlab.pictures.draw.text import plain

BATCHES = (1, 2, 4, 8, 16, 32, 64)
FIRST, BEFORE = 16, 32
"""State that the page shows at first: a batch, and the one before it."""
WIDTHS = {"wide": 876, "narrow": 370}
"""Widths in pixels of the picture, for a wide page and for a phone."""
HEIGHT = 140


@dataclass(frozen=True)
class MountainState:
    """State of the picture: its peak, what that is the sum of, what the change did, and the picture
    at each width."""

    peak: str
    sum: str
    news: str
    pictures: dict[str, str]


def view(batch: int) -> Any:
    """Return the memory view whose states are drawn, as it is before any change."""
    network = zoo.resnet50(variant="v1")
    return views.memory(
        network, batch, "momentum", only=("batch",), budgets=(), free=False, height=HEIGHT,
        largest=BATCHES[-1],
    )  # fmt: skip


@cache
def states() -> dict[tuple[int, int], MountainState]:
    """Return the state of every batch, by the batch and the one before it."""
    return {pair: _state(*pair) for pair in permutations(BATCHES, 2)}


def _state(batch: int, before: int) -> MountainState:
    memory = view(before)
    memory.batch = batch
    pages = {name: memory.page(width) for name, width in WIDTHS.items()}
    ((peak, _), (total, _)), news, *_ = told(next(iter(pages.values())))
    drawn = {name: svg(page, name) for name, page in pages.items()}
    return MountainState(peak, total.strip(), plain(news), drawn)


def told(page: Page) -> list[Any]:
    """Return the sentences of a page, as its text has them."""
    heads = [block for block in page.blocks if isinstance(block, Paragraphs) and block.told]
    return [runs for block in heads for runs in block.paragraphs]


def svg(page: Page, key: str) -> str:
    """Return the charts and the key of a page as a picture; its sentences stand beside it."""
    blocks = [block for block in page.blocks if not isinstance(block, Paragraphs)]
    return Page(page.title, blocks, page.width, page.says or page.title, titled=False).alone(key)


def script() -> str:
    """Return the states as a script that sets one variable: the elements of all pictures, and for
    each state its sentences and the numbers of its elements."""
    parts: dict[str, int] = {}
    rows = {
        f"{batch}|{before}": [state.peak, state.sum, state.news]
        + [list(_numbers(state.pictures[name], parts)) for name in WIDTHS]
        for (batch, before), state in states().items()
    }
    data = {"batches": BATCHES, "widths": list(WIDTHS), "parts": list(parts), "states": rows}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"window.memlabStates = {text};\n"


def _numbers(picture: str, parts: dict[str, int]) -> Iterator[int]:
    """Yield the numbers of the elements of a picture, which are added to those known."""
    for element in re.split(r"(?=<(?!/))", picture):
        yield parts.setdefault(element, len(parts))
