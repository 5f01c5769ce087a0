"""The figures of the lecture on lowering: what was recorded, and the copy that is measured."""

import pytest

from benchmarks import BENCHMARKS
from memlab.layers import Conv2d
from memlab.measure import convolution, lecture_layer, recorded_figures
from memlab.measure.convolution import ConvolutionCase

CASE = convolution.find(lecture_layer.NETWORK, lecture_layer.LAYER)


@pytest.fixture(scope="module")
def lines():
    return {line.name: line for line in recorded_figures.load(lecture_layer.FILE).result.lines}


def test_the_recorded_figures_say_where_and_how_they_were_measured():
    found = recorded_figures.load(lecture_layer.FILE)
    assert found.command.removeprefix("python -m benchmarks ") in BENCHMARKS
    assert found.result.machine.versions["torch"]
    assert {line.unit for line in found.result.lines} == {"B", "s"}
    assert recorded_figures.latest() != found  # it is no figure of a GPU


def test_the_recorded_bytes_are_those_of_the_plan_and_pytorch_lowers_as_many(lines):
    for name in ("direct", "im2col-batch", "im2col-image", "im2col-tile", "offsets"):
        op = convolution.operation(CASE, name)
        assert lines[f"{name}, workspace"].value == convolution.workspace(op, 1)
    copy = lines["im2col-image, workspace"].value
    assert lines["copy, measured"].value == copy == 4 * 64 * 9 * 224 * 224
    assert lines["PyTorch without oneDNN, workspace"].value == copy
    assert 0 < lines["PyTorch with oneDNN, workspace"].value < copy


def test_every_time_has_its_samples(lines):
    timed = [line for line in lines.values() if line.unit == "s"]
    assert {"copy", "direct", "PyTorch"} <= {line.name for line in timed}
    assert all(line.value > 0 and line.samples for line in timed)


@pytest.mark.measures
@pytest.mark.parametrize(("k", "stride", "pad"), [(3, 1, 1), (5, 2, 0)])
def test_the_copy_takes_its_own_bytes_alone(k, stride, pad):
    layer = Conv2d(2, k, stride, pad)
    measured, seconds = lecture_layer.copied(ConvolutionCase("small", (3, 11, 13), layer), 2)
    _, rows, columns = layer.output((3, 11, 13))
    assert measured == 4 * 3 * k * k * rows * columns
    assert len(seconds) == 2
