"""The networks by name. ``build("resnet50", image=32, classes=10)`` makes one.

Fully connected layers follow the image: there is no adaptive pooling.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

from memlab.errors import InputError, pick
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
    """A network of the zoo; what is ``None`` stays as published.

    Args:
        name: a key of ``ZOO``.
        image: height and width of the input, in pixels.
        classes: how many outputs.
        variant: ``"v1"`` or ``"v1.5"``, for residual networks.

    Raises:
        InputError: an unknown name, or an option that this network does not have or not allow.
    """
    make = pick("network", name, ZOO)
    options = {"image": image, "classes": classes, "variant": variant}
    given = {option: value for option, value in options.items() if value is not None}
    known = signature(make).parameters
    for option in given:
        if option not in known:
            raise InputError(_refusal(name, option, list(known)))
    return make(**given)


def _refusal(name: str, option: str, known: list[str]) -> str:
    if option == "variant":
        return f"{name} has no variants; leave variant out, or try resnet50 for v1 and v1.5."
    return f"{name} has no {option}; leave it out, or try zoo.{name}({known[0]}=4)."
