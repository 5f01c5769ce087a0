"""The memory of a step: its figures at one batch, and the view at its settings."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest

import memlab
from memlab import free_memory, strings, views
from memlab.errors import InputError
from memlab.networks import counting
from memlab.networks.graph import Network
from memlab.pictures.draw.marks import OpenEdge
from memlab.pictures.memory.counting_rules import CHAIN, OutputTotals
from memlab.pictures.memory.page import BOTH, FIRST
from memlab.pictures.memory.snapshot import Snapshot, before, cut, details, just_changed
from memlab.pictures.memory.step_memory import Budget, StepMemory, budget, phases
from memlab.pictures.memory.view import CONTROLS
from memlab.pictures.mountain.stack_parts import StackPart
from memlab.pictures.values.step_recipe import MIXED, OFFERED, StepRecipe, memory_of, network_of
from memlab.step.tensor import Role
from memlab.techniques.registry import applied
from tests.pictures.shown import charts, drawn
from tests.pictures.test_pages import NUMBER, numerals

BUDGETS = (budget("12 GB card"), Budget("free", 4_200_000_000, live=True))


def found(name="resnet50", batch=32, optimizer="momentum", training=True, format="fp32", at=None):
    return cut(memory_of(StepRecipe(network_of(name), optimizer, training, format)), batch, at)


def tally(shown: Snapshot, rule="conv-sums") -> OutputTotals:
    assert isinstance(shown.memory.network, Network)
    return OutputTotals(shown, shown.memory.network, rule)


# -- bytes ----------------------------------------------------------------------------------------

CASES = [("resnet50", 32), ("googlenet", 100)]


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_the_parts_add_up_at_every_operation(name, batch):
    memory = memory_of(StepRecipe(network_of(name)))
    timeline = memory.ledger.timeline(batch)
    for at in range(0, len(timeline), max(1, len(timeline) // 50)):
        shown = cut(memory, batch, at)
        assert shown.here == timeline[at]
        assert shown.here == sum(row.nbytes for row in (*shown.floor, *shown.mountain))
        assert sum(row.nbytes for row in shown.slices) == sum(r.nbytes for r in shown.mountain)
        assert shown.others + sum(block.nbytes for block in shown.blocks) == shown.here


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_the_floor_is_what_does_not_grow(name, batch):
    shown = found(name, batch)
    ledger = shown.memory.ledger
    assert shown.peak_floor + shown.peak_mountain == shown.peak.nbytes == ledger.peak(batch)
    fixed, each = ledger.line()
    assert shown.memory.floor.tolist() == fixed.tolist()
    assert shown.memory.mountain.tolist() == each.tolist()
    assert shown.memory.ground.tolist() == fixed.tolist()
    assert shown.curve.tolist() == ledger.timeline(batch)


def test_the_stack_has_the_bytes_of_each_part():
    shown, low = found("vgg16", 8, "adam", at=57), 0.0
    for part, _, edge in shown.layers:
        row = next(row for row in shown.roles if row.part == part)
        assert edge[57] - low == row.nbytes
        low = edge[57]
    assert low == shown.here


def test_the_largest_block_of_a_part_is_one_of_its_role_and_alive():
    shown = found("vgg16", 8, "adam", at=57)
    entries = {entry.name: entry for entry in shown.memory.ledger.alive(57)}
    for part, row in zip(shown.memory.parts, shown.roles, strict=True):
        block = shown.largest.get(part)
        sizes = [entry.size.per_sample if part.grows else entry.size.fixed
                 for entry in entries.values() if entry.role is part.role]  # fmt: skip
        if not row.nbytes:
            assert block is None
            continue
        assert block is not None
        size = entries[block.name].size
        assert (size.per_sample if part.grows else size.fixed) == max(sizes)
    weights = shown.largest.get(StackPart(Role.PARAMETER, False))
    assert weights is not None
    assert weights.formula(8) == "4096·25088·4 B = 411,041,792 B"


def test_the_figures_that_the_lesson_tells():
    adam, half = found("vgg16", 8, "adam"), found("vgg16", 4, "adam")
    assert 0.07 < 1 - half.peak.nbytes / adam.peak.nbytes < 0.09
    assert half.peak.index != adam.peak.index
    assert sum(r.nbytes for r in half.floor if r.name == "optimizer state") == (8 * 138_357_544)


def test_a_verdict_is_exact():
    shown = found("resnet50", 512)
    for verdict in map(shown.judged, BUDGETS):
        largest = verdict.largest
        ledger = shown.memory.ledger
        assert not verdict.fits
        assert largest is not None
        assert ledger.peak(largest) <= verdict.budget.nbytes < ledger.peak(largest + 1)


@pytest.mark.parametrize(
    ("name", "mode", "training"), [("resnet50", MIXED[0], True), ("mnist_cnn", MIXED[-1], False)]
)
def test_mixed_precision_is_the_plan_of_the_technique(name, mode, training):
    build = memlab.training_step if training else memlab.inference_step
    ledger = memlab.plan(memlab.precision(build(network_of(name)), mode))
    shown = found(name, 4, training=training, format=mode)
    assert shown.memory.ledger == ledger
    assert shown.peak.nbytes == ledger.peak(4)
    assert shown.memory.format == mode
    for at in range(0, shown.memory.operations, 7):
        for row in tally(replace(shown, at=at), "conv-only").rules:
            assert row.nbytes == 4 * 2 * row.values
            assert 0 <= row.alive <= row.nbytes


def test_a_format_alone_is_a_device_that_computes_in_it():
    for name in ("bf16", "fp16"):
        ledger = memlab.plan(memlab.training_step(network_of("resnet50"), format=name))
        assert found("resnet50", format=name).memory.ledger == ledger
    with pytest.raises(InputError, match="mixed fp32"):
        found(format="mixed fp32")


def test_a_network_without_stages_is_cut_by_layer():
    x = memlab.network("tiny", image=(3, 32, 32))
    for _ in range(9):
        x = x.conv(16, 3, pad="same").relu()
    shown = cut(memory_of(StepRecipe(x.flatten().linear(10).cross_entropy())), 4)
    assert len(shown.slices) == 6
    assert shown.slices_title == "The mountain by layer"


# -- counting rules -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["resnet50", "mnist_cnn"])
def test_a_rule_counts_what_the_convention_counts(name):
    rules = tally(found(name)).rules
    for row in rules:
        assert row.values == row.rule.values(network_of(name))
        assert row.nbytes == 32 * 4 * row.values
        assert row.alive <= row.nbytes
    sizes = [row.values for row in rules if row.rule.name in CHAIN]
    assert sizes == sorted(sizes)
    assert {row.rule.name for row in rules} == set(counting.CONVENTIONS)


def test_counting_rules_give_the_published_counts():
    counts = {row.rule.name: row.values for row in tally(found("resnet50-v1")).rules}
    assert counts["conv-only"] == 10_587_136
    assert counts["conv-sums"] == 16_106_496
    assert counts["relu-in-place"] == 27_048_912


def test_the_curve_of_a_rule_is_what_it_counts_of_what_is_alive():
    shown = found()
    for name in CHAIN:
        counted = tally(shown, name)
        assert int(counted.curve[shown.at]) == counted.chosen.alive


def test_a_rule_is_told_with_what_it_misses():
    counted = tally(found())
    assert counted.sentences[-1] == (
        "All outputs of forward take 4.827 GB. "
        "1.307 GB of the mountain are alive here and not counted."
    )
    assert counted.headline(few=True) == [
        ("2.13 GB counted:", True),
        ("1.423 alive, 0.706 freed", False),
    ]


# -- in words -------------------------------------------------------------------------------------


def test_the_peak_is_told_to_the_byte():
    shown = found("vgg16", 8, "adam")
    assert shown.text().splitlines() == [
        "VGG-16, batch 8, fp32, Adam, training.",
        "The peak is 2,704,815,492 B at operation 57 of 94, backward of conv4_3.",
        "Floor 2,207,069,572 B, grows 0 B per image; "
        "mountain 497,745,920 B, grows 62,218,240 B per image.",
        "Operations: forward 1 to 38, loss 39, backward 40 to 78, update 79 to 94.",
    ]
    lines = {line.name: (line.nbytes, line.per_sample) for line in shown.lines}
    assert lines["optimizer state"] == (1_106_860_352, 0)
    assert shown.headline() == [
        ("Peak 2.705 GB", True), ("(2.519 GiB) = floor 2.207 + mountain 0.498 GB", False)
    ]  # fmt: skip
    assert shown.headline(few=True)[1][0] == "= floor 2.207 + mountain 0.498 GB"
    assert shown.blocks[0].life == "fc6.weight: there before the step, stays after it"


def test_a_ledger_alone_says_what_techniques_have_noted():
    step = memlab.precision(memlab.training_step(network_of("mnist_cnn")), "mixed fp16")
    assert cut(StepMemory(memlab.plan(step)), 16).title == (
        "MNIST CNN, batch 16, fp16, SGD with momentum, training, fp32 master weights, loss scaling"
    )


def test_what_ran_between_two_operations_counts_at_the_second():
    """From a step with repeats to the plain one: the waves are not lost."""
    given = (applied("recompute", "every", k=2),)
    again = cut(memory_of(StepRecipe(network_of("resnet50"), uses=given)), 32)
    plain = found()
    names = [row.name for row in again.memory.ledger.rows]
    bytes_of = again.memory.ledger.timeline(32)
    line, start = before(again, plain), 0
    for at, row in enumerate(plain.memory.ledger.rows):
        end = names.index(row.name) + 1
        assert line[at] == max(bytes_of[start:end])
        start = end
    assert start == len(names)


def test_the_same_operations_have_the_same_curve():
    start = found()
    for other in (found(optimizer="adam"), found(format="fp16"), found(batch=8)):
        assert before(other, start).tolist() == other.memory.ledger.timeline(other.batch)


def test_news_names_what_changed():
    start = found()
    assert just_changed(start, found(batch=64)).startswith(
        "Batch 32 to 64: at every operation the mountain doubles"
    )
    assert "halves and the floor stays" in just_changed(start, found(batch=16))
    assert "is 4 times as large" in just_changed(start, found(batch=128))
    assert "is 1/8 as large" in just_changed(start, found(batch=4))
    assert just_changed(start, found(optimizer="adam")) == (
        "Now Adam. Before: SGD with momentum. The peak grows by 102 MB."
    )
    assert details(start, found(optimizer="adam")) == (
        "The peak changes by +3.5 %, the floor by +102 MB, the mountain by +0 B."
    )
    mixed = found(format="mixed bf16")
    assert just_changed(start, mixed).startswith("Now mixed bf16. Before: fp32. The peak falls by ")
    assert "Now bf16. Before: mixed bf16." in just_changed(mixed, found(format="bf16"))
    assert "Now VGG-16. Before: ResNet-50 v1.5." in just_changed(start, found("vgg16"))
    adam, half = found("vgg16", 8, "adam"), found("vgg16", 4, "adam")
    assert just_changed(adam, half).endswith(
        "The peak falls by 219 MB and moves to another operation."
    )
    assert details(adam, half).endswith("The peak was at operation 57 and is now at 76.")


def test_a_technique_comes_and_goes():
    start = found("mnist_cnn")
    placed = cut(memory_of(StepRecipe(network_of("mnist_cnn"), uses=(applied("in_place"),))), 32)
    assert just_changed(start, placed).startswith("Now in place. The peak falls by ")
    assert just_changed(placed, start).startswith("No longer in place. The peak grows by ")


def test_a_step_that_offloads_says_what_the_host_holds_and_its_phases_are_whole() -> None:
    plain = memlab.training_step(memlab.zoo.vgg11(), "sgd")
    moved = memlab.plan(memlab.offload(plain, "all"))
    found = [phase for phase, _, _ in phases(moved.rows)]
    assert found == [phase for phase, _, _ in phases(memlab.plan(plain).rows)]
    for detail in ("first", "all"):
        view = memlab.views.memory(moved, 4, detail=detail)
        assert f", {moved.peak(4, 'host'):,} B." in view.text()
        assert "host memory: at most" in " ".join(each.content for each in view.page().svg().labels)
    assert "host memory" not in memlab.views.memory(memlab.plan(plain), 4).text()


def test_host_memory_is_torn_where_it_is_too_deep_for_a_screen() -> None:
    fits, torn = (memlab.views.memory("vit_s", batch=32, offload="all", recompute=recompute)
                  for recompute in ("chain", ""))  # fmt: skip
    assert charts(torn)[1].height == BOTH - FIRST > charts(fits)[1].height
    assert [edges(view) for view in (fits, torn)] == [[], ["bottom"]]


def edges(view: Any) -> list[str]:
    """Sides at which what is drawn is torn."""
    found = (mark for chart in charts(view) for mark in chart.marks)
    return [mark.side for mark in found if isinstance(mark, OpenEdge)]


def test_a_memory_that_is_kept_speaks_the_language_that_is_asked_in(monkeypatch):
    recipe = StepRecipe(memlab.zoo.mnist_cnn())
    with monkeypatch.context() as patch:
        patch.setattr(strings, "language", lambda: "zh")
        assert memory_of(recipe).sample == "图像"
    assert memory_of(recipe).sample == "image"
    assert memory_of(recipe) is memory_of(recipe)


@pytest.fixture(autouse=True)
def free(monkeypatch):
    """So much is free on every machine."""
    monkeypatch.setattr(free_memory, "free_memory", lambda: 4_200_000_000)


def checked(view, width=960):
    """The live picture: it parses, no text overlaps another or the edge, none is too small."""
    page = view.compose(view.scene(width, live=True))
    svg = page.svg()
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11
    ET.fromstring(page.render())
    return " | ".join(label.content for label in svg.labels)


# -- picture ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "batch"), [("gpt2", 1), ("alexnet", 1024)])
def test_a_network_is_drawn_without_collisions(name, batch):
    checked(views.memory(name, batch))


@pytest.mark.parametrize(("name", "width"), [("resnet152", 480), ("googlenet", 820)])
def test_every_width_is_drawn_without_collisions(name, width):
    view = views.memory(name, 128, "adam")
    checked(view, width)
    view.on_event("batch", 9, True)
    checked(view, width)
    view.on_event("batch", 7, False)
    view.change(batch=7, guess=10**9)
    checked(view, width)
    view.rule = "cs231n"
    checked(view, width)


SETTINGS: list[dict[str, Any]] = [
    {"format": "mixed fp16", "rule": "everything"},
    {"training": False, "image": 96, "variant": "v1"},
    {"unfolded": "stage 2", "cursor": 10**6, "guess": 10**15},
    {"recompute": "every", "k": 3, "feature_map": "fp8_e5m2"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_every_setting_is_drawn_without_collisions(settings):
    for batch, detail in ((1, "first"), (64, "all")):
        view = views.memory("resnet50", batch, detail=detail)
        view.change(**settings)
        checked(view)


@pytest.mark.parametrize("line", ["slice:head", "block:conv1"])
def test_every_line_in_focus_is_drawn_without_collisions(line):
    view = views.memory("resnet50", cursor=200, detail="all")
    view.on_event("choose", line, False)
    assert view.state.chosen == line
    checked(view)


def test_a_cursor_is_drawn_without_collisions():
    view = views.memory("mnist_cnn", 64)
    for at in (1, 7, view.rows.memory.operations):
        view.cursor = at
        checked(view)


def test_the_largest_batch_is_drawn():
    checked(views.memory("resnet50", 1_000_000))
    with pytest.raises(InputError, match="at most 1,000,000"):
        views.memory("resnet50", 1_000_001)


def test_a_ledger_alone_is_drawn():
    ledger = memlab.plan(memlab.training_step(memlab.zoo.vgg11()))
    view = views.memory(ledger, 16)
    assert view.rows.peak.nbytes == ledger.peak(16)
    checked(view)
    with pytest.raises(InputError, match="counting rule needs a network"):
        views.memory(ledger, rule="everything")
    with pytest.raises(InputError, match="recompute is chosen where a network is given, got a st"):
        views.memory(ledger, recompute="every")


# -- what a mark says ---------------------------------------------------------------------------


def test_every_slice_says_its_bytes_and_its_largest_block():
    view = views.memory("resnet50", free=False)
    svg = view.svg()
    for part, row in zip(view.rows.memory.parts, view.rows.roles, strict=True):
        name = f"{row.name}, operation 179: {row.nbytes:,} B"
        block = view.rows.largest.get(part)
        more = f"; the largest is {block.name}, {block.formula(32)}" if block else ""
        assert f'data-fact="{name}{more}"' in svg


def test_every_block_says_its_formula_its_maker_and_its_last_reader():
    svg = views.memory("resnet50", free=False, detail="all").svg()
    assert (
        "conv1.relu: 32·64·112·112·4 B = 102,760,448 B; "
        "made by conv1.relu; last read by backward of conv1.relu"
    ) in svg


def test_every_stage_says_its_bytes():
    view = views.memory("resnet50", free=False, detail="all")
    for row in view.rows.slices:
        assert f'data-fact="{row.part.name}: {row.nbytes:,} B; {row.in_blocks}"' in view.svg()


# -- picture and text agree -----------------------------------------------------------------------


def test_the_text_has_every_byte_at_both_levels():
    view = views.memory("vgg16", 8, "adam", guess="3 GB", free=False)
    view.batch = 4
    paragraphs = view.text().split("\n\n")
    assert paragraphs[0].splitlines() == [
        "VGG-16, batch 4, fp32, Adam, training.",
        "Peak 2.49 GB = floor 2.329 + mountain 0.157 GB",
        "Batch 8 to 4: at every operation the mountain halves and the floor stays. "
        "The peak falls by 219 MB and moves to another operation.",
        "The peak changes by −8.1 %, the floor by +122 MB, the mountain by −341 MB. "
        "The peak was at operation 57 and is now at 76.",
        "12 GB card: fits, up to batch 153.",
        "The peak is 2,485,868,164 B at operation 76 of 94, backward of conv1_2.",
        "Floor 2,329,319,044 B, grows 0 B per image; "
        "mountain 156,549,120 B, grows 39,137,280 B per image.",
        "Operations: forward 1 to 38, loss 39, backward 40 to 78, update 79 to 94.",
        "Your guess: 3,000,000,000 B.",
    ]
    table = " ".join(paragraphs[1].split())
    for line in view.rows.lines:
        assert f"{line.name} {line.nbytes:,}" in table
    assert all(block.formula in view.text() and block.story in view.text()
               for block in view.rows.blocks)  # fmt: skip
    assert all(f"{row.nbytes:,} B" in paragraphs[2] for row in view.rows.slices)
    assert paragraphs[-1] == (
        "Before this change: VGG-16, batch 8, fp32, Adam, training. "
        "Peak 2.705 GB = 2,704,815,492 B at operation 57, backward of conv4_3."
    )
    exact = set(NUMBER.findall(view.text()))
    view.detail = "all"
    assert exact <= set(NUMBER.findall(view.text())) | {"2.49", "2.33", "0.16"}


def test_a_text_begins_at_the_start():
    text = views.memory("vgg16").text()
    assert text.endswith("You have not changed anything yet.")
    assert "Free here" not in text


# -- changes --------------------------------------------------------------------------------------


def test_the_axis_stays_until_there_is_more_room():
    view = views.memory("resnet50", 32, detail="all")
    assert "12.5 GB" in checked(view)
    for place in (6, 7, 8):
        view.on_event("batch", place, True)
        assert "12.5 GB" in checked(view)
        assert "| batch 32 |" in checked(view)
    view.on_event("batch", 8, False)
    assert "12.5 GB" in checked(view)
    assert "↑ 22.0 GB" in checked(view)
    view.on_event("more_room", None, False)
    assert "25 GB" in checked(view)
    assert "↑ 22.0 GB" not in checked(view)
    assert "| batch 32 |" in checked(view)


def test_a_drag_that_comes_back_changes_nothing():
    view = views.memory("resnet50", 32, free=False)
    view.batch = 64
    before = view.svg()
    view.on_event("batch", 7, True)
    view.on_event("batch", 6, True)
    view.on_event("batch", 6, False)
    assert view.svg() == before


CHANGES: list[dict[str, Any]] = [
    {"format": "mixed fp16"},
    {"recompute": "every", "k": 2},
    {"network": "mnist_cnn"},
]
NAMED = ("mixed fp16", "recomputed, k = 2", "MNIST CNN")
"""What the outline is called."""


def timeline(view):
    """The bytes inside each operation by its name, of the plan."""
    ledger = view.rows.memory.ledger
    names = [row.name for row in ledger.rows]
    return dict(zip(names, ledger.timeline(view.batch), strict=True))


def outline(view):
    """The state before as a curve."""
    line = view.shown_in(view.scene()).outline
    assert line is not None
    return line


@pytest.mark.parametrize(("change", "name"), [*zip(CHANGES, NAMED, strict=True)], ids=str)
def test_the_state_before_is_outlined_at_every_setting(change, name):
    """Operations of the same name stand for each other, also where there are more of them now."""
    for there, back in ((change, None), ({}, change)):
        view = views.memory("resnet50", free=False)
        view.change(**there)
        if back:
            view.change(**back)
        was = timeline(view)
        usual = {"network": "resnet50", "format": "fp32", "k": None, "recompute": ""}
        view.change(**{name: usual[name] for name in reversed(change)})
        line = outline(view)
        rows = view.rows.memory.ledger.rows
        assert len(line) == len(rows)
        drawn = checked(view)
        assert f"| {name} |" in drawn
        if "network" not in change:
            shared = [(line[at], was[row.name]) for at, row in enumerate(rows) if row.name in was]
            assert len(shared) >= 100
            assert all(drawn >= planned for drawn, planned in shared)
            if len(was) <= len(rows):
                assert all(drawn == planned for drawn, planned in shared)
        if view.rows.memory.ledger.training and len(was) > 200:
            assert max(line) == max(was.values())


def test_a_network_is_outlined_phase_by_phase():
    view = views.memory("resnet50", free=False)
    was = view.rows
    view.network = "vgg16"
    line = outline(view)
    phases = {phase: (first, last) for phase, first, last in was.memory.phases}
    for phase, first, last in view.rows.memory.phases:
        old = was.curve[phases[phase][0] : phases[phase][1] + 1]
        assert line[first : last + 1].max() == old.max()
        assert line[first : last + 1].min() >= old.min()


def test_before_is_a_level_where_nothing_ran():
    view = views.memory("mnist_cnn", free=False)
    was = timeline(view)
    view.recompute = "every"
    line = outline(view)
    names = [row.name for row in view.rows.memory.ledger.rows]
    again = [at for at, name in enumerate(names) if name not in was]
    assert len(again) == 6
    assert all(line[at] == line[at - 1] for at in again)


def test_a_rule_is_compared_with_no_state_before():
    view = views.memory("resnet50", detail="all")
    view.batch = 64
    view.rule = "conv-sums"
    assert "| batch 64 |" not in checked(view)
    assert "A counting rule changes no bar" in checked(view)
    view.batch = 32
    assert "| batch 64 |" in checked(view)


@pytest.mark.parametrize(
    ("what", "changes", "walked"),
    [
        ("resnet50", {"detail": "all"}, "stages and blocks (Enter unfolds a stage)"),
        ("resnet50", {"rule": "conv-sums"}, "counting rules"),
        ("linear1", {}, "blocks"),
    ],
)
def test_the_line_of_keys_names_enter_only_where_it_unfolds(what, changes, walked):
    view = views.memory(what, free=False)
    for name, value in changes.items():
        setattr(view, name, value)
    assert f"Down and Up walk through {walked}, Escape goes back." in view.now_["layout"]["help"]
    view.on_event("key", "ArrowDown", dragging=False)
    before = view.state.unfolded
    view.on_event("key", "Enter", dragging=False)
    assert (view.state.unfolded != before) == ("Enter" in walked)


def test_what_the_operations_of_another_network_are_is_not_kept():
    view = views.memory("resnet50", cursor=300)
    view.unfolded = "stage 2"
    view.network = "vgg16"
    assert view.state.cursor is None
    assert view.state.unfolded == ""


def test_the_live_view_offers_the_modes_and_makes_itself_again():
    view = views.memory("mnist_cnn", free=False)
    select = next(control for control in view.controls() if control.name == "format")
    assert [name for name, _ in select.options] == list(OFFERED)
    for name in OFFERED[::2]:
        view.on_event("format", name, dragging=False)
        assert view.format == name
        assert name in view.more()
        again = eval(view.code(), {"memlab": memlab})
        assert (again.format, again.rows.peak) == (name, view.rows.peak)


def test_a_figure_has_the_plot_and_the_stages():
    view = views.memory("resnet50", free=False, detail="all")
    view.batch = 64
    axes = {each.get_label(): each for each in view.figure().axes}
    assert "The mountain by stage" in axes
    plot = axes["operations of one step, in order"]
    assert plot.get_xlim() == (0, 388)
    assert plot.get_ylim() == (0, 12.5e9)


# -- the first level ------------------------------------------------------------------------------

STATES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "smaller": ("vgg16", [{"batch": 8, "optimizer": "adam"}, {"batch": 4}]),
    "refused": ("resnet50", [{"batch": 512}]),
    "a rule": ("resnet50", [{"rule": "conv-sums"}]),
    "one layer": ("linear1", [{"batch": 8, "optimizer": "sgd"}]),
}


@pytest.mark.parametrize("name", STATES)
def test_a_first_level_has_few_numerals_and_fits_a_screen(name):
    network, changes = STATES[name]
    view = views.memory(network)
    for change in changes:
        view.change(**change)
    for width in (820, 960):
        page = view.compose(view.scene(width, live=True))
        svg = page.svg()
        assert len(numerals(label.content for label in svg.labels)) <= 12
        assert svg.height <= 480
    everything = views.memory(network, detail="all")
    assert len(everything.page().svg().labels) > len(svg.labels) or network == "linear1"


def test_all_numbers_are_a_key_and_a_box_away():
    view = views.memory("resnet50", free=False)
    exact = f"{view.rows.here:,}"
    assert exact not in view.svg().split("data-fact")[0]
    view.on_event("key", "KeyN", False)
    assert view.detail == "all"
    assert f">{exact}</text>" in view.svg()
    view.on_event("detail", False, False)
    assert view.detail == "first"
    assert exact in view.text()


def test_what_does_not_fit_comes_before_what_changed():
    view = views.memory("resnet50", free=False)
    view.batch = 512
    drawn = checked(view)
    assert "12 GB card: does not fit, at most batch 138." in drawn
    assert "doubles" not in drawn
    assert "the mountain is 16 times as large" in view.text()


# -- settings -------------------------------------------------------------------------------------


def front(view):
    return [control.name for control in view.controls() if control.place == "main"]


@pytest.mark.parametrize("name", ["batch", "in_place", "depth", "budget"])
def test_any_setting_is_the_first_control(name):
    assert name in CONTROLS
    network = {"depth": "vit_s"}.get(name, "resnet50")
    more: dict[str, dict[str, Any]] = {"budget": {"recompute": "chain", "batch": 4}}
    view = views.memory(network, control=name, networks=(network, "vgg16"), **more.get(name, {}))
    assert front(view)[0] == name
    assert name == "batch" or "batch" not in front(view)
    again = eval(view.code(), {"memlab": memlab})
    assert front(again) == front(view)


def test_settings_in_front_keep_their_order():
    view = views.memory("resnet50", control=("in_place", "batch"))
    assert front(view) == ["in_place", "batch", "batch_number", "detail"]
    assert view.more().startswith("More: ResNet-50, ")
    with pytest.raises(InputError, match="unknown control 'stride'"):
        views.memory("resnet50", control="stride")


def test_every_choice_is_the_plan_of_the_techniques():
    view = views.memory("resnet50", 8, "adam", free=False)
    net = memlab.zoo.build("resnet50", image=128, variant="v1")
    view.change(image=128, variant="v1", feature_map="fp16", recompute="every", k=4,
                algorithm="direct", in_place=True)  # fmt: skip
    step = memlab.training_step(net, "adam", algorithm="direct")
    step = memlab.recompute(memlab.precision(step, feature_map="fp16"), "every", k=4)
    wanted = memlab.plan(memlab.in_place(step)).peak_at(8)
    assert view.rows.peak == wanted
    assert view.page().title == (
        "ResNet-50 v1, image 128, batch 8, fp32, Adam, training, direct, feature maps in fp16, "
        "recomputed, k = 4, in place"
    )
    again = eval(view.code(), {"memlab": memlab})
    assert again.rows.peak == wanted


def test_a_budget_recomputes_within_it():
    view = views.memory("resnet50", 8, free=False, recompute="chain", budget="500 MB")
    step = memlab.training_step(memlab.zoo.build("resnet50"))
    wanted = memlab.recompute(step, "chain", batch=8, budget="500 MB")
    assert view.rows.peak == memlab.plan(wanted).peak_at(8)
    assert "12 GB card: fits. The plan is for this batch only." in view.text()
    view.batch = 4
    assert view.rows.peak.nbytes <= 500_000_000


def test_the_single_layer_has_inputs_and_outputs():
    view = views.memory("linear1", 1, "sgd", inputs=3, outputs=2, control=("inputs", "outputs"))
    step = memlab.training_step(memlab.zoo.linear1(features=3, outputs=2), "sgd")
    assert view.rows.peak.nbytes == memlab.plan(step).peak(1)
    view.inputs = 5
    assert view.rows.peak.nbytes == memlab.plan(
        memlab.training_step(memlab.zoo.linear1(features=5, outputs=2), "sgd")
    ).peak(1)


def test_a_network_of_yours_keeps_its_sizes():
    small = memlab.zoo.build("resnet50", image=64, classes=10)
    view = views.memory(small, 4)
    assert view.network is small
    assert "image" not in [control.name for control in view.controls()]
    assert "image" in [control.name for control in views.memory("resnet50").controls()]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"image": 0}, "image must be at least 1"),
        ({"recompute": "chain", "budget": "1 MB"}, "the least that one takes"),
        ({"inputs": 3}, "no inputs"),
    ],
)
def test_a_combination_that_cannot_be_gets_a_sentence_and_changes_nothing(change, says):
    view = views.memory("resnet50", 4, free=False)
    before = view.svg()
    with pytest.raises(InputError, match=says):
        view.change(**change)
    assert view.svg() == before


# -- a function that makes a step -----------------------------------------------------------------


def chain(k, in_place):
    step = memlab.recompute(memlab.training_step(memlab.zoo.mnist_cnn()), "every", k=k)
    return memlab.in_place(step) if in_place else step


def test_a_function_is_called_with_the_settings_that_it_takes():
    view = views.memory(chain, 8, k=2, control=("k", "in_place"), free=False)
    assert front(view) == ["k", "k_number", "in_place", "detail"]
    assert view.rows.peak == memlab.plan(chain(2, False)).peak_at(8)
    view.on_event("in_place", True, False)
    assert view.rows.peak == memlab.plan(chain(2, True)).peak_at(8)
    assert "k = 2, in_place = True" in view.page().title
    assert "optimizer" not in [control.name for control in view.controls()]


def test_a_function_is_not_asked_for_what_it_has_by_itself():
    view = views.memory(lambda batch, k=2, image=28: chain(k, False), 8)
    assert (view.k, view.image) == (2, 28)
    assert view.rows.peak == memlab.plan(chain(2, False)).peak_at(8)
    assert view.code().startswith("memlab.views.memory(lambda, batch=8")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda stride: None, "takes 'stride', which is no setting; name its arguments"),
        (lambda batch: 3, "makes 3 and no step; return a step"),
        (3, "a function that makes a step, got 3"),
    ],
)
def test_another_function_is_refused_in_a_sentence(make, says):
    with pytest.raises(InputError, match=says):
        views.memory(make)


# -- small steps ----------------------------------------------------------------------------------


def test_a_small_step_shows_lifetimes():
    view = views.memory("linear1", 1, "sgd", free=False)
    assert view.rows.peak.nbytes == 28
    view.batch = 8
    assert "5 times the peak" in view.text()
    view.on_event("key", "ArrowDown", False)
    assert view.state.chosen.startswith("block:")
    view.on_event("key", "Home", False)
    assert view.cursor == 1
    view.on_event("key", "KeyP", False)
    assert view.cursor is None
    view.on_event("key", "Escape", False)
    assert view.state.chosen == ""
    checked(view)


def test_a_step_that_becomes_small_has_axes_of_its_own():
    x = memlab.network("small", image=(3, 64, 64)).conv(16, 3).relu().conv(16, 3).relu()
    view = views.memory(x.max_pool("all").flatten().linear(10).cross_entropy(), 4, free=False)
    assert "mountain" in checked(view)
    view.training = False
    assert "mountain" not in checked(view)


def test_a_lower_frame_makes_the_page_lower_by_as_much():
    view = {tall: views.memory("resnet50", 32, height=tall, free=False) for tall in (180, 280)}
    low, high = (view[tall].page(960).svg() for tall in (180, 280))
    assert high.height - low.height == 100
    assert low.collisions() == []
    with pytest.raises(InputError, match="height"):
        views.memory("resnet50", 32, height=100)


def test_a_lower_picture_block_by_block_keeps_its_rows_and_hides_the_keys() -> None:
    tiny = memlab.network("tiny", features=3).linear(4).relu().linear(2).squared_error()
    high, low = (
        views.memory(tiny, 8, "sgd", networks=(), largest=8, height=tall) for tall in (280, 240)
    )
    names = [{label.content for label in view.page().svg().labels} for view in (high, low)]
    assert names[1] <= names[0]
    assert {"parameter w1", "dE/dfc1", "peak"} <= names[1]
    assert 20 < high.page().svg().height - low.page().svg().height <= 40
    assert low.page().svg().collisions() == []
    assert [view.now_["layout"]["classes"] for view in (high, low)] == [
        "memlab-view",
        "memlab-view memlab-low",
    ]


def test_a_low_picture_says_what_an_image_adds_once_the_batch_has_moved():
    low, high = (views.memory("alexnet", 8, budgets=(), free=False, height=tall)
                 for tall in (140, 280))  # fmt: skip
    adds = "Each image adds 3.29 MB to the mountain, and nothing to the floor."
    assert adds in drawn(high)
    assert adds not in drawn(low)
    assert adds in low.text()
    before = low.page().svg().height
    low.batch = 4
    assert any(text.startswith("Batch 8 to 4:") for text in drawn(low))
    assert low.page().svg().height == before
