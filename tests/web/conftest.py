"""What tests of the site share."""

import os

import pytest

from web.site import build

WHOLE = os.environ.get("MEMLAB_WEB") == "full"
"""Whether each page is looked at, and the public names have theirs."""


@pytest.fixture(scope="session")
def still_site(tmp_path_factory):
    """The folder of a site without Python: built once, and changed by no test."""
    folder = tmp_path_factory.mktemp("site")
    build.build(folder, run=False, names=WHOLE)
    return folder
