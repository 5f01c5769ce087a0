"""A product with tiles in shared memory loads each value once for each row of blocks."""

from typing import Any

import pytest

from memlab.errors import InputError, divisor
from memlab.kernels.cuda.conv import counted_product


@pytest.mark.parametrize("tile", [1, 2, 4, 8])
def test_a_tile_divides_the_loads_by_its_side(tile):
    assert counted_product.loads(8, tile) == 8 // tile


@pytest.mark.parametrize(("size", "tile"), [(8, 3), (8, 0), (64, 64), (8, "4"), (34, 32)])
def test_a_tile_that_does_not_fit_is_refused_and_another_one_named(size, tile):
    with pytest.raises(InputError, match="got") as caught:
        counted_product.loads(size, tile)
    usual = int(str(caught.value).rstrip(".").rpartition(" ")[2])
    assert divisor("tile", usual, "size", size, counted_product.MOST) == usual


def test_its_code_is_printed_as_it_runs():
    space: dict[str, Any] = {"cuda": None, "T": 1}
    exec(counted_product.source(), space)
    assert space["product"].__code__.co_argcount == 4
