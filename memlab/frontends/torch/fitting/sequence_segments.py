"""Sequences of layers that run again in backward in segments of several layers.

A checkpoint on a single layer saves little, for most layers need their input alone. A segment keeps
its first input, and runs its layers again together (Chen et al. 2016, arXiv:1604.06174). What is
printed to be pasted is the text of the functions that are called here. Import this module only
where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from math import isqrt
from typing import Any

from torch import nn
from torch.utils.checkpoint import checkpoint

from memlab.frontends.torch.fitting.wrapping import checked, copied_statistics, pasted

LEAST = 4
"""Number of layers of the shortest sequence that is taken in segments."""


# fmt: off
def run_in_segments(module):
    """Let a sequence keep the inputs of segments alone, about as many as the root of its layers."""
    kind = type(module)

    def forward(self, x):
        layers = list(self)
        size = isqrt(len(layers) - 1) + 1
        for first in range(0, len(layers), size):
            part = nn.Sequential(*layers[first:first + size])
            contexts = partial(lambda part: (nullcontext(), copied_statistics(part)), part)
            x = checkpoint(part, x, use_reentrant=False, context_fn=contexts)
        return x

    module.__class__ = type(kind.__name__, (kind,), {"forward": forward})
# fmt: on


_IMPORTS = """\
from contextlib import contextmanager, nullcontext
from functools import partial
from math import isqrt

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint
"""


def wrap(model: Any, names: Sequence[str]) -> Any:
    """Let the sequences of these names run again in segments; return the model, which is changed in
    place.

    Raises:
        InputError: as ``wrapping.checked``.
    """
    for module in checked(model, names):
        run_in_segments(module)
    return model


def code(names: Sequence[str]) -> str:
    """Return the lines of code that do the same without memlab, to be pasted after the line that
    makes ``model``."""
    return pasted(_IMPORTS, (copied_statistics, run_in_segments), names)


def sequences(modules: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths of the outermost sequences of at least 4 layers.

    Args:
        modules: classes of the modules by their paths, in the order of ``named_modules``.
    """
    outermost: list[str] = []
    for path, kind in modules.items():
        inside = any(path.startswith(f"{other}.") or not other for other in outermost)
        start = f"{path}." if path else ""
        inner = [name.removeprefix(start) for name in modules if name and name.startswith(start)]
        children = sum("." not in name for name in inner)
        if kind == "Sequential" and children >= LEAST and not inside:
            outermost.append(path)
    return tuple(outermost)
