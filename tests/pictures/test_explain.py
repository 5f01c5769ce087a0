"""A model and its card explained: figures summed up another way, and what the view does."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import memlab
from memlab import units, views
from memlab.errors import InputError
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.marks import OpenEdge, Stairs
from memlab.pictures.draw.page import Page
from memlab.pictures.explain import modules
from memlab.pictures.explain.explained import Explained, memory_text, share_word
from memlab.pictures.explain.explained_changes import ExplainedStep, memory_bytes
from memlab.pictures.explain.own_model import OwnModel
from memlab.pictures.explain.page import EDGES, CodeLines, CodeText, OverTime, _segments
from memlab.pictures.explain.view import ExplainedModel
from memlab.placement import cuda_cards
from memlab.placement.caching_allocator import CONTEXT, estimates, simulate
from memlab.placement.cuda_cards import CUBLAS, CudaCard
from memlab.step.op import Phase
from memlab.step.step import Step
from tests.pictures.pages import CASES
from tests.strange import said

SCREEN = 590
"""Pixels that JupyterLab has for the output of a cell on a screen 768 pixels high."""


@cache
def step(name: str = "gpt2") -> Step:
    return memlab.training_step(memlab.zoo.build(name), "adam")


@cache
def subject(name: str = "gpt2") -> ExplainedStep:
    return ExplainedStep(step(name))


def charts(view: Any) -> list[Chart]:
    return [chart for chart, _ in view.page(820).svg().charts]


def explained(batch: int, memory: str, name: str = "gpt2", key: str = "") -> Explained:
    return Explained(subject(name), batch, units.parse(memory), key)


# -- figures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percent", "word"),
    [(100, "nearly_all"), (89, "most"), (54, "half"), (48, "half"), (44.5, "nearly_half"),
     (40, "nearly_half"), (39, "third"), (28, "third"), (27, "largest")],
)  # fmt: skip
def test_the_word_for_a_share_is_near_to_it(percent: float, word: str) -> None:
    assert share_word(round(10 * percent), 1000) == word


@pytest.mark.parametrize("batch", [1, 8])
def test_modules_and_what_they_own_add_up_to_the_peak(batch: int) -> None:
    model = explained(batch, "12 GB")
    assert sum(row.nbytes for row in model.rows) + sum(model.floor.values()) == model.peak.nbytes
    assert model.peak.nbytes == memlab.plan(step()).peak(batch)


def test_the_total_is_what_the_allocator_reserves_and_what_lies_beside_it() -> None:
    model, held = explained(8, "12 GB"), simulate(memlab.plan(step()), 8)
    assert model.total == held.reserved + 2 * CUBLAS + CONTEXT.start
    assert model.most == held.reserved + 2 * CUBLAS + CONTEXT.stop
    *rows, total = [row[1].replace(",", "").split(" to ") for row in model.sums()]
    assert [int(end) for end in total] == [model.total, model.most]
    assert [sum(int(row[end]) for row in rows) for end in (0, -1)] == [model.total, model.most]


@pytest.mark.parametrize("memory", ["3 GB", "12 GB"])
def test_the_largest_batch_fits_and_the_next_one_does_not(memory: str) -> None:
    model, room = explained(8, memory), units.parse(memory)
    largest, plain = model.largest, subject().plain
    assert largest is not None
    assert largest == 0 or plain.most(largest) <= room
    assert plain.most(largest + 1) > room


def test_the_error_comes_where_the_first_step_no_longer_fits() -> None:
    model = explained(8, "12 GB")
    error, ledger = model.error, memlab.plan(step())
    assert error is not None
    assert error.step == 1
    assert error.layer == "block.9.project.drop"
    state = sum(e.size.at(8) for e in ledger.entries if e.role.value == "optimizer_state")
    room = 12 * 10**9 - sum(row.nbytes for row in estimates(ledger, 8))
    line = [nbytes - state for nbytes in ledger.timeline(8)]
    assert line[error.at] > room
    assert max(line[: error.at]) <= room


def test_what_fits_has_no_error_and_no_change() -> None:
    model = explained(2, "12 GB")
    assert model.error is None
    assert model.changes == ()
    assert model.code == ()
    assert model.cross == ""


# -- what helps ----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["recompute", "parts"])
def test_a_change_that_helps_fits_the_card(key: str) -> None:
    model = explained(8, "12 GB", key=key)
    assert model.chosen is not None
    assert model.total <= 12 * 10**9
    assert key in [helping.key for helping in model.helping]


def test_what_computes_the_same_numbers_comes_first() -> None:
    model = explained(8, "12 GB")
    assert [change.key for change in model.changes] == ["recompute", "parts", "eight_bits"]
    assert model.best is model.changes[0]
    assert [model.fitting(change) for change in model.changes] == [True, True, False]


def test_the_line_makes_the_step_of_the_change() -> None:
    model = explained(8, "12 GB")
    for change in model.changes:
        names: dict[str, Any] = {"memlab": memlab, "step": step()}
        exec("\n".join(change.code), names)  # the line to paste
        assert memlab.plan(names["step"]).peak(change.micro_batch(8)) == change.peak(8)


def test_parts_that_are_not_written_out_take_their_time() -> None:
    plain, model = subject().plain, explained(64, "12 GB")
    parts = next(change for change in model.changes if change.key == "parts")
    written = ExplainedStep(memlab.accumulate(step(), parts.parts)).plain
    assert parts.parts == 16
    assert parts.seconds(64) == pytest.approx(written.seconds(4), rel=1e-3)
    assert parts.seconds(64) == pytest.approx(plain.seconds(64), rel=0.05)


def test_a_peak_that_modules_own_is_not_mended_by_recompute() -> None:
    model = explained(1, "2.4 GB", "vgg16")
    assert model.best is not None
    assert model.best.key == "eight_bits"
    assert "optimizer state" in model.peak_sentence


def test_maps_that_go_with_the_change_lie_on_top() -> None:
    model = explained(8, "12 GB")
    now, plain = model.plan_columns(100)
    gone = {entry.name for entry in model.removed(plain)}
    assert gone
    after = memlab.plan(model.best.step if model.best else step())
    backward = next(i for i, row in enumerate(after.rows) if row.phase.value == "backward")
    kept = {e.name for e in after.entries if e.birth < backward <= e.death}
    assert not gone & kept
    assert now is plain


# -- sentences -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("network", "batch"), [("mnist_cnn", 32), ("vgg11", 1)])
def test_each_sentence_is_about_its_own_batch(network: str, batch: int) -> None:
    """Around the peak, and far above it: what fits needs no change, and a larger batch is named as
    one; of a batch that does not fit nothing else is said."""
    plain = explained(batch, "80 GB", network)
    for share in (20, 70, 95, 99, 100, 101, 130, 300, 1000):
        model = explained(batch, f"{plain.most * share // 100} B", network)
        held, advice = model.fit_sentence, model.advice
        assert not any(f"{text} ".count("  ") or "{" in text for text in model.sentences)
        if model.fits:
            assert f"holds batch {batch}," in held
            assert advice.startswith("Nothing has to change.")
            assert "No change" not in advice
            assert model.larger is None or f"atch {model.larger:,}" in advice
        else:
            unsure = f"may not hold batch {batch}:" in held
            assert unsure == model.may_fit(model.now)
            assert (
                unsure
                or held.startswith("Not one sample")
                or held.endswith(
                    (f", not {batch}.", f"does not hold batch {batch}, and no smaller one surely.")
                )
            )
            assert advice.startswith(("It fits with", f"No change makes batch {batch} fit"))


def test_a_larger_batch_that_no_change_helps_is_named_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = f"{explained(32, '80 GB', 'mnist_cnn').most} B"
    batch = explained(32, memory, "mnist_cnn").largest
    assert batch
    every = subject("mnist_cnn").changes(2 * batch, units.parse(memory))
    over = tuple(change for change in every if change.most(2 * batch) > units.parse(memory))
    assert over
    for changes, end in (((), "and no change lowers that."), (over, "in all.")):
        monkeypatch.setattr(ExplainedStep, "changes", lambda *_, made=changes: made)
        model = explained(batch, memory, "mnist_cnn")
        assert model.fit_sentence.endswith(f"holds batch {batch}, and no larger one.")
        begin = f"Nothing has to change. Batch {2 * batch} would not fit"
        assert model.advice.startswith(begin)
        assert model.advice.endswith(end)


def test_every_figure_is_in_the_dict() -> None:
    model = explained(8, "12 GB")
    data = model.as_dict()
    assert data["peak"]["bytes"] == model.peak.nbytes
    assert data["total_bytes"] == model.total
    assert data["largest_batch"] == 4
    assert data["error"] == {"step": 1, "module": "block.9.project.drop"}
    assert [change["fits"] for change in data["changes"]] == [True, True, False]


@pytest.mark.parametrize(("nbytes", "said"), [(12 * 10**9, "12 GB"), (1_500_000, "1.5 MB")])
def test_an_amount_as_it_was_asked_for(nbytes: int, said: str) -> None:
    assert memory_text(nbytes) == said


def test_a_card_holds_something() -> None:
    with pytest.raises(InputError, match="memory must be more than 0 B"):
        memory_bytes(0)


# -- modules -------------------------------------------------------------------------------------


def test_only_blocks_with_modules_of_their_own_are_folded() -> None:
    layers = [
        "h.0.attn",
        "h.1.attn",
        "h.1.mlp",
        "h.1",
        "features.0",
        "features.1",
        "0.conv",
        "1.conv",
    ]
    assert modules.shared_paths(layers) == {
        "h.0.attn": "h.*.attn", "h.1.attn": "h.*.attn", "h.1.mlp": "h.*.mlp", "h.1": "h.*",
        "features.0": "features.0", "features.1": "features.1",
        "0.conv": "0.conv", "1.conv": "1.conv",
    }  # fmt: skip


def test_rows_are_few_and_lose_no_byte() -> None:
    sizes = {f"h.{i}.{part}": n for i in range(12) for part, n in (("attn", 90), ("mlp", 30))}
    sizes |= {"head": 50, "norm": 1, "drop": 2}
    groups = modules.module_groups(sizes)
    assert [group.name for group in groups] == ["h.*.attn", "h.*.mlp", "head", ""]
    assert sum(group.nbytes for group in groups) == sum(sizes.values())
    assert sorted(member for group in groups for member in group.members) == sorted(sizes)
    assert groups[0].instance("h.3.attn.proj") == "h.3.attn"
    assert groups[-1].others == 2


def test_the_last_line_of_a_cell_is_a_picture_and_a_text() -> None:
    view = views.explain()
    bundle = view.stored()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert bundle["text/plain"] == str(view) == view.text()


def test_a_change_is_put_on_and_off() -> None:
    view = views.explain()
    plain = view.rows.peak.nbytes
    view.on_event("key", "KeyC", False)
    assert view.changed_by == "recompute"
    assert view.rows.peak.nbytes < plain
    assert "before: 19.3 GB" in view.text()
    view.on_event("key", "KeyC", False)
    assert view.changed_by == ""
    view.on_event("changed_by", "parts", False)
    assert view.rows.chosen is not None


def test_a_change_that_is_no_longer_needed_goes() -> None:
    view = views.explain(changed_by="recompute")
    view.batch = 2
    assert view.changed_by == ""
    assert view.rows.fits


def test_a_larger_card_needs_no_change() -> None:
    view = views.explain()
    view.memory = "24 GB"
    assert view.text().count("Nothing has to change.") == 1


def test_the_line_of_python_makes_it_again() -> None:
    view = views.explain("vgg16", 4, "7.5 GiB")
    again = eval(view.code(), {"memlab": memlab})
    assert again.text() == view.text()


def test_the_axes_stay_while_a_slider_is_dragged() -> None:
    view = views.explain(batch=2)

    def axis() -> Any:
        chart = next(block for block in view.page(700).blocks if hasattr(block, "y"))
        return chart.y.last

    before = axis()
    view.on_event("batch", 0, True)
    assert axis() == before


@pytest.mark.parametrize("numbers", [False, True])
def test_the_first_view_shows_the_step_and_the_card_whole(numbers: bool) -> None:
    view = views.explain(changed_by="recompute")
    view.numbers = numbers
    over_time, _, card = (block for block in charts(view))
    assert 1 / 2 < 19.33e9 / over_time.y.last < 1  # the step without the change
    assert view.rows.memory < over_time.y.last
    assert not [m for chart in charts(view) for m in chart.marks if isinstance(m, OpenEdge)]
    assert view.rows.most < card.x.last


@pytest.mark.parametrize("width", [700, 820, 980])
@pytest.mark.parametrize("name", [name for name in CASES["explain"] if name != "every number"])
def test_a_page_fits_a_laptop(name: str, width: int) -> None:
    assert CASES["explain"][name]().page(width).svg().height < SCREEN


def test_long_code_is_drawn_in_a_few_lines() -> None:
    lines = tuple(f"line {number}" for number in range(9))
    svg = Page("", [CodeLines(lines)]).svg()
    assert [label.content for label in svg.words if label.content.startswith("line")] == [
        "line 0", "line 1", "line 2 …",
    ]  # fmt: skip
    assert lines[-1] in " ".join(CodeText(lines).text())


def test_a_plan_for_one_batch_offers_no_other() -> None:
    view = ExplainedModel(ExplainedStep(replace(step("mnist_cnn"), batches=range(8, 9))))
    assert not {"batch", "batch_number"} & {control.name for control in view.controls()}
    shown = view.svg()
    view.on_event("batch", 3, False)
    view.on_event("batch_number", "9", False)
    assert view.svg() == shown
    assert "the answer is for this batch alone" in view.text()


def test_a_slider_stops_at_the_batches_of_the_plan_only() -> None:
    view = ExplainedModel(ExplainedStep(replace(step("mnist_cnn"), batches=range(3, 101))))
    for place, batch in enumerate([3, 4, 8, 16, 32, 64, 100]):
        view.on_event("batch", place, False)
        assert view.batch == batch
    assert "this plan says nothing of larger ones" in view.text()


def in_three_steps(memory: int) -> Explained:
    """A plan as if its operations were of three training steps."""
    subject_ = ExplainedStep(step("mnist_cnn"))
    count = len(step("mnist_cnn").ops)
    begins = (0, count // 4, count // 2)
    subject_.plain = replace(subject_.plain, begins=begins)
    return Explained(subject_, 8, memory)


def test_training_steps_are_named_and_part_phases_and_modules() -> None:
    rows = in_three_steps(10**9)
    now, _ = rows.plan_columns(640)
    begins = now.planned.begins
    ends = [*(begin - 1 for begin in begins[1:]), len(step("mnist_cnn").ops) - 1]
    spans = zip((2, 3, 4), begins, ends, strict=True)
    assert rows.steps(now) == [(f"step {number}", *span) for number, *span in spans]
    for first, last in [(first, last) for _, first, last in rows.phases(now)] + [
        (run.begin, run.end) for run in rows.spans(now)
    ]:
        assert not [begin for begin in begins if first < begin <= last]
    svg = Page("", [OverTime(rows, 10**9).chart(False)]).svg()
    assert {"step 2", "step 3", "step 4", "time of 3 steps, planned →"} <= {
        label.content for label in svg.labels
    }
    assert not svg.collisions()


def test_the_error_of_several_steps_comes_in_the_one_that_no_longer_fits() -> None:
    plain = in_three_steps(1).subject.plain
    beside = sum(row.nbytes for row in plain.card_estimates(8))
    line = plain.ledger.timeline(8)
    at = next(i for i, nbytes in enumerate(line) if nbytes > max(line[: plain.begins[2]]))
    error = in_three_steps(line[at] - 1 + beside).error
    assert error is not None
    assert (error.at, error.step) == (at, 4)
    error = in_three_steps(1).error
    assert error is not None
    assert (error.at, error.step) == (0, 1)


def test_a_step_with_two_updates_has_brackets_over_all_modules() -> None:
    plain = step("mnist_cnn")
    ops = [*plain.ops]
    middle = len(ops) // 3
    ops[middle] = replace(ops[middle], phase=Phase.UPDATE)
    rows = Explained(ExplainedStep(replace(plain, ops=tuple(ops))), 8, 10**9)
    now, _ = rows.plan_columns(640)
    covered = {i for run in rows.spans(now) for i in range(run.begin, run.end + 1)}
    assert covered == {i for i, op in enumerate(ops) if op.phase is not Phase.UPDATE}


def test_each_change_that_helps_is_an_outline_with_its_name() -> None:
    view = views.explain("resnet50", 64, "4 GB")
    over_time = OverTime(view.rows, view.state.room[0])
    svg = view.page(820).svg()
    outlines = [mark for mark in svg.charts[0][0].marks if isinstance(mark, Stairs)
                and mark.look == "rule" and mark.curve is not over_time.mountain.top]  # fmt: skip
    assert [change.key for change in view.rows.outlined] == ["recompute", "parts"]
    peaks = [change.peak(64) for change in view.rows.outlined]
    assert peaks == [mark.curve.max() for mark in outlines if mark.curve.max() in peaks]
    labels = {label.content for label in svg.labels}
    assert {"recompute of maps in backward", "the batch in parts"} <= labels
    view.on_event("key", "KeyC", False)
    assert "the batch in parts" not in {label.content for label in view.page(820).svg().labels}


def test_the_axis_of_time_stays_while_a_change_is_put_on() -> None:
    plain = explained(8, "12 GB")
    changed = explained(8, "12 GB", key="recompute")
    assert changed.chosen is not None
    assert plain.plan_columns(640)[1].ends[-1] == changed.plan_columns(640)[1].ends[-1]
    ends = [plain.columns_of(change, 640).ends[-1] for change in plain.outlined]
    assert max(ends) == pytest.approx(640)


@pytest.mark.parametrize("given", ["no network", memlab.inference_step(memlab.zoo.mnist_cnn())])
def test_what_is_no_training_step_gets_one_sentence(given: object) -> None:
    assert said(lambda: views.explain(given))


@pytest.mark.parametrize("memory", ["0 B", "a lot"])
def test_what_is_no_memory_gets_one_sentence(memory: str | int) -> None:
    assert said(lambda: views.explain(memory=memory))


# -- a card and a processor ------------------------------------------------------------------------


@cache
def convolution(card: CudaCard | None) -> OwnModel:
    torch = pytest.importorskip("torch")
    nn = torch.nn
    return OwnModel(
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.Flatten(), nn.Linear(8 * 256, 10)),
        lambda batch: (torch.randn(batch, 3, 16, 16), torch.randint(10, (batch,))),
        progress=False,
        card=card,
        batch=8,
    )


def test_what_cudnn_takes_is_a_range_with_its_reason() -> None:
    planned = convolution(cuda_cards.find("t4")).plain
    row = next(row for row in planned.card_estimates(64) if row.name == "cudnn")
    tiles = 36 * 4 * 4 * (3 + 8) * 4 * 64 + 36 * 3 * 8 * 4
    assert row.nbytes == 0
    assert 0 < row.more <= tiles + 20 * 2**20
    assert planned.most(64) - planned.total(64) == row.more + len(CONTEXT)


def test_a_batch_within_the_range_may_not_fit() -> None:
    subject = convolution(cuda_cards.find("t4"))
    total, most = subject.plain.total(64), subject.plain.most(64)
    for memory in (total - 1, total, most - 1, most):
        model = Explained(subject, 64, memory)
        assert ("may not hold batch 64: " in model.fit_sentence) == (total <= memory < most)
        assert ("holds batch 64, and" in model.fit_sentence) == model.fits == (memory >= most)


@pytest.mark.measures
def test_a_processor_has_nothing_beside_its_plan() -> None:
    model = Explained(convolution(None), 8, 10**9)
    assert model.total == model.most == model.peak.nbytes
    assert model.sums()[-1][1] == f"{model.total:,}"
    assert "nvidia" not in model.card


@pytest.mark.parametrize("name", CASES["explain"])
def test_a_name_on_the_enlarged_bar_stands_in_its_part_or_below_it(name: str) -> None:
    view = CASES["explain"][name]()
    labels = view.page(820).svg().labels
    boxes = {label.content: label.box for label in reversed(labels)}  # tables come last
    for part in _segments(view.rows, view.state.room[2], 820):
        if part.named:
            box, middle = boxes[part.name], (part.left + part.right) / 2 + EDGES[0]
            assert box.left - 3 < middle < box.right + 3, part.name


@pytest.mark.parametrize("live", [False, True])
def test_the_lines_to_paste_stand_once(live: bool) -> None:
    """Below a live page, as text; in a stored picture."""
    view = views.explain(changed_by="recompute")
    scene = view.scene(live=live)
    drawn = [block for block in view.compose(scene).blocks if isinstance(block, CodeLines)]
    assert bool(drawn) is not live
    assert [paragraph.text for paragraph in view.after(scene)] == ["\n".join(view.rows.code)]
