"""One operation of PyTorch alone, measured: a program that loads nothing of memlab.

It reads one operation as JSON from each line of its input, runs it on made-up values and writes a
line: the most bytes that were allocated inside it, the bytes of what it gave, its seconds. Where
one crashes the process, the line is missing. Import this module only where PyTorch is installed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from threading import Timer
from typing import Any

import torch

_QUICK = 0.05
"""Seconds below which an operation is timed another time: its first run may compile a kernel."""
Made = dict[int, Any]
READY = "ready"
"""The first line that it writes."""
IDLE = 60.0
"""Seconds without an operation after which the process ends."""


def main() -> None:
    """Measure the operations that come in as lines of JSON, until no more come."""
    results = _private_output()
    _set(json.loads(sys.stdin.readline()))
    print(READY, file=results, flush=True)
    idle = _ending()
    for line in sys.stdin:
        idle.cancel()
        print(json.dumps(measured(json.loads(line))), file=results, flush=True)
        idle = _ending()


def _ending() -> Timer:
    """Return a timer that ends this process after a while."""
    timer = Timer(IDLE, os._exit, [0])
    timer.daemon = True
    timer.start()
    return timer


def _private_output() -> Any:
    """Return a stream for the results; everything else that is written to the standard output is
    dropped."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return stream


def _set(settings: dict[str, Any]) -> None:
    """Apply settings that decide which kernels run."""
    torch.set_num_threads(settings["threads"])
    torch.backends.mkldnn.enabled = settings["mkldnn"]
    torch.set_float32_matmul_precision(settings["precision"])
    torch.use_deterministic_algorithms(settings["deterministic"], warn_only=True)


def settings() -> dict[str, Any]:
    """Settings of PyTorch in this process, for a child process."""
    return {
        "threads": torch.get_num_threads(),
        "mkldnn": bool(torch.backends.mkldnn.enabled),
        "precision": torch.get_float32_matmul_precision(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


def measured(job: dict[str, Any]) -> dict[str, Any]:
    """Measure one operation: ``peak`` bytes inside it, ``outputs`` as pairs of a number of a
    storage and its bytes (-1 is the storage of an argument), and ``seconds``; or the ``error``."""
    for value in (0, 1):  # a whole number of 0 may be a divisor
        try:
            return _measured(job, value)
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error).strip()[:160]}"
    return {"error": reason}


def _measured(job: dict[str, Any], value: int) -> dict[str, Any]:
    tensors: Made = {}
    with torch.set_grad_enabled(job["grad"]):
        args, kwargs = _arguments(job, value, tensors)
        run = _runner(job, args, kwargs)
        given = [
            tensor for tensor in flat([*args, *kwargs.values()]) if isinstance(tensor, torch.Tensor)
        ]
        before = {tensor.untyped_storage()._cdata for tensor in given}
        on_gpu = any(tensor.is_cuda for tensor in given)
        peak, seconds, outputs = _on_gpu(run) if on_gpu else _on_processor(run)
        if seconds < _QUICK:
            seconds = min(seconds, _timed(run))
    return {"peak": peak, "outputs": list(_sizes(outputs, before)), "seconds": seconds}


def _runner(job: dict[str, Any], args: Any, kwargs: Any) -> Callable[[], Any]:
    """Return a call of an operator that is known by its name."""
    space, _, name = job["op"].partition("::")
    func = getattr(getattr(getattr(torch.ops, space), name), job["overload"])
    return lambda: func(*args, **kwargs)


def _timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _on_processor(run: Callable[[], Any]) -> tuple[int, float, Any]:
    """Run an operation on the processor; return the most bytes above those before, the seconds, and
    the outputs."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        start = time.perf_counter()
        outputs = run()
        seconds = time.perf_counter() - start
    return most(profiler), seconds, outputs


def most(profiler: Any) -> int:
    """Return the most bytes alive at one moment, from the allocations and releases that a profiler
    saw."""
    events = profiler.profiler.kineto_results.events()
    memory = [(event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]"]
    memory.sort(key=lambda event: event[0])
    largest: int = max(accumulate((n for _, n in memory), initial=0))
    return largest


def _on_gpu(run: Callable[[], Any]) -> tuple[int, float, Any]:
    """Run an operation on a GPU; return the most bytes above those before, the seconds, and the
    outputs."""
    run()  # libraries take what they keep
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before, start = torch.cuda.memory_stats()["requested_bytes.all.current"], time.perf_counter()
    outputs = run()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    return torch.cuda.memory_stats()["requested_bytes.all.peak"] - before, seconds, outputs


def _sizes(outputs: Any, before: set[int]) -> Iterator[tuple[int, int] | None]:
    """Yield for each output the number of its storage among the new ones, and its bytes."""
    numbers: dict[int, int] = {}
    for output in flat(outputs):
        if not isinstance(output, torch.Tensor):
            yield None
            continue
        storage = output.untyped_storage()
        key = storage._cdata
        new = key not in before
        yield (numbers.setdefault(key, len(numbers)) if new else -1, storage.nbytes())


# -- arguments ---------------------------------------------------------------------------------


def _arguments(job: dict[str, Any], value: int, tensors: Made) -> tuple[Any, Any]:
    """Arguments of a job; outputs of another operation that it reads are computed first."""
    first = {}
    for name, argument in job.get("first", {}).items():
        with torch.set_grad_enabled(argument["grad"]):  # what it keeps depends on it
            args, kwargs = _arguments(argument, value, {})
            first[name] = list(flat(_runner(argument, args, kwargs)()))
    args = [_value(argument, value, tensors, first) for argument in job["args"]]
    kwargs = {
        name: _value(argument, value, tensors, first) for name, argument in job["kwargs"].items()
    }
    return args, kwargs


def _value(given: Any, value: int, tensors: Made, first: dict[str, list[Any]]) -> Any:
    """Return an argument as PyTorch takes it."""
    if isinstance(given, list):
        return [_value(item, value, tensors, first) for item in given]
    if not isinstance(given, dict):
        return given
    ((kind, what),) = given.items()
    if kind == "tensor":
        return _tensor(*what, value=value, tensors=tensors)
    if kind == "made":
        return first[what[0]][what[1]]
    if kind == "device":
        return torch.device(what)
    return complex(*what) if kind == "complex" else getattr(torch, what)


def _tensor(
    storage: int, count: int, shape: list[int], stride: list[int], offset: int, dtype: str,
    device: str, *, value: int, tensors: Made,
) -> Any:  # fmt: skip
    """Return a view of a storage of so many values, which is made once: zeros, and in whole numbers
    ``value``."""
    kind = getattr(torch, dtype)
    whole = not (kind.is_floating_point or kind.is_complex)
    if storage not in tensors:
        tensors[storage] = torch.full((count,), value if whole else 0, dtype=kind, device=device)
    base = tensors[storage]
    if base.dtype != kind:
        base = base.view(kind)
    return base.as_strided(shape, stride, offset)


def flat(value: Any) -> Iterator[Any]:
    """Yield outputs in order, those in lists too."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from flat(item)
    else:
        yield value


if __name__ == "__main__":
    main()
