"""The cards of lesson 12 on a step as CUDA runs it: their figures, computed another way."""

import pytest

import memlab
from memlab import lesson, units
from memlab.lesson.card_question import topics
from memlab.lesson.content import lesson_12
from memlab.pictures.values.number_text import three_digits
from memlab.placement.caching_allocator import estimates
from memlab.placement.step_on_card import StepOnCard
from memlab.step.tensor import Role


def truth(name, **numbers):
    topic = topics()[name]
    return topic.truth({**topic.first, **numbers})


def parameters(name):
    """Bytes of each parameter of a recorded model."""
    entries = memlab.plan(lesson.model(name).step).entries
    return [entry.size.fixed for entry in entries if entry.role is Role.PARAMETER]


def test_temporaries_of_an_update_follow_from_the_parameters():
    """Together, one for each parameter; one after another, two of the largest parameter."""
    told = truth("12.optimizer").seen
    sizes = parameters("vgg16")
    assert told["together"] == three_digits(sum(sizes))
    assert told["two"] == three_digits(2 * max(sizes))
    assert truth("12.optimizer").value == "fused"


@pytest.mark.parametrize("batch", [1, 32])
def test_workspace_of_a_convolution_is_that_of_winograd(batch):
    """Of 64 channels, 64 filters and 224 x 224 outputs: 36 values for each tile of 16."""
    tiles = (224 // 4) ** 2
    told = truth("12.smi", batch=batch).seen
    assert told["operation"] == "features.2.convolution"
    nbytes = 36 * 4 * (64 * 64 + batch * tiles * (64 + 64))
    largest = 4 * batch * 64 * 224**2
    assert told["times"] == f"{nbytes / largest:.1f}"


def test_a_loss_in_chunks_takes_what_one_chunk_takes():
    """The peak falls by the loss, but for one chunk of it, or to that of the layers."""
    told = truth("12.chunks")
    before = memlab.plan(lesson.model("words").step).peak(32)
    assert told.seen["before"] == three_digits(before)
    scores = 32 * 512 * 32_000 * 4
    assert before - 3 * scores < before / told.value < before - 2 * scores


def test_the_loss_holds_three_arrays_at_the_peak_and_one_when_forward_ends():
    """The output of log-softmax and two gradients; the scores are freed before."""
    told, scores = truth("12.more").seen, 32 * 512 * 32_000 * 4
    assert told["scores"] == three_digits(scores)
    ledger = memlab.plan(lesson.model("words").step)
    peak = ledger.peak_at(32)
    alive = [entry.name for entry in ledger.alive(peak.index) if entry.size.at(32) == scores]
    assert told["operation"] == peak.row.name == "loss.log_softmax.backward"
    assert alive == ["loss.log_softmax.y", "loss.nll_loss_forward.backward.y",
                     "loss.log_softmax.backward.y"]  # fmt: skip
    beside = {row.name: row for row in estimates(ledger, 32)}
    assert told["fragments"] == three_digits(beside["fragments"].nbytes + beside["rounding"].nbytes)
    most = sum(beside[name].nbytes + beside[name].more for name in ("context", "cublas"))
    assert told["context"] == three_digits(most)


def test_a_variable_keeps_the_scores_at_the_peak():
    told = truth("12.kept").seen
    for name, key in (("words", "peak"), ("kept", "longer")):
        assert told[key] == three_digits(memlab.plan(lesson.model(name).step).peak(32))


def test_feature_maps_of_the_layers_are_the_largest_part_with_chunks():
    """More than half of the peak, so more than any other part."""
    told = truth("12.chunks").seen
    assert 2 * units.parse(told["layers"]) > units.parse(told["after"])


def test_the_convolution_with_the_most_workspace_does_not_run_at_the_peak():
    """Fewer bytes are alive then, so the range is smaller than its workspace."""
    numbers = topics()["12.smi"].first
    on_card, told = StepOnCard(lesson.model(numbers["model"]).step), truth("12.smi").seen
    ledger, batch = on_card.ledger, numbers["batch"]
    line, names = ledger.timeline(batch), [row.name for row in ledger.rows]
    assert line[names.index(told["operation"])] < ledger.peak(batch)
    maps = max(e.size.at(batch) for e in ledger.entries if e.role is Role.FEATURE_MAP)
    assert units.parse(told["cudnn"]) < float(told["times"]) * maps


def test_the_chunks_are_those_of_the_change():
    pytest.importorskip("torch", reason="the change is made of PyTorch's functions")
    from memlab.frontends.torch.fitting import chunked_loss

    assert lesson_12.CHUNKS == chunked_loss.CHUNKS


@pytest.mark.parametrize(
    ("memory", "answer"), [("7 GB", "fails"), ("8 GB", "cudnn"), ("10 GB", "runs")]
)
def test_the_range_of_a_card_decides_whether_a_step_runs(memory, answer):
    assert truth("12.smi", memory=memory).value == answer


def test_the_context_alone_does_not_fill_the_card():
    """So the workspace of cuDNN decides."""
    numbers = topics()["12.smi"].first
    on_card = StepOnCard(lesson.model(numbers["model"]).step)
    rows = on_card.estimates(numbers["batch"])
    other = sum(row.nbytes + row.more for row in rows if row.name != "cudnn")
    assert on_card.ledger.peak(numbers["batch"]) + other <= units.parse(numbers["memory"])


def test_the_batch_that_surely_fits_is_the_largest_one():
    numbers = topics()["12.smi"].first
    on_card, sure = StepOnCard(lesson.model(numbers["model"]).step), truth("12.smi").seen["sure"]
    memory = units.parse(numbers["memory"])
    assert on_card.peak_at(sure).nbytes <= memory < on_card.peak_at(sure + 1).nbytes


@pytest.mark.parametrize(
    ("name", "batch", "phase", "layer"),
    [("words", 32, "backward", "loss"), ("vgg11", 16, "backward", "features.14"),
     ("vgg16", 16, "backward", "features.22"), ("vgg16", 4, "update", ""),
     ("words", 1, "update", "")],
)  # fmt: skip
def test_the_key_points_say_where_the_peaks_are(name, batch, phase, layer):
    """A network for images has it between the first and the last quarter of backward."""
    ledger = memlab.plan(lesson.model(name).step)
    peak = ledger.peak_at(batch)
    assert (peak.row.phase, peak.row.layer) == (phase, layer)
    backward = [i for i, row in enumerate(ledger.rows) if row.phase == "backward"]
    quarter = len(backward) // 4
    if layer.startswith("features"):
        assert backward[quarter] < peak.index < backward[-1 - quarter]
