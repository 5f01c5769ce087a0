"""Results of kernels, computed alike by Numba and by the code of a page.

This runs in Pyodide too: it imports memlab and NumPy alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import chain, product
from typing import Any

import numpy as np

import memlab
from memlab.formats import FORMATS, STORED
from memlab.kernels import col2im, im2col, registry
from memlab.kernels.cpu import blas
from memlab.kernels.cpu.conv import samples_innermost
from memlab.kernels.cpu.nan_search import nan_places
from memlab.kernels.cpu.small_formats import blockwise, conversions
from memlab.kernels.cpu.vector_experiments import micro_kernel, total
from memlab.kernels.registry import Array, KernelCall
from memlab.layers import algorithms
from web.wasm import programs

Results = Iterator[tuple[str, Any]]
DTYPES = (np.float32, np.float64)


def exact() -> dict[str, str]:
    """Digests of what is the same everywhere: nothing is rounded twice, or in another order."""
    parts = chain(_converted(), _lowered(), _searched(), _augmented())
    return {name: hashlib.sha256(np.asarray(value).tobytes()).hexdigest() for name, value in parts}


def near(every: bool = False) -> dict[str, list[float]]:
    """Values that are the same but for rounding: a processor may fuse a product and a sum."""
    parts = chain(_products(), _lanes(), _networks(every), _algorithms())
    return {name: np.asarray(value, np.float64).reshape(-1).tolist() for name, value in parts}


def _drawn(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    values = np.random.default_rng(sum(shape)).standard_normal(shape)
    return values.astype(dtype)


def _converted() -> Results:
    values = _drawn((999,)) * np.float32(300)
    for format in (FORMATS[name] for name in STORED if name != "fp32"):
        stored, back = np.zeros(999, format.dtype()), np.zeros_like(values)
        for key in (None, 5):
            conversions.narrow(values, stored, format, key, 7)
            conversions.widen(stored, back, format)
            yield f"{format} {key}", back
        if format.bits == 8:
            scales = np.zeros(20, np.float32)
            blockwise.narrow_blocks(values, stored, scales, format, 50, 5)
            blockwise.widen_blocks(stored, scales, back, format, 50)
            yield f"{format} in blocks", back


def _lowered() -> Results:
    for dtype, stride, pad in product(DTYPES, (1, 2, 3), (0, 1)):
        images = _drawn((2, 4, 13, 11), dtype)
        lowered = im2col(images, 3, stride, pad, groups=2)
        name = f"{np.dtype(dtype)} {stride} {pad}"
        yield f"im2col {name}", lowered
        yield f"col2im {name}", col2im(lowered, images.shape, 3, stride, pad, groups=2)


def _searched() -> Results:
    for format in (FORMATS[name] for name in ("fp64", "fp32", "fp16")):  # NumPy's own
        values = np.zeros(9, format.dtype())
        values.view(np.uint8)[-16:] = 0xFF
        yield f"NaN in {format}", nan_places(values)
    for name in ("int8", "uint8", "int32", "int64"):
        yield f"sum of {name}", total(np.arange(1024).astype(name))


def _augmented() -> Results:
    x = np.arange(2 * 3 * 8 * 8, dtype=np.uint8).reshape(2, 3, 8, 8)
    settings = {"crop": 2, "flip": 1, "mean": 0.25, "scale": 1.5}
    for format, dtype in registry.DTYPES.items():
        call = KernelCall({"x": x, "y": np.zeros(x.shape, dtype)}, key=9, settings=settings)
        registry.find("augment", format=format)(call)
        yield f"augment {format}", call["y"]


def _products() -> Results:
    turns = (False, True)
    for dtype, turn_a, turn_b, adds in product(DTYPES, turns, turns, turns):
        a = _drawn((37, 14) if turn_a else (14, 37), dtype)
        b = _drawn((29, 37) if turn_b else (37, 29), dtype)
        out = _drawn((14, 32), dtype)[:, 1:30]
        blas.gemm(a, b, out, adds, turn_a, turn_b, 1.5)
        yield f"product {np.dtype(dtype)} {turn_a} {turn_b} {adds}", out


def _lanes() -> Results:
    for format, lanes in product(("fp32", "fp64"), (1, 4, 64)):
        loop, dtype = micro_kernel(format, lanes), np.dtype(f"float{format[2:]}")
        start = _drawn((1, lanes), dtype) + np.zeros(loop.shape, dtype)
        yield f"{format} in {lanes} lanes", loop(start, [np.full(1, 0.1, dtype)], 9)[0]
    for kind, way in product(DTYPES, samples_innermost.WAYS):
        out = np.zeros((3, 7, 6, 5), kind)
        x, weight = _drawn((2, 7, 6, 5), kind), _drawn((3, 2, 3, 3), kind)
        samples_innermost.conv2d(x, weight, out, 1, 1, way)
        yield f"samples innermost {np.dtype(kind)} {way}", out


def _networks(every: bool) -> Results:
    few = [programs.maps(), programs.texts("fused")]
    for number, network in enumerate(programs.networks() if every else few):
        step = memlab.training_step(network, "adam")
        yield from _run(f"network {number} {network.name}", step)


def _algorithms() -> Results:
    for name, format in product(algorithms.on("cpu"), ("fp32", "fp64")):
        step = memlab.training_step(programs.plain(), format=format, algorithm=name)
        yield from _run(f"{name} {format}", step)
    step = memlab.training_step(programs.maps(), "adam")
    for preset in ("mixed fp16", "mixed bf16"):
        yield from _run(preset, memlab.precision(step, preset))


def _run(name: str, step: memlab.Step) -> Results:
    """Loss and gradients of a step, each gradient as its length and a few of its values."""
    run = memlab.run(step, 3, keep="gradients")
    assert run.residual == 0, (name, run.residual)
    yield f"{name}: loss", run.loss
    lines = (np.asarray(each, np.float64).reshape(-1) for each in run.gradients.values())
    gradients = [(np.linalg.norm(line), *line[:3]) for line in lines]
    yield f"{name}: gradients", np.concatenate(gradients)
