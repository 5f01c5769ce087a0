"""Pictures under the answers of lesson 04."""

from __future__ import annotations

from memlab.course.reveals import reveal
from memlab.lesson.card_question import Attempt
from memlab.lesson.content.lesson_04 import LAYER
from memlab.pictures.shared_tile import SharedTile, shared_tile
from memlab.pictures.warp_memory import WarpMemory, warp_memory


@reveal("04.warp")
def both_orders(turn: Attempt) -> WarpMemory:
    """Sectors that a warp moves along a row and down a column of the matrix."""
    return warp_memory(*LAYER, format=turn.numbers["format"], only=("stride",))


@reveal("04.tile")
def counted_loads(turn: Attempt) -> SharedTile:
    """Tiles of the question after their last step, with the loads of each value."""
    size, side = turn.numbers["kernels"], turn.numbers["tile"]
    return shared_tile(side, size, step=(size // side) ** 3, only=("step", "side"))
