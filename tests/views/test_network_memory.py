"""The network-memory view: its figures, its picture, its text, and how it answers."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

import memlab
from memlab import units
from memlab.errors import InputError
from memlab.networks import counting, zoo
from memlab.views.network import picture, twin, words
from memlab.views.network.rows import rows
from memlab.views.network.source import MIXED, OFFERED, network_of
from memlab.views.network.state import STOPS, Budget, State, budget, dragged, moved, released
from memlab.views.network.tally import CHAIN, tally

FREE = Budget("free", 4_200_000_000, live=True)
BUDGETS = (budget("12 GB card"), FREE)


def state(name="resnet50", batch=32, optimizer="momentum", **others):
    return State(network_of(name), batch, optimizer, budgets=BUDGETS, **others)


def checked(shown):
    """Draw it; the picture parses, and no text overlaps another or the edge or is too small."""
    svg = picture.draw(rows(shown))
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11
    text = svg.render("title")
    ET.fromstring(text)
    return svg


# -- figures ------------------------------------------------------------------------------------

CASES = [("mnist_cnn", 32), ("resnet50", 32), ("vgg16", 8), ("googlenet", 100), ("linear1", 1)]


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_the_parts_add_up_at_every_operation(name, batch):
    shown = state(name, batch)
    timeline = shown.source.ledger.timeline(batch)
    for at in range(0, len(timeline), max(1, len(timeline) // 50)):
        found = rows(replace(shown, cursor=at))
        assert found.here == timeline[at]
        assert found.here == sum(row.nbytes for row in (*found.floor, *found.mountain))
        assert sum(row.nbytes for row in found.slices) == sum(r.nbytes for r in found.mountain)
        assert found.others + sum(block.nbytes for block in found.blocks) == found.here


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_the_floor_is_what_does_not_grow(name, batch):
    found = rows(state(name, batch))
    ledger = found.source.ledger
    assert found.peak_floor + found.peak_mountain == found.peak.nbytes == ledger.peak(batch)
    fixed, each = ledger.line()
    assert found.source.floor.tolist() == fixed.tolist()
    assert found.source.mountain.tolist() == each.tolist()


def test_the_figures_that_the_lesson_tells():
    adam = state("vgg16", 8, "adam")
    half = rows(moved(adam, batch=4))
    assert half.before is not None
    change = 1 - half.peak.nbytes / half.before.peak.nbytes
    assert 0.07 < change < 0.09
    assert half.peak.index != half.before.peak.index
    assert sum(r.nbytes for r in half.floor if r.look.role.value == "optimizer_state") == (
        8 * 138_357_544
    )


def test_a_verdict_is_exact():
    found = rows(state("resnet50", 512))
    for verdict in found.verdicts:
        largest = verdict.largest
        ledger = found.source.ledger
        assert not verdict.fits
        assert largest is not None
        assert ledger.peak(largest) <= verdict.budget.nbytes < ledger.peak(largest + 1)


@pytest.mark.parametrize("name", ["resnet50", "vgg16", "mnist_cnn"])
def test_a_rule_counts_what_the_convention_counts(name):
    network = network_of(name)
    found = tally(rows(state(name, 32, rule="conv-sums")))
    for row in found.rules:
        assert row.values == row.rule.values(network)
        assert row.nbytes == 32 * 4 * row.values
        assert row.alive <= row.nbytes
    sizes = [row.values for row in found.rules if row.rule.name in CHAIN]
    assert sizes == sorted(sizes)
    assert {row.rule.name for row in found.rules} == set(counting.CONVENTIONS)


def test_counting_rules_give_the_published_counts():
    counts = {row.rule.name: row.values for row in tally(rows(state(rule="conv-sums"))).rules}
    assert counts["conv-only"] == 10_587_136
    assert counts["conv-sums"] == 16_106_496
    assert counts["relu-in-place"] == 27_048_912


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("mode", MIXED)
@pytest.mark.parametrize("name", ["resnet50", "vgg16", "mnist_cnn"])
def test_mixed_precision_is_the_plan_of_the_technique(name, mode, training):
    network = network_of(name)
    build = memlab.training_step if training else memlab.inference_step
    ledger = memlab.plan(memlab.precision(build(network), mode))
    found = rows(state(name, 4, training=training, format=mode, rule="conv-only"))
    assert found.source.ledger == ledger
    assert found.peak.nbytes == ledger.peak(4)
    assert found.source.format == mode
    for at in range(0, found.source.operations, 7):
        for row in tally(rows(replace(found.state, cursor=at))).rules:
            assert row.nbytes == 4 * 2 * row.values
            assert 0 <= row.alive <= row.nbytes


def test_the_live_view_offers_the_modes_and_makes_itself_again():
    view = memlab.views.network_memory("mnist_cnn", free=False)
    select = next(control for control in view.controls() if control.name == "format")
    assert [name for name, _ in select.options] == list(OFFERED)
    for name in OFFERED:
        view.act("format", name, dragging=False)
        assert view.format == name
        assert name in view.more()
        again = eval(view.code(), {"memlab": memlab})
        assert (again.format, again.rows.peak) == (name, view.rows.peak)


def test_a_format_alone_is_a_device_that_computes_in_it():
    for name in ("bf16", "fp16"):
        ledger = memlab.plan(memlab.training_step(network_of("resnet50"), format=name))
        assert state("resnet50", format=name).source.ledger == ledger
    with pytest.raises(InputError, match="mixed fp16, mixed bf16"):
        state(format="mixed fp32")


# -- picture ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(zoo.ZOO))
def test_every_network_is_drawn_without_collisions(name):
    for batch in (1, 32, 512):
        checked(state(name, batch))
        checked(moved(state(name, batch), batch=2 * batch))


@pytest.mark.parametrize("width", [300, 600, 720, 819, 820, 868, 940, 960, 2000])
@pytest.mark.parametrize("name", ["mnist_cnn", "resnet152", "vgg16", "googlenet"])
def test_every_width_is_drawn_without_collisions(name, width):
    shown = state(name, 100, "adam", width=width)
    checked(shown)
    checked(moved(shown, batch=7, guess=10**9))
    checked(replace(shown, rule="cs231n"))
    checked(dragged(shown, 512, rows(shown).scales))


SETTINGS = [
    {"optimizer": "sgd"},
    {"optimizer": "adam"},
    {"format": "bf16"},
    {"format": "mixed fp16", "rule": "everything"},
    {"format": "mixed bf16", "optimizer": "adam"},
    {"format": "fp64"},
    {"training": False},
    {"cursor": 0},
    {"cursor": 10**6},
    {"unfolded": "stage 2", "chosen": "slice:1"},
    {"chosen": "block:4", "cursor": 200},
    {"guess": 3_000_000_000},
    {"guess": 10**15},
    *({"rule": name} for name in counting.CONVENTIONS),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_every_setting_is_drawn_without_collisions(settings):
    for batch in (1, 64):
        checked(replace(state("resnet50", batch), **settings))


def test_every_cursor_is_drawn_without_collisions():
    for name in ("mnist_cnn", "resnet18"):
        shown = moved(state(name, 32), batch=64)
        for at in range(0, shown.source.operations, 1 if name == "mnist_cnn" else 7):
            checked(replace(shown, cursor=at))


def test_the_largest_batch_is_drawn():
    checked(state("resnet50", 1_000_000))
    with pytest.raises(InputError, match="at most 1,000,000"):
        state("resnet50", 1_000_001)


def test_a_ledger_alone_is_drawn():
    ledger = memlab.plan(memlab.training_step(memlab.zoo.vgg11()))
    shown = State(ledger, 16, budgets=BUDGETS)
    assert rows(shown).peak.nbytes == ledger.peak(16)
    checked(shown)
    with pytest.raises(InputError, match="counting rule needs a network"):
        State(ledger, rule="everything")


def test_a_ledger_alone_says_what_techniques_have_noted():
    step = memlab.precision(memlab.training_step(network_of("mnist_cnn")), "mixed fp16")
    title = words.title(State(memlab.plan(step), 16))
    assert title == (
        "MNIST CNN, batch 16, fp16, SGD with momentum, training, fp32 master weights, loss scaling"
    )


def test_a_network_of_ones_own_without_stages_is_drawn():
    x = memlab.network("tiny", image=(3, 32, 32))
    for _ in range(9):
        x = x.conv(16, 3, pad="same").relu()
    network = x.flatten().linear(10).cross_entropy()
    shown = State(network, 4)
    assert len(rows(shown).slices) == 6
    checked(shown)


# -- picture and text agree -----------------------------------------------------------------------

EXACT = re.compile(r"([\d,]+) B(?![a-z])")
SHORT = re.compile(r"[\d,.]+ (?:[kMGT]?B)")


@pytest.mark.parametrize(
    "shown",
    [
        state(),
        state("vgg16", 8, "adam"),
        moved(state(), batch=64),
        state(cursor=40),
        state("linear1"),
    ],
    ids=lambda shown: shown.source.label + str(shown.batch) + str(shown.cursor),
)
def test_the_picture_shows_the_numbers_of_the_text(shown):
    found = rows(shown)
    text = twin.write(found)
    exact = {int(n.replace(",", "")) for n in EXACT.findall(text)}
    exact |= {int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", text) if n[0] != ","}
    axis_titles = {name for _, name in found.scales.plot.ticks} | {found.scales.rows.title}
    labels = [label.content for label in picture.draw(found).labels]
    ends = [title for title in axis_titles if title.endswith("B")]
    drawn = " | ".join(label for label in labels if not any(end in label for end in ends))
    for number in EXACT.findall(drawn):
        assert int(number.replace(",", "")) in exact
    known = {units.short(n) for n in exact} | axis_titles | set(SHORT.findall(text))
    known |= set(SHORT.findall(" ".join(words.equation(found))))
    for amount in SHORT.findall(drawn):
        assert amount in known, amount


def test_a_wrong_number_in_the_picture_would_be_seen():
    found = rows(state())
    wrong = replace(found, roles=(replace(found.roles[0], nbytes=123_456_789), *found.roles[1:]))
    drawn = [label.content for label in picture.draw(wrong).labels]
    assert units.short(123_456_789) in drawn
    assert "123,456,789" not in twin.write(found)


def test_the_text_has_every_figure_to_the_byte():
    text = twin.write(rows(state("vgg16", 8, "adam").stored()))
    lines = text.splitlines()
    assert lines[0] == "VGG-16, batch 8, fp32, Adam, training."
    assert lines[1].startswith("Peak 2.7")
    assert re.search(r"^  optimizer state +1,106,860,352 +\d+\.\d % +0$", text, re.M)
    assert re.search(r"^floor +[\d,]+ +\d+\.\d % +0$", text, re.M)
    assert text.endswith("Before this change: nothing, this is the start.")
    assert "Free here" not in text


# -- changes --------------------------------------------------------------------------------------


def test_the_axis_stays_during_a_drag_and_follows_after_it():
    start = state("resnet50", 32)
    scales = rows(start).scales
    drag = start
    for batch in (64, 128, 256):
        drag = dragged(drag, batch, rows(drag).scales)
        assert rows(drag).scales == scales
        assert rows(drag).state.before == start.alone()
    drawn = " ".join(label.content for label in picture.draw(rows(drag)).labels)
    assert "the axis stays while you drag" in drawn
    done = released(replace(drag, was=scales.plot), 256)
    assert rows(done).scales.plot.end > rows(done).peak.nbytes > scales.plot.end
    before = rows(done).before
    assert before is not None
    assert before.batch == 32
    drawn = " ".join(label.content for label in picture.draw(rows(done)).labels)
    assert "the axis now ends at" in drawn


def test_a_drag_that_comes_back_changes_nothing():
    start = moved(state(), batch=64)
    drag = dragged(dragged(start, 128, rows(start).scales), 64, rows(start).scales)
    assert released(drag, 64) == start


def test_the_outline_is_there_only_where_the_operations_are_the_same():
    start = state("resnet50")
    assert rows(moved(start, optimizer="adam")).outline is not None
    assert rows(moved(start, format="fp16")).outline is not None
    assert rows(moved(start, format="mixed bf16")).outline is not None
    assert rows(moved(start, format="mixed fp16")).outline is None  # two operations for the scale
    other = moved(start, subject=network_of("vgg16"))
    assert rows(other).outline is None
    assert rows(other).before is not None
    assert rows(moved(start, training=False)).outline is None


def test_news_names_what_changed():
    def news(shown, **changes):
        return words.news(rows(moved(shown, **changes)))

    start = state("resnet50", 32)
    assert news(start, batch=64).startswith(
        "Batch 32 to 64: at every operation the mountain doubles"
    )
    assert "halves and the floor stays" in news(start, batch=16)
    assert "is 4 times as large" in news(start, batch=128)
    assert "is 1/8 as large" in news(start, batch=4)
    adam = news(start, optimizer="adam")
    assert adam.startswith("SGD with momentum to Adam. The peak grows by 102 MB (+3.6 %).")
    assert adam.endswith("Floor +102 MB, mountain +0 B.")
    mixed = news(start, format="mixed bf16")
    assert mixed.startswith("fp32 to mixed bf16. The peak falls by ")
    assert "mixed bf16 to bf16." in news(moved(start, format="mixed bf16"), format="bf16")
    assert "ResNet-50 v1 to VGG-16." in news(start, subject=network_of("vgg16"))
    assert "and moves from operation" in words.news(rows(moved(state("vgg16", 8, "adam"), batch=4)))


def test_stops_are_the_powers_of_two_to_512():
    assert STOPS == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
