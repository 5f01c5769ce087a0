"""Seconds of a processor in place of those on the wall, which other programs stretch."""

from __future__ import annotations

from time import thread_time

import pytest

from memlab.measure import timing


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is timed takes what it would take if nothing else ran here."""
    monkeypatch.setattr(timing, "perf_counter", thread_time)
