"""Wrong functions that people write first: a check answers with a question, never with an error of
memlab.

Each of these wrong functions is a small change of a right one. A slip of the exercise names most;
where none can, because the function gives no numbers, one sentence says what is missing.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memlab import strings
from memlab.lesson import exercise_check
from memlab.lesson.exercise_task import tasks
from memlab.lesson.kernel_threads import cuda
from tests.lesson.known import MEASURED, known
from tests.lesson.wrong_answers import state_of
from tests.quick import apart
from tests.rows import every_row

Function = Callable[..., Any]


def say(key: str, **named: object) -> str:
    return strings.get(f"exercise.check.{key}", **named)


def unguarded(image, lowered, k, pad):
    n = cuda.grid(1)
    rows, columns = lowered.shape[3:]
    ox, oy = n % columns, n // columns % rows
    kx = n // (columns * rows) % k
    ky = n // (columns * rows * k) % k
    c = n // (columns * rows * k * k)
    iy, ix = oy + ky - pad, ox + kx - pad
    inside = 0 <= iy < image.shape[1] and 0 <= ix < image.shape[2]
    lowered[c, ky, kx, oy, ox] = image[c, iy, ix] if inside else 0


def unguarded_load(image, lowered, k, pad):
    n = cuda.grid(1)
    rows, columns = lowered.shape[3:]
    ox, oy = n % columns, n // columns % rows
    kx = n // (columns * rows) % k
    ky = n // (columns * rows * k) % k
    c = n // (columns * rows * k * k)
    if c < lowered.shape[0]:
        lowered[c, ky, kx, oy, ox] = image[c, oy + ky - pad, ox + kx - pad]


def prints(**case):
    print(case)


def one_place_less(load, compute, places):
    loaded, done = 0, list[int]()
    for n in range(len(load)):
        free = done[n - places + 1] if n >= places else 0
        loaded = max(loaded, free) + load[n]
        done.append(max(loaded, done[-1] if done else 0) + compute[n])
    return done


def last_segment_like_the_others(maps, kept):
    ends, fronts = [*kept, len(maps)], [0, *(maps[n] for n in kept)]
    starts = [0, *(n + 1 for n in kept)]
    sums = [f + sum(maps[a:b]) for f, a, b in zip(fronts, starts, ends, strict=True)]
    return [max(sums), sum(fronts)]


def fastest_of_all(peak, time, budget):
    pairs = [(i, j) for i in range(len(peak)) for j in range(i) if peak[i][j] is not None]
    return min(pairs, key=lambda pair: time[pair[0]][pair[1]])


def without_a_look_at_0(memory, fixed, each):
    return min((memory - a) // b for a, b in zip(fixed, each, strict=True))


def no_tanh(x, t, w1, w2):
    g = 2 * (np.tanh(w1 * x + w2) - t)
    return (g * x).mean(), g.mean()


SLIPS: list[tuple[str, str, Function]] = [
    ("00.images_that_fit", "no_fixed", lambda card, fixed, each: card * 10**9 // each),
    ("00.images_that_fit", "not_whole", lambda card, fixed, each: max(
        0, card * 1e9 - fixed) / each),
    ("00.images_that_fit", "in_gb", lambda card, fixed, each: max(0, (card - fixed) // each)),
    ("01.kept", "no_bias", lambda batch, inputs, hidden, outputs: 4 * (
        batch * (inputs + hidden + 2 * outputs) + inputs * hidden + hidden
        + hidden * outputs + 1)),
    ("01.my_step", "no_tanh", no_tanh),
    ("02.largest_batch", "below", lambda memory, fixed, each: min(
        (memory - a) // b for a, b in zip(fixed, each, strict=True) if b)),
    ("02.largest_batch", "below", lambda memory, fixed, each: max(0, min(
        (memory - a) // b for a, b in zip(fixed, each, strict=True) if b))),
    ("11.composed", "last_back", last_segment_like_the_others),
]  # fmt: skip
SENTENCES: list[tuple[str, str, Function]] = [
    ("00.images_that_fit", "without its unit", lambda card, fixed, each: f"{card // each} images"),
    ("02.largest_batch", say("by_zero"), without_a_look_at_0),
    ("03.lowered_bytes", "one number is wanted", lambda batch, channels, **case: [batch, channels]),
    ("04.lower", "compare c with lowered.shape[0]", unguarded),
    ("04.lower", "Guard the load", unguarded_load),
    ("05.vectors", "another shape", lambda width, bits, batch, **case: (batch, width, bits)),
    ("06.model_state", "Exactly 64 times too large", lambda **case: 64 * state_of(**case)),
    ("10.finished", say("index"), one_place_less),
    ("11.composed", "another shape", lambda maps, kept: max(maps)),
    ("11.cheapest_pair", "and the budget is", fastest_of_all),
    ("11.cheapest_pair", "A pair is two numbers", lambda peak, time, budget: [0, 0]),
]  # fmt: skip


def checked(name: str, function: Function, seed: int) -> exercise_check.Report:
    names = ", ".join(tasks()[name].parameters)
    passed = ", ".join(f"{word}={word}" for word in tasks()[name].parameters)
    wrong = eval(f"lambda {names}: function({passed})", {"function": function})
    return exercise_check.check(known(name), function if name == "04.lower" else wrong, seed)


@pytest.mark.table
@pytest.mark.parametrize(("name", "slip", "wrong"), apart(SLIPS, lambda row: row[0] in MEASURED))
def test_a_mistake_that_people_make_gets_its_question(name, slip, wrong):
    question = strings.get(f"task.{name}.slip.{slip}")
    for seed in range(3):
        report = checked(name, wrong, seed)
        assert not report.passed
        assert question in report.text(), report


@every_row(("name", "said", "wrong"), SENTENCES)
def test_a_mistake_without_numbers_gets_its_sentence(name, said, wrong):
    for seed in range(3):
        report = checked(name, wrong, seed)
        assert not report.passed
        assert said in report.text(), report


@pytest.mark.table
@pytest.mark.parametrize("name", sorted(tasks()))
def test_who_prints_in_place_of_returning_is_told(name, capsys):
    report = checked(name, prints, 0) if name != "04.lower" else checked(name, lambda **a: None, 0)
    assert not report.attempted
    assert report.text().startswith("Not yet:")
