"""Values of the table of claims that are run on this machine, on real arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import memlab
from memlab.errors import one_option

if TYPE_CHECKING:
    import numpy.typing as npt

WAYS = ("direct", "im2col-image", "offsets")
"""The textbook's loops, lowering and BLAS, and blocks that never lower."""
SAMPLES = 5
"""Samples of a way to convolve, at most."""


@dataclass(frozen=True)
class SingleLayerStep:
    """Result of one step of SGD on a single layer h = w1 x + w2, y = tanh(h), E = (y - t)²: its
    gradients and its new weight, in fp64 (A1)."""

    x: float
    t: float
    y: float
    rate: float
    before: float
    after: float
    weight_gradient: float
    bias_gradient: float

    @property
    def inner(self) -> float:
        """Return 2 (y - t) f'(h), which is dE/dw2 derived by hand."""
        return 2 * (self.y - self.t) * (1 - self.y**2)

    @property
    def weight(self) -> float:
        """Return the gradient of the weight, divided by 2 (y - t) f'(h) x."""
        return self.weight_gradient / (self.inner * self.x)

    @property
    def bias(self) -> float:
        """Return the gradient of the bias, divided by 2 (y - t) f'(h)."""
        return self.bias_gradient / self.inner

    @property
    def labelled(self) -> float:
        """Return the gradient of the weight, divided by 2 (y - t) f'(h), which is how the text
        labels the gradient of the bias."""
        return self.weight_gradient / self.inner

    @property
    def moved(self) -> float:
        """Change of the weight, over rate times gradient."""
        return (self.after - self.before) / (self.rate * self.weight_gradient)


def single_layer(x: float, t: float, w1: float, w2: float, rate: float) -> SingleLayerStep:
    """Run one step of the single layer and return its result (A1)."""
    from memlab.runtime.program import Program
    from memlab.runtime.session import Session

    step = memlab.training_step(memlab.zoo.linear1(), "sgd", "fp64").keep("gradients")
    start: dict[str, npt.ArrayLike] = {"h.weight": [[w1]], "h.bias": [w2]}
    with Session(Program(step, 1), parameters=start, settings={"rate": rate}) as session:
        session.step([[x]], [[t]])

        values = {tensor.name: float(session.value(tensor).item()) for tensor in step.live_out}
    gradients = values["gradient of h.weight"], values["gradient of h.bias"]
    return SingleLayerStep(x, t, math.tanh(w1 * x + w2), rate, w1, values["h.weight"], *gradients)


def seconds_over(algorithm: str, other: str, network: str, layer: str, batch: int) -> float:
    """Ratio of the times that two of ``WAYS`` take for the forward of a convolution, ``algorithm``
    over ``other``; medians on one core of this machine (A14)."""
    seconds = _seconds(network, layer, batch)
    return one_option("algorithm", algorithm, seconds) / one_option("algorithm", other, seconds)


@cache
def _seconds(network: str, layer: str, batch: int) -> dict[str, float]:
    """Return the measured seconds of each algorithm. The algorithms take turns in a single run, and
    all claims use that run."""
    from memlab.measure import convolution

    seconds = convolution.measure(convolution.find(network, layer), batch, WAYS, most=SAMPLES)
    return {timing.name: timing.seconds for timing in seconds.timings}
