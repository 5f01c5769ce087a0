"""How long a training step runs, beside PyTorch's on the same cores."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlab import devices
from memlab.bench.timing import Line, Result, allow_torch, interleave, line, machine, ratio
from memlab.build.step import training_step
from memlab.kernels.registry import Array
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.step.tensor import Role
from memlab.techniques.lowering import lowering

if TYPE_CHECKING:
    from memlab.runtime.session import Session

AIM, CHOSEN_AIM = 4.0, 1.3
"""memlab's median time, at most this many times PyTorch's: with its default algorithm, and with the
fastest one of each convolution."""
DEFAULT, CHOSEN, RIVAL = "memlab", "memlab, fastest algorithms", "PyTorch"
M_MMAP_MAX, M_TRIM_THRESHOLD = -4, -1
MAPPED, TRIMMED = 65_536, 128 * 1024
"""What both are where nobody has set them."""


def run(name: str = "resnet50", image: int = 224, batch: int = 8, repeats: int = 5) -> Result:
    """Time a training step of ResNet-50 at batch 8, beside PyTorch's where it is installed."""
    import numpy as np

    from memlab.runtime.program import Program
    from memlab.runtime.session import Session

    network, threads = zoo.build(name, image=image), devices.cores()
    keep_freed_memory()
    rng = np.random.default_rng(0)
    x = rng.standard_normal((batch, *network.input_shape), np.float32)
    labels = rng.integers(0, network.loss.shape[0], batch)
    step = training_step(network, threads=threads)
    lowered = Program(lowering(step, batch=batch), batch)
    with Session(Program(step, batch)) as session, Session(lowered) as chosen:
        cases: dict[str, Any] = {
            DEFAULT: lambda turn: session.step(x, labels),
            CHOSEN: lambda turn: chosen.step(x, labels),
        }
        if allow_torch():
            cases[RIVAL] = _in_torch(network, session, threads, x, labels)
        samples = interleave(cases, repeats)
    what = f"{network.label}, {image}x{image}, batch {batch}, {_count(threads)}"
    lines = [line(f"{who}: {what}", seconds) for who, seconds in samples.items()]
    return Result("step", machine(), (*lines, *_compared(samples), *blas()))


def _in_torch(network: Network, session: Session, threads: int, x: Array, labels: Array) -> Any:
    """PyTorch's step from the same parameters and inputs."""
    import torch

    from memlab.bench.torch_step import TorchStep
    from memlab.runtime.session import SETTINGS

    torch.set_num_threads(threads)
    start = {
        tensor.name: session.value(tensor)
        for tensor in session.residents
        if tensor.role in (Role.PARAMETER, Role.BUFFER)
    }
    there = TorchStep(network, start, SETTINGS["rate"], SETTINGS["momentum"])
    inputs = torch.from_numpy(x), torch.from_numpy(labels)
    return lambda turn: there.step(*inputs)


def _compared(samples: dict[str, tuple[float, ...]]) -> list[Line]:
    if RIVAL not in samples:
        return [Line(f"{RIVAL} is not installed: no comparison", 0, "")]
    return [
        ratio(f"{who} against {RIVAL}", samples[who], samples[RIVAL], aim)
        for who, aim in ((DEFAULT, AIM), (CHOSEN, CHOSEN_AIM))
    ]


def blas() -> list[Line]:
    """The BLAS libraries that NumPy and SciPy brought, each with the processor core that its code
    is written for, and its threads outside a session. memlab multiplies with SciPy's."""
    from threadpoolctl import threadpool_info

    lines = []
    for library in threadpool_info():
        if library["user_api"] == "blas":
            owner = Path(library["filepath"]).parent.name.removesuffix(".libs")
            core = library.get("architecture", "unknown")
            name = f"BLAS of {owner}, {library['internal_api']} {library['version']}, core {core}"
            lines.append(Line(name, library["num_threads"], ""))
    return lines


def _count(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


def keep_freed_memory() -> None:
    """Let the C library keep what is freed, for both sides alike: else it moves times by a factor
    of 2, as it learns by itself which blocks to give back to the system. Only glibc has this."""
    _allocate(0, 2**31 - 1)


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """The same for as long as something is timed in a notebook: what is freed goes back then."""
    keep_freed_memory()
    try:
        yield
    finally:
        _allocate(MAPPED, TRIMMED, trim=True)


def _allocate(mapped: int, trimmed: int, trim: bool = False) -> None:
    """So many blocks come from the system one by one, and so many bytes at the end stay."""
    try:
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_MAX, mapped)
        library.mallopt(M_TRIM_THRESHOLD, trimmed)
        if trim:
            library.malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return
