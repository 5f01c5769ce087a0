"""The layer of the lecture on lowering, and what PyTorch's own convolutions take."""

from __future__ import annotations

from time import process_time

from memlab.measure import convolution, torch_lowering
from memlab.measure.convolution import RIVAL
from memlab.measure.lecture_layer import COPY, LAYER, NETWORK, TIMES, copied
from memlab.measure.timing import BenchmarkLine, Result, line
from memlab.measure.torch_lowering import Scratch


def run() -> Result:
    """Lower one image of VGG-16 conv1_2, and convolve it in every way, one thread."""
    case = convolution.find(NETWORK, LAYER)
    found = convolution.measure(case)
    measured, seconds = copied(case, TIMES, process_time)
    lines = [line(COPY, tuple(seconds)), BenchmarkLine(f"{COPY}, measured", measured, "B")]
    for each in found.timings:
        lines.append(line(each.name, each.samples))
        if each.workspace is not None:
            lines.append(BenchmarkLine(f"{each.name}, workspace", each.workspace, "B"))
    for row in torch_lowering.measure([case], 1).rows:
        lines += [
            BenchmarkLine(f"{RIVAL} {how}, workspace", n, "B") for how, n in _taken(row).items()
        ]
    return Result("lowering", found.machine, tuple(lines))


def in_torch() -> Result:
    """Measure what PyTorch's own convolution takes beside input and output."""
    found = torch_lowering.measure()
    lines = [
        BenchmarkLine(f"{row.name}: {how} against the input", nbytes / row.input, "x")
        for row in found.rows
        for how, nbytes in _taken(row).items()
    ]
    missing = BenchmarkLine(f"{RIVAL} is not installed: no comparison", 0, "")
    return Result("torch-lowering", found.machine, tuple(lines or [missing]))


def _taken(row: Scratch) -> dict[str, int]:
    """Bytes by the way that PyTorch takes, where it has that way."""
    taken = {"without oneDNN": row.lowered, "with oneDNN": row.onednn}
    return {how: nbytes for how, nbytes in taken.items() if nbytes is not None}
