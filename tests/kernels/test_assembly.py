"""Recognition of vector registers in the assembly of several processors."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from memlab.kernels.cpu import assembly, vector_code
from memlab.kernels.registry import Array

njit: Any = numba.njit

X86 = """
\t.globl\tadd
add:
\tvmovups\t(%rsi,%r10,4), %zmm0
\tvaddps\t64(%rdx,%r10,4), %zmm0, %zmm1  # zmm9 in a comment
\tvaddps\t%ymm2, %ymm3, %ymm4
\tvaddss\t(%rdx,%r9,4), %xmm0, %xmm0
\tvmovss\t%xmm0, (%rcx)
\tvcvtsi2sd\t%rax, %xmm1, %xmm1
\tvmovd\t%xmm2, %eax
\tmovq\t%rax, %rcx
\tretq
"""
SSE = "\tmovups\t(%rdi), %xmm0\n\taddps\t%xmm1, %xmm0\n\taddss\t%xmm2, %xmm3"
NEON = "\tldp\tq0, q1, [x8]\n\tfadd\tv0.4s, v0.4s, v2.4s\n\tfadd\ts0, s0, s1\n\tb\t.Lv1"
APPLE = "\tfadd.4s\tv0, v0, v2\n\tfadd\ts0, s0, s1\n\tmov\tx0, x1"
SVE = "\tptrue\tp0.s\n\tfadd\tz0.s, z0.s, z1.s\n\tfadd\tv3.2d, v3.2d, v4.2d"


@pytest.mark.parametrize(
    ("text", "counts", "bits"),
    [
        (X86, {"zmm": 3, "ymm": 3}, 512),
        (SSE, {"xmm": 3}, 128),
        (NEON, {"v": 3}, 128),
        (APPLE, {"v": 3}, 128),
        (SVE, {"z": 3, "v": 3}, 128),
        ("\tfmul\tz0.d, p0/m, z0.d, z1.d", {"z": 3}, 0),
        ("\taddsd\t%xmm1, %xmm0\n\taddq\t%rax, %rbx", {}, 0),
        ("", {}, 0),
    ],
)
def test_registers_are_recognised(text: str, counts: dict[str, int], bits: int) -> None:
    assert assembly.registers(text) == counts
    assert assembly.width(counts) == bits


@njit
def added(x: Array, y: Array, out: Array) -> None:
    for i in range(out.size):
        out[i] = x[i] + y[i]


@njit
def chained(x: float, steps: int) -> float:
    for _ in range(steps):
        x = x * x + 0.25
    return x


def test_a_loop_over_arrays_fills_vectors_and_a_chain_does_not() -> None:
    values = np.ones(100, np.float32)
    added(values, values, np.empty_like(values))
    chained(0.5, 3)
    filled = assembly.width(assembly.registers(added))
    assert 128 <= filled <= vector_code.BITS
    assert assembly.registers(chained) == {}


def test_what_reads_the_arguments_is_left_out() -> None:
    chained(0.5, 3)
    assert "PyArg_UnpackTuple" in chained.inspect_asm(chained.signatures[0])
    assert "PyArg_UnpackTuple" not in assembly.assembly(chained)
