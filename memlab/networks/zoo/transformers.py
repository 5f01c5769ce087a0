"""Transformers: a language model and a classifier of images, and what their layers keep."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from memlab.errors import InputError, known, real_number, whole_number
from memlab.layers.attention import (
    AttentionScores,
    AttentionSoftmax,
    AttentionValues,
    FusedAttention,
)
from memlab.networks.builder import Handle, network
from memlab.networks.graph import Network
from memlab.networks.zoo.shared_parts import repeats, size_of, start

Attention = Literal["matrix", "fused"]
ATTENTIONS = ("matrix", "fused")


def gpt2(
    steps: int = 1024,
    layers: int = 12,
    features: int = 768,
    heads: int = 12,
    vocabulary: int = 50257,
    attention: Attention = "matrix",
    dropout: float = 0.1,
) -> Network:
    """Return GPT-2 small: 124,439,808 parameters (Radford et al. 2019; H).

    Its output layer shares the table of the embedding. ``attention="fused"`` computes attention
    without its matrices, and without the dropout of its probabilities; ``dropout=0`` leaves out
    every dropout.

    Raises:
        InputError: a size below 1, heads that do not divide the features, unknown attention.
    """
    return _language_model(
        "gpt2", "GPT-2 small", steps, layers, features, heads, vocabulary, attention, dropout
    )


def gpt_small(
    steps: int = 256,
    layers: int = 6,
    features: int = 256,
    heads: int = 8,
    vocabulary: int = 1024,
    attention: Attention = "matrix",
    dropout: float = 0.1,
) -> Network:
    """Return a GPT that a laptop can train in a lesson: GPT-2 with 6 layers of 256 features and 8
    heads, 256 tokens and a vocabulary of 1,024; 5,066,752 parameters. It is not published.

    Per layer attention's matrices keep more than all else, as in GPT-2 (F4: 5 a s / h = 40 beside
    34; 80 in GPT-2). ``attention`` and ``dropout`` are those of ``gpt2``.

    Raises:
        InputError: a size below 1, heads that do not divide the features, unknown attention.
    """
    layers, features = repeats("layers", layers), size_of("features", features, usual=256)
    title = f"Small GPT ({layers} layers of {features})"
    return _language_model(
        "gpt_small", title, steps, layers, features, heads, vocabulary, attention, dropout
    )


def _language_model(
    name: str,
    title: str,
    steps: int,
    layers: int,
    features: int,
    heads: int,
    vocabulary: int,
    attention: Attention,
    dropout: float,
) -> Network:
    """Return a language model with the layers of GPT-2, of any size."""
    dropout = real_number("dropout: p", dropout, usual=0.1, least=0, below=1)
    x = network(name, title=title, tokens=steps, vocabulary=vocabulary)
    with x.stage("embedding"):
        table = x.embedding(features, name="embedding")
        x = _drop(table.positions("positions"), "drop", dropout)
    for i in range(1, repeats("layers", layers) + 1):
        with x.stage(f"layer {i}"):
            y = x.layer_norm(name=f"{i}.norm1")
            y = _attend(y, f"{i}", features, heads, attention, causal=True, dropout=dropout)
            x = x.add(_drop(y, f"{i}.project.drop", dropout), name=f"{i}.add1")
            y = x.layer_norm(name=f"{i}.norm2").linear(4 * features, name=f"{i}.fc1")
            y = y.gelu("tanh", name=f"{i}.gelu").linear(features, name=f"{i}.fc2")
            x = x.add(_drop(y, f"{i}.fc2.drop", dropout), name=f"{i}.add2")
    with x.stage("head"):
        x = x.layer_norm(name="norm")
        return x.linear(vocabulary, bias=False, name="scores", share=table).cross_entropy()


def vit_s(
    image: int = 224,
    classes: int = 1000,
    layers: int = 12,
    features: int = 384,
    heads: int = 6,
    patch: int = 16,
    attention: Attention = "matrix",
) -> Network:
    """Return ViT-S/16: 22,050,664 parameters (Dosovitskiy et al. 2021, in the size of Touvron et
    al. 2021; H). It has no dropout.

    Raises:
        InputError: a size below 1, an image smaller than a patch, heads that do not divide the
            features, unknown attention.
    """
    patch = size_of("patch", patch, usual=16)
    x = start("vit_s", f"ViT-S/{patch}", image, classes)
    with x.stage("patches"):
        x = x.conv(features, patch, patch, name="patch").patches("patches")
        x = x.class_token("class").positions("positions")
    for i in range(1, repeats("layers", layers) + 1):
        with x.stage(f"layer {i}"):
            y = x.layer_norm(1e-6, name=f"{i}.norm1")
            y = _attend(y, f"{i}", features, heads, attention, causal=False, dropout=0)
            x = x.add(y, name=f"{i}.add1")
            y = x.layer_norm(1e-6, name=f"{i}.norm2").linear(4 * features, name=f"{i}.fc1")
            y = y.gelu(name=f"{i}.gelu").linear(features, name=f"{i}.fc2")
            x = x.add(y, name=f"{i}.add2")
    with x.stage("head"):
        x = x.first_token("first").layer_norm(1e-6, name="norm")
        return x.linear(classes, name="fc").cross_entropy()


def _attend(
    x: Handle, name: str, features: int, heads: int, attention: str, causal: bool, dropout: float
) -> Handle:
    """Return the output of multi-head attention: one linear layer for queries, keys and values,
    attention, and a linear layer that mixes the heads."""
    known("attention", attention, ATTENTIONS)
    if features % whole_number("heads", heads):
        raise InputError(f"{heads} heads do not divide {features} features; try a divisor.")
    qkv = x.linear(3 * features, name=f"{name}.qkv")
    if attention == "fused":
        y = qkv.then(FusedAttention(heads, causal), name=f"{name}.attention")
    else:
        p = qkv.then(AttentionScores(heads), name=f"{name}.scores")
        p = p.then(AttentionSoftmax(causal), name=f"{name}.softmax")
        p = _drop(p, f"{name}.softmax.drop", dropout)
        y = p.then(AttentionValues(heads), qkv, name=f"{name}.values")
    return y.linear(features, name=f"{name}.project")


def _drop(x: Handle, name: str, p: float) -> Handle:
    return x.dropout(p, name=name) if p else x


# -- what a layer keeps, as published -----------------------------------------------------------

MODELS: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {"GPT-3": (2048, 12288, 96), "MT-NLG": (2048, 20480, 128)}
)
"""Sequence length s, hidden size h and heads a, by name (F4)."""


def attention_term(s: int, h: int, a: int) -> float:
    """Return ``5 a s / h``, which the attention matrices add to the 34 bytes of a layer (F4)."""
    return 5 * a * s / h


def selective_saving(s: int, h: int, a: int) -> float:
    """Return the share of a layer's bytes that is saved by recomputing attention (F4)."""
    term = attention_term(s, h, a)
    return term / (34 + term)


def fused_ratio(s: int, d: int) -> float:
    """Ratio of the values that attention keeps in parts to those that it keeps in one layer, per
    head of size d: queries, keys, values, output and s x s probabilities, over the first four
    and one value for each row (F5)."""
    return (4 * d + s) / (4 * d + 1)
