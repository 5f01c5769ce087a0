"""Models of PyTorch that differ in kind, each in a small size for tests and in its usual one.

Import this module only where PyTorch is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it
from torch.utils.checkpoint import checkpoint


@dataclass(frozen=True)
class Case:
    """A model with its data and its loss; ``autocast`` runs forward in bf16."""

    build: Callable[[], Any]
    make_batch: Callable[[int], Any]
    loss_fn: Callable[[Any, Any], Any]
    autocast: str = ""


def images(size: int, classes: int, batch: int) -> Any:
    return torch.randn(batch, 3, size, size), torch.randint(classes, (batch,))


def tokens(length: int, words: int, batch: int) -> Any:
    return torch.randint(words, (batch, length)), torch.randint(words, (batch, length))


def token_loss(y: Any, target: Any) -> Any:
    return F.cross_entropy(y.flatten(0, 1), target.flatten())


def of_images(build: Callable[[], Any], size: int, classes: int, autocast: str = "") -> Case:
    return Case(build, partial(images, size, classes), F.cross_entropy, autocast)


# -- convolutions --------------------------------------------------------------------------------


def alexnet(width: int = 64, classes: int = 1000, hidden: int = 4096, side: int = 6) -> Any:
    a, b, c, d = width, width * 3, width * 6, width * 4
    relu, pool = partial(nn.ReLU, inplace=True), partial(nn.MaxPool2d, 3, 2)
    features = nn.Sequential(
        nn.Conv2d(3, a, 11, 4, 2), relu(), pool(), nn.Conv2d(a, b, 5, padding=2), relu(), pool(),
        nn.Conv2d(b, c, 3, padding=1), relu(), nn.Conv2d(c, d, 3, padding=1), relu(),
        nn.Conv2d(d, d, 3, padding=1), relu(), pool(),
    )  # fmt: skip
    head = nn.Sequential(
        nn.Dropout(), nn.Linear(d * side * side, hidden), relu(), nn.Dropout(),
        nn.Linear(hidden, hidden), relu(), nn.Linear(hidden, classes),
    )  # fmt: skip
    return nn.Sequential(features, nn.AdaptiveAvgPool2d(side), nn.Flatten(), head)


def vgg16(width: int = 64, classes: int = 1000, hidden: int = 4096, side: int = 7) -> Any:
    layers: list[Any] = []
    channels = 3
    for count, times in ((2, 1), (2, 2), (3, 4), (3, 8), (3, 8)):
        for _ in range(count):
            layers += [nn.Conv2d(channels, width * times, 3, padding=1), nn.ReLU(inplace=True)]
            channels = width * times
        layers.append(nn.MaxPool2d(2))
    head = nn.Sequential(
        nn.Linear(channels * side * side, hidden), nn.ReLU(True), nn.Dropout(),
        nn.Linear(hidden, hidden), nn.ReLU(True), nn.Dropout(), nn.Linear(hidden, classes),
    )  # fmt: skip
    return nn.Sequential(
        nn.Sequential(*layers), nn.AdaptiveAvgPool2d(side), nn.Flatten(), head
    )  # fmt: skip


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1, and what goes around them; ``kept`` runs it under a checkpoint."""

    def __init__(self, before: int, width: int, stride: int, kept: bool = True) -> None:
        super().__init__()
        after = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, after, 1, bias=False), nn.BatchNorm2d(after)
        self.relu, self.kept, self.down = nn.ReLU(inplace=True), kept, None
        if stride > 1 or before != after:
            self.down = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x):
        return self.body(x) if self.kept else checkpoint(self.body, x, use_reentrant=False)

    def body(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.down is None else self.down(x)
        return self.relu(y)


def resnet(
    counts: tuple[int, ...] = (3, 4, 6, 3), width: int = 64, classes: int = 1000, kept: bool = True
) -> Any:
    stem = nn.Sequential(
        nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    )  # fmt: skip
    stages, channels = [], width
    for number, count in enumerate(counts):
        blocks = []
        for at in range(count):
            stride = 2 if number and not at else 1
            blocks.append(Bottleneck(channels, width << number, stride, kept))
            channels = 4 * (width << number)
        stages.append(nn.Sequential(*blocks))
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))
    return nn.Sequential(stem, *stages, head)


class Unit(nn.Sequential):
    """A convolution, its batch norm, a ReLU in place."""

    def __init__(self, before: int, after: int, kernel: int, stride: int = 1, groups: int = 1):
        super().__init__(
            nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(after, eps=1e-3),
            nn.ReLU(inplace=True),
        )


class Inception(nn.Module):
    """Four ways side by side."""

    def __init__(self, before: int, sizes: tuple[int, ...]) -> None:
        super().__init__()
        one, reduce3, three, reduce5, five, project = sizes
        self.one = Unit(before, one, 1)
        self.three = nn.Sequential(Unit(before, reduce3, 1), Unit(reduce3, three, 3))
        self.five = nn.Sequential(Unit(before, reduce5, 1), Unit(reduce5, five, 3))
        pool = nn.MaxPool2d(3, 1, 1, ceil_mode=True)
        self.pool = nn.Sequential(pool, Unit(before, project, 1))

    def forward(self, x):
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pool(x)], 1)


INCEPTIONS = (
    (64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128), (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128),
)  # fmt: skip


def googlenet_bn(part: int = 1, count: int = 9, classes: int = 1000) -> Any:
    pool = partial(nn.MaxPool2d, 3, 2, ceil_mode=True)
    layers: list[Any] = [
        Unit(3, 64 // part, 7, 2), pool(), Unit(64 // part, 64 // part, 1),
        Unit(64 // part, 192 // part, 3), pool(),
    ]  # fmt: skip
    channels = 192 // part
    for at, sizes in enumerate(INCEPTIONS[:count]):
        if at in (2, 7):
            layers.append(pool() if at == 2 else nn.MaxPool2d(2, 2, ceil_mode=True))
        small = tuple(each // part for each in sizes)
        layers.append(Inception(channels, small))
        channels = small[0] + small[2] + small[4] + small[5]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(channels, classes)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Down and up again, by transposed convolutions, with what was there on the way down."""

    def __init__(self, width: int = 32, depth: int = 4, classes: int = 21) -> None:
        super().__init__()
        sizes = [width << n for n in range(depth + 1)]
        self.down = nn.ModuleList(
            self.twice(a, b) for a, b in zip([3, *sizes], sizes, strict=False)
        )
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(2 * each, each, 2, 2) for each in reversed(sizes[:-1])
        )
        self.join = nn.ModuleList(self.twice(2 * each, each) for each in reversed(sizes[:-1]))
        self.head = nn.Conv2d(width, classes, 1)

    def twice(self, before, after):
        return nn.Sequential(Unit(before, after, 3), Unit(after, after, 3))

    def forward(self, x):
        kept = []
        for at, down in enumerate(self.down):
            x = down(F.max_pool2d(x, 2) if at else x)
            kept.append(x)
        kept.pop()
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([kept.pop(), up(x)], 1))
        return self.head(x)


def segments(size: int, classes: int, batch: int) -> Any:
    return torch.randn(batch, 3, size, size), torch.randint(classes, (batch, size, size))


class Inverted(nn.Module):
    """MobileNetV2's block: wider, depthwise, narrower."""

    def __init__(self, before: int, after: int, stride: int, times: int) -> None:
        super().__init__()
        wide = before * times
        relu = partial(nn.ReLU6, inplace=True)
        self.body = nn.Sequential(
            nn.Conv2d(before, wide, 1, bias=False), nn.BatchNorm2d(wide), relu(),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide),
            relu(), nn.Conv2d(wide, after, 1, bias=False), nn.BatchNorm2d(after),
        )  # fmt: skip
        self.around = stride == 1 and before == after

    def forward(self, x):
        return x + self.body(x) if self.around else self.body(x)


MOBILE = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
          (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip


def mobilenet(rows: int = 7, classes: int = 1000) -> Any:
    layers: list[Any] = [Unit(3, 32, 3, 2)]
    channels = 32
    for times, after, count, stride in MOBILE[:rows]:
        for at in range(count):
            layers.append(Inverted(channels, after, 1 if at else stride, times))
            channels = after
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]
    return nn.Sequential(*layers)


# -- sequences -----------------------------------------------------------------------------------


class Block(nn.Module):
    """A block of a transformer, with PyTorch's own attention."""

    def __init__(self, width: int, heads: int, causal: bool, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )
        self.heads, self.causal = heads, causal

    def forward(self, x):
        b, t, f = x.shape
        qkv = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, f // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, f))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    """A vision transformer."""

    def __init__(self, size=224, patch=16, width=384, depth=12, heads=6, classes=1000):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        self.blocks = nn.Sequential(*(Block(width, heads, False, 0.1) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


class GPT(nn.Module):
    """A language model whose last layer is its embedding."""

    def __init__(self, words=50257, length=1024, width=768, depth=12, heads=12):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.drop = nn.Dropout(0.1)
        self.blocks = nn.ModuleList(Block(width, heads, True, 0.1) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, x):
        x = self.drop(self.words(x) + self.places(torch.arange(x.shape[1], device=x.device)))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Recurrent(nn.Module):
    """Words through a recurrent layer to a class; its peak lies in backward."""

    def __init__(self, kind=nn.LSTM, words=10000, width=256, hidden=512, layers=2, classes=20):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.rnn = kind(width, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.head(self.rnn(self.words(x))[0][:, -1])


def labelled(length: int, words: int, classes: int, batch: int) -> Any:
    return torch.randint(words, (batch, length)), torch.randint(classes, (batch,))


# -- others --------------------------------------------------------------------------------------


class Swish(torch.autograd.Function):
    """x times its sigmoid, which backward computes again."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return dy * (s + x * s * (1 - s))


class Swishing(nn.Module):
    def forward(self, x):
        return Swish.apply(x)


def swishes(width: int = 64, depth: int = 6, classes: int = 1000) -> Any:
    layers: list[Any] = []
    for at in range(depth):
        layers += [nn.Conv2d(width if at else 3, width, 3, 2 if at % 2 else 1, 1), Swishing()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


def autoencoder(width: int = 64) -> Any:
    return nn.Sequential(
        nn.Conv2d(3, width, 3, 2, 1), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, 2, 1), nn.ReLU(),
        nn.ConvTranspose2d(2 * width, width, 2, 2), nn.ReLU(), nn.ConvTranspose2d(width, 3, 2, 2),
    )  # fmt: skip


def pictures(size: int, batch: int) -> Any:
    x = torch.randn(batch, 3, size, size)
    return x, torch.randn(batch, 3, size, size)


SMALL: dict[str, Case] = {
    "alexnet": of_images(partial(alexnet, 8, 10, 64, 2), 63, 10),
    "vgg": of_images(partial(vgg16, 4, 10, 32, 2), 64, 10),
    "resnet": of_images(partial(resnet, (2, 1), 8, 10), 32, 10),
    "googlenet_bn": of_images(partial(googlenet_bn, 8, 2, 10), 64, 10),
    "unet": Case(partial(UNet, 4, 2, 5), partial(segments, 16, 5), F.cross_entropy),
    "mobilenet": of_images(partial(mobilenet, 2, 10), 32, 10),
    "vit": of_images(partial(ViT, 32, 8, 32, 2, 4, 10), 32, 10),
    "gru": Case(
        partial(Recurrent, nn.GRU, 50, 16, 24, 2, 5), partial(labelled, 12, 50, 5), F.cross_entropy
    ),
    "lstm": Case(
        partial(Recurrent, nn.LSTM, 50, 16, 32, 2, 5), partial(labelled, 31, 50, 5), F.cross_entropy
    ),
    "gpt": Case(partial(GPT, 60, 16, 32, 2, 4), partial(tokens, 16, 60), token_loss),
    "autocast": of_images(partial(resnet, (1, 1), 8, 10), 32, 10, "bf16"),
    "autocast vit": of_images(partial(ViT, 32, 8, 32, 2, 4, 10), 32, 10, "bf16"),
    "function": of_images(partial(swishes, 8, 3, 10), 16, 10),
    "mse_loss": Case(partial(autoencoder, 4), partial(pictures, 16), F.mse_loss),
    "checkpoint": of_images(partial(resnet, (2, 1), 8, 10, False), 32, 10),
}
"""A second or less each."""

USUAL: dict[str, Case] = {
    "alexnet": of_images(alexnet, 224, 1000),
    "vgg16": of_images(vgg16, 224, 1000),
    "resnet50": of_images(resnet, 224, 1000),
    "googlenet_bn": of_images(googlenet_bn, 224, 1000),
    "unet": Case(UNet, partial(segments, 128, 21), F.cross_entropy),
    "mobilenet": of_images(mobilenet, 224, 1000),
    "vit": of_images(ViT, 224, 1000),
    "gru": Case(partial(Recurrent, nn.GRU), partial(labelled, 64, 10000, 20), F.cross_entropy),
    "lstm": Case(Recurrent, partial(labelled, 128, 10000, 20), F.cross_entropy),
    "gpt": Case(partial(GPT, 20000, 256, 384, 6, 6), partial(tokens, 256, 20000), token_loss),
    "autocast": of_images(partial(resnet, (2, 2, 2, 2)), 224, 1000, "bf16"),
    "function": of_images(swishes, 64, 1000),
    "mse_loss": Case(autoencoder, partial(pictures, 128), F.mse_loss),
    "checkpoint": of_images(partial(resnet, kept=False), 224, 1000),
}
"""As people train them."""
