"""The measurement of stalls, on a network small enough for a test."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from memlab.bench import path


def test_stalls_are_measured_with_buffers_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path, "freed_memory_kept", nullcontext)
    found = {line.name.partition(":")[0]: line for line in path.run("mnist_cnn", 28, 4, 3, 1).lines}
    for name in (path.NONE, path.TWO, path.SLOW):
        assert found[f"images a second, {name}"].value > 0
    assert found[f"stalls of a batch, {path.NONE}"].value > 0  # every batch is read before a step
    assert found["stalls that two buffers leave"].aim == path.LEFT
    for name in (path.NONE, path.SLOW):
        assert found[f"planned stalls from measured, {name}"].aim == path.APART
