"""Trainings and runs that nobody made, for the views that show such ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import memlab
from memlab import History, Network, Run, views
from memlab.pictures.training_curves import TRAININGS

NAN, INF = math.nan, math.inf


def history(*losses, errors=(0.5, 0.02, 0.04), scales=(), step="a step"):
    return History(step, 32, losses, errors, 1_234_567, 1.5, scales)


def falling(count, start=2.0):
    return [start * 0.99**index for index in range(count)]


HISTORIES: dict[str, dict[str, History]] = {
    "one": {"fp32": history(2.0, 0.5)},
    "single step": {"fp32": history(2.0)},
    "several": {
        "fp32": history(*falling(528)),
        "mixed bf16": history(*falling(528, 2.1), errors=(0.4, 0.03, 0.05)),
        "mixed fp16": history(*falling(528, 1.9), scales=(65536.0, 32768.0)),
        "fp16": history(*falling(37), *[NAN] * 491, errors=(1.0, 1.0, 1.0)),
        "once": history(*falling(100), INF, *falling(427)),
    },
    "nothing but NaN": {"fp16": history(NAN, NAN, errors=(1.0,)), "bf16": history(INF, 1.0)},
    "zeros": {"fp16": history(1e-8, 0.0, 0.0), "same": history(1e-8, 1e-8)},
    "most": {f"a rather long name {i}": history(*falling(60)) for i in range(TRAININGS)},
}


MANY = np.random.default_rng(7).standard_normal(3000).astype(np.float32) * np.float32(2.0**-16)
SPREAD = np.array([0, -0.0, 1, -1, 2.0**-14, 2.0**-15, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25,
                   -(2.0**-30), 65504, 65519, 65520, -1e9], np.float32)  # fmt: skip
COUNTED: dict[str, Any] = {
    "many": lambda: views.gradient_histogram(MANY),
    "scaled": lambda: views.gradient_histogram(MANY, scale=1024),
    "spread": lambda: views.gradient_histogram(SPREAD, scale=2.0**-4),
    "bf16": lambda: views.gradient_histogram(MANY, "bf16"),
    "fp8": lambda: views.gradient_histogram(MANY, "fp8_e4m3fn", 2.0**20),
    "fp32": lambda: views.gradient_histogram({"w": SPREAD}, "fp32", 3),
    "zeros": lambda: views.gradient_histogram(np.zeros(5)),
    "widest": lambda: views.gradient_histogram([2.0**-149, 1.0, 1e38], "bf16", 2.0**64),
}
SUMMED: dict[str, Any] = {
    "ones": lambda: views.running_sum(),
    "tenths": lambda: views.running_sum(value=0.1),
    "beyond": lambda: views.running_sum(count=1000, value=100.0),
    "one": lambda: views.running_sum(count=1),
    "bf16": lambda: views.running_sum("bf16", 300, 0.1),
    "fp8": lambda: views.running_sum("fp8_e4m3fn", 200, 3),
    "fp32": lambda: views.running_sum("fp32", 500, 0.1),
}

# -- runs ---------------------------------------------------------------------------------------


def as_if_run(step: Any, batch: int, more: int = 0) -> Run:
    """A run that used what was planned, and so many bytes more inside its third operation."""
    plan = memlab.plan(step)
    measured = replace(plan, origin="measured")
    inside = [n + more * (at == 2) for at, n in enumerate(plan.timeline(batch))]
    columns = (plan.before(batch), inside, plan.after(batch))
    return Run(step, batch, plan, measured, *columns, 0.1, 0.0, 0, None)


def _run(network: Network, *args: int) -> Any:
    return views.planned_and_measured(as_if_run(memlab.training_step(network), *args))


RUNS: dict[str, Callable[[], Any]] = {
    "as planned": partial(_run, memlab.zoo.mnist_cnn(), 4),
    "a residual, few operations": partial(_run, memlab.zoo.linear1(), 4, 8),
    "many operations": partial(_run, memlab.zoo.resnet50(), 8, 10**9),
}

# -- pages --------------------------------------------------------------------------------------

CASES: dict[str, dict[str, Callable[[], Any]]] = {
    "training_curves": {n: partial(views.training_curves, h) for n, h in HISTORIES.items()},
    "gradient_histogram": COUNTED,
    "running_sum": SUMMED,
    "planned_and_measured": RUNS,
}
"""Of each factory what it could show, by name."""
