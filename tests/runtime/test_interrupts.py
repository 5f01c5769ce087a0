"""Ctrl-C in the middle of NumPy's own work."""

from __future__ import annotations

import signal
from typing import Any

import pytest

import memlab
from memlab.runtime.metering.meter import Meter


@pytest.mark.usefixtures("heeded")
def test_one_that_arrives_inside_the_allocator_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report = Meter.report
    sent: list[int] = []

    def interrupted(self: Meter, *block: Any) -> None:
        if self._op == 3 and not sent:
            sent.append(self._op)
            signal.raise_signal(signal.SIGINT)
        report(self, *block)

    monkeypatch.setattr(Meter, "report", interrupted)
    step = memlab.training_step(memlab.zoo.mnist_cnn())
    with pytest.raises(KeyboardInterrupt):
        memlab.run(step, 2)
    assert sent
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert memlab.run(step, 2).residual == 0
