"""The address map: what it shows, what settings, keys and presses do, and what runs with it."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest

import memlab
from lessons import build
from memlab import claims, devices, strings
from memlab.bench import torch_memory
from memlab.errors import InputError
from memlab.planner.placement import TOY, arrange
from memlab.studies import figures
from memlab.studies.packing import MOST
from memlab.views import addresses
from memlab.views.address_map import SMALL, paint
from tests.views.pages import MAP_STEP as STEP
from tests.views.pages import small_network

MIB = 2**20
ORDERS = ("no reuse", "birth", "biggest", "best fit", "exact")


# -- picture and text ---------------------------------------------------------------------------


def labels(view):
    return [label.content for label in view.page(960).svg().labels]


@pytest.mark.parametrize("how", ORDERS)
def test_the_toy_in_characters_is_the_map(how):
    view = addresses(how=how)
    text, found = view.text(), view.rows.packing
    levels = [line.split() for line in text.splitlines() if re.match(r" +\d+  [.A-F]", line)]
    assert "      1 2 3 4 5 6 7 8\n" in text
    assert len(levels) == found.arena // MIB
    for level, *cells in levels:
        for at, cell in enumerate(cells):
            here = [p.name for p in found.at(at) if p.address <= int(level) * MIB < p.top]
            assert here == ([] if cell == "." else [cell])


def test_the_rectangles_of_the_map_are_the_addresses():
    view = addresses(how="biggest")
    boxes = {
        group.attrib["data-value"]: (float(rect.attrib["width"]), float(rect.attrib["height"]))
        for group in ET.fromstring(view.svg()).iter()
        if group.get("data-send") == "choose"
        for rect in group
    }
    assert set(boxes) == set("ABCDEF")
    one, _ = boxes["D"]
    for name, (wide, tall) in boxes.items():
        placed = view.rows.packing.by_name[name]
        lives = placed.block.death - placed.block.birth + 1
        assert tall == pytest.approx(20 * placed.size / MIB - 2, abs=0.2)
        assert wide == pytest.approx(lives * (one + 2) - 2, abs=0.5)


def test_every_block_says_its_facts():
    svg = addresses("mnist_cnn", how="best").svg()
    found = addresses("mnist_cnn", how="best").rows.packing
    facts = dict(re.findall(r'data-fact="([^"]*)" data-send="choose" data-value="([^"]*)"', svg))
    said = {name: fact for fact, name in facts.items()}
    assert set(said) == {placed.name for placed in found.large}
    where = found.where(found.by_name["pool1"])
    assert said["pool1"] == (
        f"pool1: B·C·H·W·4 B = 1,605,632 B; made by pool1; last read by backward of conv2; {where}"
    )


def test_the_toy_in_order_of_birth_shows_holes_that_are_too_small():
    view = addresses(how="birth")
    assert "Nothing is saved" in view.text()
    shown = labels(view)
    assert shown.count("hole: 3 MiB") == shown.count("F needs 4 MiB") == 2
    assert "hole: 3 MiB" not in labels(addresses(how="biggest"))


def test_an_overlap_is_crossed_and_said():
    view = addresses(how="birth", moved={"D": 0}, chosen="D")
    said = "B and D both live at operation 5."
    assert said in view.text()
    assert said in labels(view)
    assert view.svg().count('stroke-width="2.2"') == 1
    assert addresses(how="birth").svg().count('stroke-width="2.2"') == 0


def test_nothing_is_told_by_colour_alone():
    kinds = ("kept", "short", "gradient_map", "parameter_gradient", "workspace")
    looks = [(look.tint, look.pattern) for look in (*map(paint, kinds), SMALL)]
    assert len(set(looks)) == len(looks)


def test_stored_pictures_are_small_and_the_same_each_time():
    view = addresses("resnet50", how="best", in_place=True)
    assert len(view.svg()) < 120_000
    assert view.svg().count("<rect") <= MOST
    assert view.svg() == addresses("resnet50", how="best", in_place=True).svg()
    assert not build.VARIES.search(view.text())
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
    return next(each for each in view.now_["layout"]["controls"] if each["name"] == name)


def test_the_controls_change_what_is_shown():
    view = addresses()
    assert view.now_["shown"]["state"] == "toy|no reuse|13631488"
    assert send(view, ("how", "birth"))["state"] == "toy|birth|13631488"
    assert send(view, ("how", "biggest"))["state"] == "toy|biggest|8388608"
    assert send(view, ("cursor", 3))["shown"] == 3
    assert view.cursor == 3
    assert send(view, ("at", 0))["shown"] == 1
    assert send(view, ("cursor_number", "8"))["shown"] == 8
    assert send(view, ("guess", "9 MiB"))["error"] == ""
    assert view.guess == 9 * MIB
    assert send(view, ("packed", 2))["state"] == "toy|biggest|8388608"
    assert view.packed == 2
    assert "2nd: D needs 3 MiB." in view.text()
    assert control(view, "packed")["spoken"] == "2 of 6 blocks packed"
    send(view, ("packed", 6))
    assert view.packed is None
    shown = send(view, ("what", "mnist_cnn"))
    assert shown["state"].startswith("mnist_cnn|")
    assert (view.cursor, view.guess) == (None, None)
    before = view.rows.packing.total
    send(view, ("in_place", True))
    assert view.rows.packing.total < before
    send(view, ("batch", "8"))
    assert view.batch == 8
    assert view.now_["layout"]["more"] == "More: in place, batch 8, guess"


def test_the_axis_stays_while_a_slider_moves():
    view = addresses("mnist_cnn")
    end = view.rows.scale
    for operation in (1, 9, 20):
        send(view, ("cursor", operation))
        assert view.rows.scale == end
    for count in (0, 3, 9):
        send(view, ("packed", count))
        assert view.rows.scale == end
    toy = addresses()
    for how in ORDERS:
        toy.how = how
        assert toy.rows.scale.last == 13 * MIB


def test_keys_walk_over_blocks_and_operations():
    view = addresses(how="birth")
    press(view, "ArrowRight")
    assert view.chosen == "A"
    press(view, "ArrowRight", "ArrowRight")
    assert view.chosen == "C"
    press(view, "ArrowUp")
    assert view.chosen == "D"
    assert "D. lives for one operation" in view.now_["shown"]["says"]
    assert view.now_["shown"]["fact"].startswith("D: 3,145,728 B; born at operation 5")
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
    names = [each["name"] for each in view.now_["layout"]["controls"]]
    assert {"leave", "score"} <= set(names)
    for name, wanted in {"F": 0, "D": 0, "B": 3, "E": 5, "A": 0, "C": 7}.items():
        send(view, ("choose", name))
        placed = view.rows.packing.by_name[name]
        way = "ArrowUp" if wanted * MIB > placed.address else "ArrowDown"
        press(view, *[way] * (abs(wanted * MIB - placed.address) // MIB))
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


def test_overlaps_are_said_and_do_not_count():
    view = addresses(how="birth")
    send(view, ("move", None), ("choose", "D"))
    shown = press(view, *["ArrowDown"] * 4)
    assert view.rows.packing.by_name["D"].address == 0
    assert "B and D both live at operation 5." in shown["says"]
    assert "blocks overlap" in view.score()
    assert press(view, *["ArrowDown"] * 3)["error"] == ""
    assert view.rows.packing.by_name["D"].address == 0
    press(view, *["ArrowUp"] * 40)
    assert view.rows.packing.by_name["D"].top == 13 * MIB


def test_a_moved_block_slides_and_the_top_before_stays_as_an_outline():
    view = addresses(how="birth")
    svg = send(view, ("how", "biggest"))["svg"]
    moved = [each for each in TOY if arrange(TOY, "birth").address(each.name)
             != arrange(TOY, "biggest").address(each.name)]  # fmt: skip
    assert svg.count('class="slides"') == len(moved)
    assert svg.count('class="before"') == 2
    svg = send(view, ("cursor", 2))["svg"]
    assert 'class="slides"' not in svg
    assert svg.count('class="before"') == 2
    assert 'class="slides"' not in view.svg()
    assert 'class="before"' not in view.svg()


def test_the_presets():
    view = addresses(how="biggest", guess="9 MiB")
    assert send(view, ("start", None))["state"] == "toy|no reuse|13631488"
    shown = send(view, ("surprise", None))
    assert shown["state"] == "toy|birth|13631488"
    assert "13 MiB or 8 MiB" in shown["svg"]
    assert "arena 8 MiB, lower bound 8 MiB (operation 5), waste 0 MiB" in view.text()
    assert view.guess == 9 * MIB
    names = {each["name"] for each in view.now_["layout"]["controls"]}
    assert {"start", "surprise", "break", "real"} <= names


# -- a network -----------------------------------------------------------------------------------


def test_real_goes_from_no_reuse_past_the_budgets_to_shared():
    counted = claims.chen2016(memlab.zoo.build("resnet50", variant="v1.5"))
    inside = memlab.in_place(counted)
    steps = (memlab.no_reuse(counted), memlab.no_reuse(inside), inside)
    wanted = [claims.maps(step, 32) for step in steps]
    view = addresses()
    said: list[str] = []
    for arena in [*wanted, wanted[0]]:
        shown = send(view, ("real", None))
        assert shown["state"].startswith("resnet50 chen2016|")
        assert view.rows.packing.arena == arena
        assert view.rows.scale.last >= wanted[0]
        assert ('class="glides"' in shown["svg"]) is (len(said) > 0)
        said.append(control(view, "real")["label"])
    assert said == ["Real: in place", "Real: share addresses", "Real", "Real: in place"]
    first, second = (
        budget.nbytes - view.rows.packing.subject.before(32) for budget in view.budgets
    )
    assert wanted[0] > first > wanted[1] > second > wanted[2]
    assert 'class="glides"' not in view.svg()


def test_the_counting_is_named_and_memlabs_own_step_is_one_choice_away():
    view = addresses("resnet50 chen2016", how="best", in_place=True)
    assert "counted as Chen et al. 2016" in view.text()
    assert "The input, 18.4 MiB, is not in the arena: with it 2,585.2 MiB." in view.text()
    with pytest.raises(InputError, match="no arithmetic"):
        view.run()
    view = addresses("resnet50", how="best", in_place=True)
    assert "Chen" not in view.text()
    step = memlab.in_place(memlab.training_step(memlab.zoo.build("resnet50", variant="v1.5")))
    assert view.rows.packing.arena == memlab.place(step, 32).arena


@pytest.mark.parametrize(("nbytes", "verdict"), [(60, "does not fit."), (80, "fits.")])
def test_a_budget_leaves_what_is_not_there_before(nbytes, verdict):
    view = addresses("mnist_cnn", how="best", budgets=(f"{nbytes} MiB",))
    found = view.rows.packing
    before = found.subject.before(32)
    assert (nbytes * MIB - before >= found.arena) is (verdict == "fits.")
    room = figures.in_binary(nbytes * MIB - before)
    (line,) = [each for each in view.text().splitlines() if each.startswith("room in")]
    assert line.startswith(f"room in {nbytes} MiB: {room}")
    assert line.endswith(f"The arena {verdict}")
    assert (f"room in {nbytes} MiB" in labels(view)) is (nbytes * MIB - before < 50 * MIB)
    assert "room in" not in addresses(budgets=("60 MiB",)).text()


def test_what_is_free_here_is_never_stored(monkeypatch):
    monkeypatch.setattr(devices, "free_memory", lambda: 45_678_901)
    view = addresses("mnist_cnn", how="best", budgets=())
    assert "free here now: 40.00 MB" in view.now_["shown"]["svg"]
    monkeypatch.setattr(devices, "free_memory", lambda: 51_234_567)
    send(view, ("text", None), ("cursor", 3))
    assert "free here now: 50.00 MB" in view.now_["shown"]["text"]
    assert "free here" not in view.svg() + view.text()
    alone = addresses("mnist_cnn", budgets=(), free=False)
    assert "free here" not in alone.now_["shown"]["svg"]


def test_what_is_cheap_to_make_again_is_marked_and_said():
    view = addresses("resnet50", how="best", in_place=True)
    found = view.rows.packing
    cheap = next(each for each in found.cheap if each in found.large)
    view.chosen = cheap.name
    assert "feature map, kept for backward, cheap to make again" in view.text()
    assert f"cheap to make again: {len(found.cheap)} blocks" in view.text()
    assert "cheap" not in addresses().text()


def test_a_stage_is_shown_alone():
    view = addresses("resnet50", 16, how="best", in_place=True)
    every = view.rows.packing
    send(view, ("choose", "2.1.conv3"))
    press(view, "Enter")
    assert view.stage == "stage 2"
    found, scale = view.rows.packing, view.rows.scale
    assert found.large
    assert {each.entry and each.entry.stage for each in found.large} == {"stage 2"}
    assert len(found.large) + len(found.small) == len(every.blocks)
    assert (found.arena, found.bound) == (every.arena, every.bound)
    assert 0 < scale.first <= min(each.address for each in found.large)
    assert scale.last >= max(each.top for each in found.large)
    assert "Only stage 2: " in view.now_["shown"]["says"]
    press(view, "Escape")
    assert (view.stage, view.chosen) == ("", "2.1.conv3")
    assert send(view, ("stage", "head"))["error"] == ""
    assert eval(view.code(), {"memlab": memlab}).text() == view.text()


def test_two_tensors_in_one_place_have_both_names_and_a_notch():
    view = addresses("mnist_cnn", how="best", in_place=True)
    assert "conv1 → conv1.relu" in labels(view)
    notch = 'd="M-6.0 0L0 6.0L6.0 0"'
    assert notch in view.svg()
    view.in_place = False
    assert notch not in view.svg()


@pytest.mark.measures
@pytest.mark.parametrize("in_place", [False, True])
def test_a_recomputed_step_is_placed_and_runs(in_place):
    view = addresses(memlab.recompute(STEP, "cheap"), 2, how="best", in_place=in_place)
    assert any("again" in each.name for each in view.rows.packing.blocks)
    assert "recompute (cheap)" in view.text()
    ran = view.run()
    assert ran.arena == view.placement.arena
    assert ran.same_loss
    assert ran.wrong == ()


def test_beside_what_pytorch_was_recorded_to_hold():
    view = addresses("resnet50", 16, how="best", in_place=True)
    subject = view.rows.packing.subject
    assert subject.step is not None
    found = torch_memory.beside(subject.step)
    shown = view.now_["shown"]
    (line,), (table,) = shown["lines"], shown["after"]
    assert figures.in_binary(sum(found.recorded.values())) in line[0]
    there = subject.before(16) + view.placement.arena
    assert there < sum(found.recorded.values())
    assert figures.in_binary(there) in line[0]
    assert "recorded" in line[0]
    differ = {role: abs(found.recorded[role] - found.planned[role]) for role in found.recorded}
    largest = max(differ, key=differ.__getitem__)
    assert f"difference: {strings.get(f'torch_memory.role.{largest}')}," in line[0]
    assert table[0] == str(found)
    assert line[0] in view.text()
    assert str(found) in view.text()
    for other in (32, 8):
        view.batch = other
        assert view.now_["shown"]["lines"] == ()


# -- running ------------------------------------------------------------------------------------


def test_what_does_not_run_says_so():
    with pytest.raises(InputError, match="no arithmetic"):
        addresses().run()
    assert "no arithmetic" in press(addresses(), "KeyR")["error"]
    with pytest.raises(InputError, match="GFLOP"):
        addresses("vgg16", how="birth").run()


@pytest.mark.measures
def test_what_came_of_a_run_stands_beside_its_map_alone():
    view = addresses(STEP, 2, how="best fit", budgets=(), free=False)
    ran = view.run()
    assert ran.placement == view.placement
    shown = view.now_["shown"]
    assert [line[0] for line in shown["lines"]] == ran.sentences()
    assert shown["status"] == ran.news()
    assert send(view, ("cursor", 3))["status"] == ran.news()
    assert send(view, ("how", "birth"))["status"] == ""
    assert "it ran" not in view.text().lower()


@pytest.mark.measures
def test_break_it_shows_the_fault_and_what_came_of_it():
    view = addresses()
    shown = send(view, ("break", None))
    assert shown["error"] == ""
    assert shown["state"].startswith("mnist_cnn|by hand|")
    (fault,) = view.rows.packing.overlaps
    assert f"both live at operation {fault.first + 1}" in shown["says"]
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
    [("how", "x"), ("what", "x"), ("cursor_number", "99"), ("guess", "x"),
     ("cursor_number", None), ("choose", "Z")],
)  # fmt: skip
def test_bad_events_get_one_sentence_and_the_picture_stays(event):
    view = addresses()
    before = view.svg()
    assert send(view, event)["error"]
    assert view.svg() == before
    assert send(addresses("mnist_cnn"), ("batch", "0"))["error"]


def test_python_steers_it_and_its_code_makes_it_again():
    view = addresses("mnist_cnn", 16, how="birth")
    view.in_place = True
    view.cursor = 5
    view.guess = "40 MiB"
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
            "resnet50 chen2016",
        ]
    alone = addresses(small_network(), 2, lock=True)
    assert dict(control(alone, "what")["options"]).keys() == {"small"}
    assert {"start", "break", "real"}.isdisjoint(
        e["name"] for e in alone.now_["layout"]["controls"]
    )


def test_the_map_of_the_plan_is_the_map_by_hand_with_the_same_addresses():
    view = addresses("mnist_cnn", how="best fit")
    first = view.rows.packing.blocks[0]
    view.move(first.name, first.address)
    assert view.rows.packing.arena == addresses("mnist_cnn", how="best fit").rows.packing.arena
    assert "Every block is where it was." in view.text()
    other = replace(view.placement, addresses=(64, *view.placement.addresses[1:]))
    assert other != view.placement
