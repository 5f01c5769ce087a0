"""The examples of CONTRIBUTING work: a layer takes 2 files of the library, a still chart 3, a live
view 4.

The package is copied to a temporary folder, the example is written there as it stands on the page,
and the tests that hold for every layer, or for every page, are run on it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.measures

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
BLOCK = re.compile(r"```(?:python|toml)\n# ((?:memlab|tests)/\S+?)(, added)?\n(.*?)```", re.DOTALL)
VIEWS = {"A chart that stands still": 3, "A live view": 4}
LAYERS = {"A leaky ReLU": 2}
"""The headings of the examples, and how many files of the library each may touch."""
PAGES = ("views/test_pages.py",)
OF_A_LAYER = (
    "layers", "step/test_staging.py", "networks/test_arguments.py",
    *(f"kernels/test_{part}.py"
      for part in ("contract", "gradients", "over", "staged", "targets")),
    *(f"techniques/test_{part}.py"
      for part in ("accumulate", "in_place", "precision", "recompute")),
)  # fmt: skip
"""The tests that hold for every page, and for every layer."""


def files(heading: str) -> list[tuple[str, bool, str]]:
    """Path, whether it is there already, and what is written."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n### {heading}\n")[1]
    section = re.split(r"\n##+ ", section)[0]
    return [(path, bool(added), text) for path, added, text in BLOCK.findall(section)]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    leave = shutil.ignore_patterns("__pycache__", "browser")
    for name in ("memlab", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=leave)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def write(folder: Path, found: list[tuple[str, bool, str]]) -> None:
    for path, added, text in found:
        target = folder / path
        assert target.exists() is added, path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text((target.read_text(encoding="utf-8") if added else "") + text, "utf-8")


def of_library(found: list[tuple[str, bool, str]]) -> set[str]:
    return {path for path, _, _ in found if path.startswith("memlab/")}


def conform(folder: Path, named: str, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run those of these tests whose names have a word of it."""
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", named]
    return subprocess.run(
        [*command, *(f"tests/{test}" for test in tests)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=600,
    )


def passed(result: subprocess.CompletedProcess[str]) -> int:
    """How many tests passed, where none failed."""
    assert result.returncode == 0, result.stdout
    ran = re.search(r"(\d+) passed", result.stdout)
    assert ran is not None
    return int(ran[1])


@pytest.mark.parametrize("heading", VIEWS)
def test_an_example_is_a_view_that_passes_every_test_of_pages(copy: Path, heading: str) -> None:
    found = files(heading)
    assert 0 < len(of_library(found)) <= VIEWS[heading]
    write(copy, found)
    (name,) = re.findall(r'__all__ \+= \["(\w+)"', "".join(text for _, _, text in found))
    assert passed(conform(copy, name, PAGES)) >= 6


@pytest.mark.parametrize("heading", LAYERS)
def test_an_example_is_a_layer_that_passes_every_test_of_layers(copy: Path, heading: str) -> None:
    found = files(heading)
    assert 0 < len(of_library(found)) <= LAYERS[heading]
    write(copy, found)
    lists = "there_is_a_kernel or cases_reach or hold_every_kind"
    assert passed(conform(copy, f"leaky or leaks or {lists}", OF_A_LAYER)) >= 60


def test_a_layer_without_its_formulas_does_not_pass(copy: Path) -> None:
    write(copy, [each for each in files("A leaky ReLU") if "maps" not in each[0]])
    result = conform(copy, "there_is_a_kernel", ("kernels/test_contract.py",))
    assert result.returncode == 1
    assert "('leaky_relu', '', 'cuda', 'fp32')" in result.stdout


def test_an_example_with_a_text_that_is_cut_off_does_not_pass(copy: Path) -> None:
    view, exported = files("A chart that stands still")[0], copy / "memlab/views/__init__.py"
    name = re.findall(r"def (\w+)\(", view[2])[-1]
    (copy / view[0]).write_text(view[2], "utf-8")
    wrong = f"""
from memlab.views.draw.page import Still as _Still
class _Cut(_Still):
    def page(self):
        from memlab.views.draw.chart import Chart
        from memlab.views.draw.labels import Text
        from memlab.views.draw.page import Page
        from memlab.views.draw.scale import Scale
        far = Text(2, 0.5, "a text that is outside")
        return Page("Cut", [Chart(Scale(0, 1), Scale(0, 1), [far], 40, told=["a text"])])
def {name}_cut(): return _Cut()
__all__ += ["{name}_cut"]
"""
    exported.write_text(exported.read_text("utf-8") + wrong, "utf-8")
    result = conform(copy, f"{name}_cut", PAGES)
    assert result.returncode == 1
    assert "test_nothing_collides_or_is_cut_off" in result.stdout
