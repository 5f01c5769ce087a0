"""How many functions of memlab a run walks through before its first kernel computes anything.

Each is one that a reader of the code opens. No time is in it, and of the machine only which files
tell how much memory is free.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import memlab
from memlab.assemble.step import training_step
from memlab.kernels import registry
from memlab.measure.timing import BenchmarkLine, Result, machine
from memlab.networks import zoo
from memlab.step.step import Step
from memlab.techniques.precision import precision

BATCH = 2
STEPS: dict[str, Callable[[], Step]] = {
    "MNIST CNN": lambda: training_step(zoo.mnist_cnn()),
    "ResNet-18, 32x32": lambda: training_step(zoo.build("resnet18", image=32, classes=10)),
    "LSTM": lambda: training_step(zoo.lstm()),
    "MNIST CNN in mixed precision": lambda: precision(training_step(zoo.mnist_cnn()), "mixed bf16"),
}
"""A chain, one that forks and joins, one that shares its parameters over time, and a chain that
computes in other formats than it stores."""

COUNTED = dict(zip(STEPS, (105, 105, 105, 122), strict=True))
"""Functions on 2026-11-23, on Linux, before a run resolved a step into a program."""
SHARE = 0.6
"""Functions, at most this share of ``COUNTED``."""

HOME = str(Path(memlab.__file__).parent) + os.sep
INSIDE = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<module>"})
"""Comprehensions are part of the function around them (some versions of Python call them), and a
module that is loaded is no step of the walk."""


class _ReachedError(Exception):
    """The first kernel is called."""


def run() -> Result:
    """Count the functions that a run enters before its first kernel, for 4 steps."""
    return Result("walk", machine(), tuple(_line(name) for name in STEPS))


def entered(make: Callable[[], Step], batch: int = BATCH) -> set[str]:
    """The functions of memlab, as ``module:name``, that ``memlab.run`` enters before its first
    kernel.

    Such a step runs once before, so that nothing is compiled or loaded in what is counted; the step
    that is counted is a new one, of which nothing is known yet.
    """
    runs = import_module("memlab.runtime.run").run
    runs(make(), batch)
    step = make()
    kernels = {getattr(k, "__code__", None) for k in registry.KERNELS.values()} - {None}
    found: set[str] = set()
    before = sys.getprofile()
    sys.setprofile(_watch(found, kernels))
    try:
        runs(step, batch)
    except _ReachedError:
        pass
    finally:
        sys.setprofile(before)
    return found


def _watch(found: set[str], kernels: set[Any]) -> Callable[[FrameType, str, Any], None]:
    """Notes the functions that are called, and stops the run at a kernel."""

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code in kernels:
            sys.setprofile(None)
            raise _ReachedError
        if code.co_filename.startswith(HOME) and code.co_name not in INSIDE:
            found.add(_name(code))

    return watch


def _name(code: CodeType) -> str:
    """Where a function stands; of lambdas the line too."""
    inner = code.co_filename.removeprefix(HOME).removesuffix(".py")
    line = f":{code.co_firstlineno}" if code.co_name == "<lambda>" else ""
    return f"{inner}:{code.co_qualname}{line}"


def _line(name: str) -> BenchmarkLine:
    return BenchmarkLine(name, len(entered(STEPS[name])), "", SHARE * COUNTED[name])
