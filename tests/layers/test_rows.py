"""What each layer needs in a training step, held against figures derived by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from memlab import formats
from memlab import layers as L  # noqa: N812 - as in memlab
from memlab.assemble.step import inference_step, training_step
from memlab.axes import BATCH, Dims, Shape
from memlab.layers import LAYERS, Conv2d
from memlab.layers.algorithms import ALGORITHMS, DEFAULT, choose
from memlab.layers.layer import Layer
from memlab.layers.losses import Loss
from memlab.networks.builder import Handle, network
from memlab.optimizers import OPTIMIZERS
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor
from tests import kernels_by_case
from tests import operations_by_hand as by_hand
from tests.layers.test_sequences import FORWARD as OF_SEQUENCES
from tests.rows import every_row

BYTES = {"fp32": 4, "bf16": 2, "uint8": 1, "int32": 4, "int64": 8}
Axes = tuple[int | str, ...]
"""Extents, ``'B'`` for the batch."""
Extras = dict[str, tuple[Axes, str]]
"""Axes and format, that of the step where none is given."""


@dataclass(frozen=True)
class Case:
    """A layer of given shapes, and what it needs.

    ``weights`` are the values of its weight and its bias, ``running`` those that a step changes
    without a gradient. ``buffer`` are the axes of the workspace of a convolution, forward and
    backward, or of another layer's backward.
    """

    layer: Layer
    inputs: tuple[Shape, ...]
    output: Shape
    reads: str
    weights: tuple[int, ...] = ()
    buffer: Dims = ()
    running: int = 0
    extras: Extras = field(default_factory=dict)

    def __str__(self) -> str:
        sizes = "+".join("x".join(map(str, shape)) for shape in self.inputs)
        return f"{self.layer.kind} {self.layer.describe()} {sizes}"

    @property
    def learned(self) -> dict[str, int]:
        return dict(zip(("weight", "bias"), self.weights, strict=False))

    @property
    def forward_buffer(self) -> Dims:
        return self.buffer if isinstance(self.layer, Conv2d) else ()

    def ops(self, format: str = "fp32", training: bool = True, first: bool = False) -> list[Op]:
        """Its operations in a network where its inputs learn, or where it comes first."""
        shape, *others = self.inputs
        start = network("one layer", features=shape[0])
        if len(shape) == 3:
            start = network("one layer", image=shape)
        x = start if first else source(start, shape)
        x = x.then(self.layer, *(source(start, other) for other in others), name="case")
        net = x.close() if isinstance(self.layer, Loss) else x.squared_error()
        step = training_step(net, "sgd", format) if training else inference_step(net, format)
        return [op for op in step.ops if op.layer == "case" and op.phase is not Phase.UPDATE]


def source(start: Handle, shape: Shape) -> Handle:
    return start.linear(shape[0]) if len(shape) == 1 else start.conv(shape[0], 1)


def taps(channels: int, kernel: int, rows: int, columns: int) -> Dims:
    return ("C", channels), ("k", kernel), ("k", kernel), ("Ho", rows), ("Wo", columns)


def image(channels: int, rows: int, columns: int) -> Dims:
    return ("C", channels), ("H", rows), ("W", columns)


def indices(format: str, *shape: int) -> Extras:
    return {"indices": (("B", *shape), format)}


def statistics(channels: int) -> Extras:
    return {"mean": ((channels,), ""), "inverse_deviation": ((channels,), "")}


def probabilities(classes: int) -> Extras:
    return {"probabilities": (("B", classes), "")}


PRODUCT = "dy x weight"
NORM = "dy x mean inverse_deviation weight"
PLACES = "dy indices"

# fmt: off
CASES = [
    # layer, inputs, output, what backward reads, what it learns; workspace, extras
    Case(L.Linear(5), ((7,),), (5,), PRODUCT, (5 * 7, 5)),
    Case(L.Linear(4, bias=False), ((3,),), (4,), PRODUCT, (4 * 3,)),
    Case(L.Conv2d(6, 3, 1, 1), ((4, 6, 5),), (6, 6, 5), PRODUCT, (6 * 4 * 9, 6), taps(4, 3, 6, 5)),
    Case(L.Conv2d(5, 2, 2, bias=False), ((3, 6, 7),), (5, 3, 3), PRODUCT, (60,), taps(3, 2, 3, 3)),
    Case(L.Conv2d(8, 2, 3, 1, 3, 4), ((4, 9, 8),), (8, 3, 3), PRODUCT, (32, 8), taps(4, 2, 3, 3)),
    Case(L.Conv2d(6, 1), ((4, 6, 5),), (6, 6, 5), PRODUCT, (6 * 4, 6)),
    Case(L.Conv2d(6, 1, groups=2), ((4, 6, 5),), (6, 6, 5), PRODUCT, (6 * 2, 6)),
    Case(L.Conv2d(6, 1, 2), ((4, 6, 5),), (6, 3, 3), PRODUCT, (6 * 4, 6), taps(4, 1, 3, 3)),
    Case(L.Conv2d(6, 1, 1, 1), ((4, 6, 5),), (6, 8, 7), PRODUCT, (6 * 4, 6), taps(4, 1, 8, 7)),
    Case(L.BatchNorm(), ((4, 3, 5),), (4, 3, 5), NORM, (4, 4), running=8, extras=statistics(4)),
    Case(L.BatchNorm(), ((6,),), (6,), NORM, (6, 6), running=12, extras=statistics(6)),
    Case(L.LocalResponseNorm(5), ((7, 3, 4),), (7, 3, 4), "dy x", (), image(7, 3, 4)),
    Case(L.LocalResponseNorm(4), ((2, 3, 3),), (2, 3, 3), "dy x", (), image(2, 3, 3)),
    Case(L.ReLU(), ((3, 4, 5),), (3, 4, 5), "dy y"),
    Case(L.Tanh(), ((3, 4, 5),), (3, 4, 5), "dy y"),
    Case(L.Dropout(0.3), ((3, 4, 5),), (3, 4, 5), "dy"),
    Case(L.MaxPool2d(2), ((3, 4, 5),), (3, 2, 2), PLACES, extras=indices("uint8", 3, 2, 2)),
    Case(L.MaxPool2d(3, 2, 1), ((3, 7, 9),), (3, 4, 5), PLACES, extras=indices("uint8", 3, 4, 5)),
    Case(L.MaxPool2d("all"), ((2, 16, 16),), (2, 1, 1), PLACES, extras=indices("uint8", 2, 1, 1)),
    Case(L.MaxPool2d("all"), ((2, 1, 257),), (2, 1, 1), PLACES, extras=indices("int32", 2, 1, 1)),
    Case(L.MaxPool2d(17), ((1, 20, 17),), (1, 1, 1), PLACES, extras=indices("int32", 1, 1, 1)),
    Case(L.AvgPool2d(3, 2, 1), ((3, 7, 9),), (3, 4, 5), "dy"),
    Case(L.AvgPool2d("all"), ((2, 3, 5),), (2, 1, 1), "dy"),
    Case(L.Add(), ((2, 3, 4),) * 2, (2, 3, 4), ""),
    Case(L.Add(), ((7,),) * 4, (7,), ""),
    Case(L.Concat(), ((2, 3, 4), (5, 3, 4)), (7, 3, 4), ""),
    Case(L.SoftmaxCrossEntropy(), ((6,),), (), "labels probabilities", extras=probabilities(6)),
    Case(L.SquaredError(), ((2, 3, 4),), (), "labels x"),
]
# fmt: on
each_case = every_row("case", CASES)
each_format = every_row("format", ["fp32", "bf16"])
LEARNING = [case for case in CASES if case.weights]


def axes(tensor: Tensor) -> Axes:
    return tuple("B" if axis == BATCH else axis[1] for axis in tensor.axes)


def size(axes: Axes, format: str) -> Size:
    nbytes = BYTES[format] * prod(extent for extent in axes if isinstance(extent, int))
    return Size(0, nbytes) if axes[:1] == ("B",) else Size(nbytes, 0)


def moved(case: Case, names: list[str], buffer: Dims, format: str, passes: int = 1) -> Size:
    """Bytes of the named arrays, and of a workspace that is written and read in each pass."""
    shapes = {f"x{i}": size(("B", *shape), format) for i, shape in enumerate(case.inputs)}
    shapes |= {"x": shapes["x0"], "y": size(("B", *case.output), format), "loss": size((), format)}
    shapes |= {"labels": shapes["x"], "running": size((case.running,), format)}
    if case.layer.kind == "softmax_cross_entropy":
        shapes["labels"] = size(("B",), "int64")
    shapes |= {name: size((count,), format) for name, count in case.learned.items()}
    shapes |= {name: size(shape, own or format) for name, (shape, own) in case.extras.items()}
    shapes |= {f"d{name}": nbytes for name, nbytes in shapes.items()}
    traffic = 2 * passes * BYTES[format] * prod(extent for _, extent in buffer) if buffer else 0
    return sum((shapes[name] for name in names), Size(0, traffic))


@each_case
def test_backward_reads_what_the_layer_keeps(case: Case) -> None:
    forward, *backward = case.ops()
    assert len(backward) == bool(case.reads)
    for op in backward:
        assert list(op.reads) == case.reads.split()
        there = {**forward.reads, **forward.writes}
        for name in set(op.reads) - {"dy"}:
            assert op.reads[name] == there[name]


@each_format
@each_case
def test_forward_writes_extras_for_backward_alone(case: Case, format: str) -> None:
    forward, *_ = case.ops(format)
    result = "loss" if isinstance(case.layer, Loss) else "y"
    assert {
        name: (axes(tensor), tensor.format.name, tensor.role)
        for name, tensor in forward.writes.items()
        if name != result
    } == {
        name: (shape, own or format, Role.FEATURE_MAP) for name, (shape, own) in case.extras.items()
    }
    for op in case.ops(format, training=False):
        assert list(op.writes) == ["y"]


@each_format
@each_case
def test_workspace(case: Case, format: str) -> None:
    forward, *backward = case.ops(format)
    for op, buffer in [(forward, case.forward_buffer), *((op, case.buffer) for op in backward)]:
        assert [t.axes for t in op.workspace.values()] == ([buffer] if buffer else [])
        assert {t.format.name for t in op.workspace.values()} <= {format}


@each_case
def test_operations_forward(case: Case) -> None:
    forward, *_ = case.ops()
    kind = case.layer.kind
    assert forward.flops == Size(*by_hand.line(by_hand.FORWARD[kind], case.layer, *case.inputs))
    formula = by_hand.INFERENCE.get(kind, by_hand.FORWARD[kind])
    for op in case.ops(training=False):
        assert op.flops == Size(*by_hand.line(formula, case.layer, *case.inputs))


APART = ("fused_attention", "lstm_state", "lstm_output")
"""Kinds whose operations are derived in other ways."""
FORMULAS = by_hand.FORWARD | OF_SEQUENCES


@every_row("kind", [k for k in LAYERS if not LAYERS[k].row.is_view])
def test_the_operations_of_every_kind_are_counted(kind: str) -> None:
    if kind not in APART:
        case = next(each for each in kernels_by_case.CASES if each.layer.kind == kind)
        forward, *_ = case.ops("fp32")
        assert forward.flops == Size(*by_hand.line(FORMULAS[kind], case.layer, *case.shapes))
        if kind not in {each.layer.kind for each in CASES} | OF_SEQUENCES.keys():
            (_, backward), y = case.ops("fp32"), case.layer.output(*case.shapes)
            halves = [half[kind] for half in (by_hand.WEIGHTS, by_hand.INPUT) if kind in half]
            found = [by_hand.line(each, case.layer, case.shapes[0], y) for each in halves]
            assert backward.flops == sum((Size(*each) for each in found), Size())


def backward_by_hand(case: Case, halves: list[dict[str, by_hand.Formula]]) -> Size:
    kind, shapes = case.layer.kind, [case.inputs[0], case.output]
    shapes = shapes[: 1 if isinstance(case.layer, Loss) else 2]
    formulas = [half[kind] for half in halves if kind in half]
    return sum((Size(*by_hand.line(each, case.layer, *shapes)) for each in formulas), Size())


@every_row("case", [case for case in CASES if case.reads])
def test_operations_backward(case: Case) -> None:
    _, backward = case.ops()
    expected = backward_by_hand(case, [by_hand.WEIGHTS, by_hand.INPUT])
    assert backward.flops == expected


@each_format
@each_case
def test_bytes_moved(case: Case, format: str) -> None:
    forward, *backward = case.ops(format)
    several = [f"x{i}" for i in range(len(case.inputs))]
    inputs = several if len(several) > 1 else ["x"]
    names = [*inputs, *case.learned, *case.extras]
    names += ["labels", "loss"] if isinstance(case.layer, Loss) else ["y"]
    names += ["running"] * (2 if case.running else 0)  # read and written
    assert forward.bytes_moved == moved(case, names, case.forward_buffer, format)
    for op in backward:
        names = [*case.reads.split(), *(f"d{name}" for name in case.learned), "dx"]
        passes = 2 if case.learned else 1  # a gradient of the weights, one of the input
        assert op.bytes_moved == moved(case, names, case.buffer, format, passes)


@every_row("case", LEARNING)
def test_a_first_layer_learns_but_passes_no_gradient_on(case: Case) -> None:
    _, backward = case.ops(first=True)
    keeps = [name for name in case.reads.split() if name != "weight" or case.running]
    gradients = [f"d{name}" for name in case.learned]
    assert (list(backward.reads), list(backward.writes)) == (keeps, gradients)
    assert backward.flops == backward_by_hand(case, [by_hand.WEIGHTS])
    assert backward.bytes_moved == moved(case, [*keeps, *gradients], case.buffer, "fp32")


# -- where gradients meet --------------------------------------------------------------------

VALUES = 2 * 4 * 4


def named(step: Step, name: str) -> Op:
    return next(op for op in step.ops if op.name == name)


def test_a_gradient_added_in_place_costs_one_operation_and_a_read_per_value() -> None:
    x = network("fork", image=(2, 4, 4)).conv(2, 1, name="x")
    y = x.conv(2, 1, bias=False, name="a").concat(x.conv(2, 1, bias=False, name="b"))
    step = training_step(y.squared_error(), "sgd")
    late, early = named(step, "backward of b"), named(step, "backward of a")
    assert late.flops == Size(0, 2 * 2 * 2 * VALUES)  # pairs of a product and a sum, twice
    assert early.flops == late.flops + Size(0, VALUES)
    assert late.bytes_moved == Size(4 * (4 + 4), 4 * 3 * VALUES)  # weights; dy, x, dx
    assert early.bytes_moved == Size(4 * (4 + 4), 4 * 4 * VALUES)  # dx is read and written


def test_a_gradient_added_into_a_new_block_reads_the_other_one() -> None:
    x = network("fork", image=(2, 4, 4)).conv(2, 1, name="x")
    step = training_step(x.tanh(name="f").add(x).squared_error(), "sgd")
    op = named(step, "backward of f")
    assert list(op.reads) == ["dy", "y", "addend"]
    assert list(op.writes) == ["dx"]
    assert op.flops == Size(0, (3 + 1) * VALUES)
    assert op.bytes_moved == Size(0, 4 * 4 * VALUES)


def test_a_view_that_meets_a_gradient_is_added_by_an_operation_of_its_own() -> None:
    start = network("fork", image=(2, 4, 4))
    x = start.conv(2, 1, name="x")
    both = x.add(start.conv(2, 1)).concat(x.tanh())
    step = training_step(both.squared_error(), "sgd")
    op = named(step, "sum 1 of the gradients of x")
    assert (list(op.reads), list(op.updates)) == (["dy"], ["dx"])
    assert op.flops == Size(0, VALUES)
    assert op.bytes_moved == Size(0, 4 * (1 + 2) * VALUES)


# -- updates ---------------------------------------------------------------------------------


@each_format
@every_row("optimizer", OPTIMIZERS)
def test_every_optimizer(optimizer: str, format: str) -> None:
    """Each slot of state is an array like its parameter that stays; what is changed moves twice."""
    slots = OPTIMIZERS[optimizer].states
    assert OPTIMIZERS[optimizer].operations == by_hand.UPDATES[optimizer]
    assert len(set(slots)) == len(slots) == by_hand.STATES[optimizer]
    step = training_step(network("fc", features=3).linear(2).squared_error(), optimizer, format)
    op = named(step, "update of fc1")
    values = 2 * 3 + 2
    assert op.flops == Size(by_hand.UPDATES[optimizer] * values)
    assert op.bytes_moved == Size(BYTES[format] * values * (1 + 2 * (1 + len(slots))))
    parameters = [t for t in step.live_in if t.role is Role.PARAMETER]
    state = [t for t in step.live_in if t.role is Role.OPTIMIZER_STATE]
    assert {(t.name, t.axes) for t in state} == {
        (f"{parameter.name}.{slot}", parameter.axes) for parameter in parameters for slot in slots
    }
    assert {t.format.name for t in state} <= {format}
    for tensor in (*parameters, *state):
        assert tensor in step.live_out
        assert op.updates[tensor.name] == tensor


# -- algorithms ------------------------------------------------------------------------------

FP32 = formats.find("fp32")
CONVOLUTIONS = [case for case in CASES if isinstance(case.layer, Conv2d)]


@every_row("name", ALGORITHMS)
@every_row("case", CONVOLUTIONS)
def test_every_algorithm_gives_axes_of_whole_extents(case: Case, name: str) -> None:
    entry = ALGORITHMS[name]
    assert entry.name == name
    assert entry.title
    assert entry.source
    assert isinstance(case.layer, Conv2d)
    for backward in (False, True):
        choice = choose(name, case.layer, case.inputs[0], case.output, backward, "c", FP32)
        assert choice.algorithm in ALGORITHMS
        for key, buffer in choice.workspace.items():
            assert buffer.name == f"c.{'backward ' if backward else ''}{key}"
            assert buffer.role is Role.WORKSPACE
            for axis, extent in buffer.axes:
                assert type(extent) is int
                assert extent > 0 or (axis, extent) == BATCH
            assert buffer.size
        assert bool(choice.moved) is bool(choice.workspace)


def needs(case: Case, name: str, threads: int = 1) -> list[Size]:
    assert isinstance(case.layer, Conv2d)
    x, y = case.inputs[0], case.output
    choice = choose(name, case.layer, x, y, False, "c", FP32, threads)
    return [buffer.size for buffer in choice.workspace.values()]


def test_the_default_algorithm_is_one_of_them_and_direct_takes_no_buffer() -> None:
    assert DEFAULT in ALGORITHMS
    for case in CONVOLUTIONS:
        assert needs(case, "direct") == []


def test_the_whole_batch_takes_what_one_image_takes_for_each_sample() -> None:
    seen = 0
    for case in CONVOLUTIONS:
        image, batch = needs(case, DEFAULT), needs(case, "im2col-batch", threads=3)
        assert batch == [Size(0, size.fixed) for size in image]
        assert needs(case, DEFAULT, threads=3) == [3 * size for size in image]
        seen += len(batch)
    assert seen


def shapes(name: str, layer: Conv2d, x: Shape, backward: bool = False) -> dict[str, Axes]:
    choice = choose(name, layer, x, layer.output(x), backward, "c", formats.find("fp64"))
    return {key: axes(buffer) for key, buffer in choice.workspace.items()}


def test_a_panel_holds_a_tile_of_all_channels_or_of_as_many_as_fit() -> None:
    """G4: tile x C k^2 values, here 48 x C k^2, at most 2^15."""
    assert shapes("im2col-tile", Conv2d(8, 3), (64, 9, 9)) == {"workspace": (64 * 9, 48)}
    assert shapes("im2col-tile", Conv2d(8, 3, groups=4), (64, 9, 9)) == {"workspace": (16 * 9, 48)}
    assert shapes("im2col-tile", Conv2d(8, 3), (256, 9, 9)) == {"workspace": (75 * 9, 48)}
    assert (75 + 1) * 9 * 48 > 2**15 >= 75 * 9 * 48
    assert shapes("im2col-tile", Conv2d(8, 26), (3, 26, 26)) == {"workspace": (26**2, 48)}
    large = choose("im2col-tile", Conv2d(8, 27), (3, 27, 27), (8, 1, 1), False, "c", FP32)
    assert large.algorithm == DEFAULT


@every_row("channels", [1, 5, 64, 4096])
@every_row("kernel", [1, 2, 3, 7, 26])
def test_a_thread_needs_at_most_half_a_mebibyte(kernel: int, channels: int) -> None:
    x, layer = (channels, 56, 56), Conv2d(channels, kernel)
    for backward in (False, True):
        for name in ("im2col-tile", "offsets"):
            choice = choose(name, layer, x, layer.output(x), backward, "c", formats.find("fp64"))
            assert choice.algorithm in ("im2col-tile", "offsets")
            assert 0 < sum(each.size.fixed for each in choice.workspace.values()) <= 2**19


def test_a_table_of_offsets_has_two_numbers_for_each_tap_and_needs_stride_1() -> None:
    layer = Conv2d(8, 3, dilation=2, groups=2)
    assert shapes("offsets", layer, (4, 9, 9)) == {"table": (3, 3, 2)}
    strided = choose("offsets", Conv2d(8, 3, 2), (4, 9, 9), (8, 4, 4), False, "c", FP32)
    assert strided.algorithm == "im2col-tile"
    backward = choose("offsets", layer, (4, 9, 9), (8, 5, 5), True, "c", FP32)
    assert backward.algorithm == "im2col-tile"
