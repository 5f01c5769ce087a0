"""Layers of a network that learn, and the layers of its adapters."""

from __future__ import annotations

from typing import Any

import pytest

import memlab
from memlab.errors import InputError
from memlab.layers.low_rank import LowRank
from memlab.networks.graph import Network
from tests.rows import every_row

GPT = memlab.zoo.gpt_small(layers=2)
BLOCK = ("norm1", "qkv", "project", "norm2", "fc1", "fc2")
"""Layers with parameters of one of its layers."""

FROZEN: dict[tuple[str, ...], set[str]] = {
    ("embedding",): {"embedding"},
    ("scores",): {"embedding"},
    ("1.*",): {f"1.{name}" for name in BLOCK},
    ("*.fc1", "*.fc2"): {"1.fc1", "1.fc2", "2.fc1", "2.fc2"},
    ("*.fc?",): {"1.fc1", "1.fc2", "2.fc1", "2.fc2"},
    ("norm", "positions"): {"norm", "positions"},
    ("*",): {"embedding", "positions", "norm", *(f"{i}.{name}" for i in (1, 2) for name in BLOCK)},
}


@every_row("names", FROZEN)
def test_names_and_patterns_say_what_is_frozen(names: tuple[str, ...]) -> None:
    assert memlab.freeze(GPT, *names).frozen == FROZEN[names]


def test_frozen_layers_stay_frozen() -> None:
    assert memlab.freeze(memlab.freeze(GPT, "1.*"), "norm").frozen == {*FROZEN["1.*",], "norm"}


def test_values_that_learn_are_counted_once() -> None:
    frozen = memlab.freeze(GPT, "embedding", "positions")
    assert frozen.parameters == GPT.parameters == GPT.learning
    assert frozen.learning == GPT.parameters - (1024 + 256) * 256
    assert "learn" not in repr(GPT)
    assert f"({frozen.learning:,} of them learn)" in repr(frozen)
    assert "frozen" in frozen.table()
    assert "frozen" not in GPT.table()


def test_the_adapters_of_gpt2_are_those_of_the_publication() -> None:
    """12 layers, q and v, A of 16 x 768 and B of 768 x 16."""
    adapted = memlab.lora(memlab.zoo.gpt2(), rank=16)
    assert adapted.learning == 12 * 2 * 2 * 16 * 768
    assert adapted.parameters == 124_439_808 + adapted.learning
    assert adapted.label == "GPT-2 small with LoRA of rank 16"


def test_an_adapter_is_two_layers_behind_its_own() -> None:
    net = memlab.lora(GPT, 4, 8, "*.v").by_name
    base, small, change = (net[f"1.qkv{half}"] for half in ("", ".A", ".B"))
    assert small.inputs == base.inputs
    assert change.inputs == ("1.qkv", "1.qkv.A")
    assert change.layer == LowRank(4, 8, (2,), 3)
    assert (small.shape, change.shape) == ((256, 4), base.shape)
    assert [a.dims for a in small.parameters] == [(("K", 4), ("F", 256))]
    assert [a.dims for a in change.parameters] == [(("K", 256), ("r", 4))]
    assert net["1.scores"].inputs == ("1.qkv.B",)
    assert net["1.values"].inputs[1] == "1.qkv.B"
    assert change.stage == small.stage == base.stage


def test_parts_share_one_product() -> None:
    net = memlab.lora(GPT, 4, 8, ["*.k", "*.q"]).by_name
    assert net["1.qkv.A"].shape == (256, 8)
    assert net["1.qkv.B"].layer == LowRank(4, 8, (0, 1), 3)


def test_a_layer_that_is_named_whole_has_one_adapter() -> None:
    net = memlab.lora(GPT, 4, 8, ["*.qkv", "*.q", "1.fc1"]).by_name
    assert net["1.qkv.B"].layer == LowRank(4, 8)
    assert net["2.qkv.B"].layer == LowRank(4, 8)
    assert "2.fc1.B" not in net


def test_a_layer_that_shares_its_parameters_has_an_adapter_of_its_own() -> None:
    net = memlab.lora(GPT, 2, layers="scores")
    assert net.learning == 2 * (256 + 1024)
    assert net.loss.inputs == ("scores.B",)


def test_images_have_adapters_too() -> None:
    net = memlab.lora(memlab.zoo.vgg11(), 8, layers=["fc*"])
    assert [name for name in net.by_name if name.endswith(".B")] == ["fc6.B", "fc7.B", "fc8.B"]


NO_NETWORK: Any = "gpt2"
NO_TEXT: Any = 3
NO_NUMBER: Any = "x"
REFUSED: dict[str, tuple[Any, str]] = {
    "no network": (
        lambda: memlab.freeze(NO_NETWORK, "norm"),
        "freeze takes a network, got 'gpt2'; try memlab.zoo.gpt_small().",
    ),
    "nothing": (lambda: memlab.freeze(GPT), "name at least one layer with parameters of"),
    "another": (lambda: memlab.freeze(GPT, "conv1"), "has the name 'conv1'; try one of"),
    "no parameters": (lambda: memlab.freeze(GPT, "1.gelu"), "has the name '1.gelu'; try one of"),
    "no text": (lambda: memlab.freeze(GPT, NO_TEXT), "has the name 3; try one of"),
    "no layer": (lambda: memlab.lora(GPT, layers=[]), "name at least one linear layer of"),
    "no linear layer": (lambda: memlab.lora(GPT, layers="*.norm1"), "the name '*.norm1'; try"),
    "none of the parts": (lambda: memlab.lora(memlab.zoo.vgg11()), "the name '*.q'; try one of"),
    "no linear layer at all": (
        lambda: memlab.lora(memlab.network("c", image=(1, 3, 3)).conv(2, 1).squared_error()),
        "there is no linear layer of 'c'; take another network.",
    ),
    "no rank": (lambda: memlab.lora(GPT, 0), "rank must be at least 1, got 0; try 1."),
    "no alpha": (lambda: memlab.lora(GPT, 4, NO_NUMBER), "alpha must be a number, got 'x'; try 8."),
    "twice": (
        lambda: memlab.lora(memlab.lora(GPT)),
        "'gpt_small' has adapters already; name all layers in one call of memlab.lora.",
    ),
    "an unknown frozen layer": (
        lambda: Network(GPT.name, GPT.title, GPT.input_shape, GPT.nodes, "", 1024,
                        frozenset({"scores"})),
        "'scores' has no parameters in 'gpt_small', so it cannot be frozen; name a layer that has.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_gets_one_sentence(name: str) -> None:
    made, sentence = REFUSED[name]
    with pytest.raises(InputError) as refused:
        made()
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


PARTS = {
    "twice": (lambda: LowRank(2, 4, (0, 0), 3), "parts are numbers, each once, got (0, 0)"),
    "none": (lambda: LowRank(2, 4, ()), "parts are numbers, each once, got ()"),
    "not there": (lambda: LowRank(2, 4, (3,), 3), "a part must be at most 2, got 3; try 2."),
    "one input": (lambda: LowRank(2, 4).output((6,)), "needs two inputs"),
    "another rank": (
        lambda: LowRank(2, 4).output((5, 6), (5, 3)),
        "needs outputs of a linear layer that 1 divides and 5x2 values of A, got 5x6 and 5x3; try "
        "linear(2) for A.",
    ),
    "three parts of seven": (lambda: LowRank(2, 4, (0,), 3).output((7,), (2,)), "that 3 divides"),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_change_that_does_not_fit_gets_one_sentence(name: str) -> None:
    made, sentence = PARTS[name]
    with pytest.raises(InputError) as refused:
        made()
    assert sentence in str(refused.value)
