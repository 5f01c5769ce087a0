"""Ways to compute a convolution that differ in workspace and bytes moved; no arithmetic.

A kernel of the same name does the work; a test holds the two lists against each other. An algorithm
without a kernel on any device is planned and priced, and ``run`` refuses it. Where one does not
apply, or has no backward of its own, it names the one that takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from memlab.axes import BATCH, Dims, Shape
from memlab.errors import pick
from memlab.formats import Format
from memlab.layers import Conv2d, buffers
from memlab.layers.buffers import Buffer, Needs, Per
from memlab.layers.buffers import pointwise as pointwise
from memlab.layers.buffers import smooth as smooth
from memlab.step import tensor
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor

DEFAULT = "im2col-image"
EVERY = ("cpu", "cuda")
"""The devices that there are kernels for."""


def _always(layer: Conv2d, x: Shape) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A way to convolve.

    ``forward`` and ``backward`` give the buffers of a layer; backward's are forward's where it is
    None. ``applies`` says which layers it can compute; for others, and for a backward that it
    leaves to it, ``instead`` is used. ``devices`` are those with a kernel for it. MEC has none: it
    was the fastest way in none of the 22 rows of ``planner/rates.json``.
    """

    name: str
    title: str
    source: str
    forward: Needs
    backward: Needs | None = None
    own_backward: bool = True
    applies: Callable[[Conv2d, Shape], bool] = _always
    instead: str = DEFAULT
    devices: tuple[str, ...] = ("cpu",)


ALGORITHMS: dict[str, Algorithm] = {
    entry.name: entry
    for entry in (
        Algorithm("direct", "direct", "G1", buffers.none, devices=EVERY),
        Algorithm(
            "im2col-batch",
            "im2col, the whole batch",
            "G2",
            buffers.lowered(Per.BATCH),
            devices=EVERY,
        ),
        Algorithm(
            DEFAULT,
            "im2col, one image at a time",
            "G3",
            buffers.lowered(Per.THREAD),
            devices=EVERY,
        ),
        Algorithm(
            "mec",
            "lowered along the width alone",
            "G8",
            buffers.mec,
            applies=buffers.mec_applies,
            devices=(),
        ),
        Algorithm(
            "winograd",
            "Winograd, F(2x2, 3x3)",
            "G5",
            buffers.winograd,
            applies=buffers.winograd_applies,
        ),
        Algorithm(
            "fft", "products of Fourier spectra", "G7", buffers.fft, applies=buffers.fft_applies
        ),
        Algorithm(
            "im2col-tile",
            "im2col, one tile at a time",
            "G4",
            buffers.panel,
            buffers.panel_backward,
            applies=buffers.panel_applies,
        ),
        Algorithm(
            "offsets",
            "a table of offsets",
            "G9",
            buffers.tap_table,
            own_backward=False,
            applies=buffers.tap_table_applies,
            instead="im2col-tile",
        ),
        Algorithm(
            "implicit-gemm", "a product read from the image", "G1", buffers.none, devices=("cuda",)
        ),
    )
}
"""The algorithms of a convolution, by name."""


def on(device: str) -> list[str]:
    """The names of the algorithms that have a kernel on a device.

    Raises:
        InputError: no such device.
    """
    pick("device", device, dict.fromkeys(EVERY))
    return [name for name, entry in ALGORITHMS.items() if device in entry.devices]


def find(name: str) -> Algorithm:
    """The algorithm of that name.

    Raises:
        InputError: no such algorithm.
    """
    return pick("algorithm", name, ALGORITHMS)


class Choice(NamedTuple):
    """What computes one operation of a layer: the name of the kernel, and its workspace.

    ``moved`` are the bytes that go to the workspace and back in one pass.
    """

    algorithm: str
    workspace: Mapping[str, Tensor]
    moved: Size


def choose(
    name: str, layer: Conv2d, x: Shape, y: Shape, backward: bool, scope: str, of: Format,
    threads: int = 1,
) -> Choice:  # fmt: skip
    """The algorithm ``name`` for one operation of a layer, or what it uses instead.

    ``x`` and ``y`` are shapes per sample; buffers are named ``"<scope>.workspace"``, those of the
    format ``of`` unless they have their own.

    Raises:
        InputError: no such algorithm.
    """
    found = find(name)
    while not found.applies(layer, x) or (backward and not found.own_backward):
        found = find(found.instead)
    needs = found.backward if backward and found.backward else found.forward
    prefix = f"{scope}.{'backward ' if backward else ''}"
    parts = needs(layer, x, y)
    tensors = {
        key: tensor.new(prefix + key, _axes(part, threads), part.format or of, Role.WORKSPACE)
        for key, part in parts.items()
    }
    moved = Size()
    for key, part in parts.items():
        moved += _moved(part, tensors[key].size, threads)
    return Choice(found.name, tensors, moved)


def _axes(buffer: Buffer, threads: int) -> Dims:
    if buffer.per is Per.BATCH:
        return (BATCH, *buffer.axes)
    several = buffer.per is Per.THREAD and threads > 1
    return (("threads", threads), *buffer.axes) if several else buffer.axes


def _moved(buffer: Buffer, size: Size, threads: int) -> Size:
    """Written and read at each fill: for each sample, or once for the operation."""
    if buffer.per is Per.THREAD:
        return Size(0, 2 * buffer.fills * size.fixed // threads)
    return 2 * buffer.fills * size
