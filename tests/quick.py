"""What a quick test may do: compile nothing, start no process, take a few seconds of a processor.

The others carry the marker ``measures``, or stand in one of the ``FOLDERS``. ``make check`` runs
the quick ones, and whatever a quick test may not do is refused there, so that it fails.
"""

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

MARKER = "measures"
FOLDERS = ("bench", "benchmarks", "browser", "frontends", "kernels", "measure", "runtime")
SECONDS = 10
"""Of a processor, for a test with its fixtures and all that it imports first, without the threads
of a library: they may wait by running, on every core."""
PROCESSES = ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.system", "os.startfile")
FONTS = ("fc-list", "system_profiler")
"""Matplotlib asks them where it has no list of this machine's fonts yet."""
HERE = Path(__file__).resolve().parent
START = pytest.StashKey[float]()


def apart(values: Iterable[Any], measuring: Callable[[Any], bool]) -> list[Any]:
    """The values of a parameter, those that measure with the marker."""
    mark = getattr(pytest.mark, MARKER)
    pairs = [(each if isinstance(each, tuple) else (each,), measuring(each)) for each in values]
    return [pytest.param(*given, marks=[mark] if measures else []) for given, measures in pairs]


class Refusals:
    """What the running test was refused; ``None`` while anything is allowed."""

    now: list[str] | None = None


def refuse(deed: str) -> None:
    """Stop a quick test, and remember why: it may catch the error."""
    if Refusals.now is not None:
        Refusals.now.append(deed)
        raise AssertionError(f"a quick test {deed}; mark it @pytest.mark.{MARKER}")


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event in PROCESSES and arguments[0] not in FONTS:
        refuse(f"starts {str(arguments[:2])[:80]}")


def _heard(compile: Any) -> Any:
    """The same, refused to a quick test; a kernel in Numba's cache comes here too."""

    def compiled(self: Dispatcher, signature: Any) -> Any:
        refuse(f"compiles {self.py_func.__name__}")
        return compile(self, signature)

    return compiled


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker, and listen."""
    config.addinivalue_line("markers", f"{MARKER}: compiles, times, starts a process or draws long")
    if is_quick(config):
        sys.addaudithook(_hear)
        Dispatcher.compile = _heard(Dispatcher.compile)  # type: ignore[method-assign]  # to hear of it


def is_quick(config: pytest.Config) -> bool:
    """Whether the quick tests alone are run."""
    return bool(config.option.markexpr == f"not {MARKER}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Among the quick ones, the files of the folders are not even read."""
    inside = collection_path in [HERE / name for name in FOLDERS]
    return True if inside and is_quick(config) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the folders in which every test measures."""
    for item in items:
        if item.path.is_relative_to(HERE) and item.path.relative_to(HERE).parts[0] in FOLDERS:
            item.add_marker(MARKER)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Any:
    item.stash[START] = time.thread_time()
    Refusals.now = [] if is_quick(item.config) else None
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    result = yield
    if is_quick(item.config):
        seconds = time.thread_time() - item.stash[START]
        assert not Refusals.now, f"a quick test {Refusals.now}"
        assert seconds <= SECONDS, f"{seconds:.1f} s; mark it @pytest.mark.{MARKER}"
    return result


def pytest_runtest_teardown() -> None:
    """Between two tests anything is allowed."""
    Refusals.now = None
