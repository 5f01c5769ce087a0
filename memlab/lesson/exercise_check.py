"""A learner's function against the truth, on fresh cases: what to say about it, never the answer.

What is said names a case, what the learner's own function gave there, and perhaps a question about
the mistake. The true value stands in no text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from inspect import signature
from random import Random
from typing import Any

from memlab import strings
from memlab.errors import BusyError, InputError, shorten, whole
from memlab.lesson import returned_values, sentences
from memlab.lesson.exercise_task import Arguments, Task
from memlab.lesson.marked_text import plain
from memlab.lesson.material.allocation import in_bytes, measure
from memlab.lesson.returned_values import Numbers
from memlab.lines import np
from memlab.strings import gettext as _

LONGEST = 200
"""Characters of an error message that are shown."""
SINGLE_NUMBERS = 64
"""Bytes above the plan that are allowed: NumPy makes small arrays of the 2 in ``x * 2``."""


@dataclass(frozen=True, repr=False)
class Report:
    """What a check found. ``slip`` names the one wrong way that explains every case.

    ``attempted`` is False for a function that is still the stub. ``ratio`` is the measured peak
    over the planned one, in the smallest case above the plan.
    """

    said: str
    passed: bool = False
    slip: str = ""
    attempted: bool = True
    ratio: Fraction | None = None

    def text(self) -> str:
        """The same for every function that passes, and for every stub."""
        return self.said

    __str__ = __repr__ = text


@dataclass(frozen=True)
class Answer:
    """What the learner's function did with one case. ``refused`` says why what it returned cannot
    be an answer."""

    case: Arguments
    shown: str = ""
    numbers: Numbers | None = None
    error: Exception | None = None
    refused: str = ""


@dataclass(frozen=True)
class Held:
    """An answer beside the truth."""

    answer: Answer
    truth: Any
    numbers: Numbers
    right: bool


def check(task: Task, function: Callable[..., Any], seed: int | None = None) -> Report:
    """Run a function on fresh cases of a task and hold it against the truth.

    Raises:
        InputError: no function, or a seed that is no whole number from 0 on.
    """
    name = task.function
    if not callable(function):
        raise InputError(
            _(
                "check takes the function itself, got {given}; try exercise.check({name}), with "
                "nothing in brackets behind {name}.",
                given=shorten(function),
                name=name,
            )
        )
    cases = task.cases(Random(None if seed is None else whole("seed", seed, 0)))
    if not fits(function, cases[0]):
        return Report(_say("takes", call=call(task), given=str(signature(function))))
    answers = [ask(task, function, case) for case in cases]
    missing = unwritten(task, answers)
    if missing:
        return Report(missing, attempted=False)
    held = [hold(task, answer) for answer in answers]
    failing = [one for one in held if not one.right]
    if failing:
        return disagrees(task, held, failing)
    return Report(_agrees(cases), True) if task.plan is None else allocates(task, function, cases)


def call(task: Task) -> str:
    """The call that is wanted: ``"largest_batch(memory, fixed, each)"``."""
    return f"{task.function}({', '.join(task.parameters)})"


def fits(function: Callable[..., Any], case: Arguments) -> bool:
    """Whether the function can be called with the arguments of a case, as far as it tells."""
    try:
        signature(function).bind(**case)
    except TypeError:
        return False
    except ValueError:  # some functions written in C do not tell
        return True
    return True


def ask(task: Task, function: Callable[..., Any], case: Arguments) -> Answer:
    """What the learner's function did with a case."""
    try:
        value = returned_values.listed(task.ask(function, case))
    except Exception as error:
        return Answer(case, error=error)
    shown = returned_values.in_words(value)
    if task.score is None:
        refused = _say("set") if isinstance(value, Set) else ""
        return Answer(case, shown, returned_values.read(value), refused=refused)
    try:
        return Answer(
            case,
            shown,
            returned_values.read(task.score(returned_values.ordered(value), deepcopy(case))),
        )
    except InputError as error:
        return Answer(case, shown, refused=str(error))


def hold(task: Task, answer: Answer) -> Held:
    """The truth of the same case, and whether the answer agrees with it."""
    truth = task.truth(**deepcopy(answer.case))
    numbers, given = returned_values.read(truth), answer.numbers
    if numbers is None:
        raise TypeError(f"{task.name}: the truth must be numbers, got {shorten(truth)}")
    right = given is not None and returned_values.agree(given, numbers, task.rel)
    return Held(answer, truth, numbers, right)


# -- what is said -------------------------------------------------------------------------------


def unwritten(task: Task, answers: Sequence[Answer]) -> str:
    """The sentence for a stub; empty for a function that does something."""
    name = task.function
    if all(isinstance(answer.error, NotImplementedError) for answer in answers):
        return _say("unwritten", name=name)
    if any(answer.error and "ellipsis" in _message(answer.error) for answer in answers):
        return _say("blanks", name=name)
    for stub in ("None", "Ellipsis"):
        if all(answer.shown == stub for answer in answers):
            return _say("stores_nothing" if task.run else "nothing", name=name, value=stub)
    return ""


def disagrees(task: Task, held: Sequence[Held], failing: Sequence[Held]) -> Report:
    """The smallest failing case, what came out there, and what may have gone wrong."""
    slip = slip_of(task, held)
    smallest = _say("smallest", case=task.show_case(failing[0].answer.case))
    lines = [
        _say("fails", failing=len(failing), count=len(held)),
        f"{smallest} {there(task, failing[0])}",
        plain(strings.get(f"task.{task.name}.slip.{slip}")) if slip else _factor(task, failing),
    ]
    return Report("\n".join(filter(None, lines)), slip=slip)


def there(task: Task, held: Held) -> str:
    """One sentence on what the learner's function did in a case."""
    answer, name = held.answer, task.function
    if answer.error is not None:
        return raised(task, answer.error)
    if answer.refused:
        return f"{_say('returned', name=name, value=answer.shown)} {answer.refused}"
    if task.score is not None and answer.numbers is not None:
        ratio = Fraction(answer.numbers.first) / Fraction(held.numbers.first)
        return _say("choice", name=name, value=answer.shown, ratio=float(ratio))
    if task.run is not None and answer.numbers is not None:
        wrong, moved = answer.numbers.flat
        return _say("kernel", name=name, wrong=wrong, moved=moved)
    if answer.numbers is None:
        key = "no_number"
    elif answer.numbers.shape == held.numbers.shape:
        key = "returned"
    else:
        key = "shape" if held.numbers.shape else "single"
    return _say(key, name=name, value=answer.shown)


def raised(task: Task, error: Exception) -> str:
    """One sentence on an error of the learner's function."""
    if isinstance(error, BusyError):
        return _say("busy", name=task.function)
    said = f"{type(error).__name__}: {_message(error)}".removesuffix(": ").rstrip(".")
    short = said if len(said) <= LONGEST else f"{said[:LONGEST]}..."
    return _say("raised", name=task.function, error=short)


def _message(error: Exception) -> str:
    try:
        return " ".join(str(error).split())
    except Exception:  # an error of the learner's own, which cannot say what it is
        return ""


def slip_of(task: Task, held: Sequence[Held]) -> str:
    """The slip that gives what the learner's function gave, in every case; empty for none."""
    fits = (name for name in task.slips if all(_slipped(task, name, one) for one in held))
    return next(fits, "")


def allocates(task: Task, function: Callable[..., Any], cases: Sequence[Arguments]) -> Report:
    """The arrays that a right function makes, in each case, against the plan of the step; those
    that it was given stay as they were."""
    assert task.plan is not None
    for case in cases:
        given = deepcopy(case)
        allocation = measure(ask_again, function, given)
        planned = int(task.plan(**deepcopy(case)))
        if allocation.result is not None:
            return Report(raised(task, allocation.result))
        if changed := [name for name in case if not np.array_equal(case[name], given[name])]:
            return Report(_say("overwritten", name=task.function, argument=changed[0]))
        if allocation.peak > planned + SINGLE_NUMBERS:
            return _over(task, case, allocation.peak, planned)
    return Report(f"{_agrees(cases)} {_say('within')}", True)


def ask_again(function: Callable[..., Any], arguments: Arguments) -> Exception | None:
    """Call the function for what it allocates; the error that it raises this time."""
    try:
        function(**arguments)
    except Exception as error:
        return error
    return None


def _over(task: Task, case: Arguments, peak: int, planned: int) -> Report:
    sizes = {"peak": in_bytes(peak), "planned": in_bytes(planned)}
    ratio = Fraction(peak, planned) if planned else None
    first = _say("over", ratio=float(ratio), **sizes) if ratio else _say("over_none", **sizes)
    return Report(f"{first}\n{_say('over_where', case=task.show_case(case))}", ratio=ratio)


def _factor(task: Task, failing: Sequence[Held]) -> str:
    pairs = [(one.answer.numbers, one.numbers) for one in failing]
    known = [(given, truth) for given, truth in pairs if given is not None and not task.run]
    by = returned_values.factor(*known[0]) if len(known) == len(pairs) > 1 else None
    if by is None or abs(by - 1) < Fraction(1, 100):
        return ""
    if not all(returned_values.scaled(*pair, by, task.rel) for pair in known):
        return ""
    return _say("ratio", off=sentences.off(by))


def _slipped(task: Task, name: str, held: Held) -> bool:
    value = returned_values.read(task.slips[name](held.truth, deepcopy(held.answer.case)))
    given = held.answer.numbers
    return given is not None and value is not None and returned_values.agree(given, value, task.rel)


def _agrees(cases: Sequence[Arguments]) -> str:
    return _say("agrees", count=len(cases))


def _say(key: str, **named: object) -> str:
    return strings.get(f"exercise.check.{key}", **named)
