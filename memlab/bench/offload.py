"""Whether copies hide behind kernels: a step on one thread, its maps copied beside it.

Memory of this machine is too fast for copies to matter, so each is paced to a link: it takes at
least as long as its bytes need there. The pace is chosen so that all copies together take a given
share of the kernels' time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, sleep
from typing import Any

from memlab import units
from memlab.bench.processor import limited
from memlab.bench.step import freed_memory_kept
from memlab.bench.timing import Line, Result, interleave, line, machine, median, ratio
from memlab.networks import zoo
from memlab.planner.streams import clock
from memlab.runtime.session import Session
from memlab.step.build import training_step
from memlab.step.step import Step
from memlab.step.storage import Storage
from memlab.techniques.offload import offload

NETWORK, IMAGE, BATCH, POLICY = "vgg11", 64, 8, "conv"
SHARE = 0.55
"""What the copies take of the kernels' time."""
AIM = 1.15
"""Time with copies beside the kernels, over the larger of the two sums, at most."""
BESIDE, AFTER, PLAIN = "copies beside the kernels", "copies after each other", "kernels alone"


def run(network: str = NETWORK, image: int = IMAGE, batch: int = BATCH, repeats: int = 5) -> Result:
    """Time a step whose maps wait in host memory, its copies beside the kernels and not."""
    step = training_step(zoo.build(network, image=image), "sgd")
    moving = offload(step, POLICY)
    nbytes = copied(moving, batch)
    with limited(), freed_memory_kept():
        with Session(step, batch) as alone:
            plain = interleave({PLAIN: lambda turn: alone.step()}, repeats)[PLAIN]
        speed = round(nbytes / (SHARE * median(plain)))
        samples = {PLAIN: plain} | _timed(moving, batch, speed, repeats)
    what = f"{network}, {image}x{image}, batch {batch}, offload ({POLICY})"
    kernels, copies = median(plain), nbytes / speed
    lines = [line(f"{name}: {what}", found) for name, found in samples.items()]
    planned = clock(step, batch).seconds
    link = nbytes / (SHARE * planned)
    return Result("offload", machine(), (
        *lines,
        Line(f"copies: {units.short(nbytes)} at {units.short(speed)}/s", copies, "s"),
        Line("copies, as a share of the kernels", copies / kernels, ""),
        ratio("beside, over the larger of the two sums", samples[BESIDE],
              (max(kernels, copies),), AIM),
        ratio("after each other, over their sum", samples[AFTER], (kernels + copies,)),
        Line("beside, over the larger, as planned",
             clock(moving, batch, link=link).seconds / planned, "x"),
    ))  # fmt: skip


def copied(step: Step, batch: int) -> int:
    """Bytes that a step copies, both ways."""
    sources = (next(iter(op.reads.values())) for op in step.ops if op.kind.startswith("copy"))
    return sum(source.storage.size.at(batch) for source in sources)


def _timed(step: Step, batch: int, speed: int, repeats: int) -> dict[str, tuple[float, ...]]:
    with Session(step, batch) as beside, Session(step, batch) as after:
        after.copies.threads = False
        with paced(beside, speed), paced(after, speed):
            cases: dict[str, Any] = {
                BESIDE: lambda turn: beside.step(),
                AFTER: lambda turn: after.step(),
            }
            return interleave(cases, repeats)


@contextmanager
def paced(session: Session, speed: int) -> Iterator[None]:
    """Copies of a session take at least as long as their bytes need over a link of so many bytes
    per second. A thread that waits takes no time of a processor."""
    copy = session.memory.copy

    def slowly(source: Storage, target: Storage) -> None:
        until = perf_counter() + source.size.at(session.batch) / speed
        copy(source, target)
        sleep(max(0.0, until - perf_counter()))

    session.memory.copy = slowly  # type: ignore[method-assign]  # a slower link, for this session
    try:
        yield
    finally:
        del session.memory.copy
