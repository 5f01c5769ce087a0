"""Compilation is no part of a step: neither its seconds, nor the arrays that its errors hold."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import pytest
from numba.core.event import trigger_event

import memlab
from memlab.kernels import registry
from memlab.kernels.registry import KernelCall
from memlab.runtime.metering.compile_time import Compilations, install_listener

EVENT = "numba:compile"
PAUSE = 0.02


@pytest.fixture
def _no_collection() -> Iterator[None]:
    """Switch automatic garbage collection off, so that only collections that the code asks for
    happen."""
    gc.disable()
    yield
    gc.enable()


def test_the_outermost_compilation_counts() -> None:
    with install_listener(EVENT, Compilations()) as compilations:
        for _ in range(2):
            with trigger_event(EVENT), trigger_event(EVENT):
                time.sleep(PAUSE)
        time.sleep(PAUSE)
        inside = compilations.seconds
    with trigger_event(EVENT):
        time.sleep(PAUSE)
    assert compilations.seconds == inside
    assert 2 * PAUSE <= compilations.seconds < 10


def handled_error() -> None:
    """Handle an error that refers to itself, and so to the frames of all callers."""
    try:
        raise ValueError
    except ValueError as error:
        kept = [error]
        kept.append(kept)  # type: ignore[arg-type]  # a cycle


@pytest.mark.usefixtures("_no_collection")
def test_an_error_while_compiling_keeps_no_array_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "relu", "", "cpu", "fp32"
    relu = registry.find(*key)

    def compiling(call: KernelCall) -> None:
        with trigger_event(EVENT):
            handled_error()
        relu(call)

    monkeypatch.setitem(registry.KERNELS, key, compiling)
    x = memlab.network("small", image=(2, 6, 6)).conv(3, 3).relu().flatten().linear(2)
    assert memlab.run(memlab.training_step(x.cross_entropy()), 2).residual == 0
