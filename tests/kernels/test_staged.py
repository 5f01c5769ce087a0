"""Operations on small formats, compared with the fp32 kernel on rounded values, rounded again.

NumPy and ``ml_dtypes`` do the rounding of the oracle.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from memlab import layers as L  # noqa: N812 - as in memlab
from memlab.formats import FORMATS, Format
from memlab.kernels import registry
from memlab.kernels.cpu.small_formats.blockwise import narrow_blocks, widen_blocks
from memlab.kernels.cpu.small_formats.conversions import narrow
from memlab.kernels.cpu.small_formats.fp32_tiles import Staged, StagedUpdate
from memlab.kernels.registry import Array, KernelCall
from memlab.layers.algorithms import on
from memlab.layers.losses import Loss
from memlab.optimizers import OPTIMIZERS
from memlab.runtime import session
from memlab.step import fp32_tiles as staging
from memlab.step import tensor
from memlab.step.fp32_tiles import SUFFIX
from memlab.step.op import Op, Phase
from memlab.step.rewrite_traits import SplitAxis
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor
from tests import kernels_by_case
from tests.kernels_by_case import CPU_ALONE, Case, Trial, as_slice, convolutions, poolings, slot

HALVES = ("fp16", "bf16", "fp8_e4m3fn", "fp8_e5m2")
CASES = [
    *convolutions("cpu")[::3],
    *poolings()[::4],
    Case(L.Conv2d(6, 3, pad=1), ((4, 6, 5),), threads=2),
    Case(L.Linear(5), ((7,),)),
    Case(L.Linear(4, bias=False), ((3,),)),
    Case(L.BatchNorm(), ((4, 3, 5),)),
    Case(L.BatchNorm(), ((6,),)),
    Case(L.LocalResponseNorm(4, alpha=0.5, beta=0.6, k=2.0), ((6, 3, 2),)),
    Case(L.ReLU(), ((3, 4, 6),)),
    Case(L.Tanh(), ((3, 4, 5),)),
    Case(L.Dropout(0.3), ((3, 4, 5),)),
    Case(L.Add(), ((7,), (7,), (7,))),
    *(case for case in CPU_ALONE if case.layer.kind != "softmax_cross_entropy"),
    Case(L.SoftmaxCrossEntropy(), ((6,),)),
    Case(L.SquaredError(), ((2, 3, 4),)),
]
ALONE = [*CASES[::4], *CASES[-15:], Case(L.Concat(), ((2, 3, 5), (3, 3, 5)))]
"""Where one operand at a time is in another format."""
_HERE = {case.layer.kind for case in (*CASES, *ALONE)}
CASES += [case for case in kernels_by_case.CASES if case.layer.kind not in _HERE]
REORDERED = (
    "conv2d.backward", "linear", "linear.backward", "layer_norm.backward", "low_rank.backward",
)  # fmt: skip
"""Their tiles add products up in another order than the whole operation."""
BATCH = 3


@pytest.fixture(params=[1, 64], ids=["small tiles", "large tiles"])
def tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles so small that every case has several, the last one shorter; or 64 times larger."""
    for name, size in (("LEAST", 8), ("MOST", 8), ("MATRIX", 14), ("MAPS", 30)):
        monkeypatch.setattr(staging, name, size * request.param)


def in_format(op: Op, format: Format, only: frozenset[str] | None = None) -> Op:
    """Operation with its fp32 operands, or some of them, in another format."""

    def small(name: str, old: Tensor) -> Tensor:
        if old.format is not staging.COMPUTED or (only is not None and name not in only):
            return old
        return tensor.new(old.name, old.axes, format, old.role)

    reads, writes, updates = (
        {name: small(name, operand) for name, operand in group.items()}
        for group in (op.reads, op.writes, op.updates)
    )
    return staging.with_fp32_tiles(op, reads=reads, writes=writes, updates=updates)


def rounded(op: Op, given: Mapping[str, Array]) -> dict[str, Array]:
    """Operands of an operation, rounded to the formats that it has for them."""
    arrays = {}
    for name, operand in staging.operands(op).items():
        if name in given:
            dtype = operand.format.dtype()
            arrays[name] = given[name].astype(dtype)
    return arrays


def compute(op: Op, given: Mapping[str, Array], **options: Any) -> dict[str, Array]:
    """Arrays that a staged operation writes, from operands in its formats."""
    arrays = {name: given[name].copy() for name in given if name in staging.operands(op)}
    for name, operand in {**op.writes, **op.workspace}.items():
        blank = np.full(operand.shape(BATCH), 77).astype(operand.format.dtype())
        arrays.setdefault(name, blank)
    call = KernelCall(arrays, op.attributes["layer"], key=5, **options)
    Staged(registry.find(op.kind, op.algorithm), op)(call)
    return {name: call[name] for name in (*op.writes, *op.updates)}


def plainly(op: Op, small: Op, given: Mapping[str, Array], **options: Any) -> dict[str, Array]:
    """Arrays that the fp32 kernel writes, all at once, rounded by NumPy."""
    arrays = {
        name: array.astype(np.float32) if staging.small(operand.format) else array.copy()
        for name, array in given.items()
        if (operand := staging.operands(small).get(name))
    }
    for name, each in {**op.writes, **op.workspace}.items():
        arrays.setdefault(name, np.full(each.shape(BATCH), 77, each.format.dtype()))
    call = KernelCall(arrays, op.attributes["layer"], key=5, **options)
    registry.find(op.kind, op.algorithm)(call)
    return {
        name: call[name].astype(each.format.dtype())
        for name, each in {**small.writes, **small.updates}.items()
    }


def assert_same(op: Op, actual: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    """Assert that results agree bit for bit.

    Where products are added in another order, fp32 may differ by a little, and a rounded value by
    one step of its format.
    """
    for name, operand in {**op.writes, **op.updates}.items():
        mine, due = (results[name].astype(np.float64) for results in (actual, expected))
        if op.kind in REORDERED and operand.format.kind == "float":
            step = operand.format.epsilon if staging.small(operand.format) else 1e-5
            largest = np.max(np.abs(due), initial=operand.format.smallest_normal)
            assert np.all(np.abs(mine - due) <= step * np.abs(due) + 1e-6 * largest), name
        else:
            np.testing.assert_array_equal(mine, due, err_msg=name)


def drawn(case: Case) -> tuple[list[Op], dict[str, Array], np.random.Generator]:
    trial = Trial(case, BATCH, "fp32")
    return trial.ops, dict(trial.values), trial.rng


def test_the_cases_have_every_algorithm() -> None:
    assert {case.algorithm for case in CASES} >= set(on("cpu"))


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_the_fp32_kernel_on_rounded_values(case: Case) -> None:
    ops, values, rng = drawn(case)
    format = FORMATS[HALVES[zlib.crc32(str(case).encode()) % 2]]
    for op in ops:
        small = in_format(op, format)
        for name, operand in {**op.reads, **op.updates}.items():
            if name not in values:
                values[name] = rng.standard_normal(operand.shape(BATCH)).astype(np.float32)
        given = rounded(small, values)
        expected = plainly(op, small, given)
        assert_same(small, compute(small, given), expected)
        values |= {name: operand.astype(op.writes[name].format.dtype())
                   for name, operand in expected.items() if name in op.writes}  # fmt: skip


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize("format", HALVES)
@pytest.mark.parametrize("case", ALONE, ids=str)
def test_one_operand_at_a_time(case: Case, format: str) -> None:
    ops, values, rng = drawn(case)
    for op in ops:
        for name, operand in {**op.reads, **op.updates}.items():
            if name not in values:
                values[name] = rng.standard_normal(operand.shape(BATCH)).astype(np.float32)
        for name, operand in staging.operands(op).items():
            if operand.format is staging.COMPUTED:
                small = in_format(op, FORMATS[format], frozenset({name}))
                given = rounded(small, values)
                assert_same(small, compute(small, given), plainly(op, small, given))
        values |= plainly(op, op, values)


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize(
    "case",
    [
        case
        for case in CASES
        if not isinstance(case.layer, Loss)
        and len(case.shapes) == 1
        and case.layer.kind != "embedding"
    ],
    ids=str,
)
def test_a_gradient_is_added_to_one_that_is_there(case: Case) -> None:
    """``dy`` is a slice of larger samples."""
    ops, values, rng = drawn(case)
    forward, backward = ops
    values |= plainly(forward, forward, values)
    small = in_format(backward, FORMATS["fp16"])
    values |= {
        name: rng.standard_normal(backward.writes["dx"].shape(BATCH)).astype(np.float32)
        if name == "dx"
        else rng.standard_normal(backward.reads["dy"].shape(BATCH)).astype(np.float32)
        for name in ("dx", "dy")
    }
    given = rounded(small, values)
    expected = plainly(backward, small, given, accumulate=True)
    assert_same(small, compute(small, given, accumulate=True), expected)
    arrays = {**given, "dy": as_slice(given["dy"])}
    assert_same(small, compute_in_place(small, arrays), expected)


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize("format", HALVES)
@pytest.mark.parametrize("case", [case for case in CASES if case.learns], ids=str)
def test_gradients_of_parameters_are_added_to_those_that_are_there(case: Case, format: str) -> None:
    ops, values, rng = drawn(case)
    forward, backward = ops
    values |= plainly(forward, forward, values)
    updates = {name: operand for name, operand in backward.writes.items() if name != "dx"}
    writes = {name: operand for name, operand in backward.writes.items() if name not in updates}
    adding = replace(backward, writes=writes, updates=updates)
    for name, operand in {**adding.reads, **updates}.items():
        if name not in values:
            values[name] = rng.standard_normal(operand.shape(BATCH)).astype(np.float32)
    small = in_format(adding, FORMATS[format])
    given = rounded(small, values)
    expected = plainly(adding, small, given, updates=updates)
    assert_same(small, compute(small, given, updates=updates), expected)


def compute_in_place(op: Op, arrays: dict[str, Array]) -> dict[str, Array]:
    """Arrays that a staged operation writes, with operands that are not copied."""
    for name, operand in {**op.writes, **op.workspace}.items():
        arrays.setdefault(name, np.zeros(operand.shape(BATCH), operand.format.dtype()))
    call = KernelCall(arrays, op.attributes["layer"], key=5, accumulate=True)
    Staged(registry.find(op.kind, op.algorithm), op)(call)
    return arrays


@pytest.mark.parametrize("tile", [1, 7, 64, 10**4])
def test_dropout_draws_the_same_whatever_the_tile(
    tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "LEAST", tile)
    monkeypatch.setattr(staging, "MOST", tile)
    ops, values, _ = drawn(Case(L.Dropout(0.5), ((3, 4, 5),)))
    small = in_format(ops[0], FORMATS["bf16"])
    assert small.attributes["tile"] == tile
    given = rounded(small, values)
    y = compute(small, given)["y"].astype(np.float32)
    np.testing.assert_array_equal(y == 0, plainly(ops[0], small, given)["y"] == 0)


def test_the_gradient_of_a_loss_is_scaled_before_it_is_rounded() -> None:
    """2^-30 is 0 in fp16; 2^20 times as much is not."""
    ops, values, _ = drawn(Case(L.SquaredError(), ((2, 3, 4),)))
    backward = ops[1]
    scale = tensor.new(staging.SCALE, (), FORMATS["fp32"], Role.OPTIMIZER_STATE)
    for name in ("x", "labels"):
        values[name] = np.zeros((BATCH, 2, 3, 4), np.float32)
    values["x"] += np.float32(2.0**-30)
    values[staging.SCALE] = np.array(2.0**20, np.float32)
    small = in_format(backward, FORMATS["fp16"], frozenset({"dx"}))
    assert not compute(small, values)["dx"].any()
    small = staging.with_fp32_tiles(small, reads={**small.reads, staging.SCALE: scale})
    dx = compute(small, values)["dx"]
    np.testing.assert_array_equal(dx, np.float16(2.0**-30 * 2 / BATCH * 2.0**20))


def update(optimizer: str, format: str, size: int, **attributes: Any) -> Op:
    """Operation that updates one parameter, with its operands in a format."""
    axes = (("F", size),)
    own = slot(optimizer)
    updates = {
        name: tensor.new(name, axes, FORMATS["fp32"], Role.OPTIMIZER_STATE)
        for name in (own.parameter, *own.states.values())
    }
    gradient = tensor.new(own.gradient, axes, FORMATS["fp32"], Role.PARAMETER_GRADIENT)
    op = Op("update", optimizer, Phase.UPDATE, {own.gradient: gradient}, {}, updates,
            attributes={"layer": None, **attributes}, bytes_moved=Size(), slots=(own,))  # fmt: skip
    return in_format(op, FORMATS[format])


def arrays_of(op: Op, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    arrays = {
        name: np.abs(rng.standard_normal(operand.shape(1))).astype(operand.format.dtype())
        for name, operand in staging.operands(op).items()
    }
    return arrays | {n: np.full(t.shape(1), np.nan, np.float32) for n, t in op.workspace.items()}


SETTINGS = session.SETTINGS | {"step": 3.0}


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize("format", HALVES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_update_is_computed_in_fp32_and_rounded(optimizer: str, format: str) -> None:
    op = update(optimizer, format, 133)
    arrays = arrays_of(op)
    wide = {name: arrays[name].astype(np.float32) for name in staging.operands(op)}
    registry.find(optimizer)(KernelCall(wide, settings=SETTINGS, slots=op.slots))
    StagedUpdate(registry.find(optimizer), op)(KernelCall(arrays, settings=SETTINGS))
    for name, operand in op.updates.items():
        np.testing.assert_array_equal(arrays[name], wide[name].astype(operand.format.dtype()))


@pytest.mark.usefixtures("tiles")
def test_a_stochastic_update_draws_by_key_name_and_place() -> None:
    op = update("momentum", "bf16", 133, stochastic=frozenset({"parameter"}))
    draws = []
    for key in (1, 1, 2):
        arrays = arrays_of(op)
        wide = {name: arrays[name].astype(np.float32) for name in staging.operands(op)}
        registry.find("momentum")(KernelCall(wide, settings=SETTINGS, slots=op.slots))
        StagedUpdate(registry.find("momentum"), op)(KernelCall(arrays, key=key, settings=SETTINGS))
        expected = np.empty_like(arrays["w"])
        narrow(wide["w"], expected, FORMATS["bf16"], zlib.crc32(f"{key} w".encode()))
        np.testing.assert_array_equal(arrays["w"], expected)
        state = wide["w0"].astype(FORMATS["bf16"].dtype())
        np.testing.assert_array_equal(arrays["w0"], state)  # to the nearest
        draws.append(arrays["w"])
    assert (draws[0] == draws[1]).all()
    assert (draws[0] != draws[2]).any()


@pytest.mark.parametrize("size", [64, 133, 2**14 + 65])
def test_states_in_blocks_are_widened_changed_and_rounded(size: int) -> None:
    block = 64
    op = update("momentum", "fp32", size, block=block, stochastic=frozenset({"momentum"}))
    codes = tensor.new("w0", (("F", size),), FORMATS["fp8_e4m3fn"], Role.OPTIMIZER_STATE)
    count = -(-size // block)
    scales = tensor.new("s", (("b", count),), FORMATS["fp32"], codes.role)
    slots = (replace(*op.slots, scales={"momentum": "s"}),)
    op = staging.with_fp32_tiles(op, updates={**op.updates, "w0": codes, "s": scales}, slots=slots)
    arrays = arrays_of(op)
    wide = {name: arrays[name].copy() for name in ("w", "w'")}
    wide["w0"] = np.empty(size, np.float32)
    old = arrays["w0"].copy(), arrays["s"].copy()
    widen_blocks(*old, wide["w0"], codes.format, block)
    registry.find("momentum")(KernelCall(wide, settings=SETTINGS, slots=op.slots))
    StagedUpdate(registry.find("momentum"), op)(KernelCall(arrays, key=4, settings=SETTINGS))
    key = zlib.crc32(b"4 w0")
    narrow_blocks(wide["w0"], *old, codes.format, block, key)
    np.testing.assert_array_equal(arrays["w"], wide["w"])
    np.testing.assert_array_equal(arrays["w0"].view(np.uint8), old[0].view(np.uint8))
    np.testing.assert_array_equal(arrays["s"], old[1])


def test_a_mask_is_written_beside_a_small_map() -> None:
    ops, values, _ = drawn(Case(L.ReLU(), ((3, 3, 3),)))
    y = ops[0].writes["y"]
    mask = tensor.new("mask", y.axes, FORMATS["bit"], Role.FEATURE_MAP)
    op = in_format(replace(ops[0], writes={"y": y, "mask": mask}), FORMATS["bf16"])
    assert op.attributes["cut"] is SplitAxis.SAMPLES
    given = rounded(op, values)
    arrays = {"x": given["x"], "y": np.zeros_like(given["x"]), "mask": np.zeros((BATCH, 4), "u1")}
    arrays |= {n: np.zeros(t.shape(BATCH), np.float32) for n, t in op.workspace.items()}
    Staged(registry.find("relu"), op)(KernelCall(arrays, op.attributes["layer"]))
    bits = (given["x"].reshape(BATCH, -1) > 0).astype(np.uint8)
    np.testing.assert_array_equal(arrays["mask"], np.packbits(bits, axis=1, bitorder="little"))
    assert all(name.endswith(SUFFIX) for name in op.workspace)
