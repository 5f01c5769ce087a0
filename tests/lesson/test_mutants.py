"""No wrong function is accepted, and no right one refused, whatever numbers chance draws.

The wrong functions are those that were accepted once, and every mutant of the solution of an
exercise and of a function for each of its slips: ``mutants.py``. A mutant that agrees with the
solution on all of many wide arguments is right. ``MEMLAB_MUTANT_SEEDS=200`` tries every mutant on
so many seeds, and prints how many were made and are right.
"""

import ast
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from memlab.lesson import exercise_check, returned_values
from memlab.lesson.content import lesson_08, lesson_09
from memlab.lesson.exercise import solution_of
from memlab.lesson.exercise_task import Arguments, ExerciseTask, tasks
from tests.lesson import wrong_answers
from tests.lesson.any_arguments import ANY
from tests.lesson.known import known
from tests.lesson.mutants import compiled, mutants
from tests.lesson.once_accepted import ACCEPTED
from tests.lesson.right_answers import RIGHT

pytestmark = pytest.mark.measures  # and draws for long

TASKS = sorted(tasks())
BY_HAND = int(os.environ.get("MEMLAB_MUTANT_SEEDS", "0"))
SEEDS = range(BY_HAND or 2)
SHARE = 1 if BY_HAND else 20
"""Every so many mutants of a slip are tried; of the solution, all."""
WIDE = 3000 if BY_HAND else 300
"""Arguments on which a right mutant agrees with the solution."""

Function = Callable[..., Any]


@cache
def solution(name: str) -> str:
    code = solution_of(tasks()[name])
    assert code is not None
    return code


# -- what a check finds, on many functions with the same cases ----------------------------------


class Known:
    """Cases and their truths, found once for all functions. A choice is scored by its bytes, as
    they are counted: ``test_what_is_counted_is_what_is_planned`` holds that they are the plan's."""

    def __init__(self, name: str, cases: Iterable[Arguments], by_solution: bool = False) -> None:
        self.task = tasks()[name]
        solved = compiled(solution(name), self.task.function) if by_solution else None
        truths = [
            (c, self.task.ask(solved, c) if solved else self.task.truth(**deepcopy(c)))
            for c in cases
        ]
        self.cases = [(case, self.numbers(truth, case)) for case, truth in truths]

    def numbers(self, value: Any, case: Arguments) -> returned_values.Numbers | None:
        value = returned_values.listed(value)
        if self.task.score is not None and not isinstance(value, int):
            value = COUNTED[self.task.name](returned_values.ordered(value), case)
        return returned_values.read(value)

    def right(self, function: Function) -> bool:
        """True if a function agrees in all cases; the hardest cases come first."""
        return all(self.agrees(function, *one) for one in reversed(self.cases))

    def agrees(
        self, function: Function, case: Arguments, truth: returned_values.Numbers | None
    ) -> bool:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                given = self.numbers(self.task.ask(function, case), case)
        except Exception:
            return False
        assert truth is not None
        return given is not None and returned_values.agree(given, truth, self.task.rel)


def kept(given: Any, case: Arguments) -> int:
    maps = case["maps"]
    return lesson_08.counted(maps, chosen(given, len(maps) - 1))


def gone(given: Any, case: Arguments) -> int:
    numbers = chosen(given, len(case["maps"]))
    assert lesson_09.stays(case, numbers) <= case["room"]
    return lesson_09.counted(case, numbers)


def of_pair(given: Any, case: Arguments) -> int:
    score = tasks()["11.cheapest_pair"].score
    assert score is not None
    return score(given, case)


def chosen(given: Any, count: int) -> list[int]:
    numbers = returned_values.read(given)
    assert numbers is not None
    assert len(numbers.shape) == 1
    assert {*numbers.flat} <= {*range(count)}
    return sorted({int(number) for number in numbers.flat})


COUNTED = {"08.checkpoints": kept, "09.offloaded": gone, "11.cheapest_pair": of_pair}
"""What a choice is scored by, counted."""


@cache
def drawn(name: str, seed: int) -> Known:
    """Cases that the check of that seed draws."""
    return Known(name, tasks()[name].cases(Random(seed)))


@cache
def wide(name: str) -> Known:
    """Wide cases, as anybody could ask them."""
    return Known(name, (ANY[name](Random(seed)) for seed in range(WIDE)), by_solution=True)


# -- the mutants --------------------------------------------------------------------------------


ZOO = ast.parse(Path(wrong_answers.__file__).read_text(encoding="utf-8")).body
HELPERS = {
    name: node
    for node in ZOO
    for name in [getattr(node, "name", "") or getattr(getattr(node, "targets", [0])[0], "id", "")]
    if name
}
"""The functions and constants of ``wrong_answers.py``, by name and in order."""


def of_slips(task: ExerciseTask) -> dict[str, str]:
    """The code of a wrong function for each slip, with the helpers that it calls."""
    (zoo,) = (node.value for node in ZOO if isinstance(node, ast.AnnAssign))
    ways = dict(_items(zoo))[task.name]
    return {
        slip: "\n".join([*_called(code), f"{task.function} = {ast.unparse(code)}"])
        for slip, code in _items(ways)
    }


def _items(written: ast.AST | None) -> Iterator[tuple[str, ast.expr]]:
    """Items of a dictionary as they are written in the code."""
    assert isinstance(written, ast.Dict)
    for key, value in zip(written.keys, written.values, strict=True):
        assert isinstance(key, ast.Constant)
        yield str(key.value), value


def _called(code: ast.AST) -> list[str]:
    """The helpers that it names, and those that they name."""
    names, new = set[str](), _names(code)
    while new := new & HELPERS.keys() - names:
        names |= new
        new = set().union(*(_names(HELPERS[name]) for name in new))
    return [ast.unparse(node) for name, node in HELPERS.items() if name in names]


def _names(code: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(code) if isinstance(node, ast.Name)}


def every_mutant(task: ExerciseTask) -> dict[str, Function]:
    """Mutants of the solution and of each slip, by their code."""
    codes = mutants(solution(task.name), task.parameters)
    for code in of_slips(task).values():
        codes += mutants(code, task.parameters)[::SHARE]
    return {code: compiled(code, task.function) for code in codes}


# -- wrong ones ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TASKS)
def test_no_mutant_is_accepted(name: str) -> None:
    mutants_by_code = every_mutant(tasks()[name])
    wrong = {code: one for code, one in mutants_by_code.items() if not wide(name).right(one)}
    print(
        f"\n{name}: {len(mutants_by_code)} mutants, {len(mutants_by_code) - len(wrong)} are right"
    )
    assert len(wrong) > 0.8 * len(mutants_by_code)
    accepted = [
        f"seed {seed}:\n{code}"
        for seed in SEEDS
        for code, one in wrong.items()
        if drawn(name, seed).right(one)
    ]
    assert not accepted, accepted[0]


@pytest.mark.parametrize(
    ("name", "way"), [(name, way) for name in ACCEPTED for way in ACCEPTED[name]]
)
def test_what_was_accepted_once_is_wrong(name: str, way: str) -> None:
    assert not wide(name).right(ACCEPTED[name][way])
    assert not [seed for seed in SEEDS if drawn(name, seed).right(ACCEPTED[name][way])]


# -- right ones ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TASKS)
def test_no_right_function_is_refused(name: str) -> None:
    ways = {"solution": compiled(solution(name), tasks()[name].function), **RIGHT[name]}
    for way, function in ways.items():
        for seed in SEEDS:
            cases = drawn(name, seed)
            failing = [
                case for case, truth in cases.cases if not cases.agrees(function, case, truth)
            ]
            assert not failing, (way, seed, failing[0])


@pytest.mark.parametrize("name", TASKS)
def test_a_check_says_so_of_right_functions(name: str) -> None:
    """By the whole check: the meter, what is kept and who is called."""
    ways = {"solution": compiled(solution(name), tasks()[name].function), **RIGHT[name]}
    for seed in SEEDS:
        for way, function in ways.items():
            report = exercise_check.check(known(name), function, seed)
            assert report.passed, (way, seed, report)
    print(f"\n{name}: {len(ways)} right functions pass on {len(SEEDS)} seeds")


@pytest.mark.parametrize("name", TASKS)
def test_a_case_of_every_check_is_at_an_edge(name: str) -> None:
    edge = tasks()[name].edge
    assert edge is not None
    for seed in SEEDS:
        at_edge = [edge(case) for case, _ in drawn(name, seed).cases]
        assert any(at_edge)
        assert not all(at_edge)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_counted_is_what_is_planned(seed: int) -> None:
    chance = Random(seed)
    maps = ANY["08.checkpoints"](chance)["maps"]
    for kept in chance.sample(lesson_08.choices(len(maps)), min(8, 2 ** (len(maps) - 1))):
        assert lesson_08.counted(maps, kept) == lesson_08.most_held(tuple(maps), kept)


@pytest.mark.parametrize("seed", range(20))
def test_waits_that_are_counted_are_those_of_the_clock(seed: int) -> None:
    chance = Random(seed)
    case = ANY["09.offloaded"](chance)
    choices = lesson_09.choices(case)
    for chosen in chance.sample(choices, min(8, len(choices))):
        counted = lesson_09.counted(case, chosen)
        assert counted == pytest.approx(lesson_09.nanoseconds(tuple(case["maps"]), chosen), abs=1)
