"""Doors from a lesson's page to the same lesson as a notebook: beside the pages, or elsewhere.

JupyterLite lies in the site. Colab opens a copy whose first cell installs memlab
(``web/publish/copies.py``); Binder builds the repository at the commit, as ``.binder`` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from web.publish.repository import Repository

LITE = "lite/notebooks/index.html?path="
COLAB = "https://colab.research.google.com/github/"
BINDER = "https://mybinder.org/v2/gh/"
BRANCH = "notebooks"
"""Branch with the copies that Colab opens."""


@dataclass(frozen=True, slots=True)
class Door:
    """Link from a page to a notebook: its text, its address, and what it says in full."""

    text: str
    address: str
    title: str


def doors(file: str, root: str, lite: bool, where: Repository | None) -> list[Door]:
    """Return the doors of a page.

    >>> [door.address for door in doors("lessons/01_linear.ipynb", "../", True, None)]
    ['../lite/notebooks/index.html?path=01_linear.ipynb']

    Args:
        file: the notebook, by its path in the repository.
        root: path from the page to the folder of the site.
        lite: whether the site has JupyterLite.
        where: the repository, if one is named.
    """
    rows = []
    if lite:
        path = quote(file.removeprefix("lessons/"))
        title = "Open this lesson as a notebook in JupyterLite: nothing is installed"
        rows.append(Door("JupyterLite", f"{root}{LITE}{path}", title))
    if where:
        title = "Open this lesson in Google Colab: its first cell installs memlab"
        rows.append(Door("Colab", f"{COLAB}{where.name}/blob/{BRANCH}/{quote(file)}", title))
        title = "Open this lesson in JupyterLab on mybinder.org: it starts after some minutes"
        address = f"{BINDER}{where.name}/{where.commit}?urlpath=lab/tree/{quote(file)}"
        rows.append(Door("Binder", address, title))
    return rows
