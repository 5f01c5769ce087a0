"""Pictures under the answers of lesson 07."""

from __future__ import annotations

from memlab.assemble.step import training_step
from memlab.course.reveals import BARE, reveal
from memlab.lesson.card_question import Attempt
from memlab.lesson.content.lesson_07 import FAULTS, pair, three
from memlab.pictures.addresses.view import AddressMap, addresses
from memlab.pictures.memory.view import Memory, memory
from memlab.pictures.reuse import ReusedMemory, reuse
from memlab.placement.placement import place

FEW, BLOCKS = 4, 22
"""Samples for which the bars of lifetimes are thick enough, and the most blocks of the network."""


@reveal("07.in_place")
def readers(turn: Attempt) -> Memory:
    """Lifetimes of the network of the question, with the readers of each block."""
    n = turn.numbers
    network = three(n["act"], n["shortcut"])
    offered = "in_place", "training"
    return memory(network, FEW, "sgd", training=n["training"], blocks=BLOCKS, only=offered, **BARE)


@reveal("07.both")
def freed_and_in_place(turn: Attempt) -> ReusedMemory:
    """Feature maps at the peak of inference: nothing freed, in place, freed, and both."""
    n = turn.numbers
    return reuse(n["network"], n["batch"], training=False)


@reveal("07.address")
def faulty_map(turn: Attempt) -> AddressMap:
    """Arena of the question, with the block at its wrong address, after a run."""
    n = turn.numbers
    step = training_step(pair(), "sgd").keep("gradients")
    packed = place(step, n["batch"])
    moving, there = FAULTS[n["fault"]]
    address = packed.address(there) if there else packed.arena
    moved = {moving: address}
    view = addresses(step, n["batch"], how="best", moved=moved, chosen=moving, only=("cursor",))
    view.run()
    return view
