"""Fixtures that tests of the site share."""

import os

import pytest
from filelock import FileLock

from web.node import RECORDED
from web.site import build
from web.wasm import build as wasm

WHOLE = os.environ.get("MEMLAB_WEB") == "full"
"""Whether everything is tested: each page, lesson, run and output."""


def with_kernels() -> dict[str, str]:
    """Environment of a Python in a page with kernels, which are compiled where they are old."""
    library = wasm.ready().relative_to(wasm.ROOT)
    return {**RECORDED, "MEMLAB_KERNELS": f"/project/{library.as_posix()}"}


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
