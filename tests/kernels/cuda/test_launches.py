"""List and launches of the CUDA kernels."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numba import cuda, types

from memlab.kernels import registry
from memlab.kernels.cuda import all_kernels, compile, target
from memlab.kernels.cuda.compile import Labels, Places, Values, compiled, launch, signatures
from memlab.kernels.cuda.simulator import fix_shared_arrays
from memlab.kernels.operands import ConvWindow
from memlab.kernels.registry import KernelCall
from memlab.optimizers import OPTIMIZERS
from memlab.runtime.metering.meter import Meter
from memlab.runtime.session import SETTINGS
from tests.kernels_by_case import OTHERS, Case, Trial, convolutions, slot

if target().simulated:
    fix_shared_arrays()  # the first launch of a process looks at the simulator, with an array

SIZES = [(1, 1, 1), (7, 7, 3), (1, 5, 2), (56, 56, 64), (224, 3, 70_000), (1000, 200_000, 2)]


def test_every_kernel_is_listed_in_every_format() -> None:
    counted = Counter(kernel.name for kernel in all_kernels())
    assert {
        "im2col.naive",
        "matrix_product.simple",
        "implicit_product.forward",
        "block_sums.squares",
        "pointwise.relu",
        "updates.adam",
    } <= set(counted)
    pooled = {"pooling.maximum_and_place", "pooling.maximum_backward"}
    assert {name for name, count in counted.items() if count != 2} == pooled
    assert {counted[name] for name in pooled} == {4}
    for kernel in all_kernels():
        names = kernel.function.__code__.co_varnames[: kernel.function.__code__.co_argcount]
        assert len(names) == len(kernel.signature)


def test_a_signature_is_that_of_the_annotations() -> None:
    def function(
        x: Values, y: Places, z: Labels, n: int, rate: float, add: bool, at: ConvWindow
    ) -> None:
        """Do nothing."""

    window = types.NamedUniTuple(types.int64, 8, ConvWindow)
    rest = (types.int64[::1], types.int64, types.float64, types.boolean, window)
    expected = {
        (real[::1], place[::1], *rest)
        for real in (types.float32, types.float64)
        for place in (types.uint8, types.int32)
    }
    function.__annotations__ = {
        "x": Values, "y": Places, "z": Labels, "n": int, "rate": float, "add": bool,
        "at": ConvWindow,
        "return": None,
    }  # fmt: skip
    assert set(signatures(function)) == expected


@pytest.mark.parametrize("deep", [1, 2, 3, 7, 11])
@pytest.mark.parametrize("sizes", SIZES)
def test_a_grid_keeps_within_what_a_gpu_allows(
    sizes: tuple[int, int, int], deep: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns, rows, planes = sizes
    real = {"THREADS": 256, "BLOCKS": 2**11, "WIDE": 2**31 - 1, "HIGH": 2**16 - 1, "DEEP": 8}
    for name, value in real.items():
        monkeypatch.setattr(compile, name, value)
    shapes = [
        compile.planes(columns, rows, planes, deep),
        compile.values(columns * rows, planes),
        compile.results(planes, columns),
    ]
    for grid, block in shapes:
        assert np.prod(block) <= 256
        assert all(1 <= blocks <= 65_535 for blocks in grid[1:])
        assert 1 <= grid[0] < 2**31
    (wide, high, *_), (x, y, _) = shapes[0]
    assert wide * x >= columns
    assert high * y >= rows or high == 65_535
    assert np.prod(shapes[2][1]) == 256  # a sum is made in pairs


def small() -> list[Case]:
    seen: dict[tuple[str, str], Case] = {}
    for case in (*convolutions("cuda"), *OTHERS):
        seen.setdefault((case.layer.kind, case.algorithm), case)
    return list(seen.values())


def calls(case: Case) -> list[tuple[registry.Kernel, KernelCall]]:
    """Kernels of a layer, each with a call on device arrays."""
    trial, operations = Trial(case, 2), []
    for op in trial.ops:
        read = {name: trial.blank(tensor) for name, tensor in op.reads.items()}
        call = trial.prepared(op, trial.values | read)
        arrays = {name: cuda.to_device(array) for name, array in call.arrays.items()}
        kernel = registry.find(op.kind, op.algorithm, "cuda", "fp64")
        operations.append((kernel, KernelCall(arrays, call.layer, key=call.key)))
    return operations


@pytest.mark.skipif(not target().simulated, reason="counts what the host allocates, in its place")
@pytest.mark.parametrize("case", small(), ids=str)
def test_a_kernel_makes_no_array(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel is really launched, because the simulator allocates small arrays of its own."""
    registry.load("cuda")
    prepared = calls(case)
    launched: list[Any] = []
    fake = type(cuda.jit(lambda: None))
    monkeypatch.setattr(fake, "__call__", lambda self, *arguments: launched.append(self))
    for kernel, call in prepared:
        with Meter() as meter:
            kernel(call)
            assert not meter.seen
    assert launched


def test_an_update_makes_no_array(monkeypatch: pytest.MonkeyPatch) -> None:
    if not target().simulated:
        pytest.skip("counts what the host allocates, in its place")
    fake = type(cuda.jit(lambda: None))
    monkeypatch.setattr(fake, "__call__", lambda self, *arguments: None)
    for kind in OPTIMIZERS:
        own = slot(kind)
        arrays = {name: cuda.to_device(np.ones((4, 3))) for name in own.parts.values()}
        kernel = registry.find(kind, device="cuda", format="fp64")
        with Meter() as meter:
            kernel(KernelCall(arrays, settings=SETTINGS | {"step": 1.0}, slots=(own,)))
            assert not meter.seen


def doubled(x: Values, out: Values) -> None:
    i = cuda.grid(1)
    out[i] = x[i] * x.dtype.type(1e300) * x.dtype.type(1e300)


def test_a_launch_warns_of_no_number_and_leaves_python_as_it_was() -> None:
    x, out = cuda.to_device(np.ones(2)), cuda.to_device(np.zeros(2))
    before = sys.getswitchinterval()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch(cuda.jit(doubled), ((1,), (2,)), x, out)
    assert np.isinf(out.copy_to_host()).all()
    assert sys.getswitchinterval() == before


@pytest.mark.skipif(not target().simulated, reason="a GPU does not check")
def test_a_write_outside_an_array_is_seen() -> None:
    x, out = cuda.to_device(np.ones(3)), cuda.to_device(np.zeros(2))
    with pytest.raises(IndexError):
        launch(cuda.jit(doubled), ((1,), (3,)), x, out)


def test_a_kernel_is_listed_by_file_and_name() -> None:
    compiled(doubled)
    assert compile.FUNCTIONS.pop("test_launches.doubled") is doubled
