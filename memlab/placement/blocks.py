"""What is placed: the blocks of memory that are born in a step, at one batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memlab.errors import InputError, shorten, whole
from memlab.placement.packing import Load
from memlab.step.garbage_collection import paused
from memlab.step.lifetimes import BEFORE
from memlab.step.step import Step
from memlab.step.storage import DEVICE

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes that are alive inside the operations ``birth`` to ``death``, both counted."""

    name: str
    nbytes: int
    birth: int
    death: int


TOY = (
    Block("A", 1 * MIB, 0, 3),
    Block("B", 2 * MIB, 1, 4),
    Block("C", 1 * MIB, 2, 5),
    Block("D", 3 * MIB, 4, 4),
    Block("E", 2 * MIB, 4, 6),
    Block("F", 4 * MIB, 5, 7),
)
"""Six made-up blocks: reuse in order of birth saves nothing, and some order reaches the bound."""


@paused()
def blocks(step: Step, batch: int) -> tuple[Block, ...]:
    """What is born in a step on ``device:0`` at a batch, workspace too, in order of birth; a block
    has the name of its storage.

    Raises:
        InputError: no step, a bad batch, or one that the step does not hold for.
    """
    last = len(_checked(step).ops) - 1
    batch = step.held(batch)
    return tuple(
        Block(life.tensor.storage.name, life.size.at(batch), life.birth, min(life.death, last))
        for life in step.lifetimes.blocks
        if life.birth != BEFORE and life.memory == DEVICE
    )


def _checked(step: Step) -> Step:
    if not isinstance(step, Step):
        raise InputError(
            f"a placement is of a step, got {shorten(step)}; try "
            "memlab.place(memlab.training_step(network), batch=32)."
        )
    return step


def known(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Blocks that can be placed.

    Raises:
        InputError: what is given is none, two have one name, a size or birth is negative, or a
            death lies before the birth.
    """
    if not isinstance(blocks, Iterable):
        raise _no_block(blocks)
    given = tuple(blocks)
    for block in given:
        if not isinstance(block, Block):
            raise _no_block(block)
        _check(block)
    twice = [name for name, count in Counter(block.name for block in given).items() if count > 1]
    if twice:
        raise InputError(f"two blocks are named {shorten(twice[0])}; rename one.")
    return given


def _no_block(given: object) -> InputError:
    return InputError(f"blocks are placed, got {shorten(given)}; try memlab.place(step, batch).")


def _check(block: Block) -> None:
    if not isinstance(block.name, str):
        raise InputError(f"a block has a text as its name, got {shorten(block.name)}; try 'A'.")
    whole(f"the size of {block.name}", block.nbytes, least=0)
    whole(f"the birth of {block.name}", block.birth, least=0)
    if whole(f"the death of {block.name}", block.death, least=0) < block.birth:
        raise InputError(
            f"{block.name} is born in operation {block.birth} and dies before, in {block.death}; "
            f"a death is at least the birth, try {block.birth}."
        )


def load_of(blocks: Sequence[Block], alignment: int) -> Load:
    """What is packed of them: each takes its bytes rounded up to the alignment."""
    return Load(
        [-(-int(block.nbytes) // alignment) * alignment for block in blocks],
        [int(block.birth) for block in blocks],
        [int(block.death) for block in blocks],
    )
