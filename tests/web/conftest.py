"""Fixtures that tests of the site share."""

import os

import pytest
from filelock import FileLock

from web.site import build

WHOLE = os.environ.get("MEMLAB_WEB") == "full"
"""Whether each page is looked at, and the public names have theirs."""


@pytest.fixture(scope="session")
def still_site(tmp_path_factory, worker_id):
    """The folder of a site without Python: built once for all processes, and changed by no test."""
    if worker_id == "master":
        return _built(tmp_path_factory.mktemp("site"))
    folder = tmp_path_factory.getbasetemp().parent / "still_site"
    with FileLock(f"{folder}.lock"):
        return folder if (folder / "index.html").exists() else _built(folder)


def _built(folder):
    build.build(folder, run=False, names=WHOLE)
    return folder
