"""Optimisation of complete code, and the one library that is made of it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm

from memlab.errors import InputError
from web.wasm.target import TRIPLE, machine

LINKERS = ("wasm-ld", *(f"wasm-ld-{version}" for version in range(22, 13, -1)))
RUNTIME = """
define linkonce_odr void @NRT_incref(ptr %block) alwaysinline { ret void }
define linkonce_odr void @NRT_decref(ptr %block) alwaysinline { ret void }
"""
"""Numba's counts of who holds an array: here NumPy owns every one of them."""


def linked(modules: Iterable[Any], kept: Iterable[str]) -> Any:
    """Return one module of several, in which only the functions that are kept can be called from
    outside."""
    whole = llvm.parse_assembly(f'target triple = "{TRIPLE}"\n{RUNTIME}')
    whole.data_layout = str(machine().target_data)
    for module in modules:
        whole.link_in(module, preserve=True)
    names = frozenset(kept)
    for function in whole.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"
    for variable in whole.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    return whole


def optimised(module: Any) -> bytes:
    """Object code of a module, optimised as far as LLVM can."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine(), options)
    passes = builder.getModulePassManager()
    passes.run(module, builder)
    return bytes(machine().emit_object(module))


def library(objects: Sequence[Path], to: Path) -> None:
    """Link objects into one library that a page loads.

    Raises:
        InputError: there is no linker for WebAssembly, or it refuses the objects.
    """
    tool = next(filter(None, map(shutil.which, LINKERS)), None)
    if tool is None:
        raise InputError("wasm-ld is not installed; try apt-get install lld, or brew install lld.")
    done = subprocess.run(
        [tool, "--shared", "--experimental-pic", "--no-entry", "--export-dynamic",
         "--allow-undefined", "--strip-all", "-O2", *map(str, objects),
         "-o", str(to)], capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise InputError(f"{Path(tool).name} refused the kernels: {done.stderr.strip()[:500]}.")
