"""``memlab doctor``: is this set-up right? It looks at this machine, and ``diagnosis`` judges."""

from __future__ import annotations

import contextlib
import os
import sys
from importlib import import_module, metadata
from pathlib import Path

from memlab import this_machine
from memlab.doctor.checks import (
    RAISE,
    Check,
    check_cache,
    check_cuda,
    check_kernel,
    check_memlab,
    check_memory,
    check_numba,
    check_package,
    check_python,
    parse,
)
from memlab.doctor.checks import exit_code as exit_code
from memlab.doctor.checks import report as report
from memlab.errors import InputError
from memlab.places import PACKAGE


def examine() -> list[Check]:
    """Every check, on this machine and this Python."""
    python, version, numba = sys.executable, _installed("memlab"), _numba(sys.executable)
    needs = metadata.requires("memlab") if version else []
    packages = [check_package(need, _installed(need), python) for need in needs or []]
    checks = [
        Check("machine", "ok", this_machine.here()),
        check_memlab(version, python),
        check_python(tuple(sys.version_info[:3]), python),
        *packages,
        numba,
        check_kernel(_kernel_command(), python, own=sys.prefix != sys.base_prefix),
        _cuda(python) if numba.status == "ok" else None,
        check_cache(_cache_folders()),
        _memory(),
    ]
    return [check for check in checks if check]


def _installed(requirement: str) -> str | None:
    try:
        return metadata.version(parse(requirement)[0])
    except metadata.PackageNotFoundError:
        return None


def _failure(module: str) -> str:
    """Why a module cannot be imported, in one line; ``''`` where it can."""
    try:
        import_module(module)
    except Exception as error:  # whatever a broken installation raises
        return " ".join(f"{type(error).__name__}: {error}".split())
    return ""


def _memory() -> Check | None:
    try:
        from psutil import virtual_memory
    except ImportError:  # its own line says so
        return None
    return check_memory(*this_machine.room(), int(virtual_memory().available))


def _numba(python: str) -> Check:
    try:
        this_machine.require_kernels()
    except InputError as error:
        return Check("Numba starts", "problem", str(error), RAISE)
    return check_numba(_failure("numba"), python)


def _kernel_command() -> list[str] | None:
    try:
        from jupyter_client.kernelspec import KernelSpecManager

        return list(KernelSpecManager().get_kernel_spec("python3").argv)
    except Exception:  # no jupyter_client, no such kernel, or a file that cannot be read
        return None


def _cuda(python: str) -> Check | None:
    try:
        targets = import_module("memlab.kernels.cuda.target")
    except Exception:  # Numba's own line says why
        return None
    gpu, simulated, error = targets.gpu(), False, ""
    try:
        simulated = targets.target().simulated
    except InputError as problem:
        error = str(problem)
    return check_cuda(gpu.name if gpu else "", simulated, error, python)


def _cache_folders() -> list[Path]:
    """Where Numba looks, in its order."""
    folders = [PACKAGE / "kernels" / "cpu" / "__pycache__"]
    if own := os.environ.get("NUMBA_CACHE_DIR"):
        folders.insert(0, Path(own))
    with contextlib.suppress(Exception):  # check_numba says why
        folders.append(import_module("memlab.kernels.numba_internals").user_folder())
    return folders
