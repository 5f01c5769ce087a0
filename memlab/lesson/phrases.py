"""Search for words that would give the answer of a card away."""

from __future__ import annotations

import re


def holds(text: str, phrase: str) -> bool:
    """True if a phrase stands in a text: whole words, in any case, a formula with any spaces."""
    text, phrase = _shaped(text), _shaped(phrase)
    first = r"(?<!\w)" if phrase[:1].isalnum() else ""
    last = r"(?!\w)" if phrase[-1:].isalnum() else ""
    return re.search(first + re.escape(phrase) + last, text) is not None


def _shaped(text: str) -> str:
    """Return a text with formulas in one form, however prose or code writes them."""
    text = " ".join(text.replace("**2", "²").replace("**", "").replace("`", "").split()).lower()
    return re.sub(r" ?[·×*] ?", "·", text)
