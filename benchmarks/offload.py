"""Whether copies hide behind kernels: a step on one thread, its maps copied beside it.

Maps wait in RAM, and in files of a folder. Memory of this machine is too fast for copies to matter,
so each is paced to a link: it takes at least as long as its bytes need there. The pace is chosen so
that all copies together take a given share of the kernels' time. The figures of one machine are
recorded; ``python -m benchmarks.offload`` measures and records them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any

from memlab import atomic_files, units
from memlab.assemble.step import training_step
from memlab.clocks.streams import clock
from memlab.measure.processor import freed_memory_kept, limited
from memlab.measure.recorded_figures import FOLDER, RecordedFigures, to_dict
from memlab.measure.timing import BenchmarkLine, Result, interleave, line, machine, median, ratio
from memlab.networks import zoo
from memlab.runtime.async_copies import RAM
from memlab.runtime.program import Program
from memlab.runtime.run import run as run_once
from memlab.runtime.session import Session
from memlab.step.step import Step
from memlab.step.storage import Storage
from memlab.techniques.offload import offload

FILE = FOLDER / "offload.json"
NETWORK, IMAGE, BATCH, POLICY = "vgg11", 64, 8, "conv"
SHARE = 0.55
"""What the copies take of the kernels' time."""
AIM = 1.15
"""Time with copies beside the kernels, over the larger of the two sums, at most."""
BESIDE, AFTER, PLAIN = "copies beside the kernels", "copies after each other", "kernels alone"
COPIES = "copies alone"
Hosts = dict[str, Path | str]
Samples = dict[str, tuple[float, ...]]


def run(network: str = NETWORK, image: int = IMAGE, batch: int = BATCH, repeats: int = 5) -> Result:
    """Time a step whose maps wait in RAM or in files, its copies beside the kernels and not."""
    step = training_step(zoo.build(network, image=image), "sgd")
    moving = offload(step, POLICY)
    nbytes, planned = copied(moving, batch), clock(step, batch).seconds
    with limited(), freed_memory_kept(), TemporaryDirectory() as folder:
        hosts: Hosts = {"in RAM": RAM, "in files": Path(folder)}
        with Session(Program(step, batch)) as alone:
            first = median(interleave({PLAIN: lambda turn: alone.step()}, repeats)[PLAIN])
            speed = round(nbytes / (SHARE * first))
            samples = _timed(alone, moving, speed, repeats, hosts)
        kernels = samples[PLAIN]
        found = [
            each
            for where, host in hosts.items()
            for each in (*_compared(samples, where), *_counted(moving, batch, host, where))
        ]
    what = f"{network}, {image}x{image}, batch {batch}, offload ({POLICY})"
    link = nbytes / (SHARE * planned)
    return Result("offload", machine(), (
        line(f"{PLAIN}: {what}", kernels),
        BenchmarkLine(f"copies: {units.short(nbytes)} at {units.short(speed)}/s", nbytes / speed,
        "s"),
        BenchmarkLine("copies, of the kernels' time", 100 * nbytes / speed / median(kernels), "%"),
        *found,
        BenchmarkLine("beside, over the larger, as planned",
             clock(moving, batch, link=link).seconds / planned, "x"),
    ))  # fmt: skip


def _compared(samples: Samples, where: str) -> list[BenchmarkLine]:
    """Seconds of a step whose maps wait somewhere."""
    cases = {name: samples[f"{name}, maps {where}"] for name in (BESIDE, AFTER, COPIES)}
    kernels, copies = median(samples[PLAIN]), median(cases[COPIES])
    return [
        *(line(f"{name}, maps {where}", found) for name, found in cases.items()),
        ratio(f"beside, over the larger of the two sums, maps {where}", cases[BESIDE],
              (max(kernels, copies),), AIM),
        ratio(f"after each other, over their sum, maps {where}", cases[AFTER],
              (kernels + copies,)),
    ]  # fmt: skip


def _counted(step: Step, batch: int, host: Path | str, where: str) -> list[BenchmarkLine]:
    """The bytes that the maps take there: as the meter saw them, or as the file system counts."""
    found = run_once(step, batch, host=host)
    blocks = f", in blocks of {found.host_grain} B" if found.host_grain > 1 else ""
    return [
        BenchmarkLine(f"most that waited {where}, measured{blocks}", found.host_peak, "B"),
        BenchmarkLine(f"residual of both memories, maps {where}", found.residual, "B", 0),
    ]


def copied(step: Step, batch: int) -> int:
    """Bytes that a step copies, both ways."""
    sources = (next(iter(op.reads.values())) for op in step.ops if op.kind.startswith("copy"))
    return sum(source.storage.size.at(batch) for source in sources)


def _timed(alone: Session, step: Step, speed: int, repeats: int, hosts: Hosts) -> Samples:
    """Seconds of a step without copies, with copies beside its kernels and after each other, and of
    the latter copies themselves, wherever the maps wait."""
    cases: dict[str, Any] = {PLAIN: lambda turn: alone.step()}
    taken: dict[str, list[float]] = {}
    with ExitStack() as stack:
        for where, host in hosts.items():
            for name in (BESIDE, AFTER):
                program = Program(step, alone.program.batch, host=host)
                session = stack.enter_context(Session(program))
                session.copies.threads = name == BESIDE
                taken[where] = stack.enter_context(paced(session, speed))
                cases[f"{name}, maps {where}"] = partial(_step, session)
        found = interleave(cases, repeats)
    for where, seconds in taken.items():
        count = len(seconds) // (repeats + 1)
        sums = [sum(seconds[turn * count :][:count]) for turn in range(1, repeats + 1)]
        found[f"{COPIES}, maps {where}"] = tuple(sums)
    return found


def _step(session: Session, turn: int) -> object:
    return session.step()


@contextmanager
def paced(session: Session, speed: int) -> Iterator[list[float]]:
    """Copies of a session take at least as long as their bytes need over a link of so many bytes
    per second; yields the seconds of each. A thread that waits takes no time of a processor."""
    copy, taken = session.memory.copy, list[float]()

    def slowly(source: Storage, target: Storage, stream: Any = None) -> None:
        begin = perf_counter()
        copy(source, target, stream)
        sleep(max(0.0, begin + source.size.at(session.program.batch) / speed - perf_counter()))
        taken.append(perf_counter() - begin)

    session.memory.copy = slowly  # type: ignore[method-assign]  # a slower link, for this session
    try:
        yield taken
    finally:
        del session.memory.copy


def main() -> None:
    """Measure, and record it."""
    found = run()
    recorded = RecordedFigures(found.machine.processor, "python -m benchmarks offload", found)
    atomic_files.write(FILE, json.dumps(to_dict(recorded), indent=1) + "\n")
    print(found)


if __name__ == "__main__":
    main()
