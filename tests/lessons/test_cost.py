"""The page of what lessons cost follows from the recorded figures and from the lessons."""

import json

import pytest

from lessons import cost
from tests.lessons.minutes import estimate
from tests.lessons.parts import minutes_line, read

MIB = 2**20


def test_the_page_says_what_was_recorded_and_the_minutes_of_the_lessons():
    assert cost.PAGE.read_text(encoding="utf-8") == cost.page(), "python -m lessons.cost --page"


def test_every_lesson_has_its_costs():
    found = cost.recorded()["lessons"]
    assert list(found) == [source.stem for source in cost.lessons()]
    for runs in found.values():
        assert set(runs) == {"first", "again"}
        assert all(run["seconds"] > 0 and run["bytes"] > 50 * MIB for run in runs.values())


@pytest.mark.table
@pytest.mark.measures
@pytest.mark.parametrize("source", cost.lessons(), ids=lambda path: path.stem)
def test_the_minutes_of_the_page_are_those_of_the_head_and_no_less_than_estimated(source):
    lesson = read(source)
    line = minutes_line(lesson)
    assert line is not None
    row = next(row for row in cost.page().splitlines() if row.startswith(f"| {lesson.number} "))
    assert row.split(" | ")[1] == line[1]
    assert estimate(lesson).minutes <= int(line[1])


@pytest.fixture
def figures(tmp_path, monkeypatch):
    """Costs of one lesson, on a machine of another kind."""
    first, again = ({"seconds": 3.2, "bytes": mib * MIB} for mib in (480, 400))
    costs = {"machine": "Plan9 mips, 1 processors", "date": "2026-11-27",
             "lessons": {"02_network": {"first": first, "again": again}}}  # fmt: skip
    monkeypatch.setattr(cost, "COST", tmp_path / "cost.json")
    cost.COST.write_text(json.dumps(costs), encoding="utf-8")
    return costs


@pytest.mark.parametrize("share", [0.76, 1, 1.24])
@pytest.mark.parametrize(("run", "mib"), [("first", 480), ("again", 400)])
def test_another_run_may_differ_by_a_quarter(figures, run, mib, share):
    assert cost.differs("02_network", run, share * mib * MIB) == ""


@pytest.mark.parametrize(("share", "mib"), [(0.74, "296"), (1.26, "504")])
def test_a_lesson_that_takes_more_or_less_is_told(figures, share, mib):
    told = cost.differs("02_network", "again", share * 400 * MIB)
    assert told.startswith(f"02_network, again, took {mib} MiB, and lessons_cost.md says 400:")
    assert "python -m lessons.cost" in told


def test_costs_of_a_machine_of_another_kind_are_not_compared(figures):
    assert not cost.here()
    figures["machine"] = cost.machine()
    cost.COST.write_text(json.dumps(figures), encoding="utf-8")
    assert cost.here()


def test_a_row_has_title_minutes_seconds_memory_and_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(cost, "server", lambda: 100 * MIB)
    source = tmp_path / "02_network.py"
    source.write_text("# %% [markdown]\n# # 02 A network: why?\n#\n# 45 minutes. Needs: x.\n")
    runs = {"first": {"seconds": 41.6, "bytes": 512 * MIB},
            "again": {"seconds": 3.2, "bytes": 400 * MIB}}  # fmt: skip
    assert cost.row(source, runs) == (
        "| 02 A network | 45 | 42 | 3 | 512 MiB | 400 MiB | 0.75 GiB |"
    )


@pytest.mark.parametrize(("mib", "limit"), [(790, 1024), (791, 1280), (10, 256)])
@pytest.mark.parametrize("larger", ["first", "again"])
def test_a_limit_is_the_larger_run_and_the_server_with_some_to_spare(
    larger, mib, limit, monkeypatch
):
    monkeypatch.setattr(cost, "server", lambda: 100 * MIB)
    runs = {"first": {"bytes": MIB}, "again": {"bytes": MIB}} | {larger: {"bytes": mib * MIB}}
    assert cost.limit(runs) == limit * MIB


def test_the_page_of_a_hub_names_a_limit_that_is_enough_for_every_lesson():
    page = (cost.PAGE.parent / "hub.md").read_text(encoding="utf-8")
    assert "**1 GiB for each learner is enough for every lesson**" in page
    assert max(map(cost.limit, cost.recorded()["lessons"].values())) == 2**30


@pytest.mark.measures
@pytest.mark.parametrize("source", cost.lessons(), ids=lambda path: path.stem)
def test_a_lesson_takes_what_the_page_says(source):
    """In a kernel of its own, the first time and again."""
    runs = cost.of_lesson(source)
    assert all(run["seconds"] > 0 for run in runs.values())
    if cost.here():
        told = [cost.differs(source.stem, name, run["bytes"]) for name, run in runs.items()]
        assert told == ["", ""]
