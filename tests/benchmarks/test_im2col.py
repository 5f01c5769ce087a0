"""The benchmark of lowering, on small shapes: what it reports, with and without PyTorch."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from benchmarks import im2col
from benchmarks.im2col import Case
from memlab import kernels
from tests.oracles.requirement import torch_or_skip

PLAIN = Case("plain", (2, 3, 9, 8), 3, 1, 1)
STRIDED = Case("strided", (1, 2, 40, 41), 7, 2, 3)
SAFETY = 5


@pytest.fixture(autouse=True)
def gently(monkeypatch):
    monkeypatch.setattr(im2col, "SHORTEST", 0.0)


def small(repeats=1):
    return im2col.run(repeats, (PLAIN, STRIDED)).lines


def test_without_pytorch_it_compares_with_numpy_alone(monkeypatch):
    monkeypatch.setattr(im2col, "allow_torch", lambda: False)
    names = [line.name for line in small()]
    assert names[0] == "plain: im2col to 15.6 kB"
    assert "strided: im2col against sliding_window_view" in names
    assert "strided: im2col against k*k slices" in names
    assert names[-1] == "PyTorch is not installed: no comparison"


def test_beside_pytorch_each_mean_has_its_aim():
    torch = torch_or_skip()
    threads = torch.get_num_threads()
    *lines, copy, forth, back, worst = small()
    ratios = [line.value for line in lines if line.name.endswith("col2im against PyTorch")]
    assert back.value == pytest.approx(statistics.geometric_mean(ratios))
    assert worst.value == max(ratios)
    aims = [line.aim for line in (copy, forth, back, worst)]
    assert aims == [im2col.LIMIT, im2col.RIVAL, im2col.BACK, im2col.WORST]
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("case", [PLAIN, STRIDED], ids=lambda case: case.name)
def test_every_way_computes_the_same(case):
    torch_or_skip()
    x = np.random.default_rng(1).standard_normal(case.shape, np.float32)
    lowered = kernels.im2col(x, *case[2:])
    out = {name: np.full_like(lowered, np.nan) for name in im2col.TO_LOWER}
    ways = im2col._ways_forth(case, x, out)
    back = {name: np.full_like(x, np.nan) for name in im2col.TO_FOLD}
    for way in (*ways.values(), *im2col._ways_back(case, lowered, back).values()):
        way()
    assert (out.pop(im2col.COPY) == 1).all()
    assert ways.keys() == out.keys() | {im2col.COPY}
    assert all((found == lowered).all() for found in out.values())
    ours, theirs = back.values()
    assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_a_shape_stays_within_five_times_the_aims():
    """A safety limit, not an aim: a loaded machine is no regression."""
    torch_or_skip()
    lines = im2col.run(3, im2col.CASES[1:2]).lines
    for line in lines:
        assert line.aim is None or line.value < SAFETY * line.aim, line.name
