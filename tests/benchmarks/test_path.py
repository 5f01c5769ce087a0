"""The measurement of stalls, on a network small enough for a test."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from benchmarks import data_path


def test_stalls_are_measured_with_buffers_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_path, "freed_memory_kept", nullcontext)
    found = {
        line.name.partition(":")[0]: line for line in data_path.run("mnist_cnn", 28, 4, 3, 1).lines
    }
    for name in (data_path.NONE, data_path.TWO, data_path.SLOW):
        assert found[f"images a second, {name}"].value > 0
    assert (
        found[f"stalls of a batch, {data_path.NONE}"].value > 0
    )  # every batch is read before a step
    assert found["stalls that two buffers leave"].aim == data_path.LEFT
    for name in (data_path.NONE, data_path.SLOW):
        assert found[f"planned stalls from measured, {name}"].aim == data_path.APART
