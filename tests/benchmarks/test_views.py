"""The benchmark of a slider event: every part is timed, in a process that loads the views."""

from __future__ import annotations

import pytest

from benchmarks import BENCHMARKS, views

pytestmark = pytest.mark.measures


def test_every_part_of_an_event_is_timed():
    assert BENCHMARKS["views"] is views.run
    result = views.run(repeats=2)
    names = [line.name for line in result.lines]
    assert names == [
        "memory view, ResNet-50, a slider's event",
        *(f"{part} alone" for part in views.PARTS),
        "svg, against the event",
        "length view, GPT-2, a new length",
    ]
    assert all(line.value > 0 for line in result.lines)
    assert len(result.lines[0].samples) == 2


def test_an_event_is_as_quick_as_a_picture_may_be():
    event = views.run(repeats=10).lines[0]
    assert min(event.samples) < 5 * views.AIM  # a loaded machine is no regression
