"""Placements against brute force: nothing overlaps, no arena is below the bound, the toy's map."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab import InputError
from memlab.networks.builder import network
from memlab.placement import exact_packing, integer_program, packing
from memlab.placement.free_addresses import BookedAddresses, Gaps
from memlab.placement.packing import Load
from memlab.placement.placement import HOWS, TOY, Block, Placement, arrange, blocks, place
from memlab.step.step import Step
from memlab.step.storage import HOST, Size
from memlab.step.tensor import Role
from tests.drawn import examples
from tests.networks_at_random import networks
from tests.rows import every_row

MIB = 2**20
REUSING = tuple(how for how in HOWS if how not in ("no reuse", "exact"))


def rounded(nbytes: int, alignment: int) -> int:
    return (nbytes + alignment - 1) // alignment * alignment


@st.composite
def some_blocks(draw: st.DrawFn, most: int = 12, bytes_: int = 1000) -> tuple[Block, ...]:
    found = []
    for number in range(draw(st.integers(0, most))):
        birth = draw(st.integers(0, 9))
        life = draw(st.integers(0, 6))
        found.append(Block(f"t{number}", draw(st.integers(0, bytes_)), birth, birth + life))
    return tuple(found)


def in_operations(placement: Placement) -> list[dict[str, range]]:
    """For each operation, the bytes of every block alive in it."""
    last = max((block.death for block in placement.blocks), default=-1)
    return [
        {
            block.name: range(at, at + rounded(block.nbytes, placement.alignment))
            for block, at in zip(placement.blocks, placement.addresses, strict=True)
            if block.birth <= operation <= block.death
        }
        for operation in range(last + 1)
    ]


def brute_overlaps(placement: Placement) -> set[frozenset[str]]:
    return {
        frozenset((one, other))
        for alive in in_operations(placement)
        for one, other in combinations(alive, 2)
        if max(alive[one].start, alive[other].start) < min(alive[one].stop, alive[other].stop)
    }


def lowest_of_all_orders(given: tuple[Block, ...], alignment: int) -> int:
    """The smallest arena that any order gives, each block as low as those before it allow."""
    best = None
    for order in permutations(given):
        placed: list[tuple[Block, int, int]] = []
        for block in order:
            size = rounded(block.nbytes, alignment)
            meets = [
                (start, end)
                for other, start, end in placed
                if other.birth <= block.death and block.birth <= other.death
            ]
            starts = sorted({0, *(end for _, end in meets)})
            at = next(
                start
                for start in starts
                if all(start + size <= low or high <= start for low, high in meets)
            )
            placed.append((block, at, at + size))
        top = max((end for _, _, end in placed), default=0)
        best = top if best is None else min(best, top)
    return best or 0


# -- the toy ------------------------------------------------------------------------------------


def test_the_toy_is_that_of_the_packing_table():
    alive = [
        sum(block.nbytes for block in TOY if block.birth <= t <= block.death) for t in range(8)
    ]
    assert [nbytes // MIB for nbytes in alive] == [1, 3, 4, 4, 8, 7, 6, 4]


@every_row(
    ("how", "addresses", "order"),
    [
        ("no reuse", {"A": 0, "B": 1, "C": 3, "D": 4, "E": 7, "F": 9}, "ABCDEF"),
        ("birth", {"A": 0, "B": 1, "C": 3, "D": 4, "E": 7, "F": 9}, "ABCDEF"),
        ("best fit", {"A": 0, "B": 1, "C": 3, "D": 4, "E": 7, "F": 9}, "ABCDEF"),
        ("biggest", {"F": 0, "D": 0, "B": 3, "E": 5, "A": 0, "C": 7}, "FDBEAC"),
    ],
)
def test_the_toy_is_placed_as_in_the_packing_table(how, addresses, order):
    found = arrange(TOY, how)
    assert {block.name: found.address(block.name) // MIB for block in TOY} == addresses
    assert "".join(found.blocks[number].name for number in found.order) == order
    assert found.arena == max(addresses[block.name] * MIB + block.nbytes for block in TOY)
    assert (found.lower_bound, found.busiest, found.total) == (8 * MIB, 4, 13 * MIB)
    assert found.waste == found.arena - 8 * MIB


@pytest.mark.parametrize("how", ["exact", "best"])
def test_the_best_of_the_toy_is_the_lower_bound(how):
    assert arrange(TOY, how).arena == 8 * MIB


def test_best_fit_takes_the_smallest_gap_and_birth_the_lowest():
    given = (
        Block("wide", 192, 0, 0),
        Block("a", 64, 0, 2),
        Block("narrow", 64, 0, 0),
        Block("b", 64, 0, 2),
        Block("c", 64, 1, 2),
        Block("d", 192, 2, 2),
    )
    lowest, smallest = arrange(given, "birth"), arrange(given, "best fit")
    assert lowest.address("c") == lowest.address("wide")
    assert smallest.address("c") == smallest.address("narrow")
    assert lowest.arena == smallest.arena + 192


# -- against brute force ------------------------------------------------------------------------


@given(some_blocks(), st.sampled_from([1, 3, 64]))
@examples(150)
def test_no_placement_overlaps_or_lies_below_the_bound(given_blocks, alignment):
    for how in HOWS:
        found = arrange(given_blocks, how, alignment)
        alive = [sum(map(len, at.values())) for at in in_operations(found)]
        assert brute_overlaps(found) == set() == set(found.overlaps())
        assert all(address % alignment == 0 for address in found.addresses)
        assert found.lower_bound == max(alive, default=0)
        assert found.busiest == (alive.index(max(alive)) if any(alive) else 0)
        ends = [bytes_.stop for at in in_operations(found) for bytes_ in at.values()]
        assert found.arena == max(ends, default=0) >= found.lower_bound
        assert found.total == sum(rounded(block.nbytes, alignment) for block in given_blocks)
        assert sorted(found.order) == list(range(len(given_blocks)))
        assert arrange(given_blocks, how, alignment) == found
        assert (found.how, found.alignment, found.blocks) == (how, alignment, given_blocks)


@given(some_blocks(most=5, bytes_=9))
@examples(40)
def test_the_exact_arena_is_that_of_the_best_of_all_orders(given_blocks):
    found = arrange(given_blocks, "exact", 1)
    assert found.arena == lowest_of_all_orders(given_blocks, 1)


@given(some_blocks(bytes_=9))
@examples(40)
def test_the_exact_arena_is_no_larger_than_any_other(given_blocks):
    least = arrange(given_blocks, "exact", 1).arena
    assert all(least <= arrange(given_blocks, how, 1).arena for how in HOWS)
    bests = [arrange(given_blocks, how, 1).arena for how in ("biggest", "birth")]
    assert arrange(given_blocks, "best", 1).arena <= min(bests)


def test_the_program_finds_what_no_tried_order_gave():
    given_blocks = (
        Block("a", 2, 2, 5),
        Block("b", 3, 4, 5),
        Block("c", 4, 0, 2),
        Block("d", 3, 2, 5),
        Block("e", 2, 4, 4),
    )
    best, least = (arrange(given_blocks, how, 1) for how in ("best", "exact"))
    assert (best.waste, least.waste) == (1, 0)
    assert least.overlaps() == ()


@given(some_blocks(most=8, bytes_=5))
@examples(60)
def test_the_program_proves_what_a_search_found_or_betters_it(given_blocks):
    """The solver itself, also where a packing at the bound needs no proof."""
    filled = [block for block in given_blocks if block.nbytes]
    if not filled:
        return
    load = Load(
        [block.nbytes for block in filled],
        [block.birth for block in filled],
        [block.death for block in filled],
    )
    known = load.top(packing.stacked(load, packing.by_birth(load)))
    order, addresses = exact_packing.solve(load, known)
    assert addresses == packing.first_fit(load, order)
    assert load.bound()[0] <= load.top(addresses)
    assert load.top(addresses) <= load.top(packing.search(load, 0)[1])


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(0, 9)), max_size=15))
@examples(100)
def test_the_tree_finds_the_lowest_free_address(takes):
    taken = BookedAddresses(10)
    used: list[set[int]] = [set() for _ in range(10)]
    for size, one, other in takes:
        birth, death = sorted((one, other))
        at_any = set().union(*used[birth : death + 1])
        start = next(a for a in range(200) if at_any.isdisjoint(range(a, a + size)))
        assert taken.lowest(size, birth, death) == start
        taken.take(start, start + size, birth, death)
        for operation in range(birth, death + 1):
            used[operation].update(range(start, start + size))


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=40))
@examples(100)
def test_gaps_are_joined_and_the_smallest_is_taken(turns):
    alive: list[tuple[int, int]] = []
    gaps, free = Gaps(1000), set(range(1000))
    for size, frees in turns:
        if frees and alive:
            start, length = alive.pop(size % len(alive))
            gaps.give(start, start + length)
            free.update(range(start, start + length))
            continue
        starts = [a for a in sorted(free) if a - 1 not in free]
        lengths = {a: next(n for n in range(1, 1001) if a + n not in free) for a in starts}
        due = min((length, a) for a, length in lengths.items() if length >= size)[1]
        assert gaps.take(size) == due
        free.difference_update(range(due, due + size))
        alive.append((due, size))


# -- rounding, overlaps, moves ------------------------------------------------------------------


def test_sizes_are_rounded_up_to_the_alignment():
    given_blocks = (Block("a", 1, 0, 1), Block("b", 65, 0, 1), Block("none", 0, 0, 1))
    found = arrange(given_blocks, "no reuse")
    assert found.addresses == (0, 64, 192)
    assert found.arena == found.lower_bound == found.total == 64 + 128
    assert arrange(given_blocks, "no reuse", alignment=1).arena == 66
    assert arrange(given_blocks, "best").overlaps() == ()


def test_sizes_beyond_64_bits_are_exact():
    found = arrange([Block("a", 2**70 + 1, 0, 1), Block("b", 2**70, 1, 2), Block("c", 1, 2, 2)])
    assert found.arena == 2**71 + 64
    assert found.overlaps() == ()


@every_row("how", HOWS)
def test_no_block_is_a_placement_of_0_bytes(how):
    found = arrange((), how)
    assert (found.arena, found.lower_bound, found.waste, found.busiest) == (0, 0, 0, 0)
    assert found.overlaps() == ()
    assert str(found) == "Arena 0 MiB, lower bound 0 MiB, waste 0 MiB."


@given(some_blocks(), st.data())
@examples(100)
def test_a_block_moved_over_others_is_found(given_blocks, data):
    found = arrange(given_blocks)
    for block in given_blocks:
        address = data.draw(st.integers(0, found.arena // 64)) * 64
        moved = found.moved(block.name, address)
        assert moved.address(block.name) == address
        assert {frozenset((a.name, b.name)) for a, b in moved.overlaps()} == brute_overlaps(moved)
        assert moved.how == "by hand"
        assert moved.moved(block.name, found.address(block.name)).addresses == found.addresses


def test_a_planted_overlap_is_seen():
    found = arrange(TOY, "biggest").moved("A", 3 * MIB)
    assert [(one.name, other.name) for one, other in found.overlaps()] == [("A", "B")]


# -- steps --------------------------------------------------------------------------------------


@given(networks(), st.integers(1, 64), st.booleans())
@examples(40)
def test_what_is_born_in_a_step_is_what_its_plan_lists(net, batch, training):
    step = memlab.training_step(net) if training else memlab.inference_step(net)
    ledger = memlab.plan(step) if step.ops else None
    entries = [e for e in ledger.entries if e.birth >= 0] if ledger else []
    last = len(step.ops) - 1
    due = sorted((e.size.at(batch), e.birth, min(e.death, last)) for e in entries)
    born = blocks(step, batch)
    assert sorted((b.nbytes, b.birth, b.death) for b in born) == due
    assert place(step, batch).overlaps() == ()
    names = {t.storage.name for op in step.ops for t in (*op.touched(), *op.workspace.values())}
    assert {b.name for b in born} == names - {t.storage.name for t in step.live_in}


def elsewhere(step: Step, name: str) -> Step:
    """The same step with one storage in host memory."""

    def moved(operands):
        return {
            key: replace(t, storage=replace(t.storage, memory=HOST))
            if t.storage.name == name
            else t
            for key, t in operands.items()
        }

    ops = tuple(
        replace(op, reads=moved(op.reads), writes=moved(op.writes), updates=moved(op.updates))
        for op in step.ops
    )
    return replace(step, ops=ops)


def test_storages_in_another_memory_have_no_address():
    step = memlab.training_step(network("two", features=8).linear(4).tanh().squared_error())
    name = next(
        tensor.storage.name
        for op in step.ops
        for tensor in op.writes.values()
        if tensor.role is Role.FEATURE_MAP and tensor.storage.size != Size(4)
    )
    kept = {block.name for block in blocks(step, 3)}
    assert {block.name for block in blocks(elsewhere(step, name), 3)} == kept - {name}


QUICK = ["mnist_cnn", "alexnet", "vgg16", "resnet18", "googlenet_bn"]


@pytest.mark.parametrize("name", QUICK)
def test_the_best_arena_is_near_the_lower_bound(name):
    step = memlab.training_step(memlab.zoo.build(name))
    for batch, percent in ((1, 6), (2, 6), (8, 3), (32, 3)):
        found = memlab.place(step, batch)
        assert found.overlaps() == ()
        assert 100 * found.waste <= percent * found.lower_bound
        assert found.lower_bound >= memlab.plan(step).peak(batch) - sum(
            entry.size.at(batch) for entry in memlab.plan(step).entries if entry.birth < 0
        )


@every_row("name", ["linear1", "mnist_cnn"])
@every_row("batch", [1, 2, 32])
def test_tiny_networks_are_placed_exactly(name, batch):
    step = memlab.training_step(memlab.zoo.build(name))
    found = memlab.place(step, batch, "exact")
    assert found.overlaps() == ()
    assert found.arena <= min(memlab.place(step, batch, how).arena for how in REUSING)


# -- words --------------------------------------------------------------------------------------


def test_a_placement_in_one_sentence():
    assert str(arrange(TOY, "birth")) == (
        "Arena 13 MiB, lower bound 8 MiB (operation 5 of 8), waste 5 MiB."
    )
    small = arrange([Block("a", 1000, 0, 0), Block("b", 2_000_000, 1, 1)])
    assert str(small) == "Arena 2.0 MB, lower bound 2.0 MB (operation 2 of 2), waste 0 B."


def test_the_table_names_who_shares_an_address():
    heading, columns, *rows = arrange(TOY, "biggest").text().split("\n")
    assert heading.startswith("Arena 8 MiB")
    assert columns.split("  ")[0] == "name"
    assert [row.split() for row in rows[:4]] == [
        ["A", "1,048,576", "1", "4", "0", "D,", "F"],
        ["B", "2,097,152", "2", "5", "3,145,728", "F"],
        ["C", "1,048,576", "3", "6", "7,340,032", "-"],
        ["D", "3,145,728", "5", "5", "0", "A,", "F"],
    ]
    assert arrange(TOY, "birth").text(most=2).split("\n")[-1] == "4 others"
    many = [Block(f"t{n}", 64, n, n) for n in range(6)]
    assert arrange(many).text().split("\n")[2].endswith("t1, t2, t3, 2 others")


# -- bad input ----------------------------------------------------------------------------------


@every_row(
    ("given_blocks", "says"),
    [
        ([Block("a", 64, 2, 1)], "a is born in operation 2 and dies before, in 1"),
        ([Block("a", 64, 0, 1), Block("a", 64, 2, 3)], "two blocks are named 'a'; rename one."),
        ([Block("a", -1, 0, 1)], "the size of a must be at least 0, got -1"),
        ([Block("a", 1.5, 0, 1)], "the size of a must be a whole number, got 1.5"),  # type: ignore[arg-type]  # wrong on purpose
        ([Block("a", 64, -1, 1)], "the birth of a must be at least 0, got -1"),
        ([Block("a", 64, 0, None)], "the death of a must be a whole number, got None"),  # type: ignore[arg-type]  # wrong on purpose
        ([Block(["a"], 64, 0, 1)], "a block has a text as its name, got"),  # type: ignore[arg-type]  # wrong on purpose
        (["a"], "blocks are placed, got 'a'"),
        (None, "blocks are placed, got None"),
    ],
)
def test_bad_blocks_are_refused(given_blocks, says):
    with pytest.raises(InputError, match="^" + says.replace(".", r"\.")):
        arrange(given_blocks)


def test_bad_choices_are_refused():
    for how in ("bigest", None, 3):
        with pytest.raises(InputError, match="unknown way to place"):
            arrange(TOY, how)  # type: ignore[arg-type]  # wrong on purpose
    for alignment in (0, -64, 1.5, "64"):
        with pytest.raises(InputError, match="alignment must be"):
            arrange(TOY, alignment=alignment)  # type: ignore[arg-type]  # wrong on purpose


def test_bad_steps_and_batches_are_refused():
    net = memlab.zoo.build("linear1")
    step = replace(memlab.training_step(net), batches=range(8, 17))
    with pytest.raises(InputError, match="a placement is of a step"):
        place(net, 32)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InputError, match="batch must be at least 1, got 0"):
        place(step, 0)
    with pytest.raises(InputError, match="this step holds for batch 8 to 16, got 17"):
        place(step, 17)
    assert place(step, 16).overlaps() == ()


@every_row(
    ("name", "address", "says"),
    [
        ("G", 0, "unknown block 'G'"),
        ("A", -64, "address must be at least 0, got -64"),
        ("A", 100, "an address must be a multiple of 64 B, got 100; try 64."),
        ("A", "top", "address must be a whole number"),
    ],
)
def test_bad_moves_are_refused(name, address, says):
    with pytest.raises(InputError, match=says.replace(".", r"\.")):
        arrange(TOY).moved(name, address)
    with pytest.raises(InputError, match="unknown block 'G'"):
        arrange(TOY).address("G")


def test_too_many_blocks_for_a_proof_are_refused():
    load = Load([1] * 41, [0] * 41, [0] * 41)
    with pytest.raises(InputError, match="at most 40 blocks, got 41; try how='best'"):
        exact_packing.solve(load, 41)


def test_a_proof_that_takes_too_long_is_refused():
    step = memlab.training_step(memlab.zoo.build("mnist_cnn"))
    born = blocks(step, 8)
    load = Load([b.nbytes for b in born], [b.birth for b in born], [b.death for b in born])
    with pytest.raises(InputError, match=r"no proof of an optimum .* within 1e-09 s"):
        exact_packing.solve(load, sum(load.sizes), seconds=1e-9)


def test_the_solver_writes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """HiGHS has lines of its own, for the blocks of this step among others."""
    solved = integer_program.milp(
        "a test", c=[-1.0, -1.0], integrality=[1, 1], bounds=(0, 3), options={"disp": True}
    )
    assert solved.fun == -6
    assert capfd.readouterr().out == ""
    os.write(1, b"heard")
    assert capfd.readouterr().out == "heard"


@pytest.mark.measures
@pytest.mark.skipif(os.name != "posix", reason="a POSIX shell closes the output")
def test_the_solver_needs_no_output() -> None:
    code = "from memlab.placement.integer_program import milp\nassert milp('a', c=[1.0]).fun == 0"
    line = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", code]
    assert subprocess.run(line, check=False).returncode == 0
