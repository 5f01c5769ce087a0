"""GoogLeNet, as published and with batch normalisation."""

from __future__ import annotations

from collections.abc import Callable

from memlab.layers import BatchNorm
from memlab.networks.builder import Handle
from memlab.networks.graph import Network
from memlab.networks.zoo.shared_parts import conv_relu, start

Unit = Callable[[Handle, str, int, int, int], Handle]
"""A convolution with what follows it: input, name, channels, kernel, stride."""

INCEPTIONS: dict[str, tuple[int, int, int, int, int, int]] = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
"""Channels of 1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5, pool projection (table 1 of the paper)."""


def googlenet(*, image: int = 224, classes: int = 1000) -> Network:
    """Return GoogLeNet as in its paper, without the two auxiliary heads: 6,998,552 parameters (H,
    C3).

    Source: Szegedy et al. 2014 (arXiv 1409.4842), table 1; windows of its pools hang over the edge,
    as in Caffe.

    Raises:
        InputError: ``image`` or ``classes`` is too small or no whole number.
    """
    x = start("googlenet", "GoogLeNet", image, classes)
    with x.stage("stem"):
        x = conv_relu(x, "conv1", 64, 7, 2).max_pool(3, 2, ceil=True, name="pool1")
        x = x.local_response_norm(name="pool1.norm")
        x = conv_relu(conv_relu(x, "conv2_reduce", 64, 1), "conv2", 192, 3)
        x = x.local_response_norm(name="conv2.norm").max_pool(3, 2, ceil=True, name="pool2")
    return _trunk(x, conv_relu, fives="5x5", last_pool=3, dropout=0.4, classes=classes)


def googlenet_bn(*, image: int = 224, classes: int = 1000) -> Network:
    """Return torchvision's GoogLeNet, with batch norm, 3x3 in place of 5x5, and no auxiliary heads:
    6,624,904 parameters (H).

    Raises:
        InputError: ``image`` or ``classes`` is too small or no whole number.
    """
    x = start("googlenet_bn", "GoogLeNet (batch norm)", image, classes)
    with x.stage("stem"):
        x = _conv_norm_relu(x, "conv1", 64, 7, 2).max_pool(3, 2, ceil=True, name="pool1")
        x = _conv_norm_relu(_conv_norm_relu(x, "conv2_reduce", 64, 1), "conv2", 192, 3)
        x = x.max_pool(3, 2, ceil=True, name="pool2")
    return _trunk(x, _conv_norm_relu, fives="3x3b", last_pool=2, dropout=0.2, classes=classes)


def _conv_norm_relu(x: Handle, name: str, channels: int, kernel: int, stride: int = 1) -> Handle:
    y = x.conv(channels, kernel, stride, "same", bias=False, name=name)
    return y.then(BatchNorm(epsilon=1e-3), name=f"{name}.norm").relu(f"{name}.relu")


def _trunk(
    x: Handle, unit: Unit, fives: str, last_pool: int, dropout: float, classes: int
) -> Network:
    for stage in "345":
        with x.stage(f"inception {stage}"):
            for name in INCEPTIONS:
                x = _inception(x, name, unit, fives) if name.startswith(stage) else x
            if stage != "5":
                kernel = 3 if stage == "3" else last_pool
                x = x.max_pool(kernel, 2, ceil=True, name=f"pool{stage}")
    with x.stage("head"):
        x = x.avg_pool("all", name="pool5").flatten("flatten").dropout(dropout, name="drop")
        return x.linear(classes, name="fc").cross_entropy()


def _inception(x: Handle, name: str, unit: Unit, fives: str) -> Handle:
    one, reduce3, three, reduce5, five, project = INCEPTIONS[name]
    a = unit(x, f"{name}.1x1", one, 1, 1)
    b = unit(x, f"{name}.3x3_reduce", reduce3, 1, 1)
    b = unit(b, f"{name}.3x3", three, 3, 1)
    c = unit(x, f"{name}.{fives}_reduce", reduce5, 1, 1)
    c = unit(c, f"{name}.{fives}", five, int(fives[0]), 1)
    d = x.max_pool(3, 1, pad=1, ceil=True, name=f"{name}.pool")
    d = unit(d, f"{name}.pool_proj", project, 1, 1)
    return a.concat(b, c, d, name=f"{name}.concat")
