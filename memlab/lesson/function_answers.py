"""Answers of a learner's function to cases, without a word on whether they are right.

Asking and judging are two steps: a notebook asks in its own process, and whoever grades a
submission asks in a confined one. What comes back is plain: a value, and what the process that made
the call says about it.
"""

from __future__ import annotations

import builtins
import gc
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memlab.errors import InputError
from memlab.lesson import returned_values
from memlab.lesson.cached_arrays import kept_bytes
from memlab.lesson.guarded_call import Watch

Arguments = dict[str, Any]
"""Arguments of a call, by keyword."""
LONGEST = 2000
"""Most characters of an error message that are kept."""


@dataclass(frozen=True)
class Failure:
    """Exception that a learner's function raised: its type by name, and its message on one line.

    ``known`` is True for one of Python's own types, ``unwritten`` for a ``NotImplementedError``,
    and ``told`` for memlab's own sentence about a kernel.
    """

    kind: str
    message: str = ""
    known: bool = False
    unwritten: bool = False
    told: bool = False


@dataclass(frozen=True)
class Given:
    """Returned ``value`` of a call, and the same as text (``shown``); or the ``failure``.

    ``memlab`` is True where the function let memlab work for it, ``started`` where it started a
    thread or a process. Where arrays are measured, ``peak`` is the most bytes of them, ``kept`` the
    bytes that were there before the call, and ``changed`` the name of an argument that the function
    overwrote.
    """

    value: Any = None
    shown: str = ""
    failure: Failure | None = None
    memlab: bool = False
    started: bool = False
    peak: int = 0
    kept: int = 0
    changed: str = ""


@dataclass(frozen=True)
class Asking:
    """Way to call a learner's function: through ``run`` where it is a kernel. ``offered`` are the
    functions of memlab that it may call."""

    run: Callable[[Callable[..., Any], Arguments], Any] | None = None
    offered: tuple[Callable[..., Any], ...] = ()

    def call(self, function: Callable[..., Any], arguments: Arguments) -> Any:
        """Return the result of a function for these very arguments, which the function may
        change."""
        return self.run(function, arguments) if self.run else function(**arguments)

    def one(
        self,
        function: Callable[..., Any],
        arguments: Arguments,
        copied: Callable[[Any], Any] = returned_values.plain,
    ) -> Given:
        """Return what a function gives for these very arguments. The returned value is ``copied``
        at once: the next call may change it."""
        offered: tuple[Callable[..., Any], ...] = (
            Asking.call,
            returned_values.listed,
            *self.offered,
        )
        watch = Watch(offered, leads=self.run is not None)
        try:
            with watch:
                value = returned_values.listed(self.call(function, arguments))
        except Exception as error:
            given = Given(failure=failure_of(error))
        else:
            given = Given(copied(value), returned_values.value_text(value))
            del value
        return replace(given, memlab=bool(watch.memlab), started=bool(watch.started))

    def each(self, function: Callable[..., Any], cases: Sequence[Arguments]) -> list[Given]:
        """Return what a function gives for copies of all cases, without measuring arrays."""
        return [self.one(function, deepcopy(case)) for case in cases]

    def measured(self, function: Callable[..., Any], cases: Sequence[Arguments]) -> list[Given]:
        """Return what a function gives for copies of all cases, each with the peak bytes of arrays
        in its call.

        The peak counts arrays that the call allocates, arrays that earlier calls left, and arrays
        that the function keeps.
        """
        from memlab.runtime.metering.meter import Meter

        answers, copies = [], [deepcopy(case) for case in cases]
        kept = kept_bytes(function)
        with Meter() as meter:
            for number, arguments in enumerate(copies):
                if meter.live:
                    gc.collect()  # arrays in a cycle are nobody's
                left = meter.begin(number)
                # An array that is copied, or held until the next call, would count.
                given = self.one(function, arguments, returned_values.numbers_or_foreign)
                peak = kept.nbytes + meter.peak
                answers.append(replace(given, peak=peak, kept=kept.nbytes + left))
        return [
            replace(given, changed=changed_argument(case, arguments),
                    started=given.started or kept.threads)
            for given, case, arguments in zip(answers, cases, copies, strict=True)
        ]  # fmt: skip


def failure_of(error: Exception) -> Failure:
    """Return an exception as plain values; one of the learner's own may not know what it is."""
    kind = type(error)
    try:
        message = str(error) if isinstance(error, InputError) else " ".join(str(error).split())
    except Exception:
        message = ""
    return Failure(
        kind.__name__,
        message[:LONGEST],
        known=getattr(builtins, kind.__name__, None) is kind,
        unwritten=isinstance(error, NotImplementedError),
        told=isinstance(error, InputError),
    )


def changed_argument(case: Arguments, arguments: Arguments) -> str:
    """Name of the first array argument whose shape or values changed; empty if none did. They are
    read with NumPy's own methods."""
    arrays = [name for name, value in case.items() if type(value) is np.ndarray]
    return next((name for name in arrays if _bytes(case[name]) != _bytes(arguments[name])), "")


def _bytes(array: Any) -> tuple[Any, bytes]:
    return array.shape, np.ndarray.tobytes(array)
