"""Number formats against NumPy's and ml_dtypes' own figures."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from memlab import InputError, formats
from memlab.formats import FORMATS, Format

STORED: dict[str, Any] = {
    "fp64": np.float64,
    "fp32": np.float32,
    "tf32": np.float32,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "fp8_e5m2": ml_dtypes.float8_e5m2,
    "int64": np.int64,
    "int32": np.int32,
    "int8": np.int8,
    "uint8": np.uint8,
    "bool": np.bool_,
}
FLOATS = [entry for entry in FORMATS.values() if entry.kind == "float" and entry.name != "tf32"]


@pytest.mark.parametrize("entry", FLOATS, ids=str)
def test_floats_agree_with_finfo(entry: Format) -> None:
    info = ml_dtypes.finfo(entry.dtype())
    assert (info.bits, info.nmant, info.nexp) == (entry.bits, entry.mantissa, entry.exponent)
    assert float(info.max) == entry.largest
    assert float(info.eps) == entry.epsilon


@pytest.mark.parametrize("name", ["int64", "int32", "int8", "int4", "uint8"])
def test_integers_agree_with_iinfo(name: str) -> None:
    entry = FORMATS[name]
    info = ml_dtypes.iinfo(entry.dtype())
    assert (info.bits, float(info.max)) == (entry.bits, entry.largest)


@pytest.mark.parametrize("entry", FORMATS.values(), ids=str)
def test_every_format_says_how_it_is_stored(entry: Format) -> None:
    assert entry.lanes(1024) * entry.bits == 1024
    assert entry.nbytes(0) == 0
    assert entry.nbytes(9) == -(-9 * entry.bits // 8)
    if entry.stored_as and entry.bits >= 8:
        assert entry.dtype() == STORED[entry.name]
        assert entry.dtype().itemsize * 8 == entry.bits


def test_tf32_takes_the_room_of_fp32() -> None:
    assert FORMATS["tf32"].nbytes(10) == FORMATS["fp32"].nbytes(10) == 40


def test_packed_formats_round_up_to_a_byte() -> None:
    assert [FORMATS["int4"].nbytes(n) for n in (1, 2, 3)] == [1, 1, 2]
    assert [FORMATS["bit"].nbytes(n) for n in (1, 8, 9)] == [1, 1, 2]


def test_unknown_and_unstorable_formats_are_one_sentence() -> None:
    with pytest.raises(InputError, match="did you mean 'fp32'"):
        formats.find("fp31")
    with pytest.raises(InputError, match="pack them"):
        FORMATS["bit"].dtype()
    with pytest.raises(InputError, match="vector width"):
        FORMATS["fp32"].lanes(0)
