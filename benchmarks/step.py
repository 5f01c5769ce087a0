"""How long a training step runs, beside PyTorch's on the same cores."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from memlab import free_memory
from memlab.assemble.step import training_step
from memlab.kernels.registry import Array
from memlab.measure.processor import blas, keep_freed_memory
from memlab.measure.timing import (
    BenchmarkLine,
    Result,
    allow_torch,
    interleave,
    line,
    machine,
    ratio,
)
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.techniques.lowering import lowering

if TYPE_CHECKING:
    from memlab.runtime.session import Session

AIM, CHOSEN_AIM = 4.0, 1.3
"""memlab's median time, at most this many times PyTorch's: with its default algorithm, and with the
fastest one of each convolution, where figures of this machine tell which one that is."""
DEFAULT, CHOSEN, RIVAL = "memlab", "memlab, fastest algorithms", "PyTorch"


def run(name: str = "resnet50", image: int = 224, batch: int = 8, repeats: int = 5) -> Result:
    """Time a training step of ResNet-50 at batch 8, beside PyTorch's where it is installed."""
    import numpy as np

    from memlab.runtime.program import Program
    from memlab.runtime.session import Session

    network, threads = zoo.build(name, image=image), free_memory.cores()
    keep_freed_memory()
    rng = np.random.default_rng(0)
    x = rng.standard_normal((batch, *network.input_shape), np.float32)
    labels = rng.integers(0, network.loss.shape[0], batch)
    step = training_step(network, threads=threads)
    lowered = lowering(step, batch=batch)
    with ExitStack() as stack:
        session = stack.enter_context(Session(Program(step, batch)))
        cases: dict[str, Any] = {DEFAULT: lambda turn: session.step(x, labels)}
        if lowered.ops != step.ops:
            chosen = stack.enter_context(Session(Program(lowered, batch)))
            cases[CHOSEN] = lambda turn: chosen.step(x, labels)
        if allow_torch():
            cases[RIVAL] = _in_torch(network, session, threads, x, labels)
        samples = interleave(cases, repeats)
    what = f"{network.label}, {image}x{image}, batch {batch}, {_count(threads)}"
    lines = [line(f"{who}: {what}", seconds) for who, seconds in samples.items()]
    if CHOSEN not in cases:
        lines.append(BenchmarkLine(f"{CHOSEN}: {lowered.notes[0]}", 0, ""))
    return Result("step", machine(), (*lines, *_compared(samples), *blas()))


def _in_torch(network: Network, session: Session, threads: int, x: Array, labels: Array) -> Any:
    """PyTorch's step from the same parameters and inputs."""
    import torch

    from benchmarks.torch_step import started

    torch.set_num_threads(threads)
    there = started(network, session)
    inputs = torch.from_numpy(x), torch.from_numpy(labels)
    return lambda turn: there.step(*inputs)


def _compared(samples: dict[str, tuple[float, ...]]) -> list[BenchmarkLine]:
    if RIVAL not in samples:
        return [BenchmarkLine(f"{RIVAL} is not installed: no comparison", 0, "")]
    return [
        ratio(f"{who} against {RIVAL}", samples[who], samples[RIVAL], aim)
        for who, aim in ((DEFAULT, AIM), (CHOSEN, CHOSEN_AIM))
        if who in samples
    ]


def _count(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"
