"""Published figures of training memory, and plans beside them for cards that are not here."""

from __future__ import annotations

import json
from datetime import date
from functools import partial
from typing import Any

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import accuracy_page, cards
from memlab.bench import accuracy
from memlab.bench.accuracy import published_tables
from memlab.bench.accuracy.published_tables import CHECKED, FOLDER, TABLES
from memlab.bench.accuracy.table import Accuracy, Compared, PredictorEstimate
from memlab.measure import recorded_figures
from memlab.measure.timing import Machine
from tests.oracles.requirement import torch_or_skip

EACH, MEAN = 0.6, 0.3
"""Percent that a plan may be off a published figure of a T4, and that all may be on average."""

# -- data --------------------------------------------------------------------------------------


def test_every_file_is_a_table_and_says_where_and_when():
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(TABLES)
    for table in map(published_tables.load, TABLES):
        assert table.source
        assert isinstance(table.date, date)
        assert table.dated
        assert table.counts in ("allocated", "nvidia-smi")
        assert table.rows
        assert all(row.nbytes > 2**20 and row.batch > 0 for row in table.rows)


def test_no_two_rows_have_one_name():
    tables = [published_tables.load(name) for name in TABLES]
    names = [table.name(row) for table in tables for row in table.rows]
    assert len(set(names)) == len(names)


def test_every_row_is_planned_or_says_why_not():
    torch_or_skip()
    from memlab.bench.accuracy import card_plans

    for table in map(published_tables.load, TABLES):
        for row in table.rows:
            assert row.why or row.model in card_plans.MODELS


# -- the page ----------------------------------------------------------------------------------


def test_the_page_has_the_recorded_figures():
    written = accuracy_page.PAGE.read_text(encoding="utf-8")
    assert written == accuracy_page.page(), "try python -m benchmarks.accuracy_page"


def test_every_planned_row_was_recorded():
    recorded = accuracy.recorded(recorded_figures.load(accuracy.PUBLISHED))
    assert recorded_figures.load(accuracy.PUBLISHED).command == accuracy.COMMAND
    truths = {step.case: step.truth for step in recorded.compared}
    for table in map(published_tables.load, TABLES):
        planned = {table.name(row): row.nbytes for row in table.rows if not row.why}
        assert planned.items() <= truths.items()


def test_the_recorded_plans_of_a_t4_are_close_to_its_published_figures():
    recorded = accuracy.recorded(recorded_figures.load(accuracy.PUBLISHED))
    steps = {step.case: step for step in recorded.compared}
    table = published_tables.load(CHECKED)
    off = [
        abs(one.percent(row.nbytes) or 0.0)
        for row in table.rows
        for one in steps[table.name(row)].estimates
        if one.predictor == published_tables.CARD
    ]
    assert len(off) == 8
    assert max(off) <= EACH
    assert sum(off) / 8 <= MEAN


def test_a_card_that_was_measured_comes_onto_the_page(tmp_path, monkeypatch):
    row = cards.Measured("net, batch 2", 1_000_000, 2_000_000, 3_000_000, 1_010_000, 1, 2)
    card = cards.MeasuredCard("NVIDIA T4", "2026-01-31", {"torch": "2.13.0"}, cards.COMMAND, (row,))
    path = cards.write(card, tmp_path)
    assert path.name == "cards_nvidia_t4.json"
    assert cards.measured(path) == card
    monkeypatch.setattr(accuracy_page, "RECORDS", tmp_path)
    page = accuracy_page.page().replace(accuracy_page.NO_BREAK, " ")
    assert "### NVIDIA T4" in page
    assert "| net, batch 2 | 1,000,000 B | 1,010,000 B | +1.00 % | 2.0 MB | 3.0 MB |" in page


# -- what is printed ---------------------------------------------------------------------------


def test_published_steps_stand_below_those_that_were_measured_here():
    step = Compared("net, on a card", "a tool", 100, (PredictorEstimate("memlab", 99),))
    assumed = Compared("Nets on a card, assumed", "", 0, why="bf16; held outputs")
    machine = Machine("a processor", 2, "Linux x86_64", "2026-01-31", {"torch": "2.13.0"})
    result = Accuracy("accuracy", machine, (), published=(assumed, step))
    text = str(result)
    for part in ("planned for cards, measured elsewhere:", "Nets on a card, assumed: bf16; held",
                 "net, on a card: 100 B, by a tool", "1.00 % too low"):  # fmt: skip
        assert part in text
    facts = result.as_dict()
    json.dumps(facts)
    assert [line["value"] for line in facts["published"]] == [0, 100, 99, pytest.approx(1), 0]


def test_without_a_gpu_a_sentence_says_so(capsys, monkeypatch):
    monkeypatch.setattr(cards, "_gpu", lambda: False)
    assert benchmarks.main(["cards"]) == 0
    assert cards.NO_GPU in capsys.readouterr().out


# -- plans -------------------------------------------------------------------------------------


@pytest.mark.measures
def test_plans_of_a_t4_are_close_to_its_published_figures():
    torch_or_skip()
    from memlab.bench.accuracy import card_plans

    table = published_tables.load(CHECKED)
    off = {}
    for row in table.rows:
        (estimate,) = card_plans.compare(table, row).estimates
        off[row.title] = abs(estimate.percent(row.nbytes) or 0.0)
    assert len(off) == 8
    assert max(off.values()) <= EACH, off
    assert sum(off.values()) / len(off) <= MEAN, off


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("gpt2", 124_439_808),
        ("bert", 109_482_240),
        ("distilbert", 66_362_880),
        ("mobilenet-v2", 3_504_872),
        ("efficientnet-b0", 5_288_548),
        ("inception-v3", 27_161_264),
        ("densenet-bc", 769_162),
    ],
)
def test_a_model_has_as_many_parameters_as_the_published_one(name, parameters):
    torch = torch_or_skip()
    from memlab.bench.accuracy import card_plans

    build, *_ = card_plans.MODELS[name](published_tables.load(CHECKED).rows[-1])
    with torch.device("meta"):
        model = build()
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters


@pytest.mark.measures
def test_each_difference_is_left_out_and_comes_back(monkeypatch):
    torch_or_skip()
    from memlab.bench.accuracy import card_plans, language_models

    table = published_tables.load(CHECKED)
    row = published_tables.PublishedRow("small", 64, 1, tokens=64)
    build = partial(language_models.Gpt2, words=90, length=64, width=64, depth=1, heads=2)
    data, loss = partial(card_plans._tokens, 90, row), language_models.language_loss
    monkeypatch.setattr(card_plans, "MODELS", {"small": lambda row: (build, data, loss)})
    found = {one.predictor: one.nbytes for one in card_plans.differences(table, row)}
    whole = found.pop(published_tables.CARD)
    names = {name.removeprefix(published_tables.WITHOUT) for name in found}
    parts = {card_plans.FOREACH, card_plans.BLOCKS, card_plans.LATE, card_plans.CUBLAS}
    assert names == {published_tables.PROCESSOR, *parts, *card_plans.OPERATORS}
    for name in ("the mask of dropout", "autocast's lists", card_plans.BLOCKS, card_plans.CUBLAS):
        assert found[f"{published_tables.WITHOUT}{name}"] != whole, name
    again = card_plans.planned(card_plans.case_of(table, row), card_plans.card_of(table),
                               table.options)  # fmt: skip
    assert again.allocated == whole


@pytest.mark.measures
def test_the_range_of_what_a_card_shows_has_no_upper_end_below_the_lower():
    torch = torch_or_skip()
    from memlab.bench.accuracy import card_plans
    from memlab.bench.accuracy.training import AccuracyCase

    def batch(size: int) -> Any:
        return torch.randn(size, 3, 8, 8), torch.randint(4, (size,))

    def build() -> Any:
        return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(),
                                   torch.nn.Linear(144, 4))  # fmt: skip

    case = AccuracyCase("a", build, batch, torch.nn.functional.cross_entropy, "sgd", 2)
    step = card_plans.planned(case, card_plans.recorded_card("NVIDIA H100 80GB HBM3"))
    assert step.card.name == "H100"
    shown, with_context = step.shown(), step.shown(10**9)
    assert step.allocated < shown.start < shown.stop
    assert with_context.start == shown.start + 10**9 - 110 * 2**20


@pytest.mark.measures
def test_a_step_on_a_gpu_is_measured_and_planned(monkeypatch):
    """There is no GPU here: the figures are given, and the model stays on the processor."""
    torch = torch_or_skip()
    from memlab.bench.accuracy import training
    from memlab.placement.cuda_cards import find

    asked = []
    answers = {
        "synchronize": lambda: asked.append("synchronize"),
        "empty_cache": lambda: asked.append("empty"),
        "reset_peak_memory_stats": lambda: asked.append("reset"),
        "max_memory_allocated": lambda: 1000,
        "max_memory_reserved": lambda: 2000,
        "mem_get_info": lambda: (7000, 10_000),
    }
    case = training.AccuracyCase(
        "a", lambda: torch.nn.Linear(2, 3), lambda batch: (torch.ones(batch, 2),
        torch.zeros(batch, 3)), torch.nn.functional.mse_loss, "sgd", 2,
    )  # fmt: skip
    monkeypatch.setattr(
        torch._C, "_cuda_clearCublasWorkspaces", lambda: asked.append("clear"), raising=False
    )
    for name, answer in answers.items():
        monkeypatch.setattr(torch.cuda, name, answer)
    row = cards.measure(case, find("T4"))
    assert (row.allocated, row.reserved, row.shown) == (1000, 2000, 3000)
    assert row.planned > 2 * find("T4").cublas
    assert row.least < row.most
    assert asked == ["synchronize", "clear", "empty", "reset", "synchronize"]


def test_an_output_is_held_until_the_step_ends_where_a_case_says_so():
    torch = torch_or_skip()
    from memlab.bench.accuracy.training import AccuracyCase

    def net(keep: bool) -> Any:
        return AccuracyCase("a", torch.nn.Identity, lambda batch: None, min, keep_output=keep)

    assert net(keep=True).wish().keep_output
    assert not net(keep=False).wish().keep_output
