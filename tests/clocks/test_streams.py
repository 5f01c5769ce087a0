"""The clock with streams, against a simulation that knows only what may start now."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab import InputError, zoo
from memlab.clocks import roofline, streams
from memlab.clocks.streams import clock
from memlab.networks.graph import Network
from memlab.step.op import Op, Phase
from memlab.step.storage import DEVICE, HOST
from memlab.step.tensor import Role
from memlab.techniques.offload import offload
from tests.rows import every_row


def simulated(ops: list[Op], seconds: list[float]) -> dict[str, tuple[float, float]]:
    """Start and end by a walk through moments: at each of them, everything starts that can."""
    done: dict[str, tuple[float, float]] = {}
    writers = [{t.storage.name for t in (*op.writes.values(), *op.updates.values())} for op in ops]
    now, left = 0.0, list(range(len(ops)))
    while left:
        for number in list(left):
            op = ops[number]
            earlier = [ops[i] for i in range(number) if ops[i].stream == op.stream]
            needs = [ops[i] for i in range(number)
                     if writers[i] & {t.storage.name for t in op.touched()}]  # fmt: skip
            named = [each for each in ops if each.name in op.after]
            if all(done.get(e.name, (0, now + 1))[1] <= now for e in (*earlier, *needs, *named)):
                done[op.name] = (now, now + seconds[number])
                left.remove(number)
        later = [end for _, end in done.values() if end > now]
        now = min(later, default=now)
    return done


def forked() -> Network:
    """Two branches that are joined, and an input with two readers."""
    x = memlab.network("forked", image=(3, 16, 16)).conv(8, 3, pad=1).relu()
    one, other = x.conv(4, 1).relu(), x.conv(4, 3, pad=1).relu()
    return (
        one.concat(other)
        .conv(8, 3, pad=1)
        .relu()
        .max_pool("all")
        .flatten()
        .linear(3)
        .cross_entropy()
    )


@st.composite
def random_steps(draw: st.DrawFn) -> tuple[list[Op], list[float]]:
    ops: list[Op] = []
    for number in range(draw(st.integers(1, 8))):
        names = [op.name for op in ops]
        after = draw(st.lists(st.sampled_from(names), unique=True, max_size=2)) if names else []
        stream = draw(st.sampled_from(streams.STREAMS))
        ops.append(Op(f"op{number}", "any", Phase.FORWARD, stream=stream, after=tuple(after)))
    seconds = [draw(st.integers(1, 5)) / 1.0 for _ in ops]
    return ops, seconds


@given(random_steps())
def test_it_equals_a_simulation_of_events(case: tuple[list[Op], list[float]]) -> None:
    ops, seconds = case
    found = {s.op.name: (s.start, s.end) for s in streams.slots(tuple(ops), seconds)}
    assert found == simulated(ops, seconds)


@every_row("policy", ["none", "conv", "all"])
def test_a_step_with_copies_equals_the_simulation_too(policy: str) -> None:
    step = offload(memlab.training_step(forked(), algorithm="direct"), policy)
    found = clock(step, 4, "titan x", "1 GB/s")
    times = simulated(list(step.ops), [slot.seconds for slot in found.slots])
    for slot in found.slots:
        assert (slot.start, slot.end) == pytest.approx(times[slot.op.name], rel=1e-9)


def test_without_copies_bytes_and_seconds_are_those_of_plan_and_roofline() -> None:
    step = memlab.in_place(memlab.training_step(zoo.resnet18(), "adam"))
    found = clock(step, 3)
    assert found.seconds == pytest.approx(roofline.total(step, 3))
    assert found.peak() == memlab.plan(step).peak(3)
    assert found.stalled() == 0
    assert found.peak(HOST) == 0
    assert min(moment.nbytes for moment in found.memory()) >= 0


def test_bytes_leave_the_device_and_arrive_at_the_host() -> None:
    plain = memlab.training_step(zoo.vgg16(), "sgd", algorithm="direct")
    step = offload(plain, "conv")
    found, ledger = clock(step, 8, "titan x", "12 GB/s"), memlab.plan(step)
    assert found.peak(DEVICE) == ledger.peak(8, DEVICE) < memlab.plan(plain).peak(8)
    assert found.peak(HOST) == ledger.peak(8, HOST) > 0
    assert found.average() < clock(plain, 8, "titan x").average()
    assert found.memory(HOST)[-1].nbytes == 0


def test_a_slower_link_makes_compute_wait_and_moves_no_byte() -> None:
    step = offload(memlab.training_step(zoo.vgg16(), "sgd", algorithm="direct"), "conv")
    fast, slow = (clock(step, 8, "titan x", link) for link in ("12 GB/s", "3 GB/s"))
    assert slow.seconds > fast.seconds
    assert slow.stalled() > fast.stalled() > 0
    assert slow.busy("copy out") == pytest.approx(4 * fast.busy("copy out"))
    assert slow.peak() == fast.peak()
    assert fast.seconds == pytest.approx(fast.busy() + fast.stalled())


def test_a_map_is_idle_while_nothing_touches_it() -> None:
    """With operations of a second each, seconds are numbers of operations."""
    step = memlab.training_step(zoo.mnist_cnn(), "sgd")
    times = tuple(streams.slots(step.ops, [1.0] * len(step.ops)))
    found = streams.Schedule(step, 2, "none", None, times)
    ledger = memlab.plan(step)
    maps = [e for e in ledger.entries if e.role is Role.FEATURE_MAP]
    uses = {e.name: sum(e.name in {t.storage.name for t in op.touched()} for op in step.ops)
            for e in maps}  # fmt: skip
    by_hand = {e.name: (e.size.at(2), min(e.death, len(times) - 1) - e.birth + 1, uses[e.name])
               for e in maps}  # fmt: skip
    assert {row.name: (row.nbytes, row.alive, row.used) for row in found.idle()} == by_hand
    waits = sum(size * (alive - used) for size, alive, used in by_hand.values())
    assert found.idle_share() == waits / sum(size * alive for size, alive, _ in by_hand.values())
    assert streams.covered([(0, 1), (1, 3), (2, 3), (8, 9)]) == 4


def test_operations_that_take_no_time_hold_their_bytes() -> None:
    step = offload(memlab.training_step(zoo.mnist_cnn(), "sgd", algorithm="direct"))
    times = tuple(streams.slots(step.ops, [0.0] * len(step.ops)))
    found, ledger = streams.Schedule(step, 2, "none", None, times), memlab.plan(step)
    assert [found.peak(m) for m in (DEVICE, HOST)] == [ledger.peak(2, m) for m in (DEVICE, HOST)]


def test_a_stream_waits_for_nobody_before_its_first_operation() -> None:
    step = offload(memlab.training_step(zoo.mnist_cnn(), "sgd", algorithm="direct"))
    found = clock(step, 2, "titan x", "12 GB/s")
    firsts = {s.op.stream: s for s in reversed(found.slots)}
    assert firsts["copy in"].start > 0
    assert [s.stall for s in firsts.values()] == [0.0] * 3


def test_average_is_bytes_over_seconds() -> None:
    step = memlab.training_step(zoo.linear1(), "sgd")
    found = clock(step, 2)
    each = [s.seconds * n for s, n in zip(found.slots, memlab.plan(step).timeline(2), strict=True)]
    assert found.average() == pytest.approx(sum(each) / found.seconds)


def test_what_cannot_be_timed_is_refused() -> None:
    step = memlab.training_step(zoo.linear1())
    with pytest.raises(InputError, match="a clock is of a step"):
        clock(zoo.linear1(), 1)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InputError, match="batch must be at least 1"):
        clock(step, 0)
    with pytest.raises(InputError, match="this step holds for batch 2 to 2, got 3; make it again"):
        clock(replace(step, batches=range(2, 3)), 3)
    copies = offload(memlab.training_step(zoo.mnist_cnn(), algorithm="direct"))
    with pytest.raises(InputError, match="no source gives the link of titan x; try link='12 GB/s'"):
        clock(copies, 1, "titan x")
    with pytest.raises(InputError, match=r"no source gives the link of .*, recorded on"):
        clock(copies, 1)
    late = replace(step.ops[0], after=(step.ops[-1].name,))
    with pytest.raises(InputError, match="which is no operation before it"):
        clock(replace(step, ops=(late, *step.ops[1:])), 1)


def test_maps_on_a_disk_go_one_at_a_time_over_the_slower_of_link_and_disk() -> None:
    step = offload(memlab.training_step(zoo.alexnet(), "sgd"), "conv")
    nbytes = sum(op.reads["x"].storage.size.at(32) for op in step.ops if op.phase is Phase.COPY)
    for disk, speed in (("0.5 GB/s", 5 * 10**8), (99e9, 12 * 10**9)):
        found = clock(step, 32, "titan x", "12 GB/s", disk)
        assert found.link == speed
        assert found.busy(streams.DISK) == pytest.approx(nbytes / speed)
        assert found.busy(streams.OUT) == found.busy(streams.IN) == 0
        one = simulated([s.op for s in found.slots], [s.seconds for s in found.slots])
        assert [(s.start, s.end) for s in found.slots] == [one[s.op.name] for s in found.slots]
        assert f"disk: {found.busy(streams.DISK):.4g} s" in str(found)
    slow, fast = (clock(step, 32, "titan x", "12 GB/s", disk) for disk in ("0.5 GB/s", None))
    assert slow.seconds > fast.seconds
    assert clock(step, 32, "recorded", disk="0.5 GB/s").link == 5 * 10**8
    with pytest.raises(InputError, match=r"nothing moves at 0 bytes per second \(disk\); try"):
        clock(step, 32, "titan x", disk=0)
