"""Kernels that stand once, for every device: formulas of a value or two, and what they are put to.

A device brings loops over values (``Loops``) and gets a kernel for every operation that is listed
here and whose layer it has kernels for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import signature
from pkgutil import iter_modules
from typing import Any, NamedTuple, TypeVar

from memlab.kernels import formulas
from memlab.kernels.operands import parameters
from memlab.kernels.registry import Kernel, KernelCall, kernel
from memlab.layers.layer import LAYERS
from memlab.optimizers import OPTIMIZERS

Formula = TypeVar("Formula", bound=Callable[..., Any])
Each = Callable[..., None]
"""``each(formula, a, y)`` puts ``formula(a)`` into y for every value; ``each(formula, a, b, y)``
takes two. With ``add=True`` it adds to what is there, and ``setting`` is the formula's last
argument where it has one: a number that is the same for all values."""

Settings = Callable[[Mapping[str, float]], tuple[float, ...]]


class Loops(NamedTuple):
    """What a device makes of formulas. ``update(formula, arrays, settings)`` calls
    ``formula(i, arrays, settings)`` for every value ``i`` of the arrays."""

    each: Each
    update: Callable[..., None]


class Update(NamedTuple):
    """The formula of an optimizer, how many settings it takes, and which these are."""

    formula: Callable[..., None]
    settings_count: int
    settings: Settings


FORMULAS: list[Callable[..., Any]] = []
EVERYWHERE: dict[str, Callable[[KernelCall, Each], None]] = {}
UPDATES: dict[str, Update] = {}
SETTING = "setting"
"""What a formula calls the argument that is no value."""


def formula(function: Formula) -> Formula:
    """List a function of a value, or of two, and perhaps of a ``setting``."""
    FORMULAS.append(function)
    return function


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether it has an argument of that name."""
    return name in signature(function).parameters


def values_of(function: Callable[..., Any]) -> int:
    """Of how many values it is a function; of none where it changes arrays."""
    if takes(function, "arrays"):
        return 0
    return len([name for name in signature(function).parameters if name != SETTING])


def everywhere(kind: str) -> Callable[[Formula], Formula]:
    """List a function of a call and a device's loops as the kernel of a kind of operation."""

    def register(function: Formula) -> Formula:
        EVERYWHERE[kind] = function
        return function

    return register


def value_by_value(
    kind: str, *operands: str, setting: Callable[[KernelCall], float] | None = None
) -> Callable[[Formula], Formula]:
    """List a formula as the kernel of a kind of operation: the last of the operands is what it
    makes of the others. A gradient is added to what is there where the call says so."""
    target = operands[-1]

    def register(function: Formula) -> Formula:
        @everywhere(kind)
        def compute(call: KernelCall, each: Each) -> None:
            extra = {} if setting is None else {SETTING: setting(call)}
            arrays = (call[name] for name in operands)
            each(function, *arrays, add=call.adds(target), **extra)

        return formula(function)

    return register


def update(kind: str, count: int, settings: Settings) -> Callable[[Formula], Formula]:
    """List the formula of an optimizer: value ``i`` of the parameter, of its gradient and of its
    states, in the order of ``memlab.optimizers``. It takes ``count`` settings, made of the step's.
    """

    def register(function: Formula) -> Formula:
        UPDATES[kind] = Update(function, count, settings)
        return function

    return register


def load() -> None:
    """Fill the lists from every file of ``memlab.kernels.formulas``."""
    for module in iter_modules(formulas.__path__):
        import_module(f"{formulas.__name__}.{module.name}")


def register(device: str, loops: Loops) -> None:
    """Register the kernels of a device, which are made with its loops."""
    load()
    for kind, compute in EVERYWHERE.items():
        layer = LAYERS.get(kind.removesuffix(".backward"))
        if layer is None or device in layer.row.devices:
            kernel(kind, device=device)(_computed(compute, loops.each))
    for kind, formula in UPDATES.items():
        kernel(kind, device=device)(_updated(formula, OPTIMIZERS[kind].states, loops.update))


def _computed(compute: Callable[[KernelCall, Each], None], each: Each) -> Kernel:
    return lambda call: compute(call, each)


def _updated(of: Update, states: tuple[str, ...], change: Callable[..., None]) -> Kernel:
    def compute(call: KernelCall) -> None:
        settings = tuple(map(float, of.settings(call.settings)))
        for arrays in parameters(call, *states):
            change(of.formula, arrays, settings)

    return compute
