"""The benchmark of recordings; a test holds a safety limit, five times the aim, and no more."""

from __future__ import annotations

import pytest

from memlab.bench import recording
from tests.oracles.requirement import torch_or_skip

SAFETY = 5


@pytest.mark.measures
def test_a_model_is_recorded_and_explained_in_time():
    torch_or_skip()
    found = recording.run(repeats=1)
    assert len(found.lines) == 4
    assert [each.aim for each in found.lines] == [1.0, 0.001, 10.0, None]
    recorded, ready, _, processor = found.lines
    assert recorded.value <= SAFETY * recording.RECORDED
    assert ready.value <= SAFETY * recording.READY
    assert processor.value <= SAFETY * recording.EXPLAINED  # on the wall, others take time too


def test_without_pytorch_one_line_says_so(monkeypatch):
    monkeypatch.setattr(recording, "allow_torch", lambda: False)
    (only,) = recording.run().lines
    assert only.name == "PyTorch is not installed: nothing is recorded"
    assert only.reached
