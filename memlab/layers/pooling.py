"""Layers that take one value of each window of a map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from memlab.axes import Shape, dims
from memlab.errors import InputError, true_or_false
from memlab.formats import FORMATS
from memlab.layers.layer import Layer, maps, validate, window
from memlab.layers.layer_kind import Extras, Flops, LayerKind, by_value
from memlab.step.rewrite_traits import SplitAxis


@dataclass(frozen=True)
class _Pool(Layer):
    """Pooling over a window that slides over each channel. ``kernel='all'`` covers the whole map.

    With ``ceil`` the last window may hang over the edge, as in Caffe; it must still start inside
    the padded input.
    """

    kernel: int | Literal["all"]
    stride: int | None = None
    pad: int = 0
    ceil: bool = False

    def __post_init__(self) -> None:
        validate(self, self.kind, "ceil", true_or_false)
        validate(self, self.kind, "pad", least=0)
        if isinstance(self.kernel, str) and self.kernel == "all":
            if self.stride is not None or self.pad:
                raise InputError(f"{self.kind}: kernel='all' takes no stride and no pad.")
            return
        validate(self, self.kind, "kernel")
        if self.stride is not None:
            validate(self, self.kind, "stride")
        if 2 * self.pad > self.kernel:
            raise InputError(
                f"{self.kind}: pad {self.pad} is more than half of kernel {self.kernel}; "
                f"try at most {self.kernel // 2}."
            )

    def geometry(self, shape: Shape) -> tuple[int, int, int, int]:
        """Return kernel height, kernel width, stride and padding for a map of the given shape."""
        if self.kernel == "all":
            return shape[1], shape[2], 1, 0
        return self.kernel, self.kernel, self.stride or self.kernel, self.pad

    def output(self, *inputs: Shape) -> Shape:
        channels, height, width = maps(self.kind, inputs[0])
        kh, kw, stride, pad = self.geometry(inputs[0])
        rows = window(self.kind, height, kh, stride, pad, ceil=self.ceil)
        return (channels, rows, window(self.kind, width, kw, stride, pad, ceil=self.ceil))

    def describe(self) -> str:
        if self.kernel == "all":
            return "whole map"
        parts = [f"{self.kernel}x{self.kernel}", f"stride {self.stride or self.kernel}"]
        parts += [f"pad {self.pad}"] if self.pad else []
        return ", ".join(parts + (["ceil"] if self.ceil else []))


@dataclass(frozen=True)
class MaxPool2d(_Pool):
    """Maximum of each window."""

    kind: ClassVar[str] = "max_pool2d"
    row: ClassVar[LayerKind] = LayerKind(keeps=(), cut=SplitAxis.SAMPLES, cheap=True, stem="pool")

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        kh, kw, _, _ = self.geometry(inputs[0])
        return by_value(y, kh * kw - 1, 1)

    def extras(self, y: Shape, *inputs: Shape) -> Extras:
        """Index of the largest value in each window."""
        kh, kw, _, _ = self.geometry(inputs[0])
        width = FORMATS["uint8" if kh * kw <= 256 else "int32"]
        return {"indices": (dims(y), width)}


@dataclass(frozen=True)
class AvgPool2d(_Pool):
    """Mean of each window, zeros of the padding included."""

    kind: ClassVar[str] = "avg_pool2d"
    row: ClassVar[LayerKind] = LayerKind(keeps=(), cut=SplitAxis.SAMPLES, cheap=True, stem="pool")

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        kh, kw, _, _ = self.geometry(inputs[0])
        return by_value(y, kh * kw, kh * kw + 1)
