"""The outcome of a script that was watched, as the child process writes it for its parent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from memlab import atomic_files

FILE, MARK = "outcome.json", "recorded"
"""Names of the file with the outcome, and of an empty one that says that all steps have run."""
Kind = Literal["recorded", "values", "refused", "ended", "failed"]
"""Kinds of outcomes: steps were recorded; an operator needs values that fake tensors have not; the
script does something that cannot be watched; it ended too early; it ended with an error."""


def write(folder: Path, kind: Kind, **facts: Any) -> None:
    """Write an outcome, all of it or nothing."""
    atomic_files.write(folder / FILE, json.dumps({"kind": kind, **facts}))


def read(folder: Path) -> dict[str, Any]:
    """Return the outcome; an empty one where the child process ended without."""
    try:
        outcome: dict[str, Any] = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return outcome
