"""Adam with states in 8 bits, as the package bitsandbytes keeps them: what a recording sees of it.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

BLOCK = 256
"""Values of a state that share one scale."""
SMALLEST = 4096
"""Number of values of a parameter from which on its states are in 8 bits."""


class Adam8bit(torch.optim.Optimizer):
    """Optimizer with the storages of ``bitsandbytes.optim.Adam8bit``: of each parameter two states
    of 1 byte per value with a float32 scale per block, two tables of 256 values for all of them,
    and float32 states for small parameters.

    It computes nothing: its step reads and writes what the one kernel of bitsandbytes does, which
    takes no temporaries. ``make`` makes the optimizer whose parameters it updates.
    """

    def __init__(self, make: Callable[[Any], Any], parameters: Any) -> None:
        super().__init__(make(parameters).param_groups, {})
        self.tables: dict[str, Any] = {}

    def step(self, closure: Any = None) -> None:
        """Read and write what an update does."""
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        with torch.no_grad():
            for parameter in parameters:
                if parameter.grad is not None:
                    self._update(parameter)

    def _update(self, parameter: Any) -> None:
        """Read and write what the update of a parameter does."""
        if not self.state[parameter]:
            self.state[parameter] = self._states(parameter)
        parameter.add_(parameter.grad)
        for name, state in self.state[parameter].items():
            if name not in self.tables:
                state.mul_(1)

    def _states(self, parameter: Any) -> dict[str, Any]:
        """Return the states of a parameter, which are made in its first update."""
        state, count = dict[str, Any](), parameter.numel()
        small = count < SMALLEST
        for number in (1, 2):
            dtype = torch.float32 if small else torch.uint8
            state[f"state{number}"] = torch.zeros_like(parameter, dtype=dtype)
            if not small:
                scales = torch.zeros(-(-count // BLOCK), device=parameter.device)
                state[f"absmax{number}"] = scales
                state[f"qmap{number}"] = self._table(f"qmap{number}", parameter.device)
        return state

    def _table(self, name: str, device: Any) -> Any:
        """Return the values that the bytes of a state stand for."""
        if name not in self.tables:
            self.tables[name] = torch.zeros(256, device=device)
        return self.tables[name]


class AdamW8bit(Adam8bit):
    """Optimizer with the storages of ``bitsandbytes.optim.AdamW8bit``."""
