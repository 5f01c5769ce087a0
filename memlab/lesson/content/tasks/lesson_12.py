"""Lesson 12, a model of one's own: what a peak would be if nothing was kept longer than needed."""

from __future__ import annotations

from random import Random

from memlab.formats import FORMATS
from memlab.ledger.plan import plan
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor, new
from memlab.techniques.release import release

Blocks = list[tuple[int, int, int, int]]
"""Of each block its bytes, the operation that makes it, the last that reads it, and the one after
which it is freed."""

# -- what is kept too long -------------------------------------------------------------------------


def step_of(blocks: Blocks) -> Step:
    """A step with these blocks, each held by the operation after which it is freed."""
    tensors = [
        new(f"block {n}", (("bytes", nbytes),), FORMATS["uint8"], Role.FEATURE_MAP)
        for n, (nbytes, *_) in enumerate(blocks)
    ]

    def at(number: int, place: int) -> dict[str, Tensor]:
        return {f"{n}": tensors[n] for n, each in enumerate(blocks) if each[place] == number}

    ops = tuple(
        Op(f"operation {number}", "any", Phase.FORWARD, reads=_later(blocks, at(number, 2)),
           writes=at(number, 1), holds=at(number, 3))
        for number in range(1 + max(each[3] for each in blocks))
    )  # fmt: skip
    return Step(ops, (), ())


def _later(blocks: Blocks, found: dict[str, Tensor]) -> dict[str, Tensor]:
    """What an operation reads that it has not made itself."""
    return {n: tensor for n, tensor in found.items() if blocks[int(n)][1] < blocks[int(n)][2]}


def _draw(chance: Random, size: int) -> Arguments:
    """Blocks of which some come after all others have gone."""
    blocks, longest = [], chance.choice((1, 2, 2 + size))
    for _ in range(size):
        born = chance.randint(0, 2 + size)
        last = born + chance.randint(0, longest)
        nbytes = chance.choice((1, 4, 10, 64, 300)) * chance.randint(1, 9)
        blocks.append((nbytes, born, last, last + chance.randint(0, longest)))
    return {"blocks": blocks}


def _peaks(
    blocks: Blocks, begin: int = 0, end: int = 1, first: int = 0, every: int = 1
) -> list[int]:
    """Both peaks, where a life begins and ends so many operations later; where the ``first``
    operation that is looked at, and the blocks until whose ends one looks, are others."""
    found = []
    for which in (3, 2):
        times = range(first, 1 + max(each[which] for each in blocks[::every]))
        alive = ([b[0] for b in blocks if b[1] + begin <= t < b[which] + end] for t in times)
        found.append(max(map(sum, alive), default=0))
    return found


_SLIPS: dict[str, Slip] = {
    "sum": lambda truth, a: 2 * [sum(each[0] for each in a["blocks"])],
    "exclusive": lambda truth, a: _peaks(a["blocks"], end=0),
    "swapped": lambda truth, a: truth[::-1],
    "held": lambda truth, a: 2 * truth[:1],
    "saved": lambda truth, a: [truth[0], truth[0] - truth[1]],
}
_TRAPS: dict[str, Slip] = {
    "born": lambda truth, a: _peaks(a["blocks"], begin=1),
    "largest": lambda truth, a: 2 * [max(each[0] for each in a["blocks"])],
    "some": lambda truth, a: _peaks(a["blocks"], every=2),
    "second": lambda truth, a: _peaks(a["blocks"], first=1),
}


@task("12.late", _draw, slips=_SLIPS, traps=_TRAPS)
def late(blocks: Blocks) -> list[int]:
    """The peak as the blocks are freed, and the one where each is freed after its last reader."""
    step = step_of(blocks)
    return [plan(each).peak(1) for each in (step, release(step))]
