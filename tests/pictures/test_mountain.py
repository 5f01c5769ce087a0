"""The mountain: bytes of each part over the moments of a step, and the marks that show them."""

import numpy as np
import pytest

from memlab.arrays import bytes_by_part
from memlab.pictures.draw.labels import Label, Name
from memlab.pictures.draw.marks import OpenEdge, Points, Rule
from memlab.pictures.draw.theme import PAINTS
from memlab.pictures.mountain.layers import columns, over_time, pile
from memlab.pictures.mountain.picture import DrawnLayer, Mountain
from memlab.pictures.mountain.stack_parts import FLOOR, MOUNTAIN, ROLES, STACK
from memlab.step.tensor import Role

MAPS = PAINTS[Role.FEATURE_MAP]


def test_every_part_has_the_bytes_of_its_blocks() -> None:
    drawn = np.random.default_rng(31)
    births = drawn.integers(-1, 9, 40)
    deaths, sizes = births + drawn.integers(0, 5, 40), drawn.integers(1, 100, 40)
    parts = [Role.INPUT if odd else Role.FEATURE_MAP for odd in drawn.integers(0, 2, 40)]
    blocks = list(zip(parts, sizes, births, deaths, strict=True))
    for part, line in bytes_by_part(parts, sizes, births, deaths, 9).items():
        alive = [sum(size for of, size, birth, death in blocks
                     if of is part and birth <= at <= death) for at in range(9)]  # fmt: skip
        assert line.tolist() == alive


def test_parts_lie_on_each_other_where_they_have_bytes() -> None:
    lines = {"floor": np.array([5, 5]), "nothing": np.array([0, 0]), "maps": np.array([0, 3])}
    layers = pile(lines, np.zeros(2))
    assert [layer.part for layer in layers] == ["floor", "maps"]
    assert layers[1].low.tolist() == [5, 5]
    assert layers[1].high.tolist() == [5, 8]


def test_a_column_of_time_shows_its_highest_moment_and_nothing_after_the_last() -> None:
    ends, nbytes = np.array([0.4, 0.6, 3.0]), np.array([10, 99, 20])
    shown = columns(ends, nbytes, 4)
    assert over_time(nbytes, shown).tolist() == [99, 20, 20, 0]


def test_one_order_of_roles_holds_for_all() -> None:
    assert (*FLOOR, *MOUNTAIN) == STACK
    assert sorted(ROLES) == sorted(Role)
    usual = [part.role for part in STACK if part.usual]
    assert usual == [role for role in ROLES if role in usual]


def mountain(end: float = 100) -> Mountain:
    high = np.array([10.0, 80.0, 40.0])
    return Mountain([DrawnLayer(np.zeros(3), high, MAPS, "maps")], end, before=high + 5, step=2)


def test_a_limit_is_a_line_at_its_bytes_with_its_name() -> None:
    line, name = mountain().limits([("card", 60)])
    assert isinstance(line, Rule)
    assert line.y == 60
    assert isinstance(name, Name)
    assert name.content == "card"


def test_a_limit_above_the_axis_is_said() -> None:
    (name,) = mountain().limits([("card", 120)])
    assert isinstance(name, Name)
    assert str(name.content).endswith("card")


@pytest.mark.parametrize(("end", "kind"), [(100, Points), (50, Label)])
def test_the_peak_is_a_dot_or_said_where_the_axis_ends_below_it(end: float, kind: type) -> None:
    mark = next(mountain(end).peak(80))
    assert isinstance(mark, kind)
    teeth = [
        (mark.first, mark.last) for mark in mountain(end).stack() if isinstance(mark, OpenEdge)
    ]
    assert teeth == ([] if kind is Points else [(2, 4)])


def test_a_key_has_what_can_be_seen() -> None:
    assert list(mountain().key()) == [(MAPS, "maps")]
    assert list(mountain().key(tall=1)) == []
