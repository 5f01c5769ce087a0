"""The lock sees what gives an open card away, wherever it stands; and nothing else."""

from dataclasses import replace
from fractions import Fraction

import pytest

from lessons import build
from memlab import views
from memlab.lesson.card_question import AnswerKind, Purpose, topics
from memlab.views import View
from tests.lessons import lock, numerals
from tests.lessons.small import TOPICS, VIEW, output
from tests.rows import every_row


def planted(text):
    return {"views.memory": output(text_plain=text)}


def drawn(svg):
    return {"views.memory": output(text_plain="VGG-16", image_svg__xml=f"<svg>{svg}</svg>")}


def test_the_small_lesson_is_locked(lesson):
    assert lock.locked(lesson()) == []


TEXTS = [
    ("a heading with the finding", "says '9 times'", "## How much does", "## 9 times"),
    ("an early sentence", "says 'nine times', its answer", "It took", "Nine times more. It took"),
    ("early code", "says '802816', its answer", "batch=64", "batch=802_816"),
    ("a phrase", "says 'each image alone', its 'gives'", "It took", "Each image alone. It took"),
    ("a formula, spaced", "says 'k²·Ho·Wo'", "It took", "`k**2 * Ho * Wo`. It took"),
    ("a formula in its own cell", "code of cell 07-small-09 says 'batch * channels'",
     "    print(units", "    size = batch*channels\n    print(units"),
    ("a sentence below", "07.copies: prose of cell 07-small-14 says '9 x'",
     '# %%\nlesson.change', "# %% [markdown]\n# It is 9 x as large.\n\n# %%\nlesson.change"),
    ("below, before the next card", "07.output: prose of cell 07-small-11 says '784 KiB'",
     "The next one", "That made 784 KiB. The next one"),
    ("GiB to 3 digits", "says '0.000748 GiB'", "It took", "It took 0.000748 GiB. It took"),
    ("9-fold", "07.copies: prose of cell 07-small-07 says '9-fold'", "It took", "9-fold. It took"),
    ("percent", "07.copies: prose of cell 07-small-07 says '900 %'", "It took", "900 %. It"),
    ("kB to 4 digits", "says '802.8 kB'", "It took", "It takes 802.8 kB. It took"),
]  # fmt: skip


@pytest.mark.table
@pytest.mark.parametrize("row", TEXTS, ids=lambda row: row[0])
def test_a_planted_leak_is_found(lesson, row):
    _, sentence, old, new = row
    leaks = lock.locked(lesson((old, new)))
    assert any(sentence in leak for leak in leaks), leaks


@every_row(
    "shown",
    [
        planted("peak 802,816 B"),
        planted("0.803 MB of them"),
        planted("784 KiB"),
        drawn("<text>802.8 kB</text>"),
        drawn("<title>a copy of 0.77 MiB</title>"),
        drawn('<g aria-label="802816 bytes"></g>'),
        drawn('<g data-bytes="802816"></g>'),
        drawn("<text>803</text><text>803 kB</text>"),
    ],
)
def test_a_planted_output_is_found(lesson, shown):
    leaks = lock.locked(lesson(learners=shown))
    assert any(leak.startswith("07.output: output of cell 07-small-01 says") for leak in leaks)


def test_what_is_answered_above_stands_above(lesson):
    reveal = {"output.guess": output(text_plain="Rows and columns: 9 x.")}
    leaks = lock.locked(lesson(solved=reveal))
    assert leaks == ["07.copies: output of cell 07-small-10 says '9 x', its answer"]


@every_row(
    ("old", "new"),
    [
        ("## Exercise", "## Exercise: 9 times 802,816 B, it is so"),
        ("Python's own objects.", "Each image alone: k²·Ho·Wo."),
        ("It took", "It holds 1,024 values, 9 images and 8,028,160 B. It took"),
        ("The next one", "It is so. The next one"),
    ],
)
def test_what_is_further_down_or_something_else_is_free(lesson, old, new):
    assert lock.locked(lesson((old, new))) == []


@pytest.mark.parametrize("name", ["07.sum", "07.twice"])
def test_a_choice_that_lists_nothing_fails(lesson, name):
    topics = TOPICS | {name: replace(TOPICS[name], gives=())}
    leaks = lock.locked(lesson(topics=topics))
    assert leaks == [f"{name}: it lists no 'gives', so nothing can be looked for"]


def test_a_name_in_code_is_read_by_its_words(lesson):
    code = ("def as_planned", "def each_image_alone")
    leaks = lock.locked(lesson(code))
    assert leaks == ["07.output: code of cell 07-small-09 says 'each image alone', its 'gives'"]


@every_row(
    ("stops", "leaks"),
    [
        (("1", "3", "9"), True),
        (("9", "12", "20"), True),
        (("1", "3", "8"), True),  # the last stop is the nearest
        (("1", "9", "12"), False),
        (("1", "3", "8", "20"), False),
    ],
)
def test_a_slider_that_ends_at_the_answer_is_found(lesson, stops, leaks):
    topics = TOPICS | {"07.copies": replace(TOPICS["07.copies"], stops=stops)}
    end = "9" if "9" in stops else stops[-1]
    expected = [f"07.copies: its slider ends at {end}, its answer"]
    assert lock.locked(lesson(topics=topics)) == expected * leaks


def test_a_change_that_asks_for_an_amount_is_found(lesson):
    asks = replace(TOPICS["07.output"], part=Purpose.CHANGE)
    leaks = lock.printed(asks)
    assert leaks == ["07.output: a change asks for an amount, which its view prints"]
    assert lock.printed(TOPICS["07.output"]) == []


# -- numbers ------------------------------------------------------------------------------------


@every_row(
    ("text", "value", "kind", "said"),
    [
        ("2.5 GB", 2_532_000_000, AnswerKind.AMOUNT, True),
        ("2.53 GB", 2_532_000_000, AnswerKind.AMOUNT, True),
        ("2.36 GiB", 2_532_000_000, AnswerKind.AMOUNT, True),
        ("2,532 MB", 2_532_000_000, AnswerKind.AMOUNT, True),
        ("2 GB", 2_100_000_000, AnswerKind.AMOUNT, False),
        ("2.6 GB", 2_532_000_000, AnswerKind.AMOUNT, False),
        ("16 B", 16, AnswerKind.AMOUNT, True),
        ("8 bytes", 8, AnswerKind.AMOUNT, True),
        ("16", 16, AnswerKind.AMOUNT, False),
        ("6422528", 6_422_528, AnswerKind.AMOUNT, True),
        ("2.25", Fraction(9, 4), AnswerKind.TIMES, True),
        ("2.4 times", Fraction(9, 4), AnswerKind.TIMES, False),
        ("2.2 times", Fraction(9, 4), AnswerKind.TIMES, True),
        ("1.1", Fraction(109, 100), AnswerKind.TIMES, False),
        ("9", 9, AnswerKind.TIMES, False),
        ("9 ×", 9, AnswerKind.TIMES, True),
        ("109 %", Fraction(109, 100), AnswerKind.TIMES, True),
        ("8.1 %", Fraction(1088, 1000), AnswerKind.TIMES, True),
        ("1.09 MB", Fraction(109, 100), AnswerKind.TIMES, False),
        ("49", 49, AnswerKind.COUNT, True),
        ("49 %", 49, AnswerKind.COUNT, False),
        ("7", 7, AnswerKind.COUNT, False),
    ],
)
def test_a_number_is_the_answer_or_not(text, value, kind, said):
    (numeral,) = numerals.find(text)
    assert lock.tells(numeral, Fraction(value), kind) is said


@every_row("text", ["Twice", "two times", "2-fold", "twofold", "double"])
def test_a_small_ratio_has_words(text):
    assert any(lock.holds(text, word) for word in lock.spelled(Fraction(2)))


# -- live views ---------------------------------------------------------------------------------

SHOWN = [
    ("one value of a control", 'views.memory("vgg16", batch=16, only=("optimizer",))\n',
     "07.output: 'Optimizer' at 'adagrad' of the view memory, in cell 07-small-01, says 'adagrad'"),
    ("the end of a slider", 'views.memory("vgg16", batch=16, only=("batch",))\n',
     "of the view memory, in cell 07-small-01, says 'batch 512'"),
    ("values of two controls", 'views.memory("vgg16", batch=16, only=("batch", "training"))\n',
     "when it opens, in cell 07-small-01, shows {'batch': 64, 'training': False}"),
    ("opens", 'views.memory("mnist_cnn", batch=4, networks=())\n',
     "when it opens, in cell 07-small-01, shows"),
    ("one setting", 'views.memory("vgg16", batch=128, networks=())\n', "shows {'batch': 128}"),
    ("a button", 'views.shifted_copies("mnist_cnn", "conv2")\n', "07.copies: the button"),
    ("the state before",
     'seen = views.memory("vgg16", batch=128, networks=())\nseen.batch = 64\nseen\n',
     "before its last change, in cell 07-small-01, shows {'batch': 128}"),
]  # fmt: skip


@pytest.mark.measures
@pytest.mark.parametrize("row", SHOWN, ids=lambda row: row[0])
def test_a_view_that_shows_the_answer_is_found(lesson, tmp_path, row):
    _, code, sentence = row
    output = TOPICS["07.output"]
    both = (*output.shows, {"batch": 64, "training": False})
    topics = TOPICS | {
        "07.copies": replace(TOPICS["07.copies"], shows=({"stride": 2},)),
        "07.output": replace(output, shows=both, gives=("adagrad", "batch 512")),
    }
    lesson_page = lesson((VIEW, code), topics=topics)
    leaks = lock.view_leaks(lesson_page, lock.views_of(stored(tmp_path)))
    assert any(sentence in leak for leak in leaks), leaks


@pytest.mark.measures
def test_a_button_above_a_change_that_gives_its_answer_is_found(lesson, tmp_path):
    twice = replace(TOPICS["07.twice"], shows=({"beside": "biggest"},))
    lesson_page = lesson((VIEW, 'views.addresses("toy")\n'), topics=TOPICS | {"07.twice": twice})
    leaks = lock.view_leaks(lesson_page, lock.views_of(stored(tmp_path)))
    told = [leak for leak in leaks if leak.startswith("07.twice: the button 'Surprising'")]
    assert told, leaks


@pytest.mark.measures
def test_the_views_of_the_small_lesson_are_locked(lesson, tmp_path):
    lesson_page = lesson()
    shown = lock.views_of(stored(tmp_path))
    assert [view.how for view in shown if view.how.endswith("opens")] == [
        "the view memory when it opens",
    ]
    assert lock.view_leaks(lesson_page, shown) == []


@pytest.mark.measures
def test_a_notebook_that_fails_is_not_taken_for_one_without_views(lesson, tmp_path):
    lesson((VIEW, "views.memory('nothing')\n"))
    with pytest.raises(AssertionError, match="unknown network 'nothing'"):
        lock.views_of(stored(tmp_path))


def test_a_label_of_a_control_is_read(lesson):
    view = lock.Shown("07-small-01", "the view memory", {}, "Batch\nKernel, 9 times")
    assert lock.view_leaks(lesson(), [view]) == [
        "07.copies: the view memory, in cell 07-small-01, says '9 times', its answer"
    ]


def stored(folder):
    """The views of the small lesson as a notebook; no other process knows its questions."""
    path = folder / "07_small.ipynb"
    notebook = build.notebook(folder / "source/07_small.py", solved=True)
    notebook.cells = [cell for cell in notebook.cells if "views." in cell.source]
    path.write_text(build.text_of(notebook))
    return path


def kinds(view=View):
    """Every live view; each is loaded where it is asked for."""
    assert all(hasattr(views, name) for name in views.__all__)
    return [view, *(subclass for kind in view.__subclasses__() for subclass in kinds(kind))]


@every_row("name", [name for name, topic in topics().items() if topic.shows])
def test_what_a_card_looks_for_are_settings_of_a_view(name):
    for settings in topics()[name].shows:
        assert any(settings.keys() <= view.settings.keys() for view in kinds()), settings


@pytest.mark.measures
def test_what_a_card_runs_is_seen_too():
    shown = lock.views_of(build.LESSONS / "solutions/03_lowering.ipynb")
    revealed = [view.how for view in shown if view.state.get("stride") == 2]
    assert "the view shifted_copies when it opens" in revealed
    assert all("of the view shifted_copies" in how for how in revealed[1:])
