"""Networks of the zoo written again in plain PyTorch, from the papers and torchvision.

Modules are named so that a state dict has memlab's names: a convolution holds its batch norm as
its child ``norm``. There is no dropout. Import this module only where torch is known to be there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it


class AlexNet(nn.Module):
    """Krizhevsky 2014 with torchvision's padding; no adaptive pooling."""

    def __init__(self, classes: int, features: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 11, 4, 2)
        self.conv2 = nn.Conv2d(64, 192, 5, padding=2)
        self.conv3 = nn.Conv2d(192, 384, 3, padding=1)
        self.conv4 = nn.Conv2d(384, 256, 3, padding=1)
        self.conv5 = nn.Conv2d(256, 256, 3, padding=1)
        self.fc6 = nn.Linear(features, 4096)
        self.fc7 = nn.Linear(4096, 4096)
        self.fc8 = nn.Linear(4096, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(self.conv1(x).relu(), 3, 2)
        x = F.max_pool2d(self.conv2(x).relu(), 3, 2)
        x = self.conv4(self.conv3(x).relu()).relu()
        x = F.max_pool2d(self.conv5(x).relu(), 3, 2)
        return self.fc8(self.fc7(self.fc6(x.flatten(1)).relu()).relu())


class Vgg11(nn.Module):
    """Simonyan and Zisserman 2014, configuration A."""

    WIDTHS = ((64,), (128,), (256, 256), (512, 512), (512, 512))

    def __init__(self, classes: int, features: int) -> None:
        super().__init__()
        inputs = 3
        for block, widths in enumerate(self.WIDTHS, 1):
            for i, width in enumerate(widths, 1):
                self.add_module(f"conv{block}_{i}", nn.Conv2d(inputs, width, 3, padding=1))
                inputs = width
        self.fc6 = nn.Linear(features, 4096)
        self.fc7 = nn.Linear(4096, 4096)
        self.fc8 = nn.Linear(4096, classes)

    def forward(self, x: Tensor) -> Tensor:
        for block, widths in enumerate(self.WIDTHS, 1):
            for i in range(1, len(widths) + 1):
                x = self.get_submodule(f"conv{block}_{i}")(x).relu()
            x = F.max_pool2d(x, 2)
        return self.fc8(self.fc7(self.fc6(x.flatten(1)).relu()).relu())


class ConvNorm(nn.Conv2d):
    """A convolution without bias that keeps height and width at stride 1, and its batch norm."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int, stride: int = 1, epsilon: float = 1e-5
    ) -> None:
        super().__init__(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs, epsilon)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(super().forward(x))


class Inception(nn.Module):
    """Four branches side by side: 1x1, 3x3, 3x3 again (for 5x5), pooling."""

    def __init__(self, inputs: int, widths: tuple[int, ...]) -> None:
        super().__init__()
        one, reduce, three, reduce_again, three_again, project = widths
        self.add_module("1x1", unit(inputs, one, 1))
        self.add_module("3x3_reduce", unit(inputs, reduce, 1))
        self.add_module("3x3", unit(reduce, three, 3))
        self.add_module("3x3b_reduce", unit(inputs, reduce_again, 1))
        self.add_module("3x3b", unit(reduce_again, three_again, 3))
        self.add_module("pool_proj", unit(inputs, project, 1))

    def forward(self, x: Tensor) -> Tensor:
        pooled = F.max_pool2d(x, 3, 1, padding=1)
        branches = (
            self.through(x, "1x1"),
            self.through(x, "3x3_reduce", "3x3"),
            self.through(x, "3x3b_reduce", "3x3b"),
            self.through(pooled, "pool_proj"),
        )
        return torch.cat(branches, 1)

    def through(self, x: Tensor, *names: str) -> Tensor:
        for name in names:
            x = self.get_submodule(name)(x).relu()
        return x


def unit(inputs: int, outputs: int, kernel: int) -> ConvNorm:
    return ConvNorm(inputs, outputs, kernel, epsilon=1e-3)


class GoogLeNet(nn.Module):
    """torchvision's: batch norm, 3x3 for 5x5, no auxiliary heads."""

    WIDTHS = (
        ("3a", (64, 96, 128, 16, 32, 32)),
        ("3b", (128, 128, 192, 32, 96, 64)),
        ("4a", (192, 96, 208, 16, 48, 64)),
        ("4b", (160, 112, 224, 24, 64, 64)),
        ("4c", (128, 128, 256, 24, 64, 64)),
        ("4d", (112, 144, 288, 32, 64, 64)),
        ("4e", (256, 160, 320, 32, 128, 128)),
        ("5a", (256, 160, 320, 32, 128, 128)),
        ("5b", (384, 192, 384, 48, 128, 128)),
    )
    POOLS = (("3b", 3), ("4e", 2))
    """After which block, and the window; its stride is 2."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.conv1 = ConvNorm(3, 64, 7, 2, 1e-3)
        self.conv2_reduce = unit(64, 64, 1)
        self.conv2 = unit(64, 192, 3)
        inputs = 192
        for name, widths in self.WIDTHS:
            self.add_module(name, Inception(inputs, widths))
            inputs = widths[0] + widths[2] + widths[4] + widths[5]
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(self.conv1(x).relu(), 3, 2, ceil_mode=True)
        x = self.conv2(self.conv2_reduce(x).relu()).relu()
        x = F.max_pool2d(x, 3, 2, ceil_mode=True)
        for name, _ in self.WIDTHS:
            x = self.get_submodule(name)(x)
            for after, window in self.POOLS:
                x = F.max_pool2d(x, window, 2, ceil_mode=True) if after == name else x
        return self.fc(x.mean((2, 3)))


class Block(nn.Module):
    """A residual block: two 3x3 convolutions, or 1x1, 3x3 (which strides), 1x1."""

    def __init__(self, inputs: int, width: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        outputs = 4 * width if bottleneck else width
        kernels, strides = ((1, 3, 1), (1, stride, 1)) if bottleneck else ((3, 3), (stride, 1))
        widths = (inputs, *[width] * (len(kernels) - 1), outputs)
        self.depth = len(kernels)
        for i in range(self.depth):
            conv = nn.Conv2d(
                widths[i], widths[i + 1], kernels[i], strides[i], kernels[i] // 2, bias=False
            )
            self.add_module(f"conv{i + 1}", conv)
            self.add_module(f"norm{i + 1}", nn.BatchNorm2d(widths[i + 1]))
        projects = stride > 1 or inputs != outputs
        self.short = ConvNorm(inputs, outputs, 1, stride) if projects else None

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for i in range(1, self.depth + 1):
            y = self.get_submodule(f"norm{i}")(self.get_submodule(f"conv{i}")(y))
            y = y.relu() if i < self.depth else y
        return (y + (x if self.short is None else self.short(x))).relu()


class ResNet(nn.Module):
    """He et al. 2015; a bottleneck strides in its 3x3 (v1.5)."""

    def __init__(self, stages: tuple[int, ...], bottleneck: bool, classes: int) -> None:
        super().__init__()
        self.conv1 = ConvNorm(3, 64, 7, 2)
        inputs = 64
        for stage, count in enumerate(stages, 1):
            blocks, width = nn.Module(), 32 << stage
            for block in range(1, count + 1):
                stride = 2 if stage > 1 and block == 1 else 1
                blocks.add_module(str(block), Block(inputs, width, stride, bottleneck))
                inputs = 4 * width if bottleneck else width
            self.add_module(str(stage), blocks)
        self.stages = stages
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(self.conv1(x).relu(), 3, 2, 1)
        for stage, count in enumerate(self.stages, 1):
            for block in range(1, count + 1):
                x = self.get_submodule(f"{stage}.{block}")(x)
        return self.fc(x.mean((2, 3)))


ORACLES: dict[str, Callable[[], Any]] = {
    "alexnet": lambda: AlexNet(10, 256),
    "vgg11": lambda: Vgg11(10, 512),
    "googlenet_bn": lambda: GoogLeNet(10),
    "resnet18": lambda: ResNet((2, 2, 2, 2), False, 10),
    "resnet50": lambda: ResNet((3, 4, 6, 3), True, 10),
}
"""For 10 classes, and images that leave one value per channel to the first linear layer."""
