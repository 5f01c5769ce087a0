"""The workflow of a hosted service: it is what it should be, as far as its text says."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests import run

ROOT = Path(__file__).parent.parent
WORKFLOW = ROOT / ".github/workflows/test.yml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SYSTEMS = ("ubuntu", "windows", "macos")
POSIX = ("make", "bash", "sh ", ".venv", "&&", "export", "\n")
"""What a command line that every system knows has not."""

if not WORKFLOW.exists():
    pytest.skip("a release has no workflow", allow_module_level=True)


@pytest.fixture
def job() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with jupytext")
    found = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    assert set(found) == {"name", True, "permissions", "jobs"}  # YAML 1.1 reads `on` as true
    assert set(found[True]) == {"push", "pull_request", "workflow_dispatch"}
    assert list(found["jobs"]) == ["test"]
    return dict(found["jobs"]["test"])


def test_its_keys_are_known(job):
    assert set(job) == {"name", "runs-on", "timeout-minutes", "strategy", "steps"}
    assert set(job["strategy"]) == {"fail-fast", "matrix"}
    for step in job["steps"]:
        assert set(step) <= {"name", "uses", "with", "run"}
        assert ("uses" in step) != ("run" in step)
        assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/any@v1"))


def test_every_system_runs_the_unit_tests(job):
    matrix = job["strategy"]["matrix"]
    assert tuple(re.sub(r"-[\d.]+$", "", system) for system in matrix["os"]) == SYSTEMS
    (mac,) = (system for system in matrix["os"] if system.startswith("macos"))
    assert int(mac.removeprefix("macos-")) >= 14, "older ones are no arm64"
    assert matrix["parts"] == ["cases measures"]


def test_its_pythons_are_those_that_memlab_runs_on(job):
    least = PROJECT["requires-python"].removeprefix(">=")
    pythons = job["strategy"]["matrix"]["python"]
    assert pythons[0] == least
    assert all(isinstance(version, str) for version in pythons), "3.10 is no number"


def test_what_it_names_is_there(job):
    matrix, lines = job["strategy"]["matrix"], [step.get("run", "") for step in job["steps"]]
    parts = [*matrix["parts"], *(each["parts"] for each in matrix["include"])]
    assert set(" ".join(parts).split()) == set(run.TARGETS["test"]) - {"browser", "web"}
    for each in matrix["include"]:
        assert each["os"] in matrix["os"]
        assert each["python"] in matrix["python"]
    (extras,) = re.findall(r"\.\[(.*)\]", "\n".join(lines))
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    assert any("-c constraints.txt" in line for line in lines)
    assert any(line.startswith("python tests/run.py ") for line in lines)


def test_every_line_runs_on_every_system(job):
    for step in job["steps"]:
        assert not [word for word in POSIX if word in step.get("run", "")]


@pytest.mark.parametrize("suffix", ["", ".exe"])
def test_a_tool_is_found_by_the_name_that_the_system_gives_it(suffix, tmp_path, monkeypatch):
    """Windows starts no file by half its name where a folder stands before it."""
    tool = tmp_path / f"ruff{suffix}"
    tool.touch(mode=0o755)
    monkeypatch.setattr(run, "TOOLS", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name, path: f"{path / name}{suffix}")
    assert run.command("ruff check") == [str(tool), "check"]
    assert run.command("ruff lessons/0*.ipynb")[1:] == [
        str(Path("lessons", path.name)) for path in sorted((ROOT / "lessons").glob("0*.ipynb"))
    ]
