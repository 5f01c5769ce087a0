"""Publishing of the site: its doors to notebooks elsewhere, and the workflow."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from memlab.errors import InputError
from memlab.lesson_folders import LESSONS
from tests import run
from tests.web.conftest import WHOLE
from web import pyodide
from web.lite.build import LOCK as LITE_LOCK
from web.live import KERNELS, SIZES
from web.node import run_code
from web.publish import check, copies, repository
from web.publish.doors import BINDER, BRANCH, doors
from web.publish.repository import Repository
from web.site import build as site_build
from web.site import frame, places
from web.wasm.build import ready

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


def test_a_lessons_page_has_its_doors_and_no_other_page_has() -> None:
    known = places.places(WHERE, lite=True)
    page = site_build.notebook_page("lessons/01_linear.ipynb", known)
    text = frame.html(page, known)
    for _, address in doors(page.file, page.root, True, WHERE):
        assert f'href="{address}"' in text
    solved = site_build.notebook_page("lessons/solutions/01_linear.ipynb", known)
    assert BINDER not in frame.html(solved, known), "a learner's notebook is what one opens"
    assert BINDER not in frame.html(page, places.places())


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


# -- what is checked -------------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small site that is in order, and a pair that it was made from."""
    source, live = tmp_path / "pair", tmp_path / "site" / "live"
    for folder in (source, live):
        folder.mkdir(parents=True)
        (folder / "pyodide.mjs").write_text("core", "utf-8")
        (folder / "numpy.whl").write_text("numpy", "utf-8")
        digest = hashlib.sha256(b"numpy").hexdigest()
        packages = {"packages": {"numpy": {"file_name": "numpy.whl", "sha256": digest}}}
        for name in (pyodide.LOCK, LITE_LOCK):
            (folder / name).write_text(json.dumps(packages), "utf-8")
    for name in KERNELS:
        (live / name).write_text("kernels", "utf-8")
    (live / SIZES).write_text(json.dumps({"pyodide.mjs": 4, "numpy.whl": 5}), "utf-8")
    monkeypatch.setattr(check, "prepare", lambda pair: source)
    monkeypatch.setattr(check, "is_current", lambda: True)
    return live.parent


RELEASE = f"Pyodide {pyodide.PUBLISHED.version}"
PAIR = dataclasses.replace(pyodide.PUBLISHED, core=("pyodide.mjs", pyodide.LOCK))


def test_a_site_that_is_in_order_is_published(site: Path) -> None:
    assert list(check.complaints(site, PAIR)) == []


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("pyodide.mjs", "care", f"pyodide.mjs is not the one of {RELEASE}."),
        ("numpy.whl", "nump1", f"numpy.whl is not the one of {RELEASE}."),
        ("numpy.whl", "nump1", "numpy.whl has the SHA-256"),
        ("numpy.whl", None, "numpy.whl is missing."),
        ("numpy.whl", None, "jupyterlite-lock.json names numpy.whl, which is not there."),
        ("jupyterlite-lock.json", None, "jupyterlite-lock.json is missing."),
        ("kernels.wasm", None, "kernels.wasm is missing; run `make wasm`."),
        ("sizes.json", '{"numpy.whl": 6}', "sizes.json has 6 B for numpy.whl, which is not so."),
    ],
)
def test_a_site_with_another_file_is_not_published(
    site: Path, file: str, text: str | None, said: str
) -> None:
    place = site / "live" / file
    place.unlink()
    if text is not None:
        place.write_text(text, "utf-8")
    assert [each for each in check.complaints(site, PAIR) if each.startswith(said)]


def test_a_page_that_loads_too_much_is_not_published(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "LARGEST", 20)
    assert [each for each in check.complaints(site, PAIR) if "at most 20 B are allowed" in each]


@pytest.mark.measures
@pytest.mark.skipif(not WHOLE, reason="MEMLAB_WEB=full runs it")
def test_the_kernels_load_in_the_pyodide_that_is_published() -> None:
    """Its core is enough for that: NumPy cannot be had everywhere."""
    kernels = ready()
    table = json.loads(kernels.with_suffix(".json").read_text("utf-8"))["kernels"]
    names = [name for functions in table.values() for name, _ in functions.values()]
    code = f"""
import ctypes, sys
library = ctypes.CDLL("/project/{kernels.relative_to(ROOT).as_posix()}")
print(sys.platform, sum(hasattr(library, name) for name in {names}))
"""
    said = run_code(code, pyodide.PUBLISHED, packages=())
    assert said.split() == ["emscripten", str(len(names))]


# -- the workflow ----------------------------------------------------------------------------------


@pytest.fixture
def workflow() -> dict[str, Any]:
    file = ROOT / ".github/workflows/publish.yml"
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with jupytext")
    return dict(yaml.safe_load(file.read_text("utf-8")))


def test_nothing_is_published_if_a_check_or_a_test_fails(workflow: dict[str, Any]) -> None:
    build, *others = workflow["jobs"].values()
    assert [job["needs"] for job in others] == ["build", "build"]
    lines = [step.get("run") or step["uses"].partition("@")[0] for step in build["steps"]]
    checked = lines.index("python -m web.publish build/site")
    tested = lines.index("python tests/run.py web")
    assert lines.index("python -m web.site --lite") < checked < tested < len(lines) - 1
    assert lines[-1] == "actions/upload-pages-artifact"
    text = (ROOT / ".github/workflows/publish.yml").read_text("utf-8")
    assert not re.search(r"continue-on-error|always\(\)|failure\(\)|if:", text)


def test_the_tests_run_in_full_on_the_pair_that_is_published(workflow: dict[str, Any]) -> None:
    assert workflow["env"]["MEMLAB_PYODIDE"] == pyodide.PUBLISHED.name
    (step,) = (s for s in workflow["jobs"]["build"]["steps"] if "tests/run.py" in s.get("run", ""))
    assert step["env"] == {"MEMLAB_WEB": "full", "MEMLAB_REQUIRE_BROWSER": "1"}
    assert "web" in run.PARTS


def test_a_job_may_do_what_it_does_and_no_more(workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    assert {name: job.get("permissions") for name, job in workflow["jobs"].items()} == {
        "build": None,
        "publish": {"pages": "write", "id-token": "write"},
        "notebooks": {"contents": "write"},
    }
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    for step in steps:
        assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/any@v1"))
    modules = set(re.findall(r"python -m (web\S*)", "\n".join(s.get("run", "") for s in steps)))
    assert modules == {"web.wasm", "web.site", "web.publish", "web.publish.copies"}
    assert all(find_spec(name) for name in modules)


def test_the_branch_of_the_copies_is_the_one_that_pages_name(workflow: dict[str, Any]) -> None:
    push = workflow["jobs"]["notebooks"]["steps"][-1]["run"]
    assert f"--initial-branch {BRANCH}\n" in push
    assert push.strip().endswith(f" {BRANCH}")
