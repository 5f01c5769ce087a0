"""A training step as a graph of tasks, for the exact order of a small one."""

from __future__ import annotations

from collections.abc import Iterable

from memlab.clocks.roofline import Machine
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.techniques.recompute.exact_order import Result, Task
from memlab.techniques.recompute.order_memory import Liveness


def tasks_of(
    step: Step, batch: int, machine: Machine | None = None
) -> tuple[list[Task], list[Task], int]:
    """What goes before the end of the step (inputs) as tasks, then every operation up to the last
    backward, and the bytes that live throughout. What an order of them takes is what the step takes
    that follows from it, up to there."""
    of = Liveness(step, batch, machine)
    end = max((i for i, op in enumerate(step.ops) if op.phase is Phase.BACKWARD), default=-1) + 1
    touched, after = (
        set[int]().union(*(run.touched for run in runs)) for runs in (of.runs[:end], of.runs[end:])
    )
    stay = of.left | after

    def nbytes(numbers: Iterable[int]) -> tuple[int, ...]:
        return tuple(int(of.nbytes[n]) if of.here[n] else 0 for n in numbers)

    inputs = sorted((of.there & touched) - stay)
    maker: dict[int, Result] = {each: (number, 0) for number, each in enumerate(inputs)}
    tasks = []
    for number, (op, run) in enumerate(zip(step.ops[:end], of.runs, strict=False), len(inputs)):
        again = op.phase is Phase.FORWARD and (op.pure or op.again is not None)
        new = sorted(run.writes - of.there - maker.keys())
        own = [each for each in new if each not in stay]
        made = [each for each in own if each in run.made or not again]
        once = [each for each in own if each not in made]
        first, *more = nbytes(made) or (0,)
        reads = {maker[each] for each in run.touched if each in maker}
        maker |= {each: (number, which) for which, each in enumerate([*(made or [-1]), *once])}
        left, inside = (sum(nbytes(each)) for each in (set(new) - {*own}, run.workspace))
        tasks.append(
            Task(
                op.name,
                run.time,
                first,
                tuple(sorted(reads)),
                again,
                inside,
                left,
                tuple(more),
                nbytes(once),
                run.repeated.time,
            )
        )
    given = [Task(of.tensors[n].name, 0, sum(nbytes([n])), (), again=False) for n in inputs]
    return given, tasks, sum(nbytes(of.there - {*inputs}))
