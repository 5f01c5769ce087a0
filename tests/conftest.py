"""No test touches a learner's progress or follows a learner's settings."""

import gc
import os

import hypothesis
import pytest

from memlab import InputError

# the machines are shared and slow at times: an example has no time limit
hypothesis.settings.register_profile("memlab", deadline=None)
hypothesis.settings.load_profile("memlab")

pytest_plugins = ["tests.quick"]

OWN = ("MEMLAB_PROGRESS", "MEMLAB_SEED", "MEMLAB_LANGUAGE")


@pytest.fixture(autouse=True)
def _nobody_in_particular(monkeypatch):
    for name in OWN:
        monkeypatch.delenv(name, raising=False)


def pytest_configure(config):
    """On Windows, Jupyter's client warns that it watches its sockets in a thread; so it may."""
    config.addinivalue_line("filterwarnings", "ignore:Proactor event loop:RuntimeWarning")


def pytest_runtest_setup():
    """Thousands of tests are objects that stay: a collection need not look at them each time.
    A benchmark freezes too, and thaws everything behind it."""
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


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
