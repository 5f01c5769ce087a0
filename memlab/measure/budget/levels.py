"""The levels of the board: a case of the course, a language model, and one drawn for each learner.

A budget is chosen so that the optimum takes at least three techniques; the tests hold it to that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from random import Random

from memlab.errors import whole_number
from memlab.measure.budget.board import BlockState, Board, Choice, Level, Switch
from memlab.measure.budget.search import Search
from memlab.networks import zoo
from memlab.networks.graph import Network

MACHINE = "rtx 4070"
"""Card that all levels are timed on, with its link as it is reached: the 12 GB card of the case."""
NUMBERS = (1, 2, 3)
"""Numbers of the levels."""
SHARES = (20, 25, 30, 35, 40, 45, 50)
"""Percent of the way from all blocks made again to 16 bits in place that a drawn budget leaves."""
STEP = 10**7
"""Bytes that a drawn budget is a multiple of."""
READ = 20
"""Blocks above which a search reads one combination of switches alone."""

_KEPT_OR_AGAIN = (BlockState.KEPT, BlockState.AGAIN)
_OF_IMAGES: tuple[Switch, ...] = (Switch.HALF, Switch.CHEAP, Switch.PLACE)
_OF_TEXT: tuple[Switch, ...] = (Switch.HALF, Switch.EIGHT, Switch.CHEAP, Switch.PLACE)


def level(number: int = 1, seed: int = 0) -> Level:
    """Return a level by its number; the third is drawn from the seed.

    >>> from memlab.measure.budget.levels import level
    >>> level(1).network.label, level(1).batch, level(1).budget
    ('ResNet-50 v1.5', 256, 6000000000)

    Args:
        number: 1, 2 or 3.
        seed: a whole number, for level 3 alone.

    Raises:
        InputError: no such level, or no such seed.
    """
    make = _LEVELS[whole_number("level", number, NUMBERS[0], NUMBERS[-1]) - 1]
    return make(whole_number("seed", seed, 0))


def search_of(number: int = 1, seed: int = 0) -> Search:
    """Return the search over the board of a level; the last ones are cached with what they have
    read.

    Raises:
        InputError: as ``level``.
    """
    return _search(number, seed if number == NUMBERS[-1] else 0)


@lru_cache(maxsize=8)
def _search(number: int, seed: int) -> Search:
    return Search(Board(level(number, seed)))


def _images(seed: int) -> Level:
    """Return level 1, the case of the course: batch norm looks at the whole batch, so it is not cut
    into parts."""
    return Level(zoo.resnet50(), 256, 6 * 10**9, MACHINE)


def _text(seed: int) -> Level:
    """Return level 2, a language model: layer norm looks at one token, so parts give the same
    gradient up to rounding. No block goes to the host: a layer computes little for each byte of a
    copy, and without a convolution nothing bounds how early a map comes back (C5)."""
    network = zoo.gpt_small(steps=512, dropout=0)
    return Level(network, 8, 180 * 10**6, MACHINE, "adam", _OF_TEXT, (1, 2), _KEPT_OR_AGAIN)


@lru_cache(maxsize=16)
def _drawn(seed: int) -> Level:
    """Return level 3: a network, a batch and a budget drawn from the seed."""
    draw = Random(seed)
    network, batch, optimizer = draw.choice(_NETWORKS)(draw)
    text = bool(network.vocabulary)
    switches = _OF_TEXT if text else _OF_IMAGES
    states = _KEPT_OR_AGAIN if text else tuple(BlockState)
    plain = Level(network, batch, 0, MACHINE, optimizer, switches, states=states)
    board = Board(plain)
    most, least = (_in_place(board, state) for state in _KEPT_OR_AGAIN)
    budget = least + (most - least) * draw.choice(SHARES) // 100
    reads = 1 if len(board.blocks) > READ else None
    return replace(plain, budget=-(-budget // STEP) * STEP, reads=reads)


def _in_place(board: Board, state: BlockState) -> int:
    """Return the peak in 16 bits and in place, with all blocks in one state."""
    states = (state,) * len(board.blocks)
    return board.rated(Choice(frozenset({Switch.HALF, Switch.PLACE}), 1, states)).peak


def _resnet(draw: Random) -> tuple[Network, int, str]:
    build = draw.choice((zoo.resnet34, zoo.resnet50, zoo.resnet101))
    image, batch = draw.choice((160, 192, 224)), draw.choice((64, 96, 128, 192, 256))
    return build(image=image), batch, "momentum"


def _gpt(draw: Random) -> tuple[Network, int, str]:
    steps, layers = draw.choice((256, 384, 512, 640)), draw.choice((6, 8, 10, 12))
    return zoo.gpt_small(steps=steps, layers=layers, dropout=0), draw.choice((4, 8, 16)), "adam"


_NETWORKS: tuple[Callable[[Random], tuple[Network, int, str]], ...] = (_resnet, _resnet, _gpt)
_LEVELS: tuple[Callable[[int], Level], ...] = (_images, _text, _drawn)
