"""Machine code of every CUDA kernel, compiled without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks import cuda_report as report
from memlab.kernels.cuda import all_kernels

ROOT = Path(__file__).resolve().parents[3]
OWN = ROOT / ".venv-cuda" / "bin" / "python"
"""The environment that ``make .venv-cuda/test`` installs."""
SHARED = 48 * 1024
"""Bytes of shared memory that a block of any GPU may declare."""
CAPABILITIES = ["7.5", "9.0"]


def python() -> str:
    """Path of a Python that has the CUDA compiler; without one, skip or, in CI, fail."""
    if report.installed():
        return sys.executable
    if OWN.exists():
        return str(OWN)
    if os.environ.get("MEMLAB_REQUIRE_CUDA_COMPILER"):
        pytest.fail(report.MISSING)
    return pytest.skip(f"{report.MISSING} Here: make .venv-cuda/test")


def reports(*command: str) -> list[dict[str, Any]]:
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "0"}
    done = subprocess.run(
        [python(), *command], capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def ours(capability: str, *names: str) -> list[dict[str, Any]]:
    return reports("-m", "benchmarks.cuda_report", *names, "--json", "--cc", capability)


@cache
def planted() -> dict[str, dict[str, Any]]:
    """Reports on the kernels that waste something, by name."""
    return {row["kernel"]: row for row in reports("-m", "tests.kernels.cuda.planted")}


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_every_kernel_compiles_and_wastes_nothing(capability: str) -> None:
    rows = ours(capability)
    assert [row["kernel"] for row in rows] == [row.name for row in all_kernels()]
    for row in rows:
        assert row["spilled"] == 0, row
        assert row["local"] == 0, row
        assert row["shared"] <= SHARED, row
        assert 0 < row["registers"] <= 255, row


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_coalesced_lowering_divides_nothing_and_naive_lowering_does(capability: str) -> None:
    rows = ours(capability, "im2col.coalesced", "im2col.naive")
    assert len(rows) == 4  # two kernels, two formats
    for row in rows:
        assert (row["divisions"] > 0) == (row["kernel"] == "im2col.naive"), row


@pytest.mark.parametrize("waste", ["local", "shared", "spilled", "divisions"])
def test_waste_is_seen(waste: str) -> None:
    culprits = {"local": {"local", "spilling"}, "spilled": {"spilling"}}
    expected = culprits.get(waste, {waste})
    assert {name for name, row in planted().items() if row[waste] > 0} == expected


def test_the_bytes_of_shared_memory_are_counted() -> None:
    assert planted()["shared"]["shared"] == 256 * 4


def test_without_the_compiler_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "PACKAGES", ("numba_cuda_of_nobody",))
    assert report.main([]) == 2
    assert capsys.readouterr().err == f"{report.MISSING}\n"


@pytest.mark.parametrize("given", ["9", "nine", "9.0.1"])
def test_a_capability_is_two_numbers(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        report.main(["--cc", given])
    assert f"invalid capability value: '{given}'" in capsys.readouterr().err
