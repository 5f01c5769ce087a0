"""One confinement for all tests: its limits are tried once."""

import pytest

from memlab.classroom.confinement import confined
from tests.classroom.confined_here import LIMITS, need_bubblewrap


@pytest.fixture(scope="session")
def confinement():
    need_bubblewrap()
    with confined(LIMITS) as confinement:
        yield confinement
