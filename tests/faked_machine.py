"""The tests as another machine would run them: `pytest -p tests.faked_machine`.

``MEMLAB_FAKED="cores=64 l3=300MiB ram=4GiB"`` says what the machine has; what is not named stays as
it is. The processes that tests start are told the same.

============  =======================================================================
cores         that this process may run on
l3            bytes of the third cache, ``none`` for a system that names no cache
ram           bytes of memory, of which half are free
without       packages that are not installed: ``without=torch,sklearn``
shuffle       a number: files, and tests of a file, run in an order drawn with it
============  =======================================================================
"""

import importlib.metadata
import importlib.util
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from itertools import groupby
from pathlib import Path
from typing import Any

FAKED = "MEMLAB_FAKED"
FIGURES = ("cores", "l3", "ram", "without", "shuffle")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
SMALLER = (("1", "Data", "32K"), ("1", "Instruction", "32K"), ("2", "Unified", "512K"))
"""The caches below the third: their level, their kind and their bytes."""
BEGIN = """import runpy

runpy.run_path({path!r})["fake"]()
"""


def figures(text: str) -> dict[str, str]:
    """What the environment says of the machine, by name."""
    pairs = [word.partition("=") for word in text.split()]
    unknown = [name for name, _, _ in pairs if name not in FIGURES]
    if unknown:
        raise ValueError(f"{FAKED} knows {', '.join(FIGURES)}, got {', '.join(unknown)}")
    return {name: value for name, _, value in pairs}


def nbytes(text: str) -> int:
    """Bytes of ``'300MiB'``."""
    return int(text[:-3]) * UNITS[text[-3:]]


def fake() -> None:
    """Let this process take the machine for the one that the environment describes."""
    machine = figures(os.environ.get(FAKED, ""))
    if "cores" in machine:
        _have_cores(int(machine["cores"]))
    if "l3" in machine:
        _have_caches(machine["l3"])
    if "ram" in machine:
        _when_loaded("psutil", partial(_have_memory, nbytes(machine["ram"])))
    _lack([name for name in machine.get("without", "").split(",") if name])


def _have_cores(count: int) -> None:
    os.cpu_count = lambda: count
    if hasattr(os, "sched_getaffinity"):
        os.sched_getaffinity = lambda process: set(range(count))
    if hasattr(os, "process_cpu_count"):
        os.process_cpu_count = lambda: count


def _have_caches(largest: str) -> None:
    """Files of another folder for those of the system."""
    owner = tempfile.TemporaryDirectory()
    folder, glob = Path(owner.name), Path.glob
    third = [] if largest == "none" else [("3", "Unified", f"{nbytes(largest) // 2**10}K")]
    for number, cache in enumerate([*SMALLER, *third] if third else []):
        (folder / f"index{number}").mkdir()
        for name, value in zip(("level", "type", "size"), cache, strict=True):
            (folder / f"index{number}" / name).write_text(f"{value}\n", encoding="ascii")

    def globbed(self: Path, *pattern: Any, **options: Any) -> Iterator[Path]:
        return glob(Path(owner.name) if self == CACHES else self, *pattern, **options)

    Path.glob = globbed  # type: ignore[method-assign,assignment]


def _have_memory(total: int, psutil: Any) -> None:
    asked = psutil.virtual_memory

    def virtual_memory() -> Any:
        return asked()._replace(total=total, available=total // 2, free=total // 2)

    psutil.virtual_memory = virtual_memory


def _lack(packages: list[str]) -> None:
    version, spec = importlib.metadata.version, importlib.util.find_spec

    def version_of(distribution_name: str) -> str:
        if distribution_name in packages:
            raise importlib.metadata.PackageNotFoundError(distribution_name)
        return version(distribution_name)

    def spec_of(name: str, package: str | None = None) -> Any:
        return None if name in packages else spec(name, package)

    importlib.metadata.version, importlib.util.find_spec = version_of, spec_of
    sys.meta_path.insert(0, _Lacking(packages))


class _Lacking(MetaPathFinder):
    """Packages that are not there: ``None`` in their place would be seen by others."""

    def __init__(self, packages: list[str]) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name in self.packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class _Loader(Loader):
    """That of a module, and what follows it."""

    def __init__(self, own: Loader, then: Callable[[Any], None]) -> None:
        self.own, self.then = own, then

    def create_module(self, spec: Any) -> Any:
        return self.own.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self.own.exec_module(module)
        self.then(module)


class _Finder(MetaPathFinder):
    """Change a module when it is first loaded: to load it earlier would be seen by some tests."""

    def __init__(self, name: str, then: Callable[[Any], None]) -> None:
        self.name, self.then = name, then

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        sys.meta_path.insert(0, self)
        spec.loader = _Loader(spec.loader, self.then)
        return spec


def _when_loaded(name: str, then: Callable[[Any], None]) -> None:
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, then))


def pytest_configure(config: Any) -> None:
    """Fake this process, and those that it starts by a module that Python loads first of all."""
    from tests import run

    owner = tempfile.TemporaryDirectory()
    config.add_cleanup(owner.cleanup)
    beginning = BEGIN.format(path=str(Path(__file__).resolve()))
    Path(owner.name, "sitecustomize.py").write_text(beginning, encoding="utf-8")
    path = os.pathsep.join([owner.name, str(run.ROOT)])
    own, run.environment = run.environment, lambda: own() | {"PYTHONPATH": path}
    os.environ["PYTHONPATH"] = path


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Files, and tests of a file, in the order drawn."""
    seed = figures(os.environ.get(FAKED, "")).get("shuffle")
    if seed is not None:
        draw = random.Random(int(seed))
        files = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
        for tests in files:
            draw.shuffle(tests)
        draw.shuffle(files)
        items[:] = [item for tests in files for item in tests]


if __name__ == "tests.faked_machine":
    fake()
