"""The list of kernels, by kind of operation, algorithm, device and format.

A kernel writes into the arrays it is given and makes none. What it needs beside its operands, it
receives as workspace, so that the plan knows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from memlab import devices, free_memory
from memlab.arrays import Column
from memlab.devices import DEVICES
from memlab.errors import InputError
from memlab.formats import FORMATS
from memlab.layers.algorithms import ALGORITHMS, DEFAULT
from memlab.layers.layer import LAYERS, Layer
from memlab.moved import old_names
from memlab.step.op import UpdateSlot

Array = Column
Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class KernelCall:
    """What a kernel is called with.

    ``arrays`` are the operands by the names that ``Op`` gives them, workspace included.
    ``accumulate`` says that ``dx`` holds a gradient already, to which the kernel adds; ``updates``
    names the other operands that hold something which it changes: the gradients of parameters that
    are there already, those of several inputs, a loss. ``parts`` is how many micro-batches a loss
    is the mean of, of which the call has one.
    ``key`` seeds what an operation draws: the same key draws the same numbers, so a
    recomputation is exact. ``first`` is the index in the batch of the first value, where a call
    has some values of an operation. ``settings`` are the optimizer's: rate, momentum, betas, step.
    ``slots`` are those of an update.
    """

    arrays: Mapping[str, Array]
    layer: Layer | None = None
    training: bool = True
    accumulate: bool = False
    key: int = 0
    first: int = 0
    settings: Mapping[str, float] = field(default_factory=dict)
    updates: Collection[str] = ()
    parts: int = 1
    slots: tuple[UpdateSlot, ...] = ()

    @property
    def accumulate_weights(self) -> bool:
        """Whether the gradients of the parameters hold something already."""
        return "dweight" in self.updates

    def adds(self, name: str) -> bool:
        """Whether the gradient of an input holds something already."""
        return name in self.updates or (self.accumulate and name == "dx")

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]


Kernel = Callable[[KernelCall], None]
Own = TypeVar("Own", bound=Kernel)
KERNELS: dict[Key, Kernel] = {}

DTYPES = {name: each.stored_as for name, each in sorted(FORMATS.items()) if each.computed}
"""The formats that every device computes in, and what NumPy calls them."""


def kernel(kind: str, algorithm: str = "", device: str = "") -> Callable[[Own], Own]:
    """Register a kernel for every format that it computes in; its device is that of the folder that
    it stands in."""

    def register(function: Own) -> Own:
        for format in DTYPES:
            KERNELS[kind, algorithm, device or _device(function), format] = function
        return function

    return register


def _device(kernel: Kernel) -> str:
    """``cpu`` for what stands in no folder of a device."""
    inner = kernel.__module__.removeprefix(f"{devices.PACKAGE}.")
    return inner.partition(".")[0] if inner.partition(".")[0] in DEVICES else "cpu"


def find(kind: str, algorithm: str = "", device: str = "cpu", format: str = "fp32") -> Kernel:
    """The kernel for an operation.

    Raises:
        InputError: there is none; the message names the formats, or the devices, that there are.
    """
    load(device)
    key = (kind, algorithm, device, format)
    if key not in KERNELS:
        name = f"{kind} ({algorithm})" if algorithm else kind
        hint = _hint(kind, algorithm, device)
        raise InputError(f"no kernel computes {name} in {format} on {device}; {hint}.")
    return KERNELS[key]


def _hint(kind: str, algorithm: str, device: str) -> str:
    """What to try where a kernel is missing."""
    formats = [f for k, a, d, f in KERNELS if (k, a, d) == (kind, algorithm, device)]
    if formats:
        return f"try format {' or '.join(formats)}, or memlab.precision(step, ...) of one in fp32"
    if algorithm in ALGORITHMS:
        others = devices.computing("conv2d", algorithm)
        if not others:
            return f"{algorithm} is planned only: try memlab.lowering(step, {DEFAULT!r}) to run it"
        return f"try device {' or '.join(others)}, or plan it instead of running it"
    layer = LAYERS.get(kind.removesuffix(".backward"))
    if layer is not None and device not in layer.row.devices:
        return f"try device {' or '.join(layer.row.devices)}, or plan it instead of running it"
    return "plan it instead of running it"


def modules(device: str) -> list[str]:
    """The files that register kernels of a device. They load Numba, so the first kernel that is
    asked for loads them.

    Raises:
        InputError: no such device.
    """
    return [each.module for each in devices.kernels(device)]


@cache
def load(device: str = "cpu") -> None:
    """Fill the list for a device, and let Numba load its own tables. They are arrays that stay, so
    a measurement begins after this.

    Raises:
        InputError: no such device, Numba's CUDA package cannot be imported, or too little room for
            Numba itself.
    """
    found = modules(device)
    free_memory.require_kernels()
    for name in found:
        import_module(name)
    if not devices.find(device).own_memory:
        import_module("memlab.kernels.cpu.compile").nothing(0)


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
