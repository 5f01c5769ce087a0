"""What the CUDA compiler makes of every kernel, on a machine that needs no GPU.

    python -m benchmarks.cuda_report im2col --cc 7.5 9.0

Numba writes PTX, NVIDIA's linker makes machine code of it and says what that takes. Both come with
``memlab[cuda13]``. Numba's simulator compiles nothing, so this runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from memlab.kernels.cuda import all_kernels
from memlab.kernels.cuda.driver import SUPPORTED
from memlab.kernels.cuda.target import SWITCH, simulated

if TYPE_CHECKING:
    from memlab.kernels.cuda.compile import Compiled

COLUMNS = ("kernel", "format", "for", "registers", "shared B", "local B", "spilled B", "divisions")
PACKAGES = ("numba_cuda", "cuda.core", "cuda.bindings")
MISSING = "numba-cuda and its compiler are not installed; try pip install 'memlab[cuda13]'."
Capability = tuple[int, int]
CAPABILITIES: tuple[Capability, ...] = ((7, 5), (9, 0))


@dataclass(frozen=True, slots=True)
class Report:
    """A kernel's machine code for one format and one compute capability.

    ``registers`` are per thread, ``shared`` the bytes that a block declares. ``local`` are bytes
    per thread that lie in the GPU's memory, because an array is indexed by a variable or because
    the registers did not suffice; ``spilled`` are those that the second moves. ``divisions`` are
    the divisions of whole numbers in its PTX.
    """

    kernel: str
    format: str
    capability: str
    registers: int
    shared: int
    local: int
    spilled: int
    divisions: int

    @property
    def row(self) -> tuple[str, ...]:
        """Its figures as text."""
        return tuple(map(str, asdict(self).values()))


def installed() -> bool:
    """Whether the compiler is there, without importing it."""
    try:
        return all(find_spec(name) for name in PACKAGES)
    except ModuleNotFoundError:  # the package around a module is missing
        return False


def report(kernels: Iterable[Compiled], capabilities: Sequence[Capability]) -> list[Report]:
    """Compile kernels for GPUs of some compute capabilities, as (major, minor)."""
    return [inspect(kernel, each) for kernel in kernels for each in capabilities]


def inspect(kernel: Compiled, capability: Capability) -> Report:
    """Compile one kernel."""
    cuda: Any = import_module("numba.cuda")
    ptx, _ = cuda.compile_ptx(kernel.function, kernel.signature, cc=capability)
    log = _linked(ptx, "sm_{}{}".format(*capability))
    return Report(
        kernel.name,
        _format(kernel.signature),
        _dotted(capability),
        max(_numbers(r"Used (\d+) registers", log)),
        sum(_numbers(r"\.shared .*\[(\d+)\]", ptx)),
        sum(_numbers(r"(\d+) bytes stack frame", log)),
        sum(_numbers(r"(\d+) bytes spill", log)),
        len(re.findall(r"\b(?:div|rem)\.[su]\d+", ptx)),
    )


def _linked(ptx: str, architecture: str) -> str:
    """Make machine code of PTX; what NVIDIA's assembler says of it."""
    core: Any = import_module("cuda.core")
    options = core.LinkerOptions(arch=architecture, ptxas_options=["-v"])
    linker = core.Linker(core.ObjectCode.from_ptx(ptx.encode()), options=options)
    linker.link("cubin")
    log: str = linker.get_info_log()
    return log


def _numbers(pattern: str, text: str) -> list[int]:
    return [int(number) for number in re.findall(pattern, text)]


def _arrays(kinds: Iterable[Any]) -> Iterator[Any]:
    """The types of arrays, those in tuples too."""
    for each in kinds:
        if hasattr(each, "layout"):
            yield each
        elif hasattr(each, "types"):
            yield from _arrays(each.types)


def _format(signature: Sequence[Any]) -> str:
    """The formats of its arrays."""
    formats = (str(each.dtype) for each in _arrays(signature))
    return " ".join(dict.fromkeys(formats))


def table(reports: Sequence[Report]) -> str:
    """One line per kernel, format and compute capability."""
    rows = [COLUMNS, *(each.row for each in reports)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    pads = [str.ljust] * 3 + [str.rjust] * 5
    return "\n".join(
        "  ".join(pad(*cell) for pad, cell in zip(pads, zip(row, widths, strict=True), strict=True))
        for row in rows
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or JSON; 2 where the compiler is missing."""
    parser = argparse.ArgumentParser(description="What the CUDA compiler makes of every kernel.")
    parser.add_argument("names", nargs="*", help="how the names of kernels begin; all without one")
    parser.add_argument("--cc", nargs="+", type=capability, default=CAPABILITIES)
    parser.add_argument("--json", action="store_true", help="the same figures as JSON")
    options = parser.parse_args(argv)
    if not installed():
        print(MISSING, file=sys.stderr)
        return 2
    if simulated():  # which was settled when the package was imported
        return _without_simulator(sys.argv[1:] if argv is None else argv)
    known = SUPPORTED()()
    if not set(options.cc) <= set(known):
        parser.error(f"--cc must be of {', '.join(map(_dotted, known))}")
    begins = tuple(options.names) or ("",)
    kernels = [each for each in all_kernels() if each.name.startswith(begins)]
    found = report(kernels, options.cc)
    print(json.dumps([asdict(each) for each in found], indent=1) if options.json else table(found))
    return 0


def _without_simulator(argv: Sequence[str]) -> int:
    command = [sys.executable, "-m", "benchmarks.cuda_report", *argv]
    return subprocess.run(command, env=os.environ | {SWITCH: "0"}).returncode


def capability(text: str) -> Capability:
    """A compute capability as it is written, ``9.0``."""
    major, minor = text.split(".")
    return int(major), int(minor)


def _dotted(capability: Capability) -> str:
    return "{}.{}".format(*capability)


if __name__ == "__main__":
    sys.exit(main())
