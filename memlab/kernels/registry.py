"""List of all kernels, by kind of operation, algorithm, device and format.

A kernel writes into the arrays that it is given and allocates none. Memory that it needs beside its
operands it receives as workspace, so that the plan counts it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
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
    """Operands and settings of one execution of a kernel.

    Attributes:
        arrays: operands and workspace, by the names that ``Op`` gives them.
        layer: the layer whose operation this is.
        training: False in an inference.
        accumulate: True if ``dx`` holds a gradient already, to which the kernel adds.
        key: seed of the numbers that the operation draws. The same key draws the same numbers, so a
            recomputation is exact.
        first: index in the batch of the first value, where a call has only some values of an
            operation.
        settings: settings of the optimizer: rate, momentum, betas, number of the step.
        updates: names of the other operands that hold something which the kernel changes: gradients
            of parameters that earlier parts left, gradients of several inputs, a loss.
        parts: number of micro-batches that the loss is a mean of; the call has one of them.
        chunks: all tokens of a text divided by those of this call.
        slots: parameters that an update changes, with the operands of each.
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
    chunks: Fraction | int = 1
    slots: tuple[UpdateSlot, ...] = ()

    @property
    def learns(self) -> bool:
        """True if the kernel computes the gradient of a weight, which a frozen layer has not."""
        return "dweight" in self.arrays

    @property
    def accumulate_weights(self) -> bool:
        """True if the kernel adds to gradients of parameters that are there already."""
        return "dweight" in self.updates

    def mean_over(self, count: int) -> int:
        """Return the number of samples or labels that the loss is a mean over, of which the call
        has ``count``."""
        return int(count * self.parts * self.chunks)

    def adds(self, name: str) -> bool:
        """Return whether the gradient of this name holds something already, to which the kernel
        adds."""
        return name in self.updates or (self.accumulate and name == "dx")

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]


Kernel = Callable[[KernelCall], None]
Own = TypeVar("Own", bound=Kernel)
KERNELS: dict[Key, Kernel] = {}

DTYPES = {name: row.stored_as for name, row in sorted(FORMATS.items()) if row.computed}
"""NumPy's names of the formats that every device computes in, by memlab's name."""


def kernel(kind: str, algorithm: str = "", device: str = "") -> Callable[[Own], Own]:
    """Return a decorator that registers a kernel for every format that devices compute in.

    Args:
        kind: kind of operation, such as ``"conv2d"`` or ``"conv2d.backward"``.
        algorithm: way to compute it, where there are several.
        device: name of the device; without it, that of the folder in which the kernel's module
            stands.
    """

    def register(function: Own) -> Own:
        for format in DTYPES:
            KERNELS[kind, algorithm, device or _device(function), format] = function
        return function

    return register


def _device(kernel: Kernel) -> str:
    """Device whose folder holds the module of a kernel; ``cpu`` for a module outside of such
    folders."""
    inner = kernel.__module__.removeprefix(f"{devices.PACKAGE}.")
    return inner.partition(".")[0] if inner.partition(".")[0] in DEVICES else "cpu"


def find(kind: str, algorithm: str = "", device: str = "cpu", format: str = "fp32") -> Kernel:
    """Return the kernel of an operation.

    Args:
        kind: kind of operation, such as ``"conv2d"``.
        algorithm: way to compute it, where there are several.
        device: ``"cpu"`` or ``"cuda"``.
        format: format that is computed in, such as ``"fp32"``.

    Raises:
        InputError: there is none; the message names formats or devices that have one.
    """
    load(device)
    key = (kind, algorithm, device, format)
    if key not in KERNELS:
        name = f"{kind} ({algorithm})" if algorithm else kind
        hint = _hint(kind, algorithm, device)
        raise InputError(f"no kernel computes {name} in {format} on {device}; {hint}.")
    return KERNELS[key]


def _hint(kind: str, algorithm: str, device: str) -> str:
    """End of a message about a missing kernel: what to try instead."""
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
    """Names of the modules that register the kernels of a device. To import them loads Numba.

    Raises:
        InputError: no such device.
    """
    return [row.module for row in devices.kernels(device)]


@cache
def load(device: str = "cpu") -> None:
    """Register all kernels of a device, and on the processor let Numba load its own tables.

    Those tables are arrays that stay allocated, so a measurement begins after this.

    Raises:
        InputError: no such device, Numba's CUDA package cannot be imported, or too little memory is
            free for Numba itself.
    """
    names = modules(device)
    free_memory.require_kernels()
    for name in names:
        import_module(name)
    if not devices.find(device).own_memory:
        import_module("memlab.kernels.cpu.compile").nothing(0)


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
