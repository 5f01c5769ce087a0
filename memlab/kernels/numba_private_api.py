"""What Numba keeps to itself: its cache of compiled functions and their options, the arrays of code
that is being compiled, and its compiler's events.

Its public names compile, and nothing more: they cannot tell a cache that a kernel is stale since
one that it calls has changed, nor how long a compilation took. Vectors and processors come from
llvmlite's public interface instead.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from memlab.private_api import Internal, Package

NUMBA = Package("numba", "0.62.0", "0.68.1")

KEEP = "keep compiled kernels between sessions"
CACHE = Internal(NUMBA, "numba.core.caching", "FunctionCache", KEEP)
FILE = Internal(NUMBA, "numba.core.caching", "IndexDataCacheFile", KEEP)
FILE_OF_CACHE = Internal(NUMBA, "numba.core.caching.FunctionCache", "_cache_file", KEEP)
PLACE_OF_CACHE = Internal(NUMBA, "numba.core.caching.FunctionCache", "_impl", KEEP)
GUARD_OF_CACHE = Internal(
    NUMBA, "numba.core.caching.FunctionCache", "_guard_against_spurious_io_errors", KEEP
)
CACHE_OF_FUNCTION = Internal(NUMBA, "numba.core.dispatcher.Dispatcher", "_cache", KEEP)
"""Without them, or where no folder can be written, kernels are compiled in every session."""

OPTIONS = Internal(
    NUMBA, "numba.core.dispatcher.Dispatcher", "targetoptions", "show a kernel's machine code"
)
"""With what a function was compiled. Without it no vector registers are shown."""

ARRAY = Internal(
    NUMBA, "numba.core.base.BaseContext", "make_array", "write kernels instruction by instruction"
)
"""An array in code that is being compiled. Without it nothing runs on the processor."""

LISTENER = Internal(NUMBA, "numba.core.event", "Listener", "part compiling from running")
INSTALL = Internal(NUMBA, "numba.core.event", "install_listener", "part compiling from running")
"""Without them nothing runs: the time of a first step would say nothing."""

FOLDERS = Internal(NUMBA, "numba.misc.appdirs", "AppDirs", "find the folder of Numba's cache")
"""Without it ``memlab doctor`` looks at Numba's other folders."""

UNREADABLE = (OSError, EOFError, pickle.UnpicklingError)


def keep(kernel: Any, function: Callable[..., Any], digest: str) -> None:
    """Let Numba keep a compiled function between sessions, until its file or the digest changes.

    Numba looks at the function's own file, but a kernel also holds the code of those it calls.

    Raises:
        InternalError: this Numba's cache works in another way.
        OSError: no folder can be written.
        RuntimeError: the function comes from no file.
    """
    CACHE_OF_FUNCTION.replace(kernel, _cache_class()(function, digest))


@cache
def _cache_class() -> Any:
    """The cache. Its base exists only where Numba has it."""
    base: Any = CACHE()
    file = FILE()
    GUARD_OF_CACHE.of(base)

    class KernelCache(base):  # type: ignore[misc]  # Numba's
        """A folder that can no longer be read or written is no error: the kernel is compiled."""

        def __init__(self, function: Callable[..., Any], digest: str) -> None:
            super().__init__(function)
            place = PLACE_OF_CACHE.of(self)
            stamp = (place.locator.get_source_stamp(), digest)
            FILE_OF_CACHE.replace(self, file(self.cache_path, place.filename_base, stamp))

        def _guard_against_spurious_io_errors(self) -> Any:
            """Around every load and save."""
            return suppress(*UNREADABLE)

    return KernelCache


def data(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Where the values of an array begin, given by its type and itself in code that is being
    compiled.

    Raises:
        InternalError: this Numba's arrays are another thing.
    """
    return ARRAY.of(context)(kind)(context, builder, value).data


def user_folder() -> Path:
    """Where Numba keeps compiled functions if it may not beside their file.

    Raises:
        InternalError: this Numba does not tell.
    """
    return Path(FOLDERS()(appname="numba", appauthor=False).user_cache_dir)
