"""Doors from a lesson's page to the same lesson as a notebook: beside the pages, or elsewhere.

JupyterLite lies in the site. Colab opens a copy whose first cell installs memlab
(``web/publish/copies.py``); Binder builds the repository at the commit, as ``.binder`` says.
"""

from __future__ import annotations

from urllib.parse import quote

from web.publish.repository import Repository

LITE = "lite/notebooks/index.html?path="
COLAB = "https://colab.research.google.com/github/"
BINDER = "https://mybinder.org/v2/gh/"
BRANCH = "notebooks"
"""Branch with the copies that Colab opens."""


def doors(file: str, root: str, lite: bool, where: Repository | None) -> list[tuple[str, str]]:
    """Return the doors of a page: the name of each, and its address.

    >>> doors("lessons/01_linear.ipynb", "../", True, None)
    [('JupyterLite', '../lite/notebooks/index.html?path=01_linear.ipynb')]

    Args:
        file: the notebook, by its path in the repository.
        root: path from the page to the folder of the site.
        lite: whether the site has JupyterLite.
        where: the repository, if one is named.
    """
    path = quote(file)
    beside = [("JupyterLite", f"{root}{LITE}{path.removeprefix('lessons/')}")] if lite else []
    if where is None:
        return beside
    return [
        *beside,
        ("Colab", f"{COLAB}{where.name}/blob/{BRANCH}/{path}"),
        ("Binder", f"{BINDER}{where.name}/{where.commit}?urlpath=lab/tree/{path}"),
    ]
