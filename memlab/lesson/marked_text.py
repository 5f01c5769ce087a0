"""Texts with **bold** words and `code`, as the strings of cards and tasks are written.

A widget shows the marks (``view.js``); printed text has quotes around code, and no bold.
"""

from __future__ import annotations

import re

BOLD, CODE = re.compile(r"\*\*(.+?)\*\*", re.DOTALL), re.compile(r"`([^`]+)`")


def plain(text: str) -> str:
    """Return a text without its marks: "**k** is `n // 2`" as "k is 'n // 2'"."""
    return CODE.sub(r"'\1'", BOLD.sub(r"\1", text))
