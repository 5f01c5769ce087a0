"""How fast the CUDA kernels run on this machine's GPU, beside a fill of the same bytes and PyTorch.

A launch from Python takes up to 0.2 ms, so operands are large: as many images as there is room for.
Times are those between two events around so many launches that the way of the first one to the GPU
is lost among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from benchmarks import im2col
from benchmarks.convolution import LAYERS
from memlab.errors import InputError
from memlab.kernels import registry
from memlab.kernels.registry import KernelCall
from memlab.layers import Conv2d, algorithms
from memlab.measure import convolution, processor, timing
from memlab.measure.batch_times import BATCHES, PER_SAMPLE, linear
from memlab.measure.processor import Samples, Way
from memlab.measure.timing import BenchmarkLine, Machine, Result, allow_torch, line, median, ratio
from memlab.step.op import Op

LARGEST, MOST = 2**32, 128
"""Bytes that all images of a case take, or a fourth of the free memory where that is less; and the
most images."""
COALESCED, NAIVE, IMPLICIT = "coalesced", "naive", "implicit-gemm"
FILL, RIVAL = "a fill of the same bytes", "PyTorch"
OF_FILL, OF_RIVAL = 1 / 0.75, 1.0
"""The time of the coalesced im2col, at most this many times the fill's and PyTorch's."""
SIZES = (1024, 4096)
"""Rows and columns of square matrices."""
GROWING = LAYERS[3]
"""The convolution whose time per sample is measured at every batch, beside linear layers."""
DRAWN = 4_194_301
"""Different values of an operand; a prime, so that no row of an image repeats another."""
SHORTEST = 0.02
"""Seconds of a sample: launches are repeated."""
NO_GPU = "there is no GPU here that Numba can use; `memlab doctor` says what is missing."


def run(repeats: int = 11) -> Result:
    """Time the CUDA kernels on this machine's GPU: lowering, matrix products, convolutions."""
    targets = import_module("memlab.kernels.cuda.target")
    if targets.target().simulated:
        raise InputError(NO_GPU)
    return Result("gpu", machine(targets.target().name), tuple(lines(repeats)))


def lines(
    repeats: int, cases: Iterable[im2col.Case] = im2col.CASES, sizes: Sequence[int] = SIZES,
    layers: Iterable[convolution.ConvolutionCase] = LAYERS,
    growing: convolution.ConvolutionCase = GROWING, batches: Sequence[int] = BATCHES,
) -> Iterator[BenchmarkLine]:  # fmt: skip
    """Every figure: of lowering, of products of square matrices, and of convolutions."""
    registry.load("cuda")
    with same_precision():
        for case in cases:
            yield from _lowering(case, repeats)
        for size in sizes:
            yield from _products(size, repeats)
        for layer in layers:
            yield from _convolutions(layer, repeats)
        name, op = f"{growing.name}, {IMPLICIT}", convolution.operation(growing, IMPLICIT)
        yield from _per_sample(name, op, batches, repeats)
        for size in sizes:
            yield from _per_sample(f"linear {size}x{size}", linear(size), batches, repeats)


# -- what is timed ------------------------------------------------------------------------------


def _lowering(case: im2col.Case, repeats: int) -> Iterator[BenchmarkLine]:
    """Both ways to lower as many images as there is room for, beside the rivals."""
    cuda, (k, stride, pad) = import_module("numba.cuda"), case[2:]
    lower = import_module("memlab.kernels.cuda").im2col
    one = lower(_drawn((1, *case.shape[1:])), k, stride, pad)
    batch = _batch(one.nbytes)
    x = _drawn((batch, *case.shape[1:]))
    out = cuda.device_array((batch, *one.shape[1:]), np.float32)
    ways: dict[str, Way] = {
        way: partial(lower, x, k, stride, pad, out=out, way=way) for way in (COALESCED, NAIVE)
    }
    ways[FILL] = partial(_filled, out)
    if torch := _torch():
        pairs = [k, k], [1, 1], [pad, pad], [stride, stride]
        ways[RIVAL] = partial(torch.ops.aten.im2col.out, _seen(x), *pairs, out=_seen(out))
    times = timed(ways, repeats)
    name = f"{case.name.partition(',')[0]}, batch {batch}"
    yield BenchmarkLine(f"{name}: bytes written", out.nbytes, "B")
    yield from (line(f"{name}: {way}", samples) for way, samples in times.items())
    yield ratio(f"{name}: coalesced against {FILL}", times[COALESCED], times[FILL], OF_FILL)
    yield ratio(f"{name}: naive against coalesced", times[NAIVE], times[COALESCED])
    if torch:
        rival = times[RIVAL]
        yield ratio(f"{name}: coalesced against {RIVAL}", times[COALESCED], rival, OF_RIVAL)


def _products(size: int, repeats: int) -> Iterator[BenchmarkLine]:
    """Every way to multiply two square matrices."""
    products = import_module("memlab.kernels.cuda.conv.matrix_product")
    a, b, out = (_drawn((size, size)) for _ in range(3))
    ways: dict[str, Way] = {
        way: partial(products.product, a, b, out, way=way) for way in products.WAYS
    }
    if torch := _torch():
        ways[RIVAL] = partial(torch.mm, _seen(a), _seen(b), out=_seen(out))
    times = timed(ways, repeats)
    name = f"product of {size}x{size}"
    for way, samples in times.items():
        yield line(f"{name}: {way}", samples)
        yield BenchmarkLine(f"{name}: {way}, rate", 2e-9 * size**3 / median(samples), "GFLOP/s")


def _convolutions(case: convolution.ConvolutionCase, repeats: int) -> Iterator[BenchmarkLine]:
    """Every algorithm that a GPU has a kernel for."""
    ops = _operations(case)
    batch = _batch(max(convolution.workspace(op, 1) + _operands(op) for op in ops.values()))
    operands: dict[str, Any] = {}
    ways = {name: _prepared(op, batch, operands) for name, op in ops.items()}
    if _torch():
        ways[RIVAL] = _in_torch(case.layer, operands)
    times = timed(ways, repeats)
    name = f"{case.name}, batch {batch}"
    yield from (line(f"{name}: {way}", samples) for way, samples in times.items())
    for way, op in ops.items():
        yield BenchmarkLine(f"{name}: {way}, workspace", convolution.workspace(op, batch), "B")


def _per_sample(name: str, op: Op, batches: Iterable[int], repeats: int) -> Iterator[BenchmarkLine]:
    """An operation without a workspace, at growing batches."""
    ways = {str(batch): _prepared(op, batch, {}) for batch in batches}
    for batch, samples in timed(ways, repeats).items():
        each = tuple(seconds / int(batch) for seconds in samples)
        yield line(f"{name}{PER_SAMPLE}{batch}", each)


# -- the clock ----------------------------------------------------------------------------------


class Clock:
    """Seconds on the GPU. What was launched before has ended when it is read."""

    def __init__(self) -> None:
        self._cuda: Any = import_module("numba.cuda")
        self._seconds = 0.0
        self._last = self._event()

    def _event(self) -> Any:
        event = self._cuda.event()
        event.record()
        event.synchronize()
        return event

    def __call__(self) -> float:
        now = self._event()
        self._seconds += self._last.elapsed_time(now) / 1e3
        self._last = now
        return self._seconds


def timed(ways: Mapping[str, Way], repeats: int) -> dict[str, Samples]:
    """Seconds of one launch of every way, interleaved, ``repeats`` samples each."""
    return processor.timed(ways, repeats, SHORTEST, Clock())


def machine(device: str) -> Machine:
    """This one, now, with a GPU and what its kernels are compiled with."""
    here = timing.machine()
    driver = import_module("memlab.kernels.cuda.driver").driver().get_version()
    versions = {**here.versions, "CUDA driver": ".".join(map(str, driver))}
    with suppress(PackageNotFoundError):  # Numba's own
        versions["numba-cuda"] = version("numba-cuda")
    return replace(here, processor=f"{device}, beside {here.processor}", versions=versions)


# -- operands -----------------------------------------------------------------------------------


def _operations(case: convolution.ConvolutionCase) -> dict[str, Op]:
    """The forward of a layer by every algorithm that has a kernel on a GPU."""
    ops = {name: convolution.operation(case, name) for name in algorithms.on("cuda")}
    return {name: op for name, op in ops.items() if op.algorithm == name}


def _operands(op: Op) -> int:
    """Bytes of the operands for one image."""
    return sum(tensor.size.at(1) for tensor in {**op.reads, **op.writes}.values())


def _prepared(op: Op, batch: int, operands: dict[str, Any]) -> Way:
    """The kernel of an operation on drawn values, with a workspace of its own."""
    cuda = import_module("numba.cuda")
    for name, tensor in {**op.reads, **op.writes}.items():
        if name not in operands:
            operands[name] = _drawn(tensor.shape(batch))
    workspace = {
        name: cuda.device_array(tensor.shape(batch), tensor.format.dtype())
        for name, tensor in op.workspace.items()
    }
    call = KernelCall(operands | workspace, op.attributes["layer"], training=False)
    return partial(registry.find(op.kind, op.algorithm, "cuda"), call)


def _drawn(shape: tuple[int, ...]) -> Any:
    """Random values on the GPU, which repeat after ``DRAWN``: billions would take minutes."""
    values = np.random.default_rng(0).standard_normal(DRAWN, np.float32)
    return import_module("numba.cuda").to_device(np.resize(values, shape))


def _batch(nbytes: int) -> int:
    """How many images take no more than the largest operand may, at this many bytes each."""
    free = import_module("numba.cuda").current_context().get_memory_info().free
    return max(1, min(MOST, int(min(LARGEST, free / 4) // nbytes)))


# -- the rivals ---------------------------------------------------------------------------------


def _filled(out: Any) -> None:
    """The driver's own way to write bytes."""
    _memset()(out, 0, out.nbytes)


@cache
def _memset() -> Any:
    return import_module("memlab.kernels.cuda.driver").MEMSET()


def _torch() -> Any:
    """PyTorch, where it is installed and uses this GPU; else None."""
    if not allow_torch():
        return None
    torch = import_module("torch")
    return torch if torch.cuda.is_available() else None


def _seen(array: Any) -> Any:
    """The same memory as PyTorch's tensor."""
    return import_module("torch").as_tensor(array, device="cuda")


def _in_torch(layer: Conv2d, operands: dict[str, Any]) -> Way:
    """PyTorch's convolution of the same values."""
    torch = import_module("torch")
    given = [_seen(operands[name]) for name in ("x", "weight", "bias") if name in operands]
    bias = given[2] if len(given) == 3 else None
    settings = layer.stride, layer.padding, layer.dilation, layer.groups
    return partial(torch.nn.functional.conv2d, *given[:2], bias, *settings)


@contextmanager
def same_precision() -> Iterator[None]:
    """PyTorch computes in fp32 too, and not in tf32."""
    if (torch := _torch()) is None:
        yield
        return
    parts = torch.backends.cuda.matmul, torch.backends.cudnn
    before = [part.allow_tf32 for part in parts]
    try:
        for part in parts:
            part.allow_tf32 = False
        with torch.inference_mode():
            yield
    finally:
        for part, allowed in zip(parts, before, strict=True):
            part.allow_tf32 = allowed
