"""Sizes of language models: counted by formula, as published and as the zoo builds them."""

import pytest

import memlab
from memlab.errors import InputError
from memlab.networks.language_models import MODELS, LanguageModel, find, shared_heads
from memlab.step.tensor import Role
from tests.rows import every_row

PUBLISHED = {
    "gpt_small": 5_066_752,
    "gpt2": 124_439_808,
    "gpt2_medium": 354_823_168,
    "gpt2_large": 774_030_080,
    "gpt2_xl": 1_557_611_200,
    "llama2_7b": 6_738_415_616,
    "llama3_1b": 1_235_814_400,
    "llama3_8b": 8_030_261_248,
    "llama3_70b": 70_553_706_496,
}
"""Parameters as the published weights have them; of ``gpt_small``, as the zoo."""
PLANNED = [name for name, model in MODELS.items() if model.planned]


@every_row("name", MODELS)
def test_the_formula_counts_the_published_parameters(name: str) -> None:
    assert find(name).parameters == PUBLISHED[name]
    assert find(name).source


@every_row("name", PLANNED)
def test_the_zoo_builds_the_same_model(name: str) -> None:
    model = find(name)
    built = model.network(model.positions)
    assert built.parameters == model.parameters
    fused = model.network(64, "fused")
    assert "fused_attention" in {node.kind for node in fused.nodes}
    assert "attention_softmax" in {node.kind for node in model.network(64).nodes}
    lost = (model.positions - 64) * model.features
    assert fused.parameters == model.parameters - lost


def test_the_cache_has_what_a_plan_keeps_of_keys_and_values() -> None:
    """A feature map of queries, keys and values side by side is 3 / 2 of its keys and values."""
    model = find("gpt2")
    step = memlab.training_step(model.network(64, "fused"))
    maps = [
        entry.size.at(5)
        for entry in memlab.plan(step).entries
        if entry.name.endswith(".qkv") and entry.role is Role.FEATURE_MAP
    ]
    assert len(maps) == model.layers
    assert 2 * sum(maps) == 3 * model.cache(texts=5, tokens=64)


@pytest.mark.parametrize(
    ("kv_heads", "texts", "tokens"),
    [(12, 1, 6752), (12, 4, 1688), (12, 16, 422), (4, 1, 18_716), (4, 4, 4679), (4, 16, 1170)],
)
def test_the_cache_passes_the_parameters_at_the_first_length_that_does(
    kv_heads: int, texts: int, tokens: int
) -> None:
    model = find("gpt2").grouped(kv_heads)
    assert model.passes(texts) == tokens
    assert model.cache(texts, tokens) >= model.parameter_bytes() > model.cache(texts, tokens - 1)
    assert model.passes(texts, "fp16") == tokens  # both in one format


def test_grouped_heads_have_fewer_parameters_and_bytes() -> None:
    model = find("gpt2")
    grouped = model.grouped(4)
    assert (grouped.group, model.group) == (3, 1)
    assert (grouped.cache_per_token(), model.cache_per_token()) == (24_576, 73_728)
    assert grouped.parameter_bytes() == 459_961_344
    assert model.grouped(12) == model
    assert shared_heads(model) == [12, 6, 4, 3, 2, 1]


@pytest.mark.parametrize("format", ["fp32", "bf16", "fp8_e4m3fn"])
def test_a_value_more_of_a_text_is_too_much(format: str) -> None:
    model, memory = find("llama3_8b"), 24 * 10**9
    count = model.largest_batch(memory, 4096, format)
    used = model.parameter_bytes(format) + model.cache(max(count, 1), 4096, format)
    assert (used <= memory) is (count > 0)
    if count:
        assert used + model.cache(1, 4096, format) > memory
    assert model.largest_batch("24 GB", 4096, format) == count


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda m: find("gpt3"), "unknown language model 'gpt3'; did you mean 'gpt2'"),
        (lambda m: m.grouped(5), "5 heads of keys and values do not divide 12 .* try 4"),
        (lambda m: m.grouped(24), "kv_heads"),
        (lambda m: m.grouped(4).network(8), "no network with grouped heads, as GPT-2 small needs"),
        (
            lambda m: find("llama3_8b").network(8),
            "layers of Llama, as Llama 3 8B needs; try one of",
        ),
        (lambda m: m.cache_per_token("fp3"), "unknown format 'fp3'"),
        (lambda m: m.cache(0, 8), "texts"),
        (lambda m: m.cache(1, 2.5), "tokens must be a whole number, got 2.5"),
        (lambda m: m.largest_batch("24", 8), "has no unit"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(wrong: object, said: str) -> None:
    assert callable(wrong)
    with pytest.raises(InputError, match=said):
        wrong(find("gpt2"))


def test_a_model_is_a_value() -> None:
    assert isinstance(MODELS["gpt2"], LanguageModel)
    assert list(MODELS) == list(PUBLISHED)
    assert memlab.language_models.find("gpt2") is MODELS["gpt2"]
