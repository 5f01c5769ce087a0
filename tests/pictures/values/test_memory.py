"""A step at one batch, cut through at one operation: its figures, its text, its counting rules."""

from dataclasses import replace

import pytest

import memlab
from memlab import strings
from memlab.errors import InputError
from memlab.networks import counting
from memlab.networks.graph import Network
from memlab.pictures.memory.counting_rules import CHAIN, Tally
from memlab.pictures.memory.snapshot import Cut, before, cut, details, news
from memlab.pictures.memory.step_memory import Budget, StepMemory, budget, phases
from memlab.pictures.mountain.stack_parts import Part
from memlab.pictures.values.recipe import MIXED, Recipe, memory_of, network_of
from memlab.step.tensor import Role
from memlab.techniques.registry import use

BUDGETS = (budget("12 GB card"), Budget("free", 4_200_000_000, live=True))


def found(name="resnet50", batch=32, optimizer="momentum", training=True, format="fp32", at=None):
    return cut(memory_of(Recipe(network_of(name), optimizer, training, format)), batch, at, BUDGETS)


def tally(shown: Cut, rule="conv-sums") -> Tally:
    assert isinstance(shown.memory.network, Network)
    return Tally(shown, shown.memory.network, rule)


# -- bytes ----------------------------------------------------------------------------------------

CASES = [("resnet50", 32), ("googlenet", 100)]


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_the_parts_add_up_at_every_operation(name, batch):
    memory = memory_of(Recipe(network_of(name)))
    timeline = memory.ledger.timeline(batch)
    for at in range(0, len(timeline), max(1, len(timeline) // 50)):
        shown = cut(memory, batch, at)
        assert shown.here == timeline[at] == memory.at(at, batch)
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
    weights = shown.largest.get(Part(Role.PARAMETER, False))
    assert weights is not None
    assert weights.formula(8) == "4096·25088·4 B = 411,041,792 B"


def test_the_figures_that_the_lesson_tells():
    adam, half = found("vgg16", 8, "adam"), found("vgg16", 4, "adam")
    assert 0.07 < 1 - half.peak.nbytes / adam.peak.nbytes < 0.09
    assert half.peak.index != adam.peak.index
    assert sum(r.nbytes for r in half.floor if r.name == "optimizer state") == (8 * 138_357_544)


def test_a_verdict_is_exact():
    shown = found("resnet50", 512)
    for verdict in shown.verdicts:
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
    shown = cut(memory_of(Recipe(x.flatten().linear(10).cross_entropy())), 4)
    assert len(shown.slices) == 6
    assert shown.slices_title == "The mountain, cut apart by layer"


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
        "Forward makes 4.827 GB. 1.307 GB of the mountain is alive here and not counted."
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
    lines = {line.name: (line.nbytes, line.each) for line in shown.lines}
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
    given = (use("recompute", "every", k=2),)
    again = cut(memory_of(Recipe(network_of("resnet50"), uses=given)), 32)
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
    assert news(start, found(batch=64)).startswith(
        "Batch 32 to 64: at every operation the mountain doubles"
    )
    assert "halves and the floor stays" in news(start, found(batch=16))
    assert "is 4 times as large" in news(start, found(batch=128))
    assert "is 1/8 as large" in news(start, found(batch=4))
    assert news(start, found(optimizer="adam")) == (
        "Now Adam instead of SGD with momentum. The peak grows by 102 MB."
    )
    assert details(start, found(optimizer="adam")) == (
        "In percent: +3.5 %; floor +102 MB, mountain +0 B."
    )
    mixed = found(format="mixed bf16")
    assert news(start, mixed).startswith("Now mixed bf16 instead of fp32. The peak falls by ")
    assert "Now bf16 instead of mixed bf16." in news(mixed, found(format="bf16"))
    assert "Now VGG-16 instead of ResNet-50 v1.5." in news(start, found("vgg16"))
    adam, half = found("vgg16", 8, "adam"), found("vgg16", 4, "adam")
    assert news(adam, half).endswith("The peak falls by 219 MB and moves to another operation.")
    assert details(adam, half).endswith("The peak was at operation 57 and is at 76.")


def test_a_technique_comes_and_goes():
    start = found("mnist_cnn")
    placed = cut(memory_of(Recipe(network_of("mnist_cnn"), uses=(use("in_place"),))), 32)
    assert news(start, placed).startswith("Now in place. The peak falls by ")
    assert news(placed, start).startswith("No longer in place. The peak grows by ")


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


def test_a_memory_that_is_kept_speaks_the_language_that_is_asked_in(monkeypatch):
    recipe = Recipe(memlab.zoo.mnist_cnn())
    with monkeypatch.context() as patch:
        patch.setattr(strings, "language", lambda: "zh")
        assert memory_of(recipe).sample == "图像"
    assert memory_of(recipe).sample == "image"
    assert memory_of(recipe) is memory_of(recipe)
