"""A recipe: which modules of a model are changed, what that takes, and how it is applied.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from memlab import units
from memlab.errors import visible, whole_number
from memlab.frontends.torch.fitting import wrapping
from memlab.frontends.torch.tensor_modes import (
    Change,
    RecordingRequest,
    as_it_is,
    autocast,
    optimizer_of,
)
from memlab.frontends.torch.torch_private_api import LEAVES
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.optimizers import title
from memlab.step.step import Step

LISTED = 4


@dataclass(frozen=True)
class RecipeFit(ABC):
    """Plan that fits into ``memory`` bytes at ``batch``, with some ``modules`` wrapped.

    ``peak`` is promised, in bytes with workspace; it was recorded of the wrapped model. ``before``
    is that of the plain one. ``step`` is the wrapped step, to be planned and looked at as any
    other.
    """

    way: ClassVar[Any]
    """The module that wraps some (``wrap``), and has the lines that do so (``code``)."""

    model: str
    optimizer: str
    batch: int
    memory: int
    peak: int
    before: int
    modules: tuple[str, ...]
    proved: bool
    step: Step = field(repr=False)
    wish: RecordingRequest = field(repr=False)

    def apply(self, model: Any) -> Any:
        """Wrap the modules of a model in place and return it: gradients, parameters and buffers are
        those of the plain one, bit for bit.

        Its modules get another class, so ``torch.save(model)`` as a whole and ``torch.compile`` are
        none for it; ``model.state_dict()`` is as before.

        Raises:
            InputError: a model that has not these modules.
        """
        return self.way.wrap(model, self.modules)

    def code(self) -> str:
        """Lines to paste after the one that makes ``model``; they do what ``apply`` does."""
        if not self.modules:
            return f"# batch {self.batch} fits into {units.short(self.memory)} as it is\n"
        lines: str = self.way.code(self.modules)
        return lines

    def plan(self) -> Ledger:
        """Ledger of the step with the modules wrapped; ``plan().peak(batch)`` is ``peak``."""
        return plan(self.step)

    def differences(self, batch: int = 2, steps: int = 2, seed: int = 0) -> list[str]:
        """Train the plain and the wrapped model on real tensors, and name all gradients,
        parameters and buffers that are not the same bits; empty where all are.

        Raises:
            InputError: no whole numbers.
        """
        whole_number("batch", batch)
        plain, mine = (
            list(_trained(self.wish, change, batch, whole_number("steps", steps), seed))
            for change in (as_it_is, self.apply)
        )
        pairs = zip(plain, mine, strict=True)
        return [name for (name, one), (_, other) in pairs if not _equal(one, other)]

    def __str__(self) -> str:
        name = title(self.optimizer) or self.optimizer
        head = f"{self.model} at batch {self.batch}, {name}: {units.short(self.peak)} at its peak"
        if not self.modules:
            return f"{head}, within {units.short(self.memory)}."
        names = ", ".join(visible(name) or "the whole model" for name in self.modules[:LISTED])
        more = len(self.modules) - LISTED
        names += f" and {more} more" if more > 0 else ""
        before, memory = units.short(self.before), units.short(self.memory)
        return f"{head} instead of {before}, within {memory}, {self._takes(names)}"

    @abstractmethod
    def _takes(self, names: str) -> str:
        """Cost of the recipe as the end of a sentence, and how sure it is that none costs less."""


@dataclass(frozen=True)
class Recipe(RecipeFit):
    """Plan that fits because ``modules`` run again in backward.

    That takes ``seconds`` of this machine: ``share`` of a plain step. No set of modules of which
    none lies in another takes less than ``bound``, and ``proved`` says that this one takes no more.
    """

    way: ClassVar[Any] = wrapping

    seconds: float
    share: float
    bound: float

    def _takes(self, names: str) -> str:
        percent = round(100 * self.share)
        cost = f"about {percent} % more time" if percent > 0 else "no more time, as measured here"
        return f"for {cost}, where {names} run again in backward. {self._bound()}"

    def _bound(self) -> str:
        if self.proved:
            return "No set of modules, none inside another, takes less."
        return f"No set of modules, none inside another, takes less than {100 * self.bound:.0f} %."


def _trained(
    wish: RecordingRequest, change: Change, batch: int, steps: int, seed: int
) -> Iterator[tuple[str, Any]]:
    """Loss, gradients, parameters and buffers of a model after so many steps, each
    with its name."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = change(wish.build().train())
        optimizer = optimizer_of(wish.optimizer, model)
        for _ in range(steps):
            x, target = wish.pair(batch)
            optimizer.zero_grad()
            with autocast(wish.autocast, "cpu"):
                loss = wish.loss_fn(model(x), target)
            loss.backward()
            optimizer.step()
    yield "loss", loss.detach()
    for name, parameter in model.named_parameters():
        yield f"{name}.grad", parameter.grad
        yield name, parameter.detach()
    yield from model.named_buffers()


def _equal(one: Any, other: Any) -> bool:
    """Return whether two tensors have the same bits; NaN is equal to itself here."""
    if one is None or other is None:
        return one is other
    pairs = zip(LEAVES()(one), LEAVES()(other), strict=True)
    return all(torch.equal(_bits(a), _bits(b)) for a, b in pairs)


def _bits(tensor: Any) -> Any:
    return tensor.contiguous().flatten().view(torch.uint8)
