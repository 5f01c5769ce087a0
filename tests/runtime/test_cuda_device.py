"""A step on a CUDA device: measured to the byte, refused in one sentence, freed after errors.

It runs on a GPU where there is one, else in Numba's simulator. The kernels here are the
processor's, on copies; ``test_cuda`` runs the device's own.
"""

from __future__ import annotations

import _thread
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import InputError
from memlab.devices import EVERY_LAYER
from memlab.free_memory import Room
from memlab.kernels import registry
from memlab.kernels.registry import Kernel, KernelCall
from memlab.runtime import backend, memory_guard
from memlab.runtime.cuda.simulator import SOON
from memlab.runtime.memory_guard import DoesNotFitError
from memlab.runtime.metering.meter import Meter
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.step import Step
from memlab.step.storage import HOST
from tests.runtime import on_copies
from tests.techniques.same import differences

check_time = memory_guard.check_time
CUDA = backend.find("cuda")
"""The GPU, or the simulator of one; ``numba.cuda`` is imported from here on."""

from numba import cuda  # noqa: E402 - after the simulator is chosen


@pytest.fixture(autouse=True)
def _kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    on_copies.use(monkeypatch)
    monkeypatch.setattr(memory_guard, "check_time", lambda *_: None)  # copies are quick


def tiny() -> Step:
    x = memlab.network("tiny", image=(2, 6, 6)).conv(4, 3).batch_norm().relu().dropout()
    return memlab.training_step(x.flatten().linear(3).cross_entropy())


STEPS: dict[str, Callable[[], Step]] = {
    "linear1": lambda: memlab.training_step(memlab.zoo.linear1()),
    "mnist_cnn": lambda: memlab.training_step(memlab.zoo.mnist_cnn(image=8), "adam", "fp64"),
    "a fork": lambda: memlab.training_step(memlab.zoo.resnet18(image=64, classes=10), "sgd"),
    "slices": lambda: memlab.training_step(
        memlab.zoo.googlenet_bn(image=64, classes=10), format="fp64"
    ),
    "inference": lambda: memlab.inference_step(memlab.zoo.googlenet(image=64, classes=10), "fp64"),
    "offload": lambda: memlab.offload(memlab.training_step(memlab.zoo.mnist_cnn(image=8))),
    "threads": lambda: memlab.training_step(memlab.zoo.mnist_cnn(image=8), threads=3),
}


@pytest.mark.parametrize("name", STEPS)
def test_the_plan_holds_on_the_device(name: str) -> None:
    step = STEPS[name]()
    run = memlab.run(step, 2, keep="gradients" if step.training else None, device="cuda")
    assert run.residual == 0
    assert run.peak == run.planned.peak(2) == run.measured.peak(2)
    assert {e.name for e in run.measured.entries} == {e.name for e in run.planned.entries}
    here = memlab.run(step, 2, keep="gradients" if step.training else None)
    assert run.loss == pytest.approx(here.loss)
    for there, values in ((run.parameters, here.parameters), (run.gradients, here.gradients)):
        assert list(there) == list(values)
        assert all(there[name].shape == values[name].shape for name in values)
    if run.output is not None and here.output is not None:
        np.testing.assert_allclose(run.output, here.output, rtol=1e-10)


@pytest.mark.parametrize("prefetch", ["vdnn", "needed"])
def test_maps_that_wait_on_the_host_change_no_bit(prefetch: str) -> None:
    """In an arena, where only events keep copies and kernels apart, and over several steps."""
    plain = memlab.training_step(memlab.zoo.mnist_cnn(image=8), "sgd")
    step = memlab.in_place(memlab.offload(plain, "all", prefetch=prefetch))
    before = memlab.run(plain, 4, keep="gradients", device="cuda")
    run = memlab.run(step, 4, keep="gradients", device="cuda", placement="best")
    assert not differences(before, run)
    assert run.nan == ()
    assert run.host_peak == run.planned.peak(4, HOST) > 0
    results = []
    for variant in (plain, step):
        placed = memlab.place(variant, 4)
        with Session(Program(variant, 4, device="cuda", placement=placed)) as session:
            for _ in range(3):
                session.step()
            results.append([np.array(session.value(t)).tobytes() for t in session.residents])
    assert results[0] == results[1]


def test_a_run_says_where_it_ran() -> None:
    run = memlab.run(tiny(), 2, device="cuda")
    facts, lines = run.as_dict(), run.text().splitlines()
    assert facts["device"] == run.device == CUDA.name
    assert facts["simulated"] is run.simulated is CUDA.simulated
    assert lines[0].endswith(CUDA.name)
    assert all(name in lines[5] for name in CUDA.outside)
    assert run.measured.origin == ("simulated" if CUDA.simulated else "measured")
    assert lines[2].startswith(run.measured.origin)
    if CUDA.simulated:
        assert facts["device_counter_bytes"] is None
        assert "which say nothing of a GPU" in lines[4]
    else:
        assert facts["device_counter_bytes"] % 2**21 == 0
        assert "the device's own counter" in lines[6]


def test_on_the_processor_nothing_is_said_of_a_device() -> None:
    run = memlab.run(tiny(), 2)
    assert (run.device, run.simulated, run.counted) == ("cpu", False, None)
    assert run.text().splitlines()[0] == f"{run.step.describe()}, batch 2"


def test_a_session_takes_several_steps_on_the_device() -> None:
    losses = []
    for device in EVERY_LAYER:
        with Session(Program(tiny(), 2, device=device), settings={"rate": 0.1}) as session:
            for _ in range(3):
                session.step()
            losses.append([np.array(session.value(t)) for t in session.program.step.live_out])
        assert session.memory.blocks == {}
    for here, there in zip(*losses, strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-4, atol=1e-6)


# -- planted errors -----------------------------------------------------------------------------


def planted(
    monkeypatch: pytest.MonkeyPatch, kind: str, change: Callable[[KernelCall], object]
) -> None:
    """Let a kernel do something else before its work."""
    key = kind, "", "cuda", "fp32"
    kernel: Kernel = registry.KERNELS[key]

    def changed(call: KernelCall) -> None:
        change(call)
        kernel(call)

    monkeypatch.setitem(registry.KERNELS, key, changed)


def test_8_hidden_bytes_of_the_device_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, "relu", lambda call: cuda.device_array(8, np.uint8))
    run = memlab.run(tiny(), 2, device="cuda")
    assert [index for index, off in enumerate(run.residuals) if off] == [2]
    assert run.residual == 8


def test_a_copy_to_the_device_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, "relu", lambda call: cuda.to_device(np.zeros(8, np.uint8)))
    assert memlab.run(tiny(), 2, device="cuda").residual == 8


def test_a_late_free_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[object] = []
    planted(monkeypatch, "relu", lambda call: held.append(call["x"]))
    assert memlab.run(tiny(), 2, device="cuda").residual == 2 * 4 * 16 * 4
    held.clear()


def test_arrays_of_the_host_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def on_the_host(call: KernelCall) -> None:
        x: Any = call["x"]
        np.zeros(100) + x.copy_to_host().sum()

    planted(monkeypatch, "relu", on_the_host)
    assert memlab.run(tiny(), 2, device="cuda").residual == 0


# -- refusals -----------------------------------------------------------------------------------


def test_what_does_not_fit_on_the_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(CUDA), "room", lambda self: Room(10**6))
    monkeypatch.setattr(type(CUDA), "block", None)  # nothing may get this far
    with pytest.raises(DoesNotFitError, match=r"1\.000 MB .* are free"):
        memlab.run(STEPS["mnist_cnn"](), 32, device="cuda")


def test_what_would_take_the_simulator_too_long_is_refused() -> None:
    step = memlab.training_step(memlab.zoo.mnist_cnn(image=8), "sgd")
    with pytest.raises(InputError, match="the largest batch that takes less is") as caught:
        check_time(step, 10**6)
    largest = int(str(caught.value).rstrip(".").rpartition(" ")[2])
    check_time(step, largest)
    with pytest.raises(InputError, match="more than 5 minutes; the largest batch"):
        check_time(step, largest + 1)


def test_where_one_sample_is_too_much_a_smaller_image_is_named() -> None:
    with pytest.raises(InputError, match="not even batch 1 takes less; try a smaller image"):
        check_time(memlab.training_step(memlab.zoo.resnet50()), 1)


@pytest.mark.skipif(not CUDA.simulated, reason="on a GPU it runs")
def test_the_simulator_is_spared_before_anything_is_allocated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_guard, "check_time", check_time)
    monkeypatch.setattr(type(CUDA), "block", None)
    with pytest.raises(InputError, match="refused before anything was allocated"):
        memlab.run(memlab.training_step(memlab.zoo.resnet50(image=64)), 1, device="cuda")


def test_an_operation_without_a_kernel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(registry.KERNELS, ("relu", "", "cuda", "fp32"))
    monkeypatch.setattr(type(CUDA), "block", None)
    with pytest.raises(InputError, match="no kernel computes relu in fp32 on cuda"):
        memlab.run(tiny(), 2, device="cuda")


def test_an_unknown_device_is_one_sentence() -> None:
    with pytest.raises(InputError, match="unknown device 'cud'; did you mean 'cuda'"):
        memlab.run(tiny(), 2, device="cud")


def test_two_measurements_at_once_are_refused() -> None:
    with Meter(hook=CUDA.hook()), pytest.raises(InputError, match="another measurement"):
        memlab.run(tiny(), 2, device="cuda")


@pytest.mark.parametrize(
    ("x", "labels", "words"),
    [
        (np.zeros((2, 2, 5, 6)), [0, 1], r"input must have the shape \(2, 2, 6, 6\)"),
        (np.full((2, 2, 6, 6), np.nan), [0, 1], "input holds NaN or infinity"),
        (np.zeros((2, 2, 6, 6)), [0, 3], "labels must lie between 0 and 2"),
    ],
)
def test_bad_input_is_one_sentence(x: Any, labels: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        memlab.run(tiny(), 2, x=x, labels=labels, device="cuda")
    assert memlab.run(tiny(), 2, device="cuda").residual == 0


# -- errors and interrupts ----------------------------------------------------------------------


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupted_run_frees_what_it_held(
    monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    def fail(call: KernelCall) -> None:
        raise failure

    planted(monkeypatch, "relu", fail)
    with Meter(hook=CUDA.hook()) as meter:
        session = Session(Program(tiny(), 2, device="cuda"))
        assert meter.live > 0
        with pytest.raises(failure):
            session.step()
        assert meter.live == 0


@pytest.mark.skipif(not CUDA.simulated, reason="a GPU's threads are not Python's")
@pytest.mark.usefixtures("heeded")
def test_an_interrupt_ends_simulated_threads_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Semaphore(0)

    def interrupted() -> None:
        try:
            if cuda.threadIdx.x == 2:  # all have been started
                _thread.interrupt_main()
            for _ in range(1000):  # the main thread must go on for each, and meets the interrupt
                cuda.syncthreads()
        finally:
            ended.release()

    def launch(call: KernelCall) -> None:
        cuda.jit(interrupted)[1, 3]()

    planted(monkeypatch, "relu", launch)
    with pytest.raises(KeyboardInterrupt):
        memlab.run(tiny(), 2, device="cuda")
    assert all(ended.acquire(timeout=SOON) for _ in range(3))


# -- what a run on the processor does not load --------------------------------------------------

CODE = """
import sys, memlab
assert memlab.run(memlab.training_step(memlab.zoo.linear1()), 2).residual == 0
print([name for name in sys.modules if name.startswith(("numba.cuda", "numba_cuda"))])
"""


def test_a_run_on_the_processor_leaves_numba_cuda_alone() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
