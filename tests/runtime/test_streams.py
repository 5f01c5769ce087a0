"""Copies in streams of a CUDA device: the necessary waits, tested with copies that end as late as
allowed.

Numba's simulator has streams and events, and does everything at once. Here a copy is done only when
somebody waits for an event behind it: an operation that does not wait reads NaN.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import memlab
from memlab.kernels import registry
from memlab.runtime import backend, memory_guard
from memlab.runtime.metering.meter import Meter
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.techniques.offload import offload
from tests.runtime import on_copies
from tests.techniques.same import differences

CUDA: Any = backend.find("cuda")

from numba import cuda  # noqa: E402 - after the simulator is chosen

pytestmark = pytest.mark.skipif(not CUDA.simulated, reason="a GPU has streams of its own")
BATCH = 2


class Stream:
    """Stream with the copies that were sent to it, and the number of those that are done.
    ``opened`` are all streams that are open."""

    opened: ClassVar[list[Stream]] = []

    def __init__(self) -> None:
        self.left: deque[Callable[[], object]] = deque()
        self.done = self.behind = 0
        self.opened.append(self)

    @property
    def sent(self) -> int:
        return self.done + len(self.left)

    def until(self, count: int) -> None:
        while self.done < count:
            self.done += 1
            self.left.popleft()()

    def synchronize(self) -> None:
        self.until(self.sent)


class Event:
    """Point in a stream; 0 is the stream of the kernels, which are done as soon as they are
    launched."""

    launched = 0

    def record(self, stream: Stream | int = 0) -> None:
        self.stream = stream
        self.count = stream.sent if isinstance(stream, Stream) else Event.launched

    def wait(self, stream: Stream | int = 0) -> None:
        if not isinstance(stream, Stream):
            self.synchronize()
        elif isinstance(self.stream, Stream):
            stream.left.append(self.synchronize)
        else:
            stream.behind = self.count

    def synchronize(self) -> None:
        if isinstance(self.stream, Stream):
            self.stream.until(self.count)


@pytest.fixture(autouse=True)
def _late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs use kernels of the processor, and streams that copy as late as allowed."""
    on_copies.use(monkeypatch)
    monkeypatch.setattr(memory_guard, "check_time", lambda *_: None)
    monkeypatch.setattr(cuda, "event", Event)
    monkeypatch.setattr(type(CUDA), "stream", lambda self: Stream(), raising=False)
    monkeypatch.setattr(
        type(CUDA), "end", lambda self, stream: Stream.opened.remove(stream), raising=False
    )
    monkeypatch.setattr(Stream, "opened", [])
    monkeypatch.setattr(Event, "launched", 0)
    compute = Session._compute

    def launch(self: Session, *given: Any) -> None:
        Event.launched += 1
        compute(self, *given)

    monkeypatch.setattr(Session, "_compute", launch)
    for name in ("to_host", "from_host"):
        monkeypatch.setattr(type(CUDA), name, sent(getattr(type(CUDA), name)))


def sent(copy: Callable[..., None]) -> Callable[..., None]:
    """Copy function that only sends the copy to its stream, behind all kernels that were launched
    before."""

    def send(self: object, source: object, target: object, stream: Stream) -> None:
        assert stream.behind == Event.launched
        stream.left.append(lambda: copy(self, source, target))

    return send


def plain() -> Step:
    x = memlab.network("chain", image=(2, 6, 6)).conv(3, 3, pad=1).relu().conv(3, 3, pad=1).relu()
    x = x.max_pool(2, 2).conv(3, 3, pad=1).relu().flatten().linear(2)
    return memlab.training_step(x.cross_entropy(), "sgd")


@pytest.mark.measures
@pytest.mark.parametrize("placed", [None, "best"])
@pytest.mark.parametrize("policy", ["conv", "all"])
def test_a_copy_that_ends_late_is_waited_for(policy: str, placed: str | None) -> None:
    before, step = plain(), offload(plain(), policy)
    here = memlab.run(before, BATCH, keep="gradients", device="cuda")
    for after in (step, memlab.in_place(step), memlab.no_reuse(step)):
        run = memlab.run(after, BATCH, keep="gradients", device="cuda", placement=placed)
        assert run.residual == 0
        assert run.host_peak == memlab.plan(after.keep("gradients")).peak(BATCH, HOST) > 0
        assert not differences(here, run)
        assert run.nan == ()
        assert Stream.opened == []


@pytest.mark.measures
def test_kernels_and_both_ways_have_a_stream_each() -> None:
    """Some copies are still to be done when the next kernel is launched beside them."""
    beside: list[int] = []
    step = offload(plain(), "conv")
    with Session(Program(step, BATCH, device="cuda")) as session:
        compute = session._compute

        def counted(*given: Any) -> None:
            beside.append(sum(len(one.left) for one in Stream.opened))
            compute(*given)

        session._compute = counted  # type: ignore[assignment,method-assign]  # of this session
        session.step()
        assert [*session.copies.streams] == ["copy out", "copy in"]  # type: ignore[attr-defined]  # of a GPU
        copies = sum(op.phase is Phase.COPY for op in step.ops)
        assert sum(beside) >= copies > 0
        assert not any(stream.left for stream in Stream.opened)
    assert Stream.opened == []


@pytest.mark.measures
def test_pages_are_locked_once_where_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    locked: list[int] = []
    host_block = type(CUDA).host_block

    def lock(self: object, nbytes: int) -> Any:
        locked.append(nbytes)
        return host_block(self, nbytes)

    monkeypatch.setattr(type(CUDA), "host_block", lock)
    step = offload(plain(), "all")
    with Session(Program(step, BATCH, device="cuda")) as session:
        session.step()
        first = len(locked)
        session.step()
        assert first == len(locked) == sum(op.kind == "copy out" for op in step.ops)
    assert not session.memory._spare


@pytest.mark.measures
@pytest.mark.parametrize("fails", ["to_host", "from_host", "host_block", "a kernel", "the end"])
def test_after_an_error_nothing_is_left(fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the link is down")

    if fails == "a kernel":
        monkeypatch.setitem(registry.KERNELS, ("relu.backward", "", "cuda", "fp32"), fail)
    elif fails == "the end":
        monkeypatch.setattr(Stream, "synchronize", fail)
    else:
        monkeypatch.setattr(type(CUDA), fails, fail)
    with Meter(hook=CUDA.hook()) as meter:
        session = Session(Program(offload(plain(), "all"), BATCH, device="cuda"), meter=meter)
        with pytest.raises(RuntimeError, match="the link is down"):
            session.step()
        assert Stream.opened == []
        assert session.memory.blocks == {}
        assert all(block.death is not None for block in meter.seen)


@pytest.mark.measures
def test_a_copy_that_fails_on_its_way_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error reaches the operation that waits for the copy."""

    def broken(self: object, source: object, target: object, stream: Stream) -> None:
        def fail() -> None:
            raise RuntimeError("the link is down")

        stream.left.append(fail)

    monkeypatch.setattr(type(CUDA), "to_host", broken)
    with pytest.raises(RuntimeError, match="the link is down"):
        memlab.run(offload(plain(), "all"), BATCH, device="cuda")
    assert Stream.opened == []


def test_what_waits_is_counted_where_it_waits() -> None:
    """The hook counts it as page-locked memory of the host, and none of it as the device's."""
    with Meter(hook=CUDA.hook()) as meter:
        meter.memory = HOST
        held = CUDA.host_block(1000)
        assert meter.live == 0
        assert [(block.nbytes, block.memory, block.death) for block in meter.seen] == [
            (1000, HOST, None)
        ]
        del held
        assert meter.seen[0].death is not None
