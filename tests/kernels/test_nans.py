"""Hash of the places of NaN in an array."""

from __future__ import annotations

import numpy as np
import pytest

from memlab import formats
from memlab.formats import FORMATS
from memlab.kernels.cpu.nan_search import nan_places

FLOATS = [name for name, format in formats.FLOATS.items() if format.nan]


@pytest.mark.parametrize("name", FLOATS)
def test_other_places_give_another_number(name: str) -> None:
    hashes = set()
    for places in ([], [0], [1], [4], [0, 1], [0, 4], [1, 4], [0, 1, 4]):
        values = np.array([0.0, -1.5, 2.0, 3.0, 448.0]).astype(FORMATS[name].dtype())
        values[places] = np.nan
        hashes.add(nan_places(values))
        assert nan_places(values) == nan_places(values.copy())
        assert (nan_places(values) == 0) == (places == [])
    assert len(hashes) == 8


@pytest.mark.parametrize("name", [name for name in FLOATS if FORMATS[name].infinities])
def test_infinity_is_a_number_and_either_sign_of_nan_is_none(name: str) -> None:
    dtype = FORMATS[name].dtype()
    assert not nan_places(np.array([np.inf, -np.inf]).astype(dtype))
    positive, negative = (np.array([0.0, sign * np.nan]).astype(dtype) for sign in (1, -1))
    assert nan_places(positive) == nan_places(negative) != 0


def test_a_slice_of_larger_samples_has_its_own_places_alone() -> None:
    whole = np.zeros((3, 4), np.float32)
    whole[0, 3] = np.nan
    assert not nan_places(whole[:, :2])
    whole[2, 1] = np.nan
    assert nan_places(whole[:, :2]) == nan_places(np.ascontiguousarray(whole[:, :2])) != 0


def test_whole_numbers_hold_none() -> None:
    assert not nan_places(np.full(3, 255, np.uint8))
