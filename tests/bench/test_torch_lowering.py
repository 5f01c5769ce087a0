"""PyTorch's own lowering: with it the bytes of our plan, without it one line that says so."""

from __future__ import annotations

import pytest

from memlab import InputError, bench, devices
from memlab.bench import torch_lowering
from memlab.bench.convolution import Case
from memlab.networks.layers import Conv2d
from tests.oracles.requirement import torch_or_skip

CASES = (
    (Case("3x3", (16, 14, 14), Conv2d(8, 3, pad=1)), 9.0),
    (Case("5x5", (6, 27, 27), Conv2d(4, 5, pad=2)), 25.0),
    (Case("7x7/2", (3, 64, 64), Conv2d(4, 7, 2, 3, bias=False)), 12.25),
    (Case("1x1", (16, 14, 14), Conv2d(8, 1)), 0.0),
    (Case("no padding", (4, 12, 10), Conv2d(8, 3)), 9 * 80 / 120),
)


@pytest.mark.parametrize("batch", [1, 2, 15])
def test_pytorch_lowers_the_whole_batch_and_takes_what_we_plan(batch):
    torch_or_skip()
    found = torch_lowering.measure([case for case, _ in CASES], batch)
    for row, (case, factor) in zip(found.rows, CASES, strict=True):
        channels, height, width = case.shape
        assert row.input == batch * channels * height * width * 4
        assert row.lowered == row.planned == factor * row.input, case.name


def test_the_text_has_a_line_per_layer_with_version_machine_and_date():
    torch = torch_or_skip()
    found = torch_lowering.measure([case for case, _ in CASES])
    head, *lines, where = found.text().split("\n")
    assert f"PyTorch {torch.__version__}, batch 2" in head
    assert len(lines) == len(CASES)
    assert "without oneDNN 225,792 B = 9.00 x, memlab plans 225,792 B" in lines[0]
    assert found.machine.date in where
    assert found.machine.processor in where
    assert str(found) == repr(found) == found.text()


def test_the_flag_of_onednn_is_put_back():
    torch = torch_or_skip()
    before = torch.backends.mkldnn.enabled
    torch_lowering.measure([CASES[0][0]])
    assert torch.backends.mkldnn.enabled is before


def test_a_build_without_onednn_says_so(monkeypatch):
    torch = torch_or_skip()
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    found = torch_lowering.measure([CASES[0][0]])
    assert found.rows[0].onednn is None
    assert "with oneDNN not in this build." in found.text()


def test_without_pytorch_one_line_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(torch_lowering, "find_spec", lambda name: None)
    found = torch_lowering.measure()
    assert found.rows == ()
    assert "\n" not in found.text()
    for said in ("pip install torch", found.machine.processor, found.machine.date):
        assert said in found.text()
    (line,) = torch_lowering.run().lines
    assert line.name == "PyTorch is not installed: no comparison"


def test_the_benchmark_has_a_ratio_for_each_way(monkeypatch):
    torch_or_skip()
    monkeypatch.setattr(torch_lowering, "measure", lambda: MEASURED([CASES[0][0]]))
    lines = bench.find("torch-lowering")().lines
    assert lines[0].name == "3x3: without oneDNN against the input"
    assert (lines[0].value, lines[0].unit) == (9.0, "x")


MEASURED = torch_lowering.measure


@pytest.mark.parametrize("batch", [0, 16])
def test_a_batch_that_pytorch_may_not_lower_is_refused(batch):
    with pytest.raises(InputError, match="batch"):
        torch_lowering.measure(batch=batch)


def test_what_does_not_fit_is_refused(monkeypatch):
    torch_or_skip()
    monkeypatch.setattr(devices, "free_memory", lambda: 10**6)
    with pytest.raises(InputError, match="refused before anything was allocated: 3x3, VGG-16"):
        torch_lowering.measure()
