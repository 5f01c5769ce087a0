"""The layer of the lecture on lowering: its copy for real, and time and bytes of its rivals.

The figures were recorded once; `python -m benchmarks lowering` measures them again, all but those
of MEC, which had a kernel then and is planned only now.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from memlab.measure.convolution import ConvolutionCase
from memlab.measure.recorded_figures import FOLDER

FILE = FOLDER / "lowering.json"
NETWORK, LAYER = "vgg16", "conv1_2"
TIMES = 9
"""How often the copy is written for real; the median is told."""
COPY = "copy"


def copied(
    case: ConvolutionCase, times: int = 1, clock: Callable[[], float] = perf_counter
) -> tuple[int, list[float]]:
    """Lower one image of a layer under the meter, into new memory: the most bytes that this took,
    and the seconds of each time by a clock."""
    import numpy as np

    from memlab.kernels import im2col
    from memlab.runtime.metering.meter import Meter

    (channels, height, width), layer = case.shape, case.layer
    image = np.random.default_rng(0).random((1, channels, height, width), np.float32)
    _, rows, columns = layer.output(case.shape)
    chosen = layer.kernel, layer.stride, layer.padding
    im2col(np.zeros((1, 1, 8, 8), np.float32), *chosen)  # compiles
    with Meter() as meter:
        copy, seconds = np.empty((1, channels * layer.kernel**2, rows * columns), np.float32), []
        for _ in range(times):
            start = clock()
            im2col(image, *chosen, out=copy)
            seconds.append(clock() - start)
    return meter.peak, seconds
