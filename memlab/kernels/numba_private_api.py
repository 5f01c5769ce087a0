"""Parts of Numba that are not public: its cache of compiled functions and their options, the arrays
of code that is being compiled, and the events of its compiler.

Numba's public names compile and do no more. They cannot mark a cached kernel as stale when a
function that it calls has changed, nor tell how long a compilation took. The width of vectors and
the features of the processor come from llvmlite's public interface instead.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from memlab.kernels import shared_cache
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
"""Cache of a compiled function. Without these parts, or where no folder can be written, kernels are
compiled in every session."""

OPTIONS = Internal(
    NUMBA, "numba.core.dispatcher.Dispatcher", "targetoptions", "show a kernel's machine code"
)
"""Options that a function was compiled with. Without them no vector registers are shown."""

ARRAY = Internal(
    NUMBA, "numba.core.base.BaseContext", "make_array", "write kernels instruction by instruction"
)
"""Array in code that is being compiled. Without it nothing runs on the processor."""

LISTENER = Internal(NUMBA, "numba.core.event", "Listener", "part compiling from running")
INSTALL = Internal(NUMBA, "numba.core.event", "install_listener", "part compiling from running")
"""Function that installs a listener to the compiler. Without both nothing runs, because the time of
a first step would be that of compiling."""

FOLDERS = Internal(NUMBA, "numba.misc.appdirs", "AppDirs", "find the folder of Numba's cache")
"""Folders of Numba's cache. Without them ``memlab doctor`` looks at Numba's other folders."""

UNREADABLE = (OSError, EOFError, pickle.UnpicklingError, AttributeError, ImportError)
"""Errors of a file of the cache that is cut short, or that names a class or a module of an earlier
version."""


def keep_on_disk(kernel: Any, function: Callable[..., Any], digest: str) -> None:
    """Let Numba keep a compiled function on disk between sessions, until its file or the digest
    changes.

    Numba itself looks only at the function's own file, but a kernel also contains the code of the
    functions that it calls.

    Args:
        kernel: the function as ``numba.njit`` returned it.
        function: the Python function.
        digest: digest of every source file that the kernel may contain code of.

    Raises:
        InternalError: this version of Numba has another cache.
        OSError: no folder can be written.
        RuntimeError: the function comes from no file.
    """
    CACHE_OF_FUNCTION.replace(kernel, _cache_class()(function, digest))


@cache
def _cache_class() -> Any:
    """Class of the cache, made at the first use because its base class exists only where Numba has
    it."""
    base: Any = CACHE()
    file = FILE()
    GUARD_OF_CACHE.of(base)

    class KernelCache(base):  # type: ignore[misc]  # Numba's
        """Cache of one kernel. A folder that can no longer be read or written is no error: the
        kernel is compiled again."""

        def __init__(self, function: Callable[..., Any], digest: str) -> None:
            super().__init__(function)
            place = PLACE_OF_CACHE.of(self)
            stamp = (place.locator.get_source_stamp(), digest)
            own = file(self.cache_path, place.filename_base, stamp)
            if shared := shared_cache.folder():
                below = place.locator.get_suitable_cache_subpath(inspect.getfile(function))
                own = _SharedFirst(file(shared / below, place.filename_base, stamp), own)
            FILE_OF_CACHE.replace(self, own)

        def _guard_against_spurious_io_errors(self) -> Any:
            """Context of each load and save that ignores errors of reading and writing."""
            return suppress(*UNREADABLE)

    return KernelCache


class _SharedFirst:
    """File of the cache in the shared folder, which is only read, and the user's own."""

    def __init__(self, shared: Any, own: Any) -> None:
        self.shared, self.own = shared, own
        self.save, self.flush = own.save, own.flush

    def load(self, key: Any) -> Any:
        """Return what was compiled for a key, or None."""
        with suppress(*UNREADABLE):
            if (kept := self.shared.load(key)) is not None:
                return kept
        return self.own.load(key)


def data_pointer(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Pointer to the first value of an array, as a value in the code that is being compiled.

    Args:
        context: Numba's context of the target.
        builder: llvmlite's builder of the code.
        kind: Numba's type of the array.
        value: the array in the code.

    Raises:
        InternalError: this version of Numba represents arrays in another way.
    """
    return ARRAY.of(context)(kind)(context, builder, value).data


def user_folder() -> Path:
    """Folder in which Numba keeps compiled functions when it may not write beside their source
    file.

    Raises:
        InternalError: this version of Numba does not tell.
    """
    return Path(FOLDERS()(appname="numba", appauthor=False).user_cache_dir)
