"""The commands of a classroom: what they write and refuse."""

import pytest

from tests.classroom.handing_in import CARD, notebook, record, turn, write


def test_release_writes_lessons_and_says_which(run, as_json, tmp_path):
    folder = tmp_path / "class"
    code, out, err = run("release", "02", "-o", folder)
    assert (code, err) == (0, "")
    assert "02_network.ipynb" in out
    assert (folder / "README.md").exists()
    facts = as_json("release", "02_network", "--output", folder)
    assert (facts["schema"], facts["new"]) == ("memlab.release/1", [])
    assert "02_network.ipynb" in facts["same"]
    (folder / "02_network.ipynb").write_text("mine")
    code, out, err = run("release", "02", "-o", folder)
    assert (code, out) == (2, "")
    assert err.startswith("memlab: 02_network.ipynb in ")
    assert as_json("release", "02", "-o", folder, "--force")["replaced"] == ["02_network.ipynb"]


def test_progress_beside_a_released_notebook_is_shown(run, tmp_path, monkeypatch):
    monkeypatch.delenv("MEMLAB_PROGRESS", raising=False)
    monkeypatch.chdir(write(tmp_path, {"progress.json": record(cards={CARD: [turn("2")]})}))
    code, out, err = run("progress")
    assert (code, err) == (0, "")
    assert "in progress.json." in out
    assert "halve" in out


def test_release_in_chinese(run, tmp_path):
    assert run("release", "1", "--language", "zh", "-o", tmp_path)[0] == 0
    assert (tmp_path / "zh/01_linear.ipynb").exists()


BAD = {
    "release": "LESSON",
    "release 77": "unknown lesson '77'",
    "release 02 --language fr": "unknown language 'fr'",
    "release 02 -o a.txt": "cannot write into 'a.txt': it is no folder",
    "release 02 -o a.txt/b": "cannot write into 'a.txt/b'",
    "release 02 -o a\0b": "no folder has such a name",
    "grade": "FOLDER",
    "grade class": "--csv",
    "grade nowhere --csv m.csv": "'nowhere' is no folder",
    "grade empty --csv m.csv": "holds no folder of a learner",
    "grade class --csv no/m.csv": "cannot write 'no/m.csv'",
    "grade class --csv m.csv --seconds 0": "seconds must be above 0",
    "grade class --csv m.csv --seconds x": "above 0 and below 86401, got 'x'",
    "grade class --csv m.csv --memory lots": "'lots' is no amount of memory",
    "grade class --csv m.csv --seconds 1e9": "seconds must be above 0 and below 86401",
    "grade class --csv m.csv --memory 10MB": "at least 200 MB for Python and NumPy",
    "grade class --csv m.csv --jobs 0": "jobs must be at least 1",
    "grade class --csv m.csv --roster a.txt": "is no table of learners",
    "grade class --csv m.csv --roster none.csv": "none.csv cannot be read",
    "grade class --csv class/ada/02_network.ipynb": "lies in the folder of a learner",
    "grade class/ada/.. --csv class/ada/m.csv": "lies in the folder of a learner",
    "grade class --csv class/bo_1_2_02_network.ipynb": "has the name of a file that was handed in",
    "grade class --csv m.csv --roster m-canvas.csv": "would overwrite the roster",
}


@pytest.mark.parametrize("line", BAD)
def test_a_mistake_is_one_sentence_and_nothing_is_written(run, tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"a.txt": "x", "class/ada/02_network.ipynb": notebook(),
                     "m-canvas.csv": "Student,ID\nada,1\n"})  # fmt: skip
    (tmp_path / "empty").mkdir()
    before = {*tmp_path.rglob("*")}
    code, out, err = run(*line.split())
    assert (code, out) == (2, "")
    assert err.startswith("memlab: ")
    assert BAD[line] in err
    assert err.count("\n") == 1
    assert {*tmp_path.rglob("*")} == before


def test_windows_is_told_where_to_grade(run, monkeypatch):
    monkeypatch.setattr("sys.platform", "win32")
    code, out, err = run("grade", "class", "--csv", "m.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "Subsystem for Linux" in err
