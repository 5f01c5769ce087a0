"""How long a plan takes: a slider must not wait for it, nor a learner for the first one."""

from __future__ import annotations

from functools import partial

from memlab.assemble.step import training_step
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan as book
from memlab.measure.timing import (
    BenchmarkLine,
    Result,
    in_fresh_process,
    interleave,
    line,
    machine,
    ratio,
)
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.networks.graph import Network

READY, NOTHING, CHAIN, IMPORT = 0.001, 0.05, 5.0, 0.25
"""Aims in seconds."""
LINEAR = 1.5
"""Time per operation of a chain ten times as long, at most this many times as much."""
SHORT, LONG = 4_000, 40_000
"""Layers of the chains: each layer makes 2.5 operations of a training step."""
HEAVY = ("numba", "matplotlib", "ipywidgets", "anywidget", "scipy")

FRESH = f"""
import json, sys, time
start = time.perf_counter()
import memlab
memlab.zoo, memlab.training_step, memlab.plan
seconds = time.perf_counter() - start
print(json.dumps([seconds, [name for name in {HEAVY!r} if name in sys.modules]]))
"""


def run(repeats: int = 5, layers: tuple[int, int] = (SHORT, LONG)) -> Result:
    """Time the plan of ResNet-50, of a long chain of operations, and the import of memlab."""
    return Result("plan", machine(), (*resnet(repeats), *chains(repeats, layers), *fresh(repeats)))


def resnet(repeats: int) -> list[BenchmarkLine]:
    """A ready plan at a new batch, and one from nothing."""
    ready = from_nothing()
    samples = interleave(
        {
            "ready": lambda turn: ready.peak(32 + turn),
            "nothing": lambda turn: from_nothing().peak(32 + turn),
        },
        repeats=4 * repeats,
    )
    return [
        line("ResNet-50, a ready plan at a new batch", samples["ready"], READY),
        line("ResNet-50 from nothing: network, step, plan, peak", samples["nothing"], NOTHING),
    ]


def from_nothing() -> Ledger:
    """Everything between a name and a plan."""
    return book(training_step(zoo.build("resnet50")))


def chains(repeats: int, layers: tuple[int, int]) -> list[BenchmarkLine]:
    """Step, plan and peak of two chains, and how the time per operation grows between them."""
    networks = [chain(count) for count in layers]
    operations = [operations_of(count) for count in layers]
    names = [f"a chain of {count:,} operations: step, plan, peak" for count in operations]
    samples = interleave(
        {name: partial(_peak, each) for name, each in zip(names, networks, strict=True)},
        repeats=repeats,
        warm_up=min(1, repeats - 1),
    )
    per_operation = [
        tuple(seconds / count for seconds in samples[name])
        for name, count in zip(names, operations, strict=True)
    ]
    grows = f"time per operation, {operations[1]:,} against {operations[0]:,}"
    return [
        line(names[0], samples[names[0]]),
        line(names[1], samples[names[1]], CHAIN),
        ratio(grows, per_operation[1], per_operation[0], LINEAR),
    ]


def _peak(network: Network, turn: int) -> int:
    return book(training_step(network)).peak(32 + turn)


def chain(layers: int) -> Network:
    """Linear layers of 64 features with a tanh after each."""
    x = network("chain", features=64)
    for _ in range(layers // 2):
        x = x.linear(64).tanh()
    return x.squared_error()


def operations_of(layers: int) -> int:
    """Operations of a chain's training step: forward and backward of each layer, one update per
    linear layer, the loss and its backward."""
    return 2 * layers + layers // 2 + 2


def fresh(repeats: int) -> list[BenchmarkLine]:
    """The import in a new process, with all that a plan needs, NumPy too; what it must not load."""
    in_fresh_process(FRESH)  # the first one fills the disk cache
    runs = [in_fresh_process(FRESH) for _ in range(repeats)]
    seconds = tuple(seconds for seconds, _ in runs)
    loaded = sorted({name for _, names in runs for name in names})
    listed = f" ({', '.join(loaded)})" if loaded else ""
    return [
        line("import in a fresh process, NumPy included", seconds, IMPORT),
        BenchmarkLine(f"heavy packages that it loads{listed}", len(loaded), "", 0),
    ]
