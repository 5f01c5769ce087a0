"""A recipe: which modules of a model run again, what that takes, and how it is applied.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from memlab import units
from memlab.errors import whole
from memlab.frontends.torch.fitting import wrapping
from memlab.frontends.torch.torch_internals import LEAVES
from memlab.frontends.torch.worlds import FORMATS, Wish, _made
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.optimizers import title
from memlab.step.step import Step

LISTED = 4


@dataclass(frozen=True)
class Recipe:
    """How a step fits into ``memory`` bytes at ``batch``.

    ``peak`` is promised, in bytes with workspace; it was recorded of the wrapped model. ``before``
    is that of the plain one. ``modules`` run again in backward, which takes ``seconds`` of this
    machine: ``share`` of a plain step. No set of modules of which none lies in another takes less
    than ``bound``, and ``proved`` says that this one takes no more. ``step`` is the wrapped step,
    to be planned and looked at as any other.
    """

    model: str
    optimizer: str
    batch: int
    memory: int
    peak: int
    before: int
    modules: tuple[str, ...]
    seconds: float
    share: float
    bound: float
    proved: bool
    step: Step = field(repr=False)
    wish: Wish = field(repr=False)

    def apply(self, model: Any) -> Any:
        """The model itself, whose modules run again from now on: gradients, parameters and buffers
        are those of the plain one, bit for bit.

        Its modules get another class, so ``torch.save(model)`` as a whole and ``torch.compile`` are
        none for it; ``model.state_dict()`` is as before.

        Raises:
            InputError: a model that has not these modules.
        """
        return wrapping.wrap(model, self.modules)

    def code(self) -> str:
        """The lines to paste after the one that makes ``model``; they do what ``apply`` does."""
        if not self.modules:
            return f"# batch {self.batch} fits into {units.short(self.memory)} as it is\n"
        return wrapping.code(self.modules)

    def plan(self) -> Ledger:
        """What is alive when, with the modules wrapped; ``plan().peak(batch)`` is ``peak``."""
        return plan(self.step)

    def differences(self, batch: int = 2, steps: int = 2, seed: int = 0) -> list[str]:
        """Train the plain and the wrapped model on real tensors, and name all gradients,
        parameters and buffers that are not the same bits; empty where all are.

        Raises:
            InputError: no whole numbers.
        """
        whole("batch", batch)
        plain, mine = (
            list(_trained(self.wish, names, batch, whole("steps", steps), seed))
            for names in ((), self.modules)
        )
        pairs = zip(plain, mine, strict=True)
        return [name for (name, one), (_, other) in pairs if not _equal(one, other)]

    def __str__(self) -> str:
        head = f"{self.model} at batch {self.batch}, {title(self.optimizer) or self.optimizer}: "
        if not self.modules:
            return f"{head}{units.short(self.peak)} at its peak, within {units.short(self.memory)}."
        names = ", ".join(self.modules[:LISTED])
        more = len(self.modules) - LISTED
        names += f" and {more} more" if more > 0 else ""
        return (
            f"{head}{units.short(self.peak)} at its peak instead of {units.short(self.before)}, "
            f"within {units.short(self.memory)}, for about {100 * self.share:.0f} % more time, "
            f"where {names} run again in backward. {self._bound()}"
        )

    def _bound(self) -> str:
        if self.proved:
            return "No set of modules, none inside another, takes less."
        return f"No set of modules, none inside another, takes less than {100 * self.bound:.0f} %."


def _trained(
    wish: Wish, names: tuple[str, ...], batch: int, steps: int, seed: int
) -> Iterator[tuple[str, Any]]:
    """What a model has after so many steps: its loss, gradients, parameters, buffers."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = wrapping.wrap(wish.build().train(), names)
        optimizer = _made(wish.optimizer, model)
        for _ in range(steps):
            x, target = wish.pair(batch)
            optimizer.zero_grad()
            with _autocast(wish):
                loss = wish.loss_fn(model(x), target)
            loss.backward()
            optimizer.step()
    yield "loss", loss.detach()
    for name, each in model.named_parameters():
        yield f"{name}.grad", each.grad
        yield name, each.detach()
    yield from model.named_buffers()


def _autocast(wish: Wish) -> Any:
    dtype = FORMATS.get(wish.autocast)
    return torch.autocast("cpu", dtype or torch.bfloat16, enabled=bool(dtype))


def _equal(one: Any, other: Any) -> bool:
    """The same bits; not a number is equal to itself here."""
    if one is None or other is None:
        return one is other
    pairs = zip(LEAVES()(one), LEAVES()(other), strict=True)
    return all(torch.equal(_bits(a), _bits(b)) for a, b in pairs)


def _bits(tensor: Any) -> Any:
    return tensor.contiguous().flatten().view(torch.uint8)
