"""The recorded pictures of measured cells: evidence that stays, from a machine that is named.

A cell tagged `recorded-tile` of lesson 03 has the picture `images/03-tile.svg`; its text, its
figures, the machine, the date and the command are in `data/recorded/03-tile.json`. Below the note,
the solutions show the picture, and so does an appendix, which asks nothing. `lessons/record.py`
makes both files; building a lesson reads them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from memlab import atomic_files
from memlab.errors import InputError, whole_number
from memlab.ledger import files
from memlab.measure import recorded_figures
from memlab.measure.recorded_figures import RecordedFigures

TAG = re.compile(r"recorded-([a-z0-9_]+)")
SVG = "image/svg+xml"
ABOVE = "Recorded on {processor}, {date}:"
"""What stands between the note and the picture."""


@dataclass(frozen=True)
class Picture:
    """`name` is that of its files, `03-tile`; `text` is the same in words. `load` is how many
    processes were busy when the recording began, None where the system does not say."""

    name: str
    svg: str
    text: str
    threads: int
    load: float | None
    recorded: RecordedFigures

    @property
    def above(self) -> str:
        """Where and when, in a line."""
        machine = self.recorded.result.machine
        return ABOVE.format(processor=machine.processor, date=machine.date)


def tagged(lesson: str, tags: Iterable[str]) -> str:
    """The name of the picture that a cell of a lesson (`03_lowering`) or of an appendix records;
    empty for none."""
    found = next(filter(None, map(TAG.fullmatch, tags)), None)
    return file_of(lesson, found[1]) if found else ""


def file_of(lesson: str, name: str) -> str:
    """What a picture is called: after the number of its lesson, or after its appendix."""
    return f"{lesson[:2] if lesson[:2].isdigit() else lesson}-{name}"


def files_of(lessons: Path, name: str) -> tuple[Path, Path]:
    """Where the picture lies, and its figures."""
    return lessons / "images" / f"{name}.svg", lessons / "data" / "recorded" / f"{name}.json"


def find(lessons: Path, name: str) -> Picture | None:
    """A recorded picture; None where there is none yet.

    Raises:
        InputError: one of its two files is missing, or its figures are damaged.
    """
    picture, figures = files_of(lessons, name)
    if not (picture.exists() or figures.exists()):
        return None
    command = command_of(name)
    if not (picture.exists() and figures.exists()):
        gone = "picture" if figures.exists() else "figures"
        raise InputError(f"the recording {name} has no {gone}; write both again with `{command}`.")
    svg = picture.read_text(encoding="utf-8").rstrip("\n")
    return files.read(
        figures, lambda data: _picture(name, svg, data), f"write it again with `{command}`"
    )


def _picture(name: str, svg: str, data: Any) -> Picture:
    found, of = recorded_figures.from_dict(data), data.get("picture")
    if not isinstance(of, dict) or not (isinstance(of.get("text"), str) and of["text"]):
        raise InputError("these figures have no picture; record them again.")
    load = of.get("load")
    return Picture(name, svg, of["text"], whole_number("threads", of.get("threads")), load, found)


def write(lessons: Path, picture: Picture) -> None:
    """Both files of a picture, each all of it or nothing."""
    of = {"text": picture.text, "threads": picture.threads, "load": picture.load}
    data = json.dumps({"picture": of, **recorded_figures.to_dict(picture.recorded)}, indent=1)
    drawn, figures = files_of(lessons, picture.name)
    for path, content in ((figures, data), (drawn, picture.svg)):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_files.write(path, f"{content}\n")


def command_of(name: str) -> str:
    """What records a picture, with the others of its lesson."""
    return f"make record ARGS={name.rpartition('-')[0]}"


# -- in a notebook ------------------------------------------------------------------------------


def beside(outputs: list[NotebookNode], note: str, picture: Picture) -> list[NotebookNode]:
    """The outputs of a solved cell with the recorded picture below the note for what varies."""
    told = [each for each in outputs if each.get("text") == note]
    place = max(index for index, each in enumerate(outputs) if each is told[-1])
    data = {SVG: picture.svg, "text/plain": picture.text}
    shown = nbformat.v4.new_output("display_data", data, metadata={"recorded": picture.name})
    above = nbformat.v4.new_output("stream", name="stdout", text=f"{note}{picture.above}\n")
    return [*outputs[:place], above, shown, *outputs[place + 1 :]]


def is_recorded(output: Mapping[str, Any]) -> bool:
    """Whether an output of a stored notebook is a recorded picture."""
    return bool(output.get("metadata", {}).get("recorded"))


def drawn(output: Mapping[str, Any]) -> str:
    """The picture of an output; empty for none."""
    return "".join(output.get("data", {}).get(SVG, ""))
