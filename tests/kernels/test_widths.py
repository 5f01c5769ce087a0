"""Tiles and vectors of every width: writes stay within the workspaces.

The constants of a plan set the size of a workspace, and vectors of the processor's width write into
it unchecked. Another width than the processor's own is compiled in a new process, where LLVM builds
it from the vectors that exist.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memlab.kernels.cpu import vector_code
from memlab.kernels.cpu.conv_tiles import block_products, packing
from memlab.kernels.registry import Array
from memlab.layers import Conv2d, algorithms
from memlab.step.tensor import Tensor
from tests.kernels_by_case import Case, Trial, distance

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = sorted({(width.bits, width.registers) for width in vector_code.WIDTHS})
ROOM = 512
"""Values on each side of a workspace that nobody may touch."""
FORCED = """
from memlab.kernels.cpu import vector_code
vector_code.BITS, vector_code.REGISTERS = {bits}, {registers}
from memlab.kernels.cpu.conv_tiles import block_products
from memlab.kernels.cpu.conv_tiles import packing
assert (packing.BITS, block_products.ROWS) == ({bits}, {rows})
from tests.kernels import test_widths
test_widths.compare({known!r})
"""


LAYERS = [
    (Conv2d(11, 3, pad="same"), (5, 9, 11)),
    (Conv2d(6, 3, 2, 1, groups=2), (4, 13, 12)),
    (Conv2d(9, 1), (700, 7, 8)),
]
"""They fill no tile; one has groups and a stride, one more channels than a panel holds."""
NEAR = {"fp64": 1e-10, "fp32": 1e-5}


def results(name: str) -> dict[str, Array]:
    """Outputs and gradients of all layers by an algorithm, in both formats."""
    arrays: dict[str, Array] = {}
    for at, (layer, shape) in enumerate(LAYERS):
        for format in NEAR:
            trial = Guarded(Case(layer, (shape,), name), 2, format)
            own = {"y": trial.forward()["y"], **trial.backward(trial.weights())}
            arrays |= {f"{format} {at} {key}": values for key, values in own.items()}
            assert trial.untouched(), (name, layer, format)
    return arrays


def compare(known: str) -> None:
    """Compare both tile algorithms with results from a file."""
    with np.load(known) as expected:
        for name in ("im2col-tile", "offsets"):
            for key, values in results(name).items():
                gap = distance(values, expected[key].astype(np.float64))
                assert gap < NEAR[key.split()[0]], (name, key)


class Guarded(Trial):
    """Case whose outputs and workspaces lie between values that must not change."""

    def blank(self, tensor: Tensor) -> Array:
        inner = super().blank(tensor)
        large = np.full(inner.size + 2 * ROOM, 33, inner.dtype)
        large[ROOM:-ROOM] = inner.reshape(-1)
        self.__dict__.setdefault("around", []).append(large)
        return large[ROOM:-ROOM].reshape(inner.shape)

    def untouched(self) -> bool:
        """Return whether nothing was written around any of the arrays."""
        edges = [(array[:ROOM], array[-ROOM:]) for array in self.__dict__["around"]]
        return all((edge == 33).all() for pair in edges for edge in pair)


@pytest.mark.parametrize(("bits", "registers"), WIDTHS)
def test_the_plans_constants_hold_a_block_of_that_width(bits: int, registers: int) -> None:
    rows, dots = block_products.block(registers)
    lanes = block_products.VECTORS * bits // 32
    assert algorithms.TILE % lanes == algorithms.TILE % (lanes // 2) == 0
    assert rows <= algorithms.BLOCK
    assert lanes <= packing.PLACES
    assert (rows + 1) * block_products.VECTORS < registers
    assert (dots[0] + 1) * dots[1] < registers


def test_on_the_widest_vectors_both_constants_are_exactly_those_of_a_block() -> None:
    widest = max(vector_code.WIDTHS)
    assert (widest.bits, widest.registers) == (512, 32)
    assert (algorithms.TILE, algorithms.BLOCK) == (48, 8)
    assert block_products.VECTORS * widest.bits // 32 == 48
    assert block_products.block(widest.registers)[0] == 8


@pytest.mark.parametrize(("bits", "registers"), WIDTHS)
def test_the_kernels_of_every_width_write_nothing_around_their_workspaces(
    bits: int, registers: int, tmp_path: Path
) -> None:
    known, rows = str(tmp_path / "known.npz"), block_products.block(registers)[0]
    np.savez(known, allow_pickle=False, **results("im2col-image"))
    code = FORCED.format(bits=bits, registers=registers, rows=rows, known=known)
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=env)


def test_a_smaller_tile_or_block_is_seen_before_anything_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lanes = block_products.VECTORS * vector_code.BITS // 32
    layer, shape = LAYERS[1]
    case = Case(layer, (shape,), "im2col-tile")
    dy = Trial(case, 2, "fp32").weights()
    for name, planted in (("TILE", lanes - 8), ("TILE", lanes + 8), ("BLOCK", 0)):
        with monkeypatch.context() as patch:
            patch.setattr(algorithms, name, planted)
            small = Guarded(case, 2, "fp32")
            with pytest.raises(AssertionError, match="would write beyond a workspace of"):
                small.backward(dy)
            assert small.untouched()


def test_more_lanes_than_a_mask_has_bits_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "VECTORS", 64 * 32 // vector_code.BITS)
    with pytest.raises(AssertionError, match="lanes at most 62"):
        packing.check_workspace(np.zeros((1, 64), np.float32))
