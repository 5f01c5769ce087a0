"""Models of lesson 12 in PyTorch, each with its mini-batches and its optimizer: arguments of
``memlab.explain``.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from memlab.bench.accuracy import compare
from memlab.bench.accuracy.predictors import OWN
from memlab.bench.accuracy.table import Compared
from memlab.bench.accuracy.training import AccuracyCase
from memlab.pictures.explain.own_model import usual_loss

VOCABULARY, LENGTH = 32_000, 512


class TransformerBlock(nn.Module):
    """Transformer block: attention, then two linear layers, each with layer norm before it and a
    shortcut around it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Any) -> Any:
        y = self.ln1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class LanguageModel(nn.Module):
    """A small language model: from tokens to scores, one for each word that may come next."""

    def __init__(self, width: int = 512, heads: int = 8, depth: int = 4) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.h = nn.ModuleList(TransformerBlock(width, heads) for _ in range(depth))
        self.lm_head = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        for layer in self.h:
            x = layer(x)
        return self.lm_head(x)


class ImageClassifier(nn.Module):
    """Image classifier: stages of 3x3 convolutions, each stage followed by pooling, then linear
    layers."""

    def __init__(self, stages: tuple[tuple[int, int], ...], hidden: int = 4096) -> None:
        super().__init__()
        layers: list[Any] = []
        channels = 3
        for count, wide in stages:
            for _ in range(count):
                layers += [nn.Conv2d(channels, wide, 3, padding=1), nn.ReLU(inplace=True)]
                channels = wide
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(channels * 49, hidden), nn.ReLU(inplace=True), nn.Dropout(),
            nn.Linear(hidden, hidden), nn.ReLU(inplace=True), nn.Dropout(),
            nn.Linear(hidden, 1000),
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        return self.classifier(self.features(x).flatten(1))


class VGG11(ImageClassifier):
    """Eight convolutions (Simonyan and Zisserman 2015, arXiv 1409.1556)."""

    def __init__(self) -> None:
        super().__init__(((1, 64), (1, 128), (2, 256), (2, 512), (2, 512)))


class VGG16(ImageClassifier):
    """Thirteen convolutions (Simonyan and Zisserman 2015, arXiv 1409.1556)."""

    def __init__(self) -> None:
        super().__init__(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)))


class SmallImageClassifier(ImageClassifier):
    """Image classifier like VGG, small enough to be trained in a lesson."""

    def __init__(self) -> None:
        super().__init__(((1, 16), (1, 32), (1, 64), (1, 64), (1, 64)), hidden=256)


def sentences(batch: int) -> tuple[Any, Any]:
    """Return random tokens and, as targets, the tokens that come next, each (batch, 512)."""
    tokens = torch.randint(VOCABULARY, (batch, LENGTH + 1))
    return tokens[:, :-1], tokens[:, 1:]


def pictures(batch: int) -> tuple[Any, Any]:
    """Return random images of 3x224x224 and their classes."""
    return torch.randn(batch, 3, 224, 224), torch.randint(1000, (batch,))


MODELS: dict[str, dict[str, Any]] = {
    "words": {"build": LanguageModel, "make_batch": sentences, "optimizer": "adam",
              "options": {"keep_output": False}},
    "kept": {"build": LanguageModel, "make_batch": sentences, "optimizer": "adam",
             "options": {"keep_output": True}},
    "vgg11": {"build": VGG11, "make_batch": pictures, "optimizer": "sgd"},
    "small": {"build": SmallImageClassifier, "make_batch": pictures, "optimizer": "momentum"},
    "vgg16": {"build": VGG16, "make_batch": pictures, "optimizer": "adam"},
    "vgg16_single": {"build": VGG16, "make_batch": pictures,
                     "optimizer": partial(torch.optim.Adam, foreach=False)},
    "vgg16_fused": {"build": VGG16, "make_batch": pictures,
                    "optimizer": partial(torch.optim.Adam, fused=True)},
}  # fmt: skip
"""By the names that ``memlab.lesson.model`` knows; in ``kept`` a name holds what the model gives
until the step ends, as ``scores`` does in ``scores = model(tokens)``. Adam updates all parameters
together on a card, in ``vgg16_single`` one after another, in ``vgg16_fused`` in one kernel."""
ASKED = {"words": (32, "8 GB"), "vgg16": (4, "3.8 GB"), "vgg16_fused": (40, "8 GB")}
"""The batch and the card for which changes are recorded."""


def trained(name: str, batch: int) -> Compared:
    """Compare the memory of a model's second training step in PyTorch's allocator with its plan,
    which is recorded from small batches."""
    case = AccuracyCase(name, **{"loss_fn": usual_loss, **MODELS[name]}, batch=batch)
    return compare(case, OWN)
