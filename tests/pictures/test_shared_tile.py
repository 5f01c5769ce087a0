"""The tiles move over the product as the counted kernel moves them, and every load is counted."""

from collections import Counter

import numpy as np
import pytest

from memlab import views
from memlab.errors import InputError
from memlab.kernels.cuda.conv import counted_product
from memlab.pictures.shared_tile import TiledProduct
from tests.pictures.shown import send

SIDES = (1, 2, 4, 8)


def at_the_end(side, size=8):
    view = views.shared_tile(side, size)
    view.step = view.rows.last
    return view


@pytest.mark.parametrize("side", SIDES)
def test_at_the_end_each_value_was_loaded_as_often_as_the_kernel_counts(side):
    rows, counted = at_the_end(side).rows, counted_product.loads(8, side)
    assert {count for line in rows.matrix_loads for count in line} == {counted}
    assert {count for line in rows.weight_loads for count in line} == {counted}
    assert rows.loads == 64 * counted
    assert rows.loads_alone == 64 * counted_product.loads(8, 1)
    assert f"{counted} with tiles, 8 without." in rows.end


@pytest.mark.parametrize("side", SIDES)
def test_a_step_loads_one_tile_and_computes_with_it(side):
    """The tiles of the steps, multiplied and added up, are the product."""
    drawn = np.random.default_rng(0)
    weights, matrix = drawn.integers(-9, 10, (2, 8, 8))
    view, results = views.shared_tile(side), np.zeros((8, 8), int)
    before = np.zeros((8, 8), int)
    for step in range(1, view.rows.last + 1):
        view.step = step
        row, column, turn = (side * place for place in view.rows.at)
        tile = weights[row : row + side, turn : turn + side]
        results[row : row + side, column : column + side] += (
            tile @ matrix[turn : turn + side, column : column + side]
        )
        loads = np.array(view.rows.matrix_loads)
        assert Counter((loads - before).ravel().tolist())[1] == side**2
        assert (loads - before)[turn, column] == 1
        assert loads.sum() == view.rows.loads
        before = loads
    assert np.array_equal(results, weights @ matrix)


def test_every_number_of_loads_stands_in_the_text_and_in_the_picture():
    view = views.shared_tile(4, step=3)
    assert "48 with tiles, 192 without" in view.text()
    assert view.text().splitlines()[-1].split() == ["1"] * 4 + ["0"] * 4
    drawn = [label.content for label in view.page().svg().labels]
    loaded = sum(n > 0 for n in np.ravel([view.rows.matrix_loads, view.rows.weight_loads]))
    assert sum(label in ("1", "2") for label in drawn) == loaded


def test_without_counts_nothing_is_said_of_loads():
    view = views.shared_tile(4, counted=False)
    for step in range(1, view.rows.last + 1):
        view.step = step
        said = view.text() + view.says(view.scene())
        assert not [word for word in ("load", "without", "marked", "ratio") if word in said]
        assert not [x for x in view.page().svg().labels if x.content in list("12348")]


def test_keys_move_the_tiles_and_stop_at_both_ends():
    view = views.shared_tile(4)
    seen = []
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "End", "ArrowRight", "Home", "ArrowUp"):
        send(view, ("key", key))
        seen.append(view.step)
    assert seen == [2, 3, 2, 8, 8, 1, 1]


def test_another_tile_begins_again():
    view = views.shared_tile(4, step=5)
    view.side = 2
    assert (view.step, view.rows.last) == (1, 64)


@pytest.mark.parametrize(("side", "size"), [(3, 8), (0, 8), (4, 17), ("4", 8)])
def test_a_tile_that_does_not_fit_is_refused_and_another_one_named(side, size):
    with pytest.raises(InputError, match="got") as caught:
        views.shared_tile(side, size)
    usual = int(str(caught.value).rstrip(".").rpartition(" ")[2])
    views.shared_tile(*((side, usual) if size == 17 else (usual, size)))


@pytest.mark.parametrize("step", [0, 9, 1.5, "2"])
def test_a_step_that_is_none_is_refused(step):
    view = views.shared_tile(4)
    with pytest.raises(InputError, match="step"):
        view.step = step
    assert view.step == 1


@pytest.mark.parametrize(
    ("side", "says"),
    [
        (4, "Tiles of 4·4: 128 loads instead of 512"),
        (2, "Tiles of 2·2: 256 loads instead of 512"),
        (1, "Tiles of 1·1: 512 loads, as without tiles"),
    ],
)
def test_the_title_is_what_the_tiles_save(side: int, says: str) -> None:
    done = TiledProduct(side, 8, (8 // side) ** 3)
    assert done.finding == says
    assert not TiledProduct(side, 8, 1, counted=False).finding
