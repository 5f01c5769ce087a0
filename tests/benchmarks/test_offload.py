"""The measurement of copies beside kernels, on a network small enough for a test."""

from __future__ import annotations

from contextlib import nullcontext

import memlab
from benchmarks import offload
from memlab.measure import recorded_figures
from memlab.runtime.program import Program
from memlab.runtime.session import Session


def test_a_step_is_timed_with_copies_beside_its_kernels_and_without(monkeypatch) -> None:
    monkeypatch.setattr(offload, "freed_memory_kept", nullcontext)
    found = {line.name: line for line in offload.run("vgg11", 32, 2, repeats=1).lines}
    for where in ("in RAM", "in files"):
        for name in (offload.BESIDE, offload.AFTER, offload.COPIES):
            assert found[f"{name}, maps {where}"].value > 0
        assert found[f"residual of both memories, maps {where}"].value == 0
    copies = next(line for name, line in found.items() if name.startswith("copies: "))
    alone = found[f"{offload.COPIES}, maps in RAM"]
    assert alone.value >= 0.99 * copies.value  # no copy is faster than the link


def test_the_recorded_figures_are_those_of_the_step_that_they_name() -> None:
    found = recorded_figures.load(offload.FILE)
    assert found.command == "python -m benchmarks offload"
    lines = {line.name: line for line in found.result.lines}
    step = memlab.training_step(memlab.zoo.build(offload.NETWORK, image=offload.IMAGE), "sgd")
    moving = memlab.offload(step, offload.POLICY)
    waiting = memlab.plan(moving).peak(offload.BATCH, "host")
    assert lines["most that waited in RAM, measured"].value == waiting
    files = next(line for name, line in lines.items() if "waited in files" in name)
    assert waiting <= files.value < 1.01 * waiting  # whole blocks
    assert all(line.value == 0 for line in lines.values() if "residual" in line.name)
    seconds = [line for line in lines.values() if line.unit == "s" and line.samples]
    assert {len(line.samples) for line in seconds} == {len(seconds[0].samples)}
    assert len(seconds) == 7


def test_a_paced_copy_takes_what_its_bytes_need_over_the_link(monkeypatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(offload, "sleep", slept.append)
    step = memlab.offload(memlab.training_step(memlab.zoo.mnist_cnn(), "sgd"), "conv")
    nbytes = offload.copied(step, 2)
    with Session(Program(step, 2)) as session:
        session.copies.threads = False
        copy = session.memory.copy
        with offload.paced(session, speed=1):
            session.step()
        assert len(slept) == sum(op.kind.startswith("copy") for op in step.ops)
        assert 0.99 * nbytes < sum(slept) <= nbytes  # seconds
        assert session.memory.copy == copy
