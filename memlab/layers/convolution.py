"""The convolution. The ways to compute it stand in ``algorithms``."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar, Literal

from memlab.axes import Shape
from memlab.errors import InputError, shorten, true_or_false
from memlab.layers import algorithms
from memlab.layers.layer import (
    Layer,
    Weights,
    bias_of,
    maps,
    validate,
    weight_of,
    window,
)
from memlab.layers.layer_kind import Buffers, Flops, LayerKind
from memlab.step.op import Op
from memlab.step.rewrite_traits import SplitAxis
from memlab.step.storage import Size
from memlab.step.tensor import Tensor


@dataclass(frozen=True)
class Conv2d(Layer):
    """Two-dimensional convolution with a square kernel over ``(C, H, W)``. ``pad='same'`` keeps H
    and W at stride 1, and gives ceil(H / stride) for odd kernels."""

    out_channels: int
    kernel: int
    stride: int = 1
    pad: int | Literal["same"] = 0
    dilation: int = 1
    groups: int = 1
    bias: bool = True
    kind: ClassVar[str] = "conv2d"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=(), cut=SplitAxis.SAMPLES, cheap=False,
        to_learn=("x",), to_pass_on=("weight",), autograd=("x",), stem="conv",
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name in ("out_channels", "kernel", "stride", "dilation", "groups"):
            validate(self, "convolution", name)
        validate(self, "convolution", "bias", true_or_false)
        if isinstance(self.pad, str) and self.pad == "same":
            reach = self.dilation * (self.kernel - 1)
            if reach % 2:
                raise InputError(
                    f"convolution: pad='same' needs an odd kernel, got {self.kernel}; "
                    "try pad as a number."
                )
            object.__setattr__(self, "pad", reach // 2)
        if isinstance(self.pad, str):
            raise InputError(
                f"convolution: pad must be a whole number or 'same', got {shorten(self.pad)}; try "
                "pad='same'."
            )
        validate(self, "convolution", "pad", least=0)
        if self.out_channels % self.groups:
            raise InputError(
                f"convolution: {self.groups} groups do not divide {self.out_channels} output "
                "channels; try a divisor."
            )

    @property
    def padding(self) -> int:
        """Number of zeros added on each side."""
        assert self.pad != "same"
        return self.pad

    def output(self, *inputs: Shape) -> Shape:
        channels, *image = maps("convolution", inputs[0])
        if channels % self.groups:
            raise InputError(
                f"convolution: {self.groups} groups do not divide {channels} input channels; "
                "try a divisor."
            )
        size = [
            window("convolution", n, self.kernel, self.stride, self.padding, self.dilation)
            for n in image
        ]
        return (self.out_channels, *size)

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        inner = inputs[0][0] // self.groups
        label = "C" if self.groups == 1 else "C/g"
        dims = (("K", self.out_channels), (label, inner), ("k", self.kernel), ("k", self.kernel))
        return (weight_of(dims), *bias_of(self.out_channels, self.bias))

    def describe(self) -> str:
        parts = [f"{self.kernel}x{self.kernel}", f"to {self.out_channels}"]
        parts += [f"stride {self.stride}"] if self.stride > 1 else []
        parts += [f"pad {self.pad}"] if self.pad else []
        parts += [f"dilation {self.dilation}"] if self.dilation > 1 else []
        parts += [f"{self.groups} groups"] if self.groups > 1 else []
        return ", ".join(parts + ([] if self.bias else ["no bias"]))

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        inner = inputs[0][0] // self.groups
        products = Size(0, 2 * prod(y) * inner * self.kernel**2)
        bias = Size(0, prod(y) if self.bias else 0)
        return Flops(products + bias, products + bias, products)

    def choose(self, way: str, backward: bool, y: Shape, *inputs: Shape) -> tuple[str, Buffers]:
        return algorithms.needed(way, self, inputs[0], y, backward)


def image_of(op: Op) -> Tensor:
    """Return the image that an operation of a convolution reads, or, in the backward of a frozen
    one, whose gradient it computes."""
    return op.reads["x"] if "x" in op.reads else {**op.writes, **op.updates}["dx"]
