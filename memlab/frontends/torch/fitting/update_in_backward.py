"""One parameter is updated after the other, and its gradient let go before the next: at a peak in
the optimizer the gradients of all others, and its temporaries, are no longer there.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

CODE = """\
parameters = sorted(model.parameters(), key=torch.Tensor.numel)
optimizers = [torch.optim.{line} for p in parameters]
# and in the loop, in place of optimizer.step() and optimizer.zero_grad():
for optimizer in optimizers:
    optimizer.step()
    optimizer.zero_grad()
"""


class OneByOne:
    """Optimizer that is one optimizer for each parameter; the largest one is updated last, when all
    other gradients are gone. ``make`` makes one of a list of parameters.

    It computes what one optimizer of all of them does. What looks at all gradients, such as
    clipping them together, comes before it as it did.
    """

    def __init__(self, make: Callable[[Any], Any], parameters: Iterable[Any]) -> None:
        learned = [parameter for parameter in parameters if parameter.requires_grad]
        self.optimizers = [
            make([parameter]) for parameter in sorted(learned, key=lambda p: p.numel())
        ]

    def step(self) -> None:
        """Update all parameters one by one, and free the gradient of each."""
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Free gradients that were made without a step."""
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none)

    @property
    def state(self) -> dict[Any, Any]:
        """States of all optimizers, by parameter."""
        return {p: kept for optimizer in self.optimizers for p, kept in optimizer.state.items()}
