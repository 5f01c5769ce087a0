"""Contract of every kernel: a row asks for it, it allocates no array, and its compiled code
allocates nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import devices
from memlab.clocks.data_path import AUGMENT
from memlab.devices import DEVICES, EVERY_LAYER
from memlab.errors import InputError
from memlab.kernels import device_independent, registry
from memlab.kernels.cpu import compile as compiling
from memlab.kernels.cpu import elementwise_loops
from memlab.kernels.cpu.nan_search import nan_places
from memlab.kernels.registry import Array, KernelCall
from memlab.layers import LAYERS, algorithms
from memlab.layers.algorithms import ALGORITHMS
from memlab.layers.layer_kind import Passes
from memlab.optimizers import OPTIMIZERS
from memlab.runtime.metering.meter import Meter
from memlab.runtime.session import SETTINGS
from memlab.step.fp32_tiles import ADJUST, CHECK
from memlab.step.op import Op
from tests.kernels_by_case import CASES, Case, Trial, as_slice, convolutions, others, slot

FORMATS = ("fp32", "fp64")
ROOT = Path(__file__).resolve().parents[2]


def scaling(device: str) -> set[tuple[str, str]]:
    """Kinds of the operations of a loss scale, where steps may be stored in other formats."""
    return {(CHECK, ""), (ADJUST, "")} if devices.find(device).staged else set()


def due(device: str) -> set[tuple[str, str]]:
    """Kind and algorithm of every operation that a step can have on a device."""
    rows = {kind: layer.row for kind, layer in LAYERS.items() if device in layer.row.devices}
    kinds = {kind for kind, row in rows.items() if not row.is_view}
    computed = (Passes.COMPUTED, Passes.FIRST)
    kinds |= {f"{kind}.backward" for kind, row in rows.items() if row.passes in computed}
    kinds |= {*OPTIMIZERS, "accumulate", "softmax", AUGMENT}
    names = algorithms.on(device)
    kernels = {("conv2d", name) for name in names}
    kernels |= {("conv2d.backward", n) for n in names if ALGORITHMS[n].own_backward}
    others = {(kind, "") for kind in kinds if not kind.startswith("conv2d")}
    return kernels | others | scaling(device)


@pytest.mark.parametrize("device", EVERY_LAYER)
def test_there_is_a_kernel_for_every_row_and_a_row_for_every_kernel(device: str) -> None:
    registry.load(device)
    expected = {(*kind, device, format) for kind in due(device) for format in FORMATS}
    assert {key for key in registry.KERNELS if key[2] == device} == expected


@pytest.mark.parametrize("device", DEVICES)
def test_what_is_found_in_the_files_of_a_device_is_what_they_register(device: str) -> None:
    registry.load(device)
    registered = {key[:2] for key in registry.KERNELS if key[2] == device}
    named = {name for entry in devices.kernels(device) for name in entry.names if name[0]}
    once = {
        (kind, "") for kind in (*device_independent.SHARED_KERNELS, *device_independent.UPDATES)
    }
    assert registered - named - once == scaling(device)
    assert named <= registered
    other = {entry for known in EVERY_LAYER for entry in due(known)}
    assert registered <= other


@pytest.mark.parametrize("device", EVERY_LAYER)
def test_the_cases_reach_every_layer_and_algorithm(device: str) -> None:
    cases = (*convolutions(device), *others(device))
    reached = {(op.kind, op.algorithm) for case in cases for op in case.ops("fp32")}
    apart = {(kind, "") for kind in (*OPTIMIZERS, "accumulate", "softmax", AUGMENT)}
    apart |= scaling(device)
    assert reached | apart == due(device)


def test_an_unknown_format_gives_one_sentence() -> None:
    with pytest.raises(InputError, match="no kernel computes relu in bf16 on cpu; try format fp32"):
        registry.find("relu", format="bf16")


def test_another_device_or_none_is_tried_where_a_kernel_is_missing() -> None:
    with pytest.raises(
        InputError, match=r"\(implicit-gemm\) in fp32 on cpu; try device cuda, or p"
    ):
        registry.find("conv2d", "implicit-gemm")
    with pytest.raises(InputError, match=r"\(fft\) in fp32 on cuda; try device cpu, or plan it"):
        registry.find("conv2d", "fft", "cuda")
    with pytest.raises(InputError, match=r"\(mec\) in fp32 on cuda; mec is planned only: try mem"):
        registry.find("conv2d", "mec", "cuda")
    with pytest.raises(InputError, match=r"lstm_state\.backward in fp32 on cuda; try device cpu"):
        registry.find("lstm_state.backward", device="cuda")
    with pytest.raises(InputError, match="no kernel computes mish in fp32 on cpu; plan it instead"):
        registry.find("mish")
    with pytest.raises(InputError, match="unknown device 'gpu'; did you mean"):
        registry.find("relu", device="gpu")


def test_the_list_loads_no_numba() -> None:
    code = "import sys, memlab.kernels.registry; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_device_loads_no_kernels_of_another() -> None:
    for device, other in (("cpu", "cuda"), ("cuda", "cpu")):
        code = f"""if True:
            import sys
            from memlab.kernels import registry
            registry.load("{device}")
            sys.exit(any(name in sys.modules for name in registry.modules("{other}")))
        """
        subprocess.run([sys.executable, "-c", code], check=True)


def calls(trial: Trial) -> list[tuple[Op, KernelCall]]:
    """Operations of a case, once for each variant of the call, with that call."""
    weights, forward = trial.weights(), trial.forward_op
    given = {**trial.values, **trial.forward()}
    prepared = [(forward, trial.prepared(forward, given))]
    for op in trial.case.ops(trial.format, training=False):
        prepared.append((op, trial.prepared(op, given, training=False)))
    if trial.backward_op is None:
        return prepared
    for dy in (weights, None if weights is None else as_slice(weights)):
        full = given | trial.gradients() | ({} if dy is None else {"dy": dy})
        for accumulate in (False, True):
            call = trial.prepared(trial.backward_op, full, accumulate)
            prepared.append((trial.backward_op, call))
    return prepared


def other_calls(format: str) -> list[tuple[str, KernelCall]]:
    """Calls of the kernels that belong to no layer: updates, the sum of two gradients, and the
    conversion of images."""
    drawn = np.random.default_rng(0)
    dtype = registry.DTYPES[format]
    calls_of_kinds = []
    for kind in OPTIMIZERS:
        own = slot(kind)
        arrays = {name: drawn.random((4, 3)).astype(dtype) for name in own.parts.values()}
        calls_of_kinds.append(
            (kind, KernelCall(arrays, settings=SETTINGS | {"step": 1.0}, slots=(own,)))
        )
    dx, dy = (drawn.random((2, 3, 4)).astype(dtype) for _ in range(2))
    calls_of_kinds.append(("accumulate", KernelCall({"dx": dx, "dy": as_slice(dy)})))
    images = {"x": np.zeros((2, 1, 3, 3), np.uint8), "y": np.zeros((2, 1, 3, 3), dtype)}
    calls_of_kinds.append(
        (AUGMENT, KernelCall(images, settings={"crop": 1, "flip": 1, "mean": 0, "scale": 1}))
    )
    return calls_of_kinds


def allocated(kernel: registry.Kernel, call: KernelCall) -> int:
    """Bytes of array data that a kernel call allocates, even if they are freed again; the kernel is
    called once before."""
    kernel(call)
    with Meter() as meter:
        kernel(call)
        return sum(block.nbytes for block in meter.seen)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_kernel_makes_no_array(case: Case, format: str) -> None:
    for op, call in calls(Trial(case, 3, format)):
        assert allocated(registry.find(op.kind, op.algorithm, format=format), call) == 0


@pytest.mark.parametrize("format", FORMATS)
def test_an_update_makes_no_array(format: str) -> None:
    for kind, call in other_calls(format):
        assert allocated(registry.find(kind, format=format), call) == 0


def test_nothing_stays_of_a_first_call() -> None:
    """Importing and compiling allocate arrays, some of which stay, so ``load`` comes first."""
    code = """if True:
        from memlab.kernels import registry
        from memlab.runtime.metering.meter import Meter
        from tests.kernels_by_case import CASES, Trial
        registry.load()
        trial = Trial(CASES[0], 2, "fp32")
        call = trial.prepared(trial.forward_op, trial.values)
        with Meter() as meter:
            registry.find("conv2d", CASES[0].algorithm)(call)
            assert meter.live == 0, meter.seen
    """
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_a_temporary_of_8_bytes_is_seen() -> None:
    def careless(call: KernelCall) -> None:
        np.multiply(call["x"], 0.5, out=call["y"])

    assert allocated(careless, KernelCall({"x": np.ones(9), "y": np.ones(9)})) == 8


def dispatchers() -> dict[str, Any]:
    """Compiled functions that Python calls, by full name; their code contains the compiled
    functions that they call."""
    registry.load()
    names = (
        *registry.modules("cpu"),
        "memlab.kernels.cpu.conv.im2col",
        "memlab.kernels.cpu.nan_search",
    )
    modules = [import_module(name) for name in names]
    functions = {
        f for module in modules for f in vars(module).values() if hasattr(f, "inspect_llvm")
    }
    called = {f.py_func.__globals__.get(n) for f in functions for n in f.py_func.__code__.co_names}
    return {f"{f.__module__}.{f.__name__}": f for f in functions - called}


def loops() -> dict[str, Any]:
    """Compiled loops of formulas that have been called, by the name of the formula."""
    compiled_loops: dict[Any, Any] = elementwise_loops.LOOPS
    return {formula.__name__: loop for formula, loop in compiled_loops.items() if loop.signatures}


def allocates(function: Any, signature: Any) -> bool:
    """Return whether the code for a signature asks Numba's runtime for memory.

    The code is read as another kernel would link it, which Numba's cache keeps too;
    ``inspect_llvm`` is empty for a kernel that was loaded from the cache.
    """
    code = str(function.overloads[signature].library._get_module_for_linking())
    return re.search(r"NRT_\w*([aA]lloc|MemInfo_new|MemInfo_varsize)", code) is not None


def test_compiled_code_allocates_nothing() -> None:
    for format in FORMATS:
        for case in CASES:
            for op, call in calls(Trial(case, 2, format)):
                registry.find(op.kind, op.algorithm, format=format)(call)
        for kind, call in other_calls(format):
            registry.find(kind, format=format)(call)
    small = memlab.training_step(memlab.network("one", features=3).linear(2).cross_entropy())
    memlab.run(memlab.precision(small, "mixed fp16"), 2)
    x = memlab.network("two", image=(3, 5, 5)).conv(4, 3).batch_norm().relu().flatten()
    for format in FORMATS:
        step = memlab.training_step(x.linear(2).cross_entropy(), format=format)
        memlab.run(memlab.in_place(memlab.recompute(step, k=1)), 2, placement="best")
    assert nan_places(np.full(3, np.nan))
    formula_loops = loops()
    assert {"relu", "tanh_backward", "gelu_exact", "adam"} <= set(formula_loops)
    for name, function in (dispatchers() | formula_loops).items():
        of_bits = function.__module__.endswith((".loss_scale", ".nan_search"))
        every = (f"float{bits}" in str(function.signatures) for bits in (32, 64))
        assert function.signatures if of_bits else all(every), name
        for signature in function.signatures:
            assert not allocates(function, signature), (name, signature)


def test_an_allocation_in_compiled_code_is_seen() -> None:
    @compiling.compiled
    def hidden(x: Array) -> float:
        squares = x * x
        total = 0.0
        for i in range(squares.size):
            total += squares[i]
        return total

    @compiling.compiled
    def careless(x: Array) -> float:
        return hidden(x) + 1

    for function in (hidden, careless):
        assert function(np.ones(3)) >= 3
        assert allocates(function, function.signatures[0])  # type: ignore[attr-defined]  # Numba adds them
