"""The measurement of copies beside kernels, on a network small enough for a test."""

from __future__ import annotations

from contextlib import nullcontext

import memlab
from memlab.bench import offload
from memlab.runtime.session import Session


def test_a_step_is_timed_with_copies_beside_its_kernels_and_without(monkeypatch) -> None:
    monkeypatch.setattr(offload, "freed_memory_kept", nullcontext)
    found = offload.run("vgg11", 32, 2, repeats=1)
    names = [line.name for line in found.lines]
    assert [name.partition(":")[0] for name in names[:3]] == [
        offload.PLAIN, offload.BESIDE, offload.AFTER
    ]  # fmt: skip
    assert any("copies: " in name and "/s" in name for name in names)
    share = next(line for line in found.lines if "share of the kernels" in line.name)
    assert abs(share.value - offload.SHARE) < 0.01


def test_a_paced_copy_takes_what_its_bytes_need_over_the_link(monkeypatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(offload, "sleep", slept.append)
    step = memlab.offload(memlab.training_step(memlab.zoo.mnist_cnn(), "sgd"), "conv")
    nbytes = offload.copied(step, 2)
    with Session(step, 2) as session:
        session.copies.threads = False
        copy = session.memory.copy
        with offload.paced(session, speed=1):
            session.step()
        assert len(slept) == sum(op.kind.startswith("copy") for op in step.ops)
        assert 0.99 * nbytes < sum(slept) <= nbytes  # seconds
        assert session.memory.copy == copy
