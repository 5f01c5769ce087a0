"""Lowering as values: traced from the index map, in bytes of the plan, measured for real."""

import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import memlab
from memlab import this_machine
from memlab.errors import InputError
from memlab.kernels.cpu.conv.im2col import im2col
from memlab.lesson.material import quantities
from memlab.networks import zoo
from memlab.pictures.shifted_copies import convolutions
from memlab.pictures.shifted_copies import small_values as small_picture
from memlab.pictures.shifted_copies.convolutions import WAYS
from memlab.pictures.shifted_copies.lowered import (
    Lowering,
    formula,
    lines,
    of_layer,
    ratio,
    title,
)
from memlab.pictures.shifted_copies.small_values import LETTER, every, kinds, lower


def lowering(layer="conv1_2", network="vgg16", **given):
    chosen = {"batch": 128, **given}
    return Lowering(**of_layer(zoo.build(network), layer, chosen))


# -- the small picture is the index map -----------------------------------------------------------


def by_windows(k, stride, pad):
    """The same copies, from NumPy's windows over a padded picture of pixel numbers."""
    rim = k // 2 if pad == "same" else 0
    image = np.pad(np.arange(64).reshape(8, 8), rim, constant_values=-1)
    found = np.lib.stride_tricks.sliding_window_view(image, (k, k))[::stride, ::stride]
    return found.transpose(2, 3, 0, 1).reshape(k * k, -1)


each = pytest.mark.parametrize("small", every(), ids=lambda one: one.key)


@each
def test_copies_are_windows_over_the_padded_picture(small):
    copies = [[-1 if n is None else n for n in copy] for copy in small.copies]
    assert copies == by_windows(small.k, small.stride, small.pad).tolist()


@pytest.mark.measures
@each
def test_copies_are_what_the_kernel_writes(small):
    image = np.arange(1, 65, dtype=np.float32).reshape(1, 8, 8)
    k, places = small.k, small.places
    matrix = np.empty((1, k, k, places, places), np.float32)
    im2col(image, matrix, small.stride, k // 2 if small.pad == "same" else 0, 1)
    copies = [[0 if n is None else n + 1 for n in copy] for copy in small.copies]
    assert copies == matrix.reshape(k * k, -1).tolist()


def test_values_and_zeros_add_up():
    small, strided = lower(3), lower(3, 2)
    assert (small.cells - small.zeros, small.zeros) == (484, 92)
    assert small.factor == 9
    assert (strided.cells - strided.zeros, strided.zeros) == (121, 23)
    assert not lower(1).made
    assert lower(1, 2).made


def test_counts_are_those_of_the_first_copies():
    small = lower(3)
    assert Counter(small.counts(9)) == {9: 36, 6: 24, 4: 4}
    assert set(small.counts(0)) == {0}
    assert small.counts(5) == tuple(
        sum(copy.count(pixel) for copy in small.copies[:5]) for pixel in range(64)
    )
    for pixel in range(64):
        assert len(small.pin("pixel", pixel).stands) == small.counts(9)[pixel]


WAYS_BY_SIGN = {(0, 1): "down", (0, -1): "up", (1, 1): "right", (1, -1): "left"}


@each
def test_the_words_of_a_shift_are_where_the_pixels_went(small):
    """From where a pixel stands in the copy of the oracle, and where it stood in the picture."""
    for index, copy in enumerate(by_windows(small.k, small.stride, small.pad).tolist()):
        place, pixel = next((at, n) for at, n in enumerate(copy) if n >= 0)
        stood, stands = divmod(pixel, 8), divmod(place, small.places)
        shift = [small.stride * now - then for now, then in zip(stands, stood, strict=True)]
        ways = [f"{abs(n)} {WAYS_BY_SIGN[axis, n // abs(n)]}" for axis, n in enumerate(shift) if n]
        said = small.shifted(index)
        assert said.endswith(f"moved {' and '.join(ways)}") if ways else "unshifted" in said


@each
def test_what_a_copy_reads_is_what_it_holds(small):
    letter = "".join(LETTER)
    for index, copy in enumerate(small.copies):
        rows, columns = small.reads(index, small.places)
        inside = [
            letter[y * 8 + x] if 0 <= y < 8 and 0 <= x < 8 else "0" for y in rows for x in columns
        ]
        assert "".join(inside) == kinds(copy)


@pytest.mark.parametrize(("pixel", "times"), [(37, 9), (3, 6), (0, 4)])
def test_a_pixel_stands_where_the_oracle_says(pixel, times):
    pin = lower(3).pin("pixel", pixel)
    where = np.argwhere(by_windows(3, 1, "same") == pixel)
    assert [list(stand) for stand in pin.stands] == where.tolist()
    assert len(pin.stands) == times
    assert len(pin.until(2)) == int((where[:, 0] < 2).sum())


def test_a_place_is_a_column_of_the_matrix():
    pin = lower(3).pin("place", 8)
    column = by_windows(3, 1, "same")[:, 8]
    assert pin.zeros == int((column < 0).sum()) == 3
    letter = "".join(LETTER)
    assert lower(3).column(8, 9) == "".join("0" if n < 0 else letter[n] for n in column)
    assert lower(3).window(1, 0) == (0, -1)


@each
def test_a_place_and_the_pixel_in_the_centre_of_its_window(small):
    """From the oracle, there and back."""
    centres = by_windows(small.k, small.stride, small.pad)[small.k**2 // 2].tolist()
    for place, pixel in enumerate(centres):
        assert small.opposite(small.pin("pixel", pixel)) == ("place", place)
        assert small.opposite(small.pin("place", place)) == ("pixel", pixel)


def test_the_nearest_place_where_no_window_has_its_centre():
    assert lower(3, 2).opposite(lower(3, 2).pin("pixel", 63)) == ("place", 15)
    bare = lower(3, 1, "none")
    assert bare.opposite(bare.pin("pixel", 0)) == ("place", 0)
    assert bare.opposite(bare.pin("pixel", 63)) == ("place", 35)


# -- the figures are those of the plan ------------------------------------------------------------


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("layer", ["conv1_2", "conv3_2"])
def test_bytes_are_those_of_a_plan(layer, how):
    """The workspace of the whole step, before this study was thought of."""
    step = memlab.lowering(memlab.training_step(zoo.build("vgg16")), how)
    op = next(op for op in step.ops if op.name == layer)
    for batch in (1, 100, 128):
        found = lowering(layer, batch=batch, how=how)
        assert found.total == sum(tensor.size.at(batch) for tensor in op.workspace.values())
        assert found.source == op.reads["x"].size.at(batch)


@pytest.mark.parametrize("k", small_picture.KERNELS)
@pytest.mark.parametrize("stride", small_picture.STRIDES)
@pytest.mark.parametrize("pad", small_picture.PADS)
def test_the_formula_multiplies_out(k, stride, pad):
    found = lowering(k=k, stride=stride, pad=pad)
    if (k, stride) == (1, 1):
        assert (found.total, found.count) == (0, 0)
        return
    assert found.total == quantities.lowered(found.node, 128).nbytes
    _, numbers, total = formula(found).replace("²", "**2").replace("·", "*").split(" = ")
    assert eval(numbers.removesuffix(" B")) == found.total
    assert int(re.sub(r"\D", "", total)) == found.total
    written = ratio(found).replace("²", "**2").replace("·", "*")
    assert Fraction(found.total, found.source) == found.factor == found.end
    assert abs(eval(written) - float(found.factor)) < 1e-12


@pytest.mark.parametrize("how", WAYS[:3])
def test_every_step_writes_an_equal_part(how):
    parts = [lowering(how=how, step=step).written for step in range(10)]
    assert parts == [n * (parts[9] // 9) for n in range(10)]
    assert parts[9] == lowering(how=how).total


def test_the_figures_that_the_lesson_tells():
    found = lowering(step=5)
    assert (found.source, found.written, found.total) == (
        1_644_167_168, 8_220_835_840, 14_797_504_512,
    )  # fmt: skip
    assert lines(found)[1] == (
        "Step 5 of 9: copy (ky=1, kx=1) written, the unshifted picture. 64 values, 0 zeros."
    )
    assert "Factor now 5.00, at the end 9.00 = 3²/1²." in found.text()
    whole = lowering()
    assert (whole.values, whole.zeros, whole.cells) == (484, 92, 576)
    assert lowering(k=7).total == 80_564_191_232
    assert lowering(stride=2).factor == Fraction(9, 4)
    assert lowering("conv1", "resnet50").factor == Fraction(49, 4)
    said = found.as_dict()
    assert (said["network"], said["layer"], said["written"]) == ("vgg16", "conv1_2", found.written)


@pytest.mark.parametrize(
    "given", [{}, {"k": 5}, {"pad": "none"}, {"how": "im2col-image"}, {"how": "im2col-tile"}]
)
def test_the_largest_batch_is_exact(given):
    need = lowering(**given).workspace
    for room in (4_200_000_000, 12 * 10**9):
        largest = need.largest(room)
        if largest is None:
            assert need.size.per_sample == 0
            assert need.size.fixed <= room
        else:
            assert need.size.at(largest) <= room < need.size.at(largest + 1)
    assert need.largest(1) == 0


def test_one_by_one_makes_no_copy():
    found = lowering("1.2.conv1", "resnet50")
    assert found.pointwise
    assert (found.total, found.count, found.written) == (0, 0, 0)
    assert "1 × 1: the matrix is the input, so no copy is made." in found.text()
    quarter = lowering("1.2.conv1", "resnet50", stride=2)
    assert (quarter.count, quarter.factor) == (1, Fraction(1, 4))
    assert not lowering(how="direct").pointwise


def test_a_tile_is_a_strip_of_every_copy():
    found = lowering(how="im2col-tile")
    assert (found.cells, found.values + found.zeros) == (72, 72)
    strip = [kinds(copy[:8]) for copy in found.small.copies]
    assert found.zeros == sum(cells.count("0") for cells in strip)
    assert found.total == found.workspace.parts[0].size.at(1)


def test_a_layer_that_no_network_has_is_made_up():
    assert not lowering().made_up
    assert "made up" not in title(lowering())
    for changes in ({"k": 5}, {"stride": 2}, {"pad": "none"}):
        assert title(lowering(**changes)).startswith("VGG-16 conv1_2, made up: ")


def test_every_convolution_of_the_zoo_is_drawn_or_refused_in_a_sentence():
    networks = [zoo.build(name) for name in zoo.ZOO]
    nodes = [(one, node) for one in networks for node in convolutions.convolutions(one)]
    drawn = [node for _, node in nodes if convolutions.settings(node)]
    for network, node in nodes:
        if convolutions.settings(node):
            assert Lowering(**of_layer(network, node.name, {})).source
        else:
            with pytest.raises(InputError, match="give k, stride and pad"):
                of_layer(network, node.name, {})
    assert len(drawn) > 0.95 * len(nodes)


# -- written for real -----------------------------------------------------------------------------


@pytest.mark.measures
@pytest.mark.parametrize("changes", [{}, {"k": 5}, {"stride": 2}, {"pad": "none"}])
def test_one_image_is_written_and_measured(changes):
    node = lowering("conv3_2", **changes).node
    done = convolutions.write(node, "try less")
    assert done.planned == done.measured == convolutions.lowered_bytes(node, 1)
    assert done.residual == 0
    assert 0 < done.seconds < 10


@pytest.mark.measures
def test_what_is_measured_is_not_the_plan(monkeypatch):
    """A kernel that writes another size would be seen."""
    monkeypatch.setattr(convolutions, "lowered_bytes", lambda node, batch: 1000)
    assert convolutions.write(lowering("conv3_2").node, "try less").residual != 0


def test_a_run_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(this_machine, "free_memory", lambda: 10**8)
    with pytest.raises(InputError, match=r"^the run needs 128 MB and 100 MB are free; close it\.$"):
        convolutions.write(lowering().node, "close it")
