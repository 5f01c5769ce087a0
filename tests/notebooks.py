"""What a restart-and-run-all may take: `pytest -p tests.notebooks --nbval` adds a test to every
notebook, which looks at the kernel that nbval has run all its cells in.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest
from nbval.plugin import IPyNbFile

GIB = 2**30
SECONDS = 100  # five times what a lesson should take
START = pytest.StashKey[float]()
LARGEST = """
import re
from pathlib import Path

from memlab.runtime.measured import resident_set

status = Path("/proc/self/status")  # there a process does not inherit the figure of its parent
found = re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text()) if status.exists() else None
print(1024 * int(found[1]) if found else resident_set())
"""


class Limits(pytest.Item):
    """The seconds of a notebook, and the largest resident set of its kernel."""

    parent: Any

    def runtest(self) -> None:
        assert time.monotonic() - self.parent.stash[START] <= SECONDS
        assert self.largest() <= GIB

    def largest(self) -> int:
        """In bytes."""
        printed: list[str] = []

        def heard(message: Any) -> None:
            printed.append(message["content"].get("text", ""))

        kernel = self.parent.kernel
        assert kernel.is_alive(), "the kernel died: is there enough memory?"
        kernel.kc.execute_interactive(LARGEST, output_hook=heard, timeout=60)
        return int("".join(printed))

    def reportinfo(self) -> tuple[Any, None, str]:
        return self.path, None, "limits"


def pytest_configure(config: pytest.Config) -> None:
    """No start-up files, no progress, language or machine of the author's; what fails below a card
    fails its cell."""
    own = tempfile.TemporaryDirectory()
    config.add_cleanup(own.cleanup)
    os.environ |= {"IPYTHONDIR": own.name, "MEMLAB_LANGUAGE": "en", "MEMLAB_PROGRESS": "",
                   "MEMLAB_MACHINE": "recorded", "MEMLAB_REQUIRE_CARDS": "1"}  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Behind the last cell of every notebook comes the look at its kernel."""
    items[:] = [item for notebook in groupby(items, _notebook) for item in _with_limits(*notebook)]


def _notebook(item: pytest.Item) -> pytest.Collector | None:
    return item.parent if isinstance(item.parent, IPyNbFile) else None


def _with_limits(
    notebook: pytest.Collector | None, cells: Iterator[pytest.Item]
) -> Iterator[pytest.Item]:
    yield from cells
    if notebook is not None:
        yield Limits.from_parent(notebook, name="limits")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The time runs from before the kernel is started."""
    if item.parent is not None:
        item.parent.stash.setdefault(START, time.monotonic())
