"""GPT-2 and ViT: published counts, and what a layer keeps against the published formulas."""

from __future__ import annotations

from math import isclose
from typing import Any

import pytest

import memlab
from memlab import InputError
from memlab import layers as L  # noqa: N812 - as in memlab
from memlab.networks.zoo import transformers as T  # noqa: N812 - one letter for their formulas
from memlab.networks.zoo.transformers import gpt2, vit_s
from memlab.step.tensor import Role
from tests.rows import every_row

HALF = 2
"""Bytes of a value in half precision."""


def activation_bytes(s: int, b: int, h: int, a: int) -> int:
    """What one layer keeps with masks of 1 byte (Korthikanti et al. 2022, arXiv 2205.05198; F4)."""
    return 34 * s * b * h + 5 * a * b * s * s


def test_gpt2_has_its_published_sizes() -> None:
    net = gpt2()
    assert net.parameters == 124_439_808
    assert net.by_name["scores"].shape == (1024, 50257)
    assert net.by_name["12.softmax"].shape == (12, 1024, 1024)
    assert net.by_name["12.softmax"].layer == L.AttentionSoftmax(causal=True)
    assert net.by_name["1.gelu"].layer == L.GELU("tanh")
    assert net.by_name["1.fc2.drop"].layer == L.Dropout(0.1)
    assert net.by_name["scores"].shares == "embedding"


def test_vit_has_its_published_sizes() -> None:
    net = vit_s()
    assert net.parameters == 22_050_664
    assert net.by_name["positions"].shape == (197, 384)
    assert net.by_name["12.softmax"].layer == L.AttentionSoftmax(causal=False)
    assert net.by_name["1.gelu"].layer == L.GELU("exact")
    assert net.by_name["norm"].shape == (384,)


@pytest.mark.parametrize("make", [gpt2, vit_s])
def test_both_kinds_of_attention_have_the_same_parameters(make: Any) -> None:
    assert make(attention="fused").parameters == make().parameters


# -- one layer of GPT-2 in half precision (F4) ---------------------------------------------------

S, H, A, B = 32, 48, 4, 3


def kept(attention: str = "matrix", dropout: float = 0.1) -> dict[str, int]:
    """Bytes by output of what the second of three layers keeps until backward begins."""
    net = gpt2(S, 3, H, A, 64, attention, dropout)  # type: ignore[arg-type]  # one of the two
    ledger = memlab.plan(memlab.training_step(net, format="fp16"))
    loss = next(i for i, row in enumerate(ledger.rows) if row.name == "loss")
    return {
        entry.name: entry.size.at(B)
        for entry in ledger.entries
        if entry.role is Role.FEATURE_MAP and entry.stage == "layer 2"
        and entry.birth < loss < entry.death
    }  # fmt: skip


STATISTICS = {f"2.norm{i}.{name}" for i in (1, 2) for name in ("mean", "inverse_deviation")}


def test_what_a_layer_keeps_output_by_output() -> None:
    found, map_, matrix = kept(), HALF * S * B * H, HALF * A * S * S * B
    assert found == {
        "2.norm1": map_,  # the input of queries, keys and values
        "2.qkv": 3 * map_,
        "2.softmax": matrix,
        "2.softmax.drop": matrix,
        "2.values": map_,  # the input of the projection
        "2.add1": map_,  # the input of the second norm
        "2.norm2": map_,  # the input of the MLP
        "2.fc1": 4 * map_,  # the input of GELU
        "2.gelu": 4 * map_,
        "2.add2": map_,  # the input of the next layer's norm
        **dict.fromkeys(STATISTICS, HALF * S * B),
    }


def test_the_published_bytes_are_ours_with_masks_and_without_statistics() -> None:
    """memlab's dropout keeps no mask: it draws again. Published are 1 B for each value of the two
    dropouts of (s, b, h) and of that of (a, s, s, b); left out are the statistics of the norms."""
    masks = 2 * S * B * H + A * S * S * B
    statistics = 4 * HALF * S * B
    assert activation_bytes(S, B, H, A) == sum(kept().values()) + masks - statistics
    assert sum(kept().values()) == S * B * H * 32 + 4 * A * S * S * B + 8 * S * B


def test_without_dropout_one_matrix_is_left() -> None:
    assert sum(kept(dropout=0).values()) == sum(kept().values()) - HALF * A * S * S * B


def test_fused_attention_keeps_one_value_for_each_row_in_place_of_the_matrices() -> None:
    """F5: the output of attention, which its projection keeps anyway, and the log-sum-exp."""
    matrix, fused = kept(dropout=0), kept("fused", dropout=0)
    assert fused["2.attention.log_sum_exp"] == HALF * A * S * B
    assert sum(fused.values()) == sum(matrix.values()) - HALF * A * S * S * B + HALF * A * S * B
    parts = [matrix[name] for name in ("2.qkv", "2.softmax", "2.values")]
    whole = [fused[f"2.{name}"] for name in ("qkv", "attention", "attention.log_sum_exp")]
    assert isclose(sum(parts) / sum(whole), T.fused_ratio(S, H // A))


def test_published_figures_of_a_layer() -> None:
    """F4: GPT-3 and MT-NLG."""
    s, h, a = T.MODELS["GPT-3"]
    assert activation_bytes(s, 1, h, a) == 2_868_903_936
    for name, term, saving in (("GPT-3", 80, 0.70), ("MT-NLG", 64, 0.65)):
        assert T.attention_term(*T.MODELS[name]) == term
        assert round(T.selective_saving(*T.MODELS[name]), 2) == saving


def test_the_gain_of_fused_attention_doubles_with_the_sequence() -> None:
    """F5 claims 10 times at 2K and 20 times at 4K; what is kept with heads of 64 gives 9 and 17."""
    two, four = T.fused_ratio(2048, 64), T.fused_ratio(4096, 64)
    assert (round(two), round(four)) == (9, 17)
    assert T.fused_ratio(8192, 64) - four == pytest.approx(2 * (four - two))


# -- bad input -----------------------------------------------------------------------------------


def tokens() -> Any:
    return memlab.network("t", tokens=4, vocabulary=9)


BAD: list[tuple[Any, str]] = [
    (lambda: gpt2(heads=5), "5 heads do not divide 768 features; try a divisor"),
    (lambda: gpt2(attention="flash"), "unknown attention 'flash'.*Known: matrix, fused"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: gpt2(steps=0), "input size must be at least 1, got 0"),
    (lambda: gpt2(layers=0), "layers must be at least 1, got 0"),
    (lambda: gpt2(dropout=1.5), "p must be at least 0 and below 1, got 1.5"),
    (lambda: vit_s(image=8), "reaches over 16 does not fit"),
    (lambda: vit_s(heads=7), "7 heads do not divide 384"),
    (lambda: memlab.zoo.build("gpt2", image=32), "gpt2 has no image; leave it out"),
    (lambda: memlab.zoo.build("vit_s", variant="v1"), "vit_s has no variants; leave variant out"),
    (lambda: memlab.network("t", tokens=4), "tokens and vocabulary belong together"),
    (lambda: memlab.network("t", features=4, vocabulary=3), "tokens and vocabulary belong"),
    (lambda: memlab.network("t", tokens=4, vocabulary=0), "vocabulary must be at least 1, got 0"),
    (lambda: tokens().linear(3), r"linear cannot read tokens.*try embedding\(768\) before it"),
    (lambda: tokens().embedding(3).add(tokens()), "both inputs must come from one network"),
    (lambda: memlab.network("t", features=4).embedding(3), "embedding reads tokens, got 4 values"),
    (lambda: tokens().embedding(0), "embedding: features must be at least 1, got 0"),
    (lambda: memlab.network("t", features=4).positions(), r"needs a sequence \(T, F\), got 4"),
    (lambda: memlab.network("t", image=(3, 4, 4)).layer_norm(), "needs a sequence .* got 3x4x4"),
    (lambda: tokens().embedding(3).patches(), "needs a map"),
    (lambda: L.GELU("sigmoid"), "unknown form of GELU 'sigmoid'"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: L.AttentionScores(2).output((4, 9)), r"2 heads needs \(T, 3F\) .* got 4x9"),
    (lambda: L.AttentionSoftmax().output((2, 3, 4)), r"needs scores \(heads, T, T\), got 2x3x4"),
    (lambda: L.AttentionValues(2).output((2, 4, 4)), "need two inputs"),
    (lambda: L.AttentionValues(2).output((3, 4, 4), (4, 6)), "probabilities 2x4x4, got 3x4x4"),
    (lambda: L.SoftmaxCrossEntropy().output((4, 1, 1)), "needs a vector, got 4x1x1"),
]


@every_row(("make", "words"), BAD)
def test_bad_input_gets_one_sentence(make: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        make()
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
