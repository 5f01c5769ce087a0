"""What no text that people read may hold: values as Python writes them, floats that nobody rounded,
a batch with which nobody trains."""

import re
from collections.abc import Iterator

from memlab.pictures.values.number_text import MOST

DIGITS = 6
"""The most digits of a number with a point."""
WRITTEN_BY_PYTHON = re.compile(r"[{\[(]'[^'\n]*'\s*[:,]|\barray\(\[|<[\w.]+ object at")
POINTED = re.compile(r"(?<![\w.,])\d[\d,]*\.\d+")
BATCH = re.compile(r"\bbatch (\d[\d,]*\d)")


def raw(text: str) -> Iterator[str]:
    """Each such place of a text."""
    yield from (match[0] for match in WRITTEN_BY_PYTHON.finditer(text))
    for match in POINTED.finditer(text):
        if len(re.sub(r"[,.]", "", match[0]).lstrip("0")) > DIGITS:
            yield match[0]
    for match in BATCH.finditer(text):
        if int(match[1].replace(",", "")) > MOST:
            yield match[0]
