"""The benchmark of a training step, on a small network: what it reports, with and without PyTorch.

Its aim holds for ResNet-50 at 224x224; `python -m benchmarks step` measures that.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import pytest

from benchmarks import step
from memlab import free_memory
from memlab.assemble.step import training_step
from memlab.measure import processor
from memlab.networks import zoo
from memlab.runtime.program import Program
from memlab.runtime.session import SETTINGS, Session
from memlab.techniques.lowering import lowering
from tests.oracles.requirement import torch_or_skip


@pytest.fixture(autouse=True)
def gently(monkeypatch):
    """Other tests run beside these, and after them in this process."""
    monkeypatch.setattr(step, "keep_freed_memory", lambda: None)
    monkeypatch.setattr(free_memory, "cores", lambda: 1)


@pytest.fixture
def torch():
    found = torch_or_skip()
    before = found.get_num_threads()
    found.set_num_threads(1)
    yield found
    found.set_num_threads(before)


def small():
    return step.run("resnet18", image=32, batch=2, repeats=1)


def test_without_pytorch_it_reports_memlab_alone(monkeypatch):
    monkeypatch.setattr(step, "allow_torch", lambda: False)
    result = small()
    assert result.reached
    assert result.lines[0].name.startswith("memlab: ResNet-18, 32x32, batch 2, ")
    assert result.lines[1].name.startswith(
        "memlab, fastest algorithms: convolutions as they were: recorded rates of "
    )
    assert result.lines[2].name == "PyTorch is not installed: no comparison"


def test_beside_pytorch_it_reports_both_and_their_ratio(torch, monkeypatch):
    monkeypatch.setattr(step, "lowering", partial(lowering, device="recorded"))
    mine, chosen, theirs, *compared = small().lines[:5]
    assert theirs.name.startswith("PyTorch: ResNet-18")
    ratios = [each.value / theirs.value for each in (mine, chosen)]
    assert [each.value for each in compared] == pytest.approx(ratios)
    assert [each.aim for each in compared] == [step.AIM, step.CHOSEN_AIM]


def test_both_sides_compute_the_same(torch):
    from benchmarks.torch_step import TorchStep

    network = zoo.build("resnet50", image=64, classes=10)
    x, labels = torch.randn(2, 3, 64, 64), torch.tensor([3, 8])
    with Session(Program(training_step(network, format="fp64"), 2)) as session:
        start = {t.name: session.value(t) for t in session.residents if "." in t.name}
        there = TorchStep(network, start, SETTINGS["rate"], SETTINGS["momentum"])
        for _ in range(2):
            session.step(x.numpy(), labels.numpy())
            (loss,) = (
                session.value(t)[()] for t in session.program.step.live_out if t.name == "loss"
            )
            assert there.step(x.double(), labels) == pytest.approx(loss, rel=1e-9)


def test_the_core_of_the_blas_is_named(monkeypatch):
    wheel = {"user_api": "blas", "internal_api": "openblas", "version": "0.3.29",
             "filepath": "/lib/scipy.libs/libopenblas.so", "num_threads": 4,
             "architecture": "Zen"}  # fmt: skip
    conda = wheel | {"filepath": "/lib/libmkl_rt.so", "internal_api": "mkl"}
    del conda["architecture"]
    found = [wheel, conda, wheel | {"user_api": "openmp"}]
    monkeypatch.setattr(processor, "thread_pools", lambda: SimpleNamespace(info=lambda: found))
    lines = [(line.name, line.value) for line in processor.blas()]
    assert lines == [("BLAS of scipy, openblas 0.3.29, core Zen", 4),
                     ("BLAS of lib, mkl 0.3.29, core unknown", 4)]  # fmt: skip


FAULTS = """
import resource

import numpy as np

from memlab.measure.processor import freed_memory_kept


def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        np.full(2**23, 1, np.int8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


with freed_memory_kept():
    faults()
    print(faults())
print(faults())
"""


@pytest.mark.measures
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has its own rules")
def test_what_is_freed_is_kept_while_it_is_timed_and_no_longer():
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True
    )
    inside, after = map(int, done.stdout.split())
    assert 10 * inside < after
