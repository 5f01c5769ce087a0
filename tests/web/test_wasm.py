"""Kernels compiled to WebAssembly: the same results as Numba's, every kernel of the registry, and
nothing interpreted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.web.conftest import WHOLE, with_kernels
from web.node import run_code
from web.wasm import build

pytestmark = pytest.mark.measures

NEAR = {"fp64": 1e-9, "float64": 1e-12}
"""Distances of results by the format in their name; 1e-4 for all others, which are in fp32."""

ASKED = """
import json, sys
from web.wasm import build
build.set_environment()
from web.wasm import signatures, target
target.install(); signatures.install()
from memlab.kernels import registry
from memlab.kernels.cpu import compiled_table
from tests.kernels.test_contract import calls, other_calls
from tests.kernels_by_case import CASES, Trial
registry.load()
for format in ("fp32", "fp64"):
    for case in CASES:
        for batch in (1, 2):
            for op, call in calls(Trial(case, batch, format)):
                registry.find(op.kind, op.algorithm, format=format)(call)
    for kind, call in other_calls(format):
        registry.find(kind, format=format)(call)
known = json.loads(build.LIBRARY.with_suffix(".json").read_text())["kernels"]
missing = [key for key in signatures.NEEDED
           if not compiled_table.taking(known.get(key[0], {}), key[1])]
print(json.dumps(missing))
"""
RESULTS = """
import json, sys
from memlab.kernels.cpu import compiled_table
started = set()
tools = sys.monitoring
tools.use_tool_id(4, "interpreted")
tools.set_events(4, tools.events.PY_START)
tools.register_callback(4, tools.events.PY_START,
                        lambda code, at: started.add(code) or tools.DISABLE)
from tests.web import kernel_results
results = {"exact": kernel_results.exact(), "near": kernel_results.near(sys.argv[1] == "True")}
tools.set_events(4, 0)
kernels = {kernel.py_func.__code__: kernel.name for kernel in compiled_table.KERNELS}
results["interpreted"] = [kernels[code] for code in started if code in kernels]
results["called"] = dict(compiled_table.CALLS)
print(json.dumps(results))
"""
UNKNOWN = """
import numpy as np
from memlab.errors import InputError
from memlab.kernels.cpu.small_formats import fp32_tiles
try:
    fp32_tiles._add(np.zeros(3, np.int16), np.zeros(3, np.int16))
except InputError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def there() -> dict[str, Any]:
    """Results in Pyodide, by the code of a page."""
    printed = run_code(RESULTS, environment=with_kernels(), arguments=[str(WHOLE)])
    results: dict[str, Any] = json.loads(printed)
    return results


def test_what_is_rounded_once_is_the_same_to_the_bit(there: dict[str, Any]) -> None:
    from tests.web import kernel_results

    assert there["exact"] == kernel_results.exact()


def test_everything_else_is_the_same_but_for_rounding(there: dict[str, Any]) -> None:
    from tests.web import kernel_results

    here = kernel_results.near(WHOLE)
    assert there["near"].keys() == here.keys()
    for name, values in here.items():
        expected, result = np.array(values), np.array(there["near"][name])
        near = next((near for format, near in NEAR.items() if format in name), 1e-4)
        far = np.linalg.norm(result - expected) / (np.linalg.norm(expected) or 1)
        assert far < near, (name, far)


def test_no_kernel_is_interpreted(there: dict[str, Any]) -> None:
    assert there["interpreted"] == []
    assert sum(there["called"].values()) > 1000


def test_the_table_has_every_kernel_of_the_registry_in_every_format() -> None:
    build.ready()
    done = subprocess.run(
        [sys.executable, "-c", ASKED], capture_output=True, text=True, cwd=build.ROOT,
        env=os.environ | {"PYTHONPATH": str(build.ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [], "web/wasm/programs.py needs a network with it"


def test_a_signature_that_is_not_in_the_table_says_so() -> None:
    assert run_code(UNKNOWN, environment=with_kernels()).strip() == (
        "no code was compiled beforehand for the kernel cpu.small_formats.fp32_tiles._add with "
        "int16:1C int16:1C; what it belongs to runs on a computer, where memlab compiles what it "
        "needs."
    )


def test_a_library_that_is_as_new_as_its_sources_is_kept() -> None:
    library = build.ready()
    before = library.stat().st_mtime_ns
    assert build.is_current()
    assert build.ready().stat().st_mtime_ns == before
