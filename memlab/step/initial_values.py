"""Initial values of everything that stays alive between steps, where a run is
given nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt

from memlab.axes import Dims


@dataclass(frozen=True, slots=True)
class InitialValue:
    """At ``value``; drawn, normal around 0, where there is a ``deviation``, or as whole numbers
    from 0, ``below`` a limit; or at the value of a ``setting``.

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
    """Normal with variance 2 / fan-in (He et al. 2015), for weights with the outputs in front."""
    return InitialValue(deviation=sqrt(2 / prod(extent for _, extent in dims[1:])))
