"""Small boards, whose choices can all be planned."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from random import Random

import memlab
from memlab.measure.budget.board import BlockState, Board, Choice, Level, Switch
from memlab.measure.budget.levels import MACHINE
from memlab.networks.graph import Network

KEPT_OR_AGAIN = (BlockState.KEPT, BlockState.AGAIN)
OF_IMAGES = (Switch.HALF, Switch.CHEAP, Switch.PLACE)
OF_TEXT = (Switch.HALF, Switch.EIGHT, Switch.CHEAP, Switch.PLACE)


def _resnet(*stages: int, bottleneck: bool = False) -> Network:
    return memlab.zoo.resnet(stages, bottleneck, image=32, classes=10)


def _gpt(layers: int) -> Network:
    return memlab.zoo.gpt_small(32, layers, 64, 4, vocabulary=64, dropout=0)


LEVELS = {
    "one block": Level(_resnet(1), 64, 10**6, MACHINE, switches=OF_IMAGES),
    "two stages": Level(_resnet(2, 1), 64, 10**6, MACHINE, switches=OF_IMAGES),
    "bottlenecks": Level(_resnet(1, 2, 1, bottleneck=True), 256, 10**6, MACHINE,
                         switches=OF_IMAGES),
    "six blocks": Level(_resnet(2, 2, 2), 128, 10**6, MACHINE, switches=(Switch.PLACE,)),
    "six cheap blocks": Level(_resnet(1, 1, 2, 2, bottleneck=True), 128, 10**6, MACHINE,
                              switches=(Switch.CHEAP,)),
    "text": Level(_gpt(3), 8, 10**6, MACHINE, "adam", OF_TEXT, (1, 2), KEPT_OR_AGAIN),
    "six layers": Level(_gpt(6), 8, 10**6, MACHINE, "adam", (Switch.PLACE,), (1, 4),
                        KEPT_OR_AGAIN),
}  # fmt: skip
"""Boards of at most 6 blocks, by name; their budgets are given to the search."""


@cache
def board(name: str) -> Board:
    """Board of that name."""
    return Board(LEVELS[name])


def choices(board: Board) -> Iterator[Choice]:
    """All choices that a board offers."""
    level = board.level
    for turned in product((False, True), repeat=len(level.switches)):
        on = frozenset(s for s, is_on in zip(level.switches, turned, strict=True) if is_on)
        for parts in level.parts:
            for states in product(level.states, repeat=len(board.blocks)):
                yield Choice(on, parts, states)


def drawn_choice(board: Board, seed: object) -> Choice:
    """A choice of a board, drawn from the seed."""
    draw, level = Random(str(seed)), board.level
    on = frozenset(switch for switch in level.switches if draw.random() < 0.5)
    states = tuple(draw.choice(level.states) for _ in board.blocks)
    return Choice(on, draw.choice(level.parts), states)
