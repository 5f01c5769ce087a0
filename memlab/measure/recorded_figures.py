"""Figures that were measured on another machine, kept as files: a GPU's, for those without one.

A file holds what a benchmark found, the machine, the date, the versions and the command. Whoever
shows such a figure says "recorded", and where.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Any

from memlab import atomic_files, lesson_folders, strings
from memlab.errors import InputError, shorten, whole_number
from memlab.ledger import files
from memlab.measure.timing import BenchmarkLine, Machine, Result

SCHEMA = "memlab.recorded/1"
FOLDER = lesson_folders.LESSONS / "data"
"""Where the recorded figures lie."""
COMMAND = "make gpu"
WANTED = "MEMLAB_RECORD"
"""The variable that holds the command which records pictures, while it runs."""


@dataclass(frozen=True)
class RecordedFigures:
    """Figures of a benchmark on a device, by the name that its driver gives, with the command for
    them."""

    device: str
    command: str
    result: Result

    @property
    def where(self) -> str:
        """Device and machine, versions and date, as text."""
        return str(self.result.machine)

    def line(self, name: str) -> BenchmarkLine:
        """Return the figure of that name.

        Raises:
            InputError: it was not measured.
        """
        for line in self.result.lines:
            if line.name == name:
                return line
        raise InputError(f"{name!r} was not recorded on {self.device}; run `{self.command}` again.")

    def __str__(self) -> str:
        head = strings.get("recorded.where", where=self.where, command=self.command)
        return "\n".join([head, *map(str, self.result.lines)])


def command() -> str:
    """Command that records the figures that are shown now; empty where nothing is recorded."""
    return os.environ.get(WANTED, "")


def latest(folder: Path = FOLDER) -> RecordedFigures | None:
    """Return the newest figures in a folder; None where there are none yet.

    Raises:
        InputError: a file is damaged.
    """
    recordings = [load(path) for path in sorted(folder.glob("recorded_*.json"))]
    return max(recordings, key=lambda recording: recording.result.machine.date, default=None)


def text(recording: RecordedFigures | None) -> str:
    """Return the figures as text, or the sentence that says that there are none."""
    return str(recording) if recording else strings.get("recorded.none", command=COMMAND)


def save(recorded: RecordedFigures, folder: Path) -> Path:
    """Write ``recorded_<device>.json``, all of it or nothing; return the path of the file."""
    path = folder / name_of(recorded.device)
    folder.mkdir(parents=True, exist_ok=True)
    atomic_files.write(path, json.dumps(to_dict(recorded), indent=1) + "\n")
    return path


def name_of(device: str) -> str:
    """Return the name of a device's file.

    >>> name_of("NVIDIA H200")
    'recorded_nvidia_h200.json'
    """
    return "recorded_{}.json".format(re.sub(r"\W+", "_", device).strip("_").lower())


def load(path: Path) -> RecordedFigures:
    """Read figures that ``save`` wrote.

    Raises:
        InputError: the file is not there, or holds no recorded figures.
    """
    return files.read(path, from_dict, f"write it again with `{COMMAND}`")


def to_dict(recorded: RecordedFigures) -> dict[str, Any]:
    """Return figures as plain values for JSON; ``from_dict`` returns the same figures."""
    return {
        "schema": SCHEMA,
        "device": recorded.device,
        "command": recorded.command,
        "benchmark": recorded.result.benchmark,
        "machine": asdict(recorded.result.machine),
        "lines": [asdict(line) for line in recorded.result.lines],
    }


def from_dict(data: Any) -> RecordedFigures:
    """Return the figures that ``to_dict`` wrote.

    Raises:
        InputError: none, of another schema, or damaged ones.
    """
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise InputError(
            f"these are no figures of schema {SCHEMA} (schema: {shorten(schema)}); "
            f"write them with `{COMMAND}`."
        )
    try:
        machine = Machine(**data["machine"])
        lines = tuple(
            BenchmarkLine(**{**line, "samples": tuple(line["samples"])}) for line in data["lines"]
        )
        recorded = RecordedFigures(
            data["device"], data["command"], Result(data["benchmark"], machine, lines)
        )
        _check(recorded)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"these figures are damaged ({error}); write them again.") from None
    return recorded


def _check(recorded: RecordedFigures) -> None:
    """Refuse a figure without a value, or without the place and the date of its measurement.

    Raises:
        TypeError, ValueError: a field is missing, of the wrong kind or out of range.
    """
    machine, lines = recorded.result.machine, recorded.result.lines
    texts: list[Any] = [recorded.device, recorded.command, machine.processor, machine.system]
    texts += [*machine.versions, *machine.versions.values(), recorded.result.benchmark]
    texts += [text for line in lines for text in (line.name, line.unit)]
    if not all(isinstance(part, str) and part for part in texts):
        raise ValueError(f"a text is missing on {recorded.device}")
    date.fromisoformat(machine.date)
    whole_number("cores", machine.cores)
    if not lines:
        raise ValueError("no figure")
    for line in lines:
        aims = () if line.aim is None else (line.aim,)
        for number in (line.value, *line.samples, *aims):
            if not (isfinite(number) and number >= 0):
                raise ValueError(f"{line.name}: {number}")
