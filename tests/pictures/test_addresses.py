"""The address map: placements and what is said of them, the picture, keys and presses, and runs."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import memlab
from lessons import stored
from memlab import strings
from memlab.errors import InputError
from memlab.pictures.addresses.address_map import SMALL, TALL, block_paint
from memlab.pictures.addresses.packing import (
    MOST,
    OFFERED,
    SHARE,
    TOY_NAME,
    Packing,
    PackingSubject,
    placing_name,
    short_bytes,
    subject_of,
)
from memlab.pictures.addresses.running import ArenaRun, differences, run_map
from memlab.pictures.draw.marks import Rect, Rects
from memlab.pictures.draw.theme import PAINTS
from memlab.pictures.values import number_text as figures
from memlab.placement.placement import HOWS, TOY, arrange
from memlab.step.tensor import Role
from memlab.views import addresses
from tests.pictures.pages import MAP_STEP as STEP
from tests.pictures.pages import small_network

MIB = 2**20
ORDERS = ("no reuse", "birth", "biggest", "best fit", "exact")
SUBJECT = subject_of(STEP)
TINY = memlab.training_step(
    memlab.network("tiny", features=3).linear(4).relu().linear(2).squared_error(), "sgd"
)


def packing(subject: PackingSubject | str = TOY_NAME, how="birth", batch=1):
    chosen = subject_of(subject) if isinstance(subject, str) else subject
    return Packing(chosen, batch, chosen.placement(batch, how))


def by_hand(addresses=None, **moved):
    placement = arrange(TOY, "birth")
    hand = replace(placement, addresses=addresses, how="by hand") if addresses else placement
    for name, address in moved.items():
        hand = hand.moved(name, address)
    return Packing(subject_of(TOY_NAME), 1, hand, automatic=placement)


def several():
    """The toy, a few bytes, a network with reuse and in place, faults."""
    yield packing(how="biggest")
    yield packing(subject_of(TINY), "birth", 8)
    yield packing(subject_of(memlab.recompute(STEP, "cheap")).in_place, "best", 3)
    yield by_hand((0,) * 6)


# -- figures of a placement --------------------------------------------------------------------


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
    assert [n // MIB for n in found.live_bytes] == [1, 3, 4, 4, 8, 7, 6, 4]
    assert {name: found.by_name[name].address // MIB for name in wanted} == wanted


def test_live_bytes_are_those_of_the_plan_and_no_arena_is_below_them():
    for packed in several():
        map_ = packed.placement
        operations = range(packed.subject.operations)
        alive = [sum(block.size for block in packed.at(operation)) for operation in operations]
        assert max(alive) == map_.lower_bound
        assert alive.index(map_.lower_bound) == map_.busiest
        assert map_.arena == max(block.top for block in packed.blocks)
        if packed.automatic is None:
            assert map_.arena >= map_.lower_bound
            assert packed.overlaps == ()
        for nbytes in (map_.arena, map_.lower_bound, map_.total):
            assert f"{nbytes:,} B" in packed.sentences[0]


@pytest.mark.parametrize("step", [TINY, memlab.in_place(STEP)])
def test_what_lies_outside_is_what_the_plan_has_before_the_step(step):
    map_, ledger = packing(subject_of(step), "best", 8), memlab.plan(step)
    there = sum(tensor.storage.size.at(8) for tensor in step.live_in)
    assert map_.subject.before(8) == ledger.before(8)[0] == there
    assert {entry.name for entry in map_.subject.outside}.isdisjoint(map_.by_name)
    deaths = [entry.death for entry in map_.subject.outside]
    assert deaths == sorted(deaths, reverse=True)
    assert figures.in_binary(there) in " ".join(map_.sentences)
    for operation, nbytes in enumerate(ledger.timeline(8)):
        there = [e for e in map_.subject.outside if e.death >= operation]
        assert map_.live_bytes[operation] + sum(e.size.at(8) for e in there) == nbytes


def test_true_bytes_and_rounded_ones_are_told_apart():
    map_ = packing(subject_of(TINY), "birth", 8)
    alive = [block for block in map_.placement.blocks
             if block.birth <= map_.placement.busiest <= block.death]  # fmt: skip
    true, rounded = sum(b.nbytes for b in alive), sum(-(-b.nbytes // 64) * 64 for b in alive)
    assert (true, rounded) == (428, 576)
    sentence = f"{true} B together. Each is rounded up to a multiple of 64 B, which makes "
    assert f"{sentence}{rounded} B" in map_.sentences[1]
    assert map_.live_bytes[map_.placement.busiest] == true
    assert map_.rounds
    assert not packing().rounds
    assert "rounded" not in packing().sentences[1]
    loss = map_.by_name["loss"]
    assert (loss.block.nbytes, loss.size) == (4, 64)


def test_blocks_stand_for_themselves_from_half_a_percent_on():
    map_ = packing("resnet50", "best", 32)
    large = {block.name for block in map_.large}
    for block in map_.blocks:
        assert (block.name in large) is (block.size * SHARE >= map_.placement.arena)
    assert 20 < len(map_.large) <= MOST


def test_who_shares_addresses_is_never_alive_at_the_same_time():
    map_ = packing("mnist_cnn", "best", 32)
    shared = {block.name: map_.sharing(block) for block in map_.blocks}
    assert any(shared.values())
    for block in map_.blocks:
        for other in shared[block.name]:
            assert not block.lives_with(other)
            assert block in shared[other.name]


def test_kept_for_backward_is_born_before_backward_and_read_in_it():
    kinds = {block.name: block.kind for block in packing(SUBJECT, "best", 2).blocks}
    assert kinds["conv1"] == "short"
    assert kinds["relu1"] == "kept"
    assert kinds["gradient of conv1"] == "gradient_map"
    assert kinds["gradient of conv1.weight"] == "parameter_gradient"


# -- what is packed -----------------------------------------------------------------------------


def test_a_subject_is_made_once_by_name_and_once_in_place():
    for name in OFFERED:
        subject = subject_of(name)
        assert subject is subject_of(name)
        assert subject.name == name
        if not subject.toy:
            assert subject.in_place is subject.in_place
            assert subject.in_place.label == subject.label
    assert subject_of(small_network()).name == SUBJECT.name == "small"


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
    assert placing_name("best fit") == "best fit"


# -- how it was packed --------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["birth", "best fit"])
def test_the_story_tells_free_places_that_are_free(how):
    map_ = packing(how=how)
    for count in range(1, 7):
        turn = map_.turn(count)
        before = [block for block in map_.turns[: count - 1] if block.lives_with(turn.placed)]
        for low, high in turn.holes:
            assert all(block.top <= low or block.address >= high for block in before)
        if turn.refused:
            assert turn.refused == turn.holes
            assert all(high - low < turn.placed.size for low, high in turn.holes)
            assert turn.placed.address == max(block.top for block in before)
            assert "on top" in turn.text()


def test_the_toy_in_order_of_birth_shows_why_nothing_is_saved():
    map_ = packing()
    assert map_.story(6) == [
        "A at 0, B at 1, C at 3, D at 4, E at 7, F at 9",
        "F needs 4 MiB. While it is in memory, 3 MiB and 3 MiB are free. "
        "Each is too small, so it goes on top, to 9 MiB.",
    ]
    assert map_.story(0) == ["", "The arena is empty."]
    assert [(low // MIB, high // MIB) for low, high in map_.turn(6).refused] == [(0, 3), (4, 7)]
    assert packing(how="biggest").story(6) == [
        "F at 0, D at 0, B at 3, E at 5, A at 0, C at 7",
        "F and D share addresses: they are never in memory at the same time.",
    ]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("birth", "No addresses are shared: 13 MiB, though at most 8 MiB are in memory at once"),
        ("biggest", "13 MiB of tensors share 8 MiB: no arena can be smaller"),
    ],
)
def test_the_headline_is_what_the_placing_gives(how, says):
    assert packing(how=how).headline(6) == says
    assert packing(how=how).headline(1).startswith("1 of 6 blocks are placed: ")


def test_three_digits():
    digits = {0: "0 B", 1: "1 B", 1000: "0.98 KiB", 13 * MIB: "13 MiB", 214_302_656: "204 MiB",
              1_377_881_600: "1.28 GiB", 2**80: "1,099,511,627,776 TiB"}  # fmt: skip
    assert {nbytes: short_bytes(nbytes) for nbytes in digits} == digits


def test_what_was_moved_by_hand_is_said():
    assert by_hand(D=0).story(6) == ["Moved by hand: D."]
    assert by_hand(D=4 * MIB).story(6) == ["Moved by hand: –."]
    assert by_hand(D=0, A=4 * MIB).moved == (
        (by_hand(A=4 * MIB).by_name["A"], 0),
        (by_hand(D=0).by_name["D"], 4 * MIB),
    )


# -- faults and the optimum ---------------------------------------------------------------------


def test_an_overlap_is_said():
    map_ = by_hand(D=0)
    (fault,) = map_.overlaps
    assert (fault.one.name, fault.other.name) == ("B", "D")
    assert (fault.first, fault.last, fault.low, fault.high) == (4, 4, MIB, 3 * MIB)
    assert map_.faults() == ["B and D overlap, and both are in memory at operation 5."]
    assert map_.faults()[0] in map_.sentences
    assert map_.score().endswith("This map does not count: blocks overlap.")
    company = {name: map_.about(map_.by_name[name])[3:] for name in "BDE"}
    assert company["B"][0] == "overlaps D while both are in memory: a fault"
    assert company["D"][0] == "overlaps B while both are in memory: a fault"
    assert not any("fault" in line for line in company["E"])
    assert "no other block uses these addresses" not in company["B"] + company["D"]
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
    map_ = packing(how=how)
    assert map_.best == (arrange(TOY, "exact").arena, True)
    assert map_.score() == says.format("Lower bound: 8 MiB. Exact optimum: 8 MiB.")


def test_the_optimum_of_a_step_is_the_best_known_unless_it_is_the_bound():
    map_ = packing("mnist_cnn", "birth", 32)
    best = map_.subject.placement(32, "best")
    assert map_.best == (best.arena, best.arena == best.lower_bound)
    assert ("Best known" in map_.score()) is (best.arena > best.lower_bound)


# -- running ------------------------------------------------------------------------------------

RAN = ArenaRun(SUBJECT.placement(2, "birth"), 64, 2.5, 2.5, "gradients", (), 0, ())


def test_the_toy_does_not_run_and_a_long_step_is_refused():
    for name, says in (
        (TOY_NAME, "no arithmetic"),
        ("vgg16", "GFLOP"),
    ):
        map_ = packing(name, batch=32)
        with pytest.raises(InputError, match=says):
            run_map(map_.subject, map_.placement, map_.batch)


@pytest.mark.measures
def test_the_step_runs_at_these_addresses_with_the_same_gradients():
    subject = SUBJECT.in_place
    placement = subject.placement(2, "best")
    ran = run_map(subject, placement, 2)
    assert ran.placement == placement
    assert ran.arena == placement.arena
    assert ran.same_loss
    assert ran.what == "gradients"
    assert ran.wrong == ()
    assert {difference.name for difference in ran.differences} == set(memlab.run(STEP, 2).gradients)
    assert ran.nan == ()
    assert "all the same" in str(ran)
    assert "no operation read it" in str(ran)


@pytest.mark.measures
def test_an_inference_has_predictions_and_no_loss():
    subject = subject_of(memlab.inference_step(memlab.zoo.mnist_cnn()))
    ran = run_map(subject, subject.placement(2, "birth"), 2)
    assert (ran.loss, ran.what, ran.wrong, ran.nan) == (None, "predictions", (), ())
    assert "1 predictions compared bit for bit: all the same" in str(ran)
    assert "oss" not in str(ran)


def test_nan_that_may_be_of_the_training_is_not_said_to_be_read():
    text = str(replace(RAN, unclear=("backward of fc3",)))
    assert "these operations wrote NaN: backward of fc3. Too little memory is free" in text
    assert "read it" not in text


def test_a_loss_that_is_nan_in_both_runs_is_the_same():
    ran = RAN
    nan = replace(ran, loss=float("nan"), expected=float("nan"))
    assert nan.same_loss
    assert not replace(ran, loss=float("nan")).same_loss
    assert str(nan).count("bit for bit") == str(ran).count("bit for bit") >= 1


@pytest.mark.measures
def test_a_fault_is_silent_the_same_loss_and_wrong_gradients():
    map_ = packing(SUBJECT, "best", 2)
    passing, address = map_.silent_fault()
    hand = map_.placement.moved(passing.name, address)
    assert len(replace(map_, placement=hand, automatic=map_.placement).overlaps) == 1
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


# -- picture and text ---------------------------------------------------------------------------


def labels(view):
    return [label.content for label in view.page(960).svg().labels]


def test_the_toy_in_characters_is_the_map():
    view = addresses(how="biggest")
    text, map_ = view.text(), view.rows.packing
    levels = [line.split() for line in text.splitlines() if re.match(r" +\d+  [.A-F]", line)]
    assert "      1 2 3 4 5 6 7 8\n" in text
    assert len(levels) == map_.placement.arena // MIB
    for level, *cells in levels:
        for at, cell in enumerate(cells):
            here = [p.name for p in map_.at(at) if p.address <= int(level) * MIB < p.top]
            assert here == ([] if cell == "." else [cell])


def test_the_rectangles_of_the_map_are_the_addresses():
    view = addresses(how="biggest")
    boxes = {
        group.attrib["data-value"]: (float(rect.attrib["width"]), float(rect.attrib["height"]))
        for group in ET.fromstring(view.now_["shown"]["svg"]).iter()
        if group.get("data-send") == "choose"
        for rect in group
    }
    assert set(boxes) == set("ABCDEF")
    one, _ = boxes["D"]
    for name, (wide, tall) in boxes.items():
        placed = view.rows.packing.by_name[name]
        lives = placed.block.death - placed.block.birth + 1
        assert tall == pytest.approx(17 * placed.size / MIB - 2, abs=0.2)
        assert wide == pytest.approx(lives * (one + 2) - 2, abs=0.5)


def test_every_block_says_its_facts():
    view = addresses("mnist_cnn", how="best")
    svg, map_ = view.now_["shown"]["svg"], view.rows.packing
    facts = dict(re.findall(r'data-fact="([^"]*)" data-send="choose" data-value="([^"]*)"', svg))
    fact_of = {name: fact for fact, name in facts.items()}
    assert set(fact_of) == {placed.name for placed in map_.large}
    pool1 = map_.by_name["pool1"]
    assert fact_of["pool1"].startswith(
        "pool1: B·C·H·W·4 B = 1,605,632 B; made by pool1; last read by backward of conv2; "
        f"feature map, kept for backward; written at operation {pool1.block.birth + 1}, "
        f"freed after {pool1.block.death + 1}; address {pool1.address:,} to {pool1.top:,}; "
    )


def test_the_toy_in_order_of_birth_shows_holes_that_are_too_small():
    view = addresses(how="birth")
    assert "No addresses are shared" in view.text()
    shown = labels(view)
    assert shown.count("hole of 3 MiB,") == shown.count("too small for F") == 2
    assert "hole of 3 MiB," not in labels(addresses(how="biggest"))


NUMERAL = re.compile(r"(?<![\w.-])\d[\d,.]*")
FIRST: list[dict[str, Any]] = [
    {"how": "birth", "beside": "biggest"},
    {"what": "resnet50", "batch": 16, "how": "best", "in_place": True},
]


@pytest.mark.parametrize("given", FIRST)
def test_a_first_level_has_few_numerals_of_three_digits_and_no_table(given):
    view = addresses(**given)
    numerals = [text for label in labels(view) for text in NUMERAL.findall(label)]
    assert len(numerals) <= 12
    assert all(len(re.sub(r"\D", "", text)) <= 3 for text in numerals)
    assert view.page(960).svg().height <= 480
    view.numbers = True
    exact = f"{view.placement.arena:,} B"
    assert any(exact in label for label in labels(view))
    assert not any(exact in label for label in labels(addresses(**given)))


def rects(view):
    """Rectangles of the map, by their look."""
    (chart,) = (c for c, _ in view.page(960).svg().charts if c.height == TALL)
    return chart.y, [mark for mark in chart.marks if isinstance(mark, Rect | Rects)]


def test_what_lies_outside_the_arena_is_below_address_0_on_the_same_scale():
    view = addresses(STEP, 3, how="best")
    scale, marks = rects(view)
    plan = memlab.plan(STEP)
    assert (scale.first, scale.last) == (-plan.before(3)[0], view.placement.arena)
    below = [mark for mark in marks if isinstance(mark, Rect) and mark.y0 < 0]
    assert sum(mark.y1 - mark.y0 for mark in below) == plan.before(3)[0]
    assert max(mark.y1 for mark in below) == 0
    inputs = [mark for mark in below if mark.look == PAINTS[Role.INPUT]]
    read = {max(n for n, op in enumerate(STEP.ops) if tensor in op.reads.values()) + 1
            for tensor in STEP.live_in if tensor.role is Role.INPUT}  # fmt: skip
    assert {mark.x1 for mark in inputs} == read


def test_a_block_is_as_tall_as_its_true_bytes():
    view = addresses(STEP, 3, how="best")
    _, marks = rects(view)
    tall = {y1 - y0 for mark in marks if isinstance(mark, Rects) for *_, y0, y1 in mark.places}
    assert {block.nbytes for block in view.placement.blocks} == tall
    assert any(nbytes % 64 for nbytes in tall)


def test_an_overlap_is_crossed_and_said():
    view = addresses(how="birth", moved={"D": 0}, chosen="D")
    sentence = "B and D overlap, and both are in memory at operation 5."
    assert sentence in view.text()
    assert sentence in labels(view)
    assert view.svg().count('stroke-width="2.2"') == 1
    assert addresses(how="birth").svg().count('stroke-width="2.2"') == 0


def test_nothing_is_told_by_colour_alone():
    kinds = ("kept", "short", "gradient_map", "parameter_gradient", "workspace")
    looks = [(look.tint, look.pattern) for look in (*map(block_paint, kinds), SMALL)]
    assert len(set(looks)) == len(looks)


def test_stored_pictures_are_small_and_the_same_each_time():
    view = addresses("resnet50", how="best", in_place=True)
    assert len(view.svg()) < 50_000
    assert view.svg().count("<rect") <= MOST
    assert view.svg() == addresses("resnet50", how="best", in_place=True).svg()
    assert not stored.VARIES.search(view.text())
    assert set(view.stored()) == {"image/svg+xml", "text/plain"}


# -- the widget ---------------------------------------------------------------------------------


def send(view, *events):
    listed = [{"name": name, "value": value} for name, value in events]
    view._receive(view, {"number": 1, "events": listed}, [])
    json.dumps(view.now_)
    return view.now_["shown"]


def press(view, *codes):
    return send(view, *(("key", code) for code in codes))


def control(view, name):
    return view.get_state()[f"_control_{name}"]


def drag(view, value, dragging=True):
    event = {"name": "put", "value": value, "dragging": dragging}
    view._receive(view, {"events": [event]}, [])
    return view.now_["shown"]["error"]


def test_a_block_is_dragged_to_the_next_whole_unit_and_no_further_than_the_picture():
    view = addresses(how="birth")
    assert drag(view, f"E {MIB}") == ""
    assert view.moved == {}  # outside Move mode nothing is moved
    send(view, ("move", None))
    before = view.state
    for place, at in ((3.4 * MIB, 3), (3.6 * MIB, 4), (-5 * MIB, 0), (10**12, 11)):
        assert drag(view, f"E {round(place)}") == ""
        assert view.placement.address("E") == at * MIB
        assert view.previous is before
    assert view.scene().dragging
    drag(view, f"E {2 * MIB}", dragging=False)
    assert (view.scene().dragging, view.previous) == (False, before)


def test_what_no_drag_sends_is_a_sentence_and_moves_nothing():
    view = addresses(how="birth")
    send(view, ("move", None))
    before = view.state
    for value in ("", "E", "E x", "nope 3", None, 5, "E 1e9", "E " + "9" * 5000):
        assert len(drag(view, value).splitlines()) == 1
        assert view.state is before


def test_the_controls_change_what_is_shown():
    view = addresses()
    assert view.now_["shown"]["state"] == "toy|no reuse|13631488"
    assert send(view, ("how", "birth"))["state"] == "toy|birth|13631488"
    assert send(view, ("how", "biggest"))["state"] == "toy|biggest|8388608"
    assert send(view, ("cursor", 3))["shown"] == 3
    assert view.cursor == 3
    assert send(view, ("at", 0))["shown"] == 1
    assert "cursor_number" not in view.now_["layout"]["controls"]
    assert send(view, ("packed", 2))["state"] == "toy|biggest|8388608"
    assert view.packed == 2
    assert "D needs 3 MiB." in view.text()
    assert "2 of 6 blocks are placed: 4 MiB so far" in view.text()
    assert control(view, "packed")["spoken"] == "2 of 6 blocks packed"
    send(view, ("packed", 6))
    assert view.packed is None
    shown = send(view, ("what", "mnist_cnn"))
    assert shown["state"].startswith("mnist_cnn|")
    assert view.cursor is None
    before = view.placement.total
    send(view, ("in_place", True))
    assert view.placement.total < before
    send(view, ("batch", "8"))
    assert view.batch == 8
    assert view.now_["layout"]["more"] == "More: in place, batch 8"
    assert "1 MiB" not in labels(addresses())
    assert send(view, ("numbers", True))["error"] == ""
    assert view.numbers


def scale(view):
    """The addresses that the live picture has room for."""
    page = view.compose(view.scene(960, live=True))
    return next(chart.y for chart, _ in page.svg().charts if chart.height == TALL)


def test_the_axis_stays_while_a_slider_moves():
    view = addresses("mnist_cnn")
    end = scale(view)
    for operation in (1, 9, 20):
        send(view, ("cursor", operation))
        assert scale(view) == end
    for count in (0, 3, 9):
        send(view, ("packed", count))
        assert scale(view) == end
    toy = addresses()
    for how in ORDERS:
        toy.how = how
        assert scale(toy).last == 13 * MIB


def test_the_axis_holds_the_arena_before():
    view = addresses("resnet50", 16)
    before = view.placement.arena
    svg = send(view, ("how", "best"))["svg"]
    assert view.placement.arena < before == scale(view).last
    assert svg.count('class="before"') == 2
    assert 'class="before"' not in view.svg()


def test_keys_walk_over_blocks_and_operations():
    view = addresses(how="birth")
    press(view, "ArrowRight")
    assert view.chosen == "A"
    press(view, "ArrowRight", "ArrowRight")
    assert view.chosen == "C"
    press(view, "ArrowUp")
    assert view.chosen == "D"
    assert "D. in memory for one operation" in view.now_["shown"]["says"]
    fact = "D: 3,145,728 B; in memory for one operation; written at"
    assert view.now_["shown"]["fact"].startswith(fact)
    press(view, "ArrowLeft", "ArrowDown")
    assert view.chosen == "B"
    view.cursor = 6
    press(view, "KeyP")
    assert view.cursor is None
    assert view.now_["shown"]["shown"] == 5
    press(view, "KeyN")
    assert view.numbers
    press(view, "Escape")
    assert view.chosen == ""


def test_a_learner_packs_the_toy_and_is_scored():
    view = addresses()
    press(view, "KeyM")
    assert view.now_["layout"]["controls"][-1] == "copy"
    names = view.now_["layout"]["controls"]
    assert {"leave", "score"} <= set(names)
    for name, wanted in {"F": 0, "D": 0, "B": 3, "E": 5, "A": 0, "C": 7}.items():
        send(view, ("choose", name))
        placed = view.rows.packing.by_name[name]
        key = "ArrowUp" if wanted * MIB > placed.address else "ArrowDown"
        press(view, *[key] * (abs(wanted * MIB - placed.address) // MIB))
        assert view.rows.packing.by_name[name].address == wanted * MIB
    assert view.how == "by hand"
    assert view.rows.packing.overlaps == ()
    shown = press(view, "Enter")
    assert shown["state"] == "toy|by hand|8388608"
    score = "Your top: 8 MiB. Lower bound: 8 MiB. Exact optimum: 8 MiB. No map is smaller."
    assert score in view.page().text() or score in view.text()
    assert score in shown["says"]
    assert view.score() == score
    send(view, ("how", "birth"))
    assert (view.how, view.moved) == ("birth", {})


def test_a_view_may_keep_the_optimum_to_itself():
    view = addresses(how="birth", optimum=False)
    shown = send(view, ("move", None), ("score", None))
    assert view.score() == "Your top: 13 MiB. Lower bound: 8 MiB."
    assert view.score() in view.text()
    assert "optimum" not in view.text() + shown["says"] + view.svg()
    view.move("D", 0)
    assert view.score().endswith("Lower bound: 8 MiB. This map does not count: blocks overlap.")


def faulty():
    """View of a step in which a gradient lies on a map that is read later, in Move mode."""
    view = addresses(STEP, 3, how="best")
    wrong, address = view.rows.packing.silent_fault()
    view.move(wrong.name, address)
    send(view, ("move", None))
    return view, wrong.name


@pytest.mark.parametrize("key", ["ArrowUp", "ArrowDown"])
def test_one_press_moves_a_block_of_a_step_to_the_next_free_place(key):
    view, name = faulty()
    map_, was = view.rows.packing, view.rows.packing.by_name[name]
    free = map_.free_addresses(was)
    beyond = [low for low in free if (low > was.address) == (key == "ArrowUp")]
    press(view, key)
    at = view.placement.address(name)
    if not beyond:
        assert at == was.address
    else:
        assert at == (min if key == "ArrowUp" else max)(beyond)
        assert view.rows.packing.overlaps == ()


def test_up_always_finds_a_free_place():
    view, _ = faulty()
    press(view, "ArrowUp")
    assert view.rows.packing.overlaps == ()


def test_a_dragged_block_jumps_to_a_free_place_that_is_near():
    view, name = faulty()
    map_, focus = view.rows.packing, view.rows.packing.by_name[name]
    pixel = (map_.placement.arena + map_.subject.before(3)) / TALL
    edge = next(low for low in map_.free_addresses(focus)
                if low + focus.size <= map_.placement.arena)  # fmt: skip
    for away in (-5, 0, 5):
        assert drag(view, f"{name} {max(round(edge + away * pixel), 0)}", dragging=False) == ""
        assert view.placement.address(name) in map_.free_addresses(focus)


@pytest.mark.measures
def test_the_result_of_a_run_stands_below_the_headline():
    view, _ = faulty()
    send(view, ("run", None))
    wrong = re.search(r"Run: (\d+) of (\d+) gradients are wrong\.", view.now_["shown"]["svg"])
    assert wrong
    press(view, "ArrowUp")
    assert "Run:" not in view.now_["shown"]["svg"]
    send(view, ("run", None))
    assert f"Run: all {wrong[2]} gradients are right, bit for bit." in view.now_["shown"]["svg"]


def test_overlaps_are_said_and_do_not_count():
    view = addresses(how="birth")
    send(view, ("move", None), ("choose", "D"))
    shown = press(view, *["ArrowDown"] * 4)
    assert view.rows.packing.by_name["D"].address == 0
    assert "B and D overlap, and both are in memory at operation 5." in shown["says"]
    assert "blocks overlap" in view.score()
    assert press(view, *["ArrowDown"] * 3)["error"] == ""
    assert view.rows.packing.by_name["D"].address == 0
    press(view, *["ArrowUp"] * 40)
    assert view.rows.packing.by_name["D"].top == 13 * MIB


def test_a_moved_block_slides_and_the_top_before_stays_as_an_outline():
    view = addresses(how="birth")
    svg = send(view, ("how", "biggest"))["svg"]
    moved = [block for block in TOY if arrange(TOY, "birth").address(block.name)
             != arrange(TOY, "biggest").address(block.name)]  # fmt: skip
    assert svg.count('class="slides"') == len(moved)
    assert svg.count('class="before"') == 2
    svg = send(view, ("cursor", 2))["svg"]
    assert 'class="slides"' not in svg
    assert svg.count('class="before"') == 2
    assert 'class="slides"' not in view.svg()
    assert 'class="before"' not in view.svg()


def test_the_presets():
    view = addresses(how="biggest")
    shown = send(view, ("surprise", None))
    assert shown["state"] == "toy|birth|13631488"
    assert "13 MiB or 8 MiB" in shown["svg"]
    assert "Arena 8 MiB (8,388,608 B), lower bound 8 MiB (8,388,608 B), waste 0 B." in view.text()
    assert send(view, ("start", None))["state"] == "toy|biggest|8388608"
    names = set(view.now_["layout"]["controls"])
    assert {"start", "surprise", "break", "real"} <= names


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({}, ["what", "how", "cursor", "move"]),
        ({"only": ("cursor",)}, ["cursor", "move"]),
        ({"what": "mnist_cnn", "only": ("cursor",)}, ["cursor", "move", "run"]),
    ],
)
def test_the_first_level_has_few_controls(given, seen):
    view = addresses(**given)
    controls = view.controls()
    assert [each.name for each in controls if each.place != "more"] == seen
    behind = {each.name for each in controls} - {*seen}
    assert {"start", "copy"} <= behind
    assert ("surprise" in behind) == ("only" not in given)


def test_more_hides_buttons_too_and_names_the_settings_alone():
    assert addresses(only=("cursor",)).now_["layout"]["more"] == "More"
    assert addresses("mnist_cnn", 8).now_["layout"]["more"] == "More: batch 8"


# -- a network -----------------------------------------------------------------------------------


def test_real_is_a_network_that_lessons_know():
    view = addresses()
    shown = send(view, ("real", None))
    step = memlab.in_place(memlab.training_step(memlab.zoo.build("resnet50")))
    arena = memlab.place(step, 16).arena
    assert shown["state"] == f"resnet50|best|{arena}"
    assert "1.28 GiB" in labels(view)
    there = memlab.plan(step).before(16)[0]
    assert figures.in_binary(there + arena) == "1,518.4 MiB"
    assert "with the arena 1,518.4 MiB." in view.text()


def test_two_tensors_in_one_place_have_both_names_and_a_notch():
    view = addresses("mnist_cnn", how="best", in_place=True)
    assert "conv1 → conv1.relu" in labels(view)
    notch = 'd="M-6.0 0L0 6.0L6.0 0"'
    assert notch in view.svg()
    view.in_place = False
    assert notch not in view.svg()


@pytest.mark.measures
def test_a_recomputed_step_is_placed_and_runs():
    view = addresses(memlab.recompute(STEP, "cheap"), 2, how="best", in_place=True)
    assert any("again" in block.name for block in view.rows.packing.blocks)
    assert "recompute (cheap)" in view.text()
    ran = view.run()
    assert ran.arena == view.placement.arena
    assert ran.same_loss
    assert ran.wrong == ()


# -- a run in the view -------------------------------------------------------------------------


def test_what_does_not_run_says_so():
    with pytest.raises(InputError, match="no arithmetic"):
        addresses().run()
    assert "no arithmetic" in press(addresses(), "KeyR")["error"]
    with pytest.raises(InputError, match="GFLOP"):
        addresses("vgg16", how="birth").run()


@pytest.mark.measures
def test_what_came_of_a_run_stands_beside_its_map_alone():
    view = addresses(STEP, 2, how="best fit")
    ran = view.run()
    assert ran.placement == view.placement
    shown = view.now_["shown"]
    assert [line[0] for line in shown["lines"]] == ran.sentences()
    assert [line[0] for line in send(view, ("cursor", 3))["lines"]] == ran.sentences()
    assert send(view, ("how", "birth"))["lines"] == ()
    assert "measured" not in view.text()


@pytest.mark.measures
def test_break_it_shows_the_fault_and_what_came_of_it():
    view = addresses()
    shown = send(view, ("break", None))
    assert shown["error"] == ""
    assert shown["state"].startswith("mnist_cnn|by hand|")
    (fault,) = view.rows.packing.overlaps
    assert f"both are in memory at operation {fault.first + 1}" in shown["says"]
    lines = [line[0] for line in shown["lines"]]
    assert any(re.match(r".*conv1.*: [\d,]+ of [\d,]+ values differ\.", line) for line in lines)
    assert control(view, "break")["busy"]
    assert eval(view.code(), {"memlab": memlab}).text() == view.text()


# -- bad input ----------------------------------------------------------------------------------

BAD: list[Any] = [
    ({"how": "bigest"}, "did you mean 'biggest'"),
    ({"how": "by hand"}, "unknown placing 'by hand'. Known: no reuse,"),
    ({"beside": "worst"}, "unknown placing 'worst'. Known: no reuse,"),
    ({"what": "resnet5"}, "did you mean"),
    ({"what": 3}, "give the toy, a network or a step"),
    ({"what": "mnist_cnn", "batch": 0}, "batch must be at least 1"),
    ({"what": "mnist_cnn", "batch": 10**9}, "batch must be at most"),
    ({"what": "mnist_cnn", "beside": "birth"}, "only the toy"),
    ({"in_place": True}, "the toy has no operations"),
    ({"cursor": 0}, "cursor must be at least 1"),
    ({"cursor": 9}, "cursor must be at most 8, got 9"),
    ({"chosen": "G"}, "unknown block 'G'. Known: A, B,"),
    ({"packed": 7}, "packed must be at most 6, got 7"),
    ({"moved": {"G": 0}}, "unknown block 'G'"),
    ({"moved": {"A": 65}}, "multiple of 64"),
    ({"moved": "A"}, "moved are addresses by the names of blocks, got 'A'; try {'A': '3 MiB'}."),
]


def test_bad_arguments_get_one_sentence():
    for wrong, says in BAD:
        with pytest.raises(InputError, match=re.escape(says)) as caught:
            addresses(**wrong)
        assert "\n" not in str(caught.value)


def test_bad_events_get_one_sentence_and_the_picture_stays():
    view = addresses()
    before = view.svg()
    for event in (("how", "x"), ("what", "x"), ("cursor", "x"), ("cursor", None), ("choose", "Z")):
        assert send(view, event)["error"]
        assert view.svg() == before
    assert send(addresses("mnist_cnn"), ("batch", "0"))["error"]


def test_python_steers_it_and_its_code_makes_it_again():
    view = addresses("mnist_cnn", 16, how="birth")
    view.in_place = True
    view.cursor = 5
    view.numbers = True
    again = eval(view.code(), {"memlab": memlab})
    assert again.text() == view.text()
    assert again.svg() == view.svg()
    view.what = "toy"
    assert not view.in_place
    view.beside = "biggest"
    assert eval(view.code(), {"memlab": memlab}).text() == view.text()
    view.move("A", "3 MiB")
    view.move("B", 0)
    assert (view.how, view.moved) == ("by hand", {"A": 3 * MIB, "B": 0})
    again = eval(view.code(), {"memlab": memlab})
    assert (again.text(), again.placement) == (view.text(), view.placement)
    with pytest.raises(InputError, match="unknown block"):
        view.move("Z", 0)
    assert repr(view).startswith("<address map: six tensors")


def test_a_network_and_a_step_of_ones_own_are_shown():
    for subject in (small_network(), STEP):
        view = addresses(subject, 2)
        shown = view.now_["shown"]
        assert shown["state"].startswith("small|no reuse|")
        assert view.code().startswith("memlab.views.addresses(subject, ")
        send(view, ("what", "toy"))
        send(view, ("what", "small"))
        assert view.now_["shown"]["state"].startswith("small|")
        options = dict(control(view, "what")["options"])
        assert list(options) == [
            "small",
            "toy",
            "mnist_cnn",
            "vgg16",
            "resnet50",
        ]


def test_the_map_of_the_plan_is_the_map_by_hand_with_the_same_addresses():
    view = addresses("mnist_cnn", how="best fit")
    first = view.rows.packing.blocks[0]
    view.move(first.name, first.address)
    assert view.placement.arena == addresses("mnist_cnn", how="best fit").placement.arena
    assert "Moved by hand: –." in view.text()
    view.in_place = True
    assert (view.how, view.moved) == ("best fit", {})
    view.in_place = False
    view.move(first.name, 0)
    other = replace(view.placement, addresses=(64, *view.placement.addresses[1:]))
    assert other != view.placement
