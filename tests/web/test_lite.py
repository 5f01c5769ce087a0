"""JupyterLite beside the pages: its wheels, its lock file, and a lesson that opens live."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memlab.lesson_folders import LESSONS
from tests.web import live_page
from tests.web.conftest import WHOLE
from web.lite import build, wheels
from web.pyodide import PUBLISHED, TEST

METADATA = "Name: a.b\nVersion: 1\nRequires-Dist: NumPy>=2\nRequires-Dist: x; extra == 'test'\n"
FILES = {
    "b/__init__.py": b"x = 1\n",
    "a_b-1.dist-info/METADATA": METADATA.encode(),
    "a_b-1.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
}


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return wheels.write(tmp_path / "a_b-1-py3-none-any.whl", FILES)


def test_a_wheel_lists_its_files_with_their_hashes(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        rows = list(csv.reader(archive.read("a_b-1.dist-info/RECORD").decode().splitlines()))
        assert (
            {row[0] for row in rows} == {*FILES, "a_b-1.dist-info/RECORD"} == {*archive.namelist()}
        )
    listed = {row[0]: row[1:] for row in rows}
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"x = 1\n").digest()).decode().rstrip("=")
    assert listed["b/__init__.py"] == [f"sha256={digest}", "6"]
    assert listed["a_b-1.dist-info/RECORD"] == ["", ""]


def test_the_same_files_make_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    again = wheels.write(tmp_path / "again.whl", dict(reversed(FILES.items())))
    assert again.read_bytes() == wheel.read_bytes()


def test_the_entry_of_a_wheel_says_what_it_needs_and_what_it_is(wheel: Path) -> None:
    entry = wheels.entry(wheel, "../lite/wheels/")
    assert (entry["name"], entry["version"]) == ("a-b", "1")
    assert entry["file_name"] == "../lite/wheels/a_b-1-py3-none-any.whl"
    assert entry["sha256"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert entry["imports"] == ["b"]
    assert entry["depends"] == ["numpy"], "an extra is no need"


def test_a_lock_file_names_nothing_that_the_site_does_not_have(tmp_path: Path, wheel: Path) -> None:
    told = {
        "numpy": {"name": "numpy", "file_name": "numpy.whl", "depends": []},
        "ipython": {"name": "ipython", "file_name": "ipython.whl", "depends": ["Pure_Eval"]},
        "pure-eval": {"name": "pure-eval", "file_name": "pure.whl", "depends": []},
        "scipy": {"name": "scipy", "file_name": "scipy.whl", "depends": ["numpy"]},
    }
    lock = {"info": {"python": "3.14.2"}, "packages": told}
    (tmp_path / "pyodide-lock.json").write_text(json.dumps(lock), "utf-8")
    own = wheels.entry(wheel, "../w/", ["numpy", "gone"])
    made = wheels.lock(tmp_path, ["ipython", "numpy"], "../w/", ["numpy"], [own])
    files = {name: row["file_name"] for name, row in made["packages"].items()}
    assert files == {
        "a-b": "../w/a_b-1-py3-none-any.whl",
        "ipython": "../w/ipython.whl",
        "numpy": "numpy.whl",
        "pure-eval": "../w/pure.whl",
    }
    assert made["info"] == lock["info"]
    assert made["packages"]["a-b"]["depends"] == ["numpy"]


def test_what_comes_beside_a_pair_is_not_taken_from_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer Pyodide has ``typing-extensions``, but its IPython does not ask for it."""
    told: dict[str, Any] = {name: {"depends": []} for name in ("micropip", "jedi", "numpy", "comm")}
    told["ipython"] = {"depends": ["typing-extensions", "jedi"]}
    told["typing-extensions"] = {"depends": []}
    (tmp_path / "pyodide-lock.json").write_text(json.dumps({"packages": told}), "utf-8")
    monkeypatch.setattr(wheels, "prepare", lambda *_: tmp_path)
    newer, older = PUBLISHED, TEST
    assert wheels.of_pyodide(newer)[1] == ["ipython", "jedi", "micropip", "numpy"]
    assert wheels.of_pyodide(older)[1] == ["ipython", "jedi", "numpy"]
    assert "typing_extensions" in wheels.beside(newer)
    assert any(name.startswith("micropip==") for name in wheels.beside(older))


def test_memlabs_wheel_holds_what_pages_load_and_the_kernels(tmp_path: Path) -> None:
    kernels = tmp_path / "kernels.wasm"
    kernels.write_bytes(b"\0asm")
    with zipfile.ZipFile(wheels.memlab_wheel(tmp_path, [kernels])) as archive:
        names = set(archive.namelist())
        (info,) = (name for name in names if name.endswith("/METADATA"))
        assert "Requires-Dist" not in archive.read(info).decode(), "there is no Numba in a page"
    assert {"memlab/__init__.py", "memlab/pictures/live/view.js", "kernels.wasm"} <= names
    own = {name for name in names if name.startswith("web/")}
    assert own == set(wheels.LEARNERS), "IPython and the widgets themselves are there"


def test_the_notebooks_of_all_languages_are_there_without_outputs(tmp_path: Path) -> None:
    build.copy_notebooks(tmp_path)
    copies = {path.relative_to(tmp_path) for path in tmp_path.rglob("*.ipynb")}
    folders = ("*.ipynb", "appendix/*.ipynb", "[a-z][a-z]/*.ipynb")
    lessons = {path.relative_to(LESSONS) for name in folders for path in LESSONS.glob(name)}
    assert copies == lessons
    for path in copies:
        cells = json.loads((tmp_path / path).read_text("utf-8"))["cells"]
        assert not [cell for cell in cells if cell.get("outputs")], path


def test_the_kernel_asks_nothing_outside_for_packages() -> None:
    config = build.settings()["jupyter-config-data"]
    ((_, options),) = config["litePluginSettings"].items()
    assert options["disablePyPIFallback"]
    loading = options["loadPyodideOptions"]
    for address in (options["pyodideUrl"], loading["lockFileURL"]):
        assert address.startswith("./../live/")
    assert loading["env"]["MEMLAB_MACHINE"] == "recorded"


# -- opened ----------------------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    build.build(tmp_path)
    with live_page.served(tmp_path) as address:
        yield address


@pytest.mark.measures
@pytest.mark.skipif(not WHOLE, reason="JupyterLite is installed and opened; MEMLAB_WEB=full does")
def test_a_lesson_opens_with_its_first_view_live(site: str, page: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{site}lite/notebooks/index.html?path=01_linear.ipynb")
    page.locator(".jp-Notebook .jp-CodeCell").first.click()
    page.keyboard.press("Shift+Enter")
    view = page.locator(".memlab-view").first
    view.wait_for(timeout=120_000)
    assert "16 B" in view.inner_text()
    slider = view.locator("input[type=range]").first
    slider.press("ArrowRight")
    page.locator(".memlab-view[data-shown='1']").wait_for()
    assert not [url for url in asked if not url.startswith((site, "data:", "blob:"))]
