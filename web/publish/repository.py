"""Address of the repository: it is asked for, and never guessed.

``MEMLAB_REPOSITORY`` names it, ``owner/name`` on GitHub, else ``[project.urls]`` of pyproject.toml.
Without one, pages have no buttons that need it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass

from memlab.errors import InputError
from web.pyodide import ROOT

VARIABLE, COMMIT = "MEMLAB_REPOSITORY", "MEMLAB_COMMIT"
HOST = "https://github.com/"
NONE = (
    f"No repository is named ({VARIABLE}=owner/name, or a Repository under [project.urls] in "
    "pyproject.toml), so the pages have no buttons for Colab and Binder."
)


@dataclass(frozen=True, slots=True)
class Repository:
    """Repository on GitHub, ``owner/name``, at a commit."""

    name: str
    commit: str

    @property
    def files(self) -> str:
        """Address where its files can be read."""
        return f"{HOST}{self.name}/blob/{self.commit}"

    @property
    def page(self) -> str:
        """Address of its page."""
        return f"{HOST}{self.name}/tree/{self.commit}"

    @property
    def package(self) -> str:
        """Requirement by which pip installs memlab at the commit, with what lessons import."""
        return f"memlab[lessons] @ git+{HOST}{self.name}@{self.commit}"


def repository() -> Repository | None:
    """Return the repository that is named; None if none is.

    Raises:
        InputError: it is named by something else than its owner and its name, or the commit is
            not known.
    """
    given = os.environ.get(VARIABLE) or _of_project()
    if not given:
        return None
    name = given.removeprefix(HOST).removesuffix("/").removesuffix(".git")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise InputError(f"{VARIABLE} is {given!r}; it is owner/name of a repository on GitHub.")
    return Repository(name, os.environ.get(COMMIT) or _head())


def _of_project() -> str:
    """Return the address that pyproject.toml names, or nothing."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(told["project"].get("urls", {}).get("Repository", ""))


def _head() -> str:
    """Return the commit that the folder is at.

    Raises:
        InputError: it is no repository, or git is missing.
    """
    git = shutil.which("git")
    command = [git or "git", "rev-parse", "HEAD"]
    done = git and subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if not done or done.returncode:
        raise InputError(f"The commit is not known; name it in {COMMIT}.")
    return str(done.stdout).strip()
