"""The benchmark of planning; a test holds a safety limit, five times the aim, and no more."""

from __future__ import annotations

import pytest

from benchmarks import plan
from memlab.assemble.step import training_step

SAFETY = 5


def held(lines):
    """Five times the aim. A loaded machine is no regression; a wrong order of growth is."""
    return [line for line in lines if line.aim is not None and line.value > SAFETY * line.aim]


@pytest.mark.usefixtures("alone")
def test_resnet_is_planned_in_time():
    lines = plan.resnet(repeats=1)
    assert len(lines) == 2
    assert held(lines) == []


@pytest.mark.usefixtures("alone")
def test_a_chain_is_planned_in_time_that_grows_with_its_length():
    lines = plan.chains(repeats=1, layers=(plan.SHORT, plan.LONG))
    assert "100,002 operations" in lines[1].name
    assert lines[2].unit == "x"
    assert held(lines) == []


def test_a_chain_alternates_linear_and_tanh():
    network = plan.chain(6)
    assert [node.kind for node in network.nodes[:-1]] == ["linear", "tanh"] * 3
    assert {node.shape for node in network.nodes[:-1]} == {(64,)}
    assert len(training_step(network).ops) == plan.operations_of(6) == 6 + 1 + 1 + 6 + 3


def test_a_fresh_import_is_quick_and_loads_nothing_heavy(monkeypatch):
    monkeypatch.setattr(plan, "FRESH", plan.FRESH.replace("perf_counter", "process_time"))
    seconds, heavy = plan.fresh(repeats=1)
    assert held([seconds]) == []
    assert heavy.value == 0, heavy.name


def test_a_heavy_import_would_be_seen(monkeypatch):
    monkeypatch.setattr(plan, "FRESH", plan.FRESH.replace("import memlab", "import memlab, scipy"))
    _, heavy = plan.fresh(repeats=1)
    assert not heavy.reached
    assert "scipy" in heavy.name


def test_the_whole_benchmark_gives_one_line_per_figure():
    result = plan.run(repeats=1, layers=(40, 400))
    assert len(result.lines) == 7
    assert "1,002 operations" in str(result)
