"""What a scene is: its pictures, the same in words, and what the lecturer may say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memlab.views.lecture.sheet import Sheet


@dataclass(frozen=True)
class Scene:
    """``twins`` has a text for each step. ``auto`` runs by itself from one step to another,
    ``stops`` are the steps at which the key for the next one halts, ``pins`` says where the parts
    of the picture are that can be clicked."""

    name: str
    sheet: Sheet
    twins: Sequence[str]
    notes: str
    auto: tuple[int, int] | None = None
    stops: Sequence[int] = ()
    pins: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        assert len(self.twins) == self.sheet.steps, self.name
