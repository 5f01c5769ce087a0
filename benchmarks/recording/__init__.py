"""How long a PyTorch model takes to be recorded and explained, and a plan of it at a new batch."""

from __future__ import annotations

from functools import partial
from time import perf_counter, process_time

from memlab.frontends.torch import record
from memlab.ledger.plan import plan
from memlab.measure.timing import (
    BenchmarkLine,
    Result,
    allow_torch,
    in_fresh_process,
    interleave,
    line,
    machine,
)

RECORDED, READY, EXPLAINED = 1.0, 0.001, 10.0
"""Aims in seconds: of processor time for a recording and an estimate, on the wall for an
explanation, in which PyTorch is loaded too."""
FRESH = """
import json, time
import memlab
from benchmarks.recording import models
view = memlab.explain(
    models.resnet50, models.images, batch=256, memory="12 GB", optimizer="momentum", progress=False
)
view.text()
print(json.dumps(time.process_time()))
"""
"""Views lie above this package, and a learner's first call is in a process of its own."""


def run(repeats: int = 5) -> Result:
    """Time the recording of ResNet-50 in PyTorch, its plan at a new batch, and memlab explain."""
    if not allow_torch():
        missing = BenchmarkLine("PyTorch is not installed: nothing is recorded", 0, "")
        return Result("record", machine(), (missing,))
    return Result("record", machine(), (*recordings(repeats), *explanation()))


def recordings(repeats: int) -> list[BenchmarkLine]:
    """Processor time of a recording, and of a plan that is ready at a batch that is new."""
    from benchmarks.recording.models import images, loss, resnet50

    recorded = partial(record, resnet50, images, loss)
    ready = plan(recorded())
    samples = interleave(
        {
            "record": lambda turn: recorded(),
            "ready": lambda turn: ready.peak(32 + turn, workspace=False),
        },
        repeats,
        clock=process_time,
    )
    return [
        line("ResNet-50 of PyTorch, recorded: processor time", samples["record"], RECORDED),
        line("its plan at a new batch: processor time", samples["ready"], READY),
    ]


def explanation() -> list[BenchmarkLine]:
    """ResNet-50 at batch 256 on a card of 12 GB, from a fresh process to the three sentences."""
    start = perf_counter()
    processor = float(in_fresh_process(FRESH))
    seconds = perf_counter() - start
    return [
        line("ResNet-50 explained at batch 256, in a fresh process", (seconds,), EXPLAINED),
        line("processor time of that", (processor,)),
    ]
