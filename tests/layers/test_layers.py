from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from math import prod
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memlab import layers as L  # noqa: N812 - as in memlab
from memlab.errors import InputError
from memlab.layers import LAYERS
from memlab.layers.layer import Layer, Weights
from tests.rows import every_row

SHAPES = ((4, 8, 8), (16,), (5, 12))
UNLIKE: dict[str, list[tuple[int, ...]]] = {
    "lstm_state": [(12,), (3,)],
    "lstm_output": [(12,), (3,)],
    "attention_values": [(4, 5, 5), (5, 12)],
    "low_rank": [(5, 6), (5, 4)],
}
"""Inputs of layers that take several of unlike shapes."""


def places(size, kernel, stride, pad, dilation=1, ceil=False):
    """The windows along one axis, put down one by one (Caffe's and PyTorch's rule for ceil)."""
    end, reach = size + 2 * pad, dilation * (kernel - 1) + 1
    over = stride - 1 if ceil else 0  # how far the last window may hang over the edge
    starts = [start for start in range(0, end + stride, stride) if start + reach <= end + over]
    return len([start for start in starts if start < pad + size or not ceil])


small = st.integers(1, 6)
sizes = st.integers(1, 40)


@given(sizes, sizes, small, small, st.integers(0, 4), st.integers(1, 3))
def test_a_convolution_has_as_many_outputs_as_windows(h, w, kernel, stride, pad, dilation):
    assume(dilation * (kernel - 1) < min(h, w) + 2 * pad)
    layer = L.Conv2d(7, kernel, stride, pad, dilation)
    expected = [places(n, kernel, stride, pad, dilation) for n in (h, w)]
    assert layer.output((3, h, w)) == (7, *expected)


@pytest.mark.parametrize("pool", [L.MaxPool2d, L.AvgPool2d])
@given(sizes, sizes, small, small, st.integers(0, 3), st.booleans())
def test_a_pool_has_as_many_outputs_as_windows(pool, h, w, kernel, stride, pad, ceil):
    assume(2 * pad <= kernel and (ceil or kernel <= min(h, w) + 2 * pad))
    expected = [places(n, kernel, stride, pad, ceil=ceil) for n in (h, w)]
    assume(min(expected) > 0)
    assert pool(kernel, stride, pad, ceil).output((3, h, w)) == (3, *expected)


@given(sizes, sizes, st.sampled_from([1, 3, 5, 7]), small, st.integers(1, 3))
def test_pad_same_divides_the_size_by_the_stride(h, w, kernel, stride, dilation):
    layer = L.Conv2d(2, kernel, stride, "same", dilation)
    assert layer.output((1, h, w)) == (2, -(-h // stride), -(-w // stride))


@every_row(
    ("layer", "inputs", "shape"),
    [
        (L.MaxPool2d(3, 2, ceil=True), [(64, 112, 112)], (64, 56, 56)),
        (L.MaxPool2d(3, 2), [(64, 112, 112)], (64, 55, 55)),
        (L.MaxPool2d(2), [(8, 7, 9)], (8, 3, 4)),
        (L.AvgPool2d("all"), [(2048, 7, 5)], (2048, 1, 1)),
        (L.Linear(10), [(6272,)], (10,)),
        (L.Flatten(), [(128, 7, 7)], (6272,)),
        (L.Add(), [(4, 3, 3)] * 3, (4, 3, 3)),
        (L.Concat(), [(4, 3, 3), (5, 3, 3)], (9, 3, 3)),
        (L.Concat(), [(4,), (5,)], (9,)),
        (L.BatchNorm(), [(4, 3, 2)], (4, 3, 2)),
        (L.SoftmaxCrossEntropy(), [(10,)], (10,)),
    ],
)
def test_shapes(layer, inputs, shape):
    assert layer.output(*inputs) == shape


@every_row(
    ("layer", "shape", "count"),
    [
        (L.Linear(10), (1024,), 1024 * 10 + 10),
        (L.Linear(10, bias=False), (1024,), 1024 * 10),
        (L.Conv2d(64, 7), (3, 224, 224), 64 * 3 * 7 * 7 + 64),
        (L.Conv2d(64, 7, bias=False), (3, 224, 224), 64 * 3 * 7 * 7),
        (L.Conv2d(64, 3, groups=32), (64, 9, 9), 64 * 2 * 3 * 3 + 64),
        (L.BatchNorm(), (64, 9, 9), 2 * 64),
        (L.ReLU(), (64, 9, 9), 0),
    ],
)
def test_parameters(layer, shape, count):
    assert sum(array.count for array in layer.parameters(shape)) == count


def test_batch_norm_keeps_two_buffers():
    assert [array.name for array in L.BatchNorm().buffers((64, 9, 9))] == [
        "running_mean",
        "running_var",
    ]


@every_row("three", [3.0, np.int64(3), np.float64(3.0).item()])
def test_sizes_become_int(three):
    layer = L.Conv2d(three, three, three, three, three, three)
    shape = layer.output((3, 20, 20))
    assert {type(extent) for extent in shape} == {int}
    assert {type(array.count) for array in layer.parameters((3, 20, 20))} == {int}


BAD = [
    (lambda: L.Conv2d(8, 0), "kernel must be at least 1, got 0"),
    (lambda: L.Conv2d(8, 3, stride=0), "stride must be at least 1, got 0"),
    (lambda: L.Conv2d(8, 3, stride=-1), "stride must be at least 1, got -1"),
    (lambda: L.Conv2d(8, 3, pad=-1), "pad must be at least 0, got -1"),
    (
        lambda: L.Conv2d(8, 3, pad="valid"),  # type: ignore[arg-type]  # wrong on purpose
        "pad must be a whole number or 'same', got 'valid'; try pad='same'",
    ),
    (lambda: L.Conv2d(8, 2, pad="same"), "pad='same' needs an odd kernel, got 2"),
    (lambda: L.Conv2d(8, 2.5), "kernel must be a whole number, got 2.5"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: L.Conv2d(8, 3, groups=3), "3 groups do not divide 8 output channels"),
    (lambda: L.Conv2d(8, 3, groups=4).output((6, 9, 9)), "4 groups do not divide 6 input channels"),
    (lambda: L.Conv2d(8, 7).output((3, 5, 5)), r"reaches over 7 does not fit into 5 \+ 2 x 0"),
    (lambda: L.Conv2d(8, 3, dilation=3).output((3, 6, 6)), "reaches over 7 does not fit into 6"),
    (lambda: L.Conv2d(8, 3).output((12,)), r"needs a map \(C, H, W\), got 12"),
    (lambda: L.MaxPool2d(3).output((3, 2, 2)), "reaches over 3 does not fit into 2"),
    (lambda: L.MaxPool2d(3, stride=0), "stride must be at least 1, got 0"),
    (lambda: L.MaxPool2d(3, pad=2), "pad 2 is more than half of kernel 3; try at most 1"),
    (lambda: L.AvgPool2d("all", stride=2), "kernel='all' takes no stride"),
    (lambda: L.AvgPool2d("some"), "kernel must be a whole number, got 'some'"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: L.Linear(0), "out_features must be at least 1, got 0"),
    (lambda: L.Linear(True), "out_features must be a whole number, got True"),
    (lambda: L.Linear(4).output((3, 2, 2)), r"needs a vector, got 3x2x2; try flatten\(\)"),
    (lambda: L.LocalResponseNorm(0), "size must be at least 1, got 0"),
    (lambda: L.Dropout(1.0), "p must be at least 0 and below 1, got 1.0"),
    (lambda: L.Dropout("half"), "got 'half'; try 0.5"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: L.Add().output((4, 3, 3), (5, 3, 3)), "one shape, got 4x3x3 and 5x3x3"),
    (lambda: L.Concat().output((4, 3, 3), (4, 2, 3)), "got 4x3x3 and 4x2x3; try padding"),
    (lambda: L.Concat().output((4, 3, 3), (4,)), "got 4x3x3 and 4"),
    (lambda: L.SoftmaxCrossEntropy().output((4, 1, 1)), "needs a vector, got 4x1x1"),
]


@every_row(("make", "words"), BAD)
def test_bad_input_gets_one_sentence(make, words):
    with pytest.raises(InputError, match=words) as caught:
        make()
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message


def sample(kind: type[Layer]) -> Layer:
    """A layer with 4 for each setting that has no default."""
    needed = {field.name: 4 for field in fields(kind) if field.default is MISSING}
    return kind(**needed)


def takes(layer: Layer, inputs: list[tuple[int, ...]]) -> bool:
    try:
        layer.output(*inputs)
    except InputError:
        return False
    return True


def inputs_of(layer: Layer) -> list[list[tuple[int, ...]]]:
    if layer.kind in UNLIKE:
        return [UNLIKE[layer.kind]]
    return [[shape] * (2 if layer.arity is None else layer.arity) for shape in SHAPES]


def conforms(kind: type[Layer], key: str) -> None:
    """What the rest of memlab takes for granted about a layer."""
    layer = sample(kind)
    assert layer.kind == key
    assert (kind.__dict__["__doc__"] or "").rstrip().endswith(".")
    assert isinstance(layer.describe(), str)
    assert sample(kind) == layer
    assert hash(sample(kind)) == hash(layer)
    with pytest.raises(FrozenInstanceError):
        layer.kind = "other"  # type: ignore[misc]  # it is frozen
    taken = [inputs for inputs in inputs_of(layer) if takes(layer, inputs)]
    assert taken
    for inputs in taken:
        assert all(type(extent) is int and extent > 0 for extent in layer.output(*inputs))
        arrays = [*layer.parameters(*inputs), *layer.buffers(*inputs)]
        assert all(array.count > 0 for array in arrays)
        assert all(array.count == prod(n for _, n in array.dims) for array in arrays)
        assert len({array.name for array in arrays}) == len(arrays)


@every_row("key", LAYERS)
def test_every_layer_conforms(key):
    conforms(LAYERS[key], key)


@dataclass(frozen=True)
class Undocumented(Layer):
    kind: ClassVar[str] = "planted"


@dataclass(frozen=True)
class Fractional(Layer):
    """A layer whose output has a float in its shape."""

    kind: ClassVar[str] = "planted"

    def output(self, *inputs):
        return (inputs[0][0] / 2,)


@dataclass(frozen=True)
class Doubled(Layer):
    """A layer with two parameters of one name."""

    kind: ClassVar[str] = "planted"

    def parameters(self, *inputs):
        return (Weights("weight", (("K", 1),)),) * 2


@every_row("planted", [Undocumented, Fractional, Doubled])
def test_the_conformance_test_sees_a_planted_error(planted):
    with pytest.raises(AssertionError):
        conforms(planted, "planted")
