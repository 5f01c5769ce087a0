"""Time per sample against the batch, on small layers: what is measured and reported."""

from __future__ import annotations

import re
from functools import partial

import pytest

from benchmarks import BENCHMARKS, vectors
from memlab import InputError, free_memory
from memlab.layers import Conv2d
from memlab.measure import batch_times
from memlab.measure.batch_times import BatchCurve, curves, measure
from memlab.measure.convolution import ConvolutionCase
from memlab.measure.timing import BenchmarkLine

FALLING = BatchCurve("linear-8", {1: (8.0, 9.0, 7.0), 2: (4.2,), 4: (4.0,), 16: (3.9,)}, 256)


@pytest.fixture(autouse=True)
def gently(monkeypatch):
    """Small layers, one sample of each."""
    monkeypatch.setattr(vectors, "keep_freed_memory", lambda: None)
    monkeypatch.setattr(batch_times, "SHORTEST", 0.0)
    monkeypatch.setattr(
        batch_times, "LAYER", ConvolutionCase("small", (2, 5, 6), Conv2d(3, 3, pad=1, bias=False))
    )
    small = {
        "linear-1024": partial(batch_times._linear, 8),
        "linear-4096": partial(batch_times._linear, 16),
    }
    monkeypatch.setattr(batch_times, "WAYS", batch_times.WAYS | small)


def test_every_way_is_measured_at_every_batch():
    found = measure(batches=[3, 1, 1, 17], most=1)
    assert [curve.name for curve in found.curves] == list(batch_times.WAYS)
    for curve in found.curves:
        assert curve.batches == (1, 3, 17)
        assert all(len(samples) == 1 and samples[0] > 0 for samples in curve.samples.values())
    weights = {curve.name: curve.weights for curve in found.curves}
    assert weights.pop("linear-1024") == 8 * 8 * 4
    assert weights.pop("linear-4096") == 16 * 16 * 4
    assert set(weights.values()) == {3 * 2 * 9 * 4}
    assert found.lanes in (4, 8, 16)


def test_a_time_is_that_of_one_sample(monkeypatch):
    def settled(calls, most, shortest, progress):
        return dict.fromkeys(calls, (6.0, 12.0))

    monkeypatch.setattr(batch_times, "settled", settled)
    (curve,) = measure("pixels", [1, 3]).curves
    assert curve.samples == {1: (6.0, 12.0), 3: (2.0, 4.0)}


def test_the_benchmark_reports_times_weights_and_falls():
    result = BENCHMARKS["batch"](most=1, batches=[1, 4])
    lines = {line.name: line for line in result.lines}
    for name in batch_times.WAYS:
        assert lines[f"{name}: per sample at batch 4"].unit == "s"
        fall = lines[f"{name}: batch 1 by batch 4"].value
        first, last = (lines[f"{name}: per sample at batch {b}"].value for b in (1, 4))
        assert fall == pytest.approx(first / last)
        assert lines[f"{name}: within 10 % of its least from batch"].value in (1, 4)
    assert lines["linear-1024: weights read per sample, batch 1"].value == 256
    assert lines["linear-1024: weights read per sample, batch 4"].value == 64
    assert not any("weights" in name and "linear" not in name for name in lines)
    assert [curve.name for curve in curves(result.lines)] == list(batch_times.WAYS)


def test_a_curve_knows_its_fall_and_its_least():
    assert (FALLING.at(1), FALLING.least, FALLING.near) == (8.0, 3.9, 2)
    assert FALLING.fall == pytest.approx(8.0 / 3.9)


def test_curves_are_read_from_lines():
    lines = [
        BenchmarkLine("linear 4x4: per sample at batch 32", 2.0, "s"),
        BenchmarkLine("linear 4x4: per sample at batch 1", 9.0, "s", samples=(9.0, 8.0, 9.5)),
        BenchmarkLine("net, implicit-gemm: per sample at batch 1", 1.0, "s"),
        BenchmarkLine("product of 4x4: fast", 1.0, "s"),
        BenchmarkLine("a: per sample at batch some", 1.0, "s"),
    ]
    linear, convolution = curves(lines)
    assert (linear.name, linear.samples) == ("linear 4x4", {1: (9.0, 8.0, 9.5), 32: (2.0,)})
    assert (convolution.name, convolution.batches) == ("net, implicit-gemm", (1,))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"ways": ["samples", "lanes"]}, "unknown way 'lanes'"),
        ({"ways": []}, "no way to measure"),
        ({"batches": [4, 4]}, "two batches are compared at least, got [4]"),
        ({"batches": []}, "two batches are compared at least"),
        ({"batches": [0, 1]}, "batch must be at least 1, got 0"),
        ({"batches": [1, "two"]}, "batch must be a whole number"),
        ({"batches": 8}, "batches must be a list, got 8; try [1, 16]"),
        ({"ways": 8}, "names, each a way, must be a list, got 8"),
    ],
)
def test_bad_input_gives_one_sentence(arguments, says):
    with pytest.raises(InputError, match=re.escape(says)):
        measure(**arguments)


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(free_memory, "free_memory", lambda: 10**6)
    with pytest.raises(InputError, match="refused before anything was allocated"):
        measure("samples", [1, 5000])
    assert len(measure("samples", [1, 2], most=1).curves) == 1
