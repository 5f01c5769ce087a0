"""What PyTorch holds where a training step of ResNet-50 has its peak; lessons show the record."""

from __future__ import annotations

from memlab.measure.timing import BenchmarkLine, Result, allow_torch, machine
from memlab.measure.torch_memory import BATCH
from memlab.networks import zoo

NETWORK, THREADS = "resnet50", 2


def run() -> Result:
    """Measure what PyTorch holds at the peak of a training step of ResNet-50, role by role."""
    if not allow_torch():
        missing = BenchmarkLine("PyTorch is not installed: no comparison", 0, "")
        return Result("torch-memory", machine(), (missing,))
    from benchmarks.torch_storages import at_peak

    found = at_peak(zoo.build(NETWORK), BATCH, THREADS)
    lines = tuple(BenchmarkLine(role, nbytes, "B") for role, nbytes in found.items())
    return Result("torch-memory", machine(), lines)
