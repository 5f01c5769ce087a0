"""From the ground up to techniques, importing memlab loads nothing but NumPy and what loads modules
late; no module imports one that imports it, and no room is crowded."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.measures

LOADED = """
import importlib, pkgutil, sys
import numpy
before = set(sys.modules)
import memlab
low = (
    "axes errors internals units formats devices hardware rounding step layers networks build "
    "ledger clocks placement techniques milp"
).split()
for module in pkgutil.iter_modules(memlab.__path__):
    if module.name in low:
        part = importlib.import_module(f"memlab.{module.name}")
        for inner in pkgutil.walk_packages(getattr(part, "__path__", []), f"{part.__name__}."):
            importlib.import_module(inner.name)
roots = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(roots - set(sys.stdlib_module_names) - {"lazy_loader", "memlab", "numpy"}))
"""


def loaded(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_the_lower_layers_load_numpy_only():
    assert loaded(LOADED) == []


STEP = """
import importlib, pkgutil, sys
import memlab
print(*sorted({"numpy", "numba", "scipy"} & set(sys.modules)))
step = importlib.import_module("memlab.step")
for inner in pkgutil.iter_modules(step.__path__):
    importlib.import_module(f"memlab.step.{inner.name}")
above = "layers networks build ledger clocks placement techniques runtime kernels views".split()
print(*sorted(name for name in sys.modules if name.startswith(tuple(f"memlab.{a}" for a in above))))
"""


def test_importing_memlab_loads_no_array_and_a_step_knows_no_layer():
    assert loaded(STEP) == []


def test_this_test_sees_a_layer():
    code = STEP.replace("import memlab\n", "import memlab.networks.zoo, numpy\n")
    assert {"numpy", "memlab.layers"} <= set(loaded(code))


def test_this_test_sees_an_import():
    assert loaded(LOADED.replace("import memlab", "import memlab, tqdm")) == ["tqdm"]


def test_the_views_load_no_library_that_only_a_run_needs():
    code = "import sys, memlab.course.lecture.page;"
    code += " print(*{'numba', 'scipy', 'torch'} & set(sys.modules))"
    assert loaded(code) == []


CALLABLE = """
import importlib, pkgutil
import memlab
for module in pkgutil.walk_packages(memlab.__path__, "memlab."):
    if module.name != "memlab.__main__":
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as missing:
            if missing.name != "torch":
                raise
print(*(name for name in memlab.__all__ if not hasattr(memlab, name)))
print(callable(memlab.plan), callable(memlab.run), callable(memlab.network))
"""


def test_public_names_stay_callable_after_every_submodule_is_imported():
    assert loaded(CALLABLE) == ["True", "True", "True"]
