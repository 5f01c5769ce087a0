"""A run beside its plan: its figures are those of the run, and what differs is named."""

import json
import re
from dataclasses import replace
from functools import cache

import pytest

import memlab
from memlab import zoo
from memlab.errors import InputError
from memlab.studies.runs import study_run

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
    found = study_run(run, 10)
    assert [bar.nbytes for bar in found.bars] == [10, run.planned.peak(run.batch), run.peak]
    assert [bar.origin for bar in found.bars] == ["guess", "planned", "measured"]
    assert [op.planned.inside for op in found.operations] == run.planned.timeline(run.batch)
    assert [op.measured.inside for op in found.operations] == run.inside
    assert [op.residual for op in found.operations] == run.residuals
    assert found.residual == run.residual == 0


@pytest.mark.parametrize("name", STEPS)
def test_text_and_dict_have_the_same_figures(name):
    found = study_run(ran(name), "4 MB")
    facts, text = json.loads(json.dumps(found.as_dict())), found.text()
    in_text = {int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", text)}
    assert {peak["bytes"] for peak in facts["peaks"]} <= in_text
    assert len(facts["operations"]) == len(found.operations)
    if len(found.operations) <= 30:
        for operation in facts["operations"]:
            assert operation["name"] in text
            assert operation["planned_bytes"]["inside"] in in_text
            assert operation["measured_bytes"]["inside"] in in_text


def test_a_late_free_is_named_although_nothing_changes_inside():
    run = ran("linear1")
    after = list(run.after)
    after[-1] += 4
    found = study_run(replace(run, after=after))
    line = "7 update of h, after: planned 12 B, measured here 16 B, residual +4 B"
    assert found.differences() == [line]
    assert f"Operations with a residual\n  {line}\n" in found.text()


def test_many_residuals_are_counted():
    run = ran("resnet18")
    found = study_run(replace(run, inside=[n - 8 for n in run.inside]))
    assert found.differences()[-1] == "and 146 others"
    assert len(found.differences()) == 6
    assert found.differences()[0].endswith("residual −8 B")


@pytest.mark.parametrize(
    ("guess", "says"),
    [
        (76, "The guess is right to the byte."),
        (152, "The guess is exactly 2 times the plan."),
        (38, "The plan is exactly 2 times the guess."),
        (19, "The plan is exactly 4 times the guess."),
        (77, "The guess is 1.013 times the plan."),
        (0, "The guess and the plan have no ratio: one of them is 0 B."),
        (None, ""),
    ],
)
def test_the_guess_is_compared_with_the_plan(guess, says):
    assert study_run(ran("linear1"), guess).verdict == says


def test_seconds_are_written_only_where_they_are_asked_for():
    found = study_run(replace(ran("linear1"), seconds=98.765))
    assert "98.765" not in found.text()
    assert "It took 98.765 s." in found.text(seconds=True)


@pytest.mark.parametrize("guess", [-1, 1.5, "much"])
def test_a_bad_guess_is_refused(guess):
    with pytest.raises(InputError):
        study_run(ran("linear1"), guess)


def test_only_a_run_is_studied():
    with pytest.raises(InputError, match="a run is shown"):
        study_run(memlab.plan(ran("linear1").step))  # type: ignore[arg-type]
