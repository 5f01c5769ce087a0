"""Cross entropy that is computed for some rows at a time, with the last linear layer: the scores of
all rows are never there at once.

What is printed to be pasted is the text of the function that is called here. Import this module
only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from memlab.errors import InputError

CHUNKS = 8
"""Number of parts that the rows are taken in."""


# fmt: off
def chunked_loss(head, chunks=8):
    """Let the last layer pass on its input, and return a loss that computes the scores of some rows
    at a time, again in backward."""
    kind = type(head)
    head.__class__ = type(kind.__name__, (kind,), {"forward": lambda self, x: x})

    def part(x, y):
        return functional.cross_entropy(kind.forward(head, x), y, reduction="sum")

    def loss_fn(x, y):
        x, y = x.flatten(0, -2), y.flatten()
        parts = zip(x.chunk(chunks), y.chunk(chunks))
        total = sum(checkpoint(part, *rows, use_reentrant=False) for rows in parts)
        return total / (y != -100).sum()

    return loss_fn
# fmt: on


_IMPORTS = """\
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
"""


def code(name: str) -> str:
    """Return the lines of code that make the loss for a model whose last layer has this name."""
    source = inspect.getsource(chunked_loss)
    return f"{_IMPORTS}\n\n{source}\n\nloss_fn = chunked_loss(model.get_submodule({name!r}))\n"


class RecordedLoss:
    """Loss in chunks that is recorded: ``change`` gives a model its last layer that passes on its
    input, and calling this computes the loss.

    Args:
        name: name of the last layer.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._loss_fn: Callable[[Any, Any], Any] | None = None
        self._passed: Any = None

    def change(self, model: Any) -> Any:
        """Change the last layer of a model in place; return the model."""
        head = model.get_submodule(self.name)
        self._loss_fn = chunked_loss(head, CHUNKS)
        head.__class__.forward = self._forward
        return model

    def _forward(self, x: Any) -> Any:
        self._passed = x
        return x

    def __call__(self, output: Any, target: Any) -> Any:
        """Return the loss.

        Raises:
            InputError: the model does something to the scores, or there is no target for each row.
        """
        passed, self._passed = self._passed, None
        rows = isinstance(target, torch.Tensor) and passed is not None
        if self._loss_fn is None or output is not passed or not rows:
            raise InputError("the loss is not one of the scores of the last linear layer")
        if output.shape[:-1] != target.shape:
            raise InputError("the loss has not one target for each row of scores")
        return self._loss_fn(output, target)


def is_cross_entropy(loss_fn: Callable[[Any, Any], Any], classes: int, dims: int) -> bool:
    """Return True if a loss of scores is the mean cross entropy of all rows, by its values for some
    numbers.

    Args:
        loss_fn: function of scores and targets.
        classes: number of scores of a row.
        dims: number of dimensions of the targets.
    """
    generator = torch.Generator().manual_seed(0)
    shape = (2, 3, 2)[:dims]
    scores = torch.randn(*shape, classes, generator=generator)
    target = torch.randint(classes, shape, generator=generator)
    target.view(-1)[0] = -100  # a row that is ignored
    try:
        expected = functional.cross_entropy(scores.flatten(0, -2), target.flatten())
        return bool(torch.allclose(loss_fn(scores, target), expected))
    except Exception:  # a loss of something else
        return False
