"""The memory that is free on this machine, by what its system and its limits leave."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from memlab import units
from memlab.errors import IN_PAGE, InputError, library, shorten

MB = 10**6
START, KERNELS, SCIPY, TORCH = 110 * MB, 320 * MB, 180 * MB, 600 * MB
"""The address space that libraries take, in bytes, measured with Python 3.11 on Linux: NumPy with
memlab's plans; then Numba and SciPy with all kernels, SciPy alone, or PyTorch without a GPU."""
THREAD = 42 * MB
"""What each further thread of a BLAS library takes: 32 MiB of scratch memory, and its stack."""
THREADS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
"""Where it finds how many, in its order; else there is one for each core."""
RUN = 250 * MB
"""What a run takes beside its arrays: compiling, and the threads of its kernels. The most that was
measured is 160 MB, of networks with convolutions, recurrent layers or attention."""
RESIDENT_KERNELS, RESIDENT_RUN = 130 * MB, 130 * MB
"""Bytes of a control group, which counts pages that are used and not addresses: of Numba and SciPy
with all kernels, and of a run beside its arrays, where its kernels are compiled."""
VARIABLES = {"numpy": ("NUMPY_MADVISE_HUGEPAGE", 0), "numba": ("NUMBA_NUM_THREADS", 1)}
"""The whole number that a library reads from the environment as it is loaded, with the least: of
another value it raises what is no sentence."""
UNCOMPILED = "NUMBA_DISABLE_JIT"
GROUP = "a control group"
"""Name of the limit that a container, a cluster or a hub sets."""
LITTLE = 1000 * MB
"""With less than this, any library may fail, in a way of its own."""
LOADED = "memlab.kernels.cpu.compile"
"""A module that is there once Numba and the kernels are."""
COMPUTING = ("numba", "scipy")
"""What the kernels are made with."""
TABLE = "MEMLAB_KERNELS"
"""The variable of the environment that names a library of kernels that were compiled beforehand."""
LIMITS = {
    "Max address space": ("VmSize", "ulimit -v"),
    "Max data size": ("VmData", "ulimit -d"),
}
"""The limits of a process that memory counts for, as Linux calls them; what it has taken of each;
and what sets it. Its data are a part of its address space: what is measured above holds for both.
"""


class Room(NamedTuple):
    """Bytes that can still be allocated, and the limit that determines them: ``''`` for the
    machine's own memory."""

    nbytes: int
    limit: str = ""

    def beside(self, nbytes: int) -> Room:
        """Room that is left beside so many bytes."""
        return self._replace(nbytes=max(0, self.nbytes - nbytes))


def free_memory(root: Path = Path("/")) -> int:
    """Return the bytes that arrays can still take on this machine."""
    return room(root).nbytes


def admit(nbytes: int, said: str, hint: str) -> None:
    """Raise an error if arrays of ``nbytes`` bytes do not fit into the free memory. ``said`` names
    who needs them.

    Raises:
        InputError: fewer are free; the message ends with the hint.
    """
    free = free_memory()
    if nbytes > free:
        raise InputError(
            f"refused before anything was allocated: {said}, {units.short(free)} are free; {hint}."
        )


def measurable() -> bool:
    """True if the free memory of this machine can be determined."""
    return IN_PAGE or _installed("psutil")


def room(root: Path = Path("/"), of_a_run: bool = True) -> Room:
    """Bytes that arrays can still take here: the least of the system's free memory, of what the
    control groups of a container or a cluster still allow, and of what the limits of this
    process leave, both beside the code of a run, its threads and their scratch memory: who takes
    more is ended there. In a web page it is what its own memory can still grow by, and what is free
    in it.

    Args:
        root: folder of the system's files.
        of_a_run: False for what another program of the same control groups can take, its code and
            its threads included.
    """
    if IN_PAGE:
        return Room(page_memory().free)
    memory = library("psutil", "asking how much memory is free").virtual_memory()
    system = Room(int(memory.available), "")
    code = RESIDENT_RUN + RESIDENT_KERNELS * (LOADED not in sys.modules)
    beside = code if of_a_run else 0
    groups = (Room(left - beside, GROUP) for left in _groups(root))
    own = (Room(left.nbytes - _beside_arrays(), left.limit) for left in _process(root))
    least = min([system, *groups, *own])
    return least._replace(nbytes=max(0, least.nbytes))


class PageMemory(NamedTuple):
    """Memory of a web page, in bytes: what it has now and never gives back, and what is free for
    arrays, with all that it can still grow by."""

    nbytes: int
    free: int


def page_memory() -> PageMemory:
    """Return the memory of this web page, as its C library counts it."""
    import ctypes

    class Counts(ctypes.Structure):
        """Result of C's ``mallinfo``: 10 counts, of which the ninth is that of free bytes."""

        _fields_ = [(f"count{number}", ctypes.c_size_t) for number in range(1, 11)]

    c_library: Any = ctypes.CDLL(None)
    c_library.mallinfo.restype = Counts
    for name in ("sbrk", "emscripten_get_heap_max", "emscripten_get_heap_size"):
        getattr(c_library, name).restype = ctypes.c_size_t
    end, most = c_library.sbrk(0), c_library.emscripten_get_heap_max()
    free = most - end + c_library.mallinfo().count9
    return PageMemory(c_library.emscripten_get_heap_size(), free)


def limited() -> bool:
    """True if a limit of this process leaves so little memory that loading a library may fail."""
    return any(left.nbytes < LITTLE for left in _process(Path("/")))


def require(what: str, libraries: int, root: Path = Path("/")) -> None:
    """Raise an error if the limits of this process leave no room for loading libraries.
    ``libraries`` is the address space that they take, in bytes, without additional threads.

    OpenBLAS and LLVM end the process, or wait for ever, where they get no memory: so they are not
    even tried.

    Raises:
        InputError: there is less room.
    """
    threads = _beside_threads()
    need, fewer = libraries + threads, f", or set {THREADS[0]}=1" if threads else ""
    for left in _process(root):
        if left.nbytes < need:
            raise InputError(
                f"{what} takes about {units.short(need)} of address space, and {left.limit} "
                f"leaves {units.short(max(0, left.nbytes))}; raise that limit{fewer}."
            )


def check_variable(library: str) -> None:
    """Raise an error if an environment variable has a value with which a library cannot be loaded.

    Raises:
        InputError: its variable has a value with which it does not load.
    """
    name, least = VARIABLES[library]
    word = os.environ.get(name, "").strip()
    if word and not (word.isdecimal() and int(word) >= least):
        raise InputError(
            f"{name} must be a whole number of at least {least}, got {shorten(word)}; unset it in "
            f"the environment, or set {name}=1."
        )


def check_compiled() -> None:
    """Raise an error if Numba's compiler is switched off. Without compiled code, Python's own
    objects would be measured beside the arrays of a step.

    Raises:
        InputError: a variable of the environment keeps Numba from compiling.
    """
    word = os.environ.get(UNCOMPILED, "").strip()
    if word not in ("", "0"):
        raise InputError(
            f"{UNCOMPILED}={word} keeps Numba from compiling, and only compiled kernels run to the "
            "byte as planned; unset it in the environment and start Python again."
        )


def computing() -> bool:
    """True if the packages that the kernels are compiled with are installed, or there are kernels
    that were compiled beforehand. Without them, memlab can still plan and draw."""
    return all(map(_installed, COMPUTING)) or compiled_beforehand() is not None


def compiler() -> bool:
    """True if there is something that kernels are compiled with."""
    return compiled_beforehand() is None


def compiled_beforehand() -> Path | None:
    """Library of kernels that were compiled beforehand, for a Python without a compiler: the file
    that ``MEMLAB_KERNELS`` names, or the one beside the package. None where Numba is installed, or
    where there is no such file."""
    file = Path(os.environ.get(TABLE) or Path(__file__).parents[1] / "kernels.wasm")
    return file if not _installed("numba") and file.is_file() else None


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # kept from being imported
        return False


def require_kernels() -> None:
    """Load Numba and the kernels, or raise an error if they are missing or do not fit into memory.

    Raises:
        InputError: there is none, they are not installed, or a variable of the environment keeps
            them from being loaded or from being compiled.
    """
    if LOADED not in sys.modules and compiler():
        check_variable("numba")
        check_compiled()
        require("loading Numba and the kernels", KERNELS)
        for package in COMPUTING:
            library(package, "computing with arrays")


def _beside_arrays() -> int:
    """Return the address space that a run takes beside its arrays, where it is not
    taken already."""
    return RUN if LOADED in sys.modules else RUN + KERNELS + _beside_threads()


def _beside_threads() -> int:
    """Bytes that OpenBLAS's threads take as soon as it is loaded."""
    words = [os.environ.get(name, "") for name in THREADS]
    asked = [int(word) for word in words if word.isdecimal() and int(word)]
    return THREAD * (min([*asked[:1], cores()]) - 1)


def _process(root: Path) -> Iterator[Room]:
    """Bytes that the limits of this process leave, where the system tells them."""
    status = _lines(root / "proc/self/status")
    taken = dict(line.split(":", 1) for line in status if ":" in line)
    for line in _lines(root / "proc/self/limits"):
        name, most = line[:26].strip(), line[26:].split()
        counted, setter = LIMITS.get(name, ("", ""))
        if counted in taken and most[0] != "unlimited":
            yield Room(int(most[0]) - 1024 * int(taken[counted].split()[0]), setter)


def _groups(root: Path) -> Iterator[int]:
    """Bytes that each control group around this process still allows, in version 1 and 2: a group
    is bound by its own limit and by those of all the groups it is in. File pages that count as
    used are given back when memory is short."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mount, names = root / "sys/fs/cgroup", ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            mount = root / "sys/fs/cgroup/memory"
            names = "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for depth in range(len(parts) + 1):
            folder = mount.joinpath(*parts[:depth])
            try:
                most, used = (int((folder / name).read_text()) for name in names)
            except (OSError, ValueError):  # no such file, or "max"
                continue
            pages = dict(line.split() for line in _lines(folder / "memory.stat"))
            files = pages.get("total_inactive_file", pages.get("inactive_file", "0"))
            yield most - used + int(files)


def _lines(path: Path) -> list[str]:
    """Lines of a file that the system keeps; none where it keeps none. Its names
    need not be UTF-8."""
    try:
        text = os.fsdecode(path.read_bytes())
    except OSError:
        return []
    return [line for line in text.split("\n") if line]


def processor() -> str:
    """Return the name of this machine's processor, or its family where the system gives no name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def here() -> str:
    """Return this machine and today's date, to be shown beside figures that hold only here:
    ``'Linux x86_64, 2 cores, 2026-11-21'``."""
    system = f"{platform.system()} {platform.machine()}"
    return f"{system}, {cores()} cores, {date.today().isoformat()}"
