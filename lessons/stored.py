"""What a notebook stores of what its cells show: the same on every machine.

A note stands for what differs from machine to machine. In the solutions the recorded picture of the
cell is below it: `lessons/recordings.py`. No live widget is stored.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Collection, Mapping
from datetime import date, timedelta
from html import unescape
from typing import Any

import nbformat
from nbformat import NotebookNode

from lessons import messages, recordings
from lessons.messages import Say
from lessons.recordings import Picture

SVG = recordings.SVG
SOLUTION, DIFFERS = "solution", "nbval-ignore-output"
WIDGET = "application/vnd.jupyter.widget-view+json"
NOTE = f"{messages.NOTE}\n"
FREE = re.compile(r"\bfree here\b|B\)? free\b|\bfree:? \d", re.IGNORECASE)
PLANNED, FIXED = "planned-seconds", "pytorch-recorded"
"""The tag of a cell whose seconds, and the GB/s that they are of, the clock plans for a card, and
that of one whose figures of PyTorch were recorded: they are the same on every machine."""
SECONDS = r"\d (?:s|ms|µs|seconds?|GB/s)\b|\bless time\b(?! \(planned\))"
TORCH = r"\b(?:PyTorch|oneDNN)\b"
OTHERS = rf"\bper second, in billions\b|\bthreads\b|{FREE.pattern}"
VARIES = re.compile(f"{SECONDS}|{TORCH}|{OTHERS}", re.IGNORECASE)
OWN = re.compile(rf"{VARIES.pattern}|\bcache\b", re.IGNORECASE)
BYTES = re.compile(r"\d (?:[kMGT]i?)?B\b(?!/s)")


class LessonError(Exception):
    """A lesson that cannot be made; its text is one sentence for the author."""


def clean(
    made: NotebookNode, name: str, say: Say = str, kept: Mapping[str, Picture] | None = None
) -> None:
    """Keep what every machine stores alike, and no live widget; in another language than English
    nothing is looked for that differs from machine to machine. ``kept`` are the recorded pictures
    of a solved notebook, by name.

    Raises:
        LessonError: a cell wrote a warning, or shows what differs from machine to machine.
    """
    for cell in made.cells:
        if cell.cell_type != "code":
            continue
        if say is str and (fault := differs(cell)):
            raise LessonError(f"{name}: cell {cell.id} {fault}")
        if DIFFERS in cell.metadata.get("tags", []):
            note = f"{say(messages.NOTE)}\n"
            cell.outputs = noted(cell, note)
            if picture := (kept or {}).get(recordings.tagged(name, cell.metadata.tags)):
                cell.outputs = recordings.beside(cell.outputs, note, picture)
        for output in cell.outputs:
            output.get("data", {}).pop(WIDGET, None)
            if output.get("name") == "stderr":
                raise LessonError(f"{name}: a cell wrote to stderr: {output.text.strip()}")
        cell.outputs = [output for output in cell.outputs if output.get("data", True)]


def noted(cell: NotebookNode, note: str) -> list[NotebookNode]:
    """The outputs of a cell with the note for what varies: all of them, but in a solution."""
    told = nbformat.v4.new_output("stream", name="stdout", text=note)
    if SOLUTION not in cell.metadata.tags:
        return [told]
    kept = [told if measured(text_of_output(each)) else each for each in cell.outputs]
    return [each for each, before in zip(kept, [None, *kept], strict=False) if each is not before]


def differs(cell: NotebookNode) -> str:
    """What is wrong with what a cell shows of its machine, and empty where nothing is."""
    tags = cell.metadata.get("tags", [])
    texts = [text_of_output(output) for output in cell.outputs]
    if {SOLUTION, DIFFERS} <= {*tags}:  # a card above, of which every digit is the same
        texts = [text for text in texts if measured(text)]
    shown = "\n".join(texts)
    varies = varying(tags, shown)
    if DIFFERS not in tags:
        return f"shows {varies[0]!r}; tag it {DIFFERS}." if varies else ""
    if not varies:
        return f"shows nothing that differs from machine to machine; it needs no {DIFFERS}."
    headed = False  # below a line such as "PyTorch 2.13, bytes of a convolution:"
    for line in shown.splitlines():
        if line.endswith((":", ".")):
            headed = line.endswith(":") and bool(OWN.search(line))
        if BYTES.search(line) and not OWN.search(line) and not headed:
            return f"shows bytes that are the same everywhere; show {line.strip()!r} in another."
    names, day = (platform.machine(), platform.system()), date.today().isoformat()
    if not dated(shown) or not any(name and name in shown for name in names):
        return f"shows {varies[0]!r}; name the machine ({names[0]}) and the date ({day})."
    return ""


def varying(tags: Collection[str], shown: str) -> re.Match[str] | None:
    """The first words that differ from machine to machine, of what a cell with these tags shows."""
    parts = [OTHERS, *([] if PLANNED in tags else [SECONDS]), *([] if FIXED in tags else [TORCH])]
    return re.search("|".join(parts), shown, re.IGNORECASE)


def measured(text: str) -> bool:
    """Whether an output of a solution differs from machine to machine, or names the day."""
    return bool(VARIES.search(text)) or dated(text)


def dated(text: str) -> bool:
    """Whether a text names this day, or the day before, as a run may begin before midnight."""
    today = date.today()
    return any(day.isoformat() in text for day in (today, today - timedelta(days=1)))


def text_of_output(output: Any) -> str:
    """What a reader sees of an output: its text, and that of its pictures and tables."""
    data = output.get("data", {})
    parts = [output.get("text", ""), data.get("text/plain", "")]
    parts += [
        unescape(re.sub(r"<style.*?</style>|<[^>]*>", " ", "".join(data.get(kind, "")), flags=re.S))
        for kind in (SVG, "text/html")
    ]
    return "\n".join("".join(part) for part in parts)
