"""Choice between a GPU and the simulator, with fake drivers."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from memlab import InputError
from memlab.kernels.cuda.target import SIMULATOR, CudaTarget
from tests.kernels.cuda.drivers import Driver

choice: Any = import_module("memlab.kernels.cuda.target")
ROOT = Path(__file__).resolve().parents[3]
GPU = CudaTarget("NVIDIA H200", False, (9, 0))


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let the functions of the module forget their cached results."""
    for name in ("gpu", "target"):
        monkeypatch.setattr(choice, name, getattr(choice, name).__wrapped__)
    return monkeypatch


@pytest.mark.parametrize(
    ("driver", "expected"),
    [(Driver(), GPU), (Driver(gpus=0), None), (Driver(initialised=100), None), (None, None)],
)
def test_the_driver_says_whether_there_is_a_gpu(
    fresh: pytest.MonkeyPatch, driver: Driver | None, expected: CudaTarget | None
) -> None:
    fresh.setattr(choice, "_driver", lambda: driver)
    assert choice.gpu() == expected


def test_a_library_that_is_missing_is_no_driver(fresh: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    fresh.setattr(choice.c, "CDLL", refuse)
    assert choice.gpu() is None


def test_the_simulator_takes_the_place_of_a_gpu(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(choice, "simulated", lambda: True)
    assert choice.target() == SIMULATOR
    fresh.setattr(choice, "simulated", lambda: False)
    fresh.setattr(choice, "gpu", lambda: GPU)
    fresh.setattr(choice, "usable", lambda: True)
    assert choice.target() == GPU


def test_a_gpu_without_the_package_names_the_extra(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(choice, "simulated", lambda: False)
    fresh.setattr(choice, "gpu", lambda: GPU)
    fresh.setattr(choice, "usable", lambda: False)
    with pytest.raises(InputError, match=r"cannot use the NVIDIA H200: .*'memlab\[cuda13\]'"):
        choice.target()


def test_whatever_a_broken_installation_raises_it_is_not_usable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken() -> bool:
        raise AttributeError("no attribute 'cuInit'")

    monkeypatch.setattr(sys.modules["numba.cuda"], "is_available", broken)
    assert not choice.usable()


ASKED = """
from tests.kernels.cuda import drivers
drivers.install({gpus})
{first}
from memlab import InputError
try:
    from memlab.kernels.cuda import target
    print(target())
except InputError as error:
    print(error)
"""
ABSENT = "import sys; sys.modules['numba.cuda'] = None"
IMPORTED = "import numba.cuda"


def asked(gpus: int = 0, first: str = "", switch: str | None = None) -> str:
    """Output of a new process whose driver lists this number of GPUs."""
    environment = {key: value for key, value in os.environ.items() if key != choice.SWITCH}
    environment |= {} if switch is None else {choice.SWITCH: switch}
    command = [sys.executable, "-c", ASKED.format(gpus=gpus, first=first)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)
    return done.stdout + done.stderr


def test_without_a_gpu_it_is_the_simulator() -> None:
    assert asked() == f"{SIMULATOR}\n"


def test_the_switch_takes_the_simulator_beside_a_gpu() -> None:
    assert asked(gpus=1, switch="1") == f"{SIMULATOR}\n"


@pytest.mark.parametrize(
    ("gpus", "first", "switch", "says"),
    [
        (0, IMPORTED, None, "there is no GPU, and numba.cuda was imported without its simulator;"),
        (0, "", "0", "there is no GPU, and numba.cuda was imported without its simulator; set"),
        pytest.param(
            1,
            "",
            None,
            "Numba cannot use the NVIDIA H200: a part of CUDA is missing; try pip ",
            marks=pytest.mark.skipif(choice.gpu() is not None, reason="Numba can use the GPU"),
        ),
        (0, ABSENT, None, "numba.cuda cannot be imported ("),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    gpus: int, first: str, switch: str | None, says: str
) -> None:
    sentence = asked(gpus, first, switch)
    assert sentence.startswith(says)
    assert sentence.count("\n") == 1
