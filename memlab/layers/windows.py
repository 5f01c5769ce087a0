"""Layers that slide a window over a map: convolution and pooling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from memlab.axes import Shape
from memlab.errors import InputError, flag
from memlab.layers.layer import Layer, Weights, bias_of, maps, settle, weight_of


@dataclass(frozen=True)
class Conv2d(Layer):
    """A 2-d convolution with a square kernel over ``(C, H, W)``; ``pad='same'`` keeps H and W
    at stride 1 (and gives ceil(H / stride) for odd kernels)."""

    out_channels: int
    kernel: int
    stride: int = 1
    pad: int | Literal["same"] = 0
    dilation: int = 1
    groups: int = 1
    bias: bool = True
    kind: ClassVar[str] = "conv2d"

    def __post_init__(self) -> None:
        for name in ("out_channels", "kernel", "stride", "dilation", "groups"):
            settle(self, "convolution", name)
        settle(self, "convolution", "bias", flag)
        if isinstance(self.pad, str) and self.pad == "same":
            reach = self.dilation * (self.kernel - 1)
            if reach % 2:
                raise InputError(
                    f"convolution: pad='same' needs an odd kernel, got {self.kernel}; "
                    "try pad as a number."
                )
            object.__setattr__(self, "pad", reach // 2)
        settle(self, "convolution", "pad", least=0)
        if self.out_channels % self.groups:
            raise InputError(
                f"convolution: {self.groups} groups do not divide {self.out_channels} output "
                "channels; try a divisor."
            )

    @property
    def padding(self) -> int:
        """Zeros added on each side."""
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


@dataclass(frozen=True)
class _Pool(Layer):
    """A window that slides over each channel. ``kernel='all'`` takes the whole map.

    With ``ceil`` the last window may hang over the edge, as in Caffe; it must still start inside
    the padded input.
    """

    kernel: int | Literal["all"]
    stride: int | None = None
    pad: int = 0
    ceil: bool = False

    def __post_init__(self) -> None:
        settle(self, self.kind, "ceil", flag)
        settle(self, self.kind, "pad", least=0)
        if isinstance(self.kernel, str) and self.kernel == "all":
            if self.stride is not None or self.pad:
                raise InputError(f"{self.kind}: kernel='all' takes no stride and no pad.")
            return
        settle(self, self.kind, "kernel")
        if self.stride is not None:
            settle(self, self.kind, "stride")
        if 2 * self.pad > self.kernel:
            raise InputError(
                f"{self.kind}: pad {self.pad} is more than half of kernel {self.kernel}; "
                f"try at most {self.kernel // 2}."
            )

    def geometry(self, shape: Shape) -> tuple[int, int, int, int]:
        """Kernel height and width, stride, pad, for a map of that shape."""
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
    """The largest value of each window."""

    kind: ClassVar[str] = "max_pool2d"


@dataclass(frozen=True)
class AvgPool2d(_Pool):
    """The mean of each window, zeros of the padding included."""

    kind: ClassVar[str] = "avg_pool2d"


def window(
    what: str, size: int, kernel: int, stride: int, pad: int, dilation: int = 1, ceil: bool = False
) -> int:
    """How many places a sliding window has along one axis (Dumoulin and Visin 2016, section 4).

    Raises:
        InputError: the kernel is wider than the padded input.
    """
    room = size + 2 * pad - dilation * (kernel - 1) - 1
    places = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (places - 1) * stride >= size + pad:
        places -= 1
    if places < 1 or (room < 0 and not ceil):
        reach = dilation * (kernel - 1) + 1
        raise InputError(
            f"{what}: a kernel that reaches over {reach} does not fit into {size} + 2 x {pad} "
            "of padding; try a larger image, a smaller kernel or more padding."
        )
    return places
