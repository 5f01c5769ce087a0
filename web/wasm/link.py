"""Optimisation of complete code, and the one library that is made of it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm

from memlab.errors import InputError
from web.wasm.target import TRIPLE, machine

LINKERS = ("wasm-ld", *(f"wasm-ld-{version}" for version in range(22, 13, -1)))
MATH = frozenset(f"{name}{f}" for name in ("erf", "exp", "log", "pow", "sin", "cos", "sqrt", "tanh")
                 for f in ("", "f"))  # fmt: skip
"""Functions of the C library that kernels call: Pyodide has them."""
RUNTIME = """
define linkonce_odr void @NRT_incref(ptr %block) alwaysinline { ret void }
define linkonce_odr void @NRT_decref(ptr %block) alwaysinline { ret void }

define linkonce_odr i32 @numba_attempt_nocopy_reshape(
    i64 %axes, ptr %shape, ptr %strides, i64 %count, ptr %extents, ptr %apart, i64 %size, i32 %f) {
entry:
  br label %test
test:
  %left = phi i64 [ %count, %entry ], [ %axis, %body ]
  %stride = phi i64 [ %size, %entry ], [ %larger, %body ]
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %body, label %end
body:
  %axis = add nsw i64 %left, -1
  %to = getelementptr i64, ptr %apart, i64 %axis
  store i64 %stride, ptr %to
  %from = getelementptr i64, ptr %extents, i64 %axis
  %extent = load i64, ptr %from
  %larger = mul i64 %stride, %extent
  br label %test
end:
  ret i32 1
}
"""
"""Tasks of Numba's own library elsewhere. Nobody counts here who holds an array, as NumPy owns
every one of them. The strides of another shape are those of a contiguous array: Numba reshapes no
other."""


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


def check_complete(module: Any) -> None:
    """Refuse code that calls what a page has not: something of Numba's own library.

    Raises:
        InputError: it calls such a function.
    """
    called = (function.name for function in module.functions if function.is_declaration)
    foreign = [name for name in called if not name.startswith("llvm.") and name not in MATH]
    if foreign:
        raise InputError(f"a page has no {', '.join(foreign)}; try a kernel without it.")


def optimised(module: Any) -> bytes:
    """Object code of a module, optimised as far as LLVM can."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine(), options)
    passes = builder.getModulePassManager()
    passes.run(module, builder)
    return bytes(machine().emit_object(module))


def object_of(text: str, folder: Path) -> Path:
    """File of the object code of a module, given as LLVM's text.

    All its functions that are not internal can be called from outside.
    """
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = TRIPLE, str(machine().target_data)
    module.verify()
    file = folder / f"extra-{hashlib.sha256(text.encode()).hexdigest()[:16]}.o"
    file.write_bytes(optimised(module))
    return file


def linker() -> list[str]:
    """Command of the linker for WebAssembly: LLVM's own, or the one inside Rust's compiler.

    Raises:
        InputError: there is none.
    """
    if own := next(filter(None, map(shutil.which, LINKERS)), None):
        return [own]
    if rust := shutil.which("rustc"):
        asked = subprocess.run([rust, "--print", "sysroot"], capture_output=True, text=True)
        for tool in Path(asked.stdout.strip() or "/").glob("lib/rustlib/*/bin/rust-lld*"):
            return [str(tool), "-flavor", "wasm"]
    raise InputError("wasm-ld is not installed; try apt-get install lld, or brew install lld.")


def library(objects: Sequence[Path], to: Path) -> None:
    """Link objects into one library that a page loads.

    Raises:
        InputError: there is no linker for WebAssembly, or it refuses the objects.
    """
    tool = linker()
    done = subprocess.run(
        [*tool, "--shared", "--experimental-pic", "--no-entry", "--export-dynamic",
         "--allow-undefined", "--strip-all", "-O2", *map(str, objects),
         "-o", str(to)], capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise InputError(f"{Path(tool[0]).name} refused the kernels: {done.stderr.strip()[:500]}.")
