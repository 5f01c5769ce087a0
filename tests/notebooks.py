"""What a restart-and-run-all may take, and what its live views show: `pytest -p tests.notebooks
--nbval` adds tests to every notebook, which look at the kernel that nbval has run all its cells in.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from nbval.plugin import IPyNbFile

from lessons import build, cost

GIB = 2**30
SECONDS = 100  # five times what a lesson should take
START = pytest.StashKey[float]()
SOURCES = {
    build.LESSONS / "solutions" / f"{source.stem}.ipynb": source
    for source in (build.LESSONS / "source").glob("[0-9][0-9]_*.py")
}
"""The lessons by their solutions."""
LISTEN = """
from pathlib import Path

if Path.cwd().parts[-2:] == ("lessons", "solutions"):
    from tests.lessons import views_shown

    _shown = views_shown.listen(get_ipython())
"""
SHOWN = """
import json

print(json.dumps(_shown))
"""


class _After(pytest.Item):
    """A test of what is in the kernel after the last cell."""

    parent: Any

    def ask(self, code: str) -> str:
        """What the kernel prints when it runs this."""
        printed: list[str] = []

        def heard(message: Any) -> None:
            printed.append(message["content"].get("text", ""))

        kernel = self.parent.kernel
        assert kernel.is_alive(), "the kernel died: is there enough memory?"
        kernel.kc.execute_interactive(code, output_hook=heard, timeout=60)
        return "".join(printed)

    def reportinfo(self) -> tuple[Any, None, str]:
        return self.path, None, self.name


class Limits(_After):
    """The seconds of a notebook, and the largest resident set of its kernel. What listens to the
    views of a lesson takes memory too, so costs are compared in ``tests/lessons/test_cost.py``."""

    def runtest(self) -> None:
        assert time.monotonic() - self.parent.stash[START] <= SECONDS
        assert int(self.ask(cost.LARGEST)) <= GIB


class Lock(_After):
    """No live view of a lesson gives an open card away, as it opens or behind a button."""

    def runtest(self) -> None:
        from tests.lessons import lock, parts, views_shown

        shown = views_shown.named(json.loads(self.ask(SHOWN)), views_shown.code_of(self.path))
        assert shown, "no live view was shown"
        assert lock.view_leaks(parts.read(SOURCES[self.path]), shown) == []


def pytest_configure(config: pytest.Config) -> None:
    """No start-up files, progress, language or machine of the author's; what fails below a card
    fails its cell, and live views are written down."""
    own = tempfile.TemporaryDirectory()
    config.add_cleanup(own.cleanup)
    first = Path(own.name, "profile_default", "startup", "listen.py")
    first.parent.mkdir(parents=True)
    first.write_text(LISTEN, encoding="utf-8")
    os.environ |= {"IPYTHONDIR": own.name, "MEMLAB_LANGUAGE": "en", "MEMLAB_PROGRESS": "",
                   "MEMLAB_MACHINE": "recorded", "MEMLAB_REQUIRE_CARDS": "1"}  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Behind the last cell of every notebook come the looks at its kernel."""
    items[:] = [item for notebook in groupby(items, _notebook) for item in _with_limits(*notebook)]


def _notebook(item: pytest.Item) -> pytest.Collector | None:
    return item.parent if isinstance(item.parent, IPyNbFile) else None


def _with_limits(
    notebook: pytest.Collector | None, cells: Iterator[pytest.Item]
) -> Iterator[pytest.Item]:
    yield from cells
    if notebook is not None:
        yield Limits.from_parent(notebook, name="limits")
        if notebook.path in SOURCES:
            yield Lock.from_parent(notebook, name="lock")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The time runs from before the kernel is started."""
    if item.parent is not None:
        item.parent.stash.setdefault(START, time.monotonic())
