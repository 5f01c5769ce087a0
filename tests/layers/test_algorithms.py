"""The workspaces of the algorithms, by the formulas of their papers."""

from __future__ import annotations

import pytest

from memlab import InputError, formats
from memlab.axes import Shape
from memlab.devices import EVERY_LAYER
from memlab.layers import Conv2d
from memlab.layers.algorithms import ALGORITHMS, choose, on, smooth
from memlab.layers.layer_kind import KernelChoice
from memlab.step.storage import Size
from tests.rows import every_row

FP32 = formats.find("fp32")
C, K, H, W = 6, 10, 20, 30
SAME = Conv2d(K, 3, pad=1)


def chosen(
    name: str, layer: Conv2d = SAME, threads: int = 1, backward: bool = False
) -> KernelChoice:
    x: Shape = (C, H, W)
    return choose(name, layer, x, layer.output(x), backward, "c", FP32, threads)


def sizes(choice: KernelChoice) -> dict[str, Size]:
    return {name: tensor.size for name, tensor in choice.workspace.items()}


@every_row(
    ("layer", "rows", "columns"),
    [
        (SAME, H + 2, W),
        (Conv2d(K, 3), H, W - 2),
        (Conv2d(K, 5, 2, 2, groups=2), H + 4, W // 2),
    ],
)
def test_lowering_along_the_width_takes_k_rows_of_the_padded_image(
    layer: Conv2d, rows: int, columns: int
) -> None:
    """N Wo Hpad kw C, and the weights in another order."""
    choice, weights = chosen("mec", layer, threads=3), K * C // layer.groups * layer.kernel**2
    lowered = Size(0, 4 * columns * rows * layer.kernel * C)
    assert sizes(choice) == {"workspace": lowered, "ordered weights": Size(4 * weights)}
    assert choice.moved == 2 * lowered + Size(2 * 4 * weights)
    assert sizes(chosen("mec", layer, backward=True)) == sizes(choice)


def test_winograd_takes_16_values_per_kernel_and_per_tile() -> None:
    """150 tiles, which are transformed together."""
    choice = chosen("winograd")
    weights, tiles = 16 * K * C * 4, 10 * 15
    assert sizes(choice) == {
        "transformed weights": Size(weights),
        "transformed inputs": Size(16 * C * tiles * 4),
        "transformed outputs": Size(16 * K * tiles * 4),
        "padded row": Size(32 * 4),
    }
    each = 16 * (C + K) * tiles * 4 + 4 * C * 10 * 32 * 4  # a row per place, map and row of tiles
    assert choice.moved == Size(2 * weights, 2 * each)
    threads = sizes(chosen("winograd", threads=3))
    assert threads["transformed weights"] == Size(weights)
    assert threads["transformed inputs"] == Size(3 * 16 * C * tiles * 4)
    assert chosen("winograd", threads=3).moved == choice.moved


def test_winograd_transforms_whole_rows_of_tiles_as_many_as_stay_near() -> None:
    """112 rows of 112 tiles: 28 times 4 rows."""
    x = (64, 224, 224)
    choice = choose("winograd", Conv2d(64, 3, pad=1), x, x, False, "c", FP32)
    assert sizes(choice)["transformed inputs"] == Size(16 * 64 * 4 * 112 * 4)
    all_tiles = 2 * 16 * (64 + 64) * 112 * 112 * 4
    row = 2 * 4 * 64 * 112 * 226 * 4
    assert choice.moved.per_sample == all_tiles + row


def test_spectra_are_those_of_inputs_kernels_and_outputs() -> None:
    """8 (N C + K C + N K) H (W / 2 + 1) at 24 x 32, and two planes."""
    plane = 24 * (32 // 2 + 1)
    assert sizes(chosen("fft")) == {
        "input spectra": Size(0, 8 * C * plane),
        "kernel spectra": Size(8 * K * C * plane),
        "output spectra": Size(0, 8 * K * plane),
        "planes": Size(2 * 8 * 24 * 32),
    }


@every_row(
    ("size", "expected"), [(1, 1), (7, 8), (11, 12), (58, 60), (60, 60), (226, 240), (241, 243)]
)
def test_a_size_becomes_a_product_of_2_3_and_5(size: int, expected: int) -> None:
    assert smooth(size) == expected


def test_every_device_has_the_direct_algorithm_and_those_that_others_fall_back_on() -> None:
    for device in EVERY_LAYER:
        names = on(device)
        assert {"direct", *(ALGORITHMS[name].instead for name in names)} <= set(names)
    assert sizes(chosen("implicit-gemm")) == {}
    with pytest.raises(InputError, match="unknown device 'tpu'"):
        on("tpu")


@every_row(
    ("name", "layer"),
    [
        ("winograd", Conv2d(K, 3, 2, 1)),
        ("winograd", Conv2d(K, 3, pad=1, groups=2)),
        ("winograd", Conv2d(K, 3, pad=2, dilation=2)),
        ("winograd", Conv2d(K, 5, pad=2)),
        ("fft", Conv2d(K, 3, 2)),
        ("fft", Conv2d(K, 3, groups=2)),
        ("mec", Conv2d(K, 3, dilation=2)),
        ("mec", Conv2d(K, 3, 3)),
        ("mec", Conv2d(K, 1)),
    ],
)
def test_what_an_algorithm_cannot_compute_is_lowered_image_by_image(
    name: str, layer: Conv2d
) -> None:
    for backward in (False, True):
        found = chosen(name, layer, backward=backward)
        assert found == chosen("im2col-image", layer, backward=backward)
