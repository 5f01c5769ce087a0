"""Optimizers whose update takes less memory than a given one, the mildest change first.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from memlab.frontends.torch.fitting.update_in_backward import CODE, OneByOne
from memlab.frontends.torch.tensor_modes import OPTIMIZERS, Optimizer

LINES = {
    "adam": "optimizer = torch.optim.Adam(model.parameters(), lr)",
    "adamw": "optimizer = torch.optim.AdamW(model.parameters(), lr)",
    "momentum": "optimizer = torch.optim.SGD(model.parameters(), lr, momentum=0.9)",
    "sgd": "optimizer = torch.optim.SGD(model.parameters(), lr)",
}
"""Lines that make an optimizer, by its name."""
_LEANER = {"adam": ("momentum", "sgd"), "adamw": ("momentum", "sgd"), "momentum": ("sgd",)}
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
    function only its groups can be changed."""
    make = optimizer if callable(optimizer) else OPTIMIZERS[optimizer]
    if isinstance(optimizer, str):
        yield _in_backward(optimizer)
    code = "for group in optimizer.param_groups:\n    group['foreach'] = False"
    yield OptimizerRemedy("foreach", _one_parameter_at_a_time(make), tuple(code.splitlines()), True)
    if isinstance(optimizer, str):
        yield _fused(optimizer)
    for name in _LEANER.get(optimizer, ()) if isinstance(optimizer, str) else ("momentum", "sgd"):
        yield OptimizerRemedy(name, name, (LINES[name],))


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


def _one_parameter_at_a_time(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a maker of optimizers that update one parameter after another."""

    def made(parameters: Any) -> Any:
        optimizer = make(parameters)
        for group in getattr(optimizer, "param_groups", ()):
            group["foreach"] = False
        return optimizer

    return made
