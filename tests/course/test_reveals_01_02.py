"""Pictures under the answers of lessons 01 and 02: they show what was asked."""

import pytest

import memlab
from memlab import units
from memlab.course.reveals import picture_of
from memlab.lesson.card_question import topics
from memlab.lesson.content.lesson_01 import convolutions
from memlab.pictures.values.number_text import three_digits
from memlab.step.op import Phase, plain
from memlab.step.tensor import Role
from tests.course.revealed import revealed
from tests.pictures.shown import drawn
from tests.quick import apart

NAMES = [
    name for name in topics() if name[:2] in ("01", "02") and name != "02.case" and picture_of(name)
]
LIVE = [name for name in NAMES if name != "01.gradients"]
WIDE = 850
"""Pixels beside a finding."""
MEASURED = {"01.gradients", "01.peak", "01.prediction", "02.output"}
"""Questions whose truth is a step that runs."""


def outline(view):
    """The bytes of the dashed outline."""
    return view.shown_in(view.scene()).old.peak.nbytes


def test_lessons_01_and_02_have_pictures():
    assert {"01.peak", "01.prediction", "02.output", "02.halve", "02.accumulate"} <= {*NAMES}


@pytest.mark.parametrize("name", apart(LIVE, MEASURED.__contains__))
def test_an_axis_is_as_high_as_the_step_and_not_as_a_card(name):
    for seed in (None, 1, 2) if topics()[name].draw else (None,):
        _, view = revealed(name, seed=seed)
        assert "card" not in view.text()
        assert not view.exceeds(view.state)


@pytest.mark.parametrize("seed", [None, 1, 2, 3, 4])
@pytest.mark.parametrize("name", ["02.halve", "02.resnet"])
def test_half_a_batch_is_shown_beside_the_whole_one(name, seed):
    turn, view = revealed(name, "2", seed)
    assert turn.numbers["batch"] == 2 * view.batch
    assert outline(view) / view.peak == pytest.approx(float(turn.truth.value))
    assert view.state.guess == round(outline(view) / 2)


@pytest.mark.parametrize("seed", [None, 1, 2, 3, 4, 5, 6])
def test_parts_are_shown_beside_a_step_of_one_part(seed):
    turn, view = revealed("02.accumulate", seed=seed)
    numbers = turn.numbers
    step = memlab.training_step(memlab.zoo.build(numbers["network"]), numbers["optimizer"])
    half = numbers["batch"] // 2
    assert view.peak == memlab.plan(memlab.accumulate(step, 2)).peak(half)
    alone = memlab.plan(step).peak(half)
    assert outline(view) == alone
    assert (view.peak > 1.01 * alone) == (turn.truth.value == "higher")
    view.batch = half // 2
    assert view.peak == memlab.plan(memlab.accumulate(step, 4)).peak(half // 2)


def test_parts_are_named_by_the_picture():
    _, view = revealed("02.accumulate")
    assert view.text().startswith("ResNet-50 v1.5, batch 16, fp32, SGD with momentum, training, "
                                  "accumulated over 2 parts.")  # fmt: skip
    (slider,) = (control for control in view.controls() if control.name == "batch")
    assert slider.most == 4  # 1, 2, 4, 8, 16


def test_each_part_has_its_own_outline():
    _, view = revealed("02.accumulate")
    curve, old = view.shown_in(view.scene()).outline, view.shown_in(view.scene()).old
    rows = view.rows.memory.ledger.rows
    highest = [i for i, row in enumerate(rows) if plain(row.name) == old.peak.row.name]
    assert len(highest) == 2
    assert {int(curve[i]) for i in highest} == {old.peak.nbytes}


@pytest.mark.parametrize("name", apart(["01.peak", "01.gelu"], MEASURED.__contains__))
def test_the_axes_hold_every_stop_of_the_slider(name):
    _, view = revealed(name)
    for batch in (2, 4):
        view.batch = batch
        assert not view.exceeds(view.state)


@pytest.mark.measures
def test_the_peak_of_a_layer_is_where_the_finding_says_at_every_batch():
    _, view = revealed("01.peak")
    for batch in (1, 2, 4):
        view.batch = batch
        first, second, third = view.rows.memory.ledger.timeline(batch)[3:6]
        assert first == second == view.peak
        assert third <= view.peak


def test_what_waits_for_gelu_is_alive_where_the_finding_says():
    turn, view = revealed("01.gelu")
    ledger = view.rows.memory.ledger
    at = [row.name for row in ledger.rows].index("backward of loss")
    assert {"h", "y", "gradient of y"} <= {entry.name for entry in ledger.alive(at)}
    (h,) = (entry for entry in ledger.entries if entry.name == "h")
    assert ledger.rows[h.death].name == "backward of y"
    assert turn.truth.seen["more"] == f"{view.peak - outline(view)} B"


@pytest.mark.measures
def test_training_is_shown_beside_inference():
    turn, view = revealed("01.prediction", "2")
    network = convolutions(4)
    step = memlab.training_step(network, "sgd", algorithm="direct")
    assert view.peak == memlab.plan(step).peak(5)
    inference = memlab.inference_step(network, algorithm="direct")
    assert outline(view) == memlab.plan(inference).peak(5)
    assert view.peak / outline(view) == pytest.approx(float(turn.truth.value))
    assert view.state.guess == 2 * outline(view)


@pytest.mark.measures
def test_gradients_stay_where_feature_maps_grow():
    turn, picture = revealed("01.gradients")
    batch = turn.numbers["batch"]
    network = convolutions(turn.numbers["depth"])
    gradients, maps = (picture.nbytes[r] for r in (Role.PARAMETER_GRADIENT, Role.FEATURE_MAP))
    assert gradients == (4 * network.parameters,) * 2
    assert f"{gradients[1]:,}" == turn.truth.seen["nbytes"]
    ledger = memlab.plan(memlab.training_step(network, "sgd"))
    at = [row.phase for row in ledger.rows].index(Phase.BACKWARD)
    error = 4  # the mean over all samples
    assert maps == tuple(ledger.roles(n, at)[Role.FEATURE_MAP] - error for n in (1, batch))
    assert [multiple for _, _, multiple, _ in picture.rows()] == [1, 1, 1, batch]
    assert picture.page().says == (
        "Batch 1 to 32: feature maps take 32 times the bytes, parameter gradients the same bytes."
    )


def test_another_function_is_shown_beside_tanh():
    _, view = revealed("01.gelu")
    assert "The peak was 28 B, now 32 B" in view.text()


@pytest.mark.measures
def test_the_arrays_of_the_convolution_are_named():
    _, view = revealed("02.output")
    for name in ("conv", "conv.workspace", "input", "gradient of relu"):
        assert name in view.text()
    assert not [text for text in drawn(view) if "…" in text]


@pytest.mark.measures
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_the_frame_shows_what_is_alive_when_backward_begins(seed):
    turn, view = revealed("02.output", seed=seed)
    assert view.rows.memory.ledger.rows[view.rows.at - 1].phase == "loss"
    assert view.rows.memory.ledger.rows[view.rows.at].phase == "backward"
    alive = {entry.name: entry.size for entry in view.rows.memory.ledger.alive(view.rows.at)}
    assert "conv" not in alive
    assert alive["relu"].at(view.batch) == turn.truth.value
    narrow = {label.content for label in view.page(WIDE).svg().labels}
    assert narrow & {units.exact(view.rows.here), three_digits(view.rows.here)}
