"""Progress files of a class: each answer counts once, and a broken file stops nothing."""

import json
import os

import pytest

from memlab.errors import InputError
from memlab.lesson import class_files, progress
from memlab.lesson.card_question import topics

STRIDE = "03.stride"


def record(guess, seed=1, at="2026-11-02T10:00:00+01:00", **more):
    turn = {"at": at, "guess": guess, "right": None if not guess else False, **more}
    return {"schema": progress.SCHEMA, "seed": seed, "cards": {STRIDE: [turn]}, "exercises": {}}


@pytest.fixture
def submitted(tmp_path):
    """Write a progress file for each record that is given, in a folder of its learner."""

    def write(*records):
        for at, content in enumerate(records):
            folder = tmp_path / f"learner{at}"
            folder.mkdir()
            (folder / "progress.json").write_text(json.dumps(content), encoding="utf-8")
        return tmp_path

    return write


def counted(folder):
    guesses = class_files.read(folder).guesses(topics()[STRIDE])
    return [
        [getattr(answer, "text", answer) for answer in answers] for answers in guesses.series
    ], guesses


def test_first_guesses_and_the_last_answers_of_the_same_people(submitted):
    folder = submitted(record("9", 1, revision="2.25", revision_right=True), record("4.5", 2),
                       record("", 3))  # fmt: skip
    series, guesses = counted(folder)
    assert series == [["9.00", "4.5"], ["2.25", "4.5"]]
    assert guesses.skipped == 1


def test_without_a_revision_there_is_one_series(submitted):
    assert counted(submitted(record("9", 1), record("9", 2)))[0] == [["9.00", "9.00"]]


def test_an_answer_in_two_files_counts_once_with_its_revision(submitted):
    folder = submitted(record("9", 5), record("9", 5, revision="3"), record("9", 5),
                       record("9", 6))  # fmt: skip
    assert counted(folder)[0] == [["9.00", "9.00"], ["3.00", "9.00"]]


def test_a_later_round_has_other_numbers_and_does_not_count(submitted):
    once = record("9")
    once["cards"][STRIDE].append({"at": "", "guess": "49", "right": False})
    assert counted(submitted(once))[0] == [["9.00"]]


def test_files_may_lie_deep_or_directly_in_the_folder(tmp_path):
    deep = tmp_path / "a" / "01_one" / "my"
    deep.mkdir(parents=True)
    (deep / "progress.json").write_text(json.dumps(record("9", 1)))
    (deep / "other.json").write_text(json.dumps(record("9", 2)))
    (tmp_path / "ada.json").write_text(json.dumps(record("3", 3)))
    assert sorted(counted(tmp_path)[0][0]) == ["3.00", "9.00"]


def test_what_is_no_answer_is_left_out(submitted):
    series, guesses = counted(submitted(record("\x1b[2J", 1), record("9" * 10**5, 2), record("9")))
    assert series == [["9.00"]]
    assert len(guesses.unread) == 2


def broken(path):
    """Ways to hand in a file that is none, by what is said of it."""
    path.mkdir()
    (path / "a.json").write_text("{", encoding="utf-8")
    (path / "b.json").write_text('{"schema": "other"}', encoding="utf-8")
    (path / "c.json").write_text("[" * 10**5, encoding="utf-8")
    (path / "d.json").write_bytes(b" " * (progress.LARGEST + 1))
    os.mkfifo(path / "e.json")
    (path / "f.json").symlink_to("/dev/zero")
    (path / "g.json").symlink_to(path / "ok.json")
    (path / "h\x1b[31m.json").write_text("{}", encoding="utf-8")
    (path / "ok.json").write_text(json.dumps(record("9")), encoding="utf-8")
    return path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name")
def test_a_broken_file_is_one_sentence_and_the_others_count(tmp_path):
    files = class_files.read(broken(tmp_path / "class"))
    assert files.files == 1
    ends = ("is not JSON", "schema memlab.progress/1", "is not JSON", "2,000,000 bytes",
            "is a link or no regular file", "is a link or no regular file",
            "is a link or no regular file", "schema memlab.progress/1")  # fmt: skip
    assert len(files.broken) == len(ends)
    for sentence, end in zip(files.broken, ends, strict=True):
        assert sentence.endswith(f"{end}.")
        assert sentence.isprintable()
    assert files.broken[0] == "a.json is not counted, because the file is not JSON."


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"has no progress files; give one that holds"):
        class_files.read(tmp_path)
    with pytest.raises(InputError, match=r"is no folder; give one"):
        class_files.read(tmp_path / "gone")


def test_cards_that_are_not_known_are_named(submitted):
    content = record("9")
    content["cards"] = {"own.mine": content["cards"][STRIDE]}
    assert class_files.read(submitted(content)).others(topics()) == {"own.mine": 1}
