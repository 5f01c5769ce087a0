"""Optimizers whose update takes less memory than a given one, the mildest change first.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from memlab.frontends.torch.fitting.adam_in_8_bits import Adam8bit, AdamW8bit
from memlab.frontends.torch.fitting.update_in_backward import CODE, OneByOne
from memlab.frontends.torch.tensor_modes import OPTIMIZERS, Optimizer, title

LINES = {
    "adam": "optimizer = torch.optim.Adam(model.parameters(), lr)",
    "adamw": "optimizer = torch.optim.AdamW(model.parameters(), lr)",
    "momentum": "optimizer = torch.optim.SGD(model.parameters(), lr, momentum=0.9)",
    "sgd": "optimizer = torch.optim.SGD(model.parameters(), lr)",
}
"""Lines that make an optimizer, by its name."""
_LEANER = {
    "adam": ("momentum", "sgd"), "adamw": ("momentum", "sgd"), "momentum": ("sgd",), "sgd": (),
}  # fmt: skip
"""Optimizers that keep less state, by the name of the optimizer in use."""


@dataclass(frozen=True, slots=True)
class OptimizerRemedy:
    """Another optimizer.

    ``key`` is the name of its texts, ``optimizer`` is what ``memlab.record`` takes, ``code`` are
    the lines to paste; ``same`` is True if it computes the same numbers, bit for bit.
    """

    key: str
    optimizer: Optimizer
    code: tuple[str, ...]
    same: bool = False


def optimizer_remedies(optimizer: Optimizer) -> Iterator[OptimizerRemedy]:
    """Yield the optimizers to try in the place of one, the mildest change first. Of one that is a
    function an example says what it is, and only its groups are changed."""
    if isinstance(optimizer, str):
        yield _in_backward(optimizer)
        yield _in_groups(OPTIMIZERS[optimizer], "foreach", True, foreach=False)
        yield _fused(optimizer)
        leaner = _LEANER.get(optimizer, ())
    else:
        yield from _of_groups(optimizer)
        leaner = _LEANER.get(title(example(optimizer)).lower(), ("momentum", "sgd"))
    for name in leaner:
        yield OptimizerRemedy(name, name, (LINES[name],))


def in_8_bits(optimizer: Optimizer) -> Iterator[OptimizerRemedy]:
    """Yield Adam with states in 8 bits, where the optimizer is Adam."""
    make = optimizer if callable(optimizer) else OPTIMIZERS[optimizer]
    cls = {"Adam": Adam8bit, "AdamW": AdamW8bit}.get(type(example(make)).__name__)
    if cls is not None:
        line = f"optimizer = bnb.optim.{cls.__name__}(model.parameters(), lr)"
        code = ("import bitsandbytes as bnb", line)
        yield OptimizerRemedy("adam8bit", partial(cls, make), code)


def example(make: Callable[[Any], Any]) -> Any:
    """Return an optimizer of small parameters, which has the class and the options of those that a
    function makes; None where it takes no such parameters."""
    for shapes in (((1,), (2, 2)), ((2, 2),)):  # some optimizers take matrices alone
        try:
            return make(iter([torch.nn.Parameter(torch.zeros(shape)) for shape in shapes]))
        except Exception:  # the function knows the parameters of its own model
            continue
    return None


def _of_groups(make: Callable[[Any], Any]) -> Iterator[OptimizerRemedy]:
    """Yield the changes of the groups of an optimizer that a function makes."""
    groups = getattr(example(make), "param_groups", ())
    yield _in_groups(make, "foreach", True, foreach=False)
    if any(group.get("fused", True) is not True for group in groups):
        yield _in_groups(make, "fused", False, foreach=False, fused=True)


def _in_backward(name: str) -> OptimizerRemedy:
    """Return the update of each parameter alone, which frees its gradient at once."""
    line = LINES[name].partition("torch.optim.")[2]
    code = CODE.format(line=line.replace("model.parameters()", "[p]")).splitlines()
    return OptimizerRemedy("one_by_one", partial(OneByOne, OPTIMIZERS[name]), tuple(code), True)


def _fused(name: str) -> OptimizerRemedy:
    """Return the optimizer as one fused kernel, without temporaries."""
    line = LINES[name].removesuffix(")") + ", fused=True)"
    cls: Callable[..., Any] = type(OPTIMIZERS[name]([torch.nn.Parameter(torch.zeros(1))]))
    more = {"momentum": 0.9} if name == "momentum" else {}
    return OptimizerRemedy("fused", partial(cls, lr=1e-3, fused=True, **more), (line,))


def _in_groups(
    make: Callable[[Any], Any], key: str, same: bool, **options: bool
) -> OptimizerRemedy:
    """Return the optimizer with other options in all of its groups."""

    def made(parameters: Any) -> Any:
        optimizer = make(parameters)
        for group in getattr(optimizer, "param_groups", ()):
            group.update(options)
        return optimizer

    lines = [f"    group[{name!r}] = {value}" for name, value in options.items()]
    return OptimizerRemedy(key, made, ("for group in optimizer.param_groups:", *lines), same)
