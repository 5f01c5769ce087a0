"""What other packages keep to themselves: it is there, and where it is not, a sentence says so."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from memlab.frontends.torch import torch_private_api
from memlab.kernels import numba_private_api
from memlab.kernels.cpu import blas, compile
from memlab.kernels.cuda import driver, simulator, target
from memlab.private_api import Internal, InternalError, Package
from memlab.runtime.metering import numpy_private_api
from tests.quick import apart
from tests.rows import every_row

MODULES = (numpy_private_api, blas, numba_private_api, simulator, driver, torch_private_api)
INTERNALS = {
    f"{each.home}.{each.name}": each
    for module in MODULES
    for each in vars(module).values()
    if isinstance(each, Internal)
}
PACKAGES = dict.fromkeys(each.package for each in INTERNALS.values())
ROOT = Path(__file__).resolve().parents[1]
simulated = pytest.mark.skipif(not target().simulated, reason="there is a GPU, and no simulator")


def in_a_class(internal: Internal) -> bool:
    return internal.home.rpartition(".")[2][0].isupper()


def here(internal: Internal) -> bool:
    """Whether this process has the package: it has the simulator or a GPU's driver, never both."""
    if internal.package is driver.NUMBA_CUDA:
        return False
    if internal.package is torch_private_api.TORCH:
        return find_spec("torch") is not None
    return not internal.home.startswith("numba.cuda") or target().simulated


OF_MODULES = apart(
    [name for name, each in INTERNALS.items() if here(each) and not in_a_class(each)],
    lambda name: name.startswith("torch."),  # which takes a second to load
)


def probe(x: Any) -> Any:
    return x


def owners() -> dict[str, Any]:
    """An object of each class."""
    function: Any = numba.njit(probe)
    found = {"FunctionCache": numba_private_api._cache_class()(probe, ""), "Dispatcher": function}
    found["BaseContext"] = import_module("numba.core.registry").cpu_target.target_context
    if find_spec("torch") is not None:
        found["GradScaler"] = import_module("torch.amp").GradScaler("cpu")
    if target().simulated:
        found["FakeCUDAShared"] = simulator.SHARED()(0)
        found["FakeCUDAArray"] = simulator.device_array(np.zeros(2))
        manager, first = SimpleNamespace(_block_dim=(1, 1, 1)), (0, 0, 0)
        found["BlockThread"] = simulator.THREAD()(print, manager, first, first, False)
    return found


@pytest.mark.table
@pytest.mark.parametrize("name", OF_MODULES)
def test_a_module_has_it(name: str) -> None:
    assert INTERNALS[name]() is not None


def test_an_object_has_it() -> None:
    objects = owners()
    for name, internal in INTERNALS.items():
        if in_a_class(internal) and here(internal):
            internal.of(objects[name.split(".")[-2]])


@pytest.mark.table
@pytest.mark.parametrize("name", OF_MODULES)
def test_a_module_that_lacks_it_gets_a_sentence(name: str, monkeypatch: Any) -> None:
    internal = INTERNALS[name]
    package = internal.package
    monkeypatch.delattr(import_module(internal.home), internal.name)
    with pytest.raises(InternalError) as caught:
        internal()
    assert str(caught.value) == (
        f"{package.name} {version(package.name)} has no {name}, which memlab needs to "
        f"{internal.use}; try pip install '{package.name}>={package.first},<={package.last}'."
    )


@every_row("name", [n for n, each in INTERNALS.items() if in_a_class(each)])
def test_an_object_that_lacks_it_gets_a_sentence(name: str) -> None:
    with pytest.raises(InternalError, match=f"has no {name}, which memlab needs to"):
        INTERNALS[name].of(object())
    with pytest.raises(InternalError, match=f"has no {name}, which memlab needs to"):
        INTERNALS[name].replace(object(), None)


# -- where it is needed, and nowhere else -------------------------------------------------------


@pytest.fixture
def fresh() -> Any:
    """Numba's cache is looked for again, before the test and after it."""
    numba_private_api._cache_class.cache_clear()
    yield
    numba_private_api._cache_class.cache_clear()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("name", ["FunctionCache", "IndexDataCacheFile"])
def test_without_numbas_cache_a_kernel_is_compiled_in_every_session(
    name: str, monkeypatch: Any
) -> None:
    monkeypatch.delattr(f"numba.core.caching.{name}")
    with pytest.warns(UserWarning, match=f"{name}, which .* compiled in every session"):
        kernel: Any = compile.compiled(probe)
    assert kernel.py_func is probe


@pytest.mark.parametrize(("format", "routine"), [("f", "sgemm"), ("d", "dgemm")])
def test_without_scipys_blas_a_product_says_so(format: str, routine: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(blas, "_MATRIX_PRODUCTS", type(blas._MATRIX_PRODUCTS)())
    monkeypatch.setattr("scipy.linalg.cython_blas.__pyx_capi__", {})
    square = np.ones((2, 2), format)
    with pytest.raises(InternalError, match=f"has no {routine} that counts in 32 bits"):
        blas.gemm(square, square, square)


@simulated
def test_an_array_of_the_simulator_that_holds_none_is_no_operand() -> None:
    with pytest.raises(InternalError, match=r"FakeCUDAArray\._ary, which memlab needs"):
        simulator.numpy_values(object())


@pytest.mark.measures
def test_numba_has_what_a_gpu_needs() -> None:
    """In a process of its own: Numba decides at its first import between GPU and simulator."""
    code = """
from memlab.private_api import Internal
from memlab.kernels.cuda import driver
for each in vars(driver).values():
    old = driver.built_in() and each is driver.SUPPORTED  # which only NVIDIA's has
    if isinstance(each, Internal) and not each.home.rpartition(".")[2][0].isupper() and not old:
        each()
"""
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "0"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


# -- which versions are allowed -----------------------------------------------------------------


@every_row("package", PACKAGES)
def test_what_is_installed_by_rule_has_them_all(package: Package) -> None:
    """From the first version to that of constraints.txt, or of the oracle; no other major version
    is let in."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    oracle = extras.pop("oracle")
    lines = [*project["dependencies"], *(line for each in extras.values() for line in each)]
    named = [each for each in map(Requirement, lines) if each.name == package.name]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    lines += oracle
    pins = [Requirement(line).specifier for line in lines if line.startswith(f"{package.name}==")]
    assert max((each.version for pin in pins for each in pin), key=Version) == package.last
    least, most = package.first.removesuffix(".0"), Version(package.last).major + 1
    wanted = Requirement(f"{package.name}>={least},<{most}").specifier
    assert {str(each.specifier) for each in named} == {str(wanted)}
