"""The views of time beside bytes: pictures that stand still, and their text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memlab.bench import convolution
from memlab.bench.convolution import Comparison
from memlab.networks.graph import Network
from memlab.views.speed import bars, curve, twin, words
from memlab.views.still import Still

ALGORITHMS = ("direct", "im2col-batch", "im2col-image", "im2col-tile", "offsets")


@dataclass(frozen=True, repr=False)
class TimeAndMemory(Still):
    """Time against workspace; a notebook shows the picture, ``print`` the text."""

    measured: Comparison

    def svg(self) -> str:
        title = f"{words.title(self.measured)}. {' '.join(curve.sentences(self.measured))}"
        return curve.draw(self.measured).render(title)

    def text(self) -> str:
        return twin.write(self.measured, *curve.sentences(self.measured))


@dataclass(frozen=True, repr=False)
class AlgorithmTimes(Still):
    """Workspace and time of each algorithm as bars; a notebook shows the picture, ``print`` the
    text."""

    measured: Comparison

    def curve(self) -> TimeAndMemory:
        """The same figures as time against workspace; nothing is measured again."""
        return TimeAndMemory(self.measured)

    def svg(self) -> str:
        title = f"{words.title(self.measured)}. {' '.join(words.headline(self.measured))}"
        return bars.draw(self.measured).render(title)

    def text(self) -> str:
        return twin.write(self.measured)


def algorithm_times(
    network: str | Network = "vgg16",
    layer: str = "conv3_2",
    batch: int = 1,
    algorithms: Iterable[str] = ALGORITHMS,
    threads: int = 1,
    *,
    progress: bool = True,
) -> AlgorithmTimes:
    """Time the forward of one convolution with several algorithms, here and now.

    It takes some seconds, and longer for large layers. PyTorch takes part where it is installed.

    Args:
        network: a name of ``memlab.zoo``, or a network of yours.
        layer: the name of one of its convolutions.
        batch: the mini-batch size.
        algorithms: names of algorithms, in the order in which they are shown.
        threads: of each algorithm, BLAS and PyTorch; on one thread, processor time is taken.
        progress: show what is timed, where it takes more than a second.

    Raises:
        InputError: a value that is not allowed, or more bytes than are free.
    """
    case = convolution.find(network, layer)
    return AlgorithmTimes(convolution.measure(case, batch, algorithms, threads, progress=progress))
