"""A placement told: figures, turns, holes, overlaps, what is said of it, and what runs with it."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import memlab
from memlab import strings
from memlab.errors import InputError
from memlab.networks.builder import network
from memlab.pictures.addresses.packed_step import (
    OFFERED,
    TOY_NAME,
    Subject,
    differences,
    run_map,
    say_how,
    subject_of,
)
from memlab.pictures.addresses.packing import MOST, SHARE, Packing, shortly
from memlab.pictures.values import number_text as figures
from memlab.placement.placement import HOWS, TOY, arrange

MIB = 2**20
ORDERS = ("no reuse", "birth", "biggest", "best fit", "exact")
by_how = pytest.mark.parametrize("how", ORDERS)


def small(channels=4):
    x = network("small", image=(3, 12, 12)).conv(channels, 3, pad=1, name="conv1").relu()
    x = x.conv(channels, 3, pad=1, name="conv2").relu().max_pool(2)
    return x.flatten().linear(10).cross_entropy()


STEP = memlab.training_step(small(), "sgd").keep("gradients")
SUBJECT = subject_of(STEP)
TINY = memlab.training_step(
    memlab.network("tiny", features=3).linear(4).relu().linear(2).squared_error(), "sgd"
)


def packing(subject: Subject | str = TOY_NAME, how="birth", batch=1):
    found = subject_of(subject) if isinstance(subject, str) else subject
    return Packing(found, batch, found.placement(batch, how))


def by_hand(addresses=None, **moved):
    made = arrange(TOY, "birth")
    hand = replace(made, addresses=addresses, how="by hand") if addresses else made
    for name, address in moved.items():
        hand = hand.moved(name, address)
    return Packing(subject_of(TOY_NAME), 1, hand, made=made)


def several():
    """The toy in every placing, networks with and without reuse, a few bytes, faults."""
    yield from (packing(how=how) for how in ORDERS)
    yield packing("mnist_cnn", "best", 32)
    yield packing(subject_of("mnist_cnn").in_place, "no reuse", 32)
    yield packing(SUBJECT, "best fit", 3)
    yield packing(subject_of("resnet50").in_place, "best", 16)
    yield packing(subject_of(TINY), "birth", 8)
    yield packing(subject_of(memlab.recompute(STEP, "cheap")).in_place, "best", 3)
    yield by_hand(D=0)
    yield by_hand((0,) * 6)


# -- figures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "arena", "wanted"),
    [
        ("no reuse", 13, {"A": 0, "B": 1, "C": 3, "D": 4, "E": 7, "F": 9}),
        ("birth", 13, {"A": 0, "B": 1, "C": 3, "D": 4, "E": 7, "F": 9}),
        ("biggest", 8, {"F": 0, "D": 0, "B": 3, "E": 5, "A": 0, "C": 7}),
        ("exact", 8, {}),
    ],
)
def test_the_toy_lies_where_the_facts_say(how, arena, wanted):
    found = packing(how=how)
    map_ = found.placement
    assert map_.arena == arena * MIB
    assert (map_.lower_bound, map_.busiest + 1, map_.total) == (8 * MIB, 5, 13 * MIB)
    assert [n // MIB for n in found.alive] == [1, 3, 4, 4, 8, 7, 6, 4]
    assert {name: found.by_name[name].address // MIB for name in wanted} == wanted


@pytest.mark.parametrize("found", list(several()))
def test_live_bytes_are_those_of_the_plan_and_no_arena_is_below_them(found):
    map_ = found.placement
    assert max(found.alive) == map_.lower_bound
    assert found.alive.index(map_.lower_bound) == map_.busiest
    for operation in range(found.subject.operations):
        assert sum(each.size for each in found.at(operation)) == found.alive[operation]
    assert map_.arena == max(each.top for each in found.blocks)
    if found.made is None:
        assert map_.arena >= map_.lower_bound
        assert found.overlaps == ()


@pytest.mark.parametrize("step", [TINY, STEP, memlab.in_place(STEP)])
def test_what_lies_outside_is_what_the_plan_has_before_the_step(step):
    found, ledger = packing(subject_of(step), "best", 8), memlab.plan(step)
    there = sum(tensor.storage.size.at(8) for tensor in step.live_in)
    assert found.subject.before(8) == ledger.before(8)[0] == there
    assert {entry.name for entry in found.subject.outside}.isdisjoint(found.by_name)
    deaths = [entry.death for entry in found.subject.outside]
    assert deaths == sorted(deaths, reverse=True)
    assert figures.in_binary(there) in found.text()


@pytest.mark.parametrize("step", [TINY, STEP, memlab.in_place(STEP)])
def test_true_bytes_with_what_lies_outside_are_the_bytes_of_the_plan(step):
    found, timeline = packing(subject_of(step), "best", 5), memlab.plan(step).timeline(5)
    for operation, nbytes in enumerate(timeline):
        there = [e for e in found.subject.outside if e.death >= operation]
        assert found.true[operation] + sum(e.size.at(5) for e in there) == nbytes


def test_true_bytes_and_rounded_ones_are_told_apart():
    found = packing(subject_of(TINY), "birth", 8)
    alive = [block for block in found.placement.blocks
             if block.birth <= found.placement.busiest <= block.death]  # fmt: skip
    true, rounded = sum(b.nbytes for b in alive), sum(-(-b.nbytes // 64) * 64 for b in alive)
    assert (true, rounded) == (428, 576)
    assert (
        f"{true} B together. Each is rounded up to a multiple of 64 B: {rounded} B" in found.text()
    )
    assert found.true[found.placement.busiest] == true
    assert found.rounds
    assert not packing().rounds
    assert packing().true == packing().alive
    assert "rounded" not in packing().text()
    (loss,) = (block for block in found.as_dict()["blocks"] if block["name"] == "loss")
    assert loss["bytes"] == 4
    assert loss["place"][3] - loss["place"][2] == 64


@pytest.mark.parametrize("found", list(several()))
def test_what_is_said_fits_into_json_and_its_figures_into_the_text(found):
    said = found.as_dict()
    json.dumps(said)
    assert said["arena_bytes"] == found.placement.arena
    assert len(said["overlaps"]) == len(found.overlaps)
    assert max(block["place"][3] for block in said["blocks"]) == found.placement.arena
    for nbytes in (found.placement.arena, found.placement.lower_bound, found.placement.total):
        assert f"{nbytes:,} B" in found.text()


def test_blocks_stand_for_themselves_from_half_a_percent_on():
    found = packing("resnet50", "best", 32)
    large = {each.name for each in found.large}
    for each in found.blocks:
        assert (each.name in large) is (each.size * SHARE >= found.placement.arena)
    assert 20 < len(found.large) <= MOST


def test_who_shares_addresses_is_never_alive_at_the_same_time():
    found = packing("mnist_cnn", "best", 32)
    shared = {each.name: found.sharing(each) for each in found.blocks}
    assert any(shared.values())
    for each in found.blocks:
        for other in shared[each.name]:
            assert not each.lives_with(other)
            assert each in shared[other.name]


def test_kept_for_backward_is_born_before_backward_and_read_in_it():
    kinds = {each.name: each.kind for each in packing(SUBJECT, "best", 2).blocks}
    assert kinds["conv1"] == "short"
    assert kinds["relu1"] == "kept"
    assert kinds["gradient of conv1"] == "gradient_map"
    assert kinds["gradient of conv1.weight"] == "parameter_gradient"


# -- what is packed -----------------------------------------------------------------------------


def test_a_subject_is_made_once_by_name_and_once_in_place():
    for name in OFFERED:
        found = subject_of(name)
        assert found is subject_of(name)
        assert found.name == name
        if not found.toy:
            assert found.in_place is found.in_place
            assert found.in_place.label == found.label
    assert subject_of(small()).name == SUBJECT.name == "small"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("resnet5", "did you mean"),
        (3, "give the toy, a network or a step, got 3; try 'resnet50'."),
    ],
)
def test_what_cannot_be_packed_gets_one_sentence(wrong, says):
    with pytest.raises(InputError, match=re.escape(says)):
        subject_of(wrong)
    with pytest.raises(InputError, match="the toy has no operations that run in place"):
        _ = subject_of(TOY_NAME).in_place


def test_every_way_to_place_has_a_name():
    assert set(HOWS) == {*ORDERS, "best"}
    assert all(strings.has(f"addresses.how.{how.replace(' ', '_')}") for how in HOWS)
    assert say_how("best fit") == "best fit"


# -- how it was packed --------------------------------------------------------------------------


@by_how
def test_the_story_tells_free_places_that_are_free(how):
    found = packing(how=how)
    for count in range(1, 7):
        told = found.turn(count)
        before = [each for each in found.turns[: count - 1] if each.lives_with(told.placed)]
        for low, high in told.holes:
            assert all(each.top <= low or each.address >= high for each in before)
        if told.refused:
            assert told.refused == told.holes
            assert all(high - low < told.placed.size for low, high in told.holes)
            assert told.placed.address == max(each.top for each in before)
            assert "on top" in told.text()


def test_the_toy_in_order_of_birth_shows_why_nothing_is_saved():
    found = packing()
    assert found.story(6) == [
        "A at 0, B at 1, C at 3, D at 4, E at 7, F at 9",
        "F needs 4 MiB. Free while it lives: 3 MiB and 3 MiB. Too small, so it goes on top, "
        "to 9 MiB.",
    ]
    assert found.story(0) == ["", "The arena is empty."]
    assert [(low // MIB, high // MIB) for low, high in found.turn(6).refused] == [(0, 3), (4, 7)]
    assert packing(how="biggest").story(6) == [
        "F at 0, D at 0, B at 3, E at 5, A at 0, C at 7",
        "F and D share addresses: they never live at the same time.",
    ]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("birth", "Nothing is shared: 13 MiB, though only 8 MiB live at once"),
        ("biggest", "13 MiB of tensors share 8 MiB: no arena can be smaller"),
    ],
)
def test_the_headline_is_what_the_placing_gives(how, says):
    assert packing(how=how).headline(6) == says
    assert packing(how=how).headline(1).startswith("1 of 6 blocks lie: ")


@pytest.mark.parametrize(
    ("nbytes", "wanted"),
    [(0, "0 B"), (1, "1 B"), (1000, "0.98 KiB"), (13 * MIB, "13 MiB"), (1_377_881_600, "1.28 GiB"),
     (999 * MIB, "999 MiB"), (214_302_656, "204 MiB"), (2**80, "1,099,511,627,776 TiB")],
)  # fmt: skip
def test_three_digits(nbytes, wanted):
    assert shortly(nbytes) == wanted


def test_what_was_moved_by_hand_is_said():
    assert by_hand(D=0).story(6) == ["Moved by hand: D."]
    assert by_hand(D=4 * MIB).story(6) == ["Moved by hand: –."]
    assert by_hand(D=0, A=4 * MIB).moved == (
        (by_hand(A=4 * MIB).by_name["A"], 0),
        (by_hand(D=0).by_name["D"], 4 * MIB),
    )


# -- faults and the optimum ---------------------------------------------------------------------


def test_an_overlap_is_said():
    found = by_hand(D=0)
    (fault,) = found.overlaps
    assert (fault.one.name, fault.other.name) == ("B", "D")
    assert (fault.first, fault.last, fault.low, fault.high) == (4, 4, MIB, 3 * MIB)
    assert found.faults() == ["B and D both live at operation 5."]
    assert found.faults()[0] in found.text()
    assert found.score().endswith("This map does not count: blocks overlap.")
    told = {name: found.about(found.by_name[name])[3:] for name in "BDE"}
    assert told["B"][0] == "lies over D at a time when both live: a fault"
    assert told["D"][0] == "lies over B at a time when both live: a fault"
    assert not any("fault" in each for each in told["E"])
    assert "no other block uses these addresses" not in told["B"] + told["D"]
    many = by_hand((0,) * 6)
    assert len(many.faults()) == 3
    assert many.faults()[-1] == f"{len(many.overlaps) - 2} more pairs overlap."


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("birth", "Your top: 13 MiB. {} You are 5 MiB above it."),
        ("biggest", "Your top: 8 MiB. {} No map is smaller."),
    ],
)
def test_the_score_is_held_to_the_exact_optimum(how, says):
    found = packing(how=how)
    assert found.best == (arrange(TOY, "exact").arena, True)
    assert found.score() == says.format("Lower bound: 8 MiB. Exact optimum: 8 MiB.")


def test_the_optimum_of_a_step_is_the_best_known_unless_it_is_the_bound():
    found = packing("mnist_cnn", "birth", 32)
    best = found.subject.placement(32, "best")
    assert found.best == (best.arena, best.arena == best.lower_bound)
    assert ("Best known" in found.score()) is (best.arena > best.lower_bound)


# -- running ------------------------------------------------------------------------------------


def test_the_toy_does_not_run_and_a_long_step_is_refused():
    for name, says in (
        (TOY_NAME, "no arithmetic"),
        ("vgg16", "GFLOP"),
    ):
        found = packing(name, batch=32)
        with pytest.raises(InputError, match=says):
            run_map(found.subject, found.placement, found.batch)


@pytest.mark.measures
@pytest.mark.parametrize("how", ["no reuse", "birth", "best"])
@pytest.mark.parametrize("inside", [False, True])
def test_the_step_runs_at_these_addresses_with_the_same_gradients(how, inside):
    subject = SUBJECT.in_place if inside else SUBJECT
    placement = subject.placement(2, how)
    ran = run_map(subject, placement, 2)
    assert ran.placement == placement
    assert ran.arena == placement.arena
    assert ran.same_loss
    assert ran.what == "gradients"
    assert ran.wrong == ()
    assert {found.name for found in ran.differences} == set(memlab.run(STEP, 2).gradients)
    assert ran.nan == ()
    assert "all the same" in str(ran)
    assert "no operation read it" in str(ran)
    assert json.loads(json.dumps(ran.as_dict()))["arena"] == ran.arena


@pytest.mark.measures
def test_an_inference_has_predictions_and_no_loss():
    subject = subject_of(memlab.inference_step(memlab.zoo.mnist_cnn()))
    ran = run_map(subject, subject.placement(2, "birth"), 2)
    assert (ran.loss, ran.what, ran.wrong, ran.nan) == (None, "predictions", (), ())
    assert "1 predictions compared bit for bit: all the same" in str(ran)
    assert "oss" not in str(ran)


@pytest.mark.measures
def test_nan_that_may_be_of_the_training_is_not_said_to_be_read():
    ran = run_map(SUBJECT, SUBJECT.placement(2, "birth"), 2)
    said = str(replace(ran, unclear=("backward of fc3",)))
    assert "these operations wrote NaN: backward of fc3. Too little memory is free" in said
    assert "read it" not in said


@pytest.mark.measures
def test_a_loss_that_is_nan_in_both_runs_is_the_same():
    ran = run_map(SUBJECT, SUBJECT.placement(2, "birth"), 2)
    nan = replace(ran, loss=float("nan"), expected=float("nan"))
    assert nan.same_loss
    assert not replace(ran, loss=float("nan")).same_loss
    assert str(nan).count("bit for bit") == str(ran).count("bit for bit") >= 1


@pytest.mark.measures
def test_a_fault_is_silent_the_same_loss_and_wrong_gradients():
    found = packing(SUBJECT, "best", 2)
    passing, address = found.broken()
    hand = found.placement.moved(passing.name, address)
    assert len(replace(found, placement=hand, made=found.placement).overlaps) == 1
    ran = run_map(SUBJECT, hand, 2)
    assert ran.same_loss
    assert ran.faults == 1
    assert 0 < len(ran.wrong) < len(ran.differences)
    first = ran.wrong[0]
    assert f"{first.name}: {first.values:,} of {first.of:,} values differ." in ran.sentences()
    assert "silent" in str(ran)


def test_bits_are_compared_not_values():
    wanted = {"a": np.array([0.0, np.nan, 1.0], np.float32)}
    got = {"a": np.array([-0.0, np.nan, 1.0], np.float32)}
    assert differences(wanted, got)[0].values == 1
