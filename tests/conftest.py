"""No test touches a learner's progress or follows a learner's settings."""

import pytest

OWN = ("MEMLAB_PROGRESS", "MEMLAB_SEED", "MEMLAB_LANGUAGE")


@pytest.fixture(autouse=True)
def _nobody_in_particular(monkeypatch):
    for name in OWN:
        monkeypatch.delenv(name, raising=False)
