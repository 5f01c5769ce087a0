"""Exercises whose truth is worked out once for the same arguments: it may plan a whole step."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import cache, wraps
from typing import Any

from memlab.lesson.exercise_task import ExerciseTask, tasks

MEASURED = {"01.my_step"}
"""Exercises in which the learner's function is measured beside a run of the step."""


@cache
def known(name: str) -> ExerciseTask:
    """An exercise of a lesson."""
    return replace(tasks()[name], truth=once(tasks()[name].truth))


def once(truth: Callable[..., Any]) -> Callable[..., Any]:
    """The same truth; what a caller does to it stays with the caller."""
    truths: dict[bytes, Any] = {}

    @wraps(truth)
    def again(**case: Any) -> Any:
        key = pickle.dumps(case)
        if key not in truths:
            truths[key] = truth(**case)
        return deepcopy(truths[key])

    return again
