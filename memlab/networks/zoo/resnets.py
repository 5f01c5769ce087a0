"""Residual networks of any depth, in their two published forms."""

from __future__ import annotations

from collections.abc import Sequence

from memlab.errors import InputError, known, shorten, true_or_false
from memlab.networks.builder import Handle
from memlab.networks.graph import Network
from memlab.networks.zoo.shared_parts import repeats, start

VARIANTS = ("v1", "v1.5")


def resnet(
    stages: Sequence[int],
    bottleneck: bool = True,
    *,
    image: int = 224,
    classes: int = 1000,
    variant: str = "v1.5",
) -> Network:
    """Return a residual network with ``stages[i]`` blocks in stage i + 1, named after its depth.

    Where a bottleneck halves height and width, ``"v1.5"`` strides in its 3x3 convolution, as
    torchvision has it, and ``"v1"`` in its first 1x1 (He et al. 2015, arXiv 1512.03385), as texts
    of that time count it. A basic block (``bottleneck=False``) has one form: both variants build
    the same network, which names none.

    Raises:
        InputError: stages are no block counts, an unknown variant, a bad image or classes.
    """
    known("variant", variant, VARIANTS)
    bottleneck = true_or_false("bottleneck", bottleneck)
    counts = _counts(stages)
    depth = sum(counts) * (3 if bottleneck else 2) + 2
    shown = variant if bottleneck else ""
    x = start(f"resnet{depth}", f"ResNet-{depth}", image, classes, variant=shown)
    x = _stem(x)
    for stage, count in enumerate(counts, 1):
        with x.stage(f"stage {stage}"):
            for block in range(1, count + 1):
                stride = 2 if stage > 1 and block == 1 else 1
                x = _block(x, f"{stage}.{block}", 32 << stage, stride, bottleneck, variant)
    with x.stage("head"):
        x = x.avg_pool("all", name="pool5").flatten("flatten")
        return x.linear(classes, name="fc").cross_entropy()


def resnet18(*, image: int = 224, classes: int = 1000, variant: str = "v1.5") -> Network:
    """Return ResNet-18, with basic blocks: 11,689,512 parameters (H). Both variants are the same.

    Raises:
        InputError: a bad image, classes or variant.
    """
    return resnet((2, 2, 2, 2), False, image=image, classes=classes, variant=variant)


def resnet34(*, image: int = 224, classes: int = 1000, variant: str = "v1.5") -> Network:
    """Return ResNet-34, with basic blocks: 21,797,672 parameters (H). Both variants are the same.

    Raises:
        InputError: a bad image, classes or variant.
    """
    return resnet((3, 4, 6, 3), False, image=image, classes=classes, variant=variant)


def resnet50(*, image: int = 224, classes: int = 1000, variant: str = "v1.5") -> Network:
    """Return ResNet-50, with bottleneck blocks: 25,557,032 parameters (H, A4, A5, A7, B6).

    Raises:
        InputError: a bad image, classes or variant.
    """
    return resnet((3, 4, 6, 3), image=image, classes=classes, variant=variant)


def resnet101(*, image: int = 224, classes: int = 1000, variant: str = "v1.5") -> Network:
    """Return ResNet-101, with bottleneck blocks: 44,549,160 parameters (H, A10).

    Raises:
        InputError: a bad image, classes or variant.
    """
    return resnet((3, 4, 23, 3), image=image, classes=classes, variant=variant)


def resnet152(*, image: int = 224, classes: int = 1000, variant: str = "v1.5") -> Network:
    """Return ResNet-152, with bottleneck blocks: 60,192,808 parameters (H).

    Raises:
        InputError: a bad image, classes or variant.
    """
    return resnet((3, 8, 36, 3), image=image, classes=classes, variant=variant)


def resnet200(*, image: int = 224, classes: int = 1000, variant: str = "v1.5") -> Network:
    """Return ResNet-200, with bottleneck blocks: 64,673,832 parameters (H, A10).

    Raises:
        InputError: a bad image, classes or variant.
    """
    return resnet((3, 24, 36, 3), image=image, classes=classes, variant=variant)


def _counts(stages: object) -> tuple[int, ...]:
    if not isinstance(stages, Sequence) or isinstance(stages, str) or not stages:
        raise InputError(f"stages must be block counts, got {shorten(stages)}; try (3, 4, 6, 3).")
    return tuple(repeats("blocks of a stage", count) for count in stages)


def _stem(x: Handle) -> Handle:
    with x.stage("conv1"):
        x = _conv_norm(x, "conv1", "conv1.norm", 64, 7, 2).relu("conv1.relu")
        return x.max_pool(3, 2, pad=1, name="pool1")


def _block(x: Handle, name: str, width: int, stride: int, bottleneck: bool, variant: str) -> Handle:
    kernels = (1, 3, 1) if bottleneck else (3, 3)
    widths = (width, width, 4 * width) if bottleneck else (width, width)
    strided = 2 if bottleneck and variant == "v1.5" else 1
    y = x
    for i, (kernel, channels) in enumerate(zip(kernels, widths, strict=True), 1):
        step = stride if i == strided else 1
        y = _conv_norm(y, f"{name}.conv{i}", f"{name}.norm{i}", channels, kernel, step)
        y = y if i == len(kernels) else y.relu(f"{name}.relu{i}")
    if x.shape != y.shape:
        x = _conv_norm(x, f"{name}.short", f"{name}.short.norm", widths[-1], 1, stride)
    return y.add(x, name=f"{name}.add").relu(f"{name}.relu")


def _conv_norm(x: Handle, conv: str, norm: str, channels: int, kernel: int, stride: int) -> Handle:
    return x.conv(channels, kernel, stride, "same", bias=False, name=conv).batch_norm(norm)
