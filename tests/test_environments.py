"""What is installed, and where: the extras, the versions, and the environments for conda."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
MACHINES = {
    "Linux": ("linux", "x86_64"),
    "Windows": ("win32", "AMD64"),
    "Intel Mac": ("darwin", "x86_64"),
    "Mac": ("darwin", "arm64"),
    "Linux on Arm": ("linux", "aarch64"),
    "Windows on Arm": ("win32", "ARM64"),
}


def environment(name: str) -> Any:
    return import_module("yaml").safe_load((ROOT / name).read_text(encoding="utf-8"))


def installed(given: Any) -> tuple[str, set[str]]:
    """The file of versions and the extras that an environment names."""
    (pip,) = (each["pip"] for each in given["dependencies"] if isinstance(each, dict))
    versions, project = pip
    extras = re.fullmatch(r"-e \.\[(.+)\]", project)
    assert extras
    return versions.removeprefix("-c "), set(extras[1].split(","))


@pytest.mark.parametrize("name", ["environment.yml", "environment-cuda.yml"])
def test_an_environment_for_conda_fits_the_project(name: str) -> None:
    given = environment(name)
    versions, extras = installed(given)
    assert (ROOT / versions).is_file()
    assert extras <= set(EXTRAS)
    (python,) = (each for each in given["dependencies"] if str(each).startswith("python="))
    assert python.partition("=")[2] in SpecifierSet(PROJECT["requires-python"])


def test_the_environment_for_cuda_is_the_other_with_one_extra_more() -> None:
    plain, cuda = environment("environment.yml"), environment("environment-cuda.yml")
    assert (plain.pop("name"), cuda.pop("name")) == ("memlab", "memlab-cuda")
    assert installed(cuda)[1] - installed(plain)[1] == {"cuda13"}
    for given in (plain, cuda):
        given["dependencies"][-1]["pip"].pop()
    assert cuda == plain


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("toolkit", ["cu12", "cu13"])
def test_numba_cuda_goes_where_nvidia_builds_it_and_nowhere_else(
    toolkit: str, machine: str
) -> None:
    system, processor = MACHINES[machine]
    here = {"sys_platform": system, "platform_machine": processor}
    wanted = [Requirement(line) for line in EXTRAS[toolkit.replace("cu", "cuda")]]
    found = [each for each in wanted if each.marker and each.marker.evaluate(here)]
    assert [(each.name, each.extras) for each in found] == (
        [("numba-cuda", {toolkit})] if machine in ("Linux", "Windows") else []
    )


def pinned() -> set[str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return {line.partition("==")[0] for line in lines}


def test_every_version_is_a_name_and_a_number() -> None:
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; [^/@]+)?", line), line


def test_every_requirement_has_its_version() -> None:
    extras = [line for name, lines in EXTRAS.items() if name != "oracle" for line in lines]
    names = {Requirement(line).name for line in [*PROJECT["dependencies"], *extras]}
    assert {canonicalize_name(name) for name in names} <= pinned()


def test_what_comes_with_one_release_of_cuda_has_none() -> None:
    """Else ``cuda12``, or PyTorch, could not be installed with the same file."""
    assert not [name for name in pinned() if name.startswith("nvidia-")]
    assert not pinned() & {"cuda-bindings", "cuda-toolkit"}
