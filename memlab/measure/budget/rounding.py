"""Rounding of the techniques of the board: how far a gradient moves, measured on small networks.

A small network runs both ways, from the same values. Of each gradient the largest difference is
divided by its largest value; the figure is the largest of all. What rounds the optimizer's state
leaves the gradients as they are, and moves parameters: there it is the way that a parameter goes in
two steps. The figures of one machine are stored in ``rounding.json``; run this module to measure
them again::

    python -m memlab.measure.budget.rounding
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np

from memlab import atomic_files
from memlab.assemble.step import training_step
from memlab.kernels.registry import Array
from memlab.measure import timing
from memlab.measure.budget.board import MODE, Switch
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques.accumulate import accumulate
from memlab.techniques.precision import precision
from memlab.techniques.precision.eight_bit_states import eight_bit_states

FILE = Path(__file__).with_name("rounding.json")
PARTS = "parts"
"""Name of the batch in parts among the rows."""
IMAGES, TEXT = "images", "text"
"""The two small networks."""
BATCH, SCALE = 16, 1024.0
"""Samples of a step, and the factor of its loss where it is scaled."""
Arrays = Mapping[str, Array]


def recorded(of: str, technique: str) -> float | None:
    """Return the stored share by which a technique moves a gradient, or a parameter; None where it
    moves none.

    Args:
        of: ``"images"`` or ``"text"``.
        technique: a switch, or ``"parts"``.
    """
    figure = _stored()["rounding"][of].get(technique)
    return None if figure is None else float(figure)


@cache
def _stored() -> dict[str, dict[str, dict[str, float]]]:
    content: dict[str, dict[str, dict[str, float]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


def measured(of: str, technique: str) -> float:
    """Return the share by which a technique moves a gradient, or a parameter, on a small network
    that runs here both ways."""
    step = training_step(_NETWORKS[of](), "adam" if of == TEXT else "momentum")
    if technique == Switch.EIGHT:
        return distance(_moves(eight_bit_states(step)), _moves(step))
    if technique == PARTS:
        return distance(_gradients(accumulate(step, 2), BATCH // 2), _gradients(step, BATCH))
    scaled = _gradients(precision(step, MODE), BATCH, {"loss_scale": SCALE})
    return distance({name: value / SCALE for name, value in scaled.items()},
                    _gradients(step, BATCH))  # fmt: skip


def distance(found: Arrays, due: Arrays) -> float:
    """Return the largest difference of two sets of arrays, each in shares of its largest value."""
    shares = []
    for name, value in due.items():
        wide = np.asarray(value, np.float64)
        gap = np.abs(np.asarray(found[name], np.float64).reshape(wide.shape) - wide).max()
        shares.append(float(gap / (np.abs(wide).max() or 1.0)))
    return max(shares)


def _gradients(step: Step, batch: int, settings: Mapping[str, float] | None = None) -> Arrays:
    """Return the gradients of a step; equal samples are drawn for all steps."""
    from memlab.runtime.run import run

    return run(step, batch, settings=settings, keep="gradients").gradients


def _moves(step: Step) -> Arrays:
    """Return the way that each parameter goes in two steps."""
    from memlab.runtime.program import Program
    from memlab.runtime.session import Session

    kept = [tensor for tensor in step.live_in if tensor.role is Role.PARAMETER]
    with Session(Program(step, BATCH)) as session:
        first = {tensor.name: np.array(session.value(tensor)) for tensor in kept}
        for _ in range(2):
            session.step()
        return {tensor.name: session.value(tensor) - first[tensor.name] for tensor in kept}


_WORDS, _CLASSES = 64, 10


def _images() -> Network:
    return zoo.resnet((1, 1), bottleneck=False, image=32, classes=_CLASSES)


def _text() -> Network:
    return zoo.gpt_small(steps=32, layers=2, features=64, heads=4, vocabulary=_WORDS, dropout=0)


_NETWORKS: dict[str, Callable[[], Network]] = {IMAGES: _images, TEXT: _text}
ROWS = ((IMAGES, Switch.HALF), (TEXT, Switch.HALF), (TEXT, Switch.EIGHT), (TEXT, PARTS))
"""Networks, each with a technique that rounds its results: a row is measured for every pair."""


def main() -> None:
    """Measure all rows here, and store them with the machine."""
    rows: dict[str, dict[str, float]] = {IMAGES: {}, TEXT: {}}
    for of, technique in ROWS:
        rows[of][str(technique)] = float(f"{measured(of, technique):.3g}")
    machine = asdict(timing.machine())
    command = "python -m memlab.measure.budget.rounding"
    content = {"command": command, "machine": machine, "rounding": rows}
    atomic_files.write(FILE, json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
