"""The lowered copy of one image, written for real by memlab's kernel, and measured."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from time import perf_counter

import numpy as np

from memlab import devices, strings, units
from memlab.errors import InputError
from memlab.networks.graph import Node
from memlab.views.copies.layer import conv, lowered, source


@dataclass(frozen=True, repr=False)
class Written:
    """Planned and measured bytes of the copy, and the seconds of writing it once."""

    planned: int
    measured: int
    seconds: float

    @property
    def residual(self) -> int:
        """Measured less planned bytes."""
        return self.measured - self.planned

    @property
    def ms(self) -> str:
        """Milliseconds, two digits."""
        return f"{1000 * self.seconds:.2g}" if self.seconds < 0.1 else f"{1000 * self.seconds:.0f}"

    def __repr__(self) -> str:
        """Without the time, which is another each time."""
        if not self.planned:
            return strings.get("copies.write.nothing")
        sizes = {"planned": units.exact(self.planned), "measured": units.exact(self.measured)}
        return strings.get("copies.write.done", residual=units.exact(self.residual), **sizes)


def write(node: Node, otherwise: str, times: int = 1) -> Written:
    """Lower one image of a layer under the meter, into new memory; the median of several times.

    ``otherwise`` is what to try where that does not fit.

    Raises:
        InputError: so much memory is not free.
    """
    from memlab.kernels import im2col  # compiled code: a view that writes nothing needs none
    from memlab.runtime.meter import Meter

    layer, planned = conv(node), lowered(node, 1)
    need, free = planned + source(node, 1), devices.free_memory()
    if need > free:
        raise InputError(
            f"the run needs {units.short(need)} and {units.short(free)} are free; {otherwise}."
        )
    image = np.random.default_rng(0).random((1, *node.input_shapes[0]), np.float32)
    settings = layer.kernel, layer.stride, layer.padding
    shape = (1, image.shape[1] * layer.kernel**2, node.shape[1] * node.shape[2])
    im2col(np.zeros((1, 1, 8, 8), np.float32), *settings)  # compiles
    with Meter() as meter:
        copy, seconds = np.empty(shape, np.float32), []
        for _ in range(times):
            start = perf_counter()
            im2col(image, *settings, out=copy)
            seconds.append(perf_counter() - start)
    return Written(planned, meter.peak, median(seconds))
