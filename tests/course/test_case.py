"""The one case: its rows against the calls that they name, what is drawn, what waits, and runs."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

import memlab
from memlab import InputError, hardware, views, zoo
from memlab.course import case as study
from memlab.course.case import BAR, SHOWN, CourseCase, SmallRun, SmallRuns, measured
from memlab.course.reveals import picture_of
from memlab.lesson import progress, sentences
from memlab.lesson.card import Card
from memlab.lesson.card_question import AnswerKind, topics
from memlab.lesson.material.case_rows import (
    CARDS,
    IMAGES,
    LESSONS,
    MACHINE,
    ROWS,
    SAME,
    TECHNIQUES,
    lessons_needed,
    optimum,
    row,
)
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.marks import Line, Rect, Rule
from memlab.pictures.draw.svg import NARROWEST
from memlab.pictures.mountain.stack_parts import STACK
from memlab.pictures.recompute import MADE
from tests.pictures.shown import send
from tests.pictures.test_pages import numerals

SPINE = ("00", "02", "07", "08")
OWN_CARD = [number for number in LESSONS if number != "00"]
"""Lessons whose card of the case is made here."""


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
    assert [mark.x1 for mark in dashed["02"]] == [row("00").peak]
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
    view = views.case("08", show="images")
    ends = {lesson: bars(view, at(view, lesson))[-1].x1 for lesson in view.rows.rows}
    assert ends == {"00": 45, "02": 138, "07": 138, "08": 489}
    assert "489 images fit instead of 138" in view.text()


@pytest.mark.parametrize(
    ("lesson", "card", "show"),
    [("02", 12, "images"), ("08", 24, "bytes"), ("09", 80, "images"), ("11", 12, "bytes")],
)
def test_a_first_level_has_few_numerals_and_all_stand_apart(lesson, card, show):
    view = views.case(lesson, card=card, show=show)
    for width in (NARROWEST, 820, 960):
        svg = view.page(width).svg()
        assert len(numerals(label.content for label in svg.labels)) <= 12
        assert (svg.collisions(), svg.outside()) == ([], [])


# -- what is not told -----------------------------------------------------------------------------


def told(view):
    """All that a view says: its picture, its text, its controls, its code."""
    view.numbers = True
    shown = " ".join([view.text(), view.svg(), str(view.now_["layout"]), view.code()])
    return re.sub(r'="[^"]*"', "", shown)  # an attribute may be 489 pixels


def figures(number):
    """What only the row of a lesson says: its bytes, exact and with three digits, its images."""
    case_row = row(number)
    fits = "" if case_row.fits(12) in (138, IMAGES) else f"{case_row.fits(12)} images fit"
    return {f"{case_row.peak:,}", f"{case_row.peak / 1e9:.3g} GB", fits} - {""}


@pytest.fixture
def learner(progress_file):
    """`learner("06")` has answered the case of these lessons."""

    def answers(*numbers):
        for number in numbers:
            progress.answered(f"{number}.case", "2", True)

    return answers


@pytest.mark.parametrize("answered", [(), ("00", "02"), ("00", "06", "08")])
@pytest.mark.parametrize(
    ("number", "show"), [(number, SHOWN[int(number) % 2]) for number in LESSONS]
)
def test_a_picture_gives_no_figure_that_was_not_asked(learner, number, show, answered):
    """Its own row is asked by its card, whose question names the row that it is compared with."""
    learner(*answered)
    view = views.case(number, show=show)
    drawn = {number, TECHNIQUES[number].beside, *answered} - {""}
    assert view.rows.rows.keys() == drawn & {*view.rows.lessons}
    shown, known = told(view), set().union(*map(figures, drawn))
    for other in TECHNIQUES.keys() - drawn:
        assert not [form for form in figures(other) - known if form in shown], other


def test_a_row_that_was_not_answered_says_where_it_is_asked(learner):
    learner("02", "08")
    text = views.case("07").text()
    for place in ("nothing is freed: ", "mixed fp16: ", "offload: "):
        assert f"{place}Predict it first in lesson 0" in text
    assert "nothing is freed: Predict it first in lesson 00." in text
    assert "all together: Predict it first in lesson 11." in text
    assert "in lesson 08" not in text
    assert f"{row('08').peak:,} B" in text


def test_a_card_that_is_skipped_or_only_diagnosed_draws_no_row(learner):
    progress.answered("08.case", "2", False)
    learner("06")
    assert "08" not in views.case("07").rows.rows
    progress.shown("08.case")
    assert "08" in views.case("07").rows.rows


def test_other_cards_of_a_lesson_draw_no_row(learner):
    for name in topics():
        if name.startswith("08.") and name != "08.case":
            progress.answered(name, "", None)
    assert "08" not in views.case("07").rows.rows


def test_without_a_file_of_progress_the_rows_that_a_lesson_needs_are_drawn(monkeypatch):
    monkeypatch.delenv("MEMLAB_PROGRESS", raising=False)
    for number in LESSONS:
        assert {*views.case(number).rows.rows} == {*lessons_needed(number)}
    assert "recompute: Predict it first in lesson 08." in views.case("02").text()


def test_the_picture_under_an_answer_has_the_row_of_its_lesson(learner):
    wrong = {AnswerKind.TIMES: 7, AnswerKind.AMOUNT: "7 MB"}
    for number in OWN_CARD:
        card = Card(topics()[f"{number}.case"])
        card.guess(card.topic.options[0] if card.topic.options else wrong[card.topic.kind])
        assert number not in views.case("00").rows.rows or card.revealed
        card.reveal()
        picture = picture_of(f"{number}.case")
        assert picture is not None
        view = picture(card.now)
        assert view.lesson == number
        assert figures(number) & {*re.findall(r"[\d.,]+ GB|[\d,]{9,}", told(view))}


# -- the cards ------------------------------------------------------------------------------------


def test_each_row_is_asked_by_a_card_about_the_same_step():
    cards = {name for name in topics() if name.endswith(".case")}
    assert cards >= {f"{number}.case" for number in OWN_CARD}
    for number in OWN_CARD:
        asked = topics()[f"{number}.case"].first
        assert asked == {"network": "resnet50", "batch": row(number).technique.images}


def test_a_card_of_the_case_is_short():
    for number in OWN_CARD:
        card = Card(topics()[f"{number}.case"])
        assert len(sentences.question(card.now).split()) <= 45
        assert len(" ".join(sentences.finding(card.skip().reveal().now)).split()) <= 60


def test_no_question_says_a_figure_of_a_row_that_no_earlier_card_asked_for():
    for number in OWN_CARD:
        text = Card(topics()[f"{number}.case"]).text()
        earlier = {row(other).lesson for other in LESSONS if other < number}
        known = set().union(*map(figures, earlier))
        for other in LESSONS:
            assert not [form for form in figures(other) - known if form in text], (number, other)


def test_two_figures_for_one_quantity_say_why_they_differ():
    recompute = Card(topics()["08.case"]).skip().reveal().text()
    assert "On a processor, as for the frontier above, this costs 25.1 % more time" in recompute
    assert "for 38.9 % more time" in recompute
    offload = Card(topics()["09.case"]).skip().reveal().text()
    assert "even where the card has room for it" in offload
    assert "for 230 % more time" in offload


@pytest.mark.parametrize(
    ("name", "guess", "words"),
    [
        ("02.case", 1, "Does everything wait for the update?"),
        ("02.case", "1.7", "Do all feature maps stay to the end?"),
        ("07.case", "half", "in a step that frees nothing?"),
        ("08.case", "11 GB", "treat the stages as equal?"),
        ("08.case", "8.6 GB", "Did you multiply the floor, too?"),
        ("08.case", "0.31 GB", "Does no feature map stay?"),
        ("09.case", "1.95", "Did you move half of the feature maps?"),
        ("09.case", 72, "Does no feature map stay?"),
    ],
)
def test_what_people_guess_first_is_diagnosed(name, guess, words):
    assert words in Card(topics()[name]).guess(guess).text()


# -- settings and keys ----------------------------------------------------------------------------


def test_what_is_no_picture_is_refused_in_a_sentence():
    for given in ({"lesson": "12"}, {"lesson": "01"}, {"lesson": 7}, {"card": 16},
                  {"show": "time"}):  # fmt: skip
        with pytest.raises(InputError, match=r"\.$"):
            views.case(**given)


def test_a_line_of_code_makes_the_picture_again():
    view = views.case("08", card=24, show="images")
    assert view.code() == "memlab.views.case('08', card=24, show='images')"
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
        "Recompute: 6.42 GB instead of 22.0 GB, for 38.9 % more time. "
        "The card now holds 992 images instead of 278, and the result is the same, bit for bit."
    )


def test_a_row_says_its_slices_its_batch_its_time_and_its_call():
    (fact,) = (str(m.fact) for m in chart(views.case("08")).marks
               if m.fact and str(m.fact).startswith("recompute"))  # fmt: skip
    for part in ("6.42 GB = 6,420,810,980 B", "feature maps 5,138,022,400 B", "489 images fit",
                 "+38.9 % time, planned",
                 'memlab.recompute(step, "chain", batch=256, device="rtx 4070")'):  # fmt: skip
        assert part in fact


# -- measured -------------------------------------------------------------------------------------


@pytest.mark.measures
def test_the_rows_that_are_drawn_run_small_and_need_what_was_planned():
    view = views.case("07")
    done = view.measure()
    assert done.held
    assert [small.lesson for small in done.runs] == ["00", "02", "07"]
    head, *lines = done.lines()
    assert head == (
        "Measured here, small: ResNet-14 v1.5, 64 pixels, 16 images. Every byte is as planned."
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
    send(view, start=None)
    assert "measured 8 B" not in view.text()


STEP = memlab.training_step(zoo.resnet50(), "momentum")
BYTES = {
    "00": 66_139_818_468,
    "02": 22_049_672_420,
    "03": 22_049_672_420,
    "04": 22_049_672_420,
    "05": 2_942_651_620,
    "06": 11_204_171_376,
    "07": 21_949_009_124,
    "08": 6_420_810_980,
    "09": 3_851_523_300,
    "10": 11_225_406_948,
    "11": 5_962_857_072,
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


@pytest.mark.parametrize(("lesson", "card"), [("07", 80), ("08", 12), ("10", 24)])
def test_one_image_more_does_not_fit(lesson: str, card: int) -> None:
    most = row(lesson).fits(card) // TECHNIQUES[lesson].parts
    peaks = [memlab.plan(made(lesson, batch)).peak(batch) for batch in (most, most + 1)]
    assert peaks[0] <= card * 10**9 < peaks[1]


def test_what_is_freed_overwritten_or_made_again_takes_less_and_what_it_costs() -> None:
    shown = ("00", "02", "05", "07", "06", "08", "09", "10", "11")
    assert [row(lesson).fits(12) for lesson in shown] == [
        45, 138, 138, 138, 274, 489, 844, 274, 527,
    ]  # fmt: skip
    times = {lesson: row(lesson).time for lesson in TECHNIQUES}
    assert times == dict.fromkeys(("00", "02", "03", "07", "10"), "+0.0 %") | {
        "04": "−16.6 %", "05": "", "06": "−36.2 %", "08": "+38.9 %", "09": "+230 %",
        "11": "−26.8 %",
    }  # fmt: skip
    again = {lesson: row(lesson).again for lesson in TECHNIQUES}
    assert [lesson for lesson in again if again[lesson]] == ["08"]
    assert 0 < again["08"] < BYTES["08"]


def test_the_last_row_is_the_fastest_choice_within_half_of_the_card() -> None:
    best, last = optimum(), row("11")
    assert best.exact
    assert last.peak == best.rated.peak <= CARDS[0] * 10**9 // 2
    assert len(best.rated.choice.techniques) >= 3
    assert last.time == f"−{100 * (1 - best.rated.seconds / _plain_seconds()):.1f} %"


def _plain_seconds() -> float:
    return memlab.clock(STEP, IMAGES, MACHINE).seconds


def test_the_whole_batch_lowered_adds_no_byte_to_the_peak_and_many_elsewhere() -> None:
    whole, plain = (memlab.plan(made(lesson)).timeline(IMAGES) for lesson in ("03", "02"))
    more = [one - other for one, other in zip(whole, plain, strict=True)]
    assert max(whole) == max(plain)
    assert 0.99 * row("03").workspace < max(more) < row("03").workspace
    assert row("03").workspace == 4 * 49 * 3 * 112**2 * IMAGES  # conv1: 7x7 of 3 channels


# -- which rows are drawn --------------------------------------------------------------------------


def test_a_lesson_draws_its_own_row_and_none_of_a_later_one() -> None:
    for number in LESSONS:
        case = CourseCase(number)
        assert max(case.rows) == number
        assert [other for other in case.lessons if other in ROWS] == list(ROWS)
        assert set(case.lessons) <= {*TECHNIQUES}


def test_a_row_never_goes_away_along_the_course() -> None:
    spine = [CourseCase(number).rows.keys() for number in ("00", "02", "07", "08", "09", "11")]
    assert all(one < other for one, other in combinations(spine, 2))


def test_a_title_says_what_the_figures_of_its_lesson_are() -> None:
    titles = {number: CourseCase(number).title for number in LESSONS}
    assert titles["06"] == "Mixed fp16: 11.2 GB instead of 22.0 GB, in 36.2 % less time (planned)"
    assert titles["07"] == "In place: 21.9 GB instead of 22.0 GB"
    assert titles["08"] == "Recompute: 6.42 GB instead of 22.0 GB, for 38.9 % more time"
    assert titles["09"] == "Offload: 3.85 GB instead of 22.0 GB, for 230 % more time"
    assert titles["11"] == "All together: 5.96 GB instead of 22.0 GB, in 26.8 % less time (planned)"
    assert titles["10"] == "Two halves: 11.2 GB instead of 22.0 GB, in about the same time"
    assert 0 <= row("10").extra < 0.05
    assert len({*titles.values()}) == len(LESSONS)
    assert row("06").extra < row("11").extra < 0 > row("04").extra  # "less time"
    assert "fp16" in hardware.find(MACHINE).flops
    assert row("03").peak == row("04").peak == row("02").peak  # "as before"


# -- at the size of a lesson -----------------------------------------------------------------------


@pytest.mark.measures
def test_every_technique_uses_what_was_planned_where_it_runs() -> None:
    small_runs = measured(tuple(TECHNIQUES))
    assert small_runs.held
    assert [each.lesson for each in small_runs.runs] == [
        lesson for lesson, each in TECHNIQUES.items() if each.runs
    ]
    results = {each.lesson: each.same for each in small_runs.runs}
    assert results == {each: TECHNIQUES[each].result == SAME for each in results}
    peaks = {each.lesson: each.measured for each in small_runs.runs}
    assert peaks["08"] < peaks["07"] < peaks["02"] < peaks["00"]


def test_a_run_that_needs_more_than_planned_is_told() -> None:
    small = SmallRun("07", 100, 108, 8, True)
    lines = SmallRuns("ResNet-14", (small,)).lines()
    assert lines[0].endswith("Not as planned:")
    assert "planned 100 B, measured 108 B" in lines[1]
