"""Vector registers in the machine code that a compiler made of a loop.

x86 has xmm, ymm and zmm registers of 128, 256 and 512 bits; ARM has v of 128 bits (NEON), and z,
whose width depends on the processor (SVE).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from memlab.errors import AbsentInPageError
from memlab.free_memory import compiler
from memlab.kernels.numba_private_api import OPTIONS

BITS = {"v": 128, "xmm": 128, "ymm": 256, "zmm": 512}
"""Bits in a register of each kind."""

_X86 = re.compile(r"\b([xyz]mm)\d+\b")
_SCALAR = re.compile(r"v?(\w+s[sd]|mov[dq]|cvts[sdi]2\w+)$")
"""Instructions that use a single value of an xmm register."""
_SVE = re.compile(r"\b(z)\d+\.[bhsdq]\b")
_NEON = re.compile(r"\b(v)\d+\.\d+[bhsdq]\b")
_APPLE, _V = re.compile(r"\.\d+[bhsdq]$"), re.compile(r"\b(v)\d+\b")
"""NEON instructions and registers as macOS writes them, with the number of values in the
instruction: ``fadd.4s v0, v1, v2``."""
_FUNCTION = re.compile(r"^(_+ZN\S*):", re.MULTILINE)


def registers(code: Any) -> dict[str, int]:
    """Number of times that each kind of vector register is named, by kind.

    Only instructions on whole vectors count, not those on a single value.

    Args:
        code: assembly as text, or a function that Numba has compiled, whose loops are counted as
            compiled for the first types that it was called with.

    >>> registers("vaddps (%rdi), %ymm1, %ymm0")
    {'ymm': 2}
    """
    text = code if isinstance(code, str) else assembly(code)
    counts: Counter[str] = Counter()
    for line in text.splitlines():
        counts.update(_registers_in_line(line))
    return dict(counts)


def width(counts: dict[str, int]) -> int:
    """Bits of the widest register among the counts of ``registers``; 0 for none, or where the width
    depends on the processor."""
    return max((BITS.get(kind, 0) for kind in counts), default=0)


def assembly(function: Any) -> str:
    """Assembly of a function that Numba has compiled, for the first types that it was called with.

    Code that only converts Python's arguments to machine values is left out. The function is
    compiled again, because a function that was loaded from Numba's cache on disk has no assembly.

    Raises:
        AbsentInPageError: nothing is compiled here.
    """
    if not compiler():
        raise AbsentInPageError(
            "kernels that were compiled beforehand have no machine code here; try it on a computer."
        )
    import numba

    options = {**OPTIONS.of(function)}
    options.pop("nopython", None)
    again: Any = numba.njit(**options)(function.py_func)
    again.compile(function.signatures[0])
    text: str = again.inspect_asm(again.signatures[0])
    pieces = _FUNCTION.split(text)
    named = zip(pieces[1::2], pieces[2::2], strict=True)
    return "".join(body for name, body in named if "7cpython" not in name)


def _registers_in_line(line: str) -> list[str]:
    """Vector registers that one line of assembly names."""
    mnemonic, *operands = line.partition("#")[0].split(None, 1)[:2] or [""]
    if not operands or mnemonic.startswith("."):
        return []
    if names := _SVE.findall(operands[0]):
        return names
    if names := _X86.findall(operands[0]):
        return [] if _SCALAR.match(mnemonic) else names
    if _APPLE.search(mnemonic):
        return _V.findall(operands[0])
    return _NEON.findall(operands[0])
