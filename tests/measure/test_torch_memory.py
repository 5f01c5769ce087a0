"""What PyTorch holds at its peak, role by role: as it was recorded, and of a small step here."""

from __future__ import annotations

from dataclasses import replace

import pytest

import memlab
from benchmarks import BENCHMARKS
from benchmarks import torch_memory as benchmark
from memlab import InputError, units, zoo
from memlab.measure import recorded_figures, torch_memory
from memlab.measure.timing import BenchmarkLine
from memlab.step.tensor import Role
from tests.oracles.requirement import torch_or_skip

RESNET = zoo.build(benchmark.NETWORK)


@pytest.fixture(scope="module")
def step():
    return memlab.in_place(memlab.training_step(RESNET))


def test_the_recorded_figures_say_where_and_how_they_were_measured():
    found = recorded_figures.load(torch_memory.FILE)
    assert found.command == torch_memory.COMMAND
    assert found.command.removeprefix("python -m benchmarks ") in BENCHMARKS
    assert found.result.machine.versions["torch"]
    assert {Role(line.name) for line in found.result.lines} == set(Role)
    assert {line.unit for line in found.result.lines} == {"B"}


def test_it_is_no_figure_of_a_gpu():
    latest = recorded_figures.latest()
    assert latest is None or latest.command != torch_memory.COMMAND


def test_both_sides_hold_the_same_before_the_step(step):
    found = torch_memory.beside(step)
    for role in (Role.PARAMETER, Role.OPTIMIZER_STATE):
        assert found.planned[role] == found.recorded[role] == 4 * RESNET.parameters


def test_placed_in_one_arena_our_step_stays_below_what_was_recorded(step):
    batch, theirs = torch_memory.BATCH, sum(torch_memory.beside(step).recorded.values())
    placed = memlab.plan(step).before(batch)[0] + memlab.place(step, batch).arena
    assert memlab.plan(step).peak(batch) <= placed < theirs


def test_the_text_has_a_line_per_role_the_sums_and_where(step):
    found = torch_memory.beside(step)
    _, *rows, sums, where = str(found).split("\n")
    assert len(rows) == len(Role)
    for row, role in zip(rows, Role, strict=True):
        assert units.in_unit(found.planned[role], "MiB", 1) in row
        assert units.in_unit(found.recorded[role], "MiB", 1) in row
    assert units.in_unit(memlab.plan(step).peak(torch_memory.BATCH), "MiB", 1) in sums
    assert "-0.0" not in str(found)
    assert where.startswith("recorded: ")
    assert found.where in where


def test_other_figures_can_be_held_beside_a_plan(step):
    kept = recorded_figures.load(torch_memory.FILE)
    lines = tuple(replace(line, value=2 * line.value) for line in kept.result.lines)
    doubled = replace(kept, result=replace(kept.result, lines=lines))
    once, twice = torch_memory.beside(step), torch_memory.beside(step, doubled)
    assert twice.recorded == {role: 2 * nbytes for role, nbytes in once.recorded.items()}
    assert twice.planned == once.planned


def test_without_a_file_there_is_one_sentence(tmp_path, monkeypatch, step):
    monkeypatch.setattr(torch_memory, "FILE", tmp_path / "gone.json")
    with pytest.raises(InputError, match="cannot read"):
        torch_memory.beside(step)


def test_without_pytorch_there_is_one_line(monkeypatch):
    monkeypatch.setattr(benchmark, "allow_torch", lambda: False)
    assert benchmark.run().lines == (
        BenchmarkLine("PyTorch is not installed: no comparison", 0, ""),
    )


# -- with PyTorch -------------------------------------------------------------------------------


def small():
    x = memlab.network("small", image=(3, 16, 16)).conv(8, 3, pad="same", bias=False)
    x = x.batch_norm().relu().conv(8, 3, pad="same", bias=False).batch_norm().relu()
    return x.max_pool("all").flatten().linear(10).cross_entropy()


def test_a_small_step_holds_what_its_arrays_take():
    torch_or_skip()
    from benchmarks.torch_storages import at_peak

    network, batch = small(), 4
    found = at_peak(network, batch, threads=1)
    plan = memlab.plan(memlab.in_place(memlab.training_step(network)))
    assert found[Role.PARAMETER] == found[Role.OPTIMIZER_STATE] == 4 * network.parameters
    assert found[Role.BUFFER] == plan.roles(batch)[Role.BUFFER]
    assert found[Role.WORKSPACE] >= 0
    one_map = 4 * batch * 8 * 16 * 16
    kept = 4 * one_map  # the inputs of both batch norms, the outputs of both ReLUs
    assert kept <= found[Role.FEATURE_MAP] < kept + one_map
    assert found[Role.GRADIENT_MAP] >= one_map


def test_a_larger_batch_holds_more_maps_and_the_same_parameters():
    torch_or_skip()
    from benchmarks.torch_storages import at_peak

    one, two = (at_peak(small(), batch, threads=1) for batch in (4, 8))
    assert one[Role.PARAMETER] == two[Role.PARAMETER]
    assert 1.9 < two[Role.FEATURE_MAP] / one[Role.FEATURE_MAP] < 2.1
