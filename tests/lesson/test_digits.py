"""The digits: what is loaded, the networks, and the dim digits."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest

import memlab
from memlab import InputError
from memlab.lesson import digits

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn brings them")


def test_the_digits_are_parted_into_training_and_test():
    data = digits.load()
    assert data.x.shape == (1437, 1, 8, 8)
    assert data.x_test.shape == (360, 1, 8, 8)
    assert data.x.dtype == data.x_test.dtype == np.float32
    assert data.y.dtype == data.y_test.dtype == np.int64
    assert {*data.y} == {*data.y_test} == set(range(10))
    assert {*np.unique(16 * data.x)} == set(range(17))


def test_a_seed_decides_which_are_kept_for_the_test():
    first, again, other = digits.load(0), digits.load(0), digits.load(1)
    assert np.array_equal(first.x, again.x)
    assert not np.array_equal(first.x_test, other.x_test)
    sums = [np.sort(np.concatenate([d.x, d.x_test]).sum((1, 2, 3))) for d in (first, other)]
    assert np.array_equal(sums[0], sums[1])


def test_without_scikit_learn_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    for load in (digits.load, digits.dim):
        with pytest.raises(InputError, match=r"not installed; try pip install 'memlab\[lessons\]'"):
            load()


def test_the_networks_have_as_many_parameters_as_their_docstrings_say():
    for network in (digits.network, digits.dim_network):
        assert f"{network().parameters:,} parameters" in str(network.__doc__)


def test_the_dim_digits_are_exact_in_fp16():
    data, plain = digits.dim(), digits.load()
    assert np.array_equal(data.x.astype(np.float16), data.x)
    assert np.array_equal(data.y.astype(np.float16), data.y)
    assert np.array_equal(data.x / digits.DIM, plain.x)
    assert np.array_equal(data.y.argmax(1), plain.y)
    assert np.array_equal(data.y_test, plain.y_test)
    assert memlab.lesson.digits is digits
