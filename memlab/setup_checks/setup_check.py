"""Result of one check of a set-up."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True)
class SetupCheck:
    """Result of one check of the set-up: its name, its state, and the line that fixes it."""

    name: str
    status: Status
    text: str
    fix: str = ""

    def __str__(self) -> str:
        line = f"{self.status:9}{self.name}: {self.text}"
        return f"{line}\n{'':9}to fix it: {self.fix}" if self.fix else line


def unset(variable: str, windows: bool = os.name == "nt") -> str:
    """Return the line that takes a variable out of the environment of a terminal."""
    return f"set {variable}=" if windows else f"unset {variable}"
