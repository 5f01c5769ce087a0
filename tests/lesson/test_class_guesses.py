"""Guesses of a class are counted as they were meant, and the rows do not give the truth away."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.errors import InputError
from memlab.lesson.card_question import AnswerKind, Question, Truth, topics
from memlab.lesson.class_guesses import share
from memlab.lesson.misconceptions import Mistake
from memlab.lesson.number_ranges import ROWS, ranges_of
from memlab.lesson.pasted_guesses import read

OPTIONS = {"same": "It stays the same.", "more": "It grows, by 2 or more.", "less": "It shrinks."}


def question(kind, truth, **more):
    """A question of an instructor's own, whose truth is known."""
    texts = {"question": "How much?", "cause.forgot": "Did you forget the batch?"}
    texts |= {f"option.{name}": text for name, text in OPTIONS.items()}
    causes = (Mistake("forgot", Fraction(3)),)
    return Question("own.q", kind, {}, None, lambda n: Truth(truth, causes=causes), texts=texts,
                    variable="q", **more)  # fmt: skip


TIMES = question(AnswerKind.TIMES, Fraction(9))
BYTES = question(AnswerKind.AMOUNT, Fraction(6_422_528))
CHOICE = question(AnswerKind.CHOICE, "less", options=tuple(OPTIONS))


def told(guesses, truth=None):
    return {row.label: tuple(tally.guesses for tally in row.counts) for row in guesses.rows(truth)}


def numbers(guesses):
    return [guess.value for guess in guesses.series[0]]


# -- what was typed -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("9\n3\n\n 27 ", [9, 3, 27]),
        ("9, 3; 27 2.25", [9, 3, 27, "9/4"]),
        ("9,3,27", [9, 3, 27]),
        ("2,5", ["5/2"]),
        ("1,024", [1024]),
        ("9 100", [9, 100]),
        ("9 times, a third", [9, "1/3"]),
        ("1 and a half", ["3/2"]),
        ("9\u30013\uff1b27", [9, 3, 27]),
    ],
)
def test_factors_stand_on_lines_or_in_a_row(text, values):
    guesses = read(TIMES, text)
    assert numbers(guesses) == list(map(Fraction, values))
    assert guesses.unread == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("same\nIt shrinks.\nLESS", ["same", "less", "less"]),
        ("A B b\nc", ["same", "more", "more", "less"]),
        ("A: 2\nB = 1\nless\t1\nsame 0", ["same", "same", "more", "less"]),
        ("It grows, by 2 or more.", ["more"]),
        ("A: 1, C: 2", ["same", "less", "less"]),
    ],
)
def test_options_are_named_lettered_or_counted(text, names):
    guesses = read(CHOICE, text)
    assert (list(guesses.series[0]), guesses.unread) == (names, ())


def test_amounts_need_a_unit_and_what_is_none_is_told():
    guesses = read(BYTES, "6.4 MB, 6,422,528 B\n9\nno idea")
    assert numbers(guesses) == [6_400_000, 6_422_528]
    assert guesses.unread == ("9", "no idea")
    assert "2 could not be read" in guesses.told()[-1]


def test_a_book_is_no_list_of_guesses():
    with pytest.raises(InputError, match=r"have 20,001 characters; give at most 20,000"):
        read(TIMES, "9" * 20_001)


# -- rows ---------------------------------------------------------------------------------------


def test_few_factors_have_a_row_each_and_the_truth_gets_one():
    guesses = read(TIMES, "3 3 27", "3 9 9.2")
    assert told(guesses) == {"3 x": (2, 1), "9 x": (0, 1), "9.2 x": (0, 1), "27 x": (1, 0)}
    early = read(TIMES, "3 3 27")
    assert list(told(early)) == ["3 x", "27 x"]
    rows = early.rows(TIMES.truth({}))
    assert [(row.label, row.truth) for row in rows] == [
        ("3 x", False), ("9 x", True), ("27 x", False)
    ]  # fmt: skip


def test_options_keep_their_order_and_right_ones_are_counted_with_the_truth_alone():
    guesses = read(CHOICE, "A A C")
    assert told(guesses) == {"It stays the same.": (2,), OPTIONS["more"]: (0,), "It shrinks.": (1,)}
    assert not any(tally.right or row.truth for row in guesses.rows() for tally in row.counts)
    assert [row.counts[0].right for row in guesses.rows(CHOICE.truth({}))] == [0, 0, 1]


AMOUNTS = st.lists(st.integers(0, 10**15) | st.integers(10**6, 10**7), max_size=60)


@given(AMOUNTS)
def test_every_amount_has_one_row(values):
    rows = ranges_of(list(map(Fraction, values)), AnswerKind.AMOUNT)
    guesses = read(BYTES, "\n".join(f"{value} B" for value in values))
    assert sum(row.counts[0].guesses for row in guesses.rows()) == len(values)
    assert len(rows) <= ROWS + 3  # 0, what is smaller, what is larger


@given(AMOUNTS, st.integers(0, 10**15))
def test_the_truth_has_one_row_and_changes_no_other(values, truth):
    guesses = read(BYTES, "\n".join(f"{value} B" for value in values))
    rows = guesses.rows(Truth(Fraction(truth)))
    assert sum(row.truth for row in rows) == 1
    counted = [(row.label, row.counts[0].guesses) for row in rows]
    hidden = [(row.label, row.counts[0].guesses) for row in guesses.rows()]
    assert [row for row in counted if row in hidden or row[1]] == hidden


def test_ranges_are_as_fine_as_the_guesses_need():
    def labels(text):
        return list(told(read(BYTES, text)))

    assert labels("1.1 MB\n1.4 MB\n1.6 MB") == [
        "1 MB to under 1.2 MB", "1.2 MB to under 1.5 MB", "1.5 MB to under 2 MB"
    ]  # fmt: skip
    assert labels("999 kB\n90 MB")[::6] == ["500 kB to under 1 MB", "50 MB to under 100 MB"]
    assert labels("1 B\n1 GB")[:2] == ["1 B to under 10 B", "10 B to under 100 B"]


def test_one_joke_of_many_does_not_widen_the_ranges():
    rows = told(read(BYTES, "6 MB\n" * 10 + "7 MB\n" * 10 + "900 TB"))
    assert rows == {
        "6 MB to under 8 MB": (20,), "8 MB or more": (1,)
    }  # fmt: skip


# -- what is said -------------------------------------------------------------------------------


def test_the_truth_is_told_with_who_was_right_and_the_common_mistake():
    guesses = read(TIMES, "9 3 3 27", "9 9 3")
    assert guesses.told() == ["4 guesses, 3 answers after that."]
    answer, mistake = guesses.told(TIMES.truth({}))
    assert answer == "Answer: 9 x. 1 of 4 (25 %) guessed it, and 2 of 3 (67 %) had it after that."
    assert mistake == (
        "Most common wrong guess: 3 x (2). Exactly 3 times too small. Did you forget the batch?"
    )
    assert read(TIMES, "9 3 27").common_mistake(TIMES.truth({})) is None


def test_no_guess_is_no_error():
    empty = read(TIMES, " \n")
    assert empty.rows() == []
    assert [row.truth for row in empty.rows(TIMES.truth({}))] == [True]
    assert "0 of 0 (0 %)" in empty.told(TIMES.truth({}))[0]


@pytest.mark.parametrize("name", ["02.output", "03.stride", "03.kernels", "07.waiting"])
def test_the_answers_of_lessons_are_counted(name):
    topic = topics()[name]
    text = {AnswerKind.AMOUNT: "1 MB", AnswerKind.TIMES: "2", AnswerKind.COUNT: "2"}
    guesses = read(topic, text.get(topic.kind, topic.options[0] if topic.options else ""))
    assert sum(row.counts[0].guesses for row in guesses.rows()) == 1
    assert guesses.question
    assert share(1, 3) == "33 %"
