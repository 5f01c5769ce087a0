"""What a framework holds longer than needed counts in its plan, and not for techniques."""

from dataclasses import replace

import memlab
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques.release import NOTE, rewritable
from tests.rows import every_row
from tests.unknown_kinds import a_map, by_hand, meaning, op, tensor

STEP = by_hand()
ODD = 7
F = Phase.FORWARD


def holding(step: Step, name: str, last: int) -> Step:
    """A block is held to an operation that does not need it."""
    held = step.lifetimes[name].tensor
    ops = [replace(each, holds={"held": held}) if n == last else each
           for n, each in enumerate(step.ops)]  # fmt: skip
    return replace(step, ops=tuple(ops))


def test_a_plan_counts_what_is_held():
    last = len(STEP.ops) - 1
    held = holding(STEP, "turn2", last)
    before, after = memlab.plan(STEP), memlab.plan(held)
    life = held.lifetimes["turn2"]
    assert life.death == last > STEP.lifetimes["turn2"].death
    more = [b - a for a, b in zip(before.timeline(ODD), after.timeline(ODD), strict=True)]
    size = life.size.at(ODD)
    assert more == [size * (STEP.lifetimes["turn2"].death < n <= last) for n in range(last + 1)]
    (entry,) = (each for each in after.entries if each.name == "turn2")
    assert after.needed_by(entry) == STEP.ops[last].name


def test_released_it_is_the_step_that_holds_nothing():
    held = holding(holding(STEP, "turn2", 20), "pixels", 22)
    found = memlab.release(held)
    assert replace(found, notes=()) == STEP
    assert found.notes == (NOTE,)
    assert memlab.release(STEP) is STEP
    assert rewritable(STEP) is STEP


def test_techniques_do_not_wait_for_it():
    held = holding(STEP, "turn2", len(STEP.ops) - 1)
    for technique in (memlab.recompute, memlab.offload, lambda step: memlab.accumulate(step, 2)):
        assert memlab.plan(technique(held)).peak(ODD) == memlab.plan(technique(STEP)).peak(ODD)


def in_place_step(statistics: bool = True) -> Step:
    """A chain whose second operation writes over the map of the first, which moves statistics."""
    x, seen = a_map("pixels", Role.INPUT), tensor("seen", (("F", 8),), Role.BUFFER)
    maps = [a_map(f"map{n}") for n in range(4)]
    grads = [a_map(f"change{n}", Role.GRADIENT_MAP) for n in range(4)]
    ops = [
        op("norm", "norm", F, (x,), (maps[0],), (seen,) if statistics else ()),
        op("bend", "bend", F, (), (), (maps[0],)),
        op("turn", "turn", F, (maps[0],), (maps[1],)),
        op("bend 1", "bend", F, (), (), (maps[1],)),
        op("turn 1", "turn", F, (maps[1],), (maps[2],)),
        op("end", "end", Phase.LOSS, (maps[2],), (maps[3],)),
        op("back", "back", Phase.BACKWARD, (maps[3], maps[2]), (grads[2],)),
        op("back 1", "back", Phase.BACKWARD, (grads[2], maps[1]), (grads[1],)),
        op("back 0", "back", Phase.BACKWARD, (grads[1], maps[0]), (grads[0],)),
        op("take", "take", Phase.UPDATE, (grads[0],), (), (seen,)),
    ]
    return Step(tuple(ops), (seen, x), (seen,), network="by hand")


def test_each_value_gets_a_block_and_in_place_puts_them_together_again():
    step = in_place_step()
    apart = rewritable(step)
    assert not any(t.role is Role.FEATURE_MAP for each in apart.ops for t in each.updates.values())
    assert [t.name for t in apart.ops[1].writes.values()] == ["map0 changed"]
    assert [t.name for t in apart.ops[8].reads.values()] == ["change1", "map0 changed"]
    assert memlab.plan(apart).timeline(ODD) != memlab.plan(step).timeline(ODD)
    assert memlab.plan(memlab.in_place(apart)).timeline(ODD) == memlab.plan(step).timeline(ODD)


@every_row("how", ["every", "chain", "greedy"])
def test_recomputed_it_means_the_same(how):
    step = in_place_step(statistics=False)
    found = memlab.recompute(step, how, batch=None if how == "every" else ODD)
    assert meaning(found) == meaning(rewritable(step))
    assert len(found.ops) > len(step.ops)
