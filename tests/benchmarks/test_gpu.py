"""The benchmark of a GPU, run in the simulator on tiny shapes: what it reports, not how fast."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter

import pytest

from benchmarks import BENCHMARKS, gpu
from benchmarks.im2col import Case
from memlab import InputError
from memlab.kernels.cuda.target import CudaTarget
from memlab.layers import Conv2d, algorithms
from memlab.measure import batch_times, recorded_figures
from memlab.measure.convolution import ConvolutionCase as Layer
from memlab.measure.timing import BenchmarkLine, Result, machine
from tests import gpu as on_gpu

ROOT = Path(__file__).resolve().parents[2]
LOWERED = Case("tiny", (1, 1, 3, 3), 2, 1, 0)
LAYER = Layer("layer", (1, 3, 3), Conv2d(1, 2))
TARGETS = import_module("memlab.kernels.cuda.target")


@pytest.fixture
def simulated(monkeypatch):
    """The simulator's events know no times, and its memory has no end."""
    if not TARGETS.target().simulated:
        pytest.skip("for the simulator")
    monkeypatch.setattr(gpu, "Clock", lambda: perf_counter)
    monkeypatch.setattr(gpu, "SHORTEST", 0.0)
    monkeypatch.setattr(gpu, "MOST", 2)


def test_every_figure_is_there_with_its_unit(simulated):
    figures = list(gpu.lines(1, [LOWERED], [2], [LAYER], LAYER, [2]))
    assert {line.name: line.unit for line in figures} == {
        "tiny, batch 2: bytes written": "B",
        "tiny, batch 2: coalesced": "s",
        "tiny, batch 2: naive": "s",
        "tiny, batch 2: a fill of the same bytes": "s",
        "tiny, batch 2: coalesced against a fill of the same bytes": "x",
        "tiny, batch 2: naive against coalesced": "x",
        "product of 2x2: fast": "s",
        "product of 2x2: fast, rate": "GFLOP/s",
        "product of 2x2: simple": "s",
        "product of 2x2: simple, rate": "GFLOP/s",
        **{f"layer, batch 2: {name}": "s" for name in algorithms.on("cuda")},
        **{f"layer, batch 2: {name}, workspace": "B" for name in algorithms.on("cuda")},
        "layer, implicit-gemm: per sample at batch 2": "s",
        "linear 2x2: per sample at batch 2": "s",
    }
    found = {line.name: line.value for line in figures}
    assert all(line.value > 0 for line in figures if line.unit != "B")
    assert found["tiny, batch 2: bytes written"] == 2 * 4 * 4 * 4
    assert found["layer, batch 2: implicit-gemm, workspace"] == 0
    assert found["layer, batch 2: im2col-batch, workspace"] == 2 * 4 * 4 * 4
    assert found["layer, batch 2: im2col-image, workspace"] == 4 * 4 * 4
    curves = {curve.name: curve.batches for curve in batch_times.curves(figures)}
    assert curves == {"layer, implicit-gemm": (2,), "linear 2x2": (2,)}


def test_a_time_is_that_of_one_sample(simulated, monkeypatch):
    monkeypatch.setattr(gpu, "timed", lambda ways, repeats: dict.fromkeys(ways, (6.0,) * repeats))
    lines = list(gpu._per_sample("linear 2x2", batch_times.linear(2), [1, 3], repeats=2))
    assert [line.samples for line in lines] == [(6.0, 6.0), (2.0, 2.0)]


def test_the_clock_adds_up_what_lies_between_events(monkeypatch):
    class Event:
        made = 0

        def __init__(self):
            Event.made += 1
            self.place = Event.made**2

        def record(self):
            pass

        def synchronize(self):
            pass

        def elapsed_time(self, later):
            return 1000.0 * (later.place - self.place)

    monkeypatch.setattr(import_module("numba.cuda"), "event", Event)
    clock = gpu.Clock()
    assert [clock(), clock(), clock()] == [3.0, 8.0, 15.0]


def test_a_sample_is_the_mean_of_many_launches(monkeypatch):
    seconds, launches = [0.0], {"quick": 0, "slow": 0}

    def way(name, takes):
        def launch():
            launches[name] += 1
            seconds[0] += takes

        return launch

    monkeypatch.setattr(gpu, "Clock", lambda: lambda: seconds[0])
    ways = {"quick": way("quick", 0.001), "slow": way("slow", 1.0)}
    times = gpu.timed(ways, repeats=3)
    assert times == {"quick": pytest.approx((0.001,) * 3), "slow": pytest.approx((1.0,) * 3)}
    assert launches["quick"] > 3 * 15
    assert launches["slow"] == 2 + 4  # one to compile, one to count, and a round to warm up


def test_a_batch_leaves_most_of_the_memory_free(monkeypatch):
    class Context:
        def get_memory_info(self):
            return type("Info", (), {"free": 4000})()

    monkeypatch.setattr(import_module("numba.cuda"), "current_context", Context)
    assert [gpu._batch(nbytes) for nbytes in (1, 10, 400, 10**6)] == [gpu.MOST, 100, 2, 1]


def test_without_a_gpu_one_sentence_says_so(monkeypatch):
    monkeypatch.setattr(TARGETS, "target", lambda: CudaTarget("simulator", True, None))
    with pytest.raises(InputError, match="there is no GPU here that Numba can use"):
        BENCHMARKS["gpu"]()


def here(*words, **environment):
    """A command of this Python, in the simulator if need be."""
    if TARGETS.gpu():
        environment |= {"NUMBA_ENABLE_CUDASIM": "1"}
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=ROOT,
        env=os.environ | environment,
    )  # fmt: skip


def test_without_a_gpu_nothing_is_recorded():
    done = here("-m", "tests.gpu")
    assert (done.returncode, done.stderr) == (2, "")
    assert re.fullmatch(r"No figures: .* simulator.*\.\n", done.stdout)


@pytest.mark.parametrize("failed", [0, 1])
def test_figures_are_kept_if_the_tests_pass(failed, tmp_path, monkeypatch, capsys):
    seen = []

    def tests(command, cwd, env):
        seen.append(env["MEMLAB_REQUIRE_GPU"])
        return subprocess.CompletedProcess(command, failed)

    monkeypatch.setattr(subprocess, "run", tests)
    monkeypatch.setattr(
        gpu, "run", lambda: Result("gpu", machine(), (BenchmarkLine("a", 1.0, "s"),))
    )
    monkeypatch.setattr(recorded_figures, "FOLDER", tmp_path)
    assert on_gpu.record("NVIDIA T4") == failed
    assert seen == ["1"]
    if failed:
        assert recorded_figures.latest(tmp_path) is None
        assert capsys.readouterr().out == f"{on_gpu.FAILED}\n"
    else:
        assert str(recorded_figures.latest(tmp_path)) in capsys.readouterr().out


def test_a_test_that_has_to_run_on_a_gpu_does_not_pass_in_the_simulator():
    done = here("-m", "pytest", "tests/test_units.py", MEMLAB_REQUIRE_GPU="1")
    assert done.returncode == 1
    assert "MEMLAB_REQUIRE_GPU asks for a GPU: there is none" in done.stdout
    assert "passed" not in done.stdout
