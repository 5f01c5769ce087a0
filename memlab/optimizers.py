"""The optimizers: what each keeps of a parameter, and what the update of one value costs.

One row per optimizer. They compute as PyTorch's do, without weight decay, by the formulas in
``memlab/kernels/formulas/updates.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memlab import strings


@dataclass(frozen=True)
class Optimizer:
    """Optimizer: one row of the table of optimizers.

    ``states`` are its arrays, each as large as the parameter; ``squares`` are those of them that
    hold squares, by whose root the update divides. ``operations`` are those of one value: an
    addition, a product, a quotient and a root count as one each. ``settings`` are its own beside
    the rate, with what they are where none are given.
    """

    states: tuple[str, ...]
    operations: int
    squares: tuple[str, ...] = ()
    settings: Mapping[str, float] = field(default_factory=dict)

    @property
    def arrays(self) -> int:
        """Number of arrays as large as the parameters: the parameters, their gradients and the
        states (B1)."""
        return 2 + len(self.states)


OPTIMIZERS: dict[str, Optimizer] = {
    "sgd": Optimizer((), 2),
    "momentum": Optimizer(("momentum",), 4, settings={"momentum": 0.9}),
    "adagrad": Optimizer(("sum_of_squares",), 7, ("sum_of_squares",), {"epsilon": 1e-10}),
    "rmsprop": Optimizer(("mean_square",), 9, ("mean_square",), {"alpha": 0.99, "epsilon": 1e-8}),
    "adam": Optimizer(
        ("first_moment", "second_moment"), 12, ("second_moment",),
        {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
    ),
}  # fmt: skip
"""By name, from the smallest state to the largest. In fp32 a state takes 4 B per parameter, so sgd
takes 0 B, adam 8 B and the others 4 B (B1, F1).

Adagrad is that of Duchi, Hazan and Singer 2011 with a diagonal matrix, its sum beginning at 0;
RMSProp that of Tieleman and Hinton 2012 (lecture 6e), neither centered nor with momentum; Adam that
of Kingma and Ba 2015, its operations in the order at the end of their section 2."""

*_FIRST, _LAST = OPTIMIZERS
ONE_OF = f"{', '.join(_FIRST)} or {_LAST}"
"""Their names, as a sentence has them."""


def title(name: str, short: bool = False) -> str:
    """Return the usual spelling of an optimizer's name. An unknown name is returned unchanged."""
    if name not in OPTIMIZERS:
        return name
    return strings.get(f"optimizer.{'short.' if short else ''}{name}")
