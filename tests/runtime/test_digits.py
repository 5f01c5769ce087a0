"""Training works: a small network learns to read handwritten digits."""

from __future__ import annotations

import pytest

import memlab
from memlab.lesson import digits

pytest.importorskip("sklearn.datasets", reason="scikit-learn brings the digits")


def test_a_small_network_learns_to_read_digits() -> None:
    history = memlab.train(digits.network(), digits.load(), settings=digits.SETTINGS)
    assert history.losses[-1] < 0.2 * history.losses[0]
    assert history.errors[-1] < 0.05
