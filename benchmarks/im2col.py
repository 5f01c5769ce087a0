"""How fast lowering (im2col) and its way back run on one core, and how far a copy would go.

Every way writes into its own reused array, so that no allocator is in the ratios. The **copy
limit** is NumPy's copy of a block that stays in the nearest cache, over as many bytes: what a
lowering without any index arithmetic would take.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from memlab import kernels, units
from memlab.kernels.registry import Array
from memlab.measure.processor import Samples, Way, limited, timed
from memlab.measure.timing import (
    BenchmarkLine,
    Result,
    TimedGroup,
    Timing,
    allow_torch,
    line,
    machine,
    ratio,
)

LIMIT, RIVAL, BACK = 1 / 0.58, 1 / 5, 1 / 2.5
"""The time of im2col, at most this many times the copy limit's and PyTorch's; the time of col2im,
PyTorch's: each over the shapes, the geometric mean."""
WORST = 1 / 1.5
"""The time of col2im against PyTorch's, on the worst shape."""
BLOCK = 4096
"""Values in the block that the copy limit reads: 16 KiB."""
SHORTEST = 0.002
"""Seconds of a sample: short calls are repeated, but not so often that what another way has put
out of the caches comes back."""
FORTH, AND_BACK, COPY, TORCH = "im2col", "col2im", "the copy limit", "PyTorch"
WINDOWS, SLICES, FOLD = "sliding_window_view", "k*k slices", "PyTorch, back"
TO_LOWER, TO_FOLD = (FORTH, COPY, WINDOWS, SLICES, TORCH), (AND_BACK, FOLD)

Ways = dict[str, Way]


class Case(NamedTuple):
    """A lowering: the shape of the images, kernel, stride, padding."""

    name: str
    shape: tuple[int, int, int, int]
    k: int
    stride: int
    pad: int


CASES = (
    Case("VGG-16 conv1_2", (1, 64, 224, 224), 3, 1, 1),
    Case("VGG-16 conv3_2", (1, 256, 56, 56), 3, 1, 1),
    Case("ResNet-50 conv1, batch 4", (4, 3, 224, 224), 7, 2, 3),
    Case("ResNet-50 3x3, batch 4", (4, 64, 56, 56), 3, 1, 1),
    Case("14x14, batch 4", (4, 512, 14, 14), 3, 1, 1),
    Case("in the cache", (1, 16, 32, 32), 3, 1, 1),
)


def run(repeats: int = 9, cases: Iterable[Case] = CASES) -> Result:
    """Time im2col and col2im on six shapes, beside a copy, NumPy's ways and PyTorch's."""
    lines: list[BenchmarkLine] = []
    groups: list[TimedGroup] = []
    with limited():
        for case in cases:
            times, nbytes = _times(case, repeats)
            lines += _lines(case, times, nbytes)
            groups += _groups(case, times)
    return Result("im2col", machine(), (*lines, *_summary(lines)), tuple(groups))


def _times(case: Case, repeats: int) -> tuple[dict[str, Samples], int]:
    """Samples of every way, and the bytes of the lowered matrix."""
    x = np.random.default_rng(0).standard_normal(case.shape, np.float32)
    lowered = kernels.im2col(x, *case[2:])
    forth = _ways_forth(case, x, {name: np.empty_like(lowered) for name in TO_LOWER})
    back = _ways_back(case, lowered, {name: np.empty_like(x) for name in TO_FOLD})
    return timed({**forth, **back}, repeats, SHORTEST), lowered.nbytes


def _lines(case: Case, times: dict[str, Samples], nbytes: int) -> list[BenchmarkLine]:
    return [
        line(f"{case.name}: {FORTH} to {units.short(nbytes)}", times[FORTH]),
        *(_against(case, FORTH, rival, times) for rival in TO_LOWER[1:] if rival in times),
        line(f"{case.name}: {AND_BACK}", times[AND_BACK]),
        *(_against(case, AND_BACK, rival, times) for rival in TO_FOLD[1:] if rival in times),
    ]


def _groups(case: Case, times: dict[str, Samples]) -> list[TimedGroup]:
    """Forth, and back where there is a rival."""
    sides = [(case.name, TO_LOWER), (f"{case.name}, back", TO_FOLD)]
    found = []
    for name, ways in sides:
        timings = [Timing(way.partition(",")[0], None, times[way]) for way in ways if way in times]
        found += [TimedGroup(name, tuple(timings))] if len(timings) > 1 else []
    return found


def _against(case: Case, mine: str, rival: str, times: dict[str, Samples]) -> BenchmarkLine:
    what = rival.partition(",")[0]
    return ratio(f"{case.name}: {mine} against {what}", times[mine], times[rival])


def _ways_forth(case: Case, x: Array, out: dict[str, Array]) -> Ways:
    """Each lowers ``x`` into its own array, but for the copy."""
    k, stride, pad = case[2:]
    windows, padded = _windows(case, x)
    inner = padded[:, :, pad : pad + x.shape[2], pad : pad + x.shape[3]]
    seen = {name: out[name].reshape(windows.shape) for name in (WINDOWS, SLICES)}

    def copy_windows() -> None:
        inner[...] = x
        np.copyto(seen[WINDOWS], windows)

    def copy_slices() -> None:
        inner[...] = x
        for ky, kx in np.ndindex(k, k):
            seen[SLICES][:, :, ky, kx] = windows[:, :, ky, kx]

    ways: Ways = {
        FORTH: partial(kernels.im2col, x, k, stride, pad, out=out[FORTH]),
        COPY: _copy(out[COPY]),
        WINDOWS: copy_windows,
        SLICES: copy_slices,
    }
    if allow_torch():
        import torch

        pairs = [k, k], [1, 1], [pad, pad], [stride, stride]
        given, target = torch.from_numpy(x), torch.from_numpy(out[TORCH])
        ways[TORCH] = partial(torch.ops.aten.im2col.out, given, *pairs, out=target)
    return ways


def _windows(case: Case, x: Array) -> tuple[Array, Array]:
    """A view (N, C, k, k, Ho, Wo) of the padded images, and these."""
    _, _, k, stride, pad = case
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = sliding_window_view(padded, (k, k), (2, 3))[:, :, ::stride, ::stride]
    return windows.transpose(0, 1, 4, 5, 2, 3), padded


def _copy(out: Array) -> Callable[[], object]:
    """Fill ``out`` from a block that stays in the cache."""
    block = np.ones(BLOCK, out.dtype)
    line = out.reshape(-1)
    whole = line.size // BLOCK * BLOCK
    blocks, rest = line[:whole].reshape(-1, BLOCK), line[whole:]

    def copy() -> None:
        np.copyto(blocks, block)
        np.copyto(rest, block[: rest.size])

    return copy


def _ways_back(case: Case, lowered: Array, out: dict[str, Array]) -> Ways:
    k, stride, pad = case[2:]
    ways: Ways = {
        AND_BACK: partial(kernels.col2im, lowered, case.shape, k, stride, pad, out=out[AND_BACK])
    }
    if allow_torch():
        import torch

        pairs = [k, k], [1, 1], [pad, pad], [stride, stride]
        given, target = torch.from_numpy(lowered), torch.from_numpy(out[FOLD])
        size = list(case.shape[2:])
        ways[FOLD] = partial(torch.ops.aten.col2im.out, given, size, *pairs, out=target)
    return ways


def _summary(lines: list[BenchmarkLine]) -> list[BenchmarkLine]:
    """Geometric means over the shapes, and the worst, each with its aim."""

    def values(mine: str, rival: str) -> list[float]:
        return [each.value for each in lines if each.name.endswith(f"{mine} against {rival}")]

    mean = statistics.geometric_mean
    found = [BenchmarkLine(f"{FORTH} against {COPY}, mean", mean(values(FORTH, COPY)), "x", LIMIT)]
    if not values(FORTH, TORCH):
        return [*found, BenchmarkLine(f"{TORCH} is not installed: no comparison", 0, "")]
    back = values(AND_BACK, TORCH)
    return [
        *found,
        BenchmarkLine(f"{FORTH} against {TORCH}, mean", mean(values(FORTH, TORCH)), "x", RIVAL),
        BenchmarkLine(f"{AND_BACK} against {TORCH}, mean", mean(back), "x", BACK),
        BenchmarkLine(f"{AND_BACK} against {TORCH}, worst shape", max(back), "x", WORST),
    ]
