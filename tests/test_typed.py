"""A user's project is checked against the types of the package, strictly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.measures

ROOT = Path(__file__).resolve().parents[1]
PROJECT = Path(__file__).parent / "typed_user/project.py"
WRONG = [
    ("ledger.fit(card).batch", "ledger.fit(card).bathc", "has no attribute"),
    ("memlab.training_step(network, ", "memlab.training_step(12, ", "incompatible type"),
    ("view.peak, view.text()", "view.peak + 'GB'", "Unsupported operand"),
    ("result.residual", "str(result.residual)", "Incompatible return value"),
]


def checked(project: Path) -> subprocess.CompletedProcess[str]:
    """The verdict of a checker of types that knows none of memlab's own settings."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir"]
    return subprocess.run(
        [*command, str(ROOT / ".mypy_cache/user"), str(project)],
        cwd=project.parent, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


def test_a_small_project_has_no_error_of_types() -> None:
    result = checked(PROJECT)
    assert result.returncode == 0, result.stdout


def test_a_wrong_use_is_an_error(tmp_path: Path) -> None:
    text = PROJECT.read_text(encoding="utf-8")
    for number, (right, wrong, _) in enumerate(WRONG):
        assert right in text
        (tmp_path / f"wrong{number}.py").write_text(text.replace(right, wrong), "utf-8")
    result = checked(tmp_path)
    for number, (*_, message) in enumerate(WRONG):
        lines = [line for line in result.stdout.splitlines() if f"wrong{number}.py" in line]
        assert any(message in line for line in lines), (number, result.stdout)
