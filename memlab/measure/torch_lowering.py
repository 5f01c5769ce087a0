"""Memory that PyTorch itself takes beside input and output while it convolves, by its allocator's
events.

Without oneDNN and below 16 images, PyTorch lowers the whole batch: as many bytes as memlab plans
for ``im2col-batch``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

from memlab import free_memory, strings, units
from memlab.errors import InputError, whole_number
from memlab.layers import Conv2d
from memlab.measure import convolution
from memlab.measure.convolution import ConvolutionCase
from memlab.measure.timing import Machine, allow_torch, machine
from memlab.step.op import Op

CASES = (
    ConvolutionCase("3x3, VGG-16 conv3_2", (256, 56, 56), Conv2d(256, 3, pad=1)),
    ConvolutionCase("5x5, AlexNet conv2", (64, 27, 27), Conv2d(192, 5, pad=2)),
    ConvolutionCase("7x7 stride 2, ResNet-50 conv1", (3, 224, 224), Conv2d(64, 7, 2, 3)),
    ConvolutionCase("1x1, ResNet-50", (256, 56, 56), Conv2d(64, 1)),
)
MOST = 15
"""From 16 images on, PyTorch may take another way."""
CHATTER = (b"USDT:", b"STAGE:")
"""How the lines begin that PyTorch's profiler writes to stderr when it starts and stops."""
STDERR = 2
"""The file descriptor: in a notebook ``sys.stderr`` is another stream."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """Bytes of one convolution: its input, what im2col would take of the whole batch by memlab's
    plan, and what PyTorch took without and with oneDNN (None where this PyTorch has none)."""

    name: str
    input: int
    planned: int
    lowered: int
    onednn: int | None


@dataclass(frozen=True)
class TorchLowering:
    """Measured memory of PyTorch's convolutions, with the machine; no rows where PyTorch is not
    installed."""

    batch: int
    rows: tuple[Scratch, ...]
    machine: Machine

    def text(self) -> str:
        """Text with one line per layer, under the place of the measurement."""
        if not self.rows:
            return strings.get("speed.torch.missing", machine=self.machine)
        version = self.machine.versions.get("torch", "")
        head = strings.get("speed.torch.head", version=version, batch=self.batch)
        where = strings.get("speed.where", machine=self.machine)
        equal = all(row.lowered == row.planned for row in self.rows)
        plan = strings.get("speed.torch.equal" if equal else "speed.torch.unequal")
        return "\n".join([head, *_table(self.rows), plan, where])

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__


def measure(cases: Iterable[ConvolutionCase] = CASES, batch: int = 2) -> TorchLowering:
    """Convolve with PyTorch and book the bytes that its allocator gives out; without PyTorch,
    nothing.

    Raises:
        InputError: a batch of more than 15, or more bytes than are free.
    """
    if whole_number("batch", batch) > MOST:
        raise InputError(
            f"PyTorch lowers a batch of 1 to {MOST}, got {batch}: with more images it may take "
            "another way; try 2."
        )
    lowering = allow_torch()
    rows = tuple(_measured(case, batch) for case in cases) if lowering else ()
    return TorchLowering(batch, rows, machine())


def _table(rows: Iterable[Scratch]) -> list[str]:
    """Return a line for the heads and one for each layer, in columns."""
    heads = ("layer", "input", "lowered", "planned", "onednn")
    cells = [[strings.get(f"speed.torch.{head}") for head in heads], *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "   ".join([name.ljust(widths[0]), *map(str.rjust, figures, widths[1:])])
        for name, *figures in cells
    ]


def _cells(row: Scratch) -> list[str]:
    def amount(nbytes: int | None) -> str:
        if nbytes is None:
            return strings.get("speed.torch.none")
        return f"{units.short(nbytes)} = {nbytes / row.input:.2f} x"

    sizes = units.short(row.input), amount(row.lowered), units.short(row.planned)
    return [row.name, *sizes, amount(row.onednn)]


def _measured(case: ConvolutionCase, batch: int) -> Scratch:
    import torch

    op = convolution.operation(case, "im2col-batch")
    planned, size = convolution.workspace(op, batch), op.reads["x"].size.at(batch)
    need = planned + 3 * sum(tensor.size.at(batch) for tensor in op.touched())
    said = f"{case.name} at batch {batch} needs {units.short(need)}"
    free_memory.admit(need, said, "try a smaller batch")
    has = torch.backends.mkldnn.is_available()
    onednn = _scratch(case.layer, op, batch, True) if has else None
    return Scratch(case.name, size, planned, _scratch(case.layer, op, batch, False), onednn)


def _scratch(layer: Conv2d, op: Op, batch: int, onednn: bool) -> int:
    """Return the most bytes that the allocator gave out at one moment, less those of the output."""
    import torch

    given = {name: torch.ones(tensor.shape(batch)) for name, tensor in op.reads.items()}
    settings = layer.stride, layer.padding, layer.dilation, layer.groups
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # entering the flags warns of what no CPU has
        with torch.backends.mkldnn.flags(enabled=onednn):
            y, most = most_allocated(
                lambda: torch.nn.functional.conv2d(
                    given["x"], given["weight"], given.get("bias"), *settings
                )
            )
    return most - int(y.nbytes)


def most_allocated(compute: Callable[[], Any]) -> tuple[Any, int]:
    """Result of a computation of PyTorch, and the most bytes that its allocator has given out
    meanwhile."""
    from torch.profiler import ProfilerActivity, profile

    from memlab.frontends.torch.run_one_op import most

    with _quiet(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        output = compute()
    return output, most(seen)


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop the profiler's lines on stderr; all others are passed on when the context ends."""
    try:
        stderr = os.dup(STDERR)
    except OSError:  # closed: nobody would see a line
        yield
        return
    with open(stderr, "wb") as shown, TemporaryFile() as kept:
        os.dup2(kept.fileno(), STDERR)
        try:
            yield
        finally:
            os.dup2(stderr, STDERR)
            kept.seek(0)
            shown.writelines(line for line in kept if not line.startswith(CHATTER))
