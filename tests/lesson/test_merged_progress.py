"""Progress of two tabs, or of two computers, becomes one, and nothing is lost."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.errors import InputError
from memlab.lesson import progress
from memlab.lesson.merged_progress import merged

TIMES = st.sampled_from(
    ["2026-01-01T10:00:00+00:00", "2026-01-01T11:30:00+02:00", "2026-01-02T10:00:00+00:00", "now"]
)
MAYBE = {"because": st.text(max_size=2), "revision": st.text(max_size=2),
         "revision_right": st.booleans(), "shown": st.booleans()}  # fmt: skip
TURNS = st.fixed_dictionaries(
    {"at": TIMES, "guess": st.sampled_from(["1", "2"]), "right": st.none() | st.booleans()},
    optional=MAYBE,
)  # fmt: skip
EXERCISES = st.fixed_dictionaries({
    "checks": st.integers(0, 3), "passed": st.none() | TIMES,
    "hints": st.integers(0, 3), "solution": st.none() | TIMES,
})  # fmt: skip
RECORDS = st.fixed_dictionaries({
    "schema": st.just(progress.SCHEMA), "seed": st.integers(0, 3),
    "cards": st.dictionaries(st.sampled_from(["02.a", "02.b"]),
                             st.lists(TURNS, min_size=1, max_size=3)),
    "exercises": st.dictionaries(st.sampled_from(["02.c", "02.d"]), EXERCISES),
})  # fmt: skip


def turn(at, guess, **more):
    return {"at": f"2026-01-0{at}T10:00:00+00:00", "guess": guess, "right": False, **more}


def record(seed=1, cards=None, exercises=None):
    return {"schema": progress.SCHEMA, "seed": seed, "cards": cards or {},
            "exercises": exercises or {}}  # fmt: skip


@given(RECORDS, RECORDS)
def test_the_order_of_merging_does_not_matter_and_merging_again_changes_nothing(one, other):
    both = merged(one, other)
    assert progress.parsed(json.dumps(both), Path("both")) == both
    assert merged(other, one) == both
    assert merged(both, other) == merged(both, one) == both


def test_answers_of_both_are_kept_once_in_the_order_of_their_times():
    one = record(cards={"02.a": [turn(1, "x"), turn(3, "z")]})
    other = record(cards={"02.a": [turn(1, "x"), turn(2, "y")], "02.b": [turn(4, "w")]})
    cards = merged(one, other)["cards"]
    assert [each["guess"] for each in cards["02.a"]] == ["x", "y", "z"]
    assert [each["guess"] for each in cards["02.b"]] == ["w"]


def test_a_revision_in_one_of_them_is_kept():
    before = turn(1, "x", shown=False)
    after = turn(1, "x", shown=True, revision="y", revision_right=True)
    assert merged(record(cards={"02.a": [before]}), record(cards={"02.a": [after]}))["cards"] == {
        "02.a": [after]
    }


def test_an_exercise_keeps_its_first_success():
    early, late = (f"2026-01-0{day}T10:00:00+00:00" for day in (1, 2))
    one = {"checks": 4, "passed": late, "hints": 0, "solution": None}
    other = {"checks": 2, "passed": early, "hints": 2, "solution": late}
    both = merged(record(exercises={"02.c": one}), record(exercises={"02.c": other}))
    assert both["exercises"]["02.c"] == {"checks": 4, "passed": early, "hints": 2, "solution": late}


def test_the_seed_is_that_of_the_first_answer():
    fresh, begun = record(seed=1), record(seed=2, cards={"02.a": [turn(2, "x")]})
    older = record(seed=3, cards={"02.b": [turn(1, "x")]})
    assert merged(fresh, begun)["seed"] == 2
    assert merged(merged(fresh, older), begun)["seed"] == 3


def test_another_file_is_added_to_the_own_one(tmp_path, monkeypatch):
    path = tmp_path / "progress.json"
    monkeypatch.setenv(progress.FILE, str(path))
    progress.answered("02.a", "mine", False)
    progress.add(json.dumps(record(cards={"02.a": [turn(1, "theirs")]})), Path("other.json"))
    assert [each["guess"] for each in progress.read(path)["cards"]["02.a"]] == ["theirs", "mine"]


DEEP = json.dumps(record())[:-1] + ', "x": ' + "[" * 980 + "]" * 980 + "}"


@pytest.mark.parametrize(
    "content",
    ["", "[1]", '{"schema": "memlab.progress/9"}', "{", b"\xff", DEEP, " " * 2_000_001],
    ids=["empty", "list", "other", "part", "bytes", "deep", "large"],
)
def test_a_file_that_is_no_progress_is_refused_and_the_own_one_stays(
    content, tmp_path, monkeypatch
):
    path = tmp_path / "progress.json"
    monkeypatch.setenv(progress.FILE, str(path))
    progress.answered("02.a", "mine", False)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"other\.json was not added, because the file "):
        progress.add(content, Path("other.json"))
    assert path.read_bytes() == before
