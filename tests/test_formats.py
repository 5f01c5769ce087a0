"""Number formats against NumPy's and ml_dtypes' own figures."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from memlab import InputError, formats
from memlab.formats import FORMATS, Format
from tests.rows import every_row

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
FLOATS = [entry for entry in FORMATS.values() if entry.kind == "float" and not entry.padding]


@every_row("entry", FLOATS)
def test_floats_agree_with_finfo(entry: Format) -> None:
    info = ml_dtypes.finfo(entry.dtype())
    used = entry.bits - entry.unused
    assert (info.bits, info.nmant, info.nexp) == (used, entry.mantissa, entry.exponent)
    assert float(info.max) == entry.largest
    assert float(info.eps) == entry.epsilon
    assert float(info.min) == entry.lowest
    assert float(info.smallest_normal) == entry.smallest_normal
    assert float(info.smallest_subnormal) == entry.smallest
    assert 1 - entry.bias == info.minexp


@every_row("entry", FLOATS)
def test_infinities_and_nan_are_among_the_codes_or_not(entry: Format) -> None:
    stored = np.array([np.inf]).astype(entry.dtype()).astype(np.float64)
    assert bool(np.isinf(stored[0])) == entry.infinities
    assert np.isnan(np.array([np.nan]).astype(entry.dtype()).astype(np.float64)[0]) == entry.nan


def test_tf32_has_the_range_of_fp32_and_the_step_of_fp16() -> None:
    tf32, fp32, fp16 = (FORMATS[name] for name in ("tf32", "fp32", "fp16"))
    assert (tf32.smallest_normal, tf32.bias) == (fp32.smallest_normal, fp32.bias)
    assert tf32.epsilon == fp16.epsilon
    assert tf32.smallest == 2.0**-136
    cut = np.array([0x7F7FE000, 0x2000], np.uint32).view(np.float32)  # 13 bits of 0 at the end
    assert cut.tolist() == [tf32.largest, tf32.smallest]


@every_row("name", ["int64", "int32", "int8", "int4", "uint8"])
def test_integers_agree_with_iinfo(name: str) -> None:
    entry = FORMATS[name]
    info = ml_dtypes.iinfo(entry.dtype())
    assert (info.bits, float(info.max)) == (entry.bits, entry.largest)
    assert float(info.min) == entry.lowest
    assert (entry.smallest, entry.smallest_normal, entry.epsilon) == (1, 1, 1)
    assert not entry.infinities
    assert not entry.nan


@every_row("entry", FORMATS.values())
def test_every_format_says_how_it_is_stored(entry: Format) -> None:
    assert entry.lanes(1024) * entry.bits == 1024
    assert entry.nbytes(0) == 0
    assert entry.nbytes(9) == -(-9 * entry.bits // 8)
    if entry.stored_as and entry.bits >= 8:
        assert entry.dtype() == STORED.get(entry.name, entry.type_name)
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


@every_row(
    ("width", "says"),
    [
        (384, "another power of 2 of bits wide, got 384; try 512"),
        (1000, "try 1024"),
        (32, "a vector of 32 bits holds no fp64 value of 64 bits; try 128"),
        (-128, "vector width in bits must be at least 1"),
        (128.5, "vector width in bits must be a whole number"),
    ],
)
def test_a_width_that_no_vector_has_is_one_sentence(width: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        FORMATS["fp64"].lanes(width)


@every_row("entry", FORMATS.values())
@every_row("width", [64, 128, 256, 512, 1024, 2048])
def test_the_lanes_fill_the_vector(entry: Format, width: int) -> None:
    assert entry.lanes(width) * entry.bits == width


def test_the_table_has_a_line_for_every_format_that_numbers_are_rounded_to() -> None:
    heads, *lines = formats.table().splitlines()
    assert [line.split()[0] for line in lines] == list(formats.NUMBERS)
    assert heads.split()[-4:] == ["lanes/128", "lanes/256", "lanes/512", "lanes/1024"]
    for line in lines:
        name, bits, exponent, mantissa, largest, smallest, epsilon, *lanes = line.split()
        entry = FORMATS[name]
        assert int(bits) == entry.bits
        shown = [f"{n:.5g}" for n in (entry.largest, entry.smallest, entry.epsilon)]
        assert [largest, smallest, epsilon] == shown
        assert [int(n) for n in lanes] == [n // entry.bits for n in (128, 256, 512, 1024)]
        if entry.kind == "float":
            assert [int(exponent), int(mantissa)] == [entry.exponent, entry.mantissa]
    assert len({len(line) for line in formats.table((64, 2048)).splitlines()}) == 1
    with pytest.raises(InputError, match="try 4"):
        formats.table((3,))


@pytest.mark.measures
def test_the_table_needs_no_numpy() -> None:
    code = "import sys; from memlab import formats; formats.table(); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
