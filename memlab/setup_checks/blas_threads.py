"""Threads of the library that computes NumPy's matrix products."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from memlab.setup_checks.setup_check import SetupCheck, unset
from memlab.thread_pools import thread_pools

VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "GOTO_NUM_THREADS",
             "OMP_NUM_THREADS")  # fmt: skip
"""Variables of the environment that limit them."""
UNSEEN = ("accelerate",)
"""Libraries whose threads cannot be asked for."""


def look() -> int | None:
    """Return on how many threads matrix products are computed, 1 without a library for them; None
    where that cannot be told."""
    try:
        numpy = import_module("numpy")
    except Exception:  # its own line says why
        return None
    pools: list[dict[str, Any]] = thread_pools().info()
    threads = [int(pool["num_threads"]) for pool in pools if pool["user_api"] == "blas"]
    if threads:
        return max(threads)
    try:
        blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    except Exception:  # another NumPy says it in another way
        return None
    return None if blas.get("found") or blas.get("name") in UNSEEN else 1


def check_blas(threads: int, cores: int, environment: Mapping[str, str], python: str) -> SetupCheck:
    """Check that NumPy computes matrix products on all cores, which memlab's own runs do not need.

    Args:
        threads: threads of the library.
        cores: cores that this process may use.
        environment: variables of the environment.
        python: executable of this Python.
    """
    name = "threads of NumPy"
    if threads > 1 or cores == 1:
        return SetupCheck(name, "ok", f"matrix products use {threads} of {cores} cores")
    text = f"matrix products use 1 of {cores} cores"
    for variable in VARIABLES:
        if environment.get(variable) == "1":
            return SetupCheck(name, "note", f"{text}, as {variable} is 1", unset(variable))
    text = f"{text}: this NumPy has no library with threads for them"
    return SetupCheck(name, "note", text, f'"{python}" -m pip install --force-reinstall numpy')
