"""No test touches a learner's progress, or follows a learner's settings or terminal."""

import atexit
import gc
import os
import sys
import tempfile

import pytest

from memlab import InputError

# jsonschema compiles a grammar of addresses where it finds one, for seconds; nothing here needs it
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

pytest_plugins = ["tests.drawn", "tests.quick", "tests.chromium"]

OWN = (
    "MEMLAB_PROGRESS", "MEMLAB_SEED", "MEMLAB_LANGUAGE", "MEMLAB_RECORD", "MEMLAB_REQUIRE_CARDS",
    "FORCE_COLOR", "PYTHON_COLORS",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _nobody_in_particular(monkeypatch):
    for name in OWN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMLAB_MACHINE", "recorded")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def progress_file(tmp_path, monkeypatch):
    """The file of a learner's progress, which is not there yet."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv("MEMLAB_PROGRESS", str(path))
    return path


def pytest_configure(config):
    """IPython finds no settings of a learner's, and needs no home that can be written to. On
    Windows, Jupyter's client warns that it watches its sockets in a thread; so it may."""
    own = tempfile.TemporaryDirectory()
    atexit.register(own.cleanup)  # after IPython, which writes its history at the end
    os.environ["IPYTHONDIR"] = own.name
    config.addinivalue_line("filterwarnings", "ignore:Proactor event loop:RuntimeWarning")


class Garbage:
    """Whether a collection looks at what the tests are; a benchmark thaws it behind itself.

    Python knows how many objects are frozen, and counts them one by one when it is asked.
    """

    thawed = True
    thaw = staticmethod(gc.unfreeze)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected stays: a collection of garbage would look at all of it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def _thaw():
    Garbage.thawed = True
    Garbage.thaw()


def pytest_runtest_setup():
    """Thousands of tests are objects that stay: a collection need not look at them each time."""
    if Garbage.thawed:
        gc.unfreeze = _thaw
        gc.collect()
        gc.freeze()
        Garbage.thawed = False


def pytest_sessionstart(session):
    """With MEMLAB_REQUIRE_GPU=1, nothing may pass in the simulator instead of on a GPU."""
    if not os.environ.get("MEMLAB_REQUIRE_GPU"):
        return
    from memlab.kernels.cuda import target

    try:
        reason = "there is none" if target().simulated else ""
    except InputError as error:
        reason = str(error)
    if reason:
        pytest.exit(f"MEMLAB_REQUIRE_GPU asks for a GPU: {reason}", returncode=1)
