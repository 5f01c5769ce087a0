"""Steps run in a page: every byte as planned from the first run on, and what they compute."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import numpy as np
import pytest

from tests.web import runs
from tests.web.conftest import WHOLE, with_kernels
from web.node import run_code

pytestmark = pytest.mark.measures

FEW = {
    "linear1": ["linear1/sgd//1", "linear1/adam//32"],
    "mnist_cnn": ["mnist_cnn/sgd/offload/2"],
    "resnet": ["resnet/sgd/fp64/2", "resnet/adam/recompute/2", "resnet/sgd/mixed bf16/2"],
    "gpt": ["gpt/adam//3", "gpt/sgd/fp64/2", "gpt/sgd/chunks/2"],
}
"""Runs of one session each, the first of which meets everything for the first time."""
CODE = "import sys, runpy; runpy.run_module('tests.web.runs', run_name='__main__')"


def sessions() -> list[list[str]]:
    """The runs of each session: of each network, or few in one session."""
    if not WHOLE:
        return [[*chain.from_iterable(FEW.values())]]
    return [[name for name in runs.names() if name.startswith(f"{each}/")] for each in FEW]


@pytest.mark.parametrize("names", sessions(), ids=lambda names: names[0].partition("/")[0])
def test_runs_are_as_planned_and_compute_the_same(names: list[str]) -> None:
    printed = run_code(CODE, arguments=names, environment=with_kernels(), seconds=900)
    found = json.loads(printed.splitlines()[-1])
    assert [name for name in names if found[name]["residual"]] == []
    for name, wanted in runs.all_of(names).items():
        assert found[name]["peaks"] == wanted["peaks"], name
        assert found[name]["inside"] == wanted["inside"], name
        _check_values(name, found[name], wanted)


def _check_values(name: str, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Compare loss and gradients, as exactly as another order of additions allows."""
    if any(technique in name for technique in runs.ROUNDED):
        return
    near = 1e-9 if runs.FP64 in name else 1e-3
    assert abs(found["loss"] - wanted["loss"]) <= near * abs(wanted["loss"]), name
    for key, values in wanted["gradients"].items():
        off = np.linalg.norm(np.subtract(found["gradients"][key], values))
        assert off <= near * np.linalg.norm(values) + 1e-12, f"{name} {key}"
