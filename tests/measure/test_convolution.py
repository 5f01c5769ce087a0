"""The benchmark of convolutions, on small ones: what it reports, with and without PyTorch."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from benchmarks import convolution as benchmark
from memlab.layers import Conv2d
from memlab.layers.algorithms import on
from memlab.measure import convolution, memory_bandwidth, vector_lanes
from memlab.measure.convolution import BEST, ConvolutionCase
from memlab.measure.timing import BenchmarkLine
from tests.oracles.requirement import torch_or_skip
from tests.strange import STRANGE, name_of, said

PLAIN = ConvolutionCase("plain", (3, 8, 9), Conv2d(4, 3, pad=1))
STRIDED = ConvolutionCase("strided", (4, 8, 8), Conv2d(2, 3, 2, groups=2, bias=False))


@pytest.fixture(autouse=True)
def gently(monkeypatch):
    """Other tests run beside these, and after them in this process."""
    monkeypatch.setattr(convolution, "freed_memory_kept", nullcontext)
    monkeypatch.setattr(convolution, "SHORTEST", 0.0)


def small():
    return benchmark.run(most=1, cases=(PLAIN, STRIDED))


def test_without_pytorch_it_reports_every_algorithm(monkeypatch):
    monkeypatch.setattr(convolution, "allow_torch", lambda: False)
    lines = {line.name: line for line in small().lines}
    for name in on("cpu"):
        assert lines[f"plain: {name}"].unit == "s"
    assert lines["plain: direct, workspace"].value == 0
    assert lines["plain: im2col-image, workspace"].value == 3 * 9 * 8 * 9 * 4
    assert lines["plain: im2col-tile, workspace"].value == 3 * 9 * 48 * 4
    assert lines["plain: offsets, workspace"].value == 9 * 2 * 8
    assert "PyTorch is not installed: no comparison" in lines


def test_an_algorithm_that_leaves_a_layer_to_another_is_not_timed(monkeypatch):
    monkeypatch.setattr(convolution, "allow_torch", lambda: False)
    names = {line.name for line in small().lines}
    assert "strided: im2col-tile" in names
    assert "strided: offsets" not in names


def test_beside_pytorch_the_best_one_is_named():
    torch = torch_or_skip()
    threads = torch.get_num_threads()
    result = small()
    values = {line.name: line.value for line in result.lines}
    for case in (PLAIN, STRIDED):
        times = {name: values.get(f"{case.name}: {name}", 1e9) for name in on("cpu")}
        best = min(times, key=times.__getitem__)
        expected = times[best] / values[f"{case.name}: PyTorch"]
        assert values[f"{case.name}: {BEST}{best}"] == pytest.approx(expected)
    (mean,) = (line for line in result.lines if "geometric mean" in line.name)
    assert mean.aim == benchmark.AIM
    assert torch.get_num_threads() == threads


def test_the_core_of_the_blas_is_named(monkeypatch):
    named = BenchmarkLine("BLAS of scipy, openblas 0.3.29, core Zen", 4, "")
    monkeypatch.setattr(convolution, "allow_torch", lambda: False)
    monkeypatch.setattr(benchmark, "blas", lambda: [named])
    assert named in small().lines


def test_each_different_convolution_of_a_network_occurs_once():
    cases = benchmark.of("resnet50")
    assert len(cases) == len({case[1:] for case in cases}) == 23
    assert cases[0].layer == Conv2d(64, 7, 2, 3, bias=False)


@pytest.mark.parametrize("given", STRANGE, ids=name_of)
def test_what_names_no_layer_and_no_algorithm_is_one_sentence(given):
    assert said(lambda: convolution.find("mnist_cnn", given))
    assert said(lambda: convolution.find(given, "conv2"))
    case = convolution.find("mnist_cnn", "conv2")
    assert said(lambda: convolution.measure(case, 1, [given]))
    assert said(lambda: vector_lanes.measure([given]))
    assert said(lambda: vector_lanes.forced(given))
    assert said(lambda: memory_bandwidth.measure([given]))
