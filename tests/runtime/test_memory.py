"""Memory of a run beside its plan: initial values are drawn in pieces, results are no copies, and a
lack of memory is one sentence."""

from __future__ import annotations

import numpy as np
import pytest

import memlab
from memlab.errors import InputError
from memlab.runtime import initial_values
from memlab.runtime.cpu import Cpu
from memlab.runtime.metering.meter import Meter
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.step import Step


def wide(features: int = 700, format: str = "fp32") -> Step:
    """Network of one linear layer, almost all of whose bytes are parameters."""
    source = memlab.network("wide", features=features).linear(features)
    return memlab.inference_step(source.squared_error(), format=format)


@pytest.mark.parametrize("format", ["fp32", "fp64"])
def test_first_values_are_drawn_in_pieces(format, monkeypatch):
    plain = memlab.run(wide(format=format), 2)
    monkeypatch.setattr(initial_values, "PIECE", 1000)
    with Meter() as meter, Session(Program(wide(format=format), 2), meter=meter) as session:
        most = meter.peak - sum(tensor.storage.size.at(2) for tensor in session.residents)
    assert 0 < most <= 100_000
    again = memlab.run(wide(format=format), 2)
    assert again.output is not None
    assert plain.output is not None
    assert again.output.tobytes() == plain.output.tobytes()


def test_what_lies_outside_an_arena_is_given_back_as_it_is():
    """A copy of all parameters would come on top of the plan."""
    done = memlab.run(wide(), 2, placement="birth")
    assert done.parameters
    assert all(values.base is not None for values in done.parameters.values())
    assert done.output is not None
    assert done.output.base is None


def test_a_block_that_cannot_be_had_is_said_in_one_sentence(monkeypatch):
    def block(self: Cpu, nbytes: int) -> None:
        raise MemoryError

    monkeypatch.setattr(Cpu, "block", block)
    with pytest.raises(InputError, match=r"^this machine has no .* in one piece left, though the"):
        memlab.run(wide(), 2)
    monkeypatch.undo()
    assert memlab.run(wide(), 2).residual == 0


def test_nothing_is_drawn_into_what_would_be_a_copy():
    draws = initial_values.generator(1, "part")
    with pytest.raises(AssertionError):
        list(initial_values._draw(np.zeros((4, 4), np.float32)[:, :2], draws, 1.0))
