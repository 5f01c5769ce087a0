"""Published tables of measured training memory, as data: no PyTorch is needed to read them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Any

from memlab import lesson_folders

FOLDER = lesson_folders.PACKAGE / "bench" / "accuracy" / "published"
TABLES = ("torch_preflight", "nvidia_smi", "liger", "memory_anatomy", "densenet", "not_planned")
"""Names of the tables, in the order in which they are shown."""
CHECKED = "torch_preflight"
"""Name of the table whose rows a test holds the plans against."""

CARD, PROCESSOR = "memlab for the card", "memlab for a processor"
LEAST, MOST = "memlab, least", "memlab, most"
"""Names of estimates: of allocated bytes, and of those that a card shows."""
RESERVED = ", reserved"
"""End of the name of a comparison of what the card shows."""
WITHOUT = "memlab without "
"""Begin of the names of estimates that leave out one difference of a card."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """Row of a table: a model at a batch, and ``nbytes`` as they were measured.

    ``tokens`` are those of a sample, ``words`` the size of the vocabulary where the row sets it.
    ``reserved`` and ``context`` are bytes, 0 where the source does not say; ``estimated`` is the
    sum of both as its own estimator has it. ``published`` is the figure as it stands there, where
    that is not in bytes; ``why`` says why a row is not planned.
    """

    model: str
    batch: int
    nbytes: int
    tokens: int = 0
    words: int = 0
    reserved: int = 0
    context: int = 0
    estimated: int = 0
    published: str = ""
    why: str = ""

    @property
    def title(self) -> str:
        """Name of the row: ``'gpt2, batch 8, 256 tokens'``."""
        parts = [self.model, f"batch {self.batch}"]
        if self.tokens:
            parts.append(f"{self.tokens} tokens")
        return ", ".join([*parts, f"{self.words} words"] if self.words else parts)


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """Rows of one source, and how they were measured.

    ``date`` is the day that ``dated`` names. ``counts`` is ``"allocated"`` or ``"nvidia-smi"``,
    and ``counted`` the function or the program that was asked. ``estimator`` is the source's own
    one, with its version. ``card`` is a name or a compute
    capability, empty where the source does not name it. ``assumed`` are sentences on what the
    source does not say; ``reason`` is the likely one for the errors.
    """

    title: str
    source: str
    date: date
    dated: str
    counts: str
    counted: str
    reason: str
    rows: tuple[PublishedRow, ...]
    file: str = ""
    commit: str = ""
    machine: str = ""
    card: str = ""
    estimator: str = ""
    optimizer: str = "adam"
    autocast: str = ""
    keep_output: bool = False
    set_to_none: bool = True
    clip_grad_norm: float | None = None
    context: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()

    def name(self, row: PublishedRow) -> str:
        """Return the name of a row among those of all tables."""
        return f"{row.title}, on {self.machine or 'a card without a name'}"

    @property
    def options(self) -> dict[str, Any]:
        """Options of ``memlab.record`` that make its step the measured one."""
        return {
            "autocast": self.autocast,
            "keep_output": self.keep_output,
            "set_to_none": self.set_to_none,
            "clip_grad_norm": self.clip_grad_norm,
        }


@cache
def load(name: str) -> PublishedTable:
    """Return a table by its name.

    >>> load("torch_preflight").rows[3].title
    'gpt2, batch 8, 256 tokens'
    """
    table = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    rows = tuple(PublishedRow(**row) for row in table.pop("rows"))
    assumed = tuple(table.pop("assumed", ()))
    return PublishedTable(**table, rows=rows, assumed=assumed)
