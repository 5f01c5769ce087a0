"""Transformers written again in plain PyTorch, from parameters under memlab's names.

GPT-2 has its norms before attention and MLP (Radford et al. 2019); so has ViT, whose head reads the
normalised class token (Dosovitskiy et al. 2021). Import this module only where torch is known to be
there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it

Parameters = Mapping[str, Tensor]
ALPHA = 3.0
"""The alpha of all adapters."""


def gpt2(p: Parameters, tokens: Tensor, layers: int, heads: int) -> Tensor:
    """The scores of every next token."""
    x = F.embedding(tokens, p["embedding.weight"]) + p["positions.weight"]
    for i in range(1, layers + 1):
        x = block(p, x, str(i), heads, causal=True, epsilon=1e-5, gelu="tanh")
    return norm(p, x, "norm", 1e-5) @ p["embedding.weight"].T


def vit(p: Parameters, images: Tensor, layers: int, heads: int) -> Tensor:
    """The scores of the classes."""
    size = p["patch.weight"].shape[2]
    x = F.conv2d(images, p["patch.weight"], p["patch.bias"], size).flatten(2).transpose(1, 2)
    x = torch.cat([p["class.token"].expand(len(x), 1, -1), x], 1) + p["positions.weight"]
    for i in range(1, layers + 1):
        x = block(p, x, str(i), heads, causal=False, epsilon=1e-6, gelu="none")
    return linear(p, norm(p, x, "norm", 1e-6)[:, 0], "fc")


def block(
    p: Parameters, x: Tensor, i: str, heads: int, causal: bool, epsilon: float, gelu: str
) -> Tensor:
    """One layer: attention and MLP, each added to what it read."""
    qkv = linear(p, norm(p, x, f"{i}.norm1", epsilon), f"{i}.qkv")
    q, k, v = (part.unflatten(2, (heads, -1)).transpose(1, 2) for part in qkv.chunk(3, 2))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(2)
    x = x + linear(p, y, f"{i}.project")
    y = F.gelu(linear(p, norm(p, x, f"{i}.norm2", epsilon), f"{i}.fc1"), approximate=gelu)
    return x + linear(p, y, f"{i}.fc2")


def linear(p: Parameters, x: Tensor, name: str) -> Tensor:
    y = F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])
    return adapted(p, x, y, name) if f"{name}.A.weight" in p else y


def adapted(p: Parameters, x: Tensor, y: Tensor, name: str) -> Tensor:
    """The output of a linear layer with the changes of its adapters: of the whole output, or of
    queries and values alone."""
    weight = p[f"{name}.B.weight"]
    small = F.linear(x, p[f"{name}.A.weight"]).split(weight.shape[1], -1)
    changes = [ALPHA / weight.shape[1] * F.linear(some, part)
               for some, part in zip(small, weight.chunk(len(small)), strict=True)]  # fmt: skip
    if len(changes) == 1:
        return y + changes[0]
    q, k, v = y.chunk(3, -1)
    return torch.cat([q + changes[0], k, v + changes[1]], -1)


def norm(p: Parameters, x: Tensor, name: str, epsilon: float) -> Tensor:
    learned = p[f"{name}.weight"], p[f"{name}.bias"]
    return F.layer_norm(x, x.shape[-1:], *learned, epsilon)


MODELS: Mapping[str, Any] = {"gpt2": gpt2, "vit_s": vit}
