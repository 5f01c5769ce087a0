"""Check of a learner's function against the truth on fresh cases; no message gives the true value.

Every case is drawn for this check and asked once (``function_answers``): the call that is judged
is the call that is measured, where arrays are measured, in the thread that asks. One call before,
which is not judged, pays for what a library allocates once. A message names a case, the value that
the learner's own function gave there, and perhaps a question about the mistake.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from inspect import signature
from math import ceil
from random import Random
from typing import Any, Protocol

from memlab import strings
from memlab.errors import InputError, shorten, whole_number
from memlab.lesson import own, progress_line, returned_values, sentences
from memlab.lesson.exercise_task import Arguments, ExerciseTask
from memlab.lesson.function_answers import Failure, Given
from memlab.lesson.marked_text import plain
from memlab.lesson.material.allocation import in_bytes
from memlab.lesson.progress_line import WorkingLine
from memlab.lesson.returned_values import Numbers
from memlab.strings import gettext as _

LONGEST = 200
"""Most characters of an error message that are shown."""
SINGLE_NUMBERS = 64
"""Bytes above the plan that are allowed: NumPy makes small arrays of the 2 in ``x * 2``."""
ASKS = {
    "ZeroDivisionError": "exercise.check.by_zero",
    "IndexError": "exercise.check.index",
    "KeyError": "exercise.check.key",
    "NameError": "exercise.check.unknown_name",
    "UnboundLocalError": "exercise.check.unset_name",
}
"""Questions to the errors that people often meet."""


@dataclass(frozen=True, repr=False)
class Report:
    """Result of a check, with the sentence that the learner reads (``said``).

    ``slip`` names the one mistake that explains the answers to all cases. ``attempted`` is False
    for a function that is still the stub. ``ratio`` is the measured peak over the planned one, in
    the smallest case above the plan.
    """

    said: str
    passed: bool = False
    slip: str = ""
    attempted: bool = True
    ratio: Fraction | None = None

    def text(self) -> str:
        """Return the sentence for the learner; it is the same for every right function of an
        exercise."""
        return self.said

    __str__ = __repr__ = text


@dataclass(frozen=True)
class Answer:
    """Answer of the learner's function to one case.

    ``shown`` is the returned value for a sentence, and ``numbers`` its numbers. ``failure`` is
    the exception that it raised. ``refused`` says why the returned value cannot be an answer,
    ``instead`` that the function let memlab or another thread do the work. Where arrays are
    measured, ``peak`` is the most bytes of them, ``kept`` the bytes that were there before the
    call, and ``changed`` the name of an argument that the function overwrote.
    """

    case: Arguments
    shown: str = ""
    numbers: Numbers | None = None
    failure: Failure | None = None
    refused: str = ""
    instead: str = ""
    peak: int = 0
    kept: int = 0
    changed: str = ""


class AskedFunction(Protocol):
    """A learner's function that is asked: in this process, or in one of its own."""

    def misfit(self, case: Arguments) -> str:
        """Return the signature of a function that does not take the arguments of a case; empty
        where it does."""

    def answers(self, cases: Sequence[Arguments], measured: bool) -> list[Given]:
        """Return what the function gives for each case; with ``measured``, with the bytes of
        arrays."""


@dataclass(frozen=True)
class FunctionHere:
    """A learner's function in this process."""

    task: ExerciseTask
    function: Callable[..., Any]

    def misfit(self, case: Arguments) -> str:
        """Return the signature of a function that does not take these arguments."""
        return "" if own.accepts(self.function, **case) else str(signature(self.function))

    def answers(self, cases: Sequence[Arguments], measured: bool) -> list[Given]:
        """Return what the function gives for copies of the cases."""
        ask = self.task.asking.measured if measured else self.task.asking.each
        return ask(self.function, cases)


NONE = Numbers((), ())


@dataclass(frozen=True)
class AnswerComparison:
    """An answer beside the truth of its case; ``truth`` is None and ``numbers`` is empty where no
    answer to a check has numbers."""

    answer: Answer
    truth: Any = None
    numbers: Numbers = NONE
    right: bool = False


def check(task: ExerciseTask, function: Callable[..., Any], seed: int | None = None) -> Report:
    """Run a function on fresh cases of a task and compare its answers with the truth.

    Args:
        task: the exercise.
        function: the learner's function.
        seed: fixes the cases; without it they differ at each call.

    Raises:
        InputError: ``function`` cannot be called, or the seed is no whole number from 0 on.
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
    number = None if seed is None else whole_number("seed", seed, 0)
    return judge(task, FunctionHere(task, function), number, partial(working_line, task))


def judge(
    task: ExerciseTask,
    asked: AskedFunction,
    seed: int | None,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Report:
    """Ask a function, here or in another process, fresh cases of a task, and return the report on
    its answers. The last and longest part runs inside of ``waiting()``."""
    early = Random(None if seed is None else f"{seed}, early")
    first = task.draw(early, min(task.sizes))
    if misfit := asked.misfit(first):
        return Report(_text("takes", call=call(task), given=misfit))
    (answer,) = answers_of(task, asked, [first])
    if answer.numbers is None:
        answers = answers_of(task, asked, [task.draw(early, n) for n in sorted(task.sizes)])
        if missing := stub_text(task, answers):
            return Report(missing, attempted=False)
        if all(answer.numbers is None for answer in answers):
            comparisons = [AnswerComparison(answer) for answer in answers]
            return report_wrong(task, comparisons, comparisons)
    with waiting():
        return report_on_numbers(task, asked, task.cases(Random(seed)))


def report_on_numbers(
    task: ExerciseTask, asked: AskedFunction, cases: Sequence[Arguments]
) -> Report:
    """Return the report on a function that returns numbers, from its answers to these cases."""
    answers = answers_of(task, asked, cases, measured=task.plan is not None)
    comparisons = [compare_with_truth(task, answer) for answer in answers]
    failing = [comparison for comparison in comparisons if not comparison.right]
    if failing:
        return report_wrong(task, comparisons, failing)
    return report_memory(task, answers) if task.plan else Report(_agrees_text(cases), True)


@contextmanager
def working_line(task: ExerciseTask) -> Iterator[None]:
    """Show a line with the elapsed seconds while a check inside the ``with`` block runs.

    It appears at once where the check is expected to take long, as the last check of this exercise
    or the task says.
    """
    most = _last_seconds.get(task.name, task.seconds)
    slow = most > progress_line.PATIENCE

    def said(seconds: int) -> str:
        values = {"name": task.function, "count": len(task.sizes), "seconds": seconds}
        return _text("working_about", **values, most=most) if slow else _text("working", **values)

    begin = time.monotonic()
    with WorkingLine(said, slow, progress_line.line_display()):
        yield
    _last_seconds[task.name] = ceil(time.monotonic() - begin)


_last_seconds: dict[str, int] = {}
"""The seconds of the last check of each exercise in this session."""


def call(task: ExerciseTask) -> str:
    """Return the call that the exercise asks for: ``"largest_batch(memory, fixed, each)"``."""
    return f"{task.function}({', '.join(task.parameters)})"


def answers_of(
    task: ExerciseTask, asked: AskedFunction, cases: Sequence[Arguments], measured: bool = False
) -> list[Answer]:
    """Return the answers of a function to all cases; with ``measured``, each with the peak bytes of
    arrays in its call."""
    given = asked.answers(cases, measured)
    return [read_answer(task, case, one) for case, one in zip(cases, given, strict=True)]


def read_answer(task: ExerciseTask, case: Arguments, given: Given) -> Answer:
    """Return what a call gave as an answer to its case."""
    instead = _instead_text(task, given)
    more: dict[str, Any] = {
        "instead": instead, "peak": given.peak, "kept": given.kept, "changed": given.changed,
    }  # fmt: skip
    if given.failure is not None:
        return Answer(case, failure=given.failure, **more)
    refused, numbers = _read_answer(task, given.value, case)
    return Answer(case, given.shown, None if instead else numbers, refused=refused, **more)


def _instead_text(task: ExerciseTask, given: Given) -> str:
    """Sentence for a function that lets memlab answer, or other threads or processes work; empty
    for any other."""
    if given.memlab:
        return _text("memlab", name=task.function)
    return _text("started", name=task.function) if given.started else ""


def _read_answer(task: ExerciseTask, value: Any, case: Arguments) -> tuple[str, Numbers | None]:
    """Return why a returned value cannot be an answer, and its numbers; the text is empty and the
    numbers None for a wrong type that needs no explanation."""
    value = task.outcome_of(value, case)
    if task.score is not None:
        try:
            score = task.score(returned_values.ordered(value), deepcopy(case))
        except InputError as error:
            return str(error), None
        return "", returned_values.read(score)
    numbers = returned_values.read(value)
    if type(value) in (set, frozenset):
        return _text("set"), None
    if numbers is None and (kind := returned_values.own_type(value)):
        return _text("own_type", type=kind), None
    return "", numbers


def compare_with_truth(task: ExerciseTask, answer: Answer) -> AnswerComparison:
    """Compute the truth of a case and compare an answer with it."""
    truth = task.truth(**deepcopy(answer.case))
    numbers, answered = returned_values.read(truth), answer.numbers
    if numbers is None:
        raise TypeError(f"{task.name}: the truth must be numbers, got {shorten(truth)}")
    right = answered is not None and returned_values.agree(answered, numbers, task.rel)
    return AnswerComparison(answer, truth, numbers, right)


# -- what is said -------------------------------------------------------------------------------


def stub_text(task: ExerciseTask, answers: Sequence[Answer]) -> str:
    """Sentence for a stub that is not filled in yet; empty for a function that does something."""
    name = task.function
    if all(answer.failure and answer.failure.unwritten for answer in answers):
        return _text("unwritten", name=name)
    if has_blank(answers):
        return _text("blanks", name=name)
    for stub in ("None", "Ellipsis"):
        if all(answer.shown == stub for answer in answers):
            return _text("stores_nothing" if task.run else "nothing", name=name, value=stub)
    return ""


def has_blank(answers: Iterable[Answer]) -> bool:
    """True if a call failed at an ellipsis (``...``) that is still to be filled in."""
    return any(answer.failure and "ellipsis" in answer.failure.message for answer in answers)


def report_wrong(
    task: ExerciseTask, comparisons: Sequence[AnswerComparison], failing: Sequence[AnswerComparison]
) -> Report:
    """Report on a wrong function: the smallest failing case, the answer to it, and a possible
    mistake."""
    if has_blank(comparison.answer for comparison in failing):
        return Report(_text("blanks", name=task.function), attempted=False)
    if sentence := next(
        (comparison.answer.instead for comparison in failing if comparison.answer.instead), ""
    ):
        return Report(sentence)
    slip = slip_of(task, comparisons)
    smallest = _text("smallest", case=task.show_case(failing[0].answer.case))
    lines = [
        _text("fails", failing=len(failing), count=len(comparisons)),
        f"{smallest} {case_text(task, failing[0])}",
        slip_text(task, slip) if slip else _factor_text(task, failing),
    ]
    return Report("\n".join(filter(None, lines)), slip=slip)


def case_text(task: ExerciseTask, comparison: AnswerComparison) -> str:
    """Return one sentence on what the learner's function did in a case."""
    answer, name = comparison.answer, task.function
    if answer.failure is not None:
        return error_text(task, answer.failure)
    if answer.refused:
        return f"{_text('returned', name=name, value=answer.shown)} {answer.refused}"
    if task.score is not None and answer.numbers is not None:
        ratio = Fraction(answer.numbers.first) / Fraction(comparison.numbers.first)
        key = "choice_time" if task.timed else "choice"
        return _text(key, name=name, value=answer.shown, ratio=float(ratio))
    if task.run is not None and answer.numbers is not None:
        wrong, moved = answer.numbers.flat
        return _text("kernel", name=name, wrong=wrong, moved=moved)
    if answer.numbers is None:
        key = "no_number"
    elif answer.numbers.shape == comparison.numbers.shape:
        key = "returned"
    else:
        key = "shape" if comparison.numbers.shape else "single"
    return _text(key, name=name, value=answer.shown)


def error_text(task: ExerciseTask, failure: Failure) -> str:
    """Return one sentence on an error of the learner's function; an InputError of a kernel is one
    already."""
    if task.run and failure.told:
        return failure.message
    text = f"{failure.kind}: {' '.join(failure.message.split())}".removesuffix(": ").rstrip(".")
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    sentence = _text("raised", name=task.function, error=short)
    asks = ASKS.get(failure.kind) if failure.known else None
    return f"{sentence} {strings.get(asks)}" if asks else sentence


def slip_of(task: ExerciseTask, comparisons: Sequence[AnswerComparison]) -> str:
    """Name of the first slip that gives the learner's numbers in every case; empty if none does."""
    all_numbers = all(comparison.answer.numbers is not None for comparison in comparisons)
    slips = task.slips if all_numbers else ()
    fits = (
        name
        for name in slips
        if all(_makes_slip(task, name, comparison) for comparison in comparisons)
    )
    return next(fits, "")


def slip_text(task: ExerciseTask, slip: str) -> str:
    """Return the question that helps a learner to see a slip (a typical mistake). The slip
    ``"largest.0"`` has the text of ``"largest"``."""
    return plain(task.wording(f"slip.{slip.partition('.')[0]}"))


def report_memory(task: ExerciseTask, answers: Sequence[Answer]) -> Report:
    """Report on the memory of a right function: its peak in each case must not exceed the planned
    step, and its array arguments must be unchanged."""
    assert task.plan is not None
    for answer in answers:
        planned = int(task.plan(**deepcopy(answer.case)))
        if answer.changed:
            return Report(_text("overwritten", name=task.function, argument=answer.changed))
        if answer.peak > planned + SINGLE_NUMBERS:
            return _report_over_plan(task, answer, planned)
    cases = [answer.case for answer in answers]
    return Report(
        f"{_agrees_text(cases)} {_text('within')}\n{_text('unseen', name=task.function)}", True
    )


def _report_over_plan(task: ExerciseTask, answer: Answer, planned: int) -> Report:
    sizes = {"peak": in_bytes(answer.peak), "planned": in_bytes(planned)}
    ratio = Fraction(answer.peak, planned) if planned else None
    first = _text("over", ratio=float(ratio), **sizes) if ratio else _text("over_none", **sizes)
    where = _text("over_where", case=task.show_case(answer.case))
    kept = answer.kept > SINGLE_NUMBERS
    kept_text = _text("over_kept", kept=in_bytes(answer.kept), name=task.function) if kept else ""
    return Report("\n".join(filter(None, (first, kept_text, where))), ratio=ratio)


def _factor_text(task: ExerciseTask, failing: Sequence[AnswerComparison]) -> str:
    pairs = [(comparison.answer.numbers, comparison.numbers) for comparison in failing]
    known = [(numbers, truth) for numbers, truth in pairs if numbers is not None and not task.run]
    by = returned_values.factor(*known[0]) if len(known) == len(pairs) > 1 else None
    if by is None or abs(by - 1) < Fraction(1, 100):
        return ""
    if not all(returned_values.scaled(*pair, by, task.rel) for pair in known):
        return ""
    return _text("ratio", off=sentences.distance_text(by))


def _makes_slip(task: ExerciseTask, name: str, comparison: AnswerComparison) -> bool:
    value = returned_values.read(
        task.slips[name](comparison.truth, deepcopy(comparison.answer.case))
    )
    numbers = comparison.answer.numbers
    return (
        numbers is not None
        and value is not None
        and returned_values.agree(numbers, value, task.rel)
    )


def _agrees_text(cases: Sequence[Arguments]) -> str:
    return _text("agrees", count=len(cases))


def _text(key: str, **named: object) -> str:
    return strings.get(f"exercise.check.{key}", **named)
