"""Confinement for tests, or the reason why they are skipped; notebooks made of cells."""

import json
import os
import shutil
import sys
from functools import cache

import pytest

from lessons import build
from memlab.classroom.limits import MIB, Limits

LIMITS = Limits(seconds=10, memory=300 * MIB, processes=32, files=64, disk=8 * MIB)
FULL = os.environ.get("MEMLAB_CLASSROOM") == "full"
linux = pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
posix = pytest.mark.skipif(os.name != "posix", reason="pipes and links are not Windows's")
full = pytest.mark.skipif(not FULL, reason="takes minutes; MEMLAB_CLASSROOM=full runs it")


def need_bubblewrap():
    """Skip a test where submissions cannot be confined; with MEMLAB_REQUIRE_BWRAP=1 it fails."""
    if shutil.which("bwrap") is None:
        required = os.environ.get("MEMLAB_REQUIRE_BWRAP") == "1"
        (pytest.fail if required else pytest.skip)("bubblewrap is not installed")


def write(path, *cells):
    """Write a notebook with these code cells and return its path."""
    parts = [{"cell_type": "code", "metadata": {}, "source": cell} for cell in cells]
    path.write_text(json.dumps({"cells": parts, "metadata": {}, "nbformat": 4}))
    return path


@cache
def solutions(lesson):
    """The code of the cells that solve a lesson, in order."""
    (source,) = build.sources(build.LESSONS, [lesson])
    cells = build.notebook(source, solved=True).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]
