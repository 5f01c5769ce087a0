"""The one case: its rows against the calls that they name, what is drawn, what waits, and runs."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

import memlab
from memlab import InputError, hardware, views, zoo
from memlab.course import case as study
from memlab.course.case import (
    BAR,
    CARDS,
    IMAGES,
    LATER,
    LESSONS,
    ROWS,
    SHOWN,
    TECHNIQUES,
    CourseCase,
    SmallRun,
    SmallRuns,
    measured,
    row,
)
from memlab.lesson import progress
from memlab.lesson.card_question import Purpose, topics
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.marks import Line, Rect, Rule
from memlab.pictures.mountain.stack_parts import STACK
from memlab.pictures.recompute import MADE
from tests.pictures.shown import send
from tests.pictures.test_pages import numerals

SPINE = ("01", "02", "07", "08")


def chart(view, width=960):
    (drawn,) = (block for block in view.page(width).blocks if isinstance(block, Chart))
    return drawn


def bars(view, at):
    """The bars of the row with that number, without its dashed outline."""
    rects = [mark for mark in chart(view).marks if isinstance(mark, Rect) and mark.thick == BAR]
    return [mark for mark in rects if mark.y0 == at and mark.look != "before"]


def at(view, lesson):
    return view.rows.lessons.index(lesson)


# -- bars -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lesson", ["05", "08"])
def test_a_bar_is_as_long_as_its_bytes_and_a_row_that_waits_has_none(lesson):
    view = views.case(lesson)
    for number in view.rows.lessons:
        ends = [mark.x1 for mark in bars(view, at(view, number))]
        case_row = view.rows.rows.get(number)
        assert ends[-1:] == ([case_row.peak] if case_row else [])
        assert ends == sorted(ends)


def test_a_row_that_waits_has_a_dotted_line_to_the_card():
    view = views.case("02", card=24)
    lines = [mark for mark in chart(view).marks if isinstance(mark, Line)]
    assert len(lines) == len(view.rows.lessons) - 2
    assert {line.points[1][0] for line in lines} == {24 * 10**9}


def test_maps_that_are_made_again_have_dots():
    view = views.case("08")
    (dots,) = (mark for mark in bars(view, at(view, "08")) if mark.look is MADE)
    assert dots.x1 - dots.x0 == row("08").again


def test_dashed_is_what_a_row_is_compared_with():
    marks = {number: chart(views.case(number)).marks for number in ("02", "03", "08")}
    dashed = {lesson: [m for m in drawn if isinstance(m, Rect) and m.look == "before"]
              for lesson, drawn in marks.items()}  # fmt: skip
    assert [mark.x1 for mark in dashed["02"]] == [row("01").peak]
    assert dashed["03"] == []
    assert [mark.x1 for mark in dashed["08"]] == [row("02").peak] * 2


def test_another_card_moves_the_line_alone():
    card = CARDS[-1]
    one, other = chart(views.case("08")), chart(views.case("08", card=card))
    assert one.x == other.x
    (line,) = (m for m in other.marks if isinstance(m, Rule) and m.look == "limit")
    assert line.x == card * 10**9
    assert bars(views.case("08"), 0) == bars(views.case("08", card=card), 0)


def test_images_are_bars_too():
    view = views.case("08", also=True, show="images")
    ends = {lesson: bars(view, at(view, lesson))[-1].x1 for lesson in view.rows.rows}
    assert ends == {"01": 45, "02": 138, "07": 138, "06": 274, "08": 489}
    assert "489 images on the card that held 138" in view.text()


@pytest.mark.parametrize(
    ("lesson", "card", "show"), [("02", 12, "images"), ("08", 24, "bytes"), ("09", 80, "images")]
)
def test_a_first_level_has_few_numerals_and_all_stand_apart(lesson, card, show):
    view = views.case(lesson, card=card, show=show)
    for width in (480, 820, 960):
        svg = view.page(width).svg()
        assert len(numerals(label.content for label in svg.labels)) <= 12
        assert (svg.collisions(), svg.outside()) == ([], [])


# -- what is not told -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lesson", "show"), [(number, SHOWN[int(number) % 2]) for number in LESSONS]
)
def test_a_picture_gives_no_figure_of_a_lesson_to_come(lesson, show):
    view = views.case(lesson, show=show)
    view.numbers = True
    shown = " ".join([view.text(), view.svg(), str(view.now_["layout"]), view.code()])
    drawn = view.rows.rows
    peaks = [case_row.peak for case_row in drawn.values()]
    for other in TECHNIQUES.keys() - drawn.keys():
        if (peak := row(other).peak) not in peaks:
            assert f"{peak:,}" not in shown
        if (short := f"{peak / 1e9:.3g} GB") not in [
            f"{case_row / 1e9:.3g} GB" for case_row in peaks
        ]:
            assert short not in shown
    written = re.sub(r'="[^"]*"', "", shown)  # an attribute may be 489 pixels
    assert ("489" in written) == (lesson in ("08", "09"))


def test_a_row_that_waits_says_where_it_will_be():
    text = views.case("02").text()
    assert "recompute: predict first, in lesson 08." in text
    assert "offload: predict first, in lesson 09." in text
    assert "all together: to come." in text
    assert {lesson for lesson in views.case("02").rows.lessons if lesson > "09"} == {*LATER}


@pytest.fixture
def learner(tmp_path, monkeypatch):
    """`learner("06")` has answered every prediction of these lessons."""
    monkeypatch.setenv("MEMLAB_PROGRESS", str(tmp_path / "progress.json"))

    def answers(*lessons):
        for name, topic in topics().items():
            if topic.part is Purpose.PREDICT and name.partition(".")[0] in lessons:
                progress.answered(name, "", None)

    return answers


def test_the_rows_of_lessons_that_progress_has_as_answered_are_drawn(learner):
    learner("06", "09")
    view = views.case("07")
    assert tuple(view.rows.rows) == ("01", "02", "07", "06", "09")
    drawn = view.now_["shown"]["svg"]
    assert f"{row('09').peak:,} B" in drawn
    assert "predict first, in lesson 08" in drawn
    assert not [words for words in ("lesson 06", "lesson 09") if words in drawn]
    assert "also" not in [control.name for control in view.controls()]
    assert view.code() == "memlab.views.case('07')"


def test_a_lesson_with_one_open_prediction_is_not_answered(learner):
    first = next(n for n, t in topics().items() if n[:2] == "06" and t.part is Purpose.PREDICT)
    learner()
    progress.answered(first, "", None)
    assert "06" not in views.case("07").rows.rows


def test_a_stored_picture_does_not_depend_on_the_learner(learner):
    before = views.case("07").stored()
    learner("06", "08", "09")
    assert views.case("07").stored() == before


def test_the_row_of_an_elective_is_drawn_where_that_is_chosen():
    view = views.case("08")
    assert tuple(view.rows.rows) == SPINE
    send(view, also=True)
    assert "06" in view.rows.rows
    assert view.code() == "memlab.views.case('08', also=True)"


def test_no_choice_draws_a_row_before_its_lesson():
    for lesson in (later for later in LESSONS if later < "07"):
        view = views.case(lesson, also=True)
        assert "also" not in [control.name for control in view.controls()]
        assert view.rows.rows.keys() == views.case(lesson).rows.rows.keys()


# -- settings and keys ----------------------------------------------------------------------------


def test_what_is_no_picture_is_refused_in_a_sentence():
    for given in ({"lesson": "11"}, {"lesson": 7}, {"lesson": "07", "also": ["06"]}, {"card": 16},
                  {"show": "time"}):  # fmt: skip
        with pytest.raises(InputError, match=r"\.$"):
            views.case(**given)


def test_a_line_of_code_makes_the_picture_again():
    view = views.case("08", card=24, show="images", also=True)
    assert view.code() == "memlab.views.case('08', card=24, show='images', also=True)"
    assert views.case().code() == "memlab.views.case('10')"
    assert eval(view.code(), {"memlab": __import__("memlab")}).text() == view.text()


def test_a_key_turns_bytes_to_images_and_another_shows_all_numbers():
    view = views.case("07")
    assert send(view, key="KeyB")["state"].startswith("07|12|images|")
    assert send(view, key="KeyB")["state"].startswith("07|12|bytes|")
    assert "21,949,009,124" not in _drawn(view)
    send(view, key="KeyN")
    assert "21,949,009,124" in _drawn(view)


def _drawn(view):
    return " ".join(label.content for label in view.page().svg().labels)


def test_a_screen_reader_hears_the_finding():
    shown = send(views.case("08"), card="24")
    assert shown["says"] == (
        "Recompute: 6.42 GB instead of 22.0 GB, for 43.4 % more time. "
        "The result is the same, bit for bit. The card now holds 992 images. "
        "On a processor, as in the frontier above, recompute costs another share of the time."
    )


def test_a_row_says_its_slices_its_batch_its_time_and_its_call():
    (fact,) = (str(m.fact) for m in chart(views.case("08")).marks
               if m.fact and str(m.fact).startswith("recompute"))  # fmt: skip
    for part in ("6.42 GB = 6,420,810,980 B", "feature maps 5,138,022,400 B", "489 images fit",
                 "+43.4 % time, planned",
                 'memlab.recompute(step, "chain", batch=256)'):  # fmt: skip
        assert part in fact


# -- measured -------------------------------------------------------------------------------------


@pytest.mark.measures
def test_the_rows_that_are_drawn_run_small_and_need_what_was_planned():
    view = views.case("07")
    done = view.measure()
    assert done.held
    assert [small.lesson for small in done.runs] == ["01", "02", "07"]
    head, *lines = done.lines()
    assert head == (
        "Measured here, small: ResNet-14 v1.5, 64 pixels, 16 images. Every byte as planned."
    )
    assert all(line in view.text() and line in _drawn(view) for line in (head, *lines))
    assert "measured" not in view.code()


def test_the_button_runs_it_and_nothing_is_left_when_another_row_comes(monkeypatch):
    asked = []

    def run(lessons):
        asked.append(lessons)
        return SmallRuns("ResNet-14", tuple(SmallRun(lesson, 8, 8, 0, True) for lesson in lessons))

    monkeypatch.setattr(study, "measured", run)
    view = views.case("08")
    send(view, small=None)
    assert asked == [SPINE]
    assert "recompute: planned 8 B, measured 8 B" in view.text()
    send(view, also=True)
    assert "measured 8 B" not in view.text()


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


def made(lesson: str, batch: int = IMAGES) -> memlab.Step:
    """The step of the call that a row shows."""
    call = TECHNIQUES[lesson].call.replace(f"batch={IMAGES}", f"batch={batch}")
    step = eval(call, {"memlab": memlab, "step": STEP})
    assert isinstance(step, memlab.Step)
    return step


def test_a_row_is_the_plan_of_its_call() -> None:
    for lesson in TECHNIQUES:
        case_row = row(lesson)
        ledger = memlab.plan(made(lesson))
        assert case_row.peak == ledger.peak(case_row.technique.batch) == BYTES[lesson]
        assert sum(case_row.parts.values()) == case_row.peak
        assert list(case_row.parts) == [part for part in STACK if part in case_row.parts]


def test_the_mini_batch_is_that_of_the_paper_and_a_smaller_one_that_of_the_lanes() -> None:
    images = {lesson: row(lesson).technique.images for lesson in TECHNIQUES}
    assert images == dict.fromkeys(TECHNIQUES, 256) | {"05": 32}
    assert topics()["02.case"].first["batch"] == IMAGES


@pytest.mark.parametrize(("lesson", "card"), [("07", 80), ("08", 12), ("10", 24)])
def test_one_image_more_does_not_fit(lesson: str, card: int) -> None:
    most = row(lesson).fits(card) // TECHNIQUES[lesson].parts
    peaks = [memlab.plan(made(lesson, batch)).peak(batch) for batch in (most, most + 1)]
    assert peaks[0] <= card * 10**9 < peaks[1]


def test_what_is_freed_overwritten_or_made_again_takes_less_and_what_it_costs() -> None:
    assert [row(lesson).fits(12) for lesson in ("01", "02", "07", "06", "08", "09", "10")] == [
        45, 138, 138, 274, 489, 844, 274,
    ]  # fmt: skip
    times = {lesson: row(lesson).time for lesson in TECHNIQUES}
    assert times == dict.fromkeys(("01", "02", "03", "07", "10"), "+0.0 %") | {
        "04": "-16.6 %", "05": "", "06": "-36.2 %", "08": "+43.4 %", "09": "+230 %",
    }  # fmt: skip
    again = {lesson: row(lesson).again for lesson in TECHNIQUES}
    assert [lesson for lesson in again if again[lesson]] == ["08"]
    assert 0 < again["08"] < BYTES["08"]


def test_the_whole_batch_lowered_adds_no_byte_to_the_peak_and_many_elsewhere() -> None:
    whole, plain = (memlab.plan(made(lesson)).timeline(IMAGES) for lesson in ("03", "02"))
    more = [one - other for one, other in zip(whole, plain, strict=True)]
    assert max(whole) == max(plain)
    assert 0.99 * row("03").workspace < max(more) < row("03").workspace
    assert row("03").workspace == 4 * 49 * 3 * 112**2 * IMAGES  # conv1: 7x7 of 3 channels


# -- which rows are drawn --------------------------------------------------------------------------


def test_a_lesson_draws_its_own_row_and_none_of_a_later_one() -> None:
    for lesson in LESSONS:
        case = CourseCase(lesson)
        assert max(case.rows, default="") == ("" if lesson in ("00", "01") else lesson)
        assert [number for number in case.lessons if number in ROWS] == list(ROWS)
        assert set(case.lessons) - {lesson} <= {*TECHNIQUES, *LATER}
        assert study.lessons_passed(lesson) == (("06",) if "06" < lesson < "10" else ())


def test_the_rows_that_lesson_02_asks_about_are_in_no_picture_before_it() -> None:
    for lesson in ("00", "01"):
        case = CourseCase(lesson)
        assert not case.rows
        assert {case.place(row) for row in ("01", "02")} == {"predict first, in lesson 02"}
    assert {*CourseCase("02").rows} == {"01", "02"}


def test_a_row_never_goes_away_along_the_course() -> None:
    spine = [CourseCase(number).rows.keys() for number in ("01", "02", "07", "08", "09")]
    assert all(one < other for one, other in combinations(spine, 2))


def test_a_title_says_what_the_figures_of_its_lesson_are() -> None:
    titles = {lesson: CourseCase(lesson).title for lesson in LESSONS}
    assert titles["07"] == "In place saves 0.5 % here: giving back has taken the rest"
    assert titles["08"] == "Recompute: 6.42 GB instead of 22.0 GB, for 43.4 % more time"
    assert titles["10"] == "In halves: 11.2 GB instead of 22.0 GB, and the time hardly changes"
    assert 0 <= row("10").extra < 0.05
    assert titles["09"] == "Offload: 3.85 GB instead of 22.0 GB, for 230 % more time"
    assert len({*titles.values()}) == len(LESSONS)
    assert row("06").extra < 0  # "less time": the card has a rate for fp16
    assert "fp16" in hardware.find(study.MACHINE).flops
    assert row("03").peak == row("04").peak == row("02").peak  # "not a byte more"


# -- at the size of a lesson -----------------------------------------------------------------------


@pytest.mark.measures
def test_every_technique_uses_what_was_planned_where_it_runs() -> None:
    small_runs = measured(tuple(TECHNIQUES))
    assert small_runs.held
    assert [each.lesson for each in small_runs.runs] == [
        lesson for lesson, each in TECHNIQUES.items() if each.runs
    ]
    results = {each.lesson: each.same for each in small_runs.runs}
    assert results == {each: TECHNIQUES[each].result == study.SAME for each in results}
    peaks = {each.lesson: each.measured for each in small_runs.runs}
    assert peaks["08"] < peaks["07"] < peaks["02"] < peaks["01"]


def test_a_run_that_needs_more_than_planned_is_told() -> None:
    small = SmallRun("07", 100, 108, 8, True)
    lines = SmallRuns("ResNet-14", (small,)).lines()
    assert lines[0].endswith("Not as planned:")
    assert "planned 100 B, measured 108 B" in lines[1]
