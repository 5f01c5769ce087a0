"""The address map: figures, picture and text, packing by hand, and what runs with it."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import memlab
from lessons import build
from memlab import claims, devices, strings
from memlab.bench import torch_memory
from memlab.errors import InputError
from memlab.networks.builder import network
from memlab.planner.placement import HOWS, TOY, arrange
from memlab.studies.memory import Budget
from memlab.techniques.schedules import CHEAP
from memlab.views import addresses
from memlab.views.addresses import chart, keys, picture, running, scale, story, telling, twin, words
from memlab.views.addresses.broken import broken
from memlab.views.addresses.packed import MOST, SHARE
from memlab.views.addresses.panel import PRESETS
from memlab.views.addresses.rows import rows
from memlab.views.addresses.state import State

MIB = 2**20
ORDERS = ("no reuse", "birth", "biggest", "best fit", "exact")
by_how = pytest.mark.parametrize("how", ORDERS)


def small(channels=4):
    x = network("small", image=(3, 12, 12)).conv(channels, 3, pad=1, name="conv1").relu()
    x = x.conv(channels, 3, pad=1, name="conv2").relu().max_pool(2)
    return x.flatten().linear(10).cross_entropy()


SMALL = small()
STEP = memlab.training_step(SMALL, "sgd").keep("gradients")
RECOMPUTED = memlab.recompute(STEP, "cheap")
BUDGETS = (Budget("4 GB", 4 * 10**9), Budget("free", 3_980_000_000, live=True))


def states():
    """The toy in every placing, a network with and without reuse, blocks that overlap."""
    yield from (State(how=how) for how in ORDERS)
    yield State(how="birth", beside="biggest", guess=10 * MIB)
    yield State(how="birth", packed=5, cursor=4, chosen="D")
    yield State(how="birth", packed=0)
    yield State("mnist_cnn", "best")
    yield State("mnist_cnn", "no reuse", in_place=True, cursor=3)
    yield State(STEP, "best fit", batch=3)
    yield State("resnet50", "best", in_place=True)
    yield State("resnet50", "best", in_place=True, batch=16, stage="stage 1", chosen="1.1.norm1")
    yield State("resnet50 chen2016", "no reuse", budgets=BUDGETS, axis=12_000 * MIB)
    yield State(RECOMPUTED, "best", in_place=True, batch=3, budgets=BUDGETS)
    yield faulty()
    yield State(hand=replace(arrange(TOY, "birth"), addresses=(0,) * 6, how="by hand"), cursor=5)


def faulty():
    hand = arrange(TOY, "birth").moved("D", 0)
    return State(how="birth", hand=hand, moving=True, scored=True, chosen="D")


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
    found = rows(State(how=how)).packed
    assert found.arena == arena * MIB
    assert (found.bound, found.busiest + 1, found.total) == (8 * MIB, 5, 13 * MIB)
    assert [n // MIB for n in found.alive] == [1, 3, 4, 4, 8, 7, 6, 4]
    assert {name: found.by_name[name].address // MIB for name in wanted} == wanted


@pytest.mark.parametrize("state", list(states()))
def test_live_bytes_are_those_of_the_plan_and_no_arena_is_below_them(state):
    found = rows(state).packed
    assert max(found.alive) == found.bound
    assert found.alive.index(found.bound) == found.busiest
    for operation in range(found.source.operations):
        assert sum(row.size for row in found.at(operation)) == found.alive[operation]
    assert found.arena == max(row.top for row in found.rows)
    if not state.hand:
        assert found.arena >= found.bound
        assert found.overlaps == ()


def test_blocks_are_drawn_for_themselves_from_half_a_percent_on():
    found = rows(State("resnet50", "best")).packed
    assert {row.name for row in found.drawn} | {row.name for row in found.small} == set(
        found.by_name
    )
    assert all(row.size * SHARE >= found.arena for row in found.drawn)
    assert all(row.size * SHARE < found.arena for row in found.small)
    assert 20 < len(found.drawn) <= MOST


def test_who_shares_addresses_is_never_alive_at_the_same_time():
    found = rows(State("mnist_cnn", "best")).packed
    shared = {row.name: found.sharing(row) for row in found.rows}
    assert any(shared.values())
    for row in found.rows:
        for other in shared[row.name]:
            assert not row.lives_with(other)
            assert row in shared[other.name]


def test_kept_for_backward_is_born_before_backward_and_read_in_it():
    found = rows(State(STEP, "best", batch=2)).packed
    kinds = {row.name: row.kind for row in found.rows}
    assert kinds["conv1"] == "short"
    assert kinds["relu1"] == "kept"
    assert kinds["gradient of conv1"] == "gradient_map"
    assert kinds["gradient of conv1.weight"] == "parameter_gradient"


# -- how it was packed --------------------------------------------------------------------------


@by_how
def test_the_story_tells_free_places_that_are_free(how):
    packed = rows(State(how=how)).packed
    for number in range(1, 7):
        told = story.turn(packed, number)
        before = [row for row in packed.turns[: number - 1] if row.lives_with(told.row)]
        for low, high in told.holes:
            assert all(row.top <= low or row.address >= high for row in before)
        if told.fate == "top":
            assert all(high - low < told.row.size for low, high in told.holes)
            assert told.row.address == max(row.top for row in before)


def test_the_toy_in_order_of_birth_shows_why_nothing_is_saved():
    found = rows(State(how="birth"))
    assert telling.story(found) == [
        "A at 0, B at 1, C at 3, D at 4, E at 7, F at 9",
        "6th: F needs 4 MiB. Free while it lives: 3 MiB and 3 MiB. Too small, so it goes on top, "
        "to 9 MiB.",
    ]
    assert "Nothing is saved" in twin.write(found)
    labels = [label.content for label in picture.draw(found).labels]
    assert labels.count("hole: 3 MiB") == labels.count("F needs 4 MiB") == 2


@pytest.mark.parametrize(
    ("number", "wanted"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"),
     (21, "21st"), (112, "112th"), (1003, "1,003rd")],
)  # fmt: skip
def test_ordinals(number, wanted):
    assert telling.ordinal(number) == wanted


@pytest.mark.parametrize("arena", [13 * MIB, 2_712_948_224, 46_240_000, 300_000, 4_000, 640])
def test_the_equation_adds_up_on_the_page(arena):
    bound = arena * 7 // 8 // 64 * 64
    total, parts, unit = scale.parts(arena, bound, arena - bound)
    numbers = [float(text.replace(",", "")) for text in (total, *parts)]
    assert numbers[0] == pytest.approx(sum(numbers[1:]), abs=1e-9)
    assert unit in ("MiB", "KiB", "B")


# -- picture and text ---------------------------------------------------------------------------


def drawn(state):
    """Draw it; the picture parses, and no text overlaps another or the edge or is too small."""
    svg = picture.draw(rows(state))
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11
    ET.fromstring(svg.render("title"))
    return svg


def digits(text):
    return set(re.findall(r"\d[\d,.]*(?<![.,])", text))


@pytest.mark.parametrize("width", [600, 700, 830, 960])
@pytest.mark.parametrize("state", list(states()))
def test_every_number_of_the_picture_stands_in_the_text(state, width):
    found = rows(replace(state, width=width))
    labels = [label.content for label in drawn(found.state).labels]
    axis = {name for _, name in found.scale.ticks}
    count = found.source.operations
    operations = {f"{number:,}" for number in range(1, count + 1)} if count < 500 else set()
    assert digits(" ".join(labels)) <= digits(twin.write(found)) | axis | operations


@by_how
def test_the_toy_in_characters_is_the_map(how):
    found = rows(State(how=how))
    text = twin.write(found)
    levels = [line.split() for line in text.splitlines() if re.match(r" +\d+  [.A-F]", line)]
    assert "      1 2 3 4 5 6 7 8\n" in text
    assert len(levels) == found.packed.arena // MIB
    for level, *cells in levels:
        for at, cell in enumerate(cells):
            here = [
                row.name for row in found.packed.at(at) if row.address <= int(level) * MIB < row.top
            ]
            assert here == ([] if cell == "." else [cell])


def test_the_rectangles_of_the_map_are_the_addresses():
    found = rows(State(how="biggest"))
    svg = drawn(found.state).render()
    boxes = {
        element.attrib["data-value"]: (
            float(element.attrib["width"]),
            float(element.attrib["height"]),
        )
        for element in ET.fromstring(svg).iter()
        if element.get("data-send") == "choose"
    }
    assert set(boxes) == set("ABCDEF")
    one, _ = boxes["D"]
    for name, (wide, tall) in boxes.items():
        row = found.packed.by_name[name]
        lives = row.block.death - row.block.birth + 1
        assert tall == pytest.approx(20 * row.size / MIB - 2, abs=0.2)
        assert wide == pytest.approx(lives * (one + 2) - 2, abs=0.5)


def test_an_overlap_is_crossed_and_said():
    found = rows(faulty())
    faults = [(fault.first.name, fault.second.name) for fault in found.packed.overlaps]
    assert faults == [("B", "D")]
    said = "B and D both live at operation 5."
    assert words.faults(found.packed) == [said]
    assert said in twin.write(found)
    svg = picture.draw(found)
    assert said in " ".join(label.content for label in svg.labels)
    assert svg.render().count('stroke-width="2.2"') == 1


def test_nothing_is_told_by_colour_alone():
    kinds = ("kept", "short", "gradient_map", "parameter_gradient", "workspace")
    looks = [(paint.tint, paint.pattern) for paint in (*map(chart.paint, kinds), chart.SMALL)]
    assert len(set(looks)) == len(looks)


def test_stored_pictures_are_small_and_the_same_each_time():
    view = addresses("resnet50", how="best", in_place=True)
    assert len(view.svg()) < 120_000
    assert view.svg().count("<rect") <= MOST
    assert view.svg() == addresses("resnet50", how="best", in_place=True).svg()
    assert not build.VARIES.search(view.text())
    assert set(view.stored()) == {"image/svg+xml", "text/plain"}


@pytest.mark.parametrize("name", ["toy", "mnist_cnn"])
def test_there_is_a_frame_for_every_placing(name):
    view = addresses(name)
    frames = view.frames()
    assert len(frames) == len(view.state.source.hows) == 5
    for how, frame in zip(view.state.source.hows, frames, strict=True):
        assert words.how(how) in frame


# -- the widget ---------------------------------------------------------------------------------


def send(view, *events):
    listed = [{"name": name, "value": value} for name, value in events]
    view._receive(view, {"number": 1, "events": listed}, [])
    json.dumps(view.now_)
    return view.now_["shown"]


def press(view, *codes):
    return send(view, *(("key", code) for code in codes))


def test_the_controls_change_what_is_shown():
    view = addresses()
    assert view.now_["shown"]["state"] == "toy|no reuse|13631488"
    assert send(view, ("how", "birth"))["state"] == "toy|birth|13631488"
    assert send(view, ("how", "biggest"))["state"] == "toy|biggest|8388608"
    assert send(view, ("operation", 3))["shown"] == 3
    assert view.cursor == 3
    assert send(view, ("at", 0))["shown"] == 1
    assert send(view, ("operation_number", "8"))["shown"] == 8
    assert send(view, ("guess", "9 MiB"))["error"] == ""
    assert view.guess == 9 * MIB
    assert send(view, ("packed", 2))["state"] == "toy|biggest|8388608"
    assert view.packed == 2
    assert "2nd: D needs 3 MiB." in view.text()
    shown = send(view, ("what", "mnist_cnn"))
    assert shown["state"].startswith("mnist_cnn|")
    assert view.packed is None
    before = view.rows.packed.total
    send(view, ("in_place", True))
    assert view.rows.packed.total < before
    send(view, ("batch", "8"))
    assert view.batch == 8


def test_the_axis_stays_while_a_slider_moves():
    view = addresses("mnist_cnn")
    end = view.rows.scale
    for operation in (1, 9, 20):
        send(view, ("operation", operation))
        assert view.rows.scale == end
    for count in (0, 3, 9):
        send(view, ("packed", count))
        assert view.rows.scale == end
    toy = addresses()
    for how in ORDERS:
        toy.how = how
        assert toy.rows.scale.end == 13 * MIB


def test_keys_walk_over_blocks_and_operations():
    view = addresses(how="birth")
    press(view, "ArrowRight")
    assert view.chosen == "A"
    press(view, "ArrowRight", "ArrowRight")
    assert view.chosen == "C"
    press(view, "ArrowUp")
    assert view.chosen == "D"
    assert "D. lives for one operation" in view.now_["shown"]["says"]
    press(view, "ArrowLeft", "ArrowDown")
    assert view.chosen == "B"
    press(view, "BracketRight")
    assert view.cursor == 6
    press(view, "BracketLeft", "BracketLeft")
    assert view.cursor == 4
    press(view, "KeyP")
    assert view.cursor is None
    assert view.now_["shown"]["shown"] == 5
    press(view, "Digit3")
    assert view.how == "biggest"
    assert press(view, "KeyT")["after"][0][0] == view.text()
    assert press(view, "KeyT")["after"] == ()
    press(view, "Escape")
    assert view.chosen == ""


def test_a_learner_packs_the_toy_and_is_scored():
    view = addresses()
    press(view, "KeyM")
    assert view.now_["layout"]["controls"][-1]["name"] == "copy"
    names = [control["name"] for control in view.now_["layout"]["controls"]]
    assert {"leave", "score"} <= set(names)
    for name, wanted in {"F": 0, "D": 0, "B": 3, "E": 5, "A": 0, "C": 7}.items():
        send(view, ("choose", name))
        row = view.rows.packed.by_name[name]
        way = "ArrowUp" if wanted * MIB > row.address else "ArrowDown"
        press(view, *[way] * (abs(wanted * MIB - row.address) // MIB))
        assert view.rows.packed.by_name[name].address == wanted * MIB
    assert view.how == "by hand"
    assert view.rows.packed.overlaps == ()
    shown = press(view, "Enter")
    assert shown["state"] == "toy|by hand|8388608"
    score = "Your top: 8 MiB. Lower bound: 8 MiB. Exact optimum: 8 MiB. No map is smaller."
    assert score in shown["text"]
    assert score in shown["says"]
    assert view.score() == score


def test_overlaps_are_said_and_do_not_count():
    view = addresses(how="birth")
    send(view, ("move", None), ("choose", "D"))
    shown = press(view, *["ArrowDown"] * 4)
    assert view.rows.packed.by_name["D"].address == 0
    assert "B and D both live at operation 5." in shown["says"]
    assert "blocks overlap" in view.score()
    assert press(view, *["ArrowDown"] * 3)["error"] == ""
    assert view.rows.packed.by_name["D"].address == 0
    press(view, *["ArrowUp"] * 40)
    assert view.rows.packed.by_name["D"].top == 13 * MIB


def test_a_moved_block_slides_and_time_never_moves():
    view = addresses(how="birth")
    send(view, ("how", "biggest"))
    svg = view.now_["shown"]["svg"]
    assert svg.count('class="slides"') == sum(
        arrange(TOY, "birth").address(block.name) != arrange(TOY, "biggest").address(block.name)
        for block in TOY
    )
    assert 'class="slides"' not in view.svg()


def test_the_presets():
    view = addresses(how="biggest", guess="9 MiB")
    assert send(view, ("start", None))["state"] == "toy|no reuse|13631488"
    shown = send(view, ("surprise", None))
    assert shown["state"] == "toy|birth|13631488"
    assert "13 MiB or 8 MiB" in shown["svg"]
    assert "arena 8 MiB, lower bound 8 MiB (operation 5), waste 0 MiB" in shown["text"]
    assert view.guess == 9 * MIB
    assert set(PRESETS) <= {control["name"] for control in view.now_["layout"]["controls"]}


# -- a network -----------------------------------------------------------------------------------


def test_real_goes_from_no_reuse_past_the_budgets_to_shared():
    counted = claims.chen2016(memlab.zoo.build("resnet50", variant="v1.5"))
    inside = memlab.in_place(counted)
    steps = (memlab.no_reuse(counted), memlab.no_reuse(inside), inside)
    wanted = [claims.maps(step, 32) for step in steps]
    view = addresses()
    labels: list[str] = []
    for arena in [*wanted, wanted[0]]:
        shown = send(view, ("real", None))
        assert shown["state"].startswith("resnet50 chen2016|")
        assert view.rows.packed.arena == arena
        assert view.rows.scale.end >= wanted[0]
        assert ('class="glides"' in shown["svg"]) is (len(labels) > 0)
        labels += [c["label"] for c in view.now_["layout"]["controls"] if c["name"] == "real"]
    assert labels == ["Real: in place", "Real: share addresses", "Real", "Real: in place"]
    rooms = [room.nbytes for room in view.rows.rooms if not room.budget.live]
    assert wanted[0] > rooms[0] > wanted[1] > rooms[1] > wanted[2]
    assert 'class="glides"' not in view.svg()


def test_the_counting_is_named_and_memlabs_own_step_is_one_choice_away():
    view = addresses("resnet50 chen2016", how="best", in_place=True)
    assert "counted as Chen et al. 2016" in view.text()
    assert "The input, 18.4 MiB, is not in the arena: with it 2,585.2 MiB." in view.text()
    with pytest.raises(InputError, match="no arithmetic"):
        view.run()
    assert send(view, ("what", "resnet50"))["error"] == ""
    assert (view.in_place, view.how) == (True, "best")
    assert "Chen" not in view.text()
    step = memlab.in_place(memlab.training_step(memlab.zoo.build("resnet50", variant="v1.5")))
    assert view.rows.packed.arena == memlab.place(step, 32).arena


def test_a_budget_leaves_what_is_not_there_before():
    found = rows(State("mnist_cnn", "best", budgets=(Budget("60 MiB", 60 * MIB),)))
    (room,) = found.rooms
    assert found.source.step is not None
    before = memlab.plan(found.source.step).before(32)[0]
    assert room.nbytes == 60 * MIB - before
    assert (words.verdict(room, found.packed).endswith("The arena fits.")) is (
        room.nbytes >= found.packed.arena
    )
    svg = drawn(found.state).render()
    assert "room in 60 MiB" in svg
    assert svg.count('stroke-dasharray="2 3"') == 1
    assert rows(State(budgets=BUDGETS)).rooms == ()


def test_what_is_free_here_is_never_stored(monkeypatch):
    monkeypatch.setattr(devices, "free_memory", lambda: 45_678_901)
    view = addresses("mnist_cnn", how="best", budgets=())
    assert "free here now: 40.00 MB" in view.now_["shown"]["svg"]
    monkeypatch.setattr(devices, "free_memory", lambda: 51_234_567)
    view.cursor = 3
    assert "free here now: 50.00 MB" in view.now_["shown"]["text"]
    assert "free here" not in view.svg() + view.text() + "".join(view.frames())
    alone = addresses("mnist_cnn", budgets=(), free=False)
    assert "free here" not in alone.now_["shown"]["svg"]


@pytest.mark.parametrize("in_place", [False, True])
def test_cheap_to_make_again_is_a_long_life_that_began_cheaply(in_place):
    found = rows(State("resnet50", "best", in_place=in_place))
    source, marked = found.source, {row.name for row in found.packed.cheap}
    assert marked
    assert source.ledger is not None
    for row in found.packed.rows:
        writers = [tenant.first for tenant in row.tenants] or [row.block.birth]
        cheap = all(source.ledger.rows[index].kind in CHEAP for index in writers)
        long = (row.block.death - row.block.birth) * 4 >= source.operations
        assert (row.name in marked) is (row.kind == "kept" and cheap and long)
    name = next(name for name in marked if found.packed.by_name[name] in found.packed.drawn)
    shown = replace(found.state, chosen=name)
    assert "feature map, kept for backward, cheap to make again" in twin.write(rows(shown))
    assert f"cheap to make again: {len(marked)} blocks" in twin.write(found)
    assert rows(State()).packed.cheap == ()


def test_a_stage_is_shown_alone():
    view = addresses("resnet50", 16, how="best", in_place=True)
    every = view.rows
    send(view, ("choose", "2.1.conv3"))
    press(view, "Enter")
    assert view.stage == "stage 2"
    found = view.rows
    assert found.packed.drawn
    assert {row.entry and row.entry.stage for row in found.packed.drawn} == {"stage 2"}
    assert len(found.packed.drawn) + len(found.packed.small) == len(every.packed.rows)
    assert (found.packed.arena, found.packed.bound) == (every.packed.arena, every.packed.bound)
    assert 0 < found.scale.first <= min(row.address for row in found.packed.drawn)
    assert found.scale.end >= max(row.top for row in found.packed.drawn)
    assert "Only stage 2: " in view.now_["shown"]["says"]
    press(view, "Escape")
    assert (view.stage, view.chosen) == ("", "2.1.conv3")
    assert send(view, ("stage", "head"))["error"] == ""
    assert eval(view.code(), {"memlab": memlab}).text() == view.text()


def test_two_tensors_in_one_place_have_both_names_and_a_notch():
    state = State("mnist_cnn", "best", in_place=True)
    assert "conv1 → conv1.relu" in [label.content for label in drawn(state).labels]
    plain = drawn(replace(state, in_place=False)).render()
    notch = 'stroke-width="0.9" stroke-dasharray="2 2"'
    assert notch in drawn(state).render()
    assert notch not in plain


@pytest.mark.parametrize("in_place", [False, True])
def test_a_recomputed_step_is_placed_and_runs(in_place):
    view = addresses(RECOMPUTED, 2, how="best", in_place=in_place)
    names = [row.name for row in view.rows.packed.rows]
    assert any("again" in name for name in names)
    assert "recompute (cheap)" in view.text()
    ran = view.run()
    assert ran.arena == view.placement.arena
    assert ran.same_loss
    assert ran.wrong == ()


def test_beside_what_pytorch_was_recorded_to_hold():
    view = addresses("resnet50", 16, how="best", in_place=True)
    step = view.rows.source.step
    assert step is not None
    found = torch_memory.beside(step)
    shown = view.now_["shown"]
    (line,), (table,) = shown["lines"], shown["after"]
    assert scale.amount(sum(found.recorded.values())) in line[0]
    there = view.rows.source.before(16) + view.placement.arena
    assert there < sum(found.recorded.values())
    assert scale.amount(there) in line[0]
    assert "recorded" in line[0]
    differ = {role: abs(found.recorded[role] - found.planned[role]) for role in found.recorded}
    largest = max(differ, key=differ.__getitem__)
    assert f"difference: {strings.get(f'torch_memory.role.{largest}')}," in line[0]
    assert table[0] == str(found)
    assert line[0] in view.text()
    for other in (32, 8):
        view.batch = other
        assert view.now_["shown"]["lines"] == ()
    plain = memlab.training_step(memlab.zoo.build("resnet50", variant="v1.5"), "sgd")
    assert addresses(plain, 16).now_["shown"]["after"] == ()


# -- running ------------------------------------------------------------------------------------


def test_the_toy_does_not_run():
    with pytest.raises(InputError, match="no arithmetic"):
        addresses().run()
    assert "no arithmetic" in press(addresses(), "KeyR")["error"]


def test_a_step_that_takes_long_is_refused():
    with pytest.raises(InputError, match="GFLOP"):
        addresses("vgg16", how="birth").run()


@pytest.mark.parametrize("how", ["no reuse", "birth", "best"])
@pytest.mark.parametrize("in_place", [False, True])
def test_the_step_runs_at_these_addresses_with_the_same_gradients(how, in_place):
    view = addresses(STEP, 2, how=how, in_place=in_place)
    ran = view.run()
    assert ran.arena == ran.planned == view.placement.arena
    assert ran.same_loss
    assert ran.what == "gradients"
    assert ran.wrong == ()
    assert {found.name for found in ran.differences} == set(memlab.run(STEP, 2).gradients)
    assert ran.nan == ()
    assert "all the same" in str(ran)
    assert "no operation read it" in str(ran)
    assert [line[0] for line in view.now_["shown"]["lines"]] == ran.sentences()
    assert f"the same loss, 0 of {len(ran.differences)} gradients" in view.now_["shown"]["status"]


def test_an_inference_has_predictions_and_no_loss():
    view = addresses(memlab.inference_step(memlab.zoo.mnist_cnn()), 2, how="birth")
    ran = view.run()
    assert (ran.loss, ran.what, ran.wrong, ran.nan) == (None, "predictions", (), ())
    assert "1 predictions compared bit for bit: all the same" in str(ran)
    assert "oss" not in str(ran)
    assert "0 of 1 predictions differ" in view.now_["shown"]["status"]


def test_nan_that_may_be_of_the_training_is_not_said_to_be_read():
    ran = addresses(STEP, 2, how="birth").run()
    said = str(replace(ran, unclear=("backward of fc3",)))
    assert "these operations wrote NaN: backward of fc3. Too little memory is free" in said
    assert "read it" not in said


def test_a_loss_that_is_nan_in_both_runs_is_the_same():
    ran = addresses(STEP, 2, how="birth").run()
    nan = replace(ran, loss=float("nan"), expected=float("nan"))
    assert nan.same_loss
    assert not replace(ran, loss=float("nan")).same_loss
    assert str(nan).count("bit for bit") == str(ran).count("bit for bit") >= 1


def test_the_map_of_the_plan_is_the_map_of_what_ran():
    view = addresses(STEP, 2, how="best fit", budgets=(), free=False)
    ran = view.run()
    assert ran.placement == view.placement
    again = State(STEP, "best fit", batch=2, hand=ran.placement)
    assert picture.draw(rows(again)).render() == picture.draw(rows(view.state)).render()
    assert twin.write(rows(again)) == twin.write(rows(view.state))
    other = replace(ran.placement, addresses=(64, *ran.placement.addresses[1:]))
    assert twin.write(rows(replace(again, hand=other))) != twin.write(rows(again))


def test_a_fault_is_silent_the_same_loss_and_wrong_gradients():
    state = State(STEP, "best", batch=2)
    hand = broken(rows(state).packed)
    faults = rows(replace(state, hand=hand)).packed.overlaps
    assert len(faults) == 1
    ran = running.run_map(state.source, hand, 2)
    assert ran.same_loss
    assert ran.faults == 1
    assert 0 < len(ran.wrong) < len(ran.differences)
    first = ran.wrong[0]
    assert f"{first.name}: {first.values:,} of {first.of:,} values differ." in ran.sentences()
    assert "silent" in str(ran)


def test_break_it_shows_the_fault_and_what_came_of_it():
    view = addresses()
    shown = send(view, ("break", None))
    assert shown["error"] == ""
    assert shown["state"].startswith("mnist_cnn|by hand|")
    fault = view.rows.packed.overlaps[0]
    assert f"both live at operation {fault.operation + 1}" in shown["says"]
    lines = [line[0] for line in shown["lines"]]
    assert any(re.match(r".*conv1.*: [\d,]+ of [\d,]+ values differ\.", line) for line in lines)
    assert not view.state.stored().ran


def test_bits_are_compared_not_values():
    wanted = {"a": np.array([0.0, np.nan, 1.0], np.float32)}
    got = {"a": np.array([-0.0, np.nan, 1.0], np.float32)}
    assert running._differences(wanted, got)[0].values == 1


# -- bad input ----------------------------------------------------------------------------------

BAD: list[Any] = [
    ({"how": "bigest"}, "did you mean 'biggest'"),
    ({"beside": "worst"}, "unknown placing 'worst'. Known: no reuse,"),
    ({"what": "resnet5"}, "did you mean"),
    ({"what": 3}, "give the toy, a network or a step"),
    ({"what": "mnist_cnn", "batch": 0}, "batch must be at least 1"),
    ({"what": "mnist_cnn", "batch": 10**9}, "batch must be at most"),
    ({"what": "mnist_cnn", "beside": "birth"}, "only the toy"),
    ({"in_place": True}, "the toy has no operations"),
    ({"cursor": 0}, "cursor must be at least 1"),
    ({"cursor": 9}, "cursor must be an operation from 1 to 8"),
    ({"chosen": "G"}, "unknown block 'G'. Known: A, B,"),
    ({"packed": 7}, "there are 6 blocks"),
    ({"moved": {"G": 0}}, "unknown block 'G'"),
    ({"moved": {"A": 65}}, "multiple of 64"),
    ({"what": "mnist_cnn", "stage": "stage 9"}, "unknown stage 'stage 9'"),
    ({"stage": "stage 1"}, "unknown stage 'stage 1'"),
    ({"budgets": ("much",)}, "'much' is no amount of memory"),
    ({"budgets": "much"}, "'much' is no amount of memory"),
    ({"budgets": 8}, "budgets must be a list, got 8; try ['12 GB card']."),
    ({"guess": "much"}, "'much' is no amount of memory"),
]


@pytest.mark.parametrize(("wrong", "says"), BAD)
def test_bad_arguments_get_one_sentence(wrong, says):
    with pytest.raises(InputError, match=re.escape(says)) as caught:
        addresses(**wrong)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "event",
    [("how", "x"), ("what", "x"), ("batch", "0"), ("operation_number", "99"), ("guess", "x"),
     ("operation_number", None), ("choose", "Z")],
)  # fmt: skip
def test_bad_events_get_one_sentence_and_the_picture_stays(event):
    view = addresses()
    before = view.svg()
    assert send(view, event)["error"]
    assert view.svg() == before


def test_python_steers_it_and_its_code_makes_it_again():
    view = addresses("mnist_cnn", 16, how="birth")
    view.in_place = True
    view.cursor = 5
    view.guess = "40 MiB"
    again = eval(view.code(), {"memlab": memlab})
    assert again.text() == view.text()
    assert again.svg() == view.svg()
    view.what = "toy"
    view.beside = "biggest"
    assert eval(view.code(), {"memlab": memlab}).text() == view.text()
    view.move("A", "3 MiB")
    assert view.how == "by hand"
    again = eval(view.code(), {"memlab": memlab})
    assert (again.text(), again.placement) == (view.text(), view.placement)
    with pytest.raises(InputError, match="unknown block"):
        view.move("Z", 0)
    assert repr(view).startswith("<address map: six tensors")


def test_a_network_and_a_step_of_ones_own_are_shown():
    for subject in (SMALL, STEP):
        view = addresses(subject, 2)
        shown = view.now_["shown"]
        assert shown["state"].startswith("small|no reuse|")
        send(view, ("what", "toy"))
        send(view, ("what", "small"))
        assert view.now_["shown"]["state"].startswith("small|")
    assert addresses(SMALL, 2, lock=True).now_["layout"]["controls"][0]["name"] == "how"


def test_every_text_of_the_view_is_used_in_its_own_words():
    assert strings.has("addresses.name")
    assert set(keys.KEYS) >= {"KeyM", "KeyR", "KeyT", "KeyP"}
    assert set(HOWS) == {*ORDERS, "best"}
    for how in HOWS:
        assert strings.has(f"addresses.how.{how.replace(' ', '_')}")
