"""GPT-2, BERT and DistilBERT as PyTorch's modules, with the operators of Hugging Face's.

Each computes what the module of ``transformers`` 4.57 computes when it is trained without a mask of
padding: the same operators in the same order, so a recorded step has the same bytes. That package
is not needed. Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it

DROPOUT = 0.1


class TextOutput(NamedTuple):
    """Output of a model: ``loss`` of a language model, ``hidden`` of an encoder, and what lives as
    long as the output does."""

    loss: Any = None
    hidden: Any = None
    kept: Any = ()


def _heads(x: Any, heads: int) -> Any:
    """Return ``(B, T, F)`` as ``(B, heads, T, F/heads)``."""
    return x.view(*x.shape[:-1], heads, x.shape[-1] // heads).transpose(1, 2)


def _attend(query: Any, key: Any, value: Any, causal: bool, training: bool) -> Any:
    """Return the outputs of all heads, side by side again."""
    out = F.scaled_dot_product_attention(
        query, key, value, dropout_p=DROPOUT if training else 0.0, is_causal=causal
    )
    return out.transpose(1, 2).contiguous().flatten(2)


def _attend_written_out(query: Any, key: Any, value: Any, mask: Any, training: bool) -> Any:
    """Return the same by the formula of attention, an operator at a time."""
    scores = torch.matmul(query, key.transpose(-1, -2))
    scores = scores / math.sqrt(query.shape[-1])
    scores = scores + mask
    shares = F.softmax(scores, dim=-1)
    shares = F.dropout(shares, DROPOUT, training)
    return torch.matmul(shares, value).transpose(1, 2).contiguous().flatten(2)


# -- GPT-2 -------------------------------------------------------------------------------------


class TransposedLinear(nn.Module):
    """Linear layer whose weight has a row for each input, by ``addmm``."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Any) -> Any:
        """Multiply by the weight and add the bias."""
        size = (*x.shape[:-1], self.weight.shape[1])
        return torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.weight).view(size)


class WrittenOutGelu(nn.Module):
    """GELU by its formula with tanh, an operator at a time."""

    def forward(self, x: Any) -> Any:
        """Return GELU of x."""
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + torch.tanh(inner))


class Gpt2Attention(nn.Module):
    """Causal attention of GPT-2, with its mask as a buffer that no fused kernel reads."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        mask = torch.tril(torch.ones((length, length), dtype=torch.bool))
        self.register_buffer("bias", mask.view(1, 1, length, length), persistent=False)
        self.register_buffer("masked_bias", torch.tensor(-1e4), persistent=False)
        self.c_attn = TransposedLinear(width, 3 * width)
        self.c_proj = TransposedLinear(width, width)
        self.resid_dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Any, cache: list[Any]) -> Any:
        """Return the outputs for x; the copies of key and value go into the cache."""
        query, key, value = self.c_attn(x).split(x.shape[-1], dim=2)
        key, value = _heads(key, self.heads), _heads(value, self.heads)
        query = _heads(query, self.heads)
        empty = torch.tensor([], dtype=key.dtype, device=key.device)
        key, value = torch.cat([empty, key], -2), torch.cat([empty, value], -2)
        cache += [key, value]
        out = _attend(query, key, value, causal=True, training=self.training)
        return self.resid_dropout(self.c_proj(out))


class Gpt2Block(nn.Module):
    """Block of GPT-2: attention, then a layer four times as wide, each after a norm."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Gpt2Attention(width, heads, length)
        self.mlp = nn.Sequential(
            TransposedLinear(width, 4 * width), WrittenOutGelu(),
            TransposedLinear(4 * width, width), nn.Dropout(DROPOUT),
        )  # fmt: skip

    def forward(self, x: Any, cache: list[Any]) -> Any:
        """Return the outputs for x; key and value go into the cache."""
        out = self.attn(self.ln_1(x), cache)
        middle = out + x
        return middle + self.mlp(self.ln_2(middle))


class Gpt2(nn.Module):
    """GPT-2 with its language model's head, whose weight is the embedding's."""

    def __init__(
        self, words: int = 50257, length: int = 1024, width: int = 768, depth: int = 12,
        heads: int = 12,
    ) -> None:  # fmt: skip
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(length, width)
        self.drop = nn.Dropout(DROPOUT)
        self.h = nn.ModuleList(Gpt2Block(width, heads, length) for _ in range(depth))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, words, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids: Any) -> TextOutput:
        """Return the loss of every next token, with the logits and the cache of keys and values."""
        positions = torch.arange(0, ids.shape[1], device=ids.device)
        x = self.drop(self.wte(ids) + self.wpe(positions.unsqueeze(0)))
        cache: list[Any] = []
        for block in self.h:
            x = block(x, cache)
        x = self.ln_f(x)
        logits = self.lm_head(x)
        return TextOutput(_next_token_loss(logits, ids), kept=(logits, cache))


def _next_token_loss(logits: Any, ids: Any) -> Any:
    """Return the cross entropy of each token's logits with the token that follows it."""
    logits = logits.float()
    following = F.pad(ids, (0, 1), value=-100)[..., 1:].contiguous()
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), following.view(-1))


# -- BERT --------------------------------------------------------------------------------------


class BertBlock(nn.Module):
    """Block of BERT and of DistilBERT: attention and a layer four times as wide, a norm after
    each."""

    def __init__(self, width: int, heads: int, inner_dropout: bool) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.attention_dropout = nn.Dropout(DROPOUT) if inner_dropout else nn.Identity()
        self.attention_norm = nn.LayerNorm(width, eps=1e-12)
        self.lin1, self.lin2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(DROPOUT)
        self.norm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Return the outputs for x; with a mask, attention is written out."""
        attended = self.attention_norm(self.attention(x, mask) + x)
        inner = self.dropout(self.lin2(F.gelu(self.lin1(attended))))
        return self.norm(inner + attended)

    def attention(self, x: Any, mask: Any) -> Any:
        """Return the outputs of attention for x."""
        query = _heads(self.query(x), self.heads)
        key = _heads(self.key(x), self.heads)
        value = _heads(self.value(x), self.heads)
        if mask is None:
            out = _attend(query, key, value, causal=False, training=self.training)
        else:
            out = _attend_written_out(query, key, value, mask, self.training)
        return self.attention_dropout(self.out(out))


class BertEmbeddings(nn.Module):
    """Sum of the embeddings of words, of positions and, in BERT, of token types."""

    def __init__(self, words: int, length: int, width: int, types: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=0)
        self.positions = nn.Embedding(length, width)
        self.types = nn.Embedding(types, width) if types else None
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(DROPOUT)
        numbers = torch.arange(length).expand((1, -1))
        self.register_buffer("position_ids", numbers, persistent=False)
        if types:
            kinds = torch.zeros(numbers.shape, dtype=torch.long)
            self.register_buffer("token_type_ids", kinds, persistent=False)

    def forward(self, ids: Any) -> Any:
        """Return the embedded tokens."""
        batch, length = ids.shape
        x = self.words(ids)
        positions = self.position_ids[:, :length]
        if self.types is None:
            x = x + self.positions(positions)
        else:
            x = x + self.types(self.token_type_ids[:, :length].expand(batch, length))
            x += self.positions(positions)
        return self.dropout(self.norm(x))


class Bert(nn.Module):
    """BERT with its pooler, or DistilBERT: no token types, no pooler, no dropout after
    attention."""

    def __init__(
        self, words: int = 30522, length: int = 512, width: int = 768, depth: int = 12,
        heads: int = 12, distilled: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embeddings = BertEmbeddings(words, length, width, 0 if distilled else 2)
        self.blocks = nn.ModuleList(BertBlock(width, heads, not distilled) for _ in range(depth))
        self.pooler = None if distilled else nn.Linear(width, width)

    def forward(self, ids: Any) -> TextOutput:
        """Return the hidden states of the last block, with the pooled first token."""
        x = self.embeddings(ids)
        mask = torch.ones(ids.shape, device=ids.device)  # all ones, so attention gets none
        if self.pooler is None:
            del mask
        for block in self.blocks:
            x = block(x)
        return TextOutput(hidden=x, kept=self.pooled(x))

    def pooled(self, x: Any) -> Any:
        """Return the first token of the hidden states after a layer of its own; None without it."""
        return None if self.pooler is None else torch.tanh(self.pooler(x[:, 0]))


def distilbert() -> Bert:
    """Return DistilBERT in its published size."""
    return Bert(depth=6, distilled=True)


class BertLargeClassifier(nn.Module):
    """BERT-large with a head for two classes, and attention written out an operator at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.bert = Bert(width=1024, depth=24, heads=16)
        self.dropout, self.classifier = nn.Dropout(DROPOUT), nn.Linear(1024, 2)

    def forward(self, ids: Any) -> Any:
        """Return the scores of both classes."""
        mask = torch.ones(ids.shape, device=ids.device)[:, None, None, :]
        mask = (1.0 - mask) * torch.finfo(mask.dtype).min
        x = self.bert.embeddings(ids)
        for block in self.bert.blocks:
            x = block(x, mask)
        return self.classifier(self.dropout(self.bert.pooled(x)))


def language_loss(out: TextOutput, target: Any) -> Any:
    """Return the loss that a language model has computed itself."""
    return out.loss


def square_loss(out: TextOutput, target: Any) -> Any:
    """Return the mean square of an encoder's output, for a step without labels."""
    return out.hidden.float().pow(2).mean()
