"""Progress of a learner: it is written, loses nothing, and never stops a lesson."""

import json
import os
import subprocess
import sys
from datetime import datetime

import pytest
from filelock import FileLock

from memlab import strings
from memlab.errors import InputError
from memlab.lesson import predict, progress


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """A process that has said nothing and drawn no seed."""
    monkeypatch.delenv("MEMLAB_SEED", raising=False)
    monkeypatch.delenv("MEMLAB_PROGRESS", raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.1)
    progress._print_once.cache_clear()
    progress._process_seed.cache_clear()


@pytest.fixture
def named(monkeypatch):
    def name(path):
        monkeypatch.setenv("MEMLAB_PROGRESS", str(path))
        return path

    return name


@pytest.fixture
def path(tmp_path, named):
    return named(tmp_path / "progress.json")


def do_everything():
    progress.answered("02.output", "6.4 MB", False)
    progress.checked("02.peak", True)
    progress.hinted("02.peak", 1)
    progress.solved("02.peak")
    return progress.seed()


# -- what is kept -------------------------------------------------------------------------------


def test_every_attempt_at_a_card_is_kept_with_its_time(path):
    begun = datetime.now().astimezone().replace(microsecond=0)
    progress.answered("02.output", "6.4 MB", False)
    progress.answered("02.output", "", None)
    progress.answered("02.output", "6.5 MB", True)
    turns = progress.read(path)["cards"]["02.output"]
    assert [(turn["guess"], turn["right"]) for turn in turns] == [
        *(("6.4 MB", False), ("", None), ("6.5 MB", True))
    ]
    for turn in turns:
        at = datetime.fromisoformat(turn["at"])
        assert begun <= at <= datetime.now().astimezone()
        assert at.microsecond == 0


def test_a_reason_and_a_revision_are_kept_with_the_guess(path):
    progress.answered("02.output", "6.4 MB", False, because="one image")
    progress.revised("02.output", "12 MB", True)
    progress.answered("02.output", "9 MB", False)
    first, second = progress.read(path)["cards"]["02.output"]
    assert (first["because"], first["revision"], first["revision_right"]) == (
        *("one image", "12 MB", True),
    )
    assert first["shown"]
    assert sorted(second) == ["at", "guess", "right", "shown"]
    assert not second["shown"]


def test_a_revision_of_nothing_is_none(path):
    progress.revised("02.output", "12 MB", True)
    assert progress.read(path)["cards"] == {}


def test_an_exercise_counts_its_checks_and_keeps_when_it_first_passed(path, monkeypatch):
    monkeypatch.setattr(progress, "_time_now", iter(["first", "second"]).__next__)
    progress.checked("02.peak", False)
    assert progress.read(path)["exercises"]["02.peak"]["passed"] is None
    progress.checked("02.peak", True)
    progress.checked("02.peak", True)
    progress.checked("02.peak", False)
    entry = progress.read(path)["exercises"]["02.peak"]
    assert entry == {"checks": 4, "passed": "first", "hints": 0, "solution": None}


def test_hints_and_a_solution_that_was_shown_are_kept(path, monkeypatch):
    monkeypatch.setattr(progress, "_time_now", iter(["first", "second"]).__next__)
    for degree in (1, 3, 2):
        progress.hinted("02.peak", degree)
    progress.solved("02.peak")
    progress.solved("02.peak")
    entry = progress.read(path)["exercises"]["02.peak"]
    assert entry == {"checks": 0, "passed": None, "hints": 3, "solution": "first"}


def test_people_can_read_the_file_and_what_they_add_stays(path):
    progress.answered("02.output", "k² × 3", False)
    kept = progress.read(path)
    assert kept["schema"] == "memlab.progress/1"
    assert '\n      {\n        "at": "' in path.read_text(encoding="utf-8")
    assert "k² × 3" in path.read_text(encoding="utf-8")
    path.write_text(json.dumps(kept | {"note": "mine"}), encoding="utf-8")
    progress.answered("02.output", "9", True)
    assert progress.read(path)["note"] == "mine"


@pytest.mark.measures
def test_a_revealed_card_is_kept(path):
    card = predict("02.halve").skip().reveal()
    (turn,) = progress.read(path)["cards"]["02.halve"]
    assert (turn["guess"], turn["right"]) == ("", None)
    card.reveal()
    assert len(progress.read(path)["cards"]["02.halve"]) == 1


def test_a_folder_that_is_not_there_yet_is_made(tmp_path, named):
    path = named(tmp_path / "new" / "progress.json")
    assert progress.seed() == progress.read(path)["seed"]


@pytest.mark.parametrize("value", [None, ""])
def test_where_no_file_is_named_nothing_is_written(value, tmp_path, monkeypatch, capsys):
    if value is not None:
        monkeypatch.setenv("MEMLAB_PROGRESS", value)
    monkeypatch.chdir(tmp_path)
    do_everything()
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out == ""


def test_a_home_that_nobody_knows_is_a_name_like_any_other(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMLAB_PROGRESS", "~nobody-of-that-name/progress.json")
    monkeypatch.chdir(tmp_path)
    path = progress.file()
    assert path is not None
    assert progress.seed() == progress.read(path)["seed"]


WRITER = """
import sys
from memlab.lesson import progress
progress.PATIENCE = 60
print("ready", flush=True)
sys.stdin.read()
for n in range(40):
    progress.answered("02.output", f"{sys.argv[1]} {n}", False)
    progress.checked("02.peak", False)
"""


def writer(name):
    command = [sys.executable, "-c", WRITER, name]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.measures
def test_two_notebooks_that_write_at_once_lose_nothing(path):
    with writer("a") as one, writer("b") as two:
        assert [process.stdout.readline() for process in (one, two)] == [b"ready\n", b"ready\n"]
        one.stdin.close()
        two.stdin.close()
        assert [process.stdout.read() for process in (one, two)] == [b"", b""]
    assert (one.returncode, two.returncode) == (0, 0)
    kept = progress.read(path)
    guesses = [turn["guess"] for turn in kept["cards"]["02.output"]]
    for name in ("a", "b"):
        assert [guess for guess in guesses if guess[0] == name] == [
            f"{name} {n}" for n in range(40)
        ]
    assert kept["exercises"]["02.peak"]["checks"] == 80


# -- seeds --------------------------------------------------------------------------------------


def test_a_seed_belongs_to_its_file_and_neighbours_differ(tmp_path, named):
    seeds = set()
    for name in ("one", "two"):
        path = named(tmp_path / name)
        seeds.add(first := progress.seed())
        do_everything()
        assert progress.seed() == first == progress.read(path)["seed"]
    assert len(seeds) == 2


@pytest.mark.measures
def test_without_a_file_a_seed_stays_within_its_process():
    code = "from memlab.lesson.progress import seed; print(seed(), seed())"
    lines = [subprocess.check_output([sys.executable, "-c", code]).split() for _ in range(2)]
    assert [first == again for first, again in lines] == [True, True]
    assert lines[0] != lines[1]


def test_the_environment_may_set_the_seed(path, monkeypatch):
    mine = progress.seed()
    monkeypatch.setenv("MEMLAB_SEED", "7")
    assert progress.seed() == 7
    monkeypatch.setenv("MEMLAB_SEED", "")
    assert progress.seed() == mine


def test_a_seed_that_is_no_number_is_said_once_and_another_used(path, monkeypatch, capsys):
    mine = progress.seed()
    monkeypatch.setenv("MEMLAB_SEED", "seven")
    assert progress.seed() == progress.seed() == mine
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert "'seven'" in out


# -- what goes wrong ----------------------------------------------------------------------------

SOUND = {"schema": "memlab.progress/1", "seed": 1, "cards": {}, "exercises": {}}
BROKEN = {
    "nothing": b"",
    "half": b'{"schema": "memlab.progress/1",',
    "no text": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "a list": b"[1, 2]",
    "another schema": json.dumps(SOUND | {"schema": "memlab.progress/2"}).encode(),
    "no seed": json.dumps(SOUND | {"seed": None}).encode(),
    "cards in a list": json.dumps(SOUND | {"cards": []}).encode(),
    "an empty card": json.dumps(SOUND | {"cards": {"02.output": []}}).encode(),
    "a turn of words": json.dumps(SOUND | {"cards": {"02.output": ["right"]}}).encode(),
    "a reason in numbers": json.dumps(
        SOUND | {"cards": {"02.x": [{"at": "", "guess": "9", "right": True, "because": 9}]}}
    ).encode(),
    "a revision in a list": json.dumps(
        SOUND | {"cards": {"02.x": [{"at": "", "guess": "9", "right": False, "revision": ["9"]}]}}
    ).encode(),
    "checks in words": json.dumps(SOUND | {"exercises": {"02.peak": {"checks": "2"}}}).encode(),
}


@pytest.mark.table
@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_stays_as_it_is_and_the_lesson_goes_on(path, content, capsys):
    path.write_bytes(content)
    assert do_everything() == do_everything()
    assert path.read_bytes() == content
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert str(path) in out
    with pytest.raises(InputError, match="rename or delete it"):
        progress.read(path)


def test_a_sound_file_is_read():
    assert progress._is_valid(SOUND)


def test_a_file_that_cannot_be_written_is_said_once(tmp_path, named, capsys):
    parent = tmp_path / "file"
    parent.write_text("no folder")
    path = named(parent / "progress.json")
    assert do_everything() == do_everything()
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert str(path) in out
    assert parent.read_text() == "no folder"


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may write everywhere")
def test_in_a_read_only_folder_the_file_is_still_read(path, capsys):
    mine, before = do_everything(), path.read_bytes()
    path.parent.chmod(0o500)
    try:
        assert do_everything() == mine
    finally:
        path.parent.chmod(0o700)
    assert path.read_bytes() == before
    assert capsys.readouterr().out.count("\n") == 1


def test_a_write_that_is_cut_short_leaves_the_old_file(path, monkeypatch, capsys):
    mine, before = do_everything(), path.read_bytes()
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "no")))
    assert do_everything() == mine
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.part"))
    assert not list(path.parent.glob(".*.part"))
    assert capsys.readouterr().out.count("\n") == 1


def test_a_lock_that_is_held_is_not_waited_for_long(path, capsys):
    mine, before = do_everything(), path.read_bytes()
    with FileLock(path.with_name(f".{path.name}.lock")):
        assert do_everything() == mine
    assert path.read_bytes() == before
    assert capsys.readouterr().out == strings.get("progress.locked", path=path) + "\n"
    do_everything()
    assert progress.read(path)["exercises"]["02.peak"]["checks"] == 2


# -- the table ----------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_card_and_exercise(path):
    progress.answered("03.copy", "9", True)
    progress.answered("02.output", "6.4 MB", False, because="one image")
    for guess, right in (("", None), ("6.5 MB", False)):
        progress.answered("02.output", guess, right)
    for guess, right in (("1 MB", True), ("2 MB", False)):
        progress.answered("02.peak", guess, right)
    progress.answered("02.last", "", None)
    progress.answered("02.half", "2", False, because="all of it halves")
    progress.revised("02.half", "1.1", True)
    progress.checked("02.alone", False)
    progress.checked("02.worked", True)
    progress.hinted("02.worked", 2)
    progress.solved("02.worked")
    top, *lines = progress.text(progress.read(path), path).splitlines()
    assert str(path) in top
    assert lines == [
        "",
        "Lesson 02",
        "  card    guess   revision  result          rounds",
        "  output  6.5 MB  none      not yet         3",
        "  peak    1 MB    none      right           2",
        "  last    none    none      skipped         1",
        "  half    2       1.1       right, revised  1",
        "  output: because one image",
        "  half: because all of it halves",
        "  exercise  checks  result   hints  solution",
        "  alone     1       not yet  0      not shown",
        "  worked    1       passed   2      shown",
        "",
        "Lesson 03",
        "  card  guess  revision  result  rounds",
        "  copy  9      none      right   1",
    ]


def test_an_old_file_is_read_and_shown(path):
    old = {"at": "2026-01-01T00:00:00+00:00", "guess": "9", "right": True}
    path.write_text(json.dumps(SOUND | {"cards": {"03.copy": [old]}}), encoding="utf-8")
    assert "  copy  9      none      right   1" in progress.text(progress.read(path), path)


DELETED = (
    "02.total",
    "03.pointwise",
    "04.stride",
    "05.fill",
    "06.mask_bytes",
    "08.runs",
    "00.mebibytes",
)
"""Cards and exercises that older versions asked."""


def test_a_file_that_names_deleted_cards_is_read_and_kept(path):
    """02.case was a question of recall about the same two figures, and is a prediction now."""
    turn = {"at": "2026-01-01T00:00:00+00:00", "guess": "2", "right": False}
    cards = {name: [turn] for name in ("02.case", *DELETED)}
    exercise = {"checks": 2, "passed": None, "hints": 1, "solution": None}
    old = SOUND | {"cards": cards, "exercises": {"06.mask_bytes": exercise}}
    path.write_text(json.dumps(old), encoding="utf-8")
    assert predict("02.case").now.typed == "2.0"
    progress.answered("02.halve", "1.1", True)
    kept = progress.read(path)
    assert {name: kept["cards"][name] for name in cards} == cards
    assert kept["exercises"] == old["exercises"]
    assert progress.lessons({"02": ["02.case"]}) == {"02"}


def test_a_deleted_card_is_not_shown_as_open(path):
    for name in (*DELETED, "02.halve"):
        progress.answered(name, "2", False)
    progress.checked("06.mask_bytes", False)
    shown = progress.text(progress.read(path), path, asked={"02.halve"}).splitlines()
    rows = {line.split()[0]: line for line in shown if line.startswith("  ") and len(line) > 12}
    assert "not yet" in rows["halve"]
    for name in DELETED:
        assert "no longer asked" in rows[name[3:]]
    assert [line for line in shown if "not yet" in line] == [rows["halve"]]


def test_a_card_of_an_instructor_is_shown_as_open(path):
    for name in ("own.maps", "week2.reads"):
        progress.answered(name, "2", False)
    progress.checked("own.waiting", False)
    shown = progress.text(progress.read(path), path, asked={"02.halve"})
    assert shown.count("not yet") == 3
    assert "no longer asked" not in shown


def test_the_table_of_a_file_without_entries_says_so(path):
    progress.seed()
    said = "You have not answered a card or checked an exercise yet."
    assert progress.text(progress.read(path), path).endswith(said)
