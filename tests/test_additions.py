"""The examples of CONTRIBUTING work: a still chart takes 3 files of the library, a live view 4.

The package is copied to a temporary folder, the example is written there as it stands on the page,
and the tests that hold for every page are run on it.
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
BLOCK = re.compile(r"```(?:python|toml)\n# (memlab/\S+?)(, added)?\n(.*?)```", re.DOTALL)
EXAMPLES = {"A chart that stands still": 3, "A live view": 4}
"""The headings of the examples, and how many files of the library each may touch."""


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


def conform(folder: Path, factory: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", factory]
    return subprocess.run(
        [*command, "tests/views/test_pages.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("heading", EXAMPLES)
def test_an_example_is_a_view_that_passes_every_test_of_pages(copy: Path, heading: str) -> None:
    found = files(heading)
    assert 0 < len({path for path, _, _ in found}) <= EXAMPLES[heading]
    for path, added, text in found:
        target = copy / path
        assert target.exists() is added, path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text((target.read_text(encoding="utf-8") if added else "") + text, "utf-8")
    (name,) = re.findall(r'__all__ \+= \["(\w+)"', "".join(text for _, _, text in found))
    result = conform(copy, name)
    assert result.returncode == 0, result.stdout
    ran = re.search(r"(\d+) passed", result.stdout)
    assert ran is not None
    assert int(ran[1]) >= 6


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
    result = conform(copy, f"{name}_cut")
    assert result.returncode == 1
    assert "test_nothing_collides_or_is_cut_off" in result.stdout
