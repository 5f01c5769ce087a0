"""Plans and results under every algorithm of convolution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import memlab
from memlab.clocks import roofline
from memlab.layers.algorithms import on
from memlab.networks.graph import Network
from memlab.runtime.cpu import Cpu
from memlab.runtime.program import Program
from memlab.runtime.session import Session


def small() -> Network:
    """Network with a convolution that every algorithm can compute, and others that most cannot."""
    x = memlab.network("small", image=(3, 14, 11)).conv(8, 3, pad=1).relu().conv(6, 3).relu()
    x = x.conv(8, 3, stride=2, pad=1).relu().conv(8, 1).conv(4, 5, pad=2, groups=2)
    return x.flatten().linear(3).cross_entropy()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("format", ["fp32", "fp64"])
@pytest.mark.parametrize("algorithm", on("cpu"))
def test_the_plan_holds_under_every_algorithm(algorithm: str, format: str, threads: int) -> None:
    step = memlab.training_step(small(), format=format, threads=threads)
    run = memlab.run(memlab.lowering(step, algorithm), 3)
    assert run.residual == 0
    assert algorithm in {op.algorithm for op in run.step.ops}
    expected = memlab.run(memlab.training_step(small(), format=format, algorithm="direct"), 3)
    near = 1e-4 if format == "fp32" else 1e-10
    assert run.loss == pytest.approx(expected.loss, rel=near)
    for name, values in run.parameters.items():
        np.testing.assert_allclose(values, expected.parameters[name], rtol=near, atol=near)


@pytest.mark.parametrize("make", [memlab.training_step, memlab.inference_step])
def test_mec_is_planned_and_priced_and_refused_before_anything_is_allocated(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = make(small(), algorithm="mec")
    assert "mec" in {op.algorithm for op in step.ops}
    assert memlab.plan(step).peak(3) > memlab.plan(make(small(), algorithm="direct")).peak(3)
    assert roofline.total(step, 3) > 0
    taken: list[object] = []
    monkeypatch.setattr(Cpu, "block", lambda *given: taken.append(given))
    for call in (memlab.run, lambda *given: Session(Program(*given))):
        with pytest.raises(memlab.InputError, match=r"mec is planned only: try .*'im2col-image'"):
            call(step, 3)
    assert not taken
    lowered = memlab.lowering(make(small()), batch=3, times={"conv1": {"mec": 0.0, "fft": 1.0}})
    assert "mec" not in {op.algorithm for op in lowered.ops}


@pytest.mark.parametrize("limit", [0, "20 kB", "1 MiB", None])
def test_the_plan_of_a_search_holds_at_its_batch(limit: str | int | None) -> None:
    step = memlab.lowering(memlab.training_step(small()), batch=2, limit=limit)
    assert memlab.run(step, 2).residual == 0
    with pytest.raises(memlab.InputError, match="this step holds for batch 2 to 2, got 3"):
        memlab.run(step, 3)
