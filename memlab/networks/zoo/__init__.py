"""The networks by name. ``build("resnet50", image=32, classes=10)`` makes one.

Fully connected layers follow the image: there is no adaptive pooling. A ResNet is v1.5, as
torchvision has it; ``"resnet50-v1"`` is that of He et al. 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

from memlab.errors import InputError, known, shorten
from memlab.networks.graph import Network
from memlab.networks.zoo.classics import (
    alexnet,
    linear1,
    mnist_cnn,
    overfeat,
    vgg11,
    vgg13,
    vgg16,
    vgg19,
)
from memlab.networks.zoo.googlenets import googlenet, googlenet_bn
from memlab.networks.zoo.resnets import (
    resnet,
    resnet18,
    resnet34,
    resnet50,
    resnet101,
    resnet152,
    resnet200,
)
from memlab.networks.zoo.rnns import lstm, rnn
from memlab.networks.zoo.transformers import gpt2, gpt_small, vit_s

ZOO: dict[str, Callable[..., Network]] = {
    make.__name__: make
    for make in (
        linear1, mnist_cnn, alexnet, overfeat, vgg11, vgg13, vgg16, vgg19, googlenet, googlenet_bn,
        resnet18, resnet34, resnet50, resnet101, resnet152, resnet200, rnn, lstm, gpt2,
        gpt_small, vit_s,
    )
}  # fmt: skip

__all__ = [
    "ZOO", "alexnet", "build", "googlenet", "googlenet_bn", "gpt2", "gpt_small", "linear1",
    "lstm", "mnist_cnn", "overfeat", "resnet", "resnet18", "resnet34", "resnet50", "resnet101",
    "resnet152", "resnet200", "rnn", "vgg11", "vgg13", "vgg16", "vgg19", "vit_s",
]  # fmt: skip


def build(
    name: str,
    image: int | None = None,
    classes: int | None = None,
    variant: str | None = None,
) -> Network:
    """Return a network of the zoo. Arguments that are ``None`` stay as published.

    Args:
        name: a key of ``ZOO``, or one with a variant behind it: ``"resnet50-v1"``.
        image: height and width of the input, in pixels.
        classes: how many outputs.
        variant: ``"v1.5"`` or ``"v1"``, for residual networks.

    Raises:
        InputError: an unknown name, or an option that this network does not have or not allow.
    """
    key, variant = split(name, variant)
    options = {"image": image, "classes": classes, "variant": variant}
    given = {option: value for option, value in options.items() if value is not None}
    taken = signature(ZOO[key]).parameters
    for option in given:
        if option not in taken:
            raise InputError(_refusal(key, option, list(taken)))
    return ZOO[key](**given)


def split(name: object, variant: str | None = None) -> tuple[str, str | None]:
    """Return a key of ``ZOO`` and the variant, which may follow the key in ``name``.

    >>> split("resnet50-v1")
    ('resnet50', 'v1')

    Raises:
        InputError: an unknown name, or one with a variant where another one is given.
    """
    key, _, suffix = name.partition("-") if isinstance(name, str) else ("", "", "")
    if not suffix or key not in ZOO:
        return known("network", name, ZOO), variant
    if variant not in (None, suffix):
        raise InputError(
            f"{name} names a variant, and variant {shorten(variant)} is given too; leave one out."
        )
    return key, suffix


def _refusal(name: str, option: str, known: list[str]) -> str:
    if option == "variant":
        return f"{name} has no variants; leave variant out, or try resnet50-v1."
    return f"{name} has no {option}; leave it out, or try zoo.{name}({known[0]}=4)."
