"""The one case: rows against the calls that they name, largest batches by trying, small runs."""

from __future__ import annotations

from itertools import combinations

import pytest

import memlab
from memlab import hardware, zoo
from memlab.lesson import one_case as study
from memlab.lesson import small_case
from memlab.lesson.one_case import CARDS, IMAGES, LATER, LESSONS, ROWS, TECHNIQUES, Case, row
from memlab.pictures.mountain.stack_parts import STACK

STEP = memlab.training_step(zoo.resnet50(), "momentum")
BYTES = {
    "01": 66_139_818_468,
    "02": 22_049_672_420,
    "03": 22_049_672_420,
    "04": 22_049_672_420,
    "05": 2_942_651_620,
    "06": 11_204_171_376,
    "07": 21_949_009_124,
    "08": 6_420_810_980,
    "09": 3_851_523_300,
    "10": 11_225_406_948,
}
"""Of the pictures in the lessons."""
every = pytest.mark.parametrize("lesson", TECHNIQUES)


def made(lesson: str, batch: int = IMAGES) -> memlab.Step:
    """The step of the call that a row shows."""
    call = TECHNIQUES[lesson].call.replace(f"batch={IMAGES}", f"batch={batch}")
    step = eval(call, {"memlab": memlab, "step": STEP})
    assert isinstance(step, memlab.Step)
    return step


@every
def test_a_row_is_the_plan_of_its_call(lesson: str) -> None:
    found = row(lesson)
    ledger = memlab.plan(made(lesson))
    assert found.peak == ledger.peak(found.technique.batch) == BYTES[lesson]
    assert sum(found.parts.values()) == found.peak
    assert list(found.parts) == [part for part in STACK if part in found.parts]


def test_the_mini_batch_is_that_of_the_paper_and_a_smaller_one_that_of_the_lanes() -> None:
    images = {lesson: row(lesson).technique.images for lesson in TECHNIQUES}
    assert images == dict.fromkeys(TECHNIQUES, 256) | {"05": 32}


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("lesson", [each for each in TECHNIQUES if each != "05"])
def test_one_image_more_does_not_fit(lesson: str, card: int) -> None:
    most = row(lesson).fits(card) // TECHNIQUES[lesson].parts
    peaks = [memlab.plan(made(lesson, batch)).peak(batch) for batch in (most, most + 1)]
    assert peaks[0] <= card * 10**9 < peaks[1]


def test_what_is_freed_overwritten_or_made_again_takes_less_and_what_it_costs() -> None:
    assert [row(each).fits(12) for each in ("01", "02", "07", "06", "08", "09", "10")] == [
        45, 138, 138, 274, 489, 844, 274,
    ]  # fmt: skip
    times = {each: row(each).time for each in TECHNIQUES}
    assert times == dict.fromkeys(("01", "02", "03", "07", "10"), "+0.0 %") | {
        "04": "-2.8 %", "05": "", "06": "+46.8 %", "08": "+32.8 %", "09": "+204 %",
    }  # fmt: skip
    again = {each: row(each).again for each in TECHNIQUES}
    assert [each for each in again if again[each]] == ["08"]
    assert 0 < again["08"] < BYTES["08"]


def test_the_whole_batch_lowered_adds_no_byte_to_the_peak_and_many_elsewhere() -> None:
    whole, plain = (memlab.plan(made(each)).timeline(IMAGES) for each in ("03", "02"))
    more = [one - other for one, other in zip(whole, plain, strict=True)]
    assert max(whole) == max(plain)
    assert 0.99 * row("03").workspace < max(more) < row("03").workspace
    assert row("03").workspace == 4 * 49 * 3 * 112**2 * IMAGES  # conv1: 7x7 of 3 channels


# -- which rows are drawn --------------------------------------------------------------------------


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_draws_its_own_row_and_none_of_a_later_one(lesson: str) -> None:
    found = Case(lesson)
    assert max(found.rows, default="") == ("" if lesson in ("00", "01") else lesson)
    assert [each for each in found.lessons if each in ROWS] == list(ROWS)
    assert set(found.lessons) - {lesson} <= {*TECHNIQUES, *LATER}
    assert study.passed(lesson) == (("06",) if "06" < lesson < "10" else ())


def test_the_rows_that_lesson_02_asks_about_are_in_no_picture_before_it() -> None:
    for lesson in ("00", "01"):
        found = Case(lesson)
        assert not found.rows
        assert {found.place(row) for row in ("01", "02")} == {"predict first, in lesson 02"}
    assert {*Case("02").rows} == {"01", "02"}


def test_a_row_never_goes_away_along_the_course() -> None:
    spine = [Case(each).rows.keys() for each in ("01", "02", "07", "08", "09")]
    assert all(one < other for one, other in combinations(spine, 2))


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_row_that_is_not_drawn_tells_no_figure(lesson: str) -> None:
    found = Case(lesson)
    told = str(found.as_dict()) + "".join(map(str, [*found.stack(3), found.table()]))
    drawn = [each.peak for each in found.rows.values()]
    for other in TECHNIQUES.keys() - found.rows.keys():
        if BYTES[other] not in drawn:
            assert f"{BYTES[other]:,}" not in told
            assert str(BYTES[other]) not in told
        if (short := f"{BYTES[other] / 1e9:.3g} GB") not in [f"{n / 1e9:.3g} GB" for n in drawn]:
            assert short not in told


def test_a_title_says_what_the_figures_of_its_lesson_are() -> None:
    titles = {lesson: Case(lesson).title for lesson in LESSONS}
    assert titles["07"] == "In place saves 0.5 % here: giving back has taken the rest"
    assert titles["08"] == "Recompute: 6.42 GB instead of 22.0 GB, for 32.8 % more time"
    assert titles["10"] == "In halves: 11.2 GB instead of 22.0 GB, and the time hardly changes"
    assert 0 <= row("10").extra < 0.05
    assert titles["09"] == "Offload: 3.85 GB instead of 22.0 GB, for 204 % more time"
    assert len({*titles.values()}) == len(LESSONS)
    assert row("06").extra > 0  # "slower", on a card of fp32 alone
    assert list(hardware.find(study.MACHINE).flops) == ["fp32"]
    assert row("03").peak == row("04").peak == row("02").peak  # "not a byte more"


# -- at the size of a lesson -----------------------------------------------------------------------


@pytest.mark.measures
def test_every_technique_uses_what_was_planned_where_it_runs() -> None:
    found = small_case.measured(tuple(TECHNIQUES))
    assert found.held
    assert [each.lesson for each in found.runs] == [
        lesson for lesson, each in TECHNIQUES.items() if each.runs
    ]
    results = {each.lesson: each.same for each in found.runs}
    assert results == {each: TECHNIQUES[each].result == study.SAME for each in results}
    peaks = {each.lesson: each.measured for each in found.runs}
    assert peaks["08"] < peaks["07"] < peaks["02"] < peaks["01"]


def test_a_run_that_needs_more_than_planned_is_told() -> None:
    small = small_case.SmallRun("07", 100, 108, 8, True)
    lines = small_case.Measured("ResNet-14", (small,)).lines()
    assert lines[0].endswith("Not as planned:")
    assert "planned 100 B, measured 108 B" in lines[1]
