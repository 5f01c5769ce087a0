"""What holds much of a peak is named in one sentence, for public reports of memory that ran out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracles.requirement import torch_or_skip

torch: Any = torch_or_skip()

from memlab.frontends.torch.causes import cause_of_peak
from memlab.pictures.explain.explained import Explained
from memlab.pictures.explain.own_loop import OwnLoop
from tests.frontends.loops.reports import REPORTS

CAUSES = {
    "torchinfo_144": "Linear runs 100 times before backward, and each run keeps its maps: 25.7 MB",
    "pytorch_97712": "updates all parameters at once, and 8.40 MB are its temporaries",
    "pytorch_40005": "More than one backward pass reads 12.6 MB of maps: retain_graph=True",
    "pytorch_78731": "The checkpoints save almost nothing",
    "pytorch_2672": "2 % of the parameters are frozen; the gradients and states of the others take",
    "semseg_60": "model runs in evaluation mode with gradients on",
    "easylm_36": "Gradients from before this forward pass take 6.30 MB",
}
"""Part of the sentence on each report."""
MENDED = [name for name in CAUSES if name != "easylm_36"]
"""Reports whose remedy removes the cause; that of the last one makes the rest smaller."""


def sentence(name: str, mended: bool) -> str:
    step, batch = REPORTS[name](mended)
    loop = OwnLoop(step, batch, None, progress=False)
    return Explained(loop, loop.samples, 10**12).peak_sentence


@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_of_a_report_is_named(name):
    assert CAUSES[name] in sentence(name, False)


@pytest.mark.parametrize("name", MENDED)
def test_the_cause_is_gone_with_the_remedy(name):
    assert CAUSES[name].partition(",")[0] not in sentence(name, True)


def test_frozen_layers_below_trainable_ones_keep_maps():
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(8)))
    model[1:].requires_grad_(False)
    optimizer = torch.optim.SGD(model[:1].parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        x = model[0](x)
        for layer in model[1:]:
            x = layer(x).sigmoid()
        x.sum().backward()
        optimizer.step()

    loop = OwnLoop(step, torch.randn(512, 64), None, progress=False)
    cause = cause_of_peak(loop.watched.recording, loop.step, 512)
    assert cause is not None
    assert cause.key == "frozen_maps"
    assert cause.names == {"percent": 88}
