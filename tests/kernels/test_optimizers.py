"""Three steps of every optimizer against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

from memlab.kernels.registry import Array, KernelCall, find
from memlab.optimizers import OPTIMIZERS
from tests.kernels_by_case import distance, slot
from tests.oracles.optimizers import oracle
from tests.oracles.requirement import torch_or_skip

SETTINGS = {
    "rate": 0.05, "momentum": 0.8, "alpha": 0.9, "beta1": 0.85, "beta2": 0.97, "epsilon": 1e-6,
}  # fmt: skip
STEPS = 3


def drawn(seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in ((4, 3, 2), (5,))]


def theirs(kind: str) -> list[Array]:
    torch = torch_or_skip()
    parameters = [torch.tensor(array, requires_grad=True) for array in drawn(0)]
    optimizer = oracle(kind, parameters, SETTINGS)
    for step in range(1, STEPS + 1):
        for parameter, gradient in zip(parameters, drawn(step), strict=True):
            parameter.grad = torch.tensor(gradient)
        optimizer.step()
    return [parameter.detach().numpy() for parameter in parameters]


@pytest.mark.parametrize(("format", "near"), [("fp64", 1e-14), ("fp32", 2e-7)])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_an_optimizer_is_pytorchs(kind: str, format: str, near: float) -> None:
    dtype = {"fp32": np.float32, "fp64": np.float64}[format]
    slots = slot(kind, "weight"), slot(kind, "gradient of weight")
    arrays: dict[str, Array] = {}
    for own, array in zip(slots, drawn(0), strict=True):
        arrays |= {name: np.zeros(array.shape, dtype) for name in own.parts.values()}
        arrays[own.parameter] = array.astype(dtype)
    for step in range(1, STEPS + 1):
        for own, gradient in zip(slots, drawn(step), strict=True):
            arrays[own.gradient] = gradient.astype(dtype)
        call = KernelCall(arrays, settings=SETTINGS | {"step": float(step)}, slots=slots)
        find(kind, format=format)(call)
    for own, expected in zip(slots, theirs(kind), strict=True):
        assert distance(arrays[own.parameter], expected) < near
