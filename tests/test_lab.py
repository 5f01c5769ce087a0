import json
import os
import re
from pathlib import Path

import pytest

from memlab import strings
from memlab.classroom.release import TUTOR
from memlab.cli import lessons as module
from memlab.lesson.card import Card
from memlab.lesson.exercise import Exercise
from memlab.lesson_folders import LESSONS, PACKAGE

OUTPUT = {"output_type": "stream", "name": "stdout", "text": ["4\n"]}


def notebook(source="print(4)"):
    code = {"cell_type": "code", "source": [source], "outputs": [OUTPUT], "execution_count": 3}
    prose = {"cell_type": "markdown", "source": ["B·k² bytes"], "metadata": {}}
    metadata = {"widgets": {"state": {}}, "kernelspec": {"name": "python3"}}
    cells = [{**code, "metadata": {"tags": ["x"]}}, prose]
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with two lessons, a solution, a table and a picture."""
    for name in ("00_start.ipynb", "02_network.ipynb", "solutions/00_start.ipynb"):
        put(tmp_path / "lessons" / name, json.dumps(notebook()))
    put(tmp_path / "lessons/data/gpus/a100.csv", "MB\n")
    put(tmp_path / "lessons/images/network.png", "picture")
    monkeypatch.setattr(module, "CHECKOUT", tmp_path)
    monkeypatch.setattr(module, "LESSONS", tmp_path / "lessons")
    return tmp_path


@pytest.fixture
def wheel(checkout, monkeypatch):
    """The same lessons without a checkout; the folder that a learner calls `memlab lab` in."""
    for name in ("memlab.cli.lessons.CHECKOUT", "memlab.lesson_folders.CHECKOUT"):
        monkeypatch.setattr(name, None)
    here = checkout / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def started(monkeypatch):
    """The servers that were started: none for real."""
    servers = []

    class Server:
        def __init__(self, command, cwd, env):
            self.command, self.cwd, self.env, self.waits = command, cwd, env, 0
            servers.append(self)

        def wait(self):
            self.waits += 1
            if self.waits == 1:
                raise KeyboardInterrupt
            return 7

    monkeypatch.setattr("subprocess.Popen", Server)
    return servers


def test_what_a_lesson_needs_is_copied_and_nothing_else(checkout):
    mine = checkout / "my"
    new = module.copy_lessons(checkout / "lessons", mine)
    expected = {"00_start.ipynb", "02_network.ipynb", "data/gpus/a100.csv", "images/network.png"}
    assert {path.relative_to(mine).as_posix() for path in new} == expected
    assert set(new) == {path for path in mine.rglob("*") if path.is_file()}


def test_nothing_hidden_is_copied(checkout):
    lessons, mine = checkout / "lessons", checkout / "my"
    for folder in (".", "images", "data/gpus"):
        put(
            lessons / folder / ".ipynb_checkpoints/00_start-checkpoint.ipynb",
            json.dumps(notebook()),
        )
        put(lessons / folder / ".00_start.ipynb", "{")
        put(lessons / folder / ".glossary.md", "")
    module.copy_lessons(lessons, mine)
    assert not [path for path in mine.rglob("*") if path.name.startswith(".")]
    assert (mine / "00_start.ipynb").exists()


def test_a_hidden_folder_may_hold_the_lessons(tmp_path):
    put(tmp_path / ".cache/lessons/00_start.ipynb", json.dumps(notebook()))
    assert module.copy_lessons(tmp_path / ".cache/lessons", tmp_path / "my")


def test_outputs_are_cleared_and_the_rest_is_kept(checkout):
    module.copy_lessons(checkout / "lessons", checkout / "my")
    copy = json.loads((checkout / "my/00_start.ipynb").read_text(encoding="utf-8"))
    expected = notebook()
    expected["cells"][0] |= {"outputs": [], "execution_count": None}
    del expected["metadata"]["widgets"]
    assert copy == expected


def test_a_working_copy_is_never_overwritten_and_a_new_lesson_is_added(checkout):
    lessons, mine = checkout / "lessons", checkout / "my"
    module.copy_lessons(lessons, mine)
    put(mine / "00_start.ipynb", "mine")
    put(mine / "images/network.png", "mine too")
    put(lessons / "00_start.ipynb", json.dumps(notebook("print(5)")))
    put(lessons / "03_lowering.ipynb", json.dumps(notebook()))
    assert module.copy_lessons(lessons, mine) == [mine / "03_lowering.ipynb"]
    assert (mine / "00_start.ipynb").read_text() == "mine"
    assert (mine / "images/network.png").read_text() == "mine too"


def test_translated_lessons_are_copied_for_those_who_read_them(
    checkout, started, capsys, monkeypatch
):
    put(checkout / "lessons/zh/02_network.ipynb", json.dumps(notebook("print(2)")))
    put(checkout / "lessons/zh/solutions/02_network.ipynb", json.dumps(notebook()))
    put(checkout / "lessons/zh/.02_network.ipynb", "{")
    module.lab([])
    assert not (checkout / "my/zh").exists()
    assert "zh" not in capsys.readouterr().out.replace(str(checkout), "")
    monkeypatch.setattr("memlab.strings.language", lambda: "zh")
    module.lab([])
    assert [path.name for path in (checkout / "my/zh").iterdir()] == ["02_network.ipynb"]
    told = "In zh there are zh/02_network.ipynb; the others are in English."
    assert told in capsys.readouterr().out


def test_a_copy_that_is_cut_short_leaves_nothing(checkout, monkeypatch):
    def full(self, target):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        module.copy_lessons(checkout / "lessons", checkout / "my")
    assert list((checkout / "my").iterdir()) == []


def test_jupyterlab_starts_in_my_on_lesson_00(checkout, started, capsys):
    assert module.lab(["--no-browser"]) == 7
    (server,) = started
    assert server.cwd == checkout / "my"
    assert server.command[1:3] == ["-m", "jupyterlab"]
    assert server.command[3:] == ["--LabApp.default_url=/lab/tree/00_start.ipynb", "--no-browser"]
    (line,) = capsys.readouterr().out.splitlines()
    assert str(checkout / "my") in line


def test_progress_is_kept_in_my_and_the_environment_goes_along(checkout, started, monkeypatch):
    monkeypatch.delenv("MEMLAB_PROGRESS", raising=False)
    monkeypatch.setenv("OTHER", "kept")
    module.lab([])
    (server,) = started
    assert server.env["MEMLAB_PROGRESS"] == str(checkout / "my" / "progress.json")
    assert server.env["OTHER"] == "kept"
    assert "MEMLAB_PROGRESS" not in os.environ


@pytest.mark.parametrize("chosen", ["", "/elsewhere/progress.json"])
def test_where_a_learner_keeps_progress_is_left_to_them(checkout, started, monkeypatch, chosen):
    monkeypatch.setenv("MEMLAB_PROGRESS", chosen)
    module.lab([])
    assert started[0].env["MEMLAB_PROGRESS"] == chosen


@pytest.mark.parametrize("within", [".", "memlab-lessons"])
def test_lessons_of_a_wheel_open_in_one_folder_below(wheel, started, monkeypatch, capsys, within):
    folder = wheel / "memlab-lessons"
    folder.mkdir()
    monkeypatch.chdir(wheel / within)
    assert module.lab([]) == 7
    (server,) = started
    assert server.cwd == folder
    assert (folder / "00_start.ipynb").is_file()
    assert not (folder / folder.name).exists()
    assert server.env["MEMLAB_PROGRESS"] == str(folder / "progress.json")
    assert str(folder) in capsys.readouterr().out


def test_a_wheel_without_jupyterlab_says_what_to_run(wheel, started, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert module.lab([]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert '-m pip install "memlab[lab,lessons]"' in line
    assert not started
    assert not list(wheel.iterdir())


@pytest.mark.parametrize("chosen", [None, "", "/etc/elsewhere"])
def test_jupyterlab_is_told_not_to_ask_about_news(checkout, started, monkeypatch, chosen):
    monkeypatch.delenv("JUPYTER_CONFIG_PATH", raising=False)
    if chosen is not None:
        monkeypatch.setenv("JUPYTER_CONFIG_PATH", chosen)
    module.lab([])
    *others, ours = started[0].env["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    assert others == ([chosen] if chosen else [])
    defaults = Path(ours) / "labconfig/default_setting_overrides.d/memlab.json"
    assert json.loads(defaults.read_text(encoding="utf-8")) == {
        "@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}
    }


def test_without_lesson_00_jupyterlab_opens_the_folder(checkout):
    assert module.command(checkout, ["--no-browser"])[3:] == ["--no-browser"]


def test_without_jupyterlab_one_sentence_says_what_to_run(checkout, started, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert module.lab([]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert 'pip install -e ".[lab,lessons]" -c constraints.txt' in line
    assert not started


def test_without_lessons_one_sentence_says_where_they_are(tmp_path, started, monkeypatch, capsys):
    monkeypatch.setattr(module, "CHECKOUT", tmp_path)
    monkeypatch.setattr(module, "LESSONS", tmp_path / "lessons")
    assert module.lab([]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert str(tmp_path / "lessons") in line
    assert not started
    assert not (tmp_path / "my").exists()


@pytest.fixture(autouse=True)
def ordinary_user(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)


@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_root_is_let_in_as_in_a_container(tmp_path, monkeypatch, user, allowed):
    monkeypatch.setattr(os, "geteuid", lambda: user, raising=False)
    assert ("--allow-root" in module.command(tmp_path, [])) is allowed


# -- rules for AI assistants --------------------------------------------------------------------


def test_the_rules_for_assistants_stand_beside_the_copies(checkout, started):
    module.lab([])
    assert (checkout / "my" / "AGENTS.md").read_bytes() == TUTOR.read_bytes()


def test_rules_that_the_learner_changed_are_left_alone(checkout, started):
    put(checkout / "my/AGENTS.md", "Answer in Greek.")
    module.lab([])
    assert (checkout / "my/AGENTS.md").read_text() == "Answer in Greek."
    assert not module.write_rules(checkout / "my")


def test_the_rules_fit_a_screen_and_forbid_what_gives_an_answer_away():
    text = TUTOR.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    never = text.partition("## Never")[2].partition("## ")[0]
    assert never.count("\n- ") >= 4
    calls = re.findall(r"`\.(\w+)\(", never)
    assert {"guess", "revise", "reveal", "skip"} == set(calls)
    for name in calls:
        assert callable(getattr(Card, name))
    assert callable(Exercise.solution)
    for path in ("progress.json", "solutions", "memlab/lesson/content", "exercise.solution()"):
        assert path in never
    assert (PACKAGE / "lesson" / "content").is_dir()
    assert (LESSONS / "solutions").is_dir()


def test_the_rules_name_buttons_as_they_are_labelled():
    text = TUTOR.read_text(encoding="utf-8")
    named = set(re.findall(r"\*\*(\w+)\*\*", text))
    labels = {strings.get("card.control.hint", degree=1, degrees=3).split()[0],
              strings.get("card.control.skip")}  # fmt: skip
    assert named == labels
