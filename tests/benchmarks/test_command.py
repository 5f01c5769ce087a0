"""``python -m benchmarks NAME --plot FILE``: files that are written, and refusals before a run."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from contextlib import nullcontext

import pytest

import benchmarks
from benchmarks import convolution as benchmark
from benchmarks import im2col
from benchmarks.__main__ import main
from memlab.layers import Conv2d
from memlab.measure import convolution
from memlab.measure.convolution import ConvolutionCase
from memlab.measure.timing import BenchmarkLine

LAYER = ConvolutionCase("small", (3, 8, 9), Conv2d(4, 3, pad=1))


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Small layers, one sample of each."""
    monkeypatch.setattr(convolution, "freed_memory_kept", nullcontext)
    for module in (convolution, im2col):
        monkeypatch.setattr(module, "SHORTEST", 0.0)
    monkeypatch.setattr(
        benchmark, "blas", lambda: [BenchmarkLine("BLAS of scipy, core Zen", 4, "")]
    )
    runs = {
        "convolution": lambda: benchmark.run(1, [LAYER]),
        "im2col": lambda: im2col.run(1, [im2col.Case("small", (1, 3, 9, 8), 3, 1, 1)]),
        "plan": lambda: pytest.fail("it ran before it was refused"),
    }
    monkeypatch.setattr(benchmarks, "BENCHMARKS", runs)


@pytest.mark.parametrize("name", ["convolution", "im2col"])
def test_a_plot_is_written_beside_the_figures(name, tmp_path, capsys):
    file = tmp_path / "plot.svg"
    assert main([name, "--plot", str(file), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["benchmark"] == name
    written = file.read_text(encoding="utf-8")
    ET.fromstring(written)
    for said in ("small", facts["machine"]["date"], f"Benchmark {name}"):
        assert said in written
    if name == "convolution":
        assert "BLAS of scipy, core Zen" in written


def test_without_a_plot_nothing_is_written(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["im2col"]) == 0
    assert "sliding_window_view" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_without_a_name_the_benchmarks_are_listed(capsys, monkeypatch):
    monkeypatch.undo()
    assert main([]) == 0
    names = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == list(benchmarks.BENCHMARKS)
    assert main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out) == names


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["plan", "--plot", "x.svg"], "--plot draws one of im2col, convolution"),
        (["im2col", "--plot", "no-such-folder/x.svg"], "no-such-folder"),
        (["--plot", "x.svg"], "--plot draws one of im2col, convolution"),
        (["plann"], "did you mean 'plan'"),
    ],
)
def test_what_cannot_be_is_refused_before_the_run(words, says, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(benchmarks.BENCHMARKS, "im2col", benchmarks.BENCHMARKS["plan"])
    assert main(words) == 2
    assert says in capsys.readouterr().err
