"""``python -m benchmarks.accuracy``: compare the networks of the zoo, and record what is found.

On a processor it writes ``accuracy.json``, on a GPU ``accuracy_<its name>.json``. Bytes are the
same on a busy machine, seconds are not: record on a quiet one. With ``--published`` it plans the
published steps of cards instead, and writes ``accuracy_published.json``.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from memlab import atomic_files
from memlab.bench.accuracy import COMMAND, FILE, PUBLISHED, published, run, where
from memlab.bench.accuracy.table import Accuracy, accuracy
from memlab.measure.recorded_figures import RecordedFigures, name_of, to_dict
from memlab.measure.timing import Result


def record(found: Result, file: Path = FILE) -> Path | None:
    """Write the figures, and not the sentences in the place of one; the path of the file, None
    where there are no figures."""
    lines = tuple(line for line in found.lines if line.unit)
    if not lines:
        return None
    processor, beside, _ = found.machine.processor.partition(", beside ")
    if beside:
        file = file.with_name(name_of(processor).replace("recorded", file.stem))
    kept = RecordedFigures(processor, COMMAND, replace(found, lines=lines))
    atomic_files.write(file, json.dumps(to_dict(kept), indent=1) + "\n")
    return file


def record_published(file: Path = PUBLISHED) -> Path:
    """Write the plans of published steps; the path of the file."""
    from memlab.bench.accuracy.predictors import OWN, PREDICTORS

    here, peers = where(), [one for one in PREDICTORS if one not in OWN]
    found = accuracy(published(peers=peers), here)
    lines = tuple(line for line in found.lines if line.unit not in ("", "s"))
    kept = RecordedFigures(here.processor, COMMAND, Result("accuracy", here, lines))
    atomic_files.write(file, json.dumps(to_dict(kept), indent=1) + "\n")
    return file


def main() -> int:
    """Measure, and record it; say whether other processes made the seconds longer."""
    if "--published" in sys.argv[1:]:
        print(record_published())
        return 0
    load, cores = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0, os.cpu_count() or 1
    if load > cores / 2:
        print(f"This machine is busy: load {load:.1f} on {cores} cores. Do not trust the seconds.")
    found = run(tables=())
    print(found)
    return 0 if isinstance(found, Accuracy) and record(found) else 1


if __name__ == "__main__":
    sys.exit(main())
