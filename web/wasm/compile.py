"""Compilation of what was gathered: one object for each module of kernels, kept by a digest."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
from llvmlite import binding as llvm

from memlab.kernels.cpu import compile as compiling
from web.wasm import link
from web.wasm.entries import entry
from web.wasm.signatures import Needed
from web.wasm.target import FEATURES, TRIPLE

types: Any = numba.types

KERNELS = Path(compiling.__file__).parents[1]
COMPILING = ("compile.py", "entries.py", "link.py", "target.py")
"""Files of this package that decide what code is made for a signature."""


class Job(NamedTuple):
    """Kernels of one module that become one object: the object's file, and what each function in it
    is called."""

    file: Path
    functions: dict[str, Needed]

    @property
    def listed(self) -> Path:
        """File of the types of results, beside the object."""
        return self.file.with_suffix(".json")


def jobs_of(needed: Iterable[Needed], folder: Path) -> list[Job]:
    """Parts of the work, each with the file that it is kept in, the largest first."""
    modules: dict[str, list[Needed]] = defaultdict(list)
    for signature in needed:
        modules[signature.kernel.py_func.__module__].append(signature)
    parts = [_job(name, kernels, folder) for name, kernels in modules.items()]
    return sorted(parts, key=lambda job: -len(job.functions))


def _job(module: str, kernels: Sequence[Needed], folder: Path) -> Job:
    """Part of the work that is the kernels of a module."""
    short = module.removeprefix("memlab.kernels.").replace(".", "_")
    functions = {f"{short}_{number}": kernel for number, kernel in enumerate(kernels)}
    signatures = [(kernel.name, kernel.given) for kernel in kernels]
    return Job(folder / f"{short}-{digest(signatures)[:16]}.o", functions)


def digest(signatures: Sequence[tuple[str, str]]) -> str:
    """SHA-256 digest of signatures and of all that their code depends on."""
    return hashlib.sha256(f"{signatures} {_surroundings()}".encode()).hexdigest()


@cache
def _surroundings() -> str:
    """Digest of the sources of all kernels and of what compiles them, with its versions."""
    kernels = sorted(file for file in KERNELS.rglob("*.py") if "cuda" not in file.parts)
    files = [*kernels, *(Path(__file__).with_name(name) for name in COMPILING)]
    sources = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return f"{sources} {numba.__version__} {llvmlite.__version__} {TRIPLE} {FEATURES}"


def compile_jobs(jobs: Sequence[Job]) -> None:
    """Compile what is not kept already, on all processors."""
    left = [job for job in jobs if not job.listed.exists()]
    count = min(len(left), os.cpu_count() or 1)
    if count < 2:
        for job in left:
            compile_job(job)
        return
    context = multiprocessing.get_context("fork")  # the kernels cannot be sent
    global _left
    _left = left
    with context.Pool(count) as pool:
        pool.map(_compile_number, range(len(left)), chunksize=1)


_left: Sequence[Job] = ()


def _compile_number(number: int) -> None:
    compile_job(_left[number])


def compile_job(job: Job) -> None:
    """Compile the kernels of a module into one object."""
    libraries: dict[int, Any] = {}
    modules, results = [], {}
    for name, needed in job.functions.items():
        needed.kernel.compile(needed.types)
        compiled = needed.kernel.overloads[needed.types]
        modules.append(llvm.parse_assembly(str(entry(name, compiled))))
        libraries |= compiled.library.libraries()
        results[name] = returned(compiled.fndesc.restype)
    parts = (library.module for library in libraries.values())
    whole = link.linked([*parts, *modules], results)
    job.file.write_bytes(link.optimised(whole))
    link.check_complete(whole)
    job.listed.write_text(json.dumps(results))


def returned(kind: Any) -> str:
    """Type of a result, as the table writes it.

    >>> returned(numba.types.UniTuple(numba.types.int64, 2))
    '(i i)'
    """
    if isinstance(kind, types.BaseTuple):
        return f"({' '.join(map(returned, kind))})"
    if isinstance(kind, types.NoneType):
        return "n"
    if isinstance(kind, types.Boolean):
        return "b"
    if isinstance(kind, types.Float):
        return "f"
    return "i" if kind.signed or kind.bitwidth < 64 else "u"


def table(jobs: Iterable[Job]) -> dict[str, dict[str, tuple[str, str]]]:
    """Names of the functions and the types of their results, by kernel and signature."""
    kernels: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for job in jobs:
        results = json.loads(job.listed.read_text())
        for name, needed in job.functions.items():
            kernels[needed.name][needed.given] = name, results[name]
    return dict(sorted(kernels.items()))
