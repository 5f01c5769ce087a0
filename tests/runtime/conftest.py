"""Handling of Ctrl-C in the tests of runs."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def heeded() -> Iterator[None]:
    """Let interrupts be raised, even if the shell or an earlier test chose to ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
