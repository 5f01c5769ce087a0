"""The list of kernels, by kind of operation, algorithm, device and format.

A kernel writes into the arrays it is given and makes none. What it needs beside its operands, it
receives as workspace, so that the plan knows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from memlab.errors import InputError
from memlab.networks.layer import Layer

Array = npt.NDArray[Any]
Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Call:
    """What a kernel is called with.

    ``arrays`` are the operands by the names that ``Op`` gives them, workspace included.
    ``accumulate`` says that ``dx`` holds a gradient already, to which the kernel adds.
    ``key`` seeds what an operation draws: the same key draws the same numbers, so a
    recomputation is exact. ``settings`` are the optimizer's: rate, momentum, betas, step.
    """

    arrays: Mapping[str, Array]
    layer: Layer | None = None
    training: bool = True
    accumulate: bool = False
    key: int = 0
    settings: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]


Kernel = Callable[[Call], None]
KERNELS: dict[Key, Kernel] = {}

MODULES = (
    "convolution", "direct", "draw", "fft", "linear", "local_response", "loss", "mec",
    "normalization", "offsets", "optimizers", "panel", "panel_gradients", "pointwise",
    "pooling", "winograd",
)  # fmt: skip
"""The files that register kernels; they load Numba, so the first kernel that is asked for loads
them."""

DTYPES = {"fp32": np.float32, "fp64": np.float64}
"""The formats that the CPU computes in."""


def kernel(kind: str, algorithm: str = "", device: str = "cpu") -> Callable[[Kernel], Kernel]:
    """Register a kernel for every format that the CPU computes in."""

    def register(function: Kernel) -> Kernel:
        for format in DTYPES:
            KERNELS[kind, algorithm, device, format] = function
        return function

    return register


def find(kind: str, algorithm: str = "", device: str = "cpu", format: str = "fp32") -> Kernel:
    """The kernel for an operation.

    Raises:
        InputError: there is none; the message names the formats that there are.
    """
    load()
    key = (kind, algorithm, device, format)
    if key not in KERNELS:
        known = [f for k, a, d, f in KERNELS if (k, a, d) == key[:3]]
        hint = f"try format {' or '.join(known)}" if known else "plan it instead of running it"
        name = f"{kind} ({algorithm})" if algorithm else kind
        raise InputError(f"no kernel computes {name} in {format} on {device}; {hint}.")
    return KERNELS[key]


@cache
def load() -> None:
    """Fill the list, and let Numba load its own tables. They are arrays that stay, so a measurement
    begins after this."""
    for name in MODULES:
        import_module(f"memlab.kernels.{name}")
    import_module("memlab.kernels.windows").inside(1, 1, 1, 0)
