"""Initial values of everything that stays alive between steps, where a run is
given nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt

from memlab.axes import Dims


@dataclass(frozen=True, slots=True)
class InitialValue:
    """Initial values of an array: a constant ``value``; normally distributed around 0 with a
    ``deviation``; whole numbers from 0 to ``below``; or the value of a ``setting``.

    ``squares`` are no numbers below 0: kernels take their root. ``of`` names the parameter that it
    is a copy of: it begins as that one does, and is given under its name.
    """

    value: float = 0.0
    deviation: float = 0.0
    below: int = 0
    setting: str = ""
    squares: bool = False
    of: str = ""


ZEROS, ONES = InitialValue(), InitialValue(1.0)


def he(dims: Dims) -> InitialValue:
    """Return normally distributed initial values with variance 2 / fan-in (He et al. 2015), for
    weights whose first axis is the outputs."""
    return InitialValue(deviation=sqrt(2 / prod(extent for _, extent in dims[1:])))
