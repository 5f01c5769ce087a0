"""Record the pictures of measured cells again: `make record`, or `python lessons/record.py 03 05`.

The solutions of each lesson are run, and the last picture of every cell tagged `recorded-name` is
kept with its figures: `lessons/recordings.py` has the files. Then it is said what moved: each
figure before and now, their ratio, and whether the medians lie further apart than the middle half
of the samples. Of a lesson, all is written once all of it is there; record on a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lessons import build, recordings
from lessons.kernel import execute
from lessons.recordings import Picture
from lessons.stored import DIFFERS, LessonError, clean
from memlab import atomic_files
from memlab.errors import InputError
from memlab.measure import recorded_figures
from memlab.measure.recorded_figures import RecordedFigures
from memlab.measure.timing import BenchmarkLine, Machine, Result
from memlab.pictures.values.number_text import duration, ratio
from memlab.pictures.values.recordable import FIGURES

BUSY = 0.5
"""Processes that compute, on average in the last minute, from which on a machine is busy."""
BUSY_TEXT = """This machine is busy: load {load} on {cores} cores, before it begins.
Times come out longer than on a quiet one; record again later."""
TIMED = ("s", "x", "samples")
"""Units of what differs from run to run; without samples nobody knows how much."""


WHOLE = "the whole cell, with what it compiles"
"""How long a learner waits for the picture."""


# -- take ---------------------------------------------------------------------------------------


def measured(lessons: Path, names: Sequence[str]) -> list[Path]:
    """The sources of the named lessons and appendices, or of all, that have cells to record.

    Raises:
        LessonError: there is no such lesson, or a named one has no such cell.
    """
    chosen = build.sources(lessons, names)
    found = [source for source in chosen if names_of(source)]
    if bare := [source.stem for source in chosen if source not in found and names]:
        raise LessonError(f"{bare[0]} has no cell to record; tag a measured one recorded-name.")
    if not found:
        raise LessonError("No lesson has a cell to record; tag a measured one recorded-name.")
    return found


def names_of(source: Path) -> list[str]:
    """The pictures that a lesson records, in the order of its cells.

    Raises:
        LessonError: such a cell measures nothing, or two have one name.
    """
    found = []
    for cell in build.cells(source):
        name = recordings.tagged(source.stem, cell.metadata.tags)
        if name and DIFFERS not in cell.metadata.tags:
            raise LessonError(f"{name}: a measured cell is recorded; tag it {DIFFERS} too.")
        if name in found:
            raise LessonError(f"{name} is the picture of two cells; give one another name.")
        found += [name] if name else []
    return found


def record(source: Path, load: float | None) -> dict[str, Picture]:
    """Run a lesson, and write its recorded pictures and the solutions with them.

    Raises:
        LessonError: a cell fails, or shows no picture with figures; nothing is written.
        InputError: figures that cannot be kept; nothing is written.
    """
    command = recordings.command_of(names_of(source)[0])
    found: dict[str, Picture] = {}
    texts = {}
    for target, solved in reversed(build.targets(source).items()):
        if not solved and source.parent.name != build.APPENDIX:
            continue  # learners measure themselves
        made = build.notebook(source, solved)
        times = execute(made, target.parent, source.stem, {recorded_figures.WANTED: command})
        found = found or all_of(source.stem, made, times, command, load)
        clean(made, source.stem, kept=found)
        texts[target] = build.text_of(made)
    for picture in found.values():
        recordings.write(build.home(source), picture)
    for target, text in texts.items():
        atomic_files.write(target, text)
    return found


def all_of(
    lesson: str, made: Any, times: Mapping[str, float], command: str, load: float | None
) -> dict[str, Picture]:
    """The recorded pictures of a notebook that has been run, by name; ``times`` are the seconds of
    its cells."""
    named = ((recordings.tagged(lesson, c.metadata.get("tags", [])), c) for c in made.cells)
    return {name: taken(name, c, times[c.id], command, load) for name, c in named if name}


def taken(name: str, cell: Any, seconds: float, command: str, load: float | None) -> Picture:
    """The last picture of a cell that has figures, with the seconds of the whole cell among them.

    Raises:
        LessonError: it shows none.
        InputError: its figures cannot be kept.
    """
    shown = [each["data"] for each in cell.outputs if FIGURES in each.get("data", {})]
    if not shown:
        said = [line for each in cell.outputs for line in each.get("text", "").splitlines()]
        why = f" It says: {said[-1]}" if said else " What it shows is to be a views.Recordable."
        raise LessonError(f"{name}: cell {cell.id} shows no picture with figures.{why}")
    figures = shown[-1][FIGURES]
    machine = Machine(**figures["machine"])
    lines = [
        BenchmarkLine(**{**line, "samples": tuple(line["samples"])}) for line in figures["lines"]
    ]
    lines.append(BenchmarkLine(WHOLE, round(seconds, 1), "s"))
    found = RecordedFigures(machine.processor, command, Result(name, machine, tuple(lines)))
    recorded_figures.from_dict(recorded_figures.to_dict(found))  # it can be read again
    svg, text = (shown[-1][kind] for kind in (recordings.SVG, "text/plain"))
    return Picture(name, svg, text, figures["threads"], load, found)


def load_now() -> float | None:
    """How many processes compute, on average in the last minute; None where no system says so."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


# -- and what moved -----------------------------------------------------------------------------


def moved(before: Picture | None, now: Picture) -> Iterator[str]:
    """What is to be said of a picture that is recorded again."""
    machine, lines = now.recorded.result.machine, now.recorded.result.lines
    yield f"{now.name}: {len(lines)} figures, {machine}{_loaded(now)}"
    if before is None:
        yield "  recorded for the first time"
        return
    yield f"  before: {before.recorded.result.machine}{_loaded(before)}"
    old = {line.name: line for line in before.recorded.result.lines}
    names = old | {line.name: line for line in lines}
    wide = max(map(len, names))
    found = [(line, old[line.name]) for line in lines if line.name in old]
    for line, then in found:
        times = f"{ratio(line.value / then.value)} x" if then.value else ""
        mark = "  MOVED" if apart(then, line) else ""
        yield f"  {line.name:{wide}} {shown(then):>14} -> {shown(line):>14} {times:>9}{mark}"
    yield from (
        f"  {line.name:{wide}} is new: {shown(line)}" for line in lines if line.name not in old
    )
    gone = old.keys() - {line.name for line in lines}
    yield from (f"  {name:{wide}} is gone" for name in old if name in gone)
    further = sum(apart(then, line) for line, then in found)
    yield f"  {further} of {len(found)} moved by more than their runs spread"


def apart(before: BenchmarkLine, now: BenchmarkLine) -> bool:
    """Whether a figure moved by more than the middle half of its samples, of either run. What has
    no samples is the same each time, or nobody knows how far it spreads."""
    if len(before.samples) > 1 and len(now.samples) > 1:
        return abs(now.value - before.value) > max(spread(before), spread(now))
    return now.unit not in TIMED and now.value != before.value


def spread(line: BenchmarkLine) -> float:
    """How wide the middle half of the samples is."""
    low, _, high = statistics.quantiles(line.samples, n=4, method="inclusive")
    return high - low


def shown(line: BenchmarkLine) -> str:
    """A figure with its unit."""
    if line.unit == "s":
        return duration(line.value)
    return f"{line.value:,} B" if line.unit == "B" else f"{line.value:,.3g} {line.unit}"


def _loaded(picture: Picture) -> str:
    return "" if picture.load is None else f"; load {picture.load}"


def main(arguments: list[str], lessons: Path = build.LESSONS) -> int:
    """Record the lessons; return the exit status."""
    parser = argparse.ArgumentParser(description="Record the pictures of measured cells again.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="03_lowering or 03; all without")
    options = parser.parse_args(arguments)
    load, cores = load_now(), os.cpu_count()
    if load is not None and load >= BUSY:
        print(BUSY_TEXT.format(load=load, cores=cores), file=sys.stderr)
    try:
        for source in measured(lessons, options.names):
            before = build.kept_of(source)
            for name, picture in record(source, load).items():
                print("\n".join(moved(before.get(name), picture)), flush=True)
    except (LessonError, InputError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
