"""Record the bytes that cards show in a web page which cannot measure them:
`python lessons/record_cards.py`."""

from __future__ import annotations

import json

from memlab import atomic_files
from memlab.kernels.cuda.target import target
from memlab.lesson.content import lesson_04
from memlab.lesson.material import recorded_measures
from memlab.measure import recorded_figures
from memlab.measure.recorded_figures import RecordedFigures
from memlab.measure.timing import BenchmarkLine, Result, machine

COMMAND = "python lessons/record_cards.py"
MEASURES: dict[str, recorded_measures.Measure] = {"04.left": lesson_04.measured_peaks}


def record(card: str) -> None:
    """Measure the bytes of a card, and write them with the machine and the date."""
    lines = tuple(BenchmarkLine(name, value, "B") for name, value in MEASURES[card]().items())
    device = "simulator of CUDA" if target().simulated else target().name
    found = RecordedFigures(device, COMMAND, Result(card, machine(), lines))
    file = recorded_measures.file_of(card)
    file.parent.mkdir(exist_ok=True)
    atomic_files.write(file, json.dumps(recorded_figures.to_dict(found), indent=1) + "\n")


if __name__ == "__main__":
    for card in MEASURES:
        record(card)
