"""Ways to compute a convolution that differ in workspace and bytes moved: what each needs, which
layers it can compute, and its row; no arithmetic.

A kernel of the same name does the work, and the devices that have one are found. An algorithm
without any is planned and priced, and ``run`` refuses it. Where one does not apply, or has no
backward of its own, it names the one that takes its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from memlab import devices, formats
from memlab.axes import Shape
from memlab.errors import one_option
from memlab.formats import Format
from memlab.layers.layer_kind import Buffer, Buffers, KernelChoice, Per, made

DEFAULT = "im2col-image"


class ConvolutionLike(Protocol):
    """Protocol of a convolution's settings, such as those of ``Conv2d``, which the
    algorithms read."""

    @property
    def kernel(self) -> int: ...
    @property
    def stride(self) -> int: ...
    @property
    def padding(self) -> int: ...
    @property
    def dilation(self) -> int: ...
    @property
    def groups(self) -> int: ...


Needs = Callable[[ConvolutionLike, Shape, Shape], Buffers]
"""From a layer and its input and output per sample to its workspace."""


# -- what each needs, and which layers it can compute ----------------------------------------------


def none(layer: ConvolutionLike, x: Shape, y: Shape) -> Buffers:
    """Return no workspace."""
    return {}


def pointwise(layer: ConvolutionLike) -> bool:
    """True if the lowered matrix of a layer equals its input, so that nothing is copied."""
    return (layer.kernel, layer.stride, layer.padding) == (1, 1, 0)


def lowered(per: Per) -> Needs:
    """Return the function that gives the workspace of a lowered copy, of one image at a time or of
    all."""

    def needs(layer: ConvolutionLike, x: Shape, y: Shape) -> Buffers:
        if pointwise(layer):
            return {}
        kernel = (("k", layer.kernel), ("k", layer.kernel))
        return {"workspace": Buffer((("C", x[0]), *kernel, ("Ho", y[1]), ("Wo", y[2])), per)}

    return needs


def mec_applies(layer: ConvolutionLike, x: Shape) -> bool:
    """True if MEC can compute the layer. A kernel that skips rows breaks its matrix, and windows
    that do not overlap share no rows."""
    return layer.dilation == 1 and layer.kernel > layer.stride


def mec(layer: ConvolutionLike, x: Shape, y: Shape) -> Buffers:
    """Return the workspace of MEC: every padded row once per column of the kernel (G8), and the
    reordered weights."""
    inner = ("C/g" if layer.groups > 1 else "C", x[0] // layer.groups)
    kernel, rows = ("k", layer.kernel), x[1] + 2 * layer.padding
    lowered = (("Hp", rows), ("C", x[0]), kernel, ("Wo", y[2]))
    return {
        "workspace": Buffer(lowered, Per.BATCH),
        "ordered weights": Buffer((("K", y[0]), kernel, inner, kernel), Per.STEP),
    }


TILES = 512
"""About how many tiles of Winograd's algorithm are transformed together."""


def winograd_applies(layer: ConvolutionLike, x: Shape) -> bool:
    """True if the layer is a convolution for which F(2x2, 3x3) is defined."""
    return (layer.kernel, layer.stride, layer.dilation, layer.groups) == (3, 1, 1, 1)


def winograd(layer: ConvolutionLike, x: Shape, y: Shape) -> Buffers:
    """Return the workspace of Winograd's algorithm: 16 values per kernel, which is all that a fused
    kernel needs (G5), and 16 per tile. This implementation transforms some whole rows of tiles
    at a time."""
    down, across = -(-y[1] // 2), -(-y[2] // 2)
    blocks = -(-down // max(1, TILES // across))
    tiles = ("T", -(-down // blocks) * across)
    return {
        "transformed weights": Buffer((("16", 16), ("K", y[0]), ("C", x[0])), Per.STEP),
        "transformed inputs": Buffer((("16", 16), ("C", x[0]), tiles), fills=blocks),
        "transformed outputs": Buffer((("16", 16), ("K", y[0]), tiles), fills=blocks),
        "padded row": Buffer((("row", 2 * across + 2),), fills=4 * x[0] * down),
    }


def fft_applies(layer: ConvolutionLike, x: Shape) -> bool:
    """True if each output map is a sum of complete correlations, which an FFT can compute."""
    return (layer.stride, layer.dilation, layer.groups) == (1, 1, 1)


def fft(layer: ConvolutionLike, x: Shape, y: Shape) -> Buffers:
    """Return the workspace of the FFT: the spectra of all inputs, kernels and outputs, each stored
    by half because the values are real (G7), and two planes that a transform alternates between."""
    height, width = (smooth(extent + 2 * layer.padding) for extent in x[1:])
    half = (("2", 2), ("Hf", height), ("Wf/2+1", width // 2 + 1))
    plane = (("2", 2), ("2", 2), ("Hf", height), ("Wf", width))
    return {
        "input spectra": Buffer((("C", x[0]), *half), Per.BATCH),
        "kernel spectra": Buffer((("K", y[0]), ("C", x[0]), *half), Per.STEP),
        "output spectra": Buffer((("K", y[0]), *half), Per.BATCH),
        "planes": Buffer(plane, fills=x[0] + y[0]),
    }


def smooth(size: int) -> int:
    """Return the smallest product of powers of 2, 3 and 5 that is at least ``size``."""
    number = size
    while True:
        rest = number
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return number
        number += 1


TILE, PANEL, LOWERED_ROWS, MAPS, BLOCK = 48, 2**15, 36, 512, 8
"""Output places in a tile; the most values in a panel of lowered ones, and about how many of its
rows meet ``dY`` at once; the most output maps in a panel of ``dY``, and the rows of ``dL``.

The kernels write whole blocks of sums, unchecked: ``TILE`` is a multiple of the lanes of a block
(48 in fp32 where a vector has 512 bits) and ``BLOCK`` at least its rows.
``kernels.cpu.tile.packing.check`` holds every workspace to that before it is written."""


def panel_applies(layer: ConvolutionLike, x: Shape) -> bool:
    """True if a panel has room for at least one channel."""
    return layer.kernel**2 * TILE <= PANEL


def panel(layer: ConvolutionLike, x: Shape, y: Shape) -> Buffers:
    """Return the workspace of a tile's lowered values: all rows, or those of as many channels as a
    panel holds."""
    inner, taps = x[0] // layer.groups, layer.kernel**2
    together = min(inner, PANEL // (TILE * taps))
    fills = layer.groups * -(-inner // together) * -(-y[1] * y[2] // TILE)
    return {"workspace": Buffer((("rows", together * taps), ("tile", TILE)), fills=fills)}


def panel_backward(layer: ConvolutionLike, x: Shape, y: Shape) -> Buffers:
    """Return the workspace of the backward pass: a few lowered rows at many places for the gradient
    of the weights; for the gradient of the input, the maps of a tile of ``dY``, some rows of
    ``dL``, and where they are added."""
    inner, taps, places = x[0] // layer.groups, layer.kernel**2, y[1] * y[2]
    together = min(inner, max(1, LOWERED_ROWS // taps))
    tile = min(-(-places // TILE), PANEL // (together * taps * TILE)) * TILE
    fills = layer.groups * -(-inner // together) * -(-places // tile)
    maps = min(y[0] // layer.groups, MAPS)
    turns = layer.groups * -(-y[0] // layer.groups // maps) * -(-places // TILE)
    return {
        "lowered": Buffer((("rows", together * taps), ("tile", tile)), fills=fills),
        "panel": Buffer((("maps", maps + BLOCK), ("tile", TILE)), fills=turns),
        **tap_table(layer, x, y),
    }


def tap_table_applies(layer: ConvolutionLike, x: Shape) -> bool:
    """True if neighbouring output places read neighbouring values, which is the
    case at stride 1."""
    return layer.stride == 1


def tap_table(layer: ConvolutionLike, x: Shape, y: Shape) -> Buffers:
    """Return the workspace of a tap table: for each tap, the offset of its values and one bit per
    value."""
    axes = (("k", layer.kernel), ("k", layer.kernel), ("entry", 2))
    fills = -(-y[1] * y[2] // TILE)
    return {"table": Buffer(axes, Per.THREAD, formats.find("int64"), fills)}


# -- the algorithms -------------------------------------------------------------------------------


def _always(layer: ConvolutionLike, x: Shape) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Algorithm:
    """Algorithm that computes a convolution.

    ``forward`` and ``backward`` give the buffers of a layer; backward's are forward's where it is
    None. ``applies`` says which layers it can compute; for others, and for a backward that it
    leaves to it, ``instead`` is used. MEC has no kernel: it was the fastest way in none of the 22
    rows of ``clocks/rates.json``.
    """

    name: str
    title: str
    source: str
    forward: Needs
    backward: Needs | None = None
    own_backward: bool = True
    applies: Callable[[ConvolutionLike, Shape], bool] = _always
    instead: str = DEFAULT


ALGORITHMS: dict[str, Algorithm] = {
    entry.name: entry
    for entry in (
        Algorithm("direct", "direct", "G1", none),
        Algorithm("im2col-batch", "im2col, the whole batch", "G2", lowered(Per.BATCH)),
        Algorithm(DEFAULT, "im2col, one image at a time", "G3", lowered(Per.THREAD)),
        Algorithm("mec", "lowered along the width alone", "G8", mec, applies=mec_applies),
        Algorithm("winograd", "Winograd, F(2x2, 3x3)", "G5", winograd, applies=winograd_applies),
        Algorithm("fft", "products of Fourier spectra", "G7", fft, applies=fft_applies),
        Algorithm(
            "im2col-tile", "im2col, one tile at a time", "G4", panel, panel_backward,
            applies=panel_applies,
        ),
        Algorithm(
            "offsets", "a table of offsets", "G9", tap_table, own_backward=False,
            applies=tap_table_applies, instead="im2col-tile",
        ),
        Algorithm("implicit-gemm", "a product read from the image", "G1", none),
    )
}  # fmt: skip
"""The algorithms of a convolution, by name."""


def on(device: str) -> list[str]:
    """Return the names of the algorithms that have a kernel on a device.

    Raises:
        InputError: no such device.
    """
    name = devices.find(device).name
    return [way for way in ALGORITHMS if name in devices.computing("conv2d", way)]


def find(name: str) -> Algorithm:
    """Return the algorithm of that name.

    Raises:
        InputError: no such algorithm.
    """
    return one_option("algorithm", name, ALGORITHMS)


def needed(
    way: str, layer: ConvolutionLike, x: Shape, y: Shape, backward: bool
) -> tuple[str, Buffers]:
    """Return the name and the workspace of the algorithm that computes one operation of a layer:
    the named one, or the one that replaces it where it does not apply. ``x`` and ``y`` are
    shapes per sample.

    Raises:
        InputError: no such algorithm.
    """
    algorithm = find(way)
    while not algorithm.applies(layer, x) or (backward and not algorithm.own_backward):
        algorithm = find(algorithm.instead)
    needs = algorithm.backward if backward and algorithm.backward else algorithm.forward
    return algorithm.name, needs(layer, x, y)


def choose(
    name: str, layer: ConvolutionLike, x: Shape, y: Shape, backward: bool, scope: str, of: Format,
    threads: int = 1,
) -> KernelChoice:  # fmt: skip
    """Return the algorithm that computes one operation, with its workspace as tensors made by
    ``layer_kind.made``.

    Raises:
        InputError: no such algorithm.
    """
    return made(*needed(name, layer, x, y, backward), backward, scope, of, threads)
