"""PyTorch's own lowering: with it the bytes of our plan, without it one line that says so."""

from __future__ import annotations

import os
import sys
from io import StringIO

import pytest

from benchmarks import BENCHMARKS
from memlab import InputError, free_memory
from memlab.layers import Conv2d
from memlab.measure import torch_lowering
from memlab.measure.convolution import ConvolutionCase
from memlab.measure.timing import machine
from memlab.measure.torch_lowering import Scratch
from tests.oracles.requirement import torch_or_skip

CASES = (
    (ConvolutionCase("3x3", (16, 14, 14), Conv2d(8, 3, pad=1)), 9.0),
    (ConvolutionCase("5x5", (6, 27, 27), Conv2d(4, 5, pad=2)), 25.0),
    (ConvolutionCase("7x7/2", (3, 64, 64), Conv2d(4, 7, 2, 3, bias=False)), 12.25),
    (ConvolutionCase("1x1", (16, 14, 14), Conv2d(8, 1)), 0.0),
    (ConvolutionCase("no padding", (4, 12, 10), Conv2d(8, 3)), 9 * 80 / 120),
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
    head, heads, *lines, plan, where = found.text().split("\n")
    assert f"PyTorch {torch.__version__}, batch 2" in head
    assert len(lines) == len(CASES)
    shown = " ".join(lines[0].split())
    assert shown.startswith("3x3 25.1 kB 226 kB = 9.00 x 226 kB ")
    assert {len(line) for line in (heads, *lines)} == {len(heads)}
    assert "exactly the bytes" in plan
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
    assert found.text().split("\n")[2].endswith("not in this build")


def test_a_line_of_the_table_has_at_most_100_characters():
    size = 99_900_000
    rows = [Scratch(case.name, size, 49 * size, 49 * size, size) for case in torch_lowering.CASES]
    assert max(map(len, torch_lowering._table(rows))) <= 100


def test_bytes_that_are_not_those_of_the_plan_are_said():
    row = Scratch("a layer", 1000, 9000, 9001, None)
    found = torch_lowering.TorchLowering(2, (row,), machine())
    assert "a different number of bytes" in found.text()
    assert "exactly the bytes" not in found.text()


# -- what stands on stderr ----------------------------------------------------------------------


def test_the_profiler_is_not_heard(capfd):
    torch_or_skip()
    torch_lowering.measure([CASES[0][0]])
    assert "USDT" not in capfd.readouterr().err


def test_other_lines_are_passed_on_and_so_is_an_exception(capfd):
    @torch_lowering._quiet()
    def failing():
        os.write(2, b"USDT:now profiler_start\na real error\n")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "a real error\nafter\n"


def test_a_notebook_whose_stderr_has_no_descriptor_is_no_hindrance(capfd, monkeypatch):
    monkeypatch.setattr(sys, "stderr", StringIO())
    with torch_lowering._quiet():
        os.write(2, b"USDT:now\n")
    assert capfd.readouterr().err == ""


def test_a_closed_stderr_is_no_hindrance(monkeypatch):
    monkeypatch.setattr(torch_lowering, "STDERR", 10**6)
    with torch_lowering._quiet():
        pass


def test_without_pytorch_one_line_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(torch_lowering, "allow_torch", lambda: False)
    found = torch_lowering.measure()
    assert found.rows == ()
    assert "\n" not in found.text()
    for said in ("pip install torch", found.machine.processor, found.machine.date):
        assert said in found.text()
    (line,) = BENCHMARKS["torch-lowering"]().lines
    assert line.name == "PyTorch is not installed: no comparison"


def test_the_benchmark_has_a_ratio_for_each_way(monkeypatch):
    torch_or_skip()
    monkeypatch.setattr(torch_lowering, "measure", lambda: MEASURED([CASES[0][0]]))
    lines = BENCHMARKS["torch-lowering"]().lines
    assert lines[0].name == "3x3: without oneDNN against the input"
    assert (lines[0].value, lines[0].unit) == (9.0, "x")


MEASURED = torch_lowering.measure


@pytest.mark.parametrize("batch", [0, 16])
def test_a_batch_that_pytorch_may_not_lower_is_refused(batch):
    with pytest.raises(InputError, match="batch"):
        torch_lowering.measure(batch=batch)


def test_what_does_not_fit_is_refused(monkeypatch):
    torch_or_skip()
    monkeypatch.setattr(free_memory, "free_memory", lambda: 10**6)
    with pytest.raises(InputError, match="refused before anything was allocated: 3x3, VGG-16"):
        torch_lowering.measure()
