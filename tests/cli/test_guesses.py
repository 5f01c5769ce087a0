"""``memlab guesses``: counts and bars, no learner, and the answer where it is asked for alone."""

import json

import pytest

from memlab.classroom.guesses import WIDE, bar
from memlab.lesson import progress

GUESSES = ["32", "32", "32", "8", "4", ""]
"""At a card whose truth, 8, is planned and runs nothing."""


@pytest.fixture
def room(tmp_path):
    """A class of six, one of whom has a card of an instructor's own, and a broken file."""
    for at, guess in enumerate(GUESSES):
        turn = {"at": str(at), "guess": guess, "right": False if guess else None}
        cards = {"04.warp": [turn], "03.kernels": [turn | {"guess": "twice"}]}
        cards |= {"own.\x1b[31mred": [turn]} if at == 0 else {}
        content = {"schema": progress.SCHEMA, "seed": at, "cards": cards, "exercises": {}}
        folder = tmp_path / f"ada_lovelace_{at}"
        folder.mkdir()
        (folder / "progress.json").write_text(json.dumps(content), encoding="utf-8")
    (tmp_path / "broken\x1b[2J.json").write_text("{", encoding="utf-8")
    return tmp_path


def test_every_card_is_counted_and_no_learner_named(run, room):
    code, out, err = run("guesses", room)
    assert code == 0
    assert out.startswith("6 progress files, and 1 that could not be read. Cards of no lesson")
    assert out.index("03.kernels\n6 guesses.") < out.index("04.warp\n5 guesses, 1 skipped.")
    assert "ada_lovelace" not in out + err
    assert "\x1b" not in out + err
    assert err == ("memlab: broken\\x1b[2J.json is not counted, because the file is not JSON.\n")
    row = next(line for line in out.splitlines() if line.startswith("  32 x"))
    assert row.split() == ["32", "x", "█" * WIDE, "3", "60", "%"]
    assert "right" not in out


def test_the_answer_of_a_card_is_shown_where_it_is_asked_for(run, room):
    _, hidden, _ = run("guesses", room, "--card", "04.warp")
    _, out, _ = run("guesses", room, "--card", "04.warp", "--reveal")
    assert "04.warp\n" in hidden
    assert "Answer" not in hidden
    assert "Answer: 8 x. 1 of 5 (20 %) guessed it." in out
    assert "Most common wrong guess: 32 x (3)." in out
    lines = [line for line in out.splitlines() if line.endswith("right")]
    assert [line.split()[0] for line in lines] == ["8"]


def test_json_has_the_answer_only_if_it_is_asked_for(run, room):
    plain = json.loads(run("guesses", room, "--card", "04.warp", "--json")[1])
    told = json.loads(run("guesses", room, "--card", "04.warp", "--json", "--reveal")[1])
    assert (plain["schema"], plain["files"], plain["broken"]) == ("memlab.guesses/1", 6, 1)
    (card,), (revealed,) = plain["cards"], told["cards"]
    assert card["rows"][1] == {"answer": "8 x", "counts": [1]}
    assert (card["truth"], card["right"]) == (None, None)
    assert revealed["rows"][1] == {"answer": "8 x", "counts": [1], "right": [1], "truth": True}
    assert (revealed["truth"], revealed["right"]) == ("8 x", [1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--reveal"], "may take seconds to compute; name the card"),
        (["--card", "03.strid"], "unknown card '03.strid'; did you mean '03.stride'?"),
    ],
)
def test_a_mistake_is_one_sentence(run, room, words, said):
    code, out, err = run("guesses", room, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_bar_is_as_long_as_its_count():
    assert [len(bar(count, 24)) for count in (0, 1, 12, 24)] == [0, 1, 12, 24]
    assert bar(1, 10_000) == "▏"
