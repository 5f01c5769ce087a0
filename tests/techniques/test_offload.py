"""Offload: the same values, the bytes of two memories, and what vDNN's rules say by hand."""

from __future__ import annotations

import os
import threading
import time
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab import InputError
from memlab.free_memory import Room
from memlab.networks.graph import Network
from memlab.runtime import async_copies
from memlab.runtime.arena import Arena
from memlab.runtime.memory import RunMemory
from memlab.runtime.memory_guard import DoesNotFitError
from memlab.runtime.program import OperationTurn, Program
from memlab.runtime.session import Session
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.storage import HOST, Storage
from memlab.techniques.offload import offload, rules
from tests.drawn import examples
from tests.networks_at_random import networks
from tests.runtime.test_run import SMALL, SMALLEST
from tests.staged_networks import step as staged
from tests.techniques.same import differences, ran
from tests.techniques.test_pairs import OVERFLOWS, STORED, steps, ways

BATCH = 2


def wrong(before: Step, policy: str, again: str = "", batch: int = BATCH) -> dict[str, list[str]]:
    """What is not as in the plain step, by what was applied beside the offload."""
    plain = ran(before, batch)
    recomputed = ways(batch)[again](before) if again else before
    after = offload(recomputed, policy)
    made = {"": after, "in place": memlab.in_place(after)}
    runs = {name: ran(each, batch) for name, each in made.items()}
    runs |= {f"{name} placed": ran(each, batch, placement="best") for name, each in made.items()}
    found = {name: differences(plain, run) + list(run.nan) for name, run in runs.items()}
    return {name: each for name, each in found.items() if each}


def small(name: str) -> Network:
    image = {"image": 32 if name.startswith(("vgg", "resnet")) else 64, "classes": 10}
    return memlab.zoo.ZOO[name](**SMALL.get(name, image))


@pytest.mark.measures
@pytest.mark.parametrize(
    ("name", "policy", "again"),
    list(zip(SMALLEST, cycle(["all", "conv", "all"]), cycle(["", "every", "", "chain"]),
             strict=False)),
)  # fmt: skip
def test_the_zoo(name: str, policy: str, again: str) -> None:
    assert not wrong(memlab.training_step(small(name), "sgd"), policy, again)


@pytest.mark.measures
@given(networks(8), st.sampled_from(["conv", "all"]), st.sampled_from(["", "drop", "cheap"]))
@examples(15)
def test_random_networks(net: Network, policy: str, again: str) -> None:
    assert not wrong(memlab.training_step(net, "momentum"), policy, again)


@pytest.mark.measures
@pytest.mark.parametrize("stored", ["bf16", "mixed fp16", "states in 8 bits", "winograd"])
def test_three_steps_of_one_session(stored: str) -> None:
    before = STORED[stored](staged("branches", "adam"))
    values = OVERFLOWS if stored == "mixed fp16" else {}
    plain = steps(before, values)
    for after in (offload(before), memlab.in_place(offload(memlab.recompute(before)))):
        assert steps(after, values) == steps(after, values, placed=True) == plain


# -- rules, by hand -----------------------------------------------------------------------------


def network() -> Network:
    x = memlab.network("chain", image=(3, 8, 8)).conv(4, 3, pad=1, name="c1").relu(name="r1")
    x = x.conv(4, 3, pad=1, name="c2").relu(name="r2").max_pool(2, 2, name="p")
    x = x.conv(4, 3, pad=1, name="c3").relu(name="r3").flatten().linear(2, name="fc")
    return x.cross_entropy()


def chain() -> Step:
    return memlab.training_step(network(), "sgd", algorithm="direct")


def names(step: Step) -> list[str]:
    return [op.name for op in step.ops]


def test_copies_go_with_the_last_reader_and_come_back_one_convolution_early() -> None:
    step = offload(chain(), "conv")
    order = names(step)
    by_name = {op.name: op for op in step.ops}
    assert rules._conv(chain()) == {"input", "r1", "p"}
    for away, reader in (("input", "c1"), ("r1", "c2"), ("p", "c3")):
        assert order.index(f"copy out {away}") == order.index(reader) + 1
        following = order[order.index(f"copy out {away}") + 1]
        assert f"copy out {away}" in by_name[following].after
    # backward of fc looks for a map and stops at c3, whose input it fetches; c3 fetches c2's
    for back, beside in (("p", "backward of fc1" if "fc1" in order else "backward of fc"),
                         ("r1", "backward of c3"), ("input", "backward of c2")):  # fmt: skip
        assert order[order.index(f"copy in {back}") + 1] == beside
        assert f"copy in {back}" not in by_name[beside].after


def test_a_map_leaves_after_the_last_of_its_readers() -> None:
    x = memlab.network("fork", image=(3, 8, 8)).conv(4, 3, pad=1, name="stem").relu(name="r")
    left, right = x.conv(2, 1, name="left"), x.conv(2, 3, pad=1, name="right")
    net = left.concat(right).flatten().linear(2).cross_entropy()
    order = names(offload(memlab.training_step(net, "sgd"), "conv"))
    assert order.index("copy out r") == order.index("right") + 1 > order.index("left")


def test_activations_and_the_last_layer_keep_their_input() -> None:
    plain = chain()
    moved = {op.name.removeprefix("copy out ") for op in offload(plain, "all").ops
             if op.kind == "copy out"}  # fmt: skip
    assert moved == {"input", "r1", "r2", "p"}
    assert offload(plain, "none") is plain


def test_what_leaves_the_device_is_in_the_plan_of_the_host() -> None:
    plain, step = chain(), offload(chain(), maps=["r1"])
    there = memlab.plan(step)
    size = next(e.size.at(4) for e in memlab.plan(plain).entries if e.name == "r1")
    assert there.peak(4, HOST) == size
    timeline = there.timeline(4, HOST)
    order = names(step)
    away = range(order.index("copy out r1"), order.index("backward of c3") + 1)
    assert [number for number, nbytes in enumerate(timeline) if nbytes] == list(away)


# -- runs ---------------------------------------------------------------------------------------


@pytest.mark.measures
@pytest.mark.parametrize("lacks", ["", "posix_fallocate", "statvfs"])
def test_maps_wait_in_files_by_the_blocks_of_the_file_system(
    lacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS cannot reserve a file, and Windows does not say what it takes."""
    monkeypatch.delattr(os, lacks or "nothing", raising=False)
    monkeypatch.setattr(async_copies, "TELLS_FILE_SIZE", hasattr(os, "statvfs"))
    step = offload(chain(), "all")
    done = memlab.run(step, 3, host=tmp_path)
    assert done.residual == 0
    assert done.host_peak >= memlab.plan(step).peak(3, HOST)
    assert done.host_peak % done.host_grain == 0
    assert ("B measured, in blocks of" in done.text()) == (lacks != "statvfs")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.measures
def test_a_copy_runs_beside_the_operation_that_it_hides_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel below ends only once the copy has begun, in a thread of its own."""
    step, threads = offload(chain(), maps=["r1"]), set()
    begun = threading.Event()

    def copy(self: object, source: object, target: object) -> None:
        threads.add(threading.current_thread())
        begun.set()

    compute = Session._compute

    def computing(self: Session, turn: OperationTurn) -> None:
        if turn.op.name == "c2":
            assert begun.wait(5)
        compute(self, turn)

    monkeypatch.setattr("memlab.runtime.memory.RunMemory.copy", copy)
    monkeypatch.setattr(Session, "_compute", computing)
    memlab.run(step, 2)
    assert threading.main_thread() not in threads
    assert len(threads) == 2


@pytest.mark.measures
def test_nobody_reads_or_frees_a_map_before_its_copy_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Copies that take far longer than kernels, in an arena whose free bytes are NaN."""
    plain, copy = ran(chain(), BATCH), RunMemory.copy

    def slow(self: RunMemory, source: Storage, target: Storage) -> None:
        time.sleep(0.01)
        copy(self, source, target)

    monkeypatch.setattr(RunMemory, "copy", slow)
    step = offload(chain(), "all")
    for after in (memlab.in_place(step), memlab.no_reuse(step)):  # which frees none of them
        done = ran(after, BATCH, placement="best")
        assert not differences(plain, done)
        assert not done.nan


@pytest.mark.measures
def test_a_map_that_is_not_back_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that brings nothing leaves the NaN of the arena, and every reader is named."""

    def there_alone(self: Arena, source: Storage, target: Storage) -> None:
        if target.memory == HOST:
            RunMemory.copy(self, source, target)

    monkeypatch.setattr(Arena, "copy", there_alone, raising=False)
    done = memlab.run(offload(chain(), maps=["r1"]), 2, placement="best")
    assert "backward of c2" in done.nan


@pytest.mark.measures
def test_a_copy_that_fails_ends_the_step_and_frees_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError("the link is down")

    monkeypatch.setattr("memlab.runtime.cpu.Cpu.from_host", fails)
    before = threading.active_count()
    with pytest.raises(OSError, match="the link is down"):
        memlab.run(offload(chain(), "all"), 2)
    assert threading.active_count() == before


@pytest.mark.measures
@pytest.mark.parametrize("threads", [True, False])
def test_each_map_is_copied_once(threads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setattr(
        "memlab.runtime.memory.RunMemory.copy", lambda _, source, target: copied.append(target.name)
    )
    step = offload(chain(), "all")
    with Session(Program(step, 2)) as session:
        session.copies.threads = threads
        session.step()
    assert copied == [op.writes["y"].name for op in step.ops if op.phase is Phase.COPY]


@pytest.mark.measures
def test_maps_that_wait_in_ram_must_fit_beside_the_step(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    step = offload(chain(), "all")
    ledger = memlab.plan(step)
    both = max(map(sum, zip(ledger.timeline(2), ledger.timeline(2, HOST), strict=True)))
    assert both > ledger.peak(2)
    monkeypatch.setattr("memlab.free_memory.room", lambda: Room(both))
    assert memlab.run(step, 2).residual == 0
    monkeypatch.setattr("memlab.free_memory.room", lambda: Room(both - 1))
    with pytest.raises(DoesNotFitError, match="with what waits in RAM at batch 2 needs"):
        memlab.run(step, 2)
    assert memlab.run(step, 2, host=tmp_path).residual == 0
    x, y = np.zeros((2, 3, 8, 8), np.float32), np.zeros(2, np.int64)
    few = SimpleNamespace(x=x, y=y, x_test=x, y_test=y)
    with pytest.raises(DoesNotFitError, match="with what waits in RAM"):
        memlab.train(network(), few, rewrite=offload, optimizer="sgd", batch=2, epochs=1)


@pytest.mark.measures
def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(file: int, nbytes: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(async_copies, "_reserve", full)
    with pytest.raises(InputError, match=r"left for a map to wait in: No space left"):
        memlab.run(offload(chain(), "all"), 2, host=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_offloaded_is_refused(tmp_path: Path) -> None:
    plain = chain()
    step = offload(plain, "conv")
    with pytest.raises(InputError, match="offload comes before in_place"):
        offload(memlab.in_place(plain))
    with pytest.raises(InputError, match="offloads already"):
        offload(step)
    with pytest.raises(InputError, match="recompute comes before offload"):
        memlab.recompute(step)
    with pytest.raises(InputError, match="did you mean 'conv'"):
        offload(plain, "convs")
    with pytest.raises(InputError, match="unknown feature map that can go 'c1'"):
        offload(plain, maps=["c1"])
    with pytest.raises(InputError, match=r"try memlab\.recompute\(memlab\.lowering\(step, "):
        offload(memlab.recompute(plain), "conv", algorithms="p", batch=2)
    with pytest.raises(InputError, match="maps are several names, got"):
        offload(plain, maps=[1])  # type: ignore[list-item]  # wrong on purpose
    with pytest.raises(InputError, match="no feature map of this step waits for backward"):
        offload(memlab.inference_step(network()), maps=["r1"])
    assert offload(memlab.inference_step(network()), maps=[]).ops
    assert offload(plain, maps="r1").notes[-1] == "offload of 1 map"
    with pytest.raises(InputError, match="is no folder for maps to wait in"):
        memlab.run(step, 1, host=tmp_path / "nowhere")
    assert offload(memlab.inference_step(memlab.zoo.linear1())).ops
    assert not any(op.phase is Phase.COPY for op in offload(
        memlab.inference_step(memlab.zoo.mnist_cnn())).ops)  # fmt: skip
