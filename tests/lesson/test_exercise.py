"""Exercises: a right function passes, a stub waits, each wrong way gets its own question."""

import ast
import json
import random
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import InputError, strings
from memlab.lesson import exercise_check, exercise_task, progress, returned_values
from memlab.lesson.exercise import Exercise, exercise, solution_of
from memlab.lesson.exercise_task import ExerciseTask, tasks
from tests.lesson.known import MEASURED, known
from tests.quick import apart
from tests.rows import every_row

MODULE = import_module("memlab.lesson.exercise")  # memlab.lesson.exercise is the function
NAMES = sorted(tasks())


# -- tasks of these tests -----------------------------------------------------------------------


def draw(chance, size):
    return {"batch": size, "sides": [chance.randint(3, 9), chance.randint(3, 9)]}


def kept(batch, sides):
    return 4 * batch * sides[0] * sides[1] + 1000


MAP = ExerciseTask(
    "99.kept",
    draw,
    kept,
    slips={
        "bits": lambda truth, given: truth * 8,
        "values": lambda truth, given: (truth - 1000) // 4,
        "one_side": lambda truth, given: 4 * given["batch"] * given["sides"][0] + 1000,
    },
)


def arrays(chance, size):
    return {"x": np.array([chance.uniform(-1, 1) for _ in range(40 * size)])}


PLANNED = ExerciseTask("99.relu", arrays, lambda x: np.maximum(x, 0), plan=lambda x: x.nbytes)
TEXTS = {
    f"task.{one.name}.{key}": f"{key} of {one.name}?"
    for one in (MAP, PLANNED)
    for key in ("task", "hint.1", "hint.2", "hint.3", *(f"slip.{slip}" for slip in one.slips))
}


@pytest.fixture(autouse=True)
def own_texts(monkeypatch):
    english = strings.table() | TEXTS
    monkeypatch.setattr(strings, "table", lambda name="en": english)


@pytest.fixture
def recorded(monkeypatch):
    """Calls that would write to the progress file."""
    calls = []
    for name in ("checked", "hinted", "solved"):
        monkeypatch.setattr(progress, name, lambda *given, name=name: calls.append((name, *given)))
    return calls


def check(function, task=MAP, seed=None):
    return exercise_check.check(task, function, seed)


def returns(value):
    """A function that returns the same for every case."""
    return lambda batch, sides: value


# -- a choice ----------------------------------------------------------------------------------

CHOICE = ExerciseTask(
    "99.kept",
    draw,
    lambda batch, sides: min(sides),
    score=lambda given, case: chosen(given, case["sides"]),
)


def chosen(given, sides):
    """One of two sides, by its number."""
    if given not in (0, 1):
        raise InputError(f"A choice is 0 or 1, got {given!r}.")
    return sides[given]


@every_row("seed", range(3))
def test_any_choice_with_the_least_score_is_right(seed):
    least = check(lambda batch, sides: sides.index(min(sides)), CHOICE, seed)
    assert least.passed
    largest = check(lambda batch, sides: sides.index(max(sides)), CHOICE, seed)
    assert not largest.passed
    assert re.search(r"There kept returned [01]\. That takes [12]\.\d{3} times as", str(largest))


def test_a_choice_that_is_scored_in_seconds_is_told_in_time():
    report = check(
        lambda batch, sides: sides.index(max(sides)), replace(CHOICE, timed=True), seed=0
    )
    assert re.search(r"the step takes [12]\.\d{3} times as long as with the best", str(report))
    assert "memory" not in str(report)
    assert tasks()["09.offloaded"].timed


def test_what_is_no_choice_is_refused_with_its_reason():
    report = check(returns(7), CHOICE)
    assert "There kept returned 7. A choice is 0 or 1, got 7." in str(report)
    assert check(returns(None), CHOICE).attempted is False


# -- right, and not yet -------------------------------------------------------------------------


@every_row("seed", [None, 0, 1])
def test_a_right_function_passes_with_the_same_words_each_time(seed):
    report = check(lambda batch, sides: 1000 + 4 * batch * sides[0] * sides[1], seed=seed)
    assert report.passed
    assert repr(report) == str(report) == "Agrees on 60 fresh cases."


@every_row(
    "kind",
    [float, np.int64, np.float64, np.array, lambda n: Fraction(n, 1), lambda n: np.array(n, "O")],
)
def test_a_number_is_a_number_in_every_type(kind):
    assert check(lambda batch, sides: kind(kept(batch, sides))).passed


PAIR = ExerciseTask("99.kept", draw, lambda batch, sides: [batch * side for side in sides])


@every_row(
    "kind",
    [
        tuple,
        np.array,
        iter,
        lambda found: (one for one in found),
        lambda found: map(float, found),
        lambda found: dict(enumerate(found)).values(),
        lambda found: [Decimal(one) for one in found],
    ],
)
def test_numbers_in_order_are_read_from_whatever_holds_them(kind):
    assert check(lambda batch, sides: kind([batch * side for side in sides]), PAIR).passed


def test_a_set_has_no_order():
    report = check(lambda batch, sides: {batch * side for side in sides}, PAIR)
    assert not report.passed
    assert "A set has no order: return one number, or a list of them." in str(report)


def endless():
    while True:
        yield 1


@pytest.mark.measures  # until it has a million values
def test_a_generator_without_end_is_wrong_and_no_more():
    report = check(lambda batch, sides: endless(), PAIR)
    assert not report.passed
    assert "The result has another shape." in str(report)


def test_an_error_in_a_generator_is_the_functions_own():
    report = check(lambda batch, sides: (1 // (side - side) for side in sides), PAIR)
    assert "There kept raised ZeroDivisionError" in str(report)


def unwritten(batch, sides):
    raise NotImplementedError


class SilentError(Exception):
    def __str__(self):
        raise ValueError


def test_an_error_that_cannot_say_what_it_is_is_named():
    def silent(batch, sides):
        raise SilentError

    report = check(silent)
    assert "There kept raised SilentError." in str(report)


@every_row(
    ("function", "said"),
    [
        (returns(None), "Not yet: kept returns None."),
        (returns(...), "Not yet: kept returns Ellipsis."),
        (unwritten, "Not yet: kept raises NotImplementedError."),
    ],
)
def test_a_stub_is_told_what_to_do_in_the_same_words_each_time(function, said):
    reports = [check(function) for _ in range(3)]
    assert {str(report) for report in reports} == {reports[0].text()}
    assert str(reports[0]).startswith(said)
    assert not reports[0].passed
    assert not reports[0].attempted


def test_every_check_draws_afresh_and_a_seed_repeats_it():
    def seen(seed):
        drawn: list[list[int]] = []

        def notes(batch, sides):
            drawn.append(sides)
            return kept(batch, sides)

        assert check(notes, seed=seed).passed
        return drawn

    assert seen(None) != seen(None)
    assert seen(4) == seen(4) != seen(5)


# -- wrong --------------------------------------------------------------------------------------


@pytest.mark.parametrize("slip", ["bits", "values"])
def test_a_wrong_way_gets_its_question(slip):
    def wrong(batch, sides):
        return MAP.slips[slip](kept(batch, sides), {"batch": batch, "sides": sides})

    report = check(wrong)
    assert (report.passed, report.slip) == (False, slip)
    assert TEXTS[f"task.99.kept.slip.{slip}"] in str(report)
    assert "times too" not in str(report)


def one_side(truth, given):
    return 4 * given["batch"] * given["sides"][0] + 1000


@pytest.mark.table
@pytest.mark.parametrize(
    ("slips", "traps"),
    [
        ({"one_side": one_side, "again": one_side}, {}),
        ({"none": lambda truth, given: truth}, {}),
        ({}, {"none": lambda truth, given: truth}),
    ],
)
def test_wrong_ways_that_no_case_shows_are_refused(slips, traps):
    with pytest.raises(RuntimeError, match="no case tells apart"):
        ExerciseTask("99.kept", draw, kept, slips, traps).cases(random.Random(0))


@every_row("seed", range(20))
def test_a_wrong_way_that_shows_once_in_a_hundred_cases_is_shown(seed):
    traps = {"rare": lambda truth, given: truth + given["rare"]}
    rare = ExerciseTask("99.kept", rarely, lambda batch, rare: batch, traps=traps)
    assert any(case["rare"] for case in rare.cases(random.Random(seed)))


def rarely(chance, size):
    return {"batch": size, "rare": chance.random() < 0.01}


def test_a_wrong_way_in_some_cases_is_no_diagnosis():
    report = check(lambda batch, sides: kept(batch, sides) * (8 if batch > 4 else 1))
    assert (report.passed, report.slip) == (False, "")
    report = check(lambda batch, sides: kept(batch, sides) * (8 if batch > 4 else 3))
    assert (report.passed, report.slip) == (False, "")


@every_row(
    ("factor", "said"),
    [
        (4, "Exactly 4 times too large in each of them."),
        (Fraction(1, 2), "Exactly 2 times too small in each of them."),
        (2.5, "2.5 times too large in each of them."),
    ],
)
def test_one_ratio_in_all_cases_is_named(factor, said):
    report = check(lambda batch, sides: kept(batch, sides) * factor)
    assert str(report).endswith("\n" + said)


@every_row(
    "wrong",
    [
        lambda batch, sides: 4 * batch * sum(sides),  # another ratio in each case
        lambda batch, sides: kept(batch, sides) * (4 if batch == 1 else 1),  # in one case alone
        lambda batch, sides: -kept(batch, sides),
        lambda batch, sides: 0,
        lambda batch, sides: kept(batch, sides) * 4 if batch > 2 else "",
    ],
)
def test_no_ratio_is_named_where_there_is_none(wrong):
    report = check(wrong, replace(MAP, sizes=(1, 2, 3, 4)))
    assert not report.passed
    assert "times" not in str(report)


@every_row("least", [1, 2, 5, 32])
def test_the_smallest_failing_case_is_shown(least):
    shuffled = ExerciseTask("99.kept", draw, kept, sizes=(32, 5, 1, 16, 2, 8))
    report = check(lambda batch, sides: kept(batch, sides) + (batch >= least), shuffled)
    failing = sum(size >= least for size in shuffled.sizes)
    assert str(report).startswith(f"Not yet: {failing} of 6 fresh cases disagree.")
    assert f"The smallest of them is batch {least}, sides [" in str(report)


@every_row(
    "wrong",
    [
        returns(17),
        returns("96 B"),
        returns([1, 2]),
        lambda batch, sides: 1 / 0,
        lambda batch, sides: (kept(batch, sides) - 1000) // 4,
        lambda batch, sides: kept(batch, sides) + batch,
    ],
)
def test_the_true_value_stands_in_no_text(wrong):
    large = ExerciseTask(
        "99.kept", lambda c, s: {"batch": 977 * s, "sides": [31, 37]}, kept, MAP.slips
    )
    report = check(wrong, large)
    true = [kept(**case) for case in large.cases(random.Random(0))]
    assert not report.passed
    for text in (f"{report}", repr(vars(report))):
        numbers = {int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", text)}
        assert not numbers & set(true)
    assert check(lambda batch, sides: kept(batch, sides), large).passed


def test_changing_the_lists_does_not_spoil_the_check():
    shared = [3, 5]
    case = ExerciseTask("99.kept", lambda c, s: {"batch": s, "sides": shared}, kept)

    def empties(batch, sides):
        value = kept(batch, sides)
        sides.clear()
        return value

    assert check(empties, case).passed
    assert shared == [3, 5]

    def spoils(batch, sides):
        sides[0] = 0
        return kept(batch, sides)

    assert "sides [3, 5]" in str(check(spoils, case))


def test_a_result_that_is_reused_is_read_when_it_is_returned():
    result = np.zeros(1, int)

    def reuses(batch, sides):
        result[0] = kept(batch, sides)
        return result[0:1].reshape(())

    assert check(reuses).passed


# -- what is no answer --------------------------------------------------------------------------


class Odd:
    def __repr__(self):
        raise RuntimeError

    def __array__(self, *_):
        raise RuntimeError


@pytest.mark.table
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("96 B", "There kept returned '96 B', which is no number: return a number, without"),
        (float("nan"), "There kept returned nan, which is no number"),
        (np.inf, "There kept returned inf, which is no number"),
        (True, "There kept returned True, which is no number"),
        ([1, 2], "There kept returned [1, 2], and one number is wanted."),
        (np.ones(2), "There kept returned [1.0, 1.0], and one number is wanted."),
        ([1, [2]], "There kept returned [1, [2]], which is no number"),
        ({"a": 1}, "There kept returned {'a': 1}, which is no number"),
        (2j, "There kept returned 2j, which is no number"),
        (np.int32(1234), "There kept returned 1,234."),
        (10**30, "There kept returned 1,000,000,000,000,000,000,000,000,000,000."),
        pytest.param(10**5000, "There kept returned a number of thousands of digits.", id="long"),
        (
            Odd(),
            "There kept returned a value of type Odd that cannot be shown. "
            "Odd is not a plain number: return an int, a float,",
        ),
    ],
)
def test_a_wrong_type_is_one_sentence(value, said):
    report = check(returns(value))
    assert not report.passed
    assert f"]. {said}" in str(report)


def none_sometimes(batch, sides):
    return kept(batch, sides) if batch > 1 else None


def test_none_in_one_branch_is_shown_with_its_case():
    report = check(none_sometimes)
    assert report.attempted
    assert "5 of 60" in str(report)
    assert "There kept returned None, which is no number" in str(report)


@every_row(
    ("error", "said"),
    [
        (ValueError("two\n  lines"), "There kept raised ValueError: two lines."),
        (AssertionError(), "There kept raised AssertionError."),
        (MemoryError("no"), "There kept raised MemoryError: no."),
        (NotImplementedError(), "There kept raised NotImplementedError."),
    ],
)
def test_an_error_is_one_sentence_with_its_case(error, said):
    def raises(batch, sides):
        if batch > 4:
            raise error
        return kept(batch, sides)

    lines = str(check(raises)).splitlines()
    assert lines[0] == "Not yet: 40 of 60 fresh cases disagree."
    assert lines[1].startswith("The smallest of them is batch 5, sides [")
    assert lines[1].endswith(said)
    assert len(lines) == 2


def test_other_parameters_are_named():
    report = check(lambda batch: 3)
    said = "Not yet: the function must be kept(batch, sides), and yours takes (batch)."
    assert str(report) == said
    assert check(lambda batch, sides, more=1: kept(batch, sides)).passed
    assert check(lambda **given: kept(**given)).passed


def test_a_result_in_place_of_the_function_is_one_sentence():
    with pytest.raises(InputError, match=r"the function itself, got 12; try exercise\.check\(kept"):
        check(12)


@every_row("seed", [-1, 1.5, "a", [3], True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InputError, match="seed must be"):
        check(lambda batch, sides: kept(batch, sides), seed=seed)


def test_a_truth_that_is_no_number_is_the_authors_error():
    with pytest.raises(TypeError, match=r"99\.kept: the truth must be numbers, got '96 B'"):
        check(returns(1), ExerciseTask("99.kept", draw, lambda batch, sides: "96 B"))


# -- numbers ------------------------------------------------------------------------------------


@every_row(
    ("given", "truth", "right"),
    [
        (3, 3, True),
        (3.0, 3, True),
        (3 + 1e-9, 3, False),  # a true whole number is met to the last digit
        (3 + 1e-6, 3.0, True),
        (3 + 1e-5, 3.0, False),
        (0.0, 0.0, True),
        (1e-12, 0.0, False),
        ((1, 2), [1, 2], True),
        ([1.0, 1e-8], [1.0, 0.0], True),  # what two orders of a sum differ by
        ([1, 2, 3], [1, 2], False),
        ([[1, 2]], [1, 2], False),
        ([], [], True),
        (2**64 + 1, 2**64 + 1, True),
        (1 / 3, Fraction(1, 3), True),
        (0.3333, Fraction(1, 3), False),
        (2**64, 2**64 + 1, False),
        (10**400, 1.5, False),
        (Decimal(3), 3, True),
        (Decimal(2) ** 64, 2**64, True),
        (Decimal("1.5"), 1.5, True),
        ([Decimal(1), Fraction(4, 2)], [1, 2], True),
        (Decimal("0.5"), 3, False),
        (np.float32(0.1), 0.1, True),
    ],
)
def test_agreement(given, truth, right):
    one, other = returned_values.read(given), returned_values.read(truth)
    assert one is not None
    assert other is not None
    assert returned_values.agree(one, other, 1e-6) is right


@every_row(
    ("given", "truth", "ratio"),
    [
        ([4, 8, 0], [1, 2, 0], 4),
        ([4, 9], [1, 2], None),
        ([0.1, 0.3], [0.3, 0.9], Fraction(1, 3)),
        (2**70, 2**68, 4),
        (5.0, 0.0, None),
        (-5, 5, None),
        ([], [], None),
        ([1, 1], 1, None),
        (np.array([0.2, 0.4], np.float32), [0.1, 0.2], 2),
    ],
)
def test_a_factor_holds_for_every_number(given, truth, ratio):
    given, truth = returned_values.read(given), returned_values.read(truth)
    by = returned_values.factor(given, truth)
    holds = by is not None and returned_values.scaled(given, truth, by, 1e-6)
    assert by == pytest.approx(ratio, rel=1e-6) if holds else ratio is None


# -- arrays, measured ---------------------------------------------------------------------------


def test_a_step_within_the_plan_passes_in_the_same_words_each_time():
    (said,) = {str(check(lambda x: np.maximum(x, 0), PLANNED)) for _ in range(3)}
    first, unseen = said.splitlines()
    assert first == (
        "Agrees on 60 fresh cases. "
        "In each of them your arrays take no more memory than memlab's plan."
    )
    assert unseen == "The check sees only the NumPy arrays that relu makes."


def test_a_step_does_not_write_over_what_it_was_given():
    report = check(lambda x: np.maximum(x, 0, out=x), PLANNED)
    assert not report.passed
    assert "overwrites x, which its caller still needs" in str(report)


def test_a_step_above_the_plan_has_its_ratio():
    def marks(x):
        result = np.maximum(x, 0)
        np.empty(len(x), bool)
        return result

    report = check(marks, PLANNED)
    assert not report.passed
    assert report.ratio == Fraction(40 * 2 * 9, 40 * 2 * 8)  # size 1 is within 64 B of its plan
    lines = str(report).splitlines()
    assert lines[0] == (
        "The values are right. The peak of your function is 1.12 times the plan: "
        "720 B instead of 640 B."
    )
    assert lines[1].startswith("The smallest such case is x of shape (80,).")


def test_a_plan_of_nothing_has_no_ratio():
    in_place = ExerciseTask("99.relu", arrays, PLANNED.truth, plan=lambda x: 0)
    report = check(lambda x: np.maximum(x, 0), in_place)
    assert (report.passed, report.ratio) == (False, None)
    assert "Your step allocates 328 B, and the plan allocates nothing." in str(report)


def test_wrong_values_are_said_before_the_measurement():
    report = check(lambda x: x + 1, PLANNED)
    assert "fresh cases disagree" in str(report)
    assert "peaks" not in str(report)
    assert "x of shape (40,)" in str(report)


def test_what_a_library_makes_once_does_not_count(monkeypatch):
    def first_call(x):
        if not hasattr(memlab, "made"):
            monkeypatch.setattr(memlab, "made", np.ones(10**5), raising=False)
        return np.maximum(x, 0)

    assert check(first_call, PLANNED).passed


def test_an_error_in_the_measured_call_is_a_sentence_and_the_hook_is_restored():
    calls = []

    def fails_late(x):
        calls.append(x)
        if len(calls) > len(PLANNED.sizes):
            raise ValueError("late")
        return np.maximum(x, 0)

    assert str(check(fails_late, PLANNED)).endswith("There relu raised ValueError: late.")
    assert check(lambda x: np.maximum(x, 0), PLANNED).passed


# -- in a notebook ------------------------------------------------------------------------------


def test_show_says_what_is_wanted_and_how_to_go_on():
    shown = Exercise(MAP).show()
    assert repr(shown) == str(shown) == str(Exercise(MAP))
    assert shown.text().splitlines() == [
        "Exercise kept. task of 99.kept?",
        "Write the function kept(batch, sides).",
        "To check it: exercise.check(kept). For a hint: exercise.hint(). "
        "For one solution: exercise.solution().",
    ]


def test_checks_are_recorded_and_stubs_are_not(recorded):
    one = Exercise(MAP)
    one.check(returns(None))
    one.check(returns(7))
    one.check(kept)
    assert recorded == [("checked", "99.kept", False), ("checked", "99.kept", True)]


def test_hints_have_three_degrees(recorded):
    one = Exercise(MAP)
    said = [one.hint().text().splitlines() for _ in range(5)]
    assert [lines[0] for lines in said] == [
        f"Hint {degree} of 3: hint.{degree} of 99.kept?" for degree in (1, 2, 3, 3, 3)
    ]
    assert [len(lines) for lines in said] == [1, 1, 1, 2, 2]
    assert "exercise.solution()" in said[3][1]
    assert recorded == [("hinted", "99.kept", degree) for degree in (1, 2, 3, 3, 3)]


def cell(source, *tags, kind="code"):
    return {"cell_type": kind, "metadata": {"tags": list(tags)}, "source": [source]}


@pytest.fixture
def solutions(tmp_path, monkeypatch):
    monkeypatch.setattr(MODULE, "SOLUTIONS", tmp_path)
    return tmp_path


def test_a_solution_is_shown_and_recorded(solutions, recorded):
    right = "def kept(batch, sides):\n    return 3"
    cells = [
        cell("def kept(batch, sides):\n    return 1"),
        cell("def kept_too(batch):\n    return 2  # def kept(", "solution"),
        cell("def kept(batch, sides): in a text", "solution", kind="markdown"),
        cell(right, "solution"),
    ]
    (solutions / "98_other.ipynb").write_text(
        json.dumps({"cells": [cell("def kept(", "solution")]})
    )
    (solutions / "99_mine.ipynb").write_text(json.dumps({"cells": cells}))
    assert repr(Exercise(MAP).solution()) == right
    assert recorded == [("solved", "99.kept")]


@pytest.mark.parametrize("content", [None, "", "<<<<<<< HEAD", "{}", '{"cells": []}'])
def test_without_its_file_a_solution_is_said_to_be_elsewhere(solutions, recorded, content):
    if content is not None:
        (solutions / "99_mine.ipynb").write_text(content)
    said = Exercise(MAP).solution().text()
    assert said.startswith("The solutions are not installed")
    assert "99_*.ipynb" in said
    assert recorded == []


# -- the registry -------------------------------------------------------------------------------


def test_a_task_is_found_by_its_name(monkeypatch):
    monkeypatch.setattr(exercise_task, "_TASKS", {})
    assert exercise_task.task("99.kept", draw, slips=MAP.slips)(kept) is kept
    task = exercise("99.kept").task
    assert (task.lesson, task.function, task.parameters) == ("99", "kept", ("batch", "sides"))
    with pytest.raises(InputError, match=r"unknown exercise '99\.kep'; did you mean '99\.kept'\?"):
        exercise("99.kep")
    exercise_task.task("99.kept", draw)(kept)  # its module was loaded again
    with pytest.raises(ValueError, match=r"two exercises are called '99\.kept'"):
        exercise_task.task("99.kept", draw)(np.add)


@every_row(
    ("arguments", "said"),
    [
        ({"batch": 3, "channels": np.int64(2)}, "batch 3, channels 2"),
        ({"network": "vgg16", "rate": 0.5}, "network vgg16, rate 0.5"),
        ({"x": np.zeros((2, 3)), "y": np.array(1.5)}, "x of shape (2, 3), y 1.5"),
    ],
)
def test_a_case_in_words(arguments, said):
    assert exercise_task.case_in_words(arguments) == said


def test_a_long_list_is_shortened():
    assert len(exercise_task.case_in_words({"each": list(range(1000))})) < 70


# -- every task of every lesson -----------------------------------------------------------------

every = pytest.mark.parametrize("name", apart(NAMES, MEASURED.__contains__))
if not NAMES:
    every = pytest.mark.parametrize(
        "name", [pytest.param("", marks=pytest.mark.skip(reason="no lesson has an exercise yet"))]
    )


@pytest.mark.table
@every
def test_a_task_has_its_texts(name):
    wanted = {"task", "hint.1", "hint.2", "hint.3"}
    wanted |= {f"slip.{slip.partition('.')[0]}" for slip in tasks()[name].slips}
    texts = {key: text for key, text in strings.table().items() if key.startswith(f"task.{name}.")}
    assert texts.keys() == {f"task.{name}.{key}" for key in wanted}
    for key, text in texts.items():
        assert text.strip(), key
        assert "?" in text or ".slip." not in key, key


@pytest.mark.table
@pytest.mark.measures
@every
@pytest.mark.parametrize("seed", range(3))
def test_a_task_passes_its_truth_and_tells_its_slips_apart(name, seed, monkeypatch):
    monkeypatch.setattr(exercise_check, "_instead_text", lambda *_: "")  # these are memlab's own
    one = replace(
        known(name), score=None, run=None, outcome=None
    )  # what follows, in place of what it returns
    cases = one.cases(random.Random(seed))
    assert len({repr(one.truth(**case)) for case in cases}) > 1  # no constant
    report = exercise_check.check(one, one.truth, seed)
    assert report.passed or (one.plan and "disagree" not in str(report))  # it may run the step
    for slip, way in one.slips.items():
        report = exercise_check.check(
            one, lambda way=way, **case: way(one.truth(**case), case), seed
        )
        assert (report.passed, report.slip) == (False, slip)


@pytest.mark.table
@every
def test_the_solution_of_a_task_passes(name):
    one = tasks()[name]
    code = solution_of(one)
    assert code is not None
    assert exercise_check.check(one, _defined(one, code)).passed


@pytest.mark.table
@every
def test_the_stub_of_a_task_is_told_not_yet(name):
    assert not exercise_check.check(tasks()[name], lambda **case: None).attempted


def _defined(one, code):
    """The function of a solution, with what its lesson imports."""
    cells = [
        ast.parse("".join(cell["source"]))
        for path in MODULE.SOLUTIONS.glob(f"{one.lesson}_*.ipynb")
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    lines = [part for tree in cells for part in tree.body]
    imports = [ast.unparse(part) for part in lines if isinstance(part, ast.Import | ast.ImportFrom)]
    names = {"memlab": memlab}
    exec("\n".join([*imports, code]), names)
    return names[one.function]


@every_row("name", sorted(tasks()))
def test_no_text_has_a_raw_mark(name):
    exercise = Exercise(tasks()[name])
    shown = [exercise.text(), *(exercise.hint().text() for _ in range(3))]
    assert not [text for text in shown if "`" in text or "**" in re.sub(r"\w\*\*\w", "", text)]


def test_blanks_that_only_some_cases_come_to_are_named_whichever_is_drawn_first():
    def freed(sizes, writes, reads, kept):
        last: dict[int, Any] = {
            block: ... for n in range(len(reads)) for block in reads[n] + writes[n]
        }
        nbytes = [0] * len(reads)
        for block in last.keys() - set(kept):  # none in some cases
            nbytes[last[block]] += sizes[block]
        return nbytes

    reports = [exercise_check.check(tasks()["07.freed"], freed, seed) for seed in (37, 38, 42)]
    assert {str(report) for report in reports} == {
        strings.get("exercise.check.blanks", name="freed")
    }
    assert not any(report.attempted for report in reports)
