"""PyTorch's optimizers, by memlab's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

CLASSES: dict[str, tuple[str, dict[str, str]]] = {
    "sgd": ("SGD", {}),
    "momentum": ("SGD", {"momentum": "momentum"}),
    "adagrad": ("Adagrad", {"eps": "epsilon"}),
    "rmsprop": ("RMSprop", {"alpha": "alpha", "eps": "epsilon"}),
    "adam": ("Adam", {"betas": "beta1 beta2", "eps": "epsilon"}),
}
"""The class of each, and memlab's settings by its arguments."""


def oracle(name: str, parameters: Iterable[Any], settings: dict[str, float]) -> Any:
    """The optimizer; where a setting is not given, it is PyTorch's own."""
    import torch

    found, arguments = CLASSES[name]
    values = {key: [settings[s] for s in own.split() if s in settings] for key, own in
              arguments.items()}  # fmt: skip
    chosen = {key: each if key == "betas" else each[0] for key, each in values.items() if each}
    return getattr(torch.optim, found)(parameters, lr=settings["rate"], **chosen)
