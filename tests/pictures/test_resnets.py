"""One ResNet-50 everywhere: v1.5, as torchvision has it, where no variant is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import memlab
from memlab import views, zoo
from memlab.cli import main
from memlab.lesson.card_question import topics
from memlab.lesson.material import case_rows as case
from memlab.networks.graph import Network

VIEWS: dict[str, Callable[[str], Any]] = {
    "memory": lambda name: views.memory(name, free=False),
    "precision": views.precision,
    "vectors": views.vectors,
    "shifted_copies": lambda name: views.shifted_copies(name, "conv1", free=False),
    "warp_memory": lambda name: views.warp_memory(name, "conv1"),
    "addresses": lambda name: views.addresses(name, 16),
    "recompute": views.recompute,
    "techniques": lambda name: views.techniques(name, 8),
    "path": views.path,
    "offload": views.offload,
    "idle": views.idle,
    "explain": views.explain,
    "remedies": lambda name: views.remedies(name, 256),
    "reuse": views.reuse,
}
PEAK = 2_942_651_620
"""Of one training step of v1.5 with momentum and 32 images, in bytes."""


def label(view: Any) -> str:
    """The network that a view plans, with its variant."""
    chosen = [getattr(each, "network", None) for each in (view, view.state)] + [
        getattr(view.state, "what", None)
    ]
    shown: Any = next(each for each in chosen if isinstance(each, Network) or hasattr(each, "step"))
    return str(shown.label if isinstance(shown, Network) else shown.step.label)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_plans_the_variant_that_is_named_or_torchvisions(name: str) -> None:
    for given, planned in (("resnet50", "ResNet-50 v1.5"), ("resnet50-v1", "ResNet-50 v1")):
        assert label(VIEWS[name](given)) == planned


@pytest.mark.parametrize("name", sorted(VIEWS.keys() - {"techniques"}))
def test_the_code_of_a_view_of_v1_makes_it_again(name: str) -> None:
    again = eval(VIEWS[name]("resnet50-v1").code(), {"memlab": memlab})
    assert label(again) == "ResNet-50 v1"


def test_one_question_has_one_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "resnet50", "--batch", "32", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["variant"], facts["parameters"]) == ("v1.5", 25_557_032)
    found = {
        "the command": facts["peak_bytes"],
        "02, 05, 08": views.memory("resnet50", batch=32, free=False).rows.peak.nbytes,
        "08": views.recompute("resnet50", batch=32).rows.all.plain.peak,
        "the case": memlab.plan(case.plain()).peak(32),
        "the zoo": memlab.plan(memlab.training_step(zoo.resnet50())).peak(32),
    }
    assert set(found.values()) == {PEAK}
    assert memlab.plan(memlab.training_step(zoo.build("resnet50-v1"))).peak(32) < PEAK


def test_no_card_asks_about_v1() -> None:
    named = {name: str(topic.first.get("network")) for name, topic in topics().items()}
    assert [name for name, network in named.items() if "-" in network] == []
