"""Kernels that are written once for every device: formulas of one value or two, and the operands
they are applied to.

A device brings its loops over values (``Loops``). With them it gets a kernel for every operation
that is listed here, if the operation's layer says that the device computes it.
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
ApplyFormula = Callable[..., None]
"""``apply_formula(formula, a, y)`` puts ``formula(a)`` into y for every value, and
``apply_formula(formula, a, b, y)`` puts ``formula(a, b)``. With ``add=True`` the result is added to
y. ``setting`` is the formula's last argument where it takes one: a number that is the same for all
values."""

Settings = Callable[[Mapping[str, float]], tuple[float, ...]]


class Loops(NamedTuple):
    """Two functions of a device that apply formulas to arrays.

    ``apply_formula`` is described at ``ApplyFormula``. ``update(formula, arrays, settings)`` calls
    ``formula(i, arrays, settings)`` for every index ``i`` of the arrays.
    """

    apply_formula: ApplyFormula
    update: Callable[..., None]


class Update(NamedTuple):
    """Formula of an optimizer, the number of its settings, and the function that computes those
    settings from the settings of a step."""

    formula: Callable[..., None]
    settings_count: int
    settings: Settings


FORMULAS: list[Callable[..., Any]] = []
SHARED_KERNELS: dict[str, Callable[[KernelCall, ApplyFormula], None]] = {}
UPDATES: dict[str, Update] = {}
SETTING = "setting"
"""Name of a formula's argument that is the same for all values."""


def formula(function: Formula) -> Formula:
    """List a function of one value or two, with or without a ``setting``, among ``FORMULAS``."""
    FORMULAS.append(function)
    return function


def has_parameter(function: Callable[..., Any], name: str) -> bool:
    """Return whether a function has a parameter of that name."""
    return name in signature(function).parameters


def value_count(function: Callable[..., Any]) -> int:
    """Number of values that a formula takes, its ``setting`` not counted; 0 for a formula that
    changes arrays in place."""
    if has_parameter(function, "arrays"):
        return 0
    return len([name for name in signature(function).parameters if name != SETTING])


def shared_kernel(kind: str) -> Callable[[Formula], Formula]:
    """Return a decorator that lists a function of a call and of a device's loops as the kernel of
    this kind of operation on all devices."""

    def register(function: Formula) -> Formula:
        SHARED_KERNELS[kind] = function
        return function

    return register


def value_by_value(
    kind: str, *operands: str, setting: Callable[[KernelCall], float] | None = None
) -> Callable[[Formula], Formula]:
    """Return a decorator that lists a formula as the kernel of a kind of operation.

    The formula is applied to the first operands, value by value, and its result goes into the last
    operand. Where the call says that the last operand holds a gradient already, the result is added
    to it.

    Args:
        kind: kind of operation, such as ``"relu"`` or ``"relu.backward"``.
        operands: names of the call's arrays: inputs first, the output last.
        setting: computes from a call the number that is the formula's last argument.
    """
    target = operands[-1]

    def register(function: Formula) -> Formula:
        @shared_kernel(kind)
        def compute(call: KernelCall, apply_formula: ApplyFormula) -> None:
            extra = {} if setting is None else {SETTING: setting(call)}
            arrays = (call[name] for name in operands)
            apply_formula(function, *arrays, add=call.adds(target), **extra)

        return formula(function)

    return register


def optimizer_formula(kind: str, count: int, settings: Settings) -> Callable[[Formula], Formula]:
    """Return a decorator that lists the formula of an optimizer.

    The formula changes value ``i`` of a parameter, reads the same value of the gradient, and
    changes that of the optimizer's states, in the order of ``memlab.optimizers``.

    Args:
        kind: name of the optimizer.
        count: number of settings that the formula takes.
        settings: computes those settings from the settings of a step.
    """

    def register(function: Formula) -> Formula:
        UPDATES[kind] = Update(function, count, settings)
        return function

    return register


def load() -> None:
    """Fill the lists: import every module of ``memlab.kernels.formulas``."""
    for module in iter_modules(formulas.__path__):
        import_module(f"{formulas.__name__}.{module.name}")


def register(device: str, loops: Loops) -> None:
    """Register, for a device, all kernels that are listed here, bound to its loops."""
    load()
    for kind, compute in SHARED_KERNELS.items():
        layer = LAYERS.get(kind.removesuffix(".backward"))
        if layer is None or device in layer.row.devices:
            kernel(kind, device=device)(_kernel_with_loops(compute, loops.apply_formula))
    for kind, formula in UPDATES.items():
        kernel(kind, device=device)(_update_kernel(formula, OPTIMIZERS[kind].states, loops.update))


def _kernel_with_loops(
    compute: Callable[[KernelCall, ApplyFormula], None], apply_formula: ApplyFormula
) -> Kernel:
    """Kernel that calls a listed function with the loops of a device."""
    return lambda call: compute(call, apply_formula)


def _update_kernel(of: Update, states: tuple[str, ...], change: Callable[..., None]) -> Kernel:
    """Kernel that applies the formula of an optimizer to every parameter of a call."""

    def compute(call: KernelCall) -> None:
        settings = tuple(map(float, of.settings(call.settings)))
        for arrays in parameters(call, *states):
            change(of.formula, arrays, settings)

    return compute
