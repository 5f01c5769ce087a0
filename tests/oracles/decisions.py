"""What every ReLU and max pooling decided, so that float64 can be made to decide the same.

Rounding moves a value across the kink of a ReLU now and then, or makes another value of a window
the largest. The gradient jumps there, by far more than rounding, on one side and not on the other.
Import this module only where torch is known to be there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it
from torch.overrides import TorchFunctionMode

from memlab.kernels.registry import KernelCall
from memlab.layers import MaxPool2d
from memlab.runtime.session import Session


@dataclass
class Decisions:
    """In the order of the network: where a ReLU let through, and which place of its map each
    window of a max pooling took."""

    passed: deque[Any] = field(default_factory=deque)
    places: deque[Any] = field(default_factory=deque)


def record(session: Session) -> Decisions:
    """What the session's next step decides."""
    found = Decisions()

    def relu(call: KernelCall) -> None:
        found.passed.append(torch.from_numpy(call["y"] > 0))

    def pool(call: KernelCall) -> None:
        found.places.append(torch.from_numpy(_places(call)))

    notes = {"relu": relu, "max_pool2d": pool}
    session.turns = [
        turn._replace(kernel=_then(turn.kernel, notes[turn.op.kind]))
        if turn.op.kind in notes
        else turn
        for turn in session.turns
    ]
    return found


def _then(
    kernel: Callable[[KernelCall], None], note: Callable[[KernelCall], None]
) -> Callable[[KernelCall], None]:
    def run(call: KernelCall) -> None:
        kernel(call)
        note(call)

    return run


def _places(call: KernelCall) -> Any:
    """Places in the map, from places in the windows."""
    layer, indices = call.layer, call["indices"].astype(np.int64)
    assert isinstance(layer, MaxPool2d)
    _, width, stride, pad = layer.geometry(call["x"].shape[1:])
    rows = np.arange(indices.shape[2])[:, None] * stride - pad + indices // width
    columns = np.arange(indices.shape[3]) * stride - pad + indices % width
    return rows * call["x"].shape[3] + columns


class Recorded(TorchFunctionMode):
    """Inside, PyTorch's decisions are recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.found = Decisions()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.Tensor.relu:
            y = function(*args)
            self.found.passed.append(y > 0)
            return y
        if function is F.max_pool2d:
            y, places = function(*args, **((kwargs or {}) | {"return_indices": True}))
            self.found.places.append(places)
            return y
        return function(*args, **(kwargs or {}))


class Replayed(TorchFunctionMode):
    """Inside, PyTorch decides as it is told."""

    def __init__(self, given: Decisions) -> None:
        super().__init__()
        self.given = given

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.Tensor.relu:
            return args[0] * self.given.passed.popleft()
        if function is F.max_pool2d:
            places = self.given.places.popleft()
            return args[0].flatten(2).gather(2, places.flatten(2)).view(places.shape)
        return function(*args, **(kwargs or {}))
