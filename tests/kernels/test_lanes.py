"""Loops of explicit vector width: the values of NumPy, in vectors of the wanted width."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numba
import numpy as np
import pytest

from memlab import InputError
from memlab.kernels.cpu import vector_code, vector_experiments
from memlab.kernels.cpu.vector_experiments import ARITHMETIC, MicroKernel, available, micro_kernel

PAIRS = [
    (name, count)
    for name, kind in ARITHMETIC.items()
    for count in (1, 2, 4, 8, 16, 32, 64)
    if count >= kind.least
]


def start(kernel: MicroKernel) -> Any:
    """Initial sums, all different."""
    total = ARITHMETIC[kernel.format].sum
    return np.arange(np.prod(kernel.shape)).astype(total).reshape(kernel.shape)


def factors(format: str) -> tuple[list[Any], float]:
    """Factors whose products and sums are exact, and the sum of the products."""
    if format == "bf16":
        pair = np.array([[1.5, -2], [3, 0.25]], ml_dtypes.bfloat16).view("u2")
        return list(pair), 4.0
    if format == "int8":
        x, y = np.array([200, 1, 255, 3], "u1"), np.array([-100, 1, -128, 7], "i1")
        return [x, y], -20_000 + 1 - 32_640 + 21
    return [np.array([0.5], ARITHMETIC[format].sum)], 0.0


@pytest.mark.parametrize(("format", "count"), PAIRS)
def test_every_lane_of_every_sum_is_what_numpy_computes(format: str, count: int) -> None:
    if format not in available():
        pytest.skip(f"this processor has no {format} dot product")
    kernel, steps = micro_kernel(format, count), 5
    given, products = factors(format)
    expected = start(kernel)
    for _ in range(steps):
        expected = expected + (products or expected * given[0])
    sums = kernel(start(kernel), given, steps)
    assert sums.dtype == ARITHMETIC[format].sum
    assert np.array_equal(sums, expected)
    assert kernel.run(3) == 2 * 3 * kernel.sums * count
    assert kernel.shape == (kernel.sums, count // ARITHMETIC[format].products)


@pytest.mark.parametrize("count", [1, 2, 8, 64])
def test_the_code_has_vectors_of_that_many_lanes(count: int) -> None:
    kernel = micro_kernel("fp32", count)
    kernel.run(1)
    code: Any = kernel.code
    assert f"@llvm.fmuladd.v{count}f32" in code.inspect_llvm(code.signatures[0])


def test_the_sums_leave_registers_for_the_operands() -> None:
    for format, count in PAIRS:
        if format in available():
            sums = micro_kernel(format, count).sums
            parts = max(1, count * ARITHMETIC[format].bits // vector_code.BITS)
            assert sums == 1 or sums * parts <= vector_code.REGISTERS - 2


@pytest.mark.parametrize(
    ("format", "count", "says"),
    [
        ("fp32", 3, "lanes of fp32 must be one of 1, 2, 4, 8, 16, 32, 64, got 3; try 64."),
        ("fp32", 128, "got 128"),
        ("fp64", 0, "got 0"),
        ("fp64", True, "got True"),
        ("fp64", "eight", "got 'eight'"),
        ("fp64", [8], "got [8]"),
        ("fp16", 8, "unknown format of vectors 'fp16'"),
    ],
)
def test_bad_lanes_give_one_sentence(format: str, count: Any, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        micro_kernel(format, count)


def test_fewer_lanes_than_an_instruction_and_a_missing_one_are_refused(monkeypatch: Any) -> None:
    monkeypatch.setattr(vector_experiments, "FEATURES", frozenset({"avxvnni"}))
    assert available() == ("fp64", "fp32", "int8")
    with pytest.raises(InputError, match="lanes of int8 must be one of 16, 32, 64, got 8"):
        micro_kernel("int8", 8)
    with pytest.raises(InputError, match="this processor has no bf16 dot product; try one of fp64"):
        micro_kernel("bf16", 8)


def test_operands_of_another_type_shape_or_no_step_are_refused() -> None:
    kernel = micro_kernel("fp32", 2)
    one, many = np.ones(1, np.float32), start(kernel)
    for given in ((many[:, :1], [one], 1), (many, [], 1), (many, [one[:0]], 1), (many, [one], 0)):
        with pytest.raises(InputError):
            kernel(*given)
    with pytest.raises(InputError, match="fp32 in 2 lanes takes arrays float32"):
        kernel(many, [one.astype("f8")], 1)


# -- the target ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("features", "triple", "expected"),
    [
        ({"avx512f", "avx2", "avx"}, "x86_64-unknown-linux-gnu", (512, 32, "avx512f")),
        ({"avx2", "avx"}, "x86_64-pc-windows-msvc", (256, 16, "avx2")),
        ({"avx"}, "x86_64-apple-darwin", (256, 16, "avx")),
        ({"sse2"}, "x86_64-unknown-linux-gnu", (128, 16, "sse2")),
        ({"neon", "sve"}, "aarch64-unknown-linux-gnu", (128, 32, "neon")),
        (set(), "arm64-apple-darwin", (128, 32, "neon")),
        (set(), "powerpc64le-unknown-linux-gnu", (128, 16, "")),
    ],
)
def test_the_width_of_a_processor(features: set[str], triple: str, expected: Any) -> None:
    assert vector_code.width(features, triple) == expected


def test_the_features_are_those_that_numba_compiles_for(monkeypatch: Any) -> None:
    config: Any = numba.core.config
    monkeypatch.setattr(config, "CPU_FEATURES", "+avx,-avx2,+fma")
    assert vector_code.features() == {"avx", "fma"}
    monkeypatch.setattr(config, "CPU_FEATURES", "")
    assert vector_code.features() == frozenset()
    monkeypatch.setattr(config, "CPU_FEATURES", None)
    assert vector_code.features() == vector_code.FEATURES


# -- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "f4", "u8", "u4", "u2", "u1", "i1"])
@pytest.mark.parametrize("blocks", [1, 3])
def test_a_sum_is_numpys(dtype: str, blocks: int) -> None:
    count = blocks * vector_experiments.BLOCK // np.dtype(dtype).itemsize
    values = np.random.default_rng(0).integers(0, 120, count).astype(dtype)
    total = vector_experiments.total(values)
    assert total.dtype == values.dtype
    assert total == values.sum(dtype=dtype)  # both wrap around


@pytest.mark.parametrize("count", [0, 1, vector_experiments.BLOCK + 8])
def test_only_whole_blocks_are_read(count: int) -> None:
    with pytest.raises(InputError, match="an array without gaps"):
        vector_experiments.total(np.ones(count, np.uint8))
    with pytest.raises(InputError, match="an array without gaps"):
        vector_experiments.total(np.ones(2 * vector_experiments.BLOCK)[::2])
