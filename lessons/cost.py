"""Measure what a lesson costs: `python -m lessons.cost`, which takes minutes.

Each lesson is run twice with every card answered and every exercise solved, in a Python kernel of
its own: first where nothing is compiled yet, then again. The processor seconds and the largest
resident set of that process are written to `data/cost.json`, with the machine and the date, and
`docs/lessons_cost.md` is written from them. `python -m lessons.cost --page` writes that page alone.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import sys
import tempfile
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import nbformat

from lessons import build
from lessons.kernel import execute
from memlab import atomic_files

COST = build.LESSONS / "data" / "cost.json"
PAGE = build.LESSONS.parent / "docs" / "lessons_cost.md"
HUB = build.LESSONS.parent / "deploy" / "measured.json"
"""Figures of a hub with three learners, which `make hub RECORD=1` measures."""
SPARE, STEP = 1.15, 2**28
"""Factor by which the limit of a learner goes beyond what was measured, and the multiple of bytes
that it is rounded up to."""
NEAR = 0.25
"""Share of the recorded memory by which that of another run may differ."""
LARGEST = """
import re
from pathlib import Path

from memlab.runtime.run import resident_set

status = Path("/proc/self/status")  # there a process does not inherit the figure of its parent
found = re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text()) if status.exists() else None
print(1024 * int(found[1]) if found else resident_set())
"""
"""Cell that prints the largest resident set of its kernel."""
SPENT = """
import os

print(sum(os.times()[:4]))
"""
"""Cell that prints the processor seconds of its kernel and of the processes that it started."""
MINUTES = re.compile(r"^# (\d+) minutes\. ", re.MULTILINE)
TITLE = re.compile(r"^# # (\d\d [^:\n]+):", re.MULTILINE)
MIB = 2**20
TEXT = """# What a lesson costs: minutes, processor seconds, memory

This page helps to plan a class, and the memory limit of a JupyterHub. The minutes are those of
somebody who works alone, as the first cell of the lesson says them. The rest is what the kernel of
one learner takes who answers every card and solves every exercise.

| lesson | minutes | processor seconds, first run | again | RAM, first run | again | limit |
|---|---:|---:|---:|---:|---:|---:|
{rows}

In its first run a lesson compiles what computes; later runs find that in Numba's cache. RAM is the
largest resident set of the kernel process. The largest of all is {largest} MiB. What JupyterLab
itself takes, and the browser, is not counted.

The limit is for a [hub](hub.md): the least memory of a learner who has this one lesson open. It is
the larger RAM of both runs and the {server} MiB of the learner's JupyterLab server,
with {spare:.0f} % to spare, rounded up to {step} MiB. Each further open notebook adds its own RAM.

Measured on {machine}, {date}, by `python -m lessons.cost`.
A test runs every lesson again and compares its RAM, which may differ by {near:.0f} % on the same
kind of machine. Seconds are compared by no test. `python -m tests.lessons.minutes` shows how the
minutes were estimated.
"""


def measured() -> dict[str, Any]:
    """Return the costs of all lessons here and today, as the file holds them."""
    costs = {source.stem: of_lesson(source) for source in lessons()}
    return {"machine": machine(), "date": date.today().isoformat(), "lessons": costs}


def machine() -> str:
    """Return the kind of this machine: ``'Linux x86_64, 2 processors'``."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"


def lessons() -> list[Path]:
    """Return the sources of the lessons, without the appendices."""
    return [path for path in build.sources(build.LESSONS) if path.parent.name != build.APPENDIX]


def of_lesson(source: Path) -> dict[str, dict[str, float]]:
    """Return the processor seconds and the bytes of a first run, and of another one."""
    with tempfile.TemporaryDirectory() as cache:
        return {run: of_run(source, {"NUMBA_CACHE_DIR": cache}) for run in ("first", "again")}


def of_run(source: Path, environment: Mapping[str, str]) -> dict[str, float]:
    """Return the processor seconds and the bytes of one run of a solved lesson.

    Raises:
        LessonError: a cell fails or takes too long.
    """
    made = build.notebook(source, solved=True)
    made.cells += [nbformat.v4.new_code_cell(code.strip()) for code in (SPENT, LARGEST)]
    execute(made, build.LESSONS / "solutions", source.stem, environment)
    seconds, nbytes = (cell.outputs[0].text for cell in made.cells[-2:])
    return {"seconds": round(float(seconds), 1), "bytes": int(nbytes)}


def recorded() -> dict[str, Any]:
    """Return the costs that the file holds."""
    found: dict[str, Any] = json.loads(COST.read_text(encoding="utf-8"))
    return found


def here() -> bool:
    """True if the costs were recorded on a machine of this kind."""
    kind, _, _ = machine().partition(",")
    return str(recorded()["machine"]).startswith(f"{kind},")


def differs(name: str, run: str, nbytes: float) -> str:
    """Return how the memory of a run differs from the recorded one, as a sentence; empty where it
    is near.

    Args:
        name: lesson, as ``"02_network"``.
        run: ``"first"``, where nothing was compiled yet, or ``"again"``.
        nbytes: largest resident set of the kernel.
    """
    due = recorded()["lessons"][name][run]["bytes"]
    if abs(nbytes - due) <= NEAR * due:
        return ""
    return (f"{name}, {run}, took {nbytes / MIB:,.0f} MiB, and {PAGE.name} says {due / MIB:,.0f}: "
            "python -m lessons.cost")  # fmt: skip


def page() -> str:
    """Return the text of the page, from the recorded costs and the heads of the lessons."""
    costs = recorded()
    rows = "\n".join(row(source, costs["lessons"][source.stem]) for source in lessons())
    largest = max(run["bytes"] for cost in costs["lessons"].values() for run in cost.values())
    return TEXT.format(rows=rows, largest=f"{largest / MIB:,.0f}", machine=costs["machine"],
                       date=costs["date"], near=100 * NEAR, server=f"{server() / MIB:,.0f}",
                       spare=100 * (SPARE - 1), step=STEP // MIB)  # fmt: skip


def server() -> int:
    """Return the measured bytes of a learner's JupyterLab server, without a kernel."""
    return int(json.loads(HUB.read_text(encoding="utf-8"))["server_bytes"])


def limit(cost: Mapping[str, Mapping[str, float]]) -> int:
    """Return the bytes that a hub must allow a learner with a lesson open.

    Args:
        cost: costs of the lesson, by run, as ``recorded`` has them.
    """
    largest = max(run["bytes"] for run in cost.values())
    return math.ceil(SPARE * (largest + server()) / STEP) * STEP


def row(source: Path, cost: Mapping[str, Mapping[str, float]]) -> str:
    """Return the line of a lesson in the table."""
    text = source.read_text(encoding="utf-8")
    title, minutes = TITLE.findall(text)[0], MINUTES.findall(text)[0]
    seconds = [f"{cost[run]['seconds']:.0f}" for run in ("first", "again")]
    sizes = [f"{cost[run]['bytes'] / MIB:,.0f} MiB" for run in ("first", "again")]
    most = f"{limit(cost) / 2**30:g} GiB"
    return f"| {' | '.join([title, minutes, *seconds, *sizes, most])} |"


def main(arguments: list[str]) -> int:
    """Measure, unless the page alone is asked for, and write the page."""
    if "--page" not in arguments:
        atomic_files.write(COST, f"{json.dumps(measured(), indent=2)}\n")
    atomic_files.write(PAGE, page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
