"""What the site is published with: its doors to notebooks elsewhere, and the workflow."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from memlab.errors import InputError
from memlab.lesson_folders import LESSONS
from web.publish import copies, repository
from web.publish.doors import BRANCH, doors
from web.publish.repository import Repository

ROOT = Path(__file__).resolve().parents[2]
WHERE = Repository("owner/name", "c0ffee")


def test_without_a_repository_nothing_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(repository.VARIABLE, raising=False)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (repository.repository() is None) == ("Repository" not in project.get("urls", {}))
    assert doors("lessons/01_linear.ipynb", "../", False, None) == []


@pytest.mark.parametrize("given", ["owner/name", "https://github.com/owner/name.git"])
def test_a_repository_is_named_by_the_environment(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(repository.VARIABLE, given)
    monkeypatch.setenv(repository.COMMIT, "c0ffee")
    assert repository.repository() == WHERE


def test_another_name_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(repository.VARIABLE, "https://example.org/memlab")
    with pytest.raises(InputError, match="it is owner/name of a repository on GitHub"):
        repository.repository()


def test_the_doors_of_a_page_in_a_folder_lead_to_its_notebook() -> None:
    rows = dict(doors("lessons/zh/01_linear.ipynb", "../../", True, WHERE))
    assert rows["JupyterLite"] == "../../lite/notebooks/index.html?path=zh/01_linear.ipynb"
    assert rows["Colab"].endswith(f"/github/owner/name/blob/{BRANCH}/lessons/zh/01_linear.ipynb")
    assert rows["Binder"].endswith("owner/name/c0ffee?urlpath=lab/tree/lessons/zh/01_linear.ipynb")


def test_a_copy_for_colab_begins_with_one_cell_that_installs_what_is_missing(
    tmp_path: Path,
) -> None:
    count = copies.write(tmp_path, WHERE)
    notebooks = sorted((tmp_path / "lessons").rglob("*.ipynb"))
    assert count == len(notebooks) >= len([*LESSONS.glob("0*.ipynb"), *LESSONS.glob("1*.ipynb")])
    copy = json.loads((tmp_path / "lessons/01_linear.ipynb").read_text("utf-8"))
    source = json.loads((LESSONS / "01_linear.ipynb").read_text("utf-8"))
    first, *others = copy["cells"]
    assert [cell["id"] for cell in others] == [cell["id"] for cell in source["cells"]]
    code = "".join(first["source"])
    assert '"memlab[lessons] @ git+https://github.com/owner/name@c0ffee"' in code
    names: dict[str, object] = {}
    exec(TransformerManager().transform_cell(code), names)  # get_ipython would fail: no kernel
    assert "memlab" in names


def test_the_committed_notebooks_have_no_cell_that_installs() -> None:
    for path in LESSONS.rglob("*.ipynb"):
        assert "%pip" not in path.read_text("utf-8"), path


def test_binder_installs_what_the_lab_needs_in_the_versions_of_the_project() -> None:
    folder = ROOT / ".binder"
    if not folder.exists():
        pytest.skip("a release has no folder for Binder")
    lines = (folder / "requirements.txt").read_text("utf-8").split("\n")
    assert lines == ["-c ../constraints.txt", "-e .[lab,lessons]", ""]
    python = (folder / "runtime.txt").read_text("utf-8").strip()
    assert f"python={python.removeprefix('python-')}" in (ROOT / "environment.yml").read_text(
        "utf-8"
    )
