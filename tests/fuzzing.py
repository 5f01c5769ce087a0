"""A fuzz test searches for a while: some seconds among all tests, hours by hand.

`MEMLAB_FUZZ_SECONDS=3600 .venv/bin/pytest -s tests/cli/test_fuzz.py` searches for an hour.
"""

import os
import time
from collections.abc import Callable

from hypothesis import HealthCheck, settings

SECONDS = "MEMLAB_FUZZ_SECONDS"
"""The variable that names another time."""
ROUND = settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
"""One call of a property: short, so that the time is kept."""


def search(holds: Callable[[], None], seconds: float) -> None:
    """Call a property, `@ROUND @given(...)`, with fresh examples until the time is over.

    It is called once at least, and once where the examples are always the same. What fails is found
    again first: Hypothesis keeps it.
    """
    end = time.monotonic() + float(os.environ.get(SECONDS) or seconds)
    rounds = 0
    while rounds == 0 or (time.monotonic() < end and not settings().derandomize):
        holds()
        rounds += 1
    print(f"searched {rounds} times")
