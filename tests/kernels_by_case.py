"""One layer between small others, and its kernels called as a step would call them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from memlab import layers as L  # noqa: N812 - as in memlab
from memlab.assemble.step import inference_step, training_step
from memlab.axes import Shape
from memlab.kernels import registry
from memlab.kernels.registry import Array, KernelCall
from memlab.layers import algorithms
from memlab.layers.layer import Layer
from memlab.layers.layer_kind import Passes
from memlab.layers.losses import Loss
from memlab.networks.builder import Handle, network
from memlab.optimizers import OPTIMIZERS
from memlab.step.op import OF_PART, Op, Phase, UpdateSlot
from memlab.step.tensor import Role, Tensor
from tests import kernel_targets


def slot(optimizer: str, name: str = "w") -> UpdateSlot:
    """A parameter of an update, its gradient and its states, under names that say nothing."""
    states = enumerate(OPTIMIZERS[optimizer].states)
    return UpdateSlot(name, f"{name}'", {state: f"{name}{number}" for number, state in states})


@dataclass(frozen=True)
class Case:
    """A layer, its inputs per sample, and how a convolution is computed."""

    layer: Layer
    shapes: tuple[Shape, ...]
    algorithm: str = algorithms.DEFAULT
    threads: int = 1

    def __str__(self) -> str:
        sizes = "+".join("x".join(map(str, shape)) for shape in self.shapes)
        name = f"{self.layer.kind} {self.layer.describe()} {sizes}"
        return name + (f" {self.algorithm}" if self.layer.kind == "conv2d" else "")

    @property
    def drawn_by(self) -> str:
        """The kernel that computes it: cases of each are drawn."""
        return f"{self.layer.kind} {self.algorithm}"

    @property
    def learns(self) -> bool:
        """Whether the layer has parameters."""
        return any(t.role is Role.PARAMETER for t in self.ops("fp32")[0].reads.values())

    def ops(self, format: str, training: bool = True) -> list[Op]:
        """The layer's operations, backward included, in a network where its inputs learn."""
        start = _start(self.shapes[0], self.layer)
        first, *others = (_source(start, shape) for shape in self.shapes)
        x = first.then(self.layer, *others, name="case")
        if not isinstance(self.layer, Loss):
            x = (x.flatten() if len(x.shape) > 1 else x).then(L.SquaredError())
        if training:
            step = training_step(x.close(), "sgd", format, self.algorithm, self.threads)
        else:
            step = inference_step(x.close(), format, self.algorithm, self.threads)
        return [op for op in step.ops if op.layer == "case" and op.phase is not Phase.UPDATE]


def _start(shape: Shape, layer: Layer) -> Handle:
    if isinstance(layer, L.Embedding):
        return network("one layer", tokens=shape[0], vocabulary=layer.vocabulary)
    if len(shape) == 1:
        return network("one layer", features=shape[0])
    if len(shape) == 2:
        return network("one layer", sequence=shape)
    return network("one layer", image=shape)


def _source(start: Handle, shape: Shape) -> Handle:
    if start.start.vocabulary:
        return start
    if len(start.shape) == 3 and len(shape) == 2:
        return start.conv(shape[1], 2, 2).patches()
    return start.linear(shape[-1]) if len(shape) < 3 else start.conv(shape[0], 1)


def convolutions(device: str) -> list[Case]:
    settings = [
        ((4, 6, 5), L.Conv2d(6, 3, pad="same")),
        ((4, 7, 9), L.Conv2d(6, 3, 2, 1, bias=False)),
        ((4, 6, 5), L.Conv2d(6, 1)),
        ((4, 6, 5), L.Conv2d(6, 1, 2)),
        ((4, 6, 5), L.Conv2d(6, 1, groups=2)),
        ((4, 9, 8), L.Conv2d(6, 3, 1, 2, 2, 2)),
        ((4, 9, 8), L.Conv2d(8, 2, 3, 1, 3, 4)),
        ((1, 11, 4), L.Conv2d(2, 4, 3, 3)),
        ((2, 2, 2), L.Conv2d(3, 3, 1, 3)),
        ((2, 6, 7), L.Conv2d(2, 5, 2, 2)),
    ]
    settings += [((3, 12, 12), L.Conv2d(2, 7, 2, 3))] if device == "cpu" else []
    return [Case(layer, (shape,), a) for shape, layer in settings for a in algorithms.on(device)]


def poolings() -> list[Case]:
    settings: list[Any] = [(2,), (3, 2), (3, 2, 1), (3, 1, 1), (2, 3), ("all",)]
    settings += [(*setting, True) for setting in ((3, 2, 1), (3, 2, 0), (2, 2, 1), (3, 5, 1))]
    return [
        Case(pool(*setting), (shape,))
        for pool in (L.MaxPool2d, L.AvgPool2d)
        for setting in settings
        for shape in ((3, 8, 7), (2, 6, 11))
    ] + [Case(L.MaxPool2d("all"), ((1, 20, 17),))]


OTHERS = [
    *poolings(),
    Case(L.Conv2d(6, 3, pad=1), ((4, 6, 5),), threads=2),
    Case(L.Linear(5), ((7,),)),
    Case(L.Linear(4, bias=False), ((3,),)),
    Case(L.BatchNorm(), ((4, 3, 5),)),
    Case(L.BatchNorm(), ((6,),)),
    Case(L.LocalResponseNorm(alpha=0.3), ((7, 3, 4),)),
    Case(L.LocalResponseNorm(4, alpha=0.5, beta=0.6, k=2.0), ((6, 3, 2),)),
    Case(L.LocalResponseNorm(5), ((2, 3, 3),), threads=2),
    Case(L.ReLU(), ((3, 4, 6),)),
    Case(L.ReLU(), ((8,),)),
    Case(L.Tanh(), ((3, 4, 5),)),
    Case(L.Dropout(0.3), ((3, 4, 5),)),
    Case(L.Dropout(0.0), ((9,),)),
    Case(L.Add(), ((2, 3, 4), (2, 3, 4))),
    Case(L.Add(), ((7,), (7,), (7,), (7,))),
    Case(L.Concat(), ((2, 3, 4), (1, 3, 4), (4, 3, 4))),
    Case(L.Concat(), ((5,), (2,))),
    Case(L.SoftmaxCrossEntropy(), ((6,),)),
    Case(L.SquaredError(), ((6,),)),
    Case(L.SquaredError(), ((2, 3, 4),)),
]
CPU_ALONE = [
    Case(L.LstmState(), ((12,), (3,))),
    Case(L.LstmState(), ((8,),)),
    Case(L.LstmOutput(), ((12,), (3,))),
    Case(L.Linear(6), ((3, 5),)),
    Case(L.Linear(4, bias=False), ((5, 2),)),
    Case(L.SoftmaxCrossEntropy(), ((3, 6),)),
    Case(L.Embedding(7, 4), ((5,),)),
    Case(L.Positions(), ((3, 4),)),
    Case(L.LayerNorm(), ((3, 6),)),
    Case(L.LayerNorm(0.1), ((8,),)),
    Case(L.GELU(), ((3, 4),)),
    Case(L.GELU("tanh"), ((3, 4),)),
    Case(L.Patches(), ((4, 2, 3),)),
    Case(L.ClassToken(), ((3, 4),)),
    Case(L.FirstToken(), ((3, 4),)),
    Case(L.AttentionScores(2), ((5, 12),)),
    Case(L.AttentionSoftmax(), ((2, 5, 5),)),
    Case(L.AttentionSoftmax(causal=True), ((2, 5, 5),)),
    Case(L.AttentionValues(2), ((2, 4, 4), (4, 12))),
    Case(L.FusedAttention(2), ((5, 12),)),
    Case(L.FusedAttention(1, causal=True), ((4, 9),), threads=2),
    Case(L.LowRank(2, 3), ((5,), (2,))),
    Case(L.LowRank(2, 1, (0, 2), 3), ((4, 9), (4, 4))),
]
"""Layers without kernels for a GPU."""
CASES = [*convolutions("cpu"), *OTHERS, *CPU_ALONE]
"""Every layer in many settings. A shape of even size draws no value 0 for a relu."""


def others(device: str) -> list[Case]:
    """Every layer but convolutions that a device has kernels for."""
    return [*OTHERS, *CPU_ALONE] if device == "cpu" else OTHERS


@dataclass
class Trial:
    """A case with drawn values. What a kernel writes starts as NaN, or as 77 where it counts."""

    case: Case
    batch: int
    format: str = "fp64"
    seed: int = 0
    values: dict[str, Array] = field(default_factory=dict)
    target: str = "numba"

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.ops = self.case.ops(self.format)
        self.forward_op, *rest = self.ops
        self.backward_op = rest[0] if rest else None
        for name, tensor in self.forward_op.reads.items():
            self.values[name] = self.draw(name, tensor)
        for name, tensor in self.forward_op.updates.items():
            self.values[name] = np.ones(tensor.shape(self.batch), tensor.format.dtype())

    def draw(self, name: str, tensor: Tensor) -> Array:
        """Values that all differ by more than a finite difference, and lie around 0."""
        shape, dtype = tensor.shape(self.batch), tensor.format.dtype()
        if dtype.kind == "i":
            return self.rng.integers(0, self.case.shapes[0][-1], shape).astype(dtype)
        drawn = self.rng.permutation(np.linspace(-1, 1, prod(shape))).astype(dtype)
        return (drawn + (name == "weight") * 0.1).reshape(shape)

    @property
    def inputs(self) -> list[str]:
        """Inputs whose gradient an operation computes: tokens have none, and one may be dy."""
        floats = [name for name, values in self.values.items() if values.dtype.kind == "f"]
        viewed = ["x0"] if self.case.layer.row.passes is Passes.FIRST else []
        return [name for name in floats if name[0] == "x" and name not in viewed]

    @property
    def learned(self) -> list[str]:
        reads = self.forward_op.reads.items()
        return [name for name, tensor in reads if tensor.role is Role.PARAMETER]

    def forward(self, **given: Array) -> dict[str, Array]:
        """What the forward kernel writes, from the drawn values or others."""
        return self.call(self.forward_op, {**self.values, **given})

    def gradients(self) -> dict[str, Array]:
        """Gradients of the inputs, for a kernel to add to."""
        reads = self.forward_op.reads
        return {f"d{name}": self.draw(f"d{name}", reads[name]) for name in self.inputs}

    def backward(
        self, dy: Array | None, into: Array | Mapping[str, Array] | None = None, **given: Array
    ) -> dict[str, Array]:
        """What the backward kernel writes; ``into`` is a gradient that it adds to, or several."""
        assert self.backward_op is not None
        values = {**self.values, **self.forward(**given), **given}
        values |= {} if dy is None else {"dy": dy}
        if into is not None:
            values |= {"dx": into} if isinstance(into, np.ndarray) else into
        return self.call(self.backward_op, values, into is not None)

    def call(
        self, op: Op, given: Mapping[str, Array], accumulate: bool = False, training: bool = True
    ) -> dict[str, Array]:
        """Call the kernel of an operation; returns what it writes and updates."""
        call = self.prepared(op, given, accumulate, training)
        device = kernel_targets.DEVICES[self.target]
        kernel = registry.find(op.kind, op.algorithm, device, self.format)
        kernel_targets.run(self.target, kernel, call)
        return {name: call[name] for name in (*op.writes, *op.updates)}

    def prepared(
        self, op: Op, given: Mapping[str, Array], accumulate: bool = False, training: bool = True
    ) -> KernelCall:
        """The call of an operation, with an array for every operand."""
        arrays = {name: given[name] for name in op.reads}
        arrays |= {name: given[name].copy() for name in op.updates}
        for name, tensor in {**op.writes, **op.workspace}.items():
            arrays[name] = self.blank(tensor)
        there = [name for name in op.writes if accumulate and name in given]
        arrays |= {name: given[name] for name in there}
        if accumulate and op.traits.apart:
            own = {name: op.writes[name] for name in there if name != "dx"}
            arrays |= {name + OF_PART: self.blank(each) for name, each in own.items()}
        layer, key = op.attributes["layer"], self.seed + 3
        adds, changed = "dx" in there, [*op.updates, *there]
        return KernelCall(arrays, layer, training, adds, key, updates=changed)

    def blank(self, tensor: Tensor) -> Array:
        dtype = tensor.format.dtype()
        return np.full(tensor.shape(self.batch), 77 if dtype.kind in "iu" else np.nan, dtype)

    def output(self, given: Mapping[str, Array]) -> Array:
        return given["loss" if isinstance(self.case.layer, Loss) else "y"]

    def weights(self) -> Array | None:
        """A gradient of the output; a loss needs none."""
        if isinstance(self.case.layer, Loss):
            return None
        return self.draw("dy", self.forward_op.writes["y"])


def as_slice(array: Array) -> Array:
    """The same values as a slice of larger samples, whose other values are NaN."""
    batch, channels, *rest = array.shape
    large = np.full((batch, channels + 3, *rest), np.nan, array.dtype)
    large[:, 1 : 1 + channels] = array
    return large[:, 1 : 1 + channels]


def distance(found: Array, expected: Array) -> float:
    """Norm of the difference over the norm."""
    gap = np.linalg.norm(found.astype(np.float64) - expected)
    return float(gap / (np.linalg.norm(expected) or 1))
