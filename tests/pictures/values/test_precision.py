"""A format for each role: the figures are those of steps made by hand, and the title follows."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import memlab
from memlab.pictures.precision_values import (
    EIGHT,
    MAPS,
    NONE,
    STARTS,
    STATE,
    Precision,
    precision_of,
    recipe,
    states_of,
)
from memlab.pictures.values.recipe import Recipe, network_of


@cache
def study(
    name: str = "resnet50", optimizer: str = "adam", batch: int = 32, start: str = "mixed fp16",
    chosen: tuple[tuple[str, str], ...] = (),
) -> Precision:  # fmt: skip
    return precision_of(network_of(name), optimizer, batch, start, dict(chosen))


def by_hand(name: str, optimizer: str) -> dict[str, Any]:
    step = memlab.training_step(network_of(name), optimizer)
    return {"fp32": step, "mixed fp16": memlab.precision(step, "mixed fp16"),
            "bf16": memlab.precision(step, "bf16")}  # fmt: skip


# -- figures ---------------------------------------------------------------------------------------


def test_the_figures_that_the_lesson_shows() -> None:
    totals = [tuple(round(each / 1e6, 1) for each in way.totals) for way in study().ways]
    assert totals == [(408.9, 2729.8), (408.9, 1348.9), (204.5, 1348.9)]
    assert [way.per_parameter for way in study().ways] == [16, 16, 8]
    cells = [[each.nbytes for each in way.arrays] for way in study().ways]
    assert cells == [[4, 4, 4, 4], [2, 2, 4, 4, 4], [2, 2, 2, 2]]
    assert [each.copy for each in study().ways[1].arrays] == [False, False, True, False, False]
    yours = study(chosen=(("optimizer_state", EIGHT),)).now
    assert yours.per_parameter == 10 + 2 * Fraction(4, 2048)
    assert [each.nbytes for each in yours.arrays] == [2, 2, 4, 1, 1]


CASES = [("resnet18", "adam", 8), ("vgg11", "sgd", 1), ("mnist_cnn", "momentum", 64),
         ("gpt2", "adam", 2)]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_amount_is_that_of_a_plan_by_hand(case: tuple[str, str, int]) -> None:
    name, optimizer, batch = case
    found = study(name, optimizer, batch)
    for way, step in zip(found.ways, by_hand(name, optimizer).values(), strict=True):
        ledger = memlab.plan(step)
        peak = ledger.peak_at(batch)
        alive = ledger.roles(batch, peak.index)
        assert (way.peak, way.operation) == (peak.nbytes, peak.row.name)
        assert way.maps == {role: alive.get(role, 0) for role in MAPS}
        learned = [entry for entry in ledger.entries if entry.role in STATE]
        assert way.totals[0] == sum(entry.size.at(batch) for entry in learned)
        assert sum((*way.maps.values(), *way.others.values())) <= way.peak


def test_a_parameter_times_their_number_is_the_model_state() -> None:
    for name, optimizer in (("resnet50", "adam"), ("vgg16", "momentum"), ("mnist_cnn", "sgd")):
        found = study(name, optimizer)
        for way in found.ways:
            scale = 13 if way.name == "mixed fp16" else 0  # the loss scale and its counts
            assert way.totals[0] == way.per_parameter * found.parameters + scale
            states = [each for each in way.arrays if each.role is STATE[2] and not each.copy]
            assert len(states) == states_of(optimizer)


CHOSEN: dict[str, tuple[str, dict[str, str], Any]] = {
    "maps in fp8": ("mixed fp16", {"feature_map": "fp8_e5m2"}, lambda step: memlab.precision(
        step, "mixed fp16", feature_map="fp8_e5m2")),
    "states in 8 bits": ("mixed fp16", {"optimizer_state": EIGHT}, lambda step:
                         memlab.eight_bit_states(memlab.precision(step, "mixed fp16"))),
    "one role of fp32": ("fp32", {"gradient_map": "bf16"}, lambda step: memlab.precision(
        step, gradient_map="bf16")),
    "bf16 with a copy": ("bf16", {"master": "fp32"}, lambda step: memlab.precision(
        step, "mixed bf16", optimizer_state="bf16", buffer="bf16")),
    "no copy": ("mixed fp16", {"master": NONE}, lambda step: memlab.precision(
        step, "fp16", buffer="fp32", optimizer_state="fp32")),
    "bf16": ("bf16", {}, lambda step: memlab.precision(step, "bf16")),
}  # fmt: skip


@pytest.mark.parametrize(("start", "chosen", "made"), CHOSEN.values(), ids=CHOSEN)
def test_a_choice_is_the_step_that_the_techniques_make(start: str, chosen: Any, made: Any) -> None:
    network = network_of("mnist_cnn")
    found = recipe(network, "adam", start, chosen).step()
    expected = made(memlab.training_step(network, "adam"))
    assert memlab.plan(found).entries == memlab.plan(expected).entries


def test_another_batch_builds_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    before = study("mnist_cnn", "adam", 4, chosen=(("feature_map", "bf16"),))
    monkeypatch.setattr(Recipe, "step", lambda self: pytest.fail("a step was built"))
    after = precision_of(network_of("mnist_cnn"), "adam", 8, "mixed fp16", {"feature_map": "bf16"})
    assert after.now.totals[0] == before.now.totals[0]
    assert after.now.totals[1] > before.now.totals[1]


# -- what is said ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ({}, "In mixed fp16 maps halve, the model state does not"),
        ({"start": "bf16"}, "In bf16 maps halve, and so does the model state"),
        ({"start": "fp32"}, "In fp32 a parameter takes 16 B"),
        ({"name": "vgg16", "batch": 8}, "In mixed fp16 maps fall to 31 %, the model state stays"),
        ({"name": "alexnet", "batch": 2},
         "In mixed fp16 maps fall to 66 %, the model state stays"),
        ({"chosen": (("optimizer_state", EIGHT),)},
         "With states in 8 bits a parameter takes 10 B, not 16 B"),
        ({"chosen": (("feature_map", "fp8_e5m2"),)},
         "With feature maps in fp8_e5m2 maps are a quarter of fp32's, the model state stays"),
        ({"start": "fp32", "chosen": (("feature_map", "fp16"),)},
         "With feature maps in fp16 maps halve, the model state stays"),
        ({"start": "bf16", "chosen": (("master", "fp32"),)},
         "With a copy in fp32 a parameter takes 12 B, not 8 B"),
        ({"chosen": (("optimizer_state", EIGHT), ("feature_map", "bf16"),
                     ("gradient_map", "fp32"))},
         "With 3 changes a parameter takes 10 B, not 16 B, maps are half of fp32's"),
    ],
)  # fmt: skip
def test_the_title_follows_from_the_figures(given: dict[str, Any], title: str) -> None:
    assert study(**given).title == title


def test_the_sentence_says_what_is_gone_and_what_stays() -> None:
    fewer = study(chosen=(("optimizer_state", EIGHT),))
    assert fewer.sentences == [
        "Dashed: what mixed fp16 had, and is gone. The maps are as they were."
    ]
    more = study(start="bf16", chosen=(("master", "fp32"),))
    assert more.sentences[0].startswith("It takes more than bf16")
    assert study(name="vgg16", batch=8).sentences[0] == (
        "The peak of mixed fp16 is in backward of conv1_2, that of fp32 in backward of conv4_3: "
        "other maps are alive there."
    )


def test_what_is_chosen_as_the_start_has_it_is_no_change() -> None:
    found = study(chosen=(("feature_map", "fp16"), ("master", "fp32")))
    assert found.changed == ()
    assert len(found.ways) == len(STARTS)


def test_a_dict_has_every_figure() -> None:
    found = study(chosen=(("optimizer_state", EIGHT),))
    told = json.loads(json.dumps(found.as_dict(), default=str))
    assert [way["peak"] for way in told["ways"]] == [way.peak for way in found.ways]
    assert told["ways"][-1]["state"]["optimizer_state"] == found.now.state[STATE[2]]


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("optimizer", "start", "chosen", "says"),
    [
        ("adam", "fp32", {"master": "fp32"}, "got parameters in fp32; try no copy, or"),
        ("adam", "mixed fp16", {"parameter": "fp32"}, "got parameters in fp32; try no copy, or"),
        ("sgd", "fp32", {"optimizer_state": EIGHT}, "has no state in fp32"),
    ],
)
def test_what_goes_together_with_nothing_is_refused_in_one_sentence(
    optimizer: str, start: str, chosen: dict[str, str], says: str
) -> None:
    with pytest.raises(memlab.InputError, match=says) as error:
        precision_of(network_of("mnist_cnn"), optimizer, 4, start, chosen)
    assert "\n" not in str(error.value)
