"""An exercise of an instructor's own: its check, its slips, hints and progress, and what is
refused."""

import json
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import InputError, lesson, views
from memlab.lesson.exercise_task import tasks
from tests.rows import every_row
from tests.strange import STRANGE, said


def map_bytes(batch, side):
    """Return the bytes of a batch of fp32 maps
    of side x side values.

    Not part of the task.
    """
    return 4 * batch * side**2


def one_side(batch, side):
    return 4 * batch * side


def one_map(batch, side):
    return 4 * side**2


def cases(chance):
    return {"batch": chance.randint(1, 9), "side": chance.randint(1, 9)}


SLIPS = {one_side: "Does a **map** have one side?", one_map: "Is that for one map?"}
HINTS = ["How many values?", "How many bytes has a value?"]


def make(**more):
    given = {"name": "map_bytes", "truth": map_bytes, "arguments": cases, "slips": SLIPS}
    return lesson.task(**{**given, **more})


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """No exercise was set before."""
    monkeypatch.setattr(import_module("memlab.lesson.exercise"), "_EXERCISES", {})


# -- the check ------------------------------------------------------------------------------------


def test_a_right_function_passes_on_fresh_cases():
    report = make().check(lambda batch, side: side * side * batch * 4)
    assert report.passed
    assert report.text() == "Agrees on 60 fresh cases."


@pytest.mark.parametrize(
    ("function", "diagnosis"),
    [
        (lambda batch, side: batch * side * 4, "Does a map have one side?"),
        (lambda batch, side: side * side * 4, "Is that for one map?"),
    ],
)
def test_each_slip_has_its_own_diagnosis(function, diagnosis):
    report = make().check(function)
    assert not report.passed
    assert report.text().splitlines()[-1] == diagnosis


def test_another_wrong_function_has_no_diagnosis():
    report = make().check(lambda batch, side: 4 * batch * side**2 + 1)
    assert not report.passed
    assert not report.slip
    assert not any(text.strip("*") in report.text() for text in SLIPS.values())


def test_a_stub_waits():
    report = make().check(lambda batch, side: None)
    assert not report.attempted


def test_a_slip_that_fails_in_some_cases_is_known_by_the_others():
    def quotient(batch, side):
        return batch // (side - 1)

    def zero(batch, side):
        return batch // max(side - 1, 1)

    exercise = make(
        truth=zero, name="zero", text="Divide.", slips={quotient: "What if side is 1?"},
        arguments=lambda chance: {"batch": 9, "side": chance.randint(1, 4)},
    )  # fmt: skip
    report = exercise.check(quotient)
    assert "ZeroDivisionError" in report.text()
    assert exercise.check(zero).passed


def test_the_truth_may_plan_a_step_and_the_learners_function_may_not():
    def planned(inputs, outputs):
        net = memlab.network("a", features=inputs).linear(outputs).cross_entropy()
        return memlab.plan(memlab.training_step(net, "sgd")).peak(1)

    exercise = lesson.task(
        "peak", "Return the peak.", truth=planned,
        arguments=lambda chance: {"inputs": chance.randint(1, 9), "outputs": chance.randint(2, 9)},
    )  # fmt: skip
    report = exercise.check(planned)
    assert not report.passed
    assert "calls memlab" in report.text()


def test_the_smallest_case_that_fails_is_shown_where_cases_have_a_size():
    def sized(chance, size):
        return {"batch": size, "side": 3}

    exercise = make(arguments=sized, slips={one_side: "One side?"})
    report = exercise.check(lambda batch, side: 9 * 4 * batch + (batch > 4))
    assert "The smallest of them is batch 5, side 3." in report.text()


def test_lists_and_arrays_are_compared():
    exercise = make(truth=lambda batch, side: [batch, side], slips={}, text="Return both.")
    assert exercise.check(lambda batch, side: np.array([batch, side])).passed
    assert not exercise.check(lambda batch, side: [side, batch]).passed


def test_the_function_of_another_exercise_is_checked_as_that_one():
    make(name="one_map", truth=one_map, text="Return the bytes of one map.", slips={})
    exercise = make()
    assert exercise.check(one_map).passed
    assert exercise.check(map_bytes).passed


# -- the task, its hints and its progress ---------------------------------------------------------


def test_the_task_is_the_first_paragraph_of_the_docstring():
    assert make().text() == (
        "Exercise map_bytes. Return the bytes of a batch of fp32 maps of side x side values.\n"
        "Write the function map_bytes(batch, side).\n"
        "To check it: exercise.check(map_bytes)."
    )
    assert "Exercise map_bytes. Say it.\n" in make(text="Say it.").text()


def test_hints_come_one_by_one_and_the_last_one_repeats():
    exercise = make(hints=HINTS)
    assert exercise.text().endswith("For a hint: exercise.hint().")
    assert str(exercise.hint()) == "Hint 1 of 2: How many values?"
    assert str(exercise.hint()) == "Hint 2 of 2: How many bytes has a value?"
    assert str(exercise.hint()) == "Hint 2 of 2: How many bytes has a value?"
    assert str(exercise.solution()) == "This exercise shows no solution."
    assert str(make(name="other").hint()) == "This exercise has no hints."


def test_a_cell_that_runs_again_keeps_the_hints():
    make(hints=HINTS).hint()
    again = make(hints=HINTS)
    assert again.degree == 1
    assert str(again.hint()) == "Hint 2 of 2: How many bytes has a value?"


def test_the_widget_has_a_button_for_each_hint_and_none_for_a_solution():
    view = views.exercise_card(make(hints=HINTS))
    lead, task = view.heading()
    assert lead == "Exercise map_bytes."
    assert task.startswith("Return the bytes")
    assert [control.label for control in view.controls()] == ["Hint 1 of 2"]
    view.on_event("hint", None, False)
    assert [control.label for control in view.controls()] == ["Hint 2 of 2"]
    view.on_event("hint", None, False)
    assert view.controls() == []
    assert len(view.draw(stored=False).lines) == 2


def test_progress_is_kept_under_its_name(progress_file):
    exercise = make(hints=HINTS)
    exercise.check(one_side)
    exercise.check(map_bytes)
    exercise.hint()
    make(name="week2.map_bytes").check(map_bytes)
    entries = json.loads(progress_file.read_text(encoding="utf-8"))["exercises"]
    assert set(entries) == {"own.map_bytes", "week2.map_bytes"}
    entry = entries["own.map_bytes"]
    assert (entry["checks"], entry["hints"]) == (2, 1)
    assert entry["passed"]


def test_no_lesson_has_the_exercise():
    make()
    assert "own.map_bytes" not in tasks()


# -- bad input ------------------------------------------------------------------------------------


def nothing(batch, side):
    return None


def alike(batch, side):
    return side**2 * batch * 4


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "name": ({"name": "02.map_bytes"},
             "'02.map_bytes' is no name for an exercise; try 'waiting', or 'week2.waiting'."),
    "no task": ({"truth": one_side, "slips": {}}, "the exercise has no task; give a text, or write "
                "a docstring into one_side."),
    "text": ({"text": ""}, "text must be a text, got ''; write it in quotes."),
    "truth": ({"truth": 4}, "truth must be a function, got 4; try truth=my_function, with nothing "
              "in brackets behind it."),
    "parameters": ({"truth": lambda batch: 4}, "truth is called with batch, side, got "
                   "<lambda>(batch); change its parameters."),
    "no numbers": ({"truth": nothing, "text": "?"}, "truth must return a number or a list of "
                   "numbers, got None for batch 1, side 3."),
    "arguments": ({"arguments": {"batch": 4}}, "arguments must be a function, got {'batch': 4}; "
                  "try arguments=my_function, with nothing in brackets behind it."),
    "arguments of nothing": ({"arguments": lambda: None}, "arguments is called with a "
                             "random.Random, got <lambda>(); try arguments=lambda chance: "
                             "{'batch': chance.choice((4, 8))}."),
    "no names": ({"arguments": lambda chance: [4]}, "what arguments returns must be values by "
                 "name, got [4]; try {'batch': chance.randint(1, 64)}."),
    "slips": ({"slips": [one_side]}, "slips must be a dictionary, got [<function one_side at ...>; "
              "try {wrong_function: 'Is that for one image?'}."),
    "no slip": ({"slips": {"one side": "?"}}, "each slip must be a wrong function, got 'one side'; "
                "try {wrong_function: 'Is that for one image?'}."),
    "no diagnosis": ({"slips": {one_side: ""}}, "slips[one_side] must be a text, got ''; write it "
                     "in quotes."),
    "a slip of others": ({"slips": {lambda batch: 4: "?"}}, "slips[<lambda>] is called with batch, "
                         "side, got <lambda>(batch); change its parameters."),
    "a slip without numbers": ({"slips": {nothing: "?"}}, "the slip nothing returned no number for "
                               "any of 12 cases; write it as a learner would."),
    "a slip that is right": ({"slips": {alike: "?"}}, "map_bytes and alike give the same in all of "
                             "120 cases; draw wider arguments, or leave the slip out."),
    "two slips that are alike": ({"slips": {one_side: "?", lambda batch, side: 4 * side * batch:
                                            "?"}}, "one_side and <lambda> give the same in all of "
                                 "120 cases; draw wider arguments, or leave the slip out."),
    "hints": ({"hints": 4}, "hints must be a list, got 4; try ['How many values?']."),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_an_argument_that_is_none_is_refused_in_one_sentence(case):
    given, sentence = REFUSED[case]
    with pytest.raises(InputError) as refused:
        make(**given)
    begin, _, end = sentence.partition("...>")
    assert str(refused.value).startswith(begin)
    assert str(refused.value).endswith(end)


def test_cases_that_are_too_narrow_for_a_slip_are_refused():
    with pytest.raises(InputError, match="map_bytes and one_side give the same in all of 120"):
        make(arguments=lambda chance: {"batch": chance.randint(1, 9), "side": 1}, slips={
            one_side: "Does a map have one side?"})  # fmt: skip


@every_row("given", STRANGE)
def test_any_argument_is_taken_or_refused_in_a_sentence(given):
    for name in ("name", "text", "truth", "arguments", "slips", "hints"):
        if not (name in ("truth", "arguments") and callable(given)):  # which raises what it likes
            said(lambda: make(**{name: given}))  # noqa: B023
