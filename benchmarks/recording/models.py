"""ResNet-50 as PyTorch's users write it (He et al. 2016).

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

loss = nn.functional.cross_entropy


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions, and what goes around them."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = 4 * width
        self.body = nn.Sequential(
            *_unit(before, width, 1), nn.ReLU(inplace=True),
            *_unit(width, width, 3, stride), nn.ReLU(inplace=True),
            *_unit(width, after, 1),
        )  # fmt: skip
        same = stride == 1 and before == after
        self.around = nn.Identity() if same else nn.Sequential(*_unit(before, after, 1, stride))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Any) -> Any:
        """A map (N, before, H, W) to (N, 4 width, H / stride, W / stride)."""
        return self.relu(self.body(x) + self.around(x))


def _unit(before: int, after: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    conv = nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)
    return [conv, nn.BatchNorm2d(after)]


def resnet50() -> nn.Module:
    """For images (3, 224, 224) and 1000 classes."""
    layers = [*_unit(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, count in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(count):
            layers.append(Bottleneck(channels, width, 2 if stage and not block else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def images(batch: int) -> tuple[Any, Any]:
    """So many random images (N, 3, 224, 224) and classes (N,)."""
    return torch.randn(batch, 3, 224, 224), torch.randint(1000, (batch,))
