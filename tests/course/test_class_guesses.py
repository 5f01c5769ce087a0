"""The guesses of a room as a view: the answer is hidden until Reveal, and nobody is named."""

import json

import pytest

from memlab import lesson, views
from memlab.course import class_guesses as room
from memlab.errors import InputError
from memlab.lesson import progress
from tests.pictures.shown import send

WARP, TRUTH = "04.warp", "8 x"
"""A card whose truth is planned and runs nothing."""


def controls(view):
    return {control.name for control in view.controls()}


def test_the_answer_is_hidden_until_reveal_is_pressed():
    view = views.class_guesses(WARP, given="32 32 4")
    assert "Answer" not in view.text()
    assert TRUTH not in view.svg() + view.text()
    assert "reveal" in controls(view)
    send(view, ("reveal", None))
    assert view.revealed
    assert f"Answer: {TRUTH}. 0 of 3 (0 %) guessed it." in view.text()
    assert {"hide"} == controls(view) & {"hide", "reveal"}
    send(view, ("hide", None))
    assert TRUTH not in view.svg() + view.text()
    send(view, ("key", "KeyR"))
    assert TRUTH in view.text()


def test_no_truth_is_found_before_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(room, "_TRUTHS", {})
    asked = []

    def nine():
        asked.append(1)
        return 9

    card = lesson.card("How many?", answer=nine, unit="x", name="hidden")
    view = views.class_guesses(card, given=[9, "3"])
    assert asked == []
    view.revealed = True
    view.revealed = False
    view.revealed = True
    assert asked == [1]
    assert "1 of 2 (50 %) guessed it" in view.text()
    assert view.code().startswith("memlab.views.class_guesses(hidden, ")


def test_pasted_guesses_are_counted_as_they_come():
    view = views.class_guesses("03.kernels")
    assert "No guesses yet" in view.text()
    assert "later" not in controls(view)
    send(view, ("given", "A 3\nB: 5\nno idea"))
    assert [row.counts[0].guesses for row in view.rows.rows] == [3, 5, 0, 0]
    assert "1 could not be read" in view.text()
    send(view, ("later", "A 8"))
    assert [[t.guesses for t in row.counts] for row in view.rows.rows][:2] == [[3, 8], [5, 0]]
    assert view.given == "A 3\nB: 5\nno idea"


@pytest.fixture
def folder(tmp_path):
    for at, guess in enumerate(("32", "8", "32")):
        turn = {"at": str(at), "guess": guess, "right": guess == "8"}
        turn |= {} if guess == "8" else {"revision": "8", "revision_right": True}
        content = {"schema": progress.SCHEMA, "seed": at, "cards": {WARP: [turn]},
                   "exercises": {}}  # fmt: skip
        (tmp_path / f"ada{at}.json").write_text(json.dumps(content), encoding="utf-8")
    (tmp_path / "grace.json").write_text("{", encoding="utf-8")
    return tmp_path


def test_a_folder_is_read_again_and_its_revisions_come_with_the_answer(folder):
    view = views.class_guesses(WARP, folder=folder)
    assert [[t.guesses for t in row.counts] for row in view.rows.rows] == [[1], [2]]
    assert "1 files could not be read" not in view.text()
    assert "1 file could not be read" in view.text()
    send(view, ("reveal", None))
    assert [[t.guesses for t in row.counts] for row in view.rows.rows] == [[1, 3], [2, 0]]
    assert "3 of 3 (100 %) had it after that" in view.text()
    assert "ada" not in view.text() + view.svg()
    assert "grace" not in view.text() + view.svg()
    (folder / "ada0.json").rename(folder / "ada0.txt")
    send(view, ("again", None))
    assert [row.counts[0].guesses for row in view.rows.rows] == [1, 1]


def test_guesses_come_from_one_place(folder):
    with pytest.raises(InputError, match="both are given; leave one of them empty"):
        views.class_guesses("03.stride", given="9", folder=str(folder))
    view = views.class_guesses("03.stride", given="9")
    assert "folder" not in controls(view)
    with pytest.raises(InputError, match="is no folder; give one"):
        views.class_guesses("03.stride", folder=folder / "gone")
    with pytest.raises(InputError, match=r"unknown question '03.strid'"):
        views.class_guesses("03.strid")


def test_where_some_of_a_row_are_right_their_number_is_told():
    view = views.class_guesses("00.case", given="66 GB\n75 GB\n12 GB", revealed=True)
    (row,) = [row for row in view.rows.rows if row.truth]
    assert (row.label, row.counts[0]) == ("60 GB to under 80 GB", (2, 1))
    assert "2 · 67 % · 1 right" in view.svg()
