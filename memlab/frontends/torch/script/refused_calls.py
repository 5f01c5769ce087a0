"""Calls of a script that cannot be watched: training in other processes, and kernels for CUDA that
the script compiles.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import torch

Refuse = Callable[[str], None]
"""Function that ends the script with a sentence."""
KERNELS = (
    "it has kernels for CUDA of its own ({}), which no processor runs; try the part of it "
    "without them, as a function: memlab explain {}:function"
)
RANKS = (
    "it trains in {} processes, of which none is watched; let it run in one: without torchrun, and "
    "with a world size of 1"
)


def refused_calls(refuse: Refuse, script: str) -> Callable[[ModuleType], None]:
    """Return a function that changes a module, so that calls which cannot be watched end the script
    with a sentence. ``script`` is its name as a module."""

    def change(module: ModuleType) -> None:
        if module.__name__ == "torch.multiprocessing.spawn":
            _refuse_ranks(module, refuse)
        if module.__name__ == "torch.distributed.distributed_c10d":
            _refuse_world(module, refuse)
        if module.__name__ == "torch.utils.cpp_extension":
            _refuse_kernels(module, refuse, script)

    return change


def kernel_error(error: BaseException, script: str) -> str:
    """Return the sentence for an error that comes from kernels for CUDA; empty for any other."""
    name = error.name or "" if isinstance(error, ImportError) else ""
    triton = name.partition(".")[0] == "triton" or type(error).__module__.startswith("triton")
    if triton:
        return KERNELS.format("Triton", script)
    return ""


def _refuse_ranks(spawn: Any, refuse: Refuse) -> None:
    start = spawn.start_processes

    @wraps(start)
    def start_processes(
        fn: Any, args: Any = (), nprocs: int = 1, *more: Any, **options: Any
    ) -> Any:
        if nprocs > 1:
            refuse(RANKS.format(nprocs))
        return fn(0, *args)

    _replace("start_processes", start_processes, spawn, torch.multiprocessing)


def _refuse_world(distributed: Any, refuse: Refuse) -> None:
    begin = _counted(distributed.init_process_group, refuse)
    _replace("init_process_group", begin, distributed, torch.distributed)


def _replace(name: str, function: Callable[..., Any], *owners: Any) -> None:
    """Replace a function in all modules that have it."""
    for owner in owners:
        setattr(owner, name, function)


def _counted(begin: Callable[..., Any], refuse: Refuse) -> Callable[..., Any]:
    """Return ``init_process_group`` that refuses a world of several processes."""
    signature = inspect.signature(begin)

    @wraps(begin)
    def begin_alone(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments.get("world_size", -1)
        count = given if given > 0 else int(os.environ.get("WORLD_SIZE", "1"))
        if count > 1:
            refuse(RANKS.format(count))
        return begin(*args, **kwargs)

    return begin_alone


def _refuse_kernels(extension: Any, refuse: Refuse, script: str) -> None:
    for name in ("load", "load_inline"):
        _replace(name, _on_processor(getattr(extension, name), refuse, script), extension)


def _on_processor(compile: Callable[..., Any], refuse: Refuse, script: str) -> Callable[..., Any]:
    """Return a function that compiles an extension, and refuses one for CUDA."""
    signature = inspect.signature(compile)

    @wraps(compile)
    def compile_here(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        sources = given.get("sources", ())
        sources = [sources] if isinstance(sources, str) else sources
        for_cuda = any(os.fspath(source).endswith((".cu", ".cuh")) for source in sources)
        if for_cuda or given.get("cuda_sources") or given.get("with_cuda"):
            refuse(KERNELS.format(given["name"], script))
        return compile(*args, **kwargs)

    return compile_here
