"""A card: locked guess, diagnosis, revision, answer, retry, and what it says at each of them."""

import re
import sys
from fractions import Fraction
from itertools import count
from types import SimpleNamespace

import pytest

from memlab import lesson, strings
from memlab.errors import InputError
from memlab.lesson import notebook_cells, progress, sentences
from memlab.lesson.card import Card
from memlab.lesson.card_question import AnswerKind, Purpose, Question, RevealBar, Truth, topics
from memlab.lesson.content.shared_truths import known
from memlab.lesson.misconceptions import Mistake
from memlab.lesson.notebook_cells import Cell
from tests.rows import every_row

TEXTS = {
    "ask.09.own.question": "How many bytes, of {n}?",
    "ask.09.own.seen": "It is {n} of 32.",
    "ask.09.own.far": "Count again. There are 6,400,000 of them.",
    "ask.09.own.finding": "Every one of the **{n}** has its own.\n\nSo `n` counts.",
    "ask.09.own.option.one": "One map.",
    "ask.09.own.option.all": "All maps.",
    "ask.09.own.option.none": "None.",
    "ask.09.own.wrong.one": "Who else is read later?",
    "ask.09.own.wrong.none": "Is nothing read later?",
    "cause.one_image": "one image? The batch has {batch}.",
    "cause.doubled": "was it doubled? It stays as it is.",
    "cause.other": "values for bytes? Each has its own width.",
}
HANDLE = r'lesson\.predict\("09\.own"\)'
TRUTH = Fraction(6_400_000)
CAUSES = (
    Mistake("one_image", TRUTH / 32, {"batch": 32}),
    Mistake("doubled", TRUTH * 2),
    Mistake("other", TRUTH / 4),
)


@pytest.fixture(autouse=True)
def texts(monkeypatch):
    """The texts of the card that these tests ask."""
    for key, text in TEXTS.items():
        monkeypatch.setitem(strings.table(), key, text)


@pytest.fixture
def asked():
    """The numbers on which a truth was looked for."""
    return []


@pytest.fixture
def ask(asked):
    """`ask(kind, value)` makes a card; its truth is not found the first few times."""

    def made(
        kind=AnswerKind.AMOUNT,
        value=TRUTH,
        fails=0,
        draw=lambda chance: {"n": 7},
        causes=CAUSES,
        **more,
    ):
        def truth(numbers):
            asked.append(dict(numbers))
            if len(asked) <= fails:
                raise InputError("needs 5 GB, free are 2 GB.")
            if isinstance(value, str):
                return Truth(value)
            return Truth(value, (RevealBar("planned", value),), causes)

        return Card(Question("09.own", kind, {"n": 5}, draw, truth, **more))

    return made


@pytest.fixture
def card(ask):
    return ask()


@pytest.fixture
def choice(ask):
    return ask(AnswerKind.CHOICE, "all", options=("one", "all", "none"))


@pytest.fixture
def kept(progress_file):
    """The turns of the card in the progress file."""
    return lambda: progress.read(progress_file)["cards"].get("09.own", [])


# -- the guess ----------------------------------------------------------------------------------


def test_a_right_guess_is_revealed_at_once(card, asked):
    text = card.guess("6.4 MB").text()
    assert card.now.state == "revealed"
    assert "Exactly right." in text
    assert "It is 5 of 32." in text
    assert asked == [{"n": 5}]


def test_a_wrong_guess_is_diagnosed_alone(card):
    assert card.guess("0.2 MB").now.state == "diagnosed"
    assert card.text().splitlines() == [
        "Predict. How many bytes, of 5?",
        "your guess  0.2 MB",
        "Too small. one image?",
        'Change it once with lesson.predict("09.own").revise(...), or run '
        'lesson.predict("09.own").reveal() for the answer.',
    ]


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("0.2 MB", "Too small. one image?"),  # "The batch has 32." is the factor
        ("12.8 MB", "Too large."),  # "was it doubled?" is the factor itself
        ("1.6 MB", "Too small. values for bytes? Each has its own width."),
        ("5.7 MB", "Too small. Count again."),
        ("999 GB", "Too large. Count again."),
        ("0 B", "Too small. Count again."),
    ],
)
def test_no_diagnosis_gives_the_answer_or_the_factor_away(card, given, hint):
    assert sentences.hint(card.guess(given).now) == hint
    shown = card.text()
    assert not [leak for leak in ("6.4", "6,4", "32", "close", "5 %", "of 32") if leak in shown]


def test_a_close_count_is_wrong_and_not_called_close_before_the_answer(ask):
    card = ask(counted=True).guess("6.3 MB")  # nor the answer
    assert sentences.hint(card.now) == "Too small. Count again."
    assert not [leak for leak in ("6.4", "close", "10 %") if leak in card.text()]
    said = "Your guess is close, but this is a count: only the exact number is right."
    assert said in card.reveal().text()


@pytest.mark.table
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("6.4 MB", "Exactly right."),
        ("6,400,001 B", "Right: your guess is within 10 % of the answer."),
        ("6.43 MB", "Right: your guess is within 10 % of the answer."),
        ("6 MB", "Right: your guess is within 10 % of the answer."),
        ("5.76 MB", "Right: your guess is within 10 % of the answer."),
        ("5.75 MB", "1.11 times too small"),
        ("6.1 MB", "The number is right in MiB. You wrote 6.1 MB:"),
        ("2 MB", "3.2 times too small"),
        ("1 GB", "156 times too large"),
    ],
)
def test_a_guess_is_told_how_near_it_is(ask, given, said):
    card = ask(causes=()).guess(given)
    assert said in (card if card.revealed else card.reveal()).text()


def test_a_guess_that_is_right_to_its_digits_says_so(ask):
    text = ask(value=Fraction(6_422_528)).guess("6.4 MB").text()
    assert "Right, rounded to the digits that you typed." in text


@pytest.mark.parametrize(
    ("given", "truth", "cause", "said"),
    [
        ("2", Fraction(505, 100), Fraction(1942, 1000), "2.5 times too small. "),  # not 2.6
        ("1.94", Fraction(505, 100), Fraction(1942, 1000), "2.6 times too small. "),
        ("4", Fraction(8), Fraction(4), "Exactly 2 times too small. "),
        ("8.04", Fraction(4), Fraction(8), "2.0 times too large. "),  # not exactly
        ("3.1", Fraction(280, 100), Fraction(310, 100), "1.11 times too large. "),
    ],
)
def test_how_far_off_a_guess_is_follows_from_what_was_typed(ask, given, truth, cause, said):
    card = ask(AnswerKind.TIMES, truth, causes=(Mistake("doubled", cause),)).guess(given)
    assert said in card.reveal().text()


SAID = {
    "en": (
        *("It has two.", "It is twice that.", "Each one doubles.", "It is doubling.", "A half."),
        *("It halves.", "They were halved.", "Only halves.", "It is twofold.", "A two-fold one."),
        *("50 % of it.", "It is 2-fold.", "1/2 of it."),
    ),
    "zh": ("有两个。", "是二倍。", "双倍。", "一半。", "它翻倍。", "加倍了。", "50 %。", "2倍。"),
}
"""Ways to say 2, in every language of the texts."""
ELSE = {
    3: ("It triples.", "A third of it.", "Threefold.", "三分之一。", "三倍。"),
    4: ("It quadruples.", "Quadrupled.", "A quarter.", "四分之一。"),
    9: ("Nine of them.", "Ninefold.", "A ninth.", "九倍。"),
    16: ("Sixteen times.", "Sixteenfold.", "十六倍。"),
    128: ("128 of them.", "一百二十八幅。"),
}


@pytest.mark.table
@pytest.mark.parametrize(
    ("factor", "said"),
    [(2, said) for name in strings.languages() for said in SAID[name]]
    + [(factor, said) for factor, all in ELSE.items() for said in all],
)
def test_a_sentence_that_says_the_factor_is_left_out(ask, monkeypatch, factor, said):
    monkeypatch.setitem(strings.table(), "cause.doubled", said)
    card = ask(causes=(Mistake("doubled", TRUTH * factor),)).guess(f"{TRUTH * factor} B")
    assert sentences.hint(card.now) == "Too large."
    other = ask(causes=(Mistake("doubled", TRUTH * 7),)).guess(f"{TRUTH * 7} B")
    assert sentences.hint(other.now) == f"Too large. {said}"


@pytest.mark.parametrize("said", ["One image?", "再加一幅图像的梯度。", "它增加。"])
def test_a_sentence_without_a_factor_stays(ask, monkeypatch, said):
    monkeypatch.setitem(strings.table(), "cause.doubled", said)
    assert sentences.hint(ask().guess("12.8 MB").now) == f"Too large. {said}"


def test_an_address_is_neither_too_small_nor_too_large(ask):
    assert (
        sentences.hint(ask(near=False).guess("1 B").now)
        == "The answer is another one. Count again."
    )


def test_a_guess_is_locked_and_stays(card):
    card.guess("0.2 MB")
    with pytest.raises(InputError, match=rf"locked. Change it once with {HANDLE}\.revise"):
        card.guess("6.4 MB")
    card.reveal()
    with pytest.raises(InputError, match="locked"):
        card.guess("6.4 MB")
    assert card.rounds[0].typed == "0.2 MB"
    assert card.bytes == 200_000
    assert "Exactly 32 times too small. one image? The batch has 32." in card.text()
    card.retry().guess("1 B").reveal()
    assert card.bytes == 200_000
    assert "your guess was 0.2 MB, the answer 6,400,000 B" in card.text()


def test_nothing_is_computed_before_the_guess(card, asked):
    assert card.text()
    card.skip()
    assert asked == []


def test_the_same_guess_twice_is_one(card, asked, kept):
    for _ in range(2):
        assert card.guess("0.2 MB", because="so").reveal() is card
    assert len(card.rounds) == len(asked) == len(kept()) == 1


@pytest.mark.parametrize("again", ["0.20 MB", "200 kB", "200,000 B", "0,2 MB"])
def test_a_number_that_is_written_otherwise_is_the_same_guess(card, again):
    card.guess("0.2 MB")
    assert card.guess(again).now.typed == "0.2 MB"
    with pytest.raises(InputError, match="is the locked guess itself"):
        card.revise(again)
    card.revise("0.3 MB")
    assert card.revise("300 kB").now.retyped == "0.3 MB"


def test_a_guess_whose_truth_cannot_be_found_stays_locked(ask, asked):
    card = ask(fails=1)
    with pytest.raises(InputError, match="needs 5 GB"):
        card.guess("0.2 MB", because="so")
    assert (card.now.state, card.now.typed, card.now.because) == ("locked", "0.2 MB", "so")
    with pytest.raises(InputError, match=rf"locked. Run {HANDLE}\.reveal"):
        card.guess("1 MB")
    with pytest.raises(InputError, match=rf"Run {HANDLE}\.reveal"):
        card.revise("1 MB")
    assert card.guess("0.2 MB").now.state == "diagnosed"  # the cell runs again
    assert len(asked) == 2


def test_a_bad_guess_changes_nothing(card, asked):
    with pytest.raises(InputError, match="is no amount of memory"):
        card.guess("6.4")
    assert card.now.open
    assert asked == []


# -- the revision -------------------------------------------------------------------------------


def test_a_revision_shows_the_answer_beside_both_guesses(card):
    text = card.guess("0.2 MB").revise("6.4 MB").text()
    assert card.now.state == "revealed"
    assert [line.split("  ")[0] for line in text.splitlines()[1:4]] == [
        *("your guess", "your revision", "planned")
    ]
    assert "Exactly 32 times too small. one image? The batch has 32." in text
    assert "Your revision: Exactly right." in text
    assert card.bytes == 200_000


def test_there_is_one_revision(card, asked):
    card.guess("0.2 MB").revise("1 MB")
    with pytest.raises(InputError, match="A guess can be revised once"):
        card.revise("6.4 MB")
    assert card.revise("1 MB").now.retyped == "1 MB"  # the cell runs again
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda card: card, "Answer the question first"),
        (
            lambda card: card.skip(),
            rf"Skipped, without a guess. Run {HANDLE}\.reveal",
        ),
        (lambda card: card.skip().reveal(), "revised once, before the answer"),
        (lambda card: card.guess("6.4 MB"), "revised once, before the answer"),
        (lambda card: card.guess("1 MB").reveal(), "revised once, before the answer"),
        (lambda card: card.guess("2 MB"), "2 MB is the locked guess itself"),
    ],
)
def test_a_revision_comes_between_diagnosis_and_answer(card, prepare, said):
    prepare(card)
    state = card.now.state
    with pytest.raises(InputError, match=said):
        card.revise("2 MB")
    assert (card.now.state, card.now.retyped) == (state, "")


def test_a_bad_revision_changes_nothing(card):
    with pytest.raises(InputError, match="is no amount of memory"):
        card.guess("0.2 MB").revise("6.4")
    assert card.now.state == "diagnosed"


def test_a_guess_after_a_skip_is_told_how_to_go_on(card):
    with pytest.raises(InputError, match=rf"Skipped, without a guess. Run {HANDLE}\.reveal"):
        card.skip().guess("1 MB")


# -- the reason ---------------------------------------------------------------------------------


def test_a_reason_is_shown_and_kept(card, kept):
    card.guess("0.2 MB", because="  one map,\nnot more ").revise("1 MB")
    assert "because        one map, not more" in card.text()
    (turn,) = kept()
    del turn["at"]
    assert turn == {
        "guess": "0.2 MB",
        "right": False,
        "because": "one map, not more",
        "revision": "1 MB",
        "revision_right": False,
        "shown": True,
    }


def test_a_reason_is_kept_although_the_answer_is_never_shown(card, kept):
    card.guess("0.2 MB", because="one map")
    assert [turn["because"] for turn in kept()] == ["one map"]


@pytest.mark.parametrize("reason", [3, None, "x" * 500, b"so"])
def test_a_reason_is_a_short_text(card, reason):
    with pytest.raises(InputError, match="A reason is a text of at most 400"):
        card.guess("0.2 MB", because=reason)
    assert card.now.open


@pytest.mark.parametrize("part", [Purpose.RECALL, Purpose.CHANGE])
def test_other_questions_take_no_reason(ask, part):
    with pytest.raises(InputError, match=f"a question for lesson.{part}"):
        ask(part=part).guess("0.2 MB", because="so")


# -- the answer ---------------------------------------------------------------------------------


def test_a_finding_is_said_with_the_answer_and_once(card):
    assert "has its own" not in card.guess("0.2 MB").text()
    said = card.reveal().text()
    assert "Every one of the 5 has its own.\nSo 'n' counts." in said
    assert "has its own" not in card.retry().guess("6.4 MB").text()


def test_a_reveal_without_a_guess_asks_for_one(card, kept):
    with pytest.raises(InputError, match=rf"Answer .* first, or run {HANDLE}\.skip\(\)"):
        card.reveal()
    assert card.skip().reveal().now.verdict is None
    assert "your guess  none" in card.text()
    assert [(turn["guess"], turn["right"]) for turn in kept()] == [("", None)]


def test_skip_takes_nothing_back(card):
    card.guess("1 MB").skip()
    assert not card.now.skipped


def test_progress_is_kept_although_a_picture_fails(card, kept):
    card.watch(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        card.guess("0.2 MB")
    assert [(turn["guess"], turn["right"]) for turn in kept()] == [("0.2 MB", False)]


def test_who_watches_is_told_of_every_change(card):
    told = []
    card.watch(lambda: told.append(card.now.state))
    card.guess("1 MB").reveal().retry().guess("6.4 MB")
    assert told == ["diagnosed", "revealed", "open", "revealed"]


def test_a_ratio_of_0_is_said_plainly(ask):
    assert (
        "Either your guess or the answer is 0."
        in ask(AnswerKind.TIMES, Fraction(0)).guess(2).reveal().text()
    )


def test_a_right_guess_in_the_other_unit_gets_a_note(card):
    assert "The number is right in MiB. You wrote 6.10 MB" in card.guess("6.10 MB").text()


# -- other numbers ------------------------------------------------------------------------------


def test_a_retry_comes_after_the_answer(card):
    with pytest.raises(InputError, match="Answer the question"):
        card.retry()
    card.guess("1 MB")
    with pytest.raises(InputError, match="locked"):
        card.retry()
    card.reveal().retry()
    assert card.now.open
    assert card.now.numbers != card.rounds[0].numbers


def pressed(card, name, *given):
    """Call a method of the card as a button does."""
    card.pressing = True
    getattr(card, name)(*given)
    card.pressing = False


OLD = [
    (("guess", "1 MB"), ("revise", "2 MB")),
    (("guess", "1 MB"), ("reveal",)),
    (("guess", "6.4 MB"),),
    (("skip",), ("reveal",)),
]


@pytest.mark.parametrize("calls", OLD)
def test_cells_of_an_asking_before_change_nothing_when_they_run_again(card, calls):
    def run():
        for name, *given in calls:
            getattr(card, name)(*given)

    run()
    pressed(card, "retry")
    run()
    assert card.now.open
    pressed(card, "guess", "3 MB")
    run()
    assert (card.now.typed, card.now.retyped) == ("3 MB", "")


@pytest.mark.parametrize("calls", OLD)
def test_an_old_cell_does_not_answer_what_another_cell_asks(card, calls, monkeypatch):
    """The name of the cell that runs comes with its code, and the number of its run."""
    runs = count(1)

    def run(cell, *lines):
        now = Cell(cell, next(runs))
        monkeypatch.setattr(notebook_cells, "running", lambda: now)
        for name, *given in lines:
            getattr(card, name)(*given)

    run("old", *calls)
    run("asks", ("retry",))
    run("old", *calls)
    assert card.now.open
    run("new", *calls)
    assert not card.now.open
    run("reveals", ("reveal",))
    run("both", ("retry",), *calls)  # it answers what it has asked itself
    assert not card.now.open
    assert len(card.rounds) == 3


@pytest.mark.parametrize(
    ("parent", "name"),
    [({"metadata": {"cellId": "a"}}, "a"), ({"metadata": {}}, None), ({}, None), (None, None)],
)
def test_a_cell_is_known_where_the_notebook_tells_its_name(monkeypatch, parent, name):
    shell = SimpleNamespace(execution_count=7)
    if parent is not None:
        shell.get_parent = lambda: parent
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert notebook_cells.running() == (None if name is None else Cell(name, 7))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert notebook_cells.running() is None


def test_a_cell_that_is_new_answers_what_a_button_asks(card):
    card.guess("1 MB").revise("2 MB")
    pressed(card, "retry")
    assert card.guess("3 MB").revise("2 MB").now.retyped == "2 MB"


def test_what_was_guessed_before_may_be_guessed_again(card):
    card.guess("1 MB").revise("2 MB").retry().guess("1 MB")
    assert card.now.state == "diagnosed"
    card.reveal()
    pressed(card, "retry")
    pressed(card, "guess", "1 MB")
    assert card.now.state == "diagnosed"


def test_a_question_of_one_set_of_numbers_has_no_retry(ask):
    card = ask(draw=None).guess("6.4 MB")
    assert "retry" not in card.text()
    with pytest.raises(InputError, match="one set of numbers"):
        card.retry()


@pytest.mark.measures
def test_every_retry_has_numbers_of_its_own(monkeypatch):
    monkeypatch.setenv("MEMLAB_SEED", "5")
    one, other = (Card(topics()[name]) for name in ("02.resnet", "02.halve"))
    for card in (one, other):
        for _ in range(4):
            card.skip().reveal().retry()
        numbers = [dict(turn.numbers) for turn in card.rounds]
        assert all(numbers.count(number) == 1 for number in numbers)
    drawn = [[dict(turn.numbers) for turn in card.rounds[1:]] for card in (one, other)]
    assert drawn[0] != drawn[1]


# -- kinds and parts ----------------------------------------------------------------------------


def test_a_choice_says_what_a_wrong_option_shows_and_not_the_right_one(choice):
    with pytest.raises(InputError, match="unknown option 'al'; did you mean 'all'"):
        choice.guess("al")
    with pytest.raises(InputError, match="a guess is one of"):
        choice.guess(2)
    text = choice.guess("one").text()
    assert "This is not the answer. Who else is read later?" in text
    assert "right answer" not in text
    text = choice.revise("none").text()
    assert "Your revision: Is nothing read later?" in text
    assert "right answer   All maps" in text
    assert (choice.bytes, choice.option) == (None, "one")


@pytest.mark.parametrize(
    "given", ["all", "ALL", " all ", "'all'", "All maps.", "all maps", "All maps。"]
)
def test_an_option_is_also_named_by_its_text(choice, given):
    assert choice.guess(given).now.verdict.right


def test_a_ratio_is_no_amount_for_a_chart(ask):
    assert ask(AnswerKind.TIMES, Fraction(2)).guess(2).bytes is None
    assert ask().option is None


@every_row(
    ("given", "says"),
    [
        (7, "Too small. "),
        ("1,024", "Too large. "),
        (50, "Your guess is close, but this is a count: only the exact number is right."),
        (98, "Too large. was it doubled? It stays as it is."),
    ],
)
def test_a_count_has_no_unit_and_says_on_which_side_a_guess_is(ask, given, says):
    causes = (Mistake("doubled", Fraction(98)),)
    shown = ask(AnswerKind.COUNT, Fraction(49), causes=causes).guess(given).reveal()
    assert says in shown.text()
    assert not re.search(r"\d x\b|\bx |times|factor", shown.text())
    assert (sentences.truth_text(shown.now), shown.bytes) == ("49", None)


@pytest.mark.parametrize("given", [49, "49", "7·7", 49.0])
def test_a_count_is_right_if_it_is_exact(ask, given):
    shown = ask(AnswerKind.COUNT, Fraction(49)).guess(given)
    assert shown.now.verdict.right
    assert "Exactly right." in shown.text()


@pytest.mark.parametrize("given", ["49 x", "2.5", "1/3", "49 B", "", True])
def test_a_count_is_a_whole_number(ask, given):
    with pytest.raises(InputError, match="is no whole number; give one such as 7 or 1,024"):
        ask(AnswerKind.COUNT, Fraction(49)).guess(given)


@pytest.mark.parametrize(("part", "lead"), [("recall", "Recall."), ("change", "Change it.")])
def test_each_part_has_its_heading_and_is_answered_in_one_cell(ask, part, lead):
    card = ask(part=Purpose(part))
    assert card.text().startswith(f"{lead} How many bytes")
    assert f'lesson.{part}("09.own").guess("2.5 GB")' in card.text()
    assert f'lesson.{part}("09.own").revise(...)' in card.guess("1 MB").text()


def test_a_notion_is_known_and_not_computed():
    truth = known("all")({})
    assert (truth.value, truth.figures) == ("all", ())


def test_a_cell_that_runs_again_keeps_the_guess():
    first = lesson.predict("02.halve")
    assert lesson.predict("02.halve") is first
    assert lesson.predict("02.resnet") is not first


def test_a_question_is_asked_by_its_own_function():
    for call in (lesson.recall, lesson.change):
        with pytest.raises(
            InputError, match=r"no question for .*; try lesson\.predict\('02\.halve'\)"
        ):
            call("02.halve")


# -- what follows -------------------------------------------------------------------------------


def makes(value):
    def show():
        return value

    return show


def test_a_function_of_the_same_name_takes_the_place_of_the_one_before(card):
    first = makes(1)
    assert card.then(first) is first
    card.then(makes(2))
    assert [(name, function()) for name, function in card.follows.items()] == [("show", 2)]


@pytest.mark.parametrize("given", [None, 3, "show"])
def test_what_follows_is_a_function(card, given):
    with pytest.raises(InputError, match="then takes a function"):
        card.then(given)
    assert card.follows == {}


def test_a_thought_about_both_guesses_is_said_once(ask):
    card = ask().guess("1 B").revise("3 B")
    first, second = sentences.corrections(card.now)
    assert first.endswith("Count again. There are 6,400,000 of them.")
    assert second == "Your revision: 2,133,333 times too small."
