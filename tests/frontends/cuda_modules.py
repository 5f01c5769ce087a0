"""Modules and functions, and the operators that PyTorch runs for each: on fake tensors of a CUDA
device, or on those of a processor.

A build of PyTorch for CUDA resolves operators on fake tensors without a GPU. So it writes the truth
that recordings for a card are compared with:

    python -m tests.frontends.cuda_modules write

This module needs PyTorch alone.
"""

from __future__ import annotations

import datetime
import heapq
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

PATH = Path(__file__).with_name("cuda_operators.json")
COMMAND = "python -m tests.frontends.cuda_modules write"

FP32, AUTOCAST_BF16, AUTOCAST_FP16, BF16 = "fp32", "autocast bf16", "autocast fp16", "bf16"
FORMATS = (FP32, AUTOCAST_BF16, AUTOCAST_FP16, BF16)
_AUTOCAST = {AUTOCAST_BF16: torch.bfloat16, AUTOCAST_FP16: torch.float16}
_SHORT = {
    torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.float64: "f64",
    torch.int64: "i64", torch.int32: "i32", torch.uint8: "u8", torch.bool: "b8",
}  # fmt: skip

Case = Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]
"""Function that makes a module or function, and its arguments."""
Truth = Callable[[Any, Any, Any], Any]
"""Function that corrects the outputs of a call of an operator, or returns None."""


@dataclass
class Operators:
    """Operators that a case runs, each with the formats and shapes of its outputs, and the bytes
    that autograd keeps between forward and backward."""

    forward: list[str] = field(default_factory=list)
    backward: list[str] = field(default_factory=list)
    saved: int = 0


def operators(
    case: Case, format: str, device: str, fakes: Any = FakeTensorMode, truth: Truth | None = None
) -> Operators:
    """Return the operators that a case runs in a format on fake tensors of a device."""
    result = Operators()
    with fakes(allow_non_fake_inputs=True), torch.device(device), _default(format):
        call, arguments = case()
        with _saved(result), _Recorder(result.forward, truth), _autocast(format, device):
            output = call(*arguments)
        outputs = [tensor for tensor in _tensors(output) if tensor.grad_fn is not None]
        gradients = [torch.empty_like(tensor) for tensor in outputs]
        with _Recorder(result.backward, truth), torch.no_grad():
            walk(outputs, gradients)
    return result


def walk(outputs: list[Any], gradients: list[Any]) -> None:
    """Run backward from outputs and their gradients in the order of autograd's engine, which needs
    a device: the node with the highest number first, once all its gradients are added."""
    roots = [tensor.grad_fn for tensor in outputs]
    waiting = _uses(roots)
    pending: dict[Any, dict[int, Any]] = {}
    ready: list[tuple[int, int, Any]] = []
    order = count()

    def arrive(node: Any, at: int, gradient: Any) -> None:
        if gradient is not None:
            slots = pending.setdefault(node, {})
            slots[at] = slots[at] + gradient if at in slots else gradient
        waiting[node] -= 1
        if not waiting[node]:
            heapq.heappush(ready, (-node._sequence_nr(), next(order), node))

    for tensor, gradient in zip(outputs, gradients, strict=True):
        arrive(tensor.grad_fn, tensor.output_nr, gradient)
    while ready:
        node = heapq.heappop(ready)[-1]
        received = pending.pop(node, {})
        leaf = hasattr(node, "variable")
        results = () if leaf or not received else _run(node, received)
        for (after, at), result in zip(node.next_functions, results, strict=False):
            if after is not None:
                arrive(after, at, _fitted(result, after._input_metadata[at]))


def _run(node: Any, received: dict[int, Any]) -> tuple[Any, ...]:
    """Return the gradients that a node gives for those that it has received."""
    results = node(*(received.get(at) for at, _ in enumerate(node._input_metadata)))
    return results if isinstance(results, tuple) else (results,)


def _fitted(gradient: Any, wanted: Any) -> Any:
    """Return a gradient in the shape and format of its tensor, as the engine does."""
    if gradient is None:
        return None
    if gradient.shape != torch.Size(wanted.shape):
        gradient = gradient.sum_to_size(wanted.shape)
    return gradient.to(wanted.dtype)


def _uses(roots: Iterable[Any]) -> Counter[Any]:
    """Return how many gradients each node waits for."""
    nodes = list(roots)
    waiting = Counter(nodes)
    seen = set()
    while nodes:
        node = nodes.pop()
        if node not in seen:
            seen.add(node)
            users = [after for after, _ in node.next_functions if after is not None]
            waiting.update(users)
            nodes += users
    return waiting


class _Recorder(TorchDispatchMode):
    """Mode that writes a line for every operator and its outputs."""

    def __init__(self, lines: list[str], truth: Truth | None) -> None:
        super().__init__()
        self.lines, self.truth = lines, truth

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.prim.device.default:
            return args[0].fake_device
        kwargs = kwargs or {}
        output = self.truth(func, args, kwargs) if self.truth else None
        output = func(*args, **kwargs) if output is None else output
        if func.namespace == "aten" and func is not torch.ops.aten.detach.default:
            tensors = " ".join(_described(tensor) for tensor in _tensors(output))
            self.lines.append(f"{func.__name__.removesuffix('.default')} {tensors}".strip())
        return output


def _described(tensor: Any) -> str:
    shape = ",".join(map(str, tensor.shape))
    return f"{_SHORT.get(tensor.dtype, tensor.dtype)}[{shape}]"


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _tensors(item)]
    return []


@contextmanager
def _saved(result: Operators) -> Iterator[None]:
    """Count the bytes of the storages that autograd keeps inside the context."""
    storages: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        storages[storage._cdata] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield
    result.saved = sum(storage.nbytes() for storage in storages.values())


@contextmanager
def _default(format: str) -> Iterator[None]:
    """Make tensors in the format of the parameters inside the context."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16 if format == BF16 else torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def _autocast(format: str, device: str) -> Iterator[None]:
    """Compute as in ``torch.autocast``, which switches itself off on CUDA without a GPU."""
    dtype = _AUTOCAST.get(format)
    if dtype is None:
        yield
    elif device == "cpu":
        with torch.autocast("cpu", dtype):
            yield
    else:
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", dtype)
        try:
            yield
        finally:
            torch.set_autocast_enabled("cuda", False)
            torch.clear_autocast_cache()


# -- the file ----------------------------------------------------------------------------------


def cases() -> Iterator[tuple[str, str, Case]]:
    """Yield the name of each case, a format, and the case."""
    for name, case in CASES.items():
        for format in FORMATS:
            yield name, format, case
    for name, case in UPDATES.items():
        for format in (FP32, BF16):
            yield name, format, case


def truth() -> dict[str, dict[str, Operators | None]]:
    """Return by case and format the operators on fake tensors of a CUDA device; None for an
    exception that does not run there without a GPU."""
    table: dict[str, dict[str, Operators | None]] = {}
    for name, format, case in cases():
        try:
            result = operators(case, format, "cuda")
        except Exception:
            if name not in EXCEPTIONS:
                raise
            result = None
        table.setdefault(name, {})[format] = result
    return table


def packed(table: dict[str, dict[str, Operators | None]]) -> dict[str, Any]:
    """Return a table with each line stored once: the distinct lines, and their numbers."""
    lines: dict[str, int] = {}

    def numbered(part: list[str]) -> list[int]:
        return [lines.setdefault(line, len(lines)) for line in part]

    stored = {
        name: {
            format: given and [numbered(given.forward), numbered(given.backward), given.saved]
            for format, given in row.items()
        }
        for name, row in table.items()
    }
    return {"lines": list(lines), "cases": stored}


def unpacked(stored: dict[str, Any]) -> dict[str, dict[str, Operators | None]]:
    """Return the table that ``packed`` has stored."""
    lines = stored["lines"]

    def read(part: list[int]) -> list[str]:
        return [lines[number] for number in part]

    return {
        name: {
            format: parts and Operators(read(parts[0]), read(parts[1]), parts[2])
            for format, parts in row.items()
        }
        for name, row in stored["cases"].items()
    }


def write() -> None:
    """Write the operators of a CUDA device into ``cuda_operators.json``."""
    if torch.version.cuda is None:
        raise SystemExit(f"PyTorch {torch.__version__} is built without CUDA; try a build with it.")
    warnings.simplefilter("ignore")
    head = {
        "torch": torch.__version__,
        "date": datetime.date.today().isoformat(),
        "command": COMMAND,
    }
    rows = packed(truth())
    text = json.dumps({**head, "lines": rows["lines"]}, indent=0)[:-2] + ',\n"cases": {\n'
    text += ",\n".join(
        f"{json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}"
        for name, row in rows["cases"].items()
    )
    PATH.write_text(text + "\n}\n}\n", encoding="utf-8")


# -- the cases ---------------------------------------------------------------------------------


def x(*shape: int) -> Any:
    """Return a tensor of numbers that needs a gradient."""
    return torch.randn(*shape).requires_grad_()


def numbers(*shape: int) -> Any:
    """Return a tensor of numbers."""
    return torch.rand(*shape)


def classes(count: int, *shape: int) -> Any:
    """Return a tensor of whole numbers below ``count``."""
    return torch.randint(count, shape)


def channels_last(tensor: Any) -> Any:
    """Return a leaf whose channels lie beside each other."""
    return tensor.detach().contiguous(memory_format=torch.channels_last).requires_grad_()


def _evaluated(module: Any) -> Any:
    return module.eval()


def _attention(**options: Any) -> Case:
    """Return a case of attention: 2 sequences, 4 heads, 8 tokens of width 16."""

    def case() -> Any:
        heads = 2 if options.get("enable_gqa") else 4
        return (
            lambda *tensors: functional.scaled_dot_product_attention(*tensors, **options),
            (x(2, 4, 8, 16), x(2, heads, 8, 16), x(2, heads, 8, 16)),
        )

    return case


def _masked(mask: Callable[[], Any]) -> Case:
    def case() -> Any:
        attention = functional.scaled_dot_product_attention
        return attention, (x(2, 4, 8, 16), x(2, 4, 8, 16), x(2, 4, 8, 16), mask())

    return case


def _kernel(name: str, *options: Any) -> Case:
    """Return a case of a kernel of attention, which a device takes only where it is there."""

    def case() -> Any:
        tensors = [x(2, 4, 8, 16) for _ in range(3)]
        operator = getattr(torch.ops.aten, name)
        return lambda *tensors: operator(*tensors, *options)[0], tuple(tensors)

    return case


class _SteppingScaler(torch.amp.GradScaler):
    """Gradient scaler that always takes the step, for fake gradients have no values."""

    def _maybe_opt_step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        return optimizer.step()


def _updated(make: Callable[[Any], Any], clip: float | None = None, scaled: bool = False) -> Case:
    """Return a case of the second update of three parameters, whose gradients are clipped first
    if a norm is given, and had been ``scaled``."""

    def case() -> Any:
        parameters = [nn.Parameter(torch.empty(*shape)) for shape in ((4, 3), (4,), (2, 4))]
        for parameter in parameters:
            parameter.grad = torch.empty_like(parameter)
        device = parameters[0].device.type
        with _in_a_loop(device):
            optimizer = make(parameters)
            scaler = _scaler(parameters, scaled)
            optimizer.step()

        def update() -> None:
            with _in_a_loop(device):
                if clip is not None:
                    nn.utils.clip_grad_norm_(parameters, clip)
                scaler.step(optimizer)
                scaler.update()

        return update, ()

    return case


def _scaler(parameters: list[Any], enabled: bool) -> Any:
    """Return a gradient scaler that has scaled a loss; it switches itself off without a GPU."""
    device = parameters[0].device.type
    with mock.patch(
        "torch.amp.grad_scaler.torch.cuda.amp.common.amp_definitely_not_available",
        return_value=False,
    ):
        scaler = _SteppingScaler(device, enabled=enabled)
    scaler.scale(torch.ones((), device=device))
    return scaler


@contextmanager
def _in_a_loop(device: str) -> Iterator[None]:
    """Update as in a user's loop: no device is set, and fake parameters of a CUDA device count as
    parameters where foreach operators are chosen."""
    name = "_foreach_supported_types"
    homes = map(import_module, ("torch.utils._foreach_utils", "torch.optim.optimizer"))
    with ExitStack() as stack:
        stack.enter_context(torch.device("cpu"))
        for home in homes if device == "cuda" else ():
            kinds = [*getattr(home, name), FakeTensor]
            stack.enter_context(mock.patch.object(home, name, kinds))
        yield


def _twice(module: Any, *arguments: Any) -> Any:
    """Return a function that calls a module twice, so that autocast can keep its cast weights."""
    return lambda *tensors: module(*tensors) + module(*tensors), arguments


def _after(module: Any, loss: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that gives the loss of a module's output."""
    return lambda x, target: loss(module(x), target)


def _self_attention(module: Any) -> Callable[..., Any]:
    """Return the function by which a sequence attends to itself, without the weights."""
    return lambda x: module(x, x, x, need_weights=False)[0]


def _stack(*modules: Any) -> Any:
    return nn.Sequential(*modules)


CASES: dict[str, Case] = {
    # -- layers
    "Linear": lambda: (nn.Linear(8, 4), (x(2, 8),)),
    "Linear without bias": lambda: (nn.Linear(8, 4, bias=False), (x(2, 3, 8),)),
    "Linear twice": lambda: _twice(nn.Linear(8, 4), x(2, 8)),
    "Bilinear": lambda: (nn.Bilinear(4, 5, 3), (x(2, 4), x(2, 5))),
    "Conv1d": lambda: (nn.Conv1d(4, 6, 3), (x(2, 4, 8),)),
    "Conv2d": lambda: (nn.Conv2d(4, 6, 3, padding=1), (x(2, 4, 8, 8),)),
    "Conv2d grouped": lambda: (nn.Conv2d(4, 8, 3, groups=4, bias=False), (x(2, 4, 8, 8),)),
    "Conv2d same": lambda: (nn.Conv2d(4, 8, 2, padding="same"), (x(2, 4, 8, 8),)),
    "Conv2d channels_last": lambda: (nn.Conv2d(4, 6, 3), (channels_last(x(2, 4, 8, 8)),)),
    "Conv3d": lambda: (nn.Conv3d(2, 3, 2), (x(2, 2, 4, 4, 4),)),
    "ConvTranspose1d": lambda: (nn.ConvTranspose1d(4, 6, 3), (x(2, 4, 8),)),
    "ConvTranspose2d": lambda: (nn.ConvTranspose2d(4, 6, 3, stride=2), (x(2, 4, 8, 8),)),
    "ConvTranspose3d": lambda: (nn.ConvTranspose3d(2, 3, 2), (x(2, 2, 4, 4, 4),)),
    "Unfold": lambda: (nn.Unfold(3), (x(2, 4, 8, 8),)),
    "Embedding": lambda: (nn.Embedding(16, 8), (classes(16, 2, 5),)),
    "Embedding with padding": lambda: (nn.Embedding(16, 8, padding_idx=0), (classes(16, 2, 5),)),
    "EmbeddingBag": lambda: (nn.EmbeddingBag(16, 8), (classes(16, 2, 5),)),
    "weight_norm": lambda: (
        nn.utils.parametrizations.weight_norm(nn.Linear(8, 4)),
        (x(2, 8),),
    ),
    "spectral_norm": lambda: (
        nn.utils.parametrizations.spectral_norm(nn.Linear(8, 4)),
        (x(2, 8),),
    ),
    # -- norms
    "BatchNorm1d": lambda: (nn.BatchNorm1d(4), (x(2, 4, 8),)),
    "BatchNorm1d of a matrix": lambda: (nn.BatchNorm1d(4), (x(8, 4),)),
    "BatchNorm2d": lambda: (nn.BatchNorm2d(4), (x(2, 4, 8, 8),)),
    "BatchNorm2d evaluated": lambda: (_evaluated(nn.BatchNorm2d(4)), (x(2, 4, 8, 8),)),
    "BatchNorm2d channels_last": lambda: (nn.BatchNorm2d(4), (channels_last(x(2, 4, 8, 8)),)),
    "BatchNorm2d without weights": lambda: (nn.BatchNorm2d(4, affine=False), (x(2, 4, 8, 8),)),
    "BatchNorm2d without statistics": lambda: (
        nn.BatchNorm2d(4, track_running_stats=False),
        (x(2, 4, 8, 8),),
    ),
    "BatchNorm3d": lambda: (nn.BatchNorm3d(4), (x(2, 4, 4, 4, 4),)),
    "Conv2d, BatchNorm2d, ReLU": lambda: (
        _stack(nn.Conv2d(4, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU(inplace=True)),
        (x(2, 4, 8, 8),),
    ),
    "LayerNorm": lambda: (nn.LayerNorm(8), (x(2, 5, 8),)),
    "LayerNorm without weights": lambda: (
        nn.LayerNorm(8, elementwise_affine=False),
        (x(2, 5, 8),),
    ),
    "Linear, LayerNorm": lambda: (_stack(nn.Linear(8, 8), nn.LayerNorm(8)), (x(2, 5, 8),)),
    "GroupNorm": lambda: (nn.GroupNorm(2, 4), (x(2, 4, 8, 8),)),
    "InstanceNorm2d": lambda: (nn.InstanceNorm2d(4, affine=True), (x(2, 4, 8, 8),)),
    "RMSNorm": lambda: (nn.RMSNorm(8), (x(2, 5, 8),)),
    "Linear, RMSNorm": lambda: (_stack(nn.Linear(8, 8), nn.RMSNorm(8)), (x(2, 5, 8),)),
    "RMSNorm without weights": lambda: (nn.RMSNorm(8, elementwise_affine=False), (x(2, 5, 8),)),
    "LocalResponseNorm": lambda: (nn.LocalResponseNorm(2), (x(2, 4, 8, 8),)),
    # -- dropout
    "Dropout": lambda: (nn.Dropout(0.1), (x(2, 8),)),
    "Dropout in place": lambda: (
        _stack(nn.Linear(8, 8), nn.Dropout(0.1, inplace=True)),
        (x(2, 8),),
    ),
    "Dropout evaluated": lambda: (_evaluated(nn.Dropout(0.1)), (x(2, 8),)),
    "Dropout of all": lambda: (nn.Dropout(1.0), (x(2, 8),)),
    "Dropout of none": lambda: (nn.Dropout(0.0), (x(2, 8),)),
    "Dropout2d": lambda: (nn.Dropout2d(0.1), (x(2, 4, 8, 8),)),
    "AlphaDropout": lambda: (nn.AlphaDropout(0.1), (x(2, 8),)),
    # -- attention
    "MultiheadAttention": lambda: (
        nn.MultiheadAttention(16, 4, batch_first=True),
        (x(2, 8, 16),) * 3,
    ),
    "MultiheadAttention without weights": lambda: (
        _self_attention(nn.MultiheadAttention(16, 4, dropout=0.1)),
        (x(8, 2, 16),),
    ),
    "TransformerEncoderLayer": lambda: (
        nn.TransformerEncoderLayer(16, 4, 32, batch_first=True),
        (x(2, 8, 16),),
    ),
    "TransformerDecoderLayer": lambda: (
        nn.TransformerDecoderLayer(16, 4, 32, batch_first=True),
        (x(2, 8, 16), x(2, 8, 16)),
    ),
    "attention": _attention(),
    "attention, causal": _attention(is_causal=True),
    "attention, dropout": _attention(dropout_p=0.1),
    "attention, grouped heads": _attention(enable_gqa=True),
    "attention, scale": _attention(scale=0.5),
    "attention, mask of truths": _masked(lambda: torch.ones(8, 8, dtype=torch.bool)),
    "attention, mask of numbers": _masked(lambda: torch.zeros(8, 8)),
    "attention, mask that learns": _masked(lambda: x(8, 8)),
    "kernel of flash attention": _kernel("_scaled_dot_product_flash_attention", 0.1, True),
    "kernel of efficient attention": _kernel(
        "_scaled_dot_product_efficient_attention", None, True, 0.1, True
    ),
    "kernel of cuDNN's attention": _kernel(
        "_scaled_dot_product_cudnn_attention", None, True, 0.125, True
    ),
    # -- activations
    "ReLU": lambda: (nn.ReLU(), (x(2, 8),)),
    "LeakyReLU": lambda: (nn.LeakyReLU(), (x(2, 8),)),
    "ELU": lambda: (nn.ELU(), (x(2, 8),)),
    "GELU": lambda: (nn.GELU(), (x(2, 8),)),
    "GELU by tanh": lambda: (nn.GELU("tanh"), (x(2, 8),)),
    "SiLU": lambda: (nn.SiLU(), (x(2, 8),)),
    "Mish": lambda: (nn.Mish(), (x(2, 8),)),
    "Hardswish": lambda: (nn.Hardswish(), (x(2, 8),)),
    "LogSigmoid": lambda: (nn.LogSigmoid(), (x(2, 8),)),
    "Softplus": lambda: (nn.Softplus(), (x(2, 8),)),
    "PReLU": lambda: (nn.PReLU(), (x(2, 8),)),
    "RReLU": lambda: (nn.RReLU(), (x(2, 8),)),
    "Softmax": lambda: (nn.Softmax(-1), (x(2, 8),)),
    "Linear, Softmax": lambda: (_stack(nn.Linear(8, 8), nn.Softmax(-1)), (x(2, 8),)),
    "LogSoftmax": lambda: (nn.LogSoftmax(-1), (x(2, 8),)),
    "Softmax in float64": lambda: (
        lambda t: functional.softmax(t, -1, dtype=torch.float64),
        (x(2, 8),),
    ),
    "Softmin": lambda: (nn.Softmin(-1), (x(2, 8),)),
    "GLU": lambda: (nn.GLU(), (x(2, 8),)),
    # -- pooling and pictures
    "MaxPool1d": lambda: (nn.MaxPool1d(2), (x(2, 4, 8),)),
    "MaxPool2d": lambda: (nn.MaxPool2d(2), (x(2, 4, 8, 8),)),
    "MaxPool3d": lambda: (nn.MaxPool3d(2), (x(2, 4, 4, 4, 4),)),
    "AvgPool1d": lambda: (nn.AvgPool1d(2), (x(2, 4, 8),)),
    "AvgPool2d": lambda: (nn.AvgPool2d(2), (x(2, 4, 8, 8),)),
    "AdaptiveAvgPool2d to one": lambda: (nn.AdaptiveAvgPool2d(1), (x(2, 4, 8, 8),)),
    "AdaptiveAvgPool2d": lambda: (nn.AdaptiveAvgPool2d(3), (x(2, 4, 8, 8),)),
    "AdaptiveMaxPool2d": lambda: (nn.AdaptiveMaxPool2d(3), (x(2, 4, 8, 8),)),
    "Upsample nearest": lambda: (nn.Upsample(scale_factor=2), (x(2, 4, 4, 4),)),
    "Upsample bilinear": lambda: (
        nn.Upsample(scale_factor=2, mode="bilinear"),
        (x(2, 4, 4, 4),),
    ),
    "Upsample bicubic": lambda: (nn.Upsample(scale_factor=2, mode="bicubic"), (x(2, 4, 4, 4),)),
    "Upsample linear": lambda: (nn.Upsample(scale_factor=2, mode="linear"), (x(2, 4, 4),)),
    "Upsample trilinear": lambda: (
        nn.Upsample(scale_factor=2, mode="trilinear"),
        (x(2, 2, 2, 2, 2),),
    ),
    "Conv2d, Upsample": lambda: (
        _stack(nn.Conv2d(4, 6, 3), nn.Upsample(scale_factor=2)),
        (x(2, 4, 8, 8),),
    ),
    "PixelShuffle": lambda: (nn.PixelShuffle(2), (x(2, 4, 4, 4),)),
    "PixelUnshuffle": lambda: (nn.PixelUnshuffle(2), (x(2, 4, 4, 4),)),
    "ReflectionPad2d": lambda: (nn.ReflectionPad2d(1), (x(2, 4, 4, 4),)),
    "grid_sample": lambda: (
        lambda image, grid: functional.grid_sample(image, grid, align_corners=False),
        (x(2, 4, 4, 4), x(2, 3, 3, 2)),
    ),
    # -- losses
    "cross_entropy": lambda: (nn.CrossEntropyLoss(), (x(2, 8), classes(8, 2))),
    "cross_entropy of a map": lambda: (
        nn.CrossEntropyLoss(ignore_index=-100),
        (x(2, 8, 4, 4), classes(8, 2, 4, 4)),
    ),
    "cross_entropy, label smoothing": lambda: (
        nn.CrossEntropyLoss(label_smoothing=0.1),
        (x(2, 8), classes(8, 2)),
    ),
    "cross_entropy of shares": lambda: (nn.CrossEntropyLoss(), (x(2, 8), numbers(2, 8))),
    "Linear, cross_entropy": lambda: (
        _after(nn.Linear(8, 8), functional.cross_entropy),
        (x(2, 8), classes(8, 2)),
    ),
    "BCEWithLogits": lambda: (nn.BCEWithLogitsLoss(), (x(2, 8), numbers(2, 8))),
    "MSE": lambda: (nn.MSELoss(), (x(2, 8), numbers(2, 8))),
    "Linear, MSE": lambda: (
        _after(nn.Linear(8, 8), functional.mse_loss),
        (x(2, 8), numbers(2, 8)),
    ),
    "L1": lambda: (nn.L1Loss(), (x(2, 8), numbers(2, 8))),
    "SmoothL1": lambda: (nn.SmoothL1Loss(), (x(2, 8), numbers(2, 8))),
    "Huber": lambda: (nn.HuberLoss(), (x(2, 8), numbers(2, 8))),
    "KLDiv": lambda: (nn.KLDivLoss(reduction="batchmean"), (x(2, 8), numbers(2, 8))),
    "NLL": lambda: (nn.NLLLoss(), (x(2, 8), classes(8, 2))),
    "NLL of a map": lambda: (nn.NLLLoss(), (x(2, 8, 4, 4), classes(8, 2, 4, 4))),
    "PoissonNLL": lambda: (nn.PoissonNLLLoss(), (x(2, 8), numbers(2, 8))),
    "CosineEmbedding": lambda: (nn.CosineEmbeddingLoss(), (x(2, 8), x(2, 8), numbers(2))),
    "HingeEmbedding": lambda: (nn.HingeEmbeddingLoss(), (x(2, 8), numbers(2, 8))),
    "MarginRanking": lambda: (nn.MarginRankingLoss(), (x(8), x(8), numbers(8))),
    "MultiMargin": lambda: (nn.MultiMarginLoss(), (x(2, 8), classes(8, 2))),
    "MultiLabelMargin": lambda: (nn.MultiLabelMarginLoss(), (x(2, 8), classes(8, 2, 8))),
    "SoftMargin": lambda: (nn.SoftMarginLoss(), (x(2, 8), numbers(2, 8))),
    "TripletMargin": lambda: (nn.TripletMarginLoss(), (x(2, 8), x(2, 8), x(2, 8))),
    # -- functions
    "exp, log, pow, rsqrt": lambda: (
        lambda t: t.exp().log().pow(2.0).add(1).rsqrt().reciprocal(),
        (x(2, 8),),
    ),
    "pow of tensors": lambda: (lambda a, b: torch.pow(a, b) + 2.0**a, (x(2, 8), x(2, 8))),
    "trigonometry": lambda: (
        lambda t: t.acos() + t.asin() + t.cosh() + t.sinh() + t.tan() + t.erfinv(),
        (x(2, 8),),
    ),
    "logarithms": lambda: (
        lambda t: t.log2() + t.log10() + t.log1p() + t.expm1() + t.logsumexp(1, True),
        (x(2, 8),),
    ),
    "of matmul: exp, pow": lambda: (lambda a, b: (a @ b).exp().pow(2), (x(2, 8), x(8, 4))),
    "of matmul: sum": lambda: (lambda a, b: (a @ b).sum(1) + (a @ b).sum(), (x(2, 8), x(8, 2))),
    "of matmul: prod": lambda: (lambda a, b: (a @ b).prod(1).prod(), (x(2, 8), x(8, 4))),
    "of matmul: cumsum": lambda: (
        lambda a, b: (a @ b).cumsum(1) * (a @ b).cumprod(1),
        (x(2, 8), x(8, 4)),
    ),
    "of matmul: mean, var": lambda: (
        lambda a, b: (a @ b).mean(1) + (a @ b).var(1) + (a @ b).std(1),
        (x(2, 8), x(8, 4)),
    ),
    "of matmul: norm": lambda: (
        lambda a, b: (a @ b).norm() + (a @ b).norm(dim=1).sum() + (a @ b).norm(p=1),
        (x(2, 8), x(8, 4)),
    ),
    "of matmul: normalize": lambda: (
        lambda a, b: functional.normalize(a @ b, dim=1),
        (x(2, 8), x(8, 4)),
    ),
    "of matmul: vector_norm": lambda: (
        lambda a, b: torch.linalg.vector_norm(a @ b) + torch.linalg.matrix_norm(a @ b),
        (x(2, 8), x(8, 4)),
    ),
    "of matmul: dist": lambda: (lambda a, b: torch.dist(a @ b, a @ b), (x(2, 8), x(8, 4))),
    "of matmul: renorm": lambda: (
        lambda a, b: torch.renorm(a @ b, 2, 0, 1.0),
        (x(2, 8), x(8, 4)),
    ),
    "of matmul: cdist": lambda: (lambda a, b: torch.cdist(a @ b, a @ b), (x(2, 8), x(8, 4))),
    "of matmul: pdist": lambda: (lambda a, b: torch.pdist(a @ b), (x(3, 8), x(8, 4))),
    "of matmul: cosine_similarity": lambda: (
        lambda a, b: functional.cosine_similarity(a @ b, a @ b),
        (x(2, 8), x(8, 4)),
    ),
    "of matmul and fp32: addcmul": lambda: (
        lambda a, b, c: torch.addcmul(a @ b, c, c) + torch.addcdiv(c, a @ b, c) + (a @ b).atan2(c),
        (x(2, 8), x(8, 4), x(2, 4)),
    ),
    "of matmul and fp32: cat, stack": lambda: (
        lambda a, b, c: torch.cat([a @ b, c]) + torch.stack([c, a @ b]).flatten(0, 1),
        (x(2, 8), x(8, 4), x(2, 4)),
    ),
    "of matmul and fp32: add": lambda: (
        lambda a, b, c: torch.where(c > 0, a @ b, c) + (a @ b) * c,
        (x(2, 8), x(8, 4), x(2, 4)),
    ),
    "of matmul and fp32: dot": lambda: (
        lambda a, b, c: torch.dot((a @ b).flatten(), c.flatten()) + torch.tensordot(a @ b, c, 2),
        (x(2, 8), x(8, 4), x(2, 4)),
    ),
    "of matmul and fp32: scatter_add": lambda: (
        lambda a, b, c: torch.scatter_add(c, 1, torch.zeros(2, 4, dtype=torch.int64), a @ b),
        (x(2, 8), x(8, 4), x(2, 4)),
    ),
    "of matmul and fp32: index_put": lambda: (
        lambda a, b, c: torch.index_put(c, (torch.zeros(4, dtype=torch.int64),), (a @ b)[0]),
        (x(2, 8), x(8, 4), x(2, 4)),
    ),
    "of matmul and fp32: cross": lambda: (
        lambda a, b, c: torch.linalg.cross(a @ b, c) + torch.cross(a @ b, c, dim=1),
        (x(2, 8), x(8, 3), x(2, 3)),
    ),
    "einsum": lambda: (
        lambda a, b: torch.einsum("bij,bjk->bik", a, b),
        (x(2, 3, 4), x(2, 4, 5)),
    ),
    "einsum of three": lambda: (
        lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c),
        (x(2, 3), x(3, 4), x(4, 5)),
    ),
    "matmul chain": lambda: (
        lambda a, b, c: (a @ b) @ c,
        (x(2, 3, 4), x(4, 5), x(5, 6)),
    ),
    "multi_dot": lambda: (
        lambda *tensors: torch.linalg.multi_dot(tensors),
        (x(2, 3), x(3, 4), x(4, 5)),
    ),
    "mm, mv, bmm": lambda: (
        lambda a, b, c, d: torch.mv(torch.mm(a, b), c) + torch.bmm(d, d).sum(0)[0],
        (x(2, 3), x(3, 4), x(4), x(2, 2, 2)),
    ),
    "baddbmm": lambda: (torch.baddbmm, (x(2, 3, 5), x(2, 3, 4), x(2, 4, 5))),
    "addbmm, addmm, addmv, addr": lambda: (
        lambda a, b, c, d, e: (
            torch.addbmm(a, b, c)
            + torch.addmm(a, b[0], c[0])
            + torch.addmv(d, b[0], e)[:, None]
            + torch.addr(a, d, torch.mv(a.t(), d))
        ),
        (x(3, 5), x(2, 3, 4), x(2, 4, 5), x(3), x(4)),
    ),
    "vecdot": lambda: (torch.linalg.vecdot, (x(2, 8), x(2, 8))),
    "softmax of a product": lambda: (
        lambda a, b: functional.softmax(a @ b.transpose(1, 2), -1) @ b,
        (x(2, 3, 4), x(2, 3, 4)),
    ),
    "rotary embedding": lambda: (
        lambda t, angles: (
            t * angles.cos() + torch.cat([-t[..., 4:], t[..., :4]], -1) * angles.sin()
        ),
        (x(2, 3, 8), numbers(3, 8)),
    ),
    # -- recurrent cells
    "LSTM": lambda: (nn.LSTM(4, 8), (x(3, 2, 4),)),
    "GRU": lambda: (nn.GRU(4, 8), (x(3, 2, 4),)),
    "RNN": lambda: (nn.RNN(4, 8), (x(3, 2, 4),)),
    "LSTMCell": lambda: (nn.LSTMCell(4, 8), (x(2, 4),)),
    "GRUCell": lambda: (nn.GRUCell(4, 8), (x(2, 4),)),
    "RNNCell": lambda: (nn.RNNCell(4, 8), (x(2, 4),)),
}
"""Modules and functions, by name."""

UPDATES: dict[str, Case] = {
    "SGD": _updated(lambda p: torch.optim.SGD(p, lr=0.1)),
    "SGD, momentum": _updated(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
    "SGD, fused": _updated(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, fused=True)),
    "Adam": _updated(lambda p: torch.optim.Adam(p)),
    "Adam, foreach=False": _updated(lambda p: torch.optim.Adam(p, foreach=False)),
    "Adam, fused": _updated(lambda p: torch.optim.Adam(p, fused=True)),
    "Adam, amsgrad": _updated(lambda p: torch.optim.Adam(p, amsgrad=True)),
    "AdamW": _updated(lambda p: torch.optim.AdamW(p)),
    "AdamW, fused": _updated(lambda p: torch.optim.AdamW(p, fused=True)),
    "Adagrad": _updated(lambda p: torch.optim.Adagrad(p)),
    "RMSprop": _updated(lambda p: torch.optim.RMSprop(p)),
    "NAdam": _updated(lambda p: torch.optim.NAdam(p)),
    "Adadelta": _updated(lambda p: torch.optim.Adadelta(p)),
    "Adamax": _updated(lambda p: torch.optim.Adamax(p)),
    "RAdam": _updated(lambda p: torch.optim.RAdam(p)),
    "GradScaler, SGD": _updated(lambda p: torch.optim.SGD(p, lr=0.1), scaled=True),
    "clip_grad_norm_, SGD": _updated(lambda p: torch.optim.SGD(p, lr=0.1), clip=1.0),
}
"""Updates of parameters, by name."""

EXCEPTIONS = {
    "LSTM": "cuDNN computes it in fp32 and fp16, and does not run without a GPU; a recording has "
    "the operators of a processor, and a row for the reserve of cuDNN",
    "GRU": "as LSTM",
    "RNN": "as LSTM",
    "GRUCell": "its fused kernel has no fake outputs; a recording has the operators that it fuses",
    "MultiMargin": "its CUDA kernel has no fake outputs",
    "MultiLabelMargin": "its CUDA kernel has no fake outputs",
    "SGD, fused": "its CUDA kernel has no fake outputs; it has none but the parameters",
    "of matmul: renorm": "its backward computes norms in fp64 on a processor, in fp32 on CUDA",
}
"""Cases that a recording need not have as CUDA has them, each with the reason."""

if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        raise SystemExit(f"try {COMMAND}")
    write()
