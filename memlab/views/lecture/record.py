"""The lowered copy of one image, written for real when the page is made, and measured."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from statistics import median
from time import perf_counter

import numpy as np

from memlab import devices, units
from memlab.errors import InputError
from memlab.lesson.quantities import FP32
from memlab.views.lecture import facts
from memlab.views.lecture.sheet import say

TIMES = 9
"""How often the copy is written; the median is told."""


@dataclass(frozen=True)
class Recorded:
    """Planned and measured bytes, seconds of writing, machine and date."""

    planned: int
    measured: int
    seconds: float
    where: str

    @property
    def residual(self) -> int:
        """Measured less planned bytes."""
        return self.measured - self.planned

    @property
    def ms(self) -> str:
        """Milliseconds, two digits."""
        return f"{1000 * self.seconds:.2g}" if self.seconds < 0.1 else f"{1000 * self.seconds:.0f}"

    def text(self) -> str:
        """The run in words."""
        return say("run.text", planned=units.exact(self.planned), residual=self.residual,
                   measured=units.exact(self.measured), ms=self.ms, where=self.where)  # fmt: skip


def record() -> Recorded:
    """Lower one image of the layer with memlab's kernel, under the meter.

    Raises:
        InputError: so much memory is not free.
    """
    from memlab.kernels.lowering import im2col  # compiled code: a page without a run needs none
    from memlab.runtime.meter import Meter

    node = facts.layer()
    conv, planned = facts.conv(node), facts.lowered(node, 1)
    need = planned + prod(node.input_shapes[0]) * FP32
    if need > devices.free_memory():
        raise InputError(
            f"the run needs {units.short(need)} and {units.short(devices.free_memory())} are free; "
            "close a program or leave the run out with --no-run."
        )
    image = np.random.default_rng(0).random(node.input_shapes[0], np.float32)
    shape = (image.shape[0], conv.kernel, conv.kernel, *node.shape[1:])
    tiny = np.zeros((1, 4, 4), np.float32)
    im2col(tiny, np.empty((1, 3, 3, 4, 4), np.float32), 1, 1, 1)  # compiles
    with Meter() as meter:
        lowered, seconds = np.empty(shape, np.float32), []
        for _ in range(TIMES):
            start = perf_counter()
            im2col(image, lowered, conv.stride, conv.padding, conv.dilation)
            seconds.append(perf_counter() - start)
    return Recorded(planned, meter.peak, median(seconds), devices.here())
