"""Lesson 07, in place and sharing: what is given back after each operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from memlab import formats
from memlab.build.step import training_step
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor, new
from memlab.techniques.in_place import in_place

Numbers = list[list[int]]
"""For each operation, numbers of blocks."""

# -- a step as lists of numbers -----------------------------------------------------------------


def _drawn(chance: Random, size: int) -> Network:
    """Linear layers with activations, none in the smallest case; or a convolution, which needs a
    workspace."""
    if size % 3:
        x = network("drawn", features=chance.randint(1, 4 * size))
        for _ in range(min(size // 2, 2)):
            x = x.linear(chance.randint(2, 4 * size + 2), bias=False)
            x = chance.choice((x.relu, x.tanh))()
        return x.linear(2, bias=False).squared_error()
    x = network("drawn", image=(1, 3 + size, 3 + size))
    x = x.conv(chance.randint(1, 3), 3, pad="same", bias=False).relu()
    return x.flatten().linear(chance.randint(2, 5), bias=False).cross_entropy()


def _draw_step(chance: Random, size: int) -> Arguments:
    """A training step, or any other list of operations."""
    return chance.choice((_training, _any_step))(chance, size)


def _any_step(chance: Random, size: int) -> Arguments:
    """Operations that write and read blocks at random, also blocks that were there already."""
    blocks, operations = chance.randint(1, 2 + size // 2), chance.randint(2, 4 + size // 2)
    births = sorted(chance.randrange(operations) for _ in range(blocks))

    def numbers(n: int, share: float) -> list[int]:
        return [
            block for block, birth in enumerate(births) if birth < n and chance.random() < share
        ]

    return {
        "sizes": [chance.randint(1, 100 * size) for _ in births],
        "writes": [
            sorted({*numbers(n, 0.1), *(b for b, birth in enumerate(births) if birth == n)})
            for n in range(operations)
        ],
        "reads": [numbers(n, 0.2) for n in range(operations)],
        "kept": [block for block in range(blocks) if chance.random() < 0.2],
    }


def _training(chance: Random, size: int) -> Arguments:
    """A training step: blocks by number, in order of birth. What is there before the step has none.

    Some keep their gradients; some run in place, so that a block is written twice.
    """
    step = training_step(_drawn(chance, size), "sgd")
    step = step.keep("gradients") if size % 2 else step
    step = step if size % 4 else in_place(step)
    batch = chance.randint(2, 3 + size)
    there = {tensor.storage.name for tensor in step.live_in}
    sizes: dict[str, int] = {}
    for op in step.ops:
        for tensor in (*op.writes.values(), *op.workspace.values()):
            if tensor.storage.name not in there:
                sizes.setdefault(tensor.storage.name, tensor.storage.size.at(batch))
    number = {name: n for n, name in enumerate(sizes)}

    def numbers(tensors: Sequence[Tensor]) -> list[int]:
        return sorted({number[t.storage.name] for t in tensors if t.storage.name in number})

    born = [numbers((*op.writes.values(), *op.workspace.values())) for op in step.ops]
    return {
        "sizes": list(sizes.values()),
        "writes": born,
        "reads": [numbers(tuple(op.reads.values())) for op in step.ops],
        "kept": numbers(step.live_out),
    }


def _planned(a: Arguments) -> Ledger:
    """The plan of a step that reads and writes these blocks."""
    byte = formats.find("uint8")
    tensors = [
        new(str(number), (("bytes", size),), byte, Role.FEATURE_MAP)
        for number, size in enumerate(a["sizes"])
    ]

    def operands(numbers: Sequence[int]) -> dict[str, Tensor]:
        return {str(number): tensors[number] for number in numbers}

    ops = tuple(
        Op(str(n), "any", Phase.FORWARD, reads=operands(reads), writes=operands(writes))
        for n, (reads, writes) in enumerate(zip(a["reads"], a["writes"], strict=True))
    )
    return plan(Step(ops, (), tuple(tensors[number] for number in a["kept"])))


def _arguments(sizes: list[int], writes: Numbers, reads: Numbers, kept: list[int]) -> Arguments:
    return {"sizes": sizes, "writes": writes, "reads": reads, "kept": kept}


Deaths = Callable[[Arguments, int], int | None]
"""The operation after which a block is freed; None for never."""


def _last(a: Arguments, number: int) -> int | None:
    """The last operation that reads or writes it, unless it is kept."""
    if number in a["kept"]:
        return None
    return max(_users(a, number))


def _users(a: Arguments, number: int) -> list[int]:
    pairs = zip(a["reads"], a["writes"], strict=True)
    return [n for n, (reads, writes) in enumerate(pairs) if number in (*reads, *writes)]


def _freed(a: Arguments, death: Deaths = _last, nbytes: bool = True) -> list[int]:
    """Bytes, or blocks, that are freed after each operation."""
    found = [0] * len(a["reads"])
    for number, size in enumerate(a["sizes"]):
        when = death(a, number)
        if when is not None and when < len(found):
            found[when] += size if nbytes else 1
    return found


def _readers(a: Arguments, number: int) -> list[int]:
    return [n for n, reads in enumerate(a["reads"]) if number in reads]


def _never_read(a: Arguments, number: int) -> int | None:
    """As if only readers gave a block back."""
    return None if number in a["kept"] else max(_readers(a, number), default=None)


def _first_reader(a: Arguments, number: int) -> int | None:
    """As if a block were needed once."""
    return None if number in a["kept"] else min(_readers(a, number) or _users(a, number)[-1:])


def _last_reader(a: Arguments, number: int) -> int | None:
    """As if writers did not need a block that is read."""
    return None if number in a["kept"] else max(_readers(a, number) or _users(a, number))


def _first_write(a: Arguments, number: int) -> int | None:
    """As if those who write a block again did not need it, where nobody reads it."""
    if number in a["kept"]:
        return None
    users = _users(a, number)
    return users[-1] if _readers(a, number) else users[0]


def _one_later(a: Arguments, number: int) -> int | None:
    last = _last(a, number)
    return None if last is None else last + 1


_FREED_SLIPS: dict[str, Slip] = {
    "kept_too": lambda truth, a: _freed(a, lambda a, number: max(_users(a, number))),
    "first_reader": lambda truth, a: _freed(a, _first_reader),
    "never_read": lambda truth, a: _freed(a, _never_read),
    "one_later": lambda truth, a: _freed(a, _one_later),
    "blocks": lambda truth, a: _freed(a, nbytes=False),
    "all_read": lambda truth, a: [sum(a["sizes"][n] for n in reads) for reads in a["reads"]],
}


def _twice(a: Arguments) -> list[int]:
    """As if a block that is read and written where it ends were given back by both."""
    found = []
    for n, (reads, writes) in enumerate(zip(a["reads"], a["writes"], strict=True)):
        found.append(sum(a["sizes"][b] for b in (*reads, *writes) if _last(a, b) == n))
    return found


_FREED_TRAPS: dict[str, Slip] = {
    "last_reader": lambda truth, a: _freed(a, _last_reader),
    "first_write": lambda truth, a: _freed(a, _first_write),
    "twice": lambda truth, a: _twice(a),
}


@task("07.freed", _draw_step, slips=_FREED_SLIPS, traps=_FREED_TRAPS)
def freed(sizes: list[int], writes: Numbers, reads: Numbers, kept: list[int]) -> list[int]:
    """Bytes that go back to the pool after each operation, by the plan of the step (D1)."""
    ledger = _planned(_arguments(sizes, writes, reads, kept))
    inside, after = ledger.timeline(1), ledger.after(1)
    return [one - other for one, other in zip(inside, after, strict=True)]
