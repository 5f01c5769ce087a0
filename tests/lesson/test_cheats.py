"""Cheating solutions: each is refused, or the check says that it does not see such a thing.

They are solutions of ``10.means``, whose arrays are measured: ``greedy`` gives right means with too
many arrays, and every cheat hides these, or has no means of its own.
"""

import sys
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memlab import strings
from memlab.lesson import exercise_check
from memlab.lesson.exercise_check import Report
from memlab.lesson.exercise_task import tasks
from memlab.lesson.material.allocation import in_bytes
from tests.lesson.known import MEASURED
from tests.quick import apart

NAME = "10.means"
Function = Callable[..., Any]


def check(function: Function, seed: int = 0) -> Report:
    return exercise_check.check(tasks()[NAME], function, seed)


def say(key: str, **named: object) -> str:
    return strings.get(f"exercise.check.{key}", **named)


def greedy(images: Any, batch: int) -> list[float]:
    """The right means, of arrays that take 2 to 3 times all images in fp32."""
    x = images.astype(np.float32) / 255
    return [float(x[n : n + batch].mean()) for n in range(0, len(x), batch)]


def into(place: Any, images: Any, batch: int) -> list[float]:
    """The right means, by an array of somebody else that all images fit into."""
    x = place[: len(images) * images[0].size].reshape(images.shape)
    np.divide(images, 255, out=x, casting="unsafe")
    return [float(x[n : n + batch].mean(dtype=np.float64)) for n in range(0, len(x), batch)]


LARGE = 10**6
PLACE = np.empty(LARGE, np.float32)
POOL = ThreadPoolExecutor(1)
KNOWN: dict[bytes, Any] = {}
CALLS: list[int] = []
FOUND: list[Any] = []


class Same(int):
    """A number that takes itself for every other one."""

    @property
    def numerator(self) -> Any:
        return Everything()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __sub__(self, other: Any) -> Any:
        return Everything()


class Everything:
    denominator = 1

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class SameArray(np.ndarray):
    """An array that takes itself for every other one, and gives lists of such numbers."""

    def __eq__(self, other: object) -> Any:
        return True

    def __array__(self, *given: Any, **more: Any) -> Any:
        return Everything()

    def tolist(self) -> Any:
        return [Same()] * len(self)


def cached(images, batch):
    """Keeps 50 copies of what it was given, for the next time."""
    key = images.tobytes()
    if key not in KNOWN:
        KNOWN[key] = [images.astype(np.float32) for _ in range(50)], greedy(images, batch)
        return [0.0]
    return KNOWN[key][1]


def keeps_arrays(images, batch):
    """Fills arrays that it keeps, so that a later call finds them."""
    FOUND.append(images.astype(np.float32))
    return [float(images[n : n + batch].mean() / 255) for n in range(0, len(images), batch)]


def in_a_thread(images, batch):
    means: list[float] = []
    thread = threading.Thread(target=lambda: means.extend(greedy(images, batch)))
    thread.start()
    thread.join()
    return means


def in_a_pool(images, batch):
    return POOL.submit(greedy, images, batch).result()


def in_a_process(images, batch):
    import subprocess

    subprocess.run([sys.executable, "-c", ""], check=False)
    return greedy(images, batch)


def in_a_module_level_array(images, batch):
    return into(PLACE, images, batch)


def in_a_default(images, batch, place=PLACE):
    return into(place, images, batch)


def in_a_view(images, batch):
    return into(PLACE[10:-10], images, batch)


@lru_cache
def place() -> Any:
    return types.SimpleNamespace(array=np.empty(LARGE, np.float32))


def in_a_cache_of_a_helper(images, batch):
    return into(place().array, images, batch)


def in_an_attribute(images, batch):
    return into(in_an_attribute.place, images, batch)  # type: ignore[attr-defined]


in_an_attribute.place = PLACE  # type: ignore[attr-defined]


def as_it_is_read(images, batch):
    """Makes its arrays when its answer is read."""
    yield from greedy(images, batch)


def right_for_the_first_calls(images, batch):
    CALLS.append(batch)
    if len(CALLS) > 5:
        return [0.0]
    return tidy(images, batch)


def equal_to_everything(images, batch):
    return [Same(3) for _ in range(0, len(images), batch)]


def one_that_equals(images, batch):
    return Same(3)


def an_array_that_equals(images, batch):
    return np.zeros(-(-len(images) // batch)).view(SameArray)


def a_fraction_with_other_parts(images, batch):
    number = Fraction(1, 3)
    number._numerator = Everything()  # type: ignore[attr-defined]
    return [number] * -(-len(images) // batch)


def the_truth_of_memlab(images, batch):
    return tasks()[NAME].truth(images, batch)


def a_part_of_memlab(images, batch):
    from memlab.lesson.content import lesson_10

    return [float(p.mean()) / 255 for p in lesson_10._parts({"images": images, "batch": batch})]


def from_the_frames_of_the_check(images, batch):
    frame: Any = sys._getframe()
    while frame is not None and "task" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["task"].truth(images, batch)


def tidy(images, batch):
    """A right solution within the plan."""
    place = np.empty((batch, *images.shape[1:]), np.float32)
    means = []
    for n in range(0, len(images), batch):
        part = images[n : n + batch]
        x = place[: len(part)]
        np.divide(part, 255, out=x, casting="unsafe")
        means.append(float(x.mean()))
    return means


# -- NumPy, patched -----------------------------------------------------------------------------


@contextmanager
def patched(name: str, value: Any) -> Iterator[None]:
    before = getattr(np, name, None)
    setattr(np, name, value)
    try:
        yield
    finally:
        setattr(np, name, before) if before is not None else delattr(np, name)


def by_a_patched_empty(images, batch):
    return into(np.empty(images.size, np.float32), images, batch)


def by_a_patched_comparison(images, batch):
    means = tidy(images, batch)
    images[:] = 0
    return means


def in_numpy_itself(images, batch):
    return into(np.place_for_all, images, batch)  # type: ignore[attr-defined]


EMPTY = np.empty


def handed_out(size: Any, dtype: Any = float) -> Any:
    return PLACE[:size] if dtype is np.float32 else EMPTY(size, dtype)


PATCHES: dict[Function, tuple[str, Any]] = {
    by_a_patched_empty: ("empty", handed_out),
    by_a_patched_comparison: ("array_equal", lambda one, other: True),
    in_numpy_itself: ("place_for_all", PLACE),
}

MEMLAB, OTHERS = say("memlab", name="means"), say("started", name="means")
TOO_MUCH, WRONG = "The peak of your function is", "fresh cases disagree"
REFUSED: dict[Function, str] = {
    greedy: TOO_MUCH,
    cached: WRONG,
    keeps_arrays: TOO_MUCH,
    in_a_thread: OTHERS,
    in_a_pool: OTHERS,
    in_a_process: OTHERS,
    in_a_module_level_array: TOO_MUCH,
    in_a_default: TOO_MUCH,
    in_a_view: TOO_MUCH,
    in_a_cache_of_a_helper: TOO_MUCH,
    in_an_attribute: TOO_MUCH,
    as_it_is_read: TOO_MUCH,
    right_for_the_first_calls: WRONG,
    equal_to_everything: "Same is not a plain number",
    one_that_equals: "Same is not a plain number",
    an_array_that_equals: WRONG,
    a_fraction_with_other_parts: "no number",
    the_truth_of_memlab: MEMLAB,
    a_part_of_memlab: MEMLAB,
    from_the_frames_of_the_check: MEMLAB,
    by_a_patched_empty: TOO_MUCH,
    by_a_patched_comparison: "overwrites images",
    in_numpy_itself: TOO_MUCH,
}


@pytest.mark.table
@pytest.mark.parametrize(
    "cheat", apart(REFUSED, lambda cheat: cheat is in_a_process), ids=lambda cheat: cheat.__name__
)
def test_a_cheat_is_refused(cheat: Function) -> None:
    for kept in (KNOWN, CALLS, FOUND):
        kept.clear()
    name, value = PATCHES.get(cheat, ("nothing", None))
    with patched(name, value):
        report = check(cheat)
    assert not report.passed
    assert REFUSED[cheat] in report.text()


@pytest.mark.parametrize("wrapped", [lambda truth: truth, partial])
def test_a_truth_is_no_function_of_the_learner(wrapped: Function) -> None:
    report = check(wrapped(tasks()[NAME].truth))
    assert MEMLAB in report.text()
    assert not report.passed


def test_a_truth_that_is_asked_as_the_answer_is_read_is_memlabs() -> None:
    task = tasks()["00.images_that_fit"]
    report = exercise_check.check(
        task, lambda card, fixed, each: map(task.truth, [card], [fixed], [each]), 0
    )
    assert say("memlab", name="images_that_fit") in report.text()


@pytest.mark.table
@pytest.mark.parametrize("name", apart(sorted(tasks()), MEASURED.__contains__))
@pytest.mark.parametrize("kind", [lambda number: number, lambda number: [number] * 2])
def test_a_number_that_equals_everything_answers_no_exercise(name: str, kind: Function) -> None:
    for number in (Same(3), Everything()):
        report = exercise_check.check(tasks()[name], lambda **case: kind(number), 0)  # noqa: B023
        assert not report.passed


def test_arrays_that_are_kept_are_told() -> None:
    report = check(in_a_module_level_array)
    kept = say("over_kept", kept=in_bytes(4_000_000), name="means")
    assert kept in report.text()


# -- a step, measured beside a run ----------------------------------------------------------------


def steps(x, t, w1, w2):
    y = np.tanh(w1 * x + w2)
    g = 2 * (y - t) * (1 - y**2)
    return float((g * x).mean()), float(g.mean())


def lean_for_the_first_calls(x, t, w1, w2):
    """The solution, for 5 calls."""
    CALLS.append(1)
    if len(CALLS) > 5:
        return 0.0, 0.0
    y = np.tanh(w1 * x + w2)
    g = y - t
    y *= y
    g *= np.subtract(1, y, out=y)
    g *= 2
    return float(np.dot(g, x) / len(x)), float(g.mean())


def copies_of_x(x, t, w1, w2):
    key = x.tobytes()
    if key not in KNOWN:
        KNOWN[key] = [x.copy() for _ in range(50)]
    return steps(x, t, w1, w2)


def step_in_a_thread(x, t, w1, w2):
    gradients: list[Any] = []
    thread = threading.Thread(target=lambda: gradients.append(steps(x, t, w1, w2)))
    thread.start()
    thread.join()
    return gradients[0]


def step_in_a_module_level_array(x, t, w1, w2):
    y, g = SCRATCH[0, : len(x)], SCRATCH[1, : len(x)]
    np.multiply(x, w1, out=y)
    np.tanh(np.add(y, w2, out=y), out=y)
    np.subtract(y, t, out=g)
    y *= y
    g *= np.subtract(2, np.multiply(y, 2, out=y), out=y)
    return float(np.dot(g, x) / len(x)), float(g.mean())


SCRATCH = np.empty((2, 10**6))


@pytest.mark.measures
@pytest.mark.parametrize(
    ("cheat", "said"),
    [
        (lean_for_the_first_calls, WRONG),
        (copies_of_x, TOO_MUCH),
        (step_in_a_thread, say("started", name="my_step")),
        (step_in_a_module_level_array, TOO_MUCH),
    ],
)
def test_a_cheat_at_a_step_is_refused(cheat: Function, said: str) -> None:
    KNOWN.clear()
    CALLS.clear()
    report = exercise_check.check(tasks()["01.my_step"], cheat, 0)
    assert not report.passed
    assert said in report.text()


# -- what is not seen, and said -----------------------------------------------------------------


def in_lists(images, batch):
    flat = [value / 255 for value in images.ravel().tolist()]
    values = images[0].size * batch
    return [
        sum(flat[n : n + values]) / len(flat[n : n + values]) for n in range(0, len(flat), values)
    ]


def hidden_in_a_module(images, batch):
    return into(vars(sys.modules["hidden"])["pl" + "ace"], images, batch)


def by_a_thread_from_before(images, batch):
    return vars(sys.modules["hidden"])["po" + "ol"].submit(greedy, images, batch).result()


GOTCHAS = Path(__file__).resolve().parents[2] / "docs" / "gotchas.md"
UNSEEN: dict[Function, str] = {
    in_lists: "Python lists",
    hidden_in_a_module: "hides in a module",
    by_a_thread_from_before: "passes to an older thread",
}


@pytest.mark.parametrize("cheat", UNSEEN, ids=lambda cheat: cheat.__name__)
def test_what_passes_is_named(cheat: Function, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = types.ModuleType("hidden")
    vars(hidden).update(place=PLACE, pool=POOL)
    monkeypatch.setitem(sys.modules, "hidden", hidden)
    report = check(cheat)
    assert report.passed, report
    unseen = " ".join(GOTCHAS.read_text(encoding="utf-8").split()).partition("does not see")[2]
    assert UNSEEN[cheat] in unseen


# -- right ones ---------------------------------------------------------------------------------


def says_what_it_does(images, batch):
    print("images", len(images))
    from math import fsum

    return [fsum(part.ravel()) / part.size / 255 for part in parts(images, batch)]


def parts(images, batch):
    """A helper of the notebook, and a class of the learner's that holds no array."""
    return [images[n : n + batch] for n in range(0, len(images), batch)]


def calls_itself(images, batch):
    """Leaves a cycle with its array at each call."""
    place = np.empty((batch, *images.shape[1:]), np.float32)

    def means(n):
        if n >= len(images):
            return []
        x = place[: len(images[n : n + batch])]
        np.divide(images[n : n + batch], 255, out=x, casting="unsafe")
        return [float(x.mean()), *means(n + batch)]

    return means(0)


@pytest.mark.table
@pytest.mark.parametrize(
    "right", apart([tidy, says_what_it_does, calls_itself], lambda right: right is calls_itself)
)
def test_a_right_one_is_not_refused(right: Function) -> None:
    report = check(right, 0)
    assert report.passed, report
