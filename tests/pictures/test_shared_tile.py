"""A value of a tile serves one column of the block, as the kernel counts it."""

import pytest

from memlab import views
from memlab.errors import InputError
from memlab.kernels.cuda.conv import counted_product


@pytest.mark.parametrize("side", [1, 4])
def test_it_says_what_the_kernel_counts(side):
    (said,) = views.shared_tile(side).sentences[3:]
    assert f"{counted_product.loads(8, side)} times, instead of 8." in said


def test_before_the_answer_it_says_nothing_of_it():
    said = views.shared_tile(4, served=False).text()
    assert "serves" not in said
    assert "times" not in said


@pytest.mark.parametrize(("side", "size"), [(3, 8), (0, 8), (4, 17), ("4", 8)])
def test_a_tile_that_does_not_fit_is_refused_and_another_one_named(side, size):
    with pytest.raises(InputError, match="got") as caught:
        views.shared_tile(side, size)
    usual = int(str(caught.value).rstrip(".").rpartition(" ")[2])
    views.shared_tile(*((side, usual) if size == 17 else (usual, size)))
