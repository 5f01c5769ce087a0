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

from tests.rows import every_row

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


CONDA = ("environment.yml", "environment-cuda.yml")
RENAMED = {"matplotlib": "matplotlib-base", "playwright": "playwright-python"}
"""Names that differ on conda-forge. Its ``matplotlib`` brings Qt as well, which no view needs."""
PIP = {"axe-playwright-python"}
"""What conda-forge does not have."""


def environment(name: str) -> Any:
    return import_module("yaml").safe_load((ROOT / name).read_text(encoding="utf-8"))


def listed(name: str) -> tuple[set[str], list[str]]:
    """What an environment names of conda-forge's, and what of pip's."""
    given = environment(name)["dependencies"]
    (pip,) = (each["pip"] for each in given if isinstance(each, dict))
    return {each for each in given if isinstance(each, str)}, pip


def wanted(*extras: str) -> dict[str, str]:
    """The requirements of the project and of its extras: their names, and their versions from the
    least on."""
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]
    found = {each.name: str(each.specifier).split(",") for each in map(Requirement, lines)}
    return {name: ",".join(sorted(versions, reverse=True)) for name, versions in found.items()}


def test_conda_installs_all_that_the_project_names_and_the_tools_of_its_tests() -> None:
    conda, pip = listed("environment.yml")
    (python,) = (each for each in conda if each.startswith("python="))
    assert python.partition("=")[2] in SpecifierSet(PROJECT["requires-python"])
    needs = wanted("lab", "lessons", "test")
    named = {RENAMED.get(name, name) + version for name, version in needs.items()}
    assert conda - {python, "pip"} == named - PIP
    assert {*pip} - {"-e ."} == PIP <= {*needs}


@pytest.mark.parametrize("name", CONDA)
def test_pip_installs_memlab_last_and_without_extras(name: str) -> None:
    """Its dependencies are there by then, so pip leaves them as conda has put them."""
    conda, pip = listed(name)
    assert "pip" in conda
    assert pip[-1] == "-e ."
    assert environment(name)["channels"] == ["conda-forge"]


def test_the_environment_for_cuda_is_the_other_and_the_compiler() -> None:
    (plain, pip), (cuda, same) = map(listed, CONDA)
    assert [environment(name)["name"] for name in CONDA] == ["memlab", "memlab-cuda"]
    assert (plain - cuda, same) == (set(), pip)
    more = {name + versions for name, versions in wanted("cuda13").items() - wanted().items()}
    assert cuda - plain == {*more, "cuda-version=13"}


def test_the_page_of_installing_runs_the_tests_in_conda_too() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    lines = page[page.index("conda env create") :].partition("```")[0].splitlines()
    assert [line.partition("#")[0].strip() for line in lines[1:]] == [
        f"conda activate {environment('environment.yml')['name']}",
        "memlab lab",
        "python tests/run.py",
    ]


def test_the_page_of_installing_names_the_wheel_of_this_version() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert f"memlab-{PROJECT['version']}-py3-none-any.whl[lab,lessons]" in page


@every_row("machine", MACHINES)
@every_row("toolkit", ["cu12", "cu13"])
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
    apart = {"hub", "oracle", "torch"}
    extras = [line for name, lines in EXTRAS.items() if name not in apart for line in lines]
    names = {Requirement(line).name for line in [*PROJECT["dependencies"], *extras]}
    assert {canonicalize_name(name) for name in names} <= pinned()


def test_what_comes_with_one_release_of_cuda_has_none() -> None:
    """Else ``cuda12``, or PyTorch, could not be installed with the same file."""
    assert not [name for name in pinned() if name.startswith("nvidia-")]
    assert not pinned() & {"cuda-bindings", "cuda-toolkit"}
