"""CUDA kernels in whole steps: the plan holds to the byte, and the values are the processor's.

They run on a GPU where there is one, else in Numba's simulator, at sizes that it can finish.
"""

from __future__ import annotations

import numpy as np
import pytest

import memlab
from memlab import InputError
from memlab.kernels import registry
from memlab.kernels.cuda.target import target
from memlab.networks.graph import Network
from memlab.optimizers import OPTIMIZERS
from memlab.runtime.run import Run
from memlab.step.op import Phase
from memlab.step.step import Step
from tests.techniques.same import differences

FORMATS = {"fp32": 1e-4, "fp64": 1e-10}
"""How near the processor's values those of the device come."""
CONVOLUTIONS = ("direct", "im2col-image", "im2col-batch", "implicit-gemm")
BATCH = 2


def linear() -> Network:
    x = memlab.network("linear", features=5).linear(4).tanh().linear(3)
    return x.cross_entropy()


def convolutional() -> Network:
    x = memlab.network("small", image=(2, 6, 5)).conv(3, 3, pad=1).relu().max_pool(2)
    return x.conv(4, 2).relu().flatten().linear(3).cross_entropy()


def branched() -> Network:
    """Network with forks, a sum, slices of a concat, statistics and random numbers."""
    x = memlab.network("branched", image=(2, 6, 6)).conv(3, 1, bias=False).batch_norm().relu()
    one, other = x.conv(2, 3, pad=1).tanh(), x.local_response_norm(3).avg_pool(3, 1, pad=1)
    x = one.concat(other).concat(x)
    x = x.add(x.conv(8, 1)).dropout().avg_pool("all").flatten()
    return x.linear(2).squared_error()


def tied() -> Network:
    """Network with parameters that several layers share, and with steps of a sequence."""
    return memlab.zoo.rnn(steps=3, features=3, hidden=4, classes=2)


def compared(step: Step, same: Step | None = None) -> Run:
    """Run a step on the device, and compare bytes and values with plan and processor.

    The processor runs the ``same`` step, with algorithms that it has.
    """
    run = memlab.run(step, BATCH, keep="gradients", device="cuda")
    here = memlab.run(same or step, BATCH, keep="gradients")
    assert run.residual == 0
    assert run.peak == run.planned.peak(BATCH) == run.measured.peak(BATCH)
    near = FORMATS[step.format]
    assert run.loss == pytest.approx(here.loss, rel=near)
    for there, values in ((run.parameters, here.parameters), (run.gradients, here.gradients)):
        assert list(there) == list(values)
        for name in values:
            np.testing.assert_allclose(there[name], values[name], rtol=near, atol=near)
    return run


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_linear_network(optimizer: str, format: str) -> None:
    compared(memlab.training_step(linear(), optimizer, format))


@pytest.mark.parametrize("format", FORMATS)
def test_a_network_that_shares_parameters(format: str) -> None:
    compared(memlab.training_step(tied(), "adam", format))


def test_the_single_layer_of_lesson_1() -> None:
    compared(memlab.training_step(memlab.zoo.linear1(), format="fp64"))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("algorithm", CONVOLUTIONS)
def test_a_convolutional_network(algorithm: str, format: str) -> None:
    step = memlab.training_step(convolutional(), "sgd", format, algorithm)
    run = compared(step, memlab.training_step(convolutional(), "sgd", format, "direct"))
    assert {op.algorithm for op in run.step.ops if op.kind == "conv2d"} == {algorithm}


@pytest.mark.parametrize("format", FORMATS)
def test_a_network_with_branches(format: str) -> None:
    compared(memlab.training_step(branched(), "momentum", format))


def normalized() -> Network:
    """Network whose operations run over their inputs on the device: batch norm's backward, ReLUs,
    dropout."""
    x = memlab.network("normalized", image=(2, 5, 4)).conv(3, 3, pad=1, bias=False).batch_norm()
    x = x.relu().max_pool(2).conv(4, 2).batch_norm().relu().dropout(0.3).flatten()
    return x.linear(4).tanh().linear(3).cross_entropy()


@pytest.mark.parametrize("placed", [None, "best"])
@pytest.mark.parametrize("chosen", ["in place", "recompute", "both"])
def test_rewritten_and_in_an_arena_the_device_gives_the_same(
    chosen: str, placed: str | None
) -> None:
    plain = memlab.training_step(normalized(), "adam")
    forward = [op.name for op in plain.ops if op.phase is Phase.FORWARD]
    after = plain if chosen == "in place" else memlab.recompute(plain, "drop", layers=forward)
    after = after if chosen == "recompute" else memlab.in_place(after)
    here = memlab.run(plain, BATCH, keep="gradients", device="cuda")
    run = memlab.run(after, BATCH, keep="gradients", device="cuda", placement=placed)
    assert not differences(here, run)
    assert run.nan == ()
    assert run.placement is None or run.arena == run.placement.arena


def test_a_buffer_per_thread_is_planned_and_there() -> None:
    step = memlab.training_step(convolutional(), "sgd", threads=3)
    assert compared(step).peak > memlab.plan(memlab.training_step(convolutional(), "sgd")).peak(2)


def test_inference() -> None:
    step = memlab.inference_step(convolutional(), "fp64")
    run, here = (memlab.run(step, BATCH, device=device) for device in ("cuda", "cpu"))
    assert run.residual == 0
    assert run.output is not None
    np.testing.assert_allclose(run.output, here.output, rtol=1e-10)  # type: ignore[arg-type]  # both have one


def test_an_algorithm_without_a_cuda_kernel_is_one_sentence() -> None:
    step = memlab.training_step(memlab.zoo.mnist_cnn(image=8), algorithm="fft")
    assert ("conv2d", "fft", "cuda", "fp32") not in registry.KERNELS
    with pytest.raises(InputError, match=r"no kernel computes conv2d \(fft\) in fp32 on cuda"):
        memlab.run(step, 1, device="cuda")


@pytest.mark.skipif(target().simulated, reason="takes a GPU")
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_network_of_the_zoo(optimizer: str) -> None:
    run = memlab.run(memlab.training_step(memlab.zoo.mnist_cnn(), optimizer), 32, device="cuda")
    assert run.residual == 0
    assert run.counted is not None
    assert run.counted % 2**21 == 0
