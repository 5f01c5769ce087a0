"""Ways to compute a convolution that differ in workspace and bytes moved; no arithmetic.

A kernel of the same name does the work; a test holds the two lists against each other. An algorithm
without a kernel on any device is planned and priced, and ``run`` refuses it. Where one does not
apply, or has no backward of its own, it names the one that takes its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memlab.axes import Shape
from memlab.errors import pick
from memlab.formats import Format
from memlab.layers import buffers
from memlab.layers.buffers import Needs
from memlab.layers.buffers import pointwise as pointwise
from memlab.layers.buffers import smooth as smooth
from memlab.layers.row import Buffers, Choice, Per, made

if TYPE_CHECKING:
    from memlab.layers.convolution import Conv2d

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
    was the fastest way in none of the 22 rows of ``clocks/rates.json``.
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


def needed(way: str, layer: Conv2d, x: Shape, y: Shape, backward: bool) -> tuple[str, Buffers]:
    """The algorithm of that name for one operation of a layer, or the one that it uses instead, and
    its workspace. ``x`` and ``y`` are shapes per sample.

    Raises:
        InputError: no such algorithm.
    """
    found = find(way)
    while not found.applies(layer, x) or (backward and not found.own_backward):
        found = find(found.instead)
    needs = found.backward if backward and found.backward else found.forward
    return found.name, needs(layer, x, y)


def choose(
    name: str, layer: Conv2d, x: Shape, y: Shape, backward: bool, scope: str, of: Format,
    threads: int = 1,
) -> Choice:  # fmt: skip
    """The same with tensors, as ``row.made`` makes them.

    Raises:
        InputError: no such algorithm.
    """
    return made(*needed(name, layer, x, y, backward), backward, scope, of, threads)
