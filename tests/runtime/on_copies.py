"""Kernels of the processor in place of a device's: they compute on copies of its arrays, and write
the results back.

So the runtime of a device is tested without its kernels, and on networks for which a simulator
would take too long.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memlab.kernels import registry
from memlab.kernels.registry import Array, Kernel, KernelCall


def use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the processor's kernels in place of the device's own."""
    for device in ("cpu", "cuda"):
        registry.load(device)
    for (kind, algorithm, device, format), kernel in list(registry.KERNELS.items()):
        if device == "cpu":
            key = kind, algorithm, "cuda", format
            monkeypatch.setitem(registry.KERNELS, key, on_copies(kernel))


def on_copies(kernel: Kernel) -> Kernel:
    """Kernel for device arrays that calls a kernel of the processor on copies."""

    def run(call: KernelCall) -> None:
        there: dict[str, Any] = dict(call.arrays)
        here = {name: array.copy_to_host() for name, array in there.items()}
        kernel(replace(call, arrays=here))
        for name, array in there.items():
            write(here[name], array)

    return run


def write(source: Array, target: Any) -> None:
    """Copy values of the host into a device array, which may be a slice of larger samples."""
    if target.is_c_contiguous():
        target.copy_to_device(source)
    else:
        for one, other in zip(source, (target[i] for i in range(len(target))), strict=True):
            other.copy_to_device(one)
