"""The memory view: its pictures at every setting, and how it answers."""

import xml.etree.ElementTree as ET

import pytest

import memlab
from memlab import devices, views
from memlab.errors import InputError
from memlab.networks import counting, zoo
from memlab.studies.recipe import OFFERED
from memlab.views.memory import STOPS


@pytest.fixture(autouse=True)
def free(monkeypatch):
    """So much is free on every machine."""
    monkeypatch.setattr(devices, "free_memory", lambda: 4_200_000_000)


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


@pytest.mark.measures
@pytest.mark.parametrize("name", sorted(zoo.ZOO))
def test_every_network_is_drawn_without_collisions(name):
    view = views.memory(name)
    for batch in (1, 2, 32, 64, 512, 1024):
        view.batch = batch
        checked(view)


@pytest.mark.parametrize("width", [480, 600, 720, 819, 820, 868, 940, 960, 1200])
@pytest.mark.parametrize("name", ["mnist_cnn", "resnet152", "vgg16", "googlenet"])
def test_every_width_is_drawn_without_collisions(name, width):
    view = views.memory(name, 128, "adam")
    checked(view, width)
    view.act("batch", 9, True)
    checked(view, width)
    view.act("batch", 7, False)
    view.change(batch=7, guess=10**9)
    checked(view, width)
    view.rule = "cs231n"
    checked(view, width)


SETTINGS = [
    {"optimizer": "sgd"},
    {"optimizer": "adam"},
    {"format": "bf16"},
    {"format": "mixed fp16", "rule": "everything"},
    {"format": "mixed bf16", "optimizer": "adam"},
    {"format": "fp64"},
    {"training": False},
    {"cursor": 1},
    {"cursor": 10**6},
    {"unfolded": "stage 2"},
    {"guess": 3_000_000_000},
    {"guess": 10**15},
    *({"rule": name} for name in counting.CONVENTIONS),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_every_setting_is_drawn_without_collisions(settings):
    for batch in (1, 64):
        view = views.memory("resnet50", batch)
        view.change(**settings)
        checked(view)


@pytest.mark.parametrize("line", ["slice:1", "slice:5", "block:0", "block:4"])
def test_every_line_in_focus_is_drawn_without_collisions(line):
    view = views.memory("resnet50", cursor=200)
    view.act("choose", line, False)
    checked(view)


def test_every_cursor_is_drawn_without_collisions():
    for name in ("mnist_cnn", "resnet18"):
        view = views.memory(name)
        view.batch = 64
        for at in range(1, view.rows.memory.operations + 1, 1 if name == "mnist_cnn" else 7):
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
    svg = views.memory("resnet50", free=False).svg()
    assert (
        "conv1.relu: 32·64·112·112·4 B = 102,760,448 B; "
        "made by conv1.relu; last read by backward of conv1.relu"
    ) in svg


def test_every_stage_says_its_bytes():
    view = views.memory("resnet50", free=False)
    for row in view.rows.slices:
        assert f'data-fact="{row.part.name}: {row.nbytes:,} B; {row.in_blocks}"' in view.svg()


# -- picture and text agree -----------------------------------------------------------------------


def test_the_text_is_that_of_the_study_with_what_was_before():
    view = views.memory("vgg16", 8, "adam", guess="3 GB", free=False)
    view.batch = 4
    paragraphs = view.text().split("\n\n")
    told = set(view.rows.text().splitlines())
    own = [line for line in view.text().splitlines() if line and line not in told]
    assert own == [
        "Batch 8 to 4: at every operation the mountain halves and the floor stays. "
        "The peak falls by 219 MB (−8.1 %) and moves from operation 57 to 76.",
        "Your guess: 3,000,000,000 B.",
        "Before this change: VGG-16, batch 8, fp32, Adam, training. "
        "Peak 2.705 GB = 2,704,815,492 B at operation 57, backward of conv4_3.",
    ]
    assert told <= {*view.text().splitlines()}
    assert len(paragraphs) == 5


def test_a_text_begins_at_the_start():
    text = views.memory("vgg16").text()
    assert text.endswith("Before this change: nothing, this is the start.")
    assert "Free here" not in text


# -- changes --------------------------------------------------------------------------------------


def test_the_axis_stays_during_a_drag_and_follows_after_it():
    view = views.memory("resnet50", 32)
    assert "3 GB" in checked(view)
    for place in (6, 7, 8):
        view.act("batch", place, True)
        drawn = checked(view)
        assert "3 GB" in drawn
        assert "the axis stays while you drag" in drawn
        assert "before: batch 32" in drawn
    view.act("batch", 8, False)
    drawn = checked(view)
    assert "the axis now ends at 25 GB, before at 3 GB" in drawn
    assert "before: batch 32" in drawn


def test_a_drag_that_comes_back_changes_nothing():
    view = views.memory("resnet50", 32, free=False)
    view.batch = 64
    before = view.svg()
    view.act("batch", 7, True)
    view.act("batch", 6, True)
    view.act("batch", 6, False)
    assert view.svg() == before


@pytest.mark.parametrize(
    ("change", "outlined"),
    [
        ({"optimizer": "adam"}, True),
        ({"format": "mixed bf16"}, True),
        ({"format": "mixed fp16"}, False),  # two operations for the scale
        ({"network": "vgg16"}, False),
        ({"training": False}, False),
    ],
    ids=str,
)
def test_the_outline_is_there_only_where_the_operations_are_the_same(change, outlined):
    view = views.memory("resnet50")
    view.change(**change)
    assert ("before: " in checked(view)) is outlined
    assert "Before this change: ResNet-50 v1, batch 32" in view.text()


def test_a_rule_is_compared_with_no_state_before():
    view = views.memory("resnet50")
    view.batch = 64
    view.rule = "conv-sums"
    assert "before: " not in checked(view)
    assert "A counting rule changes no bar" in checked(view)
    view.batch = 32
    assert "before: batch 64" in checked(view)


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
    for name in OFFERED:
        view.act("format", name, dragging=False)
        assert view.format == name
        assert name in view.more()
        again = eval(view.code(), {"memlab": memlab})
        assert (again.format, again.rows.peak) == (name, view.rows.peak)


def test_stops_are_the_powers_of_two_to_512():
    assert STOPS == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def test_a_figure_has_the_plot_the_bar_and_a_row_for_each_stage():
    view = views.memory("resnet50", free=False)
    view.batch = 64
    axes = {each.get_label(): each for each in view.figure().axes}
    assert [row.part.name for row in view.rows.slices if row.part.name not in axes] == []
    plot = axes["operations of one step, in order"]
    assert plot.get_xlim() == (0, 388)
    assert plot.get_ylim() == (0, 6e9)
