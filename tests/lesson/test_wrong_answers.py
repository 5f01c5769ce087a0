"""The wrong-answer zoo: what learners write, and the question that each of them gets.

For every exercise of the lessons the solution passes and the stub is not counted as wrong; every
slip of an exercise has a function here that makes it.
"""

import re

import numpy as np
import pytest

from lessons import build
from memlab.lesson import Exercise, exercise
from memlab.lesson.exercise_task import tasks
from tests.lesson.known import MEASURED, known
from tests.lesson.wrong_answers import ZOO
from tests.quick import apart

TASKS = apart(sorted(tasks()), MEASURED.__contains__)
WRONG = apart(((n, slip) for n in ZOO for slip in ZOO[n]), lambda pair: pair[0] in MEASURED)
SEEDS = range(2)


def cells(lesson, tag):
    """The code cells with a tag in the source of a lesson, and in its appendices."""
    solved = tag == "solution"
    return [
        cell.source
        for source in build.sources(build.LESSONS)
        if lesson in (source.stem[:2], build.lesson_of(source))
        for cell in build.notebook(source, solved).cells
        if cell.cell_type == "code" and tag in cell.metadata.get("tags", [])
    ]


def function(name, tag):
    """The function of an exercise as the stub or the solution defines it."""
    lesson, _, wanted = name.partition(".")
    (code,) = (c for c in cells(lesson, tag) if re.search(rf"^def {wanted}\(", c, re.MULTILINE))
    space = {"np": np}
    exec(code, space)
    return space[wanted]


def wrong(name, answer):
    """A wrong way with the parameters of its exercise: a check looks at them."""
    names = ", ".join(tasks()[name].parameters)
    passed = ", ".join(f"{word}={word}" for word in tasks()[name].parameters)
    return eval(f"lambda {names}: answer({passed})", {"answer": answer})


def test_the_zoo_has_every_slip_of_every_exercise():
    assert {name: set(slips) for name, slips in ZOO.items()} == {
        name: set(task.slips) for name, task in tasks().items()
    }


@pytest.mark.table
@pytest.mark.parametrize("name", TASKS)
def test_the_solution_passes(name):
    solution = function(name, "solution")
    for seed in SEEDS:
        report = Exercise(known(name)).check(solution, seed=seed)
        assert report.passed, report


@pytest.mark.table
@pytest.mark.parametrize("name", TASKS)
def test_the_stub_is_not_yet(name):
    report = Exercise(known(name)).check(function(name, "stub"), seed=SEEDS[0])
    assert not report.passed
    assert not report.attempted
    assert report.text().startswith("Not yet:")


@pytest.mark.table
@pytest.mark.measures
@pytest.mark.parametrize(("name", "slip"), WRONG)
def test_a_wrong_answer_fails_with_its_question(name, slip):
    answer = wrong(name, ZOO[name][slip])
    for seed in SEEDS:
        report = Exercise(known(name)).check(answer, seed=seed)
        assert not report.passed
        assert report.slip == slip, report


@pytest.mark.measures
def test_temporaries_are_counted():
    def naive(x, t, w1, w2):
        y = np.tanh(w1 * x + w2)
        g = 2 * (y - t) * (1 - y**2)
        return (g * x).mean(), g.mean()

    report = exercise("01.my_step").check(naive)
    assert not report.passed
    assert report.ratio is not None
    assert 1.9 < report.ratio < 2.6
    assert "The peak of your function is 2." in report.text()


@pytest.mark.measures
def test_a_generator_that_leaks_is_caught():
    def leaks(images, batch):
        parts = (images[n : n + batch] for n in range(0, len(images), batch))
        return [x.mean() for x in [part.astype(np.float32) / 255 for part in parts]]

    report = exercise("10.means").check(leaks)
    assert not report.passed
    assert report.ratio is not None
    assert report.ratio > 1.2


@pytest.mark.measures
@pytest.mark.parametrize("argument", ["x", "t"])
def test_an_array_of_the_caller_is_no_place_to_write(argument):
    def spoils(x, t, w1, w2):
        y = np.tanh(w1 * x + w2)
        g = np.multiply(2 * (y - t), 1 - y**2)
        gradients = (g * x).mean(), g.mean()
        {"x": x, "t": t}[argument][:] = 0
        return gradients

    report = exercise("01.my_step").check(spoils)
    assert not report.passed
    assert f"my_step overwrites {argument}" in report.text()


@pytest.mark.table
@pytest.mark.parametrize("name", TASKS)
def test_the_last_hint_leaves_blanks(name):
    given = Exercise(tasks()[name])
    hints = [given.hint().text() for _ in range(3)]
    assert ["__" in hint for hint in hints] == [False, False, True]


def test_the_worked_lists_of_07_give_what_is_said():
    (source,) = build.sources(build.LESSONS, ["07"])
    text = source.read_text(encoding="utf-8")
    ((call, freed),) = re.findall(r"`freed\((sizes=.+)\)` is `(.+?)`", text)
    arguments = eval(f"dict({call})")
    assert function("07.freed", "solution")(**arguments) == eval(freed)
