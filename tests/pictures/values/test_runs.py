"""A run beside its plan: its figures are those of the run, and what differs is named."""

import json
import re
from dataclasses import replace
from functools import cache

import pytest

import memlab
from memlab import zoo
from memlab.errors import InputError
from memlab.pictures.planned_and_run import study_run

pytestmark = pytest.mark.measures

STEPS = {
    "linear1": (lambda: memlab.training_step(zoo.linear1(), "sgd"), 4),
    "mnist_cnn": (lambda: memlab.training_step(zoo.mnist_cnn()), 5),
    "mnist_cnn, inference": (lambda: memlab.inference_step(zoo.mnist_cnn()), 3),
    "resnet18": (lambda: memlab.training_step(zoo.build("resnet18", image=64)), 2),
}


@cache
def ran(name):
    make, batch = STEPS[name]
    return memlab.run(make(), batch)


@pytest.mark.parametrize("name", STEPS)
def test_the_figures_are_those_of_the_run(name):
    run = ran(name)
    found = study_run(run)
    assert [bar.nbytes for bar in found.bars] == [run.planned.peak(run.batch), run.peak]
    assert [bar.origin for bar in found.bars] == ["planned", "measured"]
    assert [op.planned.inside for op in found.operations] == run.planned.timeline(run.batch)
    assert [op.measured.inside for op in found.operations] == run.inside
    assert [op.residual for op in found.operations] == run.residuals
    assert found.residual == run.residual == 0


@pytest.mark.parametrize("name", STEPS)
def test_the_table_has_the_most_of_every_operation_or_phase(name):
    run = ran(name)
    _, *lines = study_run(run).table()
    if len(run.inside) <= 30:
        assert [line[2] for line in lines] == [f"{nbytes:,}" for nbytes in run.inside]
        names = [row.name for row in run.planned.rows]
        assert all(line[0].endswith(name) for line, name in zip(lines, names, strict=True))
    else:
        ends = [int(re.findall(r"\d+", line[0])[-1]) for line in lines]
        most = [max(run.inside[a:b]) for a, b in zip([0, *ends], ends, strict=False)]
        assert [line[2] for line in lines] == [f"{nbytes:,}" for nbytes in most]
    assert {line[3] for line in lines} == {"0"}


def test_text_and_dict_say_what_was_found():
    found = study_run(ran("linear1"))
    assert found.text().splitlines() == [
        "Single linear layer, fp32, SGD, training, batch 4.",
        "Residual 0 B over 7 operations: before, inside, after.",
    ]
    facts = json.loads(json.dumps(found.as_dict()))
    assert [bar[:2] for bar in facts["bars"]] == [["planned", 76], ["measured", 76]]


def test_a_late_free_is_named_although_nothing_changes_inside():
    run = ran("linear1")
    after = list(run.after)
    after[-1] += 4
    found = study_run(replace(run, after=after))
    line = "7 update of h, after: planned 12 B, measured here 16 B, residual +4 B"
    assert found.differences() == [line]


def test_many_residuals_are_counted():
    run = ran("resnet18")
    found = study_run(replace(run, inside=[n - 8 for n in run.inside]))
    assert found.differences()[-1] == "and 146 others"
    assert len(found.differences()) == 6
    assert found.differences()[0].endswith("residual −8 B")


def test_only_a_run_is_studied():
    with pytest.raises(InputError, match="a run is shown"):
        study_run(memlab.plan(ran("linear1").step))  # type: ignore[arg-type]  # wrong on purpose
