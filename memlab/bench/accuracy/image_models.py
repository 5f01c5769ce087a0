"""Networks of images that published tables measure and the zoo has not, as PyTorch's modules.

MobileNetV2, EfficientNet-B0 and Inception-v3 have the operators of torchvision's, DenseNet-BC those
of gpleiss/efficient_densenet_pytorch. Neither is needed. Import this module only where PyTorch is
installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it
from torch.utils.checkpoint import checkpoint

Activation = Callable[[], Any]
Kernel = int | tuple[int, int]


def _relu() -> Any:
    return nn.ReLU(inplace=True)


def _relu6() -> Any:
    return nn.ReLU6(inplace=True)


def _silu() -> Any:
    return nn.SiLU(inplace=True)


def _unit(
    before: int, after: int, kernel: Kernel = 1, stride: int = 1, padding: Kernel | None = None,
    groups: int = 1, activation: Activation | None = _relu, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Return a convolution without bias, its batch norm, and an activation in place."""
    size = (kernel, kernel) if isinstance(kernel, int) else kernel
    around = tuple(side // 2 for side in size) if padding is None else padding
    layers = [
        nn.Conv2d(before, after, size, stride, around, groups=groups, bias=False),
        nn.BatchNorm2d(after, eps),
    ]
    return nn.Sequential(*layers, *([activation()] if activation else []))


# -- MobileNetV2 and EfficientNet-B0 -------------------------------------------------------------


class SqueezeExcite(nn.Module):
    """Module that scales each channel by a number that the mean of all channels decides."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc1, self.fc2 = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)
        self.activation = nn.SiLU(inplace=True)

    def forward(self, x: Any) -> Any:
        """Return the scaled maps."""
        scale = self.fc2(self.activation(self.fc1(self.pool(x))))
        return torch.sigmoid(scale) * x


class StochasticDepth(nn.Module):
    """Module that leaves out whole samples of a branch at random."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Any) -> Any:
        """Return x with some samples set to 0."""
        if not self.training or not self.p:
            return x
        noise = torch.empty((x.shape[0], 1, 1, 1), dtype=x.dtype, device=x.device)
        return x * noise.bernoulli_(1 - self.p).div_(1 - self.p)


class InvertedResidual(nn.Module):
    """Block that widens the channels, convolves each alone, and narrows them again."""

    def __init__(
        self, before: int, after: int, times: int, kernel: int, stride: int,
        activation: Activation, squeeze: bool = False, drop: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        wide = before * times
        widened = [] if times == 1 else [_unit(before, wide, activation=activation)]
        each = _unit(wide, wide, kernel, stride, groups=wide, activation=activation)
        squeezed = [SqueezeExcite(wide, max(1, before // 4))] if squeeze else []
        narrowed = _unit(wide, after, activation=None)
        self.body = nn.Sequential(*widened, each, *squeezed, narrowed)
        self.around = stride == 1 and before == after
        self.drop = StochasticDepth(drop) if squeeze else None

    def forward(self, x: Any) -> Any:
        """Return the block's maps, with x added where the shapes are equal."""
        y = self.body(x)
        if not self.around:
            return y
        if self.drop is None:
            return x + y
        y = self.drop(y)
        y += x
        return y


_MOBILENET = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip
"""Widening, channels, blocks and stride of each stage."""
_EFFICIENTNET = ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3),
                 (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1))  # fmt: skip
"""Widening, kernel, stride, channels and blocks of each stage."""


def mobilenet_v2() -> Any:
    """Return MobileNetV2 for 1000 classes."""
    layers, channels = [_unit(3, 32, 3, 2, activation=_relu6)], 32
    for times, after, count, stride in _MOBILENET:
        for at in range(count):
            layers.append(InvertedResidual(channels, after, times, 3, 1 if at else stride, _relu6))
            channels = after
    layers.append(_unit(channels, 1280, activation=_relu6))
    return _classifier(nn.Sequential(*layers), 1280)


def efficientnet_b0() -> Any:
    """Return EfficientNet-B0 for 1000 classes."""
    layers, channels, number = [_unit(3, 32, 3, 2, activation=_silu)], 32, 0
    total = sum(row[-1] for row in _EFFICIENTNET)
    for times, kernel, stride, after, count in _EFFICIENTNET:
        for at in range(count):
            layers.append(InvertedResidual(channels, after, times, kernel, 1 if at else stride,
                                           _silu, True, 0.2 * number / total))  # fmt: skip
            channels, number = after, number + 1
    layers.append(_unit(channels, 1280, activation=_silu))
    return _classifier(nn.Sequential(*layers), 1280)


def _classifier(features: Any, channels: int) -> Any:
    pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(features, pool, nn.Dropout(0.2), nn.Linear(channels, 1000))


# -- Inception-v3 --------------------------------------------------------------------------------


class Branches(nn.Module):
    """Ways side by side, whose maps are put together along the channels."""

    def __init__(self, *branches: Any) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Any) -> Any:
        """Return the maps of all ways as one."""
        return torch.cat([branch(x) for branch in self.branches], 1)


def _way(*units: Any) -> Any:
    """Return units in a row; each has its channels, its kernel and, where they are not the usual
    ones, its stride and padding."""
    return nn.Sequential(*(partial(_unit, eps=0.001)(*unit) for unit in units))


def _pooled(before: int, after: int) -> Any:
    return nn.Sequential(nn.AvgPool2d(3, 1, 1), _way((before, after, 1)))


def _inception_a(before: int, pooled: int) -> Any:
    return Branches(
        _way((before, 64, 1)), _way((before, 48, 1), (48, 64, 5)),
        _way((before, 64, 1), (64, 96, 3), (96, 96, 3)), _pooled(before, pooled),
    )  # fmt: skip


def _inception_b(before: int) -> Any:
    return Branches(
        _way((before, 384, 3, 2, 0)),
        _way((before, 64, 1), (64, 96, 3), (96, 96, 3, 2, 0)), nn.MaxPool2d(3, 2),
    )  # fmt: skip


def _inception_c(before: int, width: int) -> Any:
    wide, high = (1, 7), (7, 1)
    return Branches(
        _way((before, 192, 1)), _way((before, width, 1), (width, width, wide), (width, 192, high)),
        _way((before, width, 1), (width, width, high), (width, width, wide), (width, width, high),
             (width, 192, wide)),
        _pooled(before, 192),
    )  # fmt: skip


def _inception_d(before: int) -> Any:
    return Branches(
        _way((before, 192, 1), (192, 320, 3, 2, 0)),
        _way((before, 192, 1), (192, 192, (1, 7)), (192, 192, (7, 1)), (192, 192, 3, 2, 0)),
        nn.MaxPool2d(3, 2),
    )  # fmt: skip


def _inception_e(before: int) -> Any:
    def both() -> Any:
        return Branches(_way((384, 384, (1, 3))), _way((384, 384, (3, 1))))

    return Branches(
        _way((before, 320, 1)), nn.Sequential(_way((before, 384, 1)), both()),
        nn.Sequential(_way((before, 448, 1), (448, 384, 3)), both()), _pooled(before, 192),
    )  # fmt: skip


class InceptionV3(nn.Module):
    """Inception-v3 for 1000 classes, with the second classifier that only training has."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            _way((3, 32, 3, 2, 0), (32, 32, 3, 1, 0), (32, 64, 3)), nn.MaxPool2d(3, 2),
            _way((64, 80, 1), (80, 192, 3, 1, 0)), nn.MaxPool2d(3, 2),
        )  # fmt: skip
        self.middle = nn.Sequential(
            _inception_a(192, 32), _inception_a(256, 64), _inception_a(288, 64), _inception_b(288),
            _inception_c(768, 128), _inception_c(768, 160), _inception_c(768, 160),
            _inception_c(768, 192),
        )  # fmt: skip
        self.second = nn.Sequential(
            nn.AvgPool2d(5, 3), _way((768, 128, 1), (128, 768, 5, 1, 0)), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(768, 1000),
        )  # fmt: skip
        self.last = nn.Sequential(
            _inception_d(768), _inception_e(1280), _inception_e(2048), nn.AdaptiveAvgPool2d(1),
            nn.Dropout(), nn.Flatten(), nn.Linear(2048, 1000),
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        """Return the scores of both classifiers."""
        x = self.middle(self.stem(x))
        return self.last(x), self.second(x)


def both_losses(scores: Any, target: Any) -> Any:
    """Return the loss of the first classifier, and .4 of the second's."""
    return F.cross_entropy(scores[0], target) + 0.4 * F.cross_entropy(scores[1], target)


# -- DenseNet-BC ---------------------------------------------------------------------------------


class DenseLayer(nn.Module):
    """Layer that reads all maps before it and adds 12; ``efficient`` computes the large
    concatenation again in backward."""

    def __init__(self, before: int, growth: int, efficient: bool) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(before)
        self.conv1 = nn.Conv2d(before, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)
        self.efficient = efficient

    def forward(self, *maps: Any) -> Any:
        """Return the new maps."""
        if self.efficient and any(map_.requires_grad for map_ in maps):
            y = checkpoint(self.bottleneck, *maps, use_reentrant=True)
        else:
            y = self.bottleneck(*maps)
        return self.conv2(F.relu(self.norm2(y), inplace=True))

    def bottleneck(self, *maps: Any) -> Any:
        """Return few maps of all that came before."""
        return self.conv1(F.relu(self.norm1(torch.cat(maps, 1)), inplace=True))


class DenseBlock(nn.Module):
    """Layers that each read all maps before them."""

    def __init__(self, count: int, before: int, growth: int, efficient: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            DenseLayer(before + at * growth, growth, efficient) for at in range(count)
        )

    def forward(self, x: Any) -> Any:
        """Return all maps as one."""
        maps = [x]
        for layer in self.layers:
            maps.append(layer(*maps))
        return torch.cat(maps, 1)


def densenet_bc(efficient: bool = False) -> Any:
    """Return DenseNet-BC of 100 layers for images of 32 x 32 and 10 classes."""
    channels, layers = 24, [nn.Conv2d(3, 24, 3, padding=1, bias=False)]
    for at in range(3):
        layers.append(DenseBlock(16, channels, 12, efficient))
        channels += 16 * 12
        if at < 2:
            norm, relu = nn.BatchNorm2d(channels), nn.ReLU(inplace=True)
            half = nn.Conv2d(channels, channels // 2, 1, bias=False)
            layers.append(nn.Sequential(norm, relu, half, nn.AvgPool2d(2)))
            channels //= 2
    layers += [nn.BatchNorm2d(channels), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels, 10))
