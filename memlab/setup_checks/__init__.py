"""Checks of this set-up, for ``memlab doctor`` and ``memlab.doctor()``: they compare this machine
with the needs of memlab, and give the line that fixes each problem."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module, metadata
from itertools import islice
from pathlib import Path

from memlab import free_memory, units
from memlab.errors import IN_PAGE, InputError
from memlab.kernels import shared_cache
from memlab.lesson_folders import PACKAGE, requirement
from memlab.setup_checks import (
    blas_threads,
    lab_extensions,
    notebook_kernels,
    room_left,
    second_package,
)
from memlab.setup_checks.setup_check import SetupCheck as SetupCheck
from memlab.setup_checks.setup_check import Status

Version = tuple[int, ...]

UNSET = "unset that variable of the environment, and start again"
CLOSE = "close other programs"
RAISE = "give the container more memory, or raise the limit: ulimit -v unlimited"

DRIVER = (
    "install NVIDIA's driver and restart (Ubuntu: sudo ubuntu-drivers install); a container needs "
    "--gpus all"
)
PLAIN = re.compile(r"python(\d(\.\d+)?)?")
"""Executables of a kernel for which Jupyter starts its own Python."""
ELSEWHERE = "what needs a GPU, threads or PyTorch runs in the lab on a computer"
RESTART = "Type in a terminal what fixes it, then choose Kernel > Restart Kernel."

PYTHON = (3, 11)
LEAST = {"anywidget": "0.9", "ipykernel": "6", "ipywidgets": "8", "jupyterlab": "4"}
"""The first version with which the live views work, where pyproject.toml names none."""
LITTLE, VERY_LITTLE = 2 * 10**9, 5 * 10**8
"""Free bytes below which a check notes it, and below which it is a problem."""


def report(checks: Sequence[SetupCheck]) -> str:
    """Return one line per check, and the number of problems."""
    count = sum(check.status == "problem" for check in checks)
    verdict = "1 problem." if count == 1 else f"{count} problems." if count else "No problem."
    return "\n".join([*map(str, checks), verdict])


def exit_code(checks: Iterable[SetupCheck]) -> int:
    """Return 1 if a check found a problem, else 0."""
    return int(any(check.status == "problem" for check in checks))


@dataclass(frozen=True, slots=True, repr=False)
class SetupReport:
    """Results of all checks. A notebook shows one line where no check found a problem, and all
    checks behind it; otherwise all checks, each problem with the line that fixes it."""

    checks: tuple[SetupCheck, ...]

    @property
    def ready(self) -> bool:
        """True if no check found a problem."""
        return not exit_code(self.checks)

    @property
    def notes(self) -> list[SetupCheck]:
        """Checks that stop nothing, and have a line that improves something."""
        return [check for check in self.checks if check.status == "note" and check.fix]

    @property
    def line(self) -> str:
        """Verdict in one line: ``'ready · memlab 0.1.0, Python 3.11.7, 2 cores, Linux · nothing to
        fix'``."""
        fix = f"{len(self.notes)} to look at" if self.notes else "nothing to fix"
        versions = {check.name: check.text.partition(",")[0] for check in self.checks}
        cores = free_memory.cores()
        parts = (f"memlab {versions.get('memlab', '')}", f"Python {versions.get('Python', '')}",
                 f"{cores} core{'s' * (cores > 1)}", platform.system())  # fmt: skip
        return f"ready · {', '.join(parts)} · {fix}"

    def __str__(self) -> str:
        if not self.ready:
            return f"{report(self.checks)} {RESTART}"
        return "\n".join([self.line, *map(str, self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.ready:
            return f"<pre>{escape(str(self))}</pre>"
        checks = f"<pre>{escape(report(self.checks))}</pre>"
        line = escape(self.line).replace("ready", "✓ <b>ready</b>", 1)
        shown = " open" * bool(self.notes)
        return f"<details{shown}><summary>{line}</summary>{checks}</details>"


def doctor() -> SetupReport:
    """Return the results of all checks of this set-up; a notebook shows ``ready`` where all is
    well, and otherwise each problem with the line that fixes it.

    >>> memlab.doctor().checks[1].name
    'memlab'
    """
    return SetupReport(tuple(examine()))


# -- what is seen here --------------------------------------------------------------------------


def examine() -> list[SetupCheck]:
    """Run every check on this machine and this Python, and return the results."""
    if IN_PAGE:
        return _of_page()
    python, version, numba = sys.executable, _installed("memlab"), _numba(sys.executable)
    needs = metadata.requires("memlab") if version else []
    folders = _cache_folders()
    packages = [check_package(need, _installed(need), python) for need in needs or []]
    checks = [
        SetupCheck("machine", "ok", free_memory.here()),
        check_memlab(version, python),
        second_package.check_single(second_package.look(), python),
        check_python(tuple(sys.version_info[:3]), python),
        *packages,
        numba,
        _extensions(python),
        check_kernel(_kernel_command(), python, own=sys.prefix != sys.base_prefix),
        _notebooks(python),
        *([_blas(python), _cuda(python)] if numba.status == "ok" else []),
        check_cache(folders),
        _shared_cache(),
        room_left.check_disks(room_left.disks(islice(filter(writable, folders), 1)), python),
        _memory(),
        _lessons(),
    ]
    return [check for check in checks if check]


def _of_page() -> list[SetupCheck]:
    """Return the checks of a web page, in which nothing is installed or can be fixed."""
    kernels = "its kernels are compiled" if free_memory.computing() else "it came without kernels"
    room = free_memory.room()
    return [
        SetupCheck("machine", "ok", free_memory.here()),
        SetupCheck("memlab", "ok", f"in this web page, and {kernels}; {ELSEWHERE}"),
        SetupCheck("Python", "ok", f"{platform.python_version()}, {sys.platform}"),
        check_memory(room.nbytes, room.limit, room.nbytes),
    ]


def _installed(requirement: str) -> str | None:
    try:
        return metadata.version(parse(requirement)[0])
    except metadata.PackageNotFoundError:
        return None


def _failure(module: str) -> str:
    """Return in one line why a module cannot be imported, or ``''`` if it can."""
    try:
        import_module(module)
    except Exception as error:  # whatever a broken installation raises
        return " ".join(f"{type(error).__name__}: {error}".split())
    return ""


def _memory() -> SetupCheck | None:
    try:
        from psutil import virtual_memory
    except ImportError:  # its own line says so
        return None
    return check_memory(*free_memory.room(), int(virtual_memory().available))


def _lessons() -> SetupCheck | None:
    needs = room_left.recorded()
    if not needs or not free_memory.measurable():
        return None
    room = free_memory.room(of_a_run=False)  # a lesson's bytes are those of its whole kernel
    return room_left.check_lessons(room.nbytes, needs, RAISE if room.limit else CLOSE)


def _extensions(python: str) -> SetupCheck | None:
    seen = lab_extensions.look()
    return lab_extensions.check_extensions(seen, python) if seen else None


def _blas(python: str) -> SetupCheck | None:
    threads, cores = blas_threads.look(), free_memory.cores()
    if threads is None:
        return None
    return blas_threads.check_blas(threads, cores, os.environ, python)


def _numba(python: str) -> SetupCheck:
    try:
        free_memory.check_variable("numba")
        free_memory.check_compiled()
    except InputError as error:
        return SetupCheck("Numba starts", "problem", str(error), UNSET)
    try:
        free_memory.require_kernels()
    except InputError as error:
        return SetupCheck("Numba starts", "problem", str(error), RAISE)
    return check_numba(_failure("numba"), python)


def _kernel_command() -> list[str] | None:
    try:
        from jupyter_client.kernelspec import KernelSpecManager

        return list(KernelSpecManager().get_kernel_spec("python3").argv)
    except Exception:  # no jupyter_client, no such kernel, or a file that cannot be read
        return None


def _notebooks(python: str) -> SetupCheck | None:
    foreign = [asked for asked in notebook_kernels.look(Path.cwd())
               if not _starts(asked.executable, python)]  # fmt: skip
    return notebook_kernels.check_notebooks(foreign, python)


def _cuda(python: str) -> SetupCheck | None:
    try:
        targets = import_module("memlab.kernels.cuda.target")
    except Exception:  # Numba's own line says why
        return None
    gpu, simulated, error = targets.gpu(), False, ""
    try:
        simulated = targets.target().simulated
    except InputError as problem:
        error = str(problem)
    driverless = "" if gpu else _driverless(targets.driver(), cuda_cards())
    return check_cuda(gpu.name if gpu else "", simulated, error, python, driverless)


def _driverless(driver: int | None, cards: int) -> str:
    """Return what keeps a driver from showing a card that is there; empty without a card.

    Args:
        driver: what the driver answers to its start, 0 or the number of an error; None without one.
        cards: graphics cards of NVIDIA that are built in.
    """
    if not cards:
        return ""
    if driver is None:
        return "there is a card of NVIDIA, and no driver of it"
    return f"the driver of NVIDIA's card does not start (error {driver} of cuInit)"


def cuda_cards(devices: Path = Path("/sys/bus/pci/devices")) -> int:
    """Return how many graphics cards of NVIDIA are built in, as far as Linux shows them."""
    cards = 0
    for device in devices.glob("*"):
        with contextlib.suppress(OSError):
            vendor, kind = ((device / name).read_text().strip() for name in ("vendor", "class"))
            cards += vendor == "0x10de" and kind.startswith("0x03")
    return cards


def _cache_folders() -> list[Path]:
    """Folders in which Numba keeps compiled code, in the order in which it looks."""
    folders = [PACKAGE / "kernels" / "cpu" / "__pycache__"]
    if own := os.environ.get("NUMBA_CACHE_DIR"):
        folders.insert(0, Path(own))
    with contextlib.suppress(Exception):  # check_numba says why
        folders.append(import_module("memlab.kernels.numba_private_api").user_folder())
    return folders


def _shared_cache() -> SetupCheck | None:
    named = os.environ.get(shared_cache.VARIABLE)
    if not named:
        return None
    place = Path(named).expanduser().resolve()
    return check_shared_cache(str(place), shared_cache.refusal(place))


# -- what was seen, judged ----------------------------------------------------------------------


def check_memlab(version: str | None, python: str) -> SetupCheck:
    """Check that memlab is installed, so that its requirements are known."""
    fix = f'"{python}" -m pip install {requirement("lab,lessons")}'
    if version is None:
        return SetupCheck("memlab", "problem", "runs from its folder and is not installed", fix)
    return SetupCheck("memlab", "ok", version)


def check_python(version: Version, executable: str) -> SetupCheck:
    """Check that Python is new enough."""
    name, text = "Python", f"{_dotted(version[:3])}, {executable}"
    if version >= PYTHON:
        return SetupCheck(name, "ok", text)
    fix = f"install Python {_dotted(PYTHON)} or newer, then `make lab PYTHON=python3.12`"
    return SetupCheck(name, "problem", text, fix)


def check_package(requirement: str, installed: str | None, python: str) -> SetupCheck | None:
    """Check that an installed package meets one requirement, such as ``jupyterlab>=4; extra ==
    'lab'``.

    ``None`` for a requirement that a learner may do without, such as PyTorch.
    """
    name, least, below, extra = parse(requirement)
    if extra not in ("", "lab", "lessons"):
        return None
    bounds = (f">={least}" if least else "", f"<{below}" if below else "")
    wanted = name + ",".join(filter(None, bounds))
    fix = f'"{python}" -m pip install "{wanted}"'
    if installed is None:
        status: Status = "note" if extra == "lessons" else "problem"
        use = "; some lessons need it" if extra == "lessons" else ""
        return SetupCheck(name, status, f"not installed{use}", fix)
    if _numbers(installed) < _numbers(least):
        return SetupCheck(name, "problem", f"{installed}; {least} or newer is needed", fix)
    if below and _numbers(installed) >= _numbers(below):
        return SetupCheck(name, "problem", f"{installed}; one before {below} is needed", fix)
    return SetupCheck(name, "ok", installed)


def parse(requirement: str) -> tuple[str, str, str, str]:
    """Return the parts of a requirement: name, least version, the version that all must be below,
    and extra; ``''`` where there is none."""
    name = re.match(r"[\w.-]+", requirement)
    least = re.search(r">=\s*([\d.]+)", requirement)
    below = re.search(r"<\s*([\d.]+)", requirement)
    extra = re.search(r"extra\s*==\s*['\"](\w+)", requirement)
    word = name[0] if name else requirement
    first = least[1] if least else LEAST.get(word, "")
    return word, first, below[1] if below else "", extra[1] if extra else ""


def check_numba(error: str, python: str) -> SetupCheck:
    """Check that Numba can be imported, which needs fitting versions of Numba and NumPy."""
    if not error:
        return SetupCheck("Numba starts", "ok", "it can compile kernels")
    fix = f'"{python}" -m pip install --upgrade numba numpy'
    return SetupCheck("Numba starts", "problem", error, fix)


def check_kernel(argv: Sequence[str] | None, python: str, own: bool) -> SetupCheck:
    """Check that the Jupyter kernel ``python3``, which the lessons use, starts this Python.

    ``own`` says that this Python is a virtual environment, whose kernels come first.
    """
    name = "kernel python3"
    fix = f'"{python}" -m ipykernel install --{"sys-prefix" if own else "user"} --name python3'
    if not argv:
        return SetupCheck(name, "problem", "Jupyter has no kernel of that name", fix)
    if PLAIN.fullmatch(argv[0]):
        return SetupCheck(name, "ok", "the Python that starts JupyterLab")
    if _starts(argv[0], python):
        return SetupCheck(name, "ok", argv[0])
    return SetupCheck(name, "problem", f"starts {argv[0]}, and not {python}", fix)


def check_cuda(
    gpu: str, simulated: bool, error: str, python: str, driverless: str = ""
) -> SetupCheck:
    """Check the GPU, which is never required. ``error`` says why Numba cannot use the one that is
    there, and ``driverless`` why the driver of a card that is built in shows none."""
    if error:
        fix = f'"{python}" -m pip install {requirement("cuda13")} (older driver: cuda12)'
        return SetupCheck("CUDA", "note", error, fix if gpu else "")
    if gpu and simulated:
        text = f"simulated, because NUMBA_ENABLE_CUDASIM asks for it; there is a GPU: {gpu}"
        return SetupCheck("CUDA", "note", text)
    if simulated and driverless:
        text = f"simulated, for {driverless}; no lesson needs one"
        return SetupCheck("CUDA", "note", text, DRIVER)
    if simulated:
        return SetupCheck("CUDA", "note", "simulated: no GPU here, and no lesson needs one")
    return SetupCheck("CUDA", "ok", gpu)


def check_cache(folders: Sequence[Path], windows: bool = os.name == "nt") -> SetupCheck:
    """Check that Numba can keep compiled kernels in one of its folders."""
    name = "Numba cache"
    for folder in folders:
        if writable(folder):
            return SetupCheck(name, "ok", str(folder))
    text = f"no folder can be written: {', '.join(map(str, folders))}"
    if windows:
        fix = "set NUMBA_CACHE_DIR=%TEMP%\\numba"
    else:  # nobody else may write there: what Numba reads from a cache, it runs
        own = writable(Path.home() / ".cache" / "numba")
        fix = f"export NUMBA_CACHE_DIR={'$HOME/.cache/numba' if own else '$(mktemp -d)'}"
    return SetupCheck(name, "problem", f"{text}; kernels are compiled in every session", fix)


def check_shared_cache(folder: str, refusal: str) -> SetupCheck:
    """Check that the folder of kernels that learners of a hub share is read. ``refusal`` says why
    it is not."""
    name = "shared kernels"
    if not refusal:
        return SetupCheck(name, "ok", folder)
    text = f"{folder} is not read: {refusal}; kernels are compiled for each learner"
    fix = (
        f'sudo "{sys.executable}" deploy/compile_kernels.py "{folder}"'
        if refusal == shared_cache.MISSING
        else f'sudo chown -R root "{folder}" && sudo chmod -R go-w "{folder}"'
    )
    return SetupCheck(name, "note", text, fix)


def check_memory(free: int, limit: str, system: int) -> SetupCheck:
    """Check that enough memory is free. ``system`` is what the whole machine has left; ``limit`` is
    what a control group (a container, a cluster job) or ``ulimit`` allows, if that is less."""
    text = f"{units.both(free)} free"
    if limit:
        text += f"; {limit} allows less than the machine's {units.short(system)}"
    fix = RAISE if limit else CLOSE
    if free < VERY_LITTLE:
        return SetupCheck("memory", "problem", text, fix)
    if free < LITTLE:
        text += "; larger runs are refused, plans are not"
        # a learner of a hub cannot change it, and the lessons fit into less
        return SetupCheck("memory", "note", text, "" if limit == free_memory.GROUP else fix)
    return SetupCheck("memory", "ok", text)


def writable(folder: Path) -> bool:
    """True if a file can be created in a folder, or in the nearest existing folder above it."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _starts(executable: str, python: str) -> bool:
    """True if the executable of a kernel is this Python, or the one that starts JupyterLab."""
    if not executable or PLAIN.fullmatch(executable):
        return bool(executable)
    return _folder(executable) == _folder(python)


def _folder(executable: str) -> str:
    """Return the folder of a Python executable, without following links: several environments may
    link to the same file."""
    return os.path.realpath(Path(executable).parent)


def _numbers(version: str) -> Version:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
