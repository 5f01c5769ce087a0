"""An exercise of an instructor's own: its truth, its cases and its slips stand where it is set.

Example::

    def waiting(batch, sides):
        '''Return the bytes of square fp32 maps of these sides, for a batch.'''
        return sum(4 * batch * side * side for side in sides)

    def one_side(batch, sides):
        return sum(4 * batch * side for side in sides)

    def cases(chance):
        return {"batch": chance.randint(1, 64), "sides": [chance.randint(2, 9) for _ in range(3)]}

    exercise = lesson.task(
        "waiting", truth=waiting, arguments=cases,
        slips={one_side: "Does a map have one side? It has rows and columns."},
    )
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from inspect import getdoc
from typing import Any

from memlab.errors import InputError, shorten
from memlab.lesson import own, returned_values
from memlab.lesson.exercise import Exercise, keep
from memlab.lesson.exercise_task import EDGE, RIGHT, Arguments, ExerciseTask, Slip, case_in_words
from memlab.strings import gettext as _

CASES, HINT = "{'batch': chance.randint(1, 64)}", "How many values?"
SLIPS = "{wrong_function: 'Is that for one image?'}"
"""Arguments that messages propose."""
ROUNDS = 2
"""Number of times a case of each size is drawn when an exercise is made."""


def task(
    name: str,
    text: str | None = None,
    *,
    truth: Callable[..., Any],
    arguments: Callable[..., Mapping[str, Any]],
    slips: Mapping[Callable[..., Any], str] | None = None,
    hints: Sequence[str] = (),
) -> Exercise:
    """Return an exercise of your own: learners write a function, and ``exercise.check(function)``
    compares it with ``truth`` on fresh cases.

    The last line of a cell shows it. Its texts call the variable that holds it ``exercise``. The
    learner's function computes with Python and NumPy: one that calls memlab does not pass. Checks
    and hints are kept in the learner's progress file.

    Args:
        name: of the learner's function, ``"waiting"``; progress is kept under it.
        text: the task, in a few sentences; the first paragraph of the docstring of ``truth`` if not
            given.
        truth: the right function. It may plan or run a step; it returns a number, or numbers in a
            list or an array.
        arguments: draws the arguments of a case from a ``random.Random``, by name: ``lambda chance:
            {"batch": chance.randint(1, 64)}``. With a second parameter it is given a size, 1 to 32:
            the smallest case that fails is shown first.
        slips: the diagnosis of each slip (a typical mistake), a question that helps, by the wrong
            function that somebody who makes it writes.
        hints: hints, each more direct than the one before.

    Returns:
        The exercise.

    Raises:
        InputError: an argument is none of these, or the cases do not tell a slip from the truth.

    >>> from memlab import lesson
    >>> exercise = lesson.task(
    ...     "map_bytes", "Return the bytes of a batch of fp32 maps of side x side values.",
    ...     truth=lambda batch, side: 4 * batch * side**2,
    ...     arguments=lambda chance: {"batch": chance.randint(1, 9), "side": chance.randint(2, 9)},
    ...     slips={lambda batch, side: 4 * batch * side: "Does a map have one side?"})
    >>> print(exercise.check(lambda batch, side: batch * side * 4).text().splitlines()[-1])
    Does a map have one side?
    """
    full = own.full_name("an exercise", name, "waiting")
    draw = _draw(arguments)
    case = draw(random.Random(full), 1)
    right = own.taking("truth", truth, case)
    diagnoses = own.table("slips", {} if slips is None else slips, SLIPS)
    wrong = {f"{n}": _wrong(key, case) for n, key in enumerate(diagnoses)}
    texts = {
        "task": _first_paragraph(right) if text is None else own.text("text", text),
        **{f"slip.{n}": said for n, said in enumerate(diagnoses.values())},
        **{f"hint.{n}": said for n, said in enumerate(own.texts("hints", hints, HINT), 1)},
    }
    made = ExerciseTask(full, draw, right, {n: _slip(one) for n, one in wrong.items()}, texts=texts)
    _check_truth(made, case)
    _check_slips(made, wrong)
    return keep(made)


def _first_paragraph(function: Callable[..., Any]) -> str:
    """Return the first paragraph of a docstring on one line.

    Raises:
        InputError: there is none.
    """
    first = " ".join((getdoc(function) or "").partition("\n\n")[0].split())
    if not first:
        raise InputError(_("the exercise has no task; give a text, or write a docstring into "
                           "{name}.", name=own.name_of(function)))  # fmt: skip
    return first


def _draw(given: object) -> Callable[[random.Random, int], Arguments]:
    """Return the function that draws a case from a random generator and a size, which the
    instructor's may leave out."""
    drawing = own.drawing("arguments", given, (1, 2))
    sized = not own.accepts(drawing, None)

    def draw(chance: random.Random, size: int) -> Arguments:
        drawn = drawing(chance, size) if sized else drawing(chance)
        return own.drawn("what arguments returns", drawn, CASES)

    return draw


def _wrong(given: object, case: Arguments) -> Callable[..., Any]:
    """Return the wrong function of a slip.

    Raises:
        InputError: it cannot be called, or takes something else than the truth.
    """
    if not callable(given):
        raise InputError(_("each slip must be a wrong function, got {given}; try {usual}.",
                           given=shorten(given), usual=SLIPS))  # fmt: skip
    return own.taking(f"slips[{own.name_of(given)}]", given, case)


def _slip(wrong: Callable[..., Any]) -> Slip:
    """Return a slip that gives the value of a wrong function; None where it fails, as the
    learner's does."""

    def slip(truth: Any, case: Arguments) -> Any:
        try:
            return wrong(**case)
        except Exception:  # of a division by 0, perhaps, in some cases
            return None

    return slip


def _check_truth(task: ExerciseTask, case: Arguments) -> None:
    """Raise an InputError if the truth gives no numbers."""
    given = task.ask(task.truth, case)
    if returned_values.read(given) is None:
        raise InputError(_("truth must return a number or a list of numbers, got {given} for "
                           "{case}.", given=shorten(given), case=case_in_words(case)))  # fmt: skip


def _check_slips(task: ExerciseTask, wrong: Mapping[str, Callable[..., Any]]) -> None:
    """Raise an InputError if a wrong function gives no number, or no case tells it from the truth
    and from the others."""
    cases = [task.draw(random.Random(f"{task.name} {size}"), size) for size in {*task.sizes}]
    for name, function in wrong.items():
        values = (task.slips[name](None, case) for case in cases)
        if all(returned_values.read(value) is None for value in values):
            raise InputError(_("the slip {name} returned no number for any of {count} cases; "
                               "write it as a learner would.",
                               name=own.name_of(function), count=len(cases)))  # fmt: skip
    chance = random.Random(task.name)
    _cases, alike = task.telling(chance, sorted(task.sizes), ROUNDS)
    for pair in sorted(alike - {EDGE}):
        names = [own.name_of(task.truth if n == RIGHT else wrong[n]) for n in pair]
        raise InputError(_("{one} and {other} give the same in all of {count} cases; draw wider "
                           "arguments, or leave the slip out.", one=names[0], other=names[1],
                           count=ROUNDS * len(task.sizes)))  # fmt: skip
