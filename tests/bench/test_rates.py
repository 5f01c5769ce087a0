"""The measurement behind the clock, on a layer small enough for a test."""

from __future__ import annotations

import json

from benchmarks import rates
from memlab.layers import Conv2d
from memlab.layers.algorithms import ALGORITHMS, on


def test_every_algorithm_that_applies_is_measured(monkeypatch) -> None:
    monkeypatch.setattr(rates, "product", lambda rounds: 1e9)
    monkeypatch.setattr(rates, "copy", lambda rounds: 1e9)
    layers = (((4, 8, 9), Conv2d(6, 3, pad=1)), ((4, 8, 9), Conv2d(6, 3, 2, dilation=2)))
    data = json.loads(json.dumps(rates.measure(layers, rounds=1)))
    plain, dilated = data["layers"]
    assert plain["layer"] == [3, 1, 4, 6, 72]
    assert set(plain["shares"]) == set(on("cpu"))
    assert "winograd" not in dilated["shares"]
    for name, shares in plain["shares"].items():
        phases = ["forward", "backward"] if ALGORITHMS[name].own_backward else ["forward"]
        assert list(shares) == phases
        assert all(share > 0 for share in shares.values())
