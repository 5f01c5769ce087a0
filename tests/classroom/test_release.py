"""What learners get: the notebook, what it links to, and nothing that solves it."""

import json
import re

import pytest

from memlab.classroom import questions
from memlab.classroom.release import contents, lesson_names, release
from memlab.cli.lessons import copy_lessons
from memlab.errors import InputError
from memlab.lesson_folders import LESSONS, PACKAGE


def code_of(content):
    cells = json.loads(content)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def solutions(name):
    """The lines that only the solved notebook of a lesson has."""
    solved = code_of((LESSONS / "solutions" / f"{name}.ipynb").read_bytes())
    stubs = "\n".join(code_of((LESSONS / f"{name}.ipynb").read_bytes())).splitlines()
    return {line.strip() for cell in solved for line in cell.splitlines()} - {
        *map(str.strip, stubs)
    }


@pytest.mark.parametrize("name", sorted(path.stem for path in LESSONS.glob("*.ipynb")))
def test_a_released_notebook_has_no_line_that_solves_it_and_no_output(name):
    files = contents([name])
    content = json.loads(files[f"{name}.ipynb"])
    lines = {line.strip() for cell in code_of(files[f"{name}.ipynb"]) for line in cell.splitlines()}
    only = solutions(name)
    assert only
    assert not lines & only
    assert not [cell for cell in content["cells"] if cell.get("outputs")]
    assert content["metadata"]["memlab"] == {"lesson": name, "language": "en"}


def test_what_it_links_to_comes_with_it_and_other_lessons_do_not():
    files = contents(["2"])
    assert {
        "02_network.ipynb",
        "glossary.md",
        "appendix/totals.ipynb",
        "AGENTS.md",
        "README.md",
    } <= {*files}
    assert [name for name in files if re.match(r"\d\d_", name)] == ["02_network.ipynb"]
    assert not [name for name in files if "solutions" in name or "instructor" in name]


def test_progress_is_kept_beside_a_released_notebook(tmp_path, monkeypatch):
    (cell,) = (cell for cell in code_of(contents(["02"])["02_network.ipynb"]) if "PROGRESS" in cell)
    monkeypatch.delenv("MEMLAB_PROGRESS", raising=False)
    monkeypatch.chdir(tmp_path)
    exec(cell)
    from memlab.lesson import progress

    assert progress.file() == tmp_path / "progress.json"
    monkeypatch.setenv("MEMLAB_PROGRESS", str(tmp_path / "mine.json"))
    exec(cell)
    assert progress.file() == tmp_path / "mine.json"


def test_the_first_code_cell_names_the_progress_file():
    assert "MEMLAB_PROGRESS" in code_of(contents(["02"])["02_network.ipynb"])[0]


@pytest.mark.parametrize(("name", "language"), [("02", "en"), ("10", "en"), ("01", "zh")])
def test_every_released_cell_is_known_when_it_is_handed_in(name, language):
    (notebook,) = (content for path, content in contents([name], language).items()
                   if path.endswith(f"{lesson_names()[name]}.ipynb"))  # fmt: skip
    assert {code.strip() for code in code_of(notebook)} <= questions.of(name).cells


def test_chinese_lessons_are_released_with_a_chinese_page(tmp_path):
    files = contents(["01"], "zh")
    assert "提交" in files["README.md"].decode()
    assert "zh/01_linear.ipynb" in files
    assert 'MEMLAB_LANGUAGE", "zh"' in code_of(files["zh/01_linear.ipynb"])[0]


def test_every_language_of_the_lessons_has_a_page_on_handing_in():
    languages = {path.parent.name for path in LESSONS.glob("*/[0-9][0-9]_*.ipynb")} - {"solutions"}
    pages = {path.name.split(".")[1] for path in PACKAGE.glob("classroom/hand_in.*.md")}
    assert pages == languages | {"en"}


def test_a_file_that_differs_is_replaced_by_force_alone_and_nothing_else_is_written(tmp_path):
    first = release(["02"], tmp_path)
    assert release(["02"], tmp_path).same == first.new
    mine = tmp_path / "02_network.ipynb"
    mine.write_text("mine")
    with pytest.raises(InputError, match=r"^02_network.ipynb in .* differs from .* --force"):
        release(["02", "03"], tmp_path)
    assert mine.read_text() == "mine"
    assert not (tmp_path / "03_lowering.ipynb").exists()
    done = release(["02", "03"], tmp_path, force=True)
    assert done.replaced == (mine,)
    assert mine.read_bytes() == contents(["02"])["02_network.ipynb"]


@pytest.mark.parametrize(
    ("names", "language", "sentence"),
    [
        (["99"], "en", "unknown lesson '99'"),
        ([""], "en", "unknown lesson ''"),
        (["02_netwrok"], "en", "did you mean '02_network'"),
        (["../02_network"], "en", "unknown lesson"),
        (["02"], "zh", "02_network is not there in 'zh', in which there is 01_linear"),
        (["02"], "xx", "unknown language 'xx'"),
        (["02"], "../en", "unknown language"),
    ],
)
def test_a_lesson_that_is_not_there_is_refused(names, language, sentence):
    with pytest.raises(InputError, match=sentence):
        contents(names, language)


def test_a_released_lesson_is_the_working_copy_but_for_one_cell(tmp_path):
    copy_lessons(LESSONS, tmp_path)
    copy = code_of((tmp_path / "02_network.ipynb").read_bytes())
    assert code_of(contents(["02"])["02_network.ipynb"])[1:] == copy
