"""Outputs of solved notebooks and appendices are written for people."""

import json
from pathlib import Path

import pytest

from lessons import build, stored
from tests.raw_texts import raw
from tests.rows import every_row

SOLVED = [
    target
    for source in build.sources(build.LESSONS)
    for target, solved in build.targets(source).items()
    if solved or source.parent.name == build.APPENDIX
]
EXACT = {
    "formats": "its digits are those that a format holds",
    "thumb_rule": "its digits are those of a text",
    "06_precision": "its digits are those that a format holds",
    "02_thumb_rule": "its digits are those of a text",
}
"""Pages whose digits are what they show, with the reason."""


@every_row("path", SOLVED)
def test_no_output_is_as_python_writes_it(path: Path) -> None:
    if path.stem in EXACT:
        pytest.skip(EXACT[path.stem])
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = [stored.text_of_output(output) for cell in cells for output in cell.get("outputs", [])]
    assert [place for text in texts for place in raw(text)] == []
