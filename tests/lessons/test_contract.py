"""Every lesson keeps the contract, and the contract sees a lesson that does not."""

from fractions import Fraction
from functools import cache

import pytest

from lessons import build
from tests.lessons import form, numerals
from tests.lessons.contract import MEASURING, RULES
from tests.lessons.parts import read
from tests.lessons.small import QUESTION, SHOWN, SVG, VIEW, output
from tests.lessons.structure import words
from tests.quick import apart
from tests.rows import every_row

SOURCES = sorted((build.LESSONS / "source").glob("[0-9][0-9]_*.py"))
stored_lesson = cache(read)
NAMES = {rule.__name__ for rule in RULES}


def named(value):
    return getattr(value, "stem", None) or getattr(value, "__name__", None)


@pytest.mark.table
@pytest.mark.parametrize("rule", apart(RULES, MEASURING.__contains__), ids=named)
@pytest.mark.parametrize("source", SOURCES, ids=named)
def test_a_lesson_keeps_the_contract(source, rule):
    assert rule(stored_lesson(source)) == []


# -- and the small lesson of small.py ---------------------------------------------------------


def broken(lesson):
    return {rule.__name__: faults for rule in RULES if (faults := rule(lesson))}


def test_the_small_lesson_keeps_it(lesson):
    assert broken(lesson()) == {}


# -- and what breaks it -------------------------------------------------------------------------

LONG = "largest.check(largest_batch)\n" + ("\n# %%\n" + "x\n" * 5) * 20
TWICE = '# %% tags=["numbers"]\n{"26M": "25.6 * 10**6"}\n\n# %%\noutput ='
THIRD = "\n\n@output.then\ndef more():\n    pass\n\n\n@output.then\ndef most():\n    pass\n"
CHANGE = 'lesson.change("07.twice")\n\n# %% tags=["solution"]\n'
CHANGE += 'lesson.change("07.twice").guess("yes").reveal()'
CASE = 'lesson.predict("07.case")'
THEN = "@output.then\ndef as_planned():\n    print(units.both(memlab.zoo.resnet50().parameters))\n"
PLANTED = [
    ("title", "no '# 07 Title: question?'", "# 07 A", "# 08 A"),
    ("title", "no '# 07 Title: question?'", "hold?", "hold"),
    ("preparation", "no paragraph 'N minutes. Needs: ... .'", "40 minutes. Needs", "Needs"),
    (
        "preparation",
        "the first lesson alone says how to begin",
        "Needs: [00 Start](00_start.ipynb), [01 One linear layer](01_linear.ipynb).",
        "Click a cell and press **Shift+Enter** to run it. Guess first.",
    ),
    ("preparation", "'Python' is no link", "[00 Start](00_start.ipynb)", "Python"),
    ("preparation", "is no link to an earlier", "[00 Start](00_start", "[00 Start](01_start"),
    ("preparation", "no link to an earlier lesson", "[01 One linear layer](01_", "[08 On](08_"),
    ("long_enough", "minutes, not 20", "40 minutes", "20 minutes"),
    ("long_enough", "46 minutes are over 45", "40 minutes", "46 minutes"),
    ("long_enough", "minutes, not 40", "Python's own objects.", "A word. " * 1000),
    ("objectives", "'You will be able to'", "You will be able to", "You will learn"),
    ("objectives", "no list follows", "# - say when they are free again.\n", ""),
    ("glossary_words", "no paragraph 'Words: ", "# Words: [peak](glossary.md),\n# ", "# "),
    ("glossary_words", "'summit' is no term", "[peak](glossary.md)", "[summit](glossary.md)"),
    ("glossary_words", "no paragraph 'Words: ", "[peak](glossary.md)", "peak"),
    ("blocks", "'What?' has no card", "## How", "## What?\n#\n# Text.\n#\n# ## How"),
    ("blocks", "'It takes 4' is no question", "How much does one output take?", "It takes 4"),
    ("blocks", "4 blocks", "## Exercise", "## A?\n#\n# ## B?\n#\n# ## C?\n#\n# ## Exercise"),
    ("blocks", "0 blocks", "## How much does one", "## Appendix: more"),
    ("limits", "leaves out'", "## What this plan leaves out", "## Appendix: limits"),
    ("limits", "leaves out'", "# Python's own objects.\n#\n# Sources: A4.", "#"),
    ("key_points", "the last section is no 'Key points'", "## Key points", "## Appendix: points"),
    ("key_points", "'Key points' with a list", "# - A MB is a unit.", "# A MB is a unit."),
    (
        "onward",
        "do not end with 'Next",
        "# Next: [08 Recompute](08_recompute.ipynb). What is made again?\n",
        "#\n",
    ),
    (
        "onward",
        "do not end with 'Next",
        "# Next: [08 Recompute](08_recompute.ipynb)",
        "# Next: more",
    ),
    ("onward", "do not end with 'Next", "What is made again?\n", "What?\n#\n# The end.\n"),
    ("case", "draws the case, which a card 07.case", "A4.\n\n", "A4.\n\n# %%\nviews.case()\n\n"),
    ("case", 'with lesson.predict("07.case") stands', CASE, f"(\n    {CASE}\n)"),
    ("case", "no '## The case so far'", "## The case so far", "## Appendix"),
    (
        "foretold",
        "shows 6.42 GB, which 08.case asks",
        "print(seconds)",
        "print(seconds, '6.42 GB')",
    ),
    (
        "foretold",
        "shows 21.9 GB, which 07.case asks",
        "print(seconds)",
        "print(seconds, '21.9 GB')",
    ),
    ("exercises", "no section 'Exercise...' holds", "lesson.exercise(", "print("),
    ("exercises", "'06.largest_batch' is not of lesson 07", '"07.largest', '"06.largest'),
    ("stubs", "leaves nothing to fill in", "None  # replace None", "64"),
    ("stubs", "solution does not stand below it", ' tags=["solution"]\ndef', "\ndef"),
    ("exercises", "no exercise is checked", "largest.check(largest_batch)", "1"),
    (
        "exercises",
        "'smallest' is checked and is no stub",
        "check(largest_batch)",
        "check(smallest)",
    ),
    ("subgoals", "not name lifetime, peak", "Shapes, bytes, lifetime, peak", "Shapes, bytes"),
    ("recalls", "2 questions lesson.recall", '# %%\nlesson.recall("07.unit")\n', "# %%\n"),
    (
        "recalls",
        "do not stand before the first block",
        '# %%\nlesson.recall("07.unit")',
        '# %% [markdown]\n# ## Appendix\n\n# %%\nlesson.recall("07.unit")',
    ),
    (
        "cards",
        "lesson.recall('NN.x') alone",
        '# %%\nlesson.recall("07.unit")',
        '# %%\nbatch = 1\nlesson.recall("07.unit")',
    ),
    (
        "cards",
        "lesson.change('NN.x') alone",
        'lesson.change("07.twice")',
        '(lesson.change("07.twice"),)',
    ),
    (
        "cards",
        "asks '07.twice', which is no recall",
        'lesson.recall("07.sum")',
        'lesson.recall("07.twice")',
    ),
    ("cards", "asks '07.input', which is no", '"07.output"', '"07.input"'),
    ("cards", "output.guess(...).reveal()", "output.guess(", "other.guess("),
    ("cards", "('07.copies').guess(...).reveal()", ".guess(3).reveal()", ".guess(3)"),
    ("cards", "output.guess(...).reveal()", ' tags=["solution"]\noutput', "\noutput"),
    ("cards", "is no card", "output = lesson", "batch = 4\noutput = lesson"),
    ("cards", "is no card", "@output.then", "@copies.then"),
    ("cards", "has 3 functions under @x.then", "\n\noutput\n", f"{THIRD}\n\noutput\n"),
    ("revised", "no solution has a guess with because", 'revise("6 MB").', ""),
    ("revised", "no solution has a guess with because", ', because="one image"', ""),
    ("gates", "'**Change it.**'; ask it with", "The next one", "**Change it.** The next one"),
    ("opening", "is no live view and no card of the case", VIEW, "2\n"),
    (
        "opening",
        "has 3 paragraphs, not title",
        "(01_linear.ipynb).\n",
        "(01_linear.ipynb).\n#\n# A word.\n",
    ),
    (
        "unasked",
        "07.twice is a question that no cell asks",
        CHANGE,
        "1",
    ),
    ("codes", "says A5 in its text", "in 3 layers.", "in 3 layers (A5)."),
    ("codes", "the footnote A4 stands 2 times", "in 3 layers.", "in 3 layers.<sup>A4</sup>"),
    ("codes", "does not end with 'Sources: A4, B2.'", "in 3 layers.", "in 3 layers.<sup>B2</sup>"),
    ("codes", "does not end with 'Sources: A4.'", "# Sources: A4.\n", "#\n"),
    ("length", "words are more than 1,200", "Python's own objects.", "A word. " * 600),
    ("cell_lines", "has 16 lines, over 15", "largest.check", "x = 1\n" * 15 + "largest.check"),
    ("cell_lines", "half of the code cells", "largest.check(largest_batch)\n", LONG),
    ("forbidden", "says 'simply'", "It took", "It simply took"),
    ("forbidden", "says 'obviously'", "print(seconds)", "print(seconds, 'obviously')"),
    ("figures", "has no alt text: ![]", "![The floor and the mountain]", "![]"),
    ("figures", "no alt text: <img", "# Python's own", "# <img src='a.png'> Python's own"),
    ("numbers", "'25.558 MB' is not computed", "It took 25.557 MB", "It took 25.558 MB"),
    ("numbers", "'25.557 MiB' is not computed", "It took 25.557 MB", "It took 25.557 MiB"),
    ("numbers", "'30' is not computed and not checked", "in 3 layers", "in 30 layers"),
    ("numbers", "'3 MB' is not computed and not checked", "in 3 layers", "in 3 MB"),
    ("numbers", "'27M' is not computed and not checked", "has 26M", "has 27M"),
    ("numbers", "'26M' is 138", '"26M": "zoo.resnet50()', '"26M": "zoo.vgg16()'),
    ("numbers", "fails with AttributeError", '"26M": "zoo.resnet50()', '"26M": "zoo.resnet51()'),
    ("numbers", "'99' is checked and stands in no prose", '    "10⁶', '    "99": "99",\n    "10⁶'),
    ("numbers", "'9 %' is not computed", "3 layers", "3 layers, each of 26M and 9 %"),
    ("numbers", "is no dict of numerals and expressions", '    "10⁶', '    7: 8,\n    "10⁶'),
    ("numbers", "'about 26M' is not one numeral", '"26M":', '"about 26M":'),
    ("numbers", "'26M' is checked twice", "# %%\noutput =", TWICE),
    ("numbers", "'99' is not computed and not checked", "![The floor", "![99 floor"),
    ("hidden", "the truth of '07.output': 802_816", "print(seconds", "print(seconds, 802_816"),
    ("hidden", "the truth of '07.output': 803 kB", "print(seconds", "print(seconds, '803 kB'"),
]


BESIDE = {
    "hidden": {"locked"},
    "cards": {"unasked", "recalls", "revised", "cell_lines"},
    "opening": {"numbers"},
    "recalls": {"unasked", "cards"},
    "limits": {"codes"},
    "preparation": {"long_enough"},
    "length": {"long_enough"},
    "long_enough": {"length"},
    "blocks": {"case"},
}
"""What one change may break too."""


@pytest.mark.table
@pytest.mark.parametrize("planted", PLANTED, ids=lambda row: f"{row[0]}: {row[1]}")
def test_a_changed_source_breaks_one_rule(lesson, planted):
    rule, sentence, *texts = planted
    faults = broken(lesson(*zip(texts[::2], texts[1::2], strict=True)))
    assert set(faults) - {rule} <= BESIDE.get(rule, set()), faults
    assert any(sentence in text for text in faults[rule]), faults


def picture(**more):
    return {"views.": output(text_plain="VGG-16, batch 64", **more)}


def printed(text):
    return {"print(seconds": output(text_plain=text)}


def card(text):
    return {"output = ": output(text_plain=f"Predict. {QUESTION}\n{text}")}


STORED = [
    ("locked", "says '9 ×', its answer", picture(text_html="9 ×")),
    ("figures", "no alt text: image/svg+xml", picture(image_svg__xml="<svg><text>4</text></svg>")),
    ("figures", "no alt text: image/png", picture(image_png="iVBORw0KGgo=")),
    ("figures", "no alt text: <img src='a.png'>", picture(text_html="<img src='a.png'>")),
    ("notes", "is tagged nbval-ignore-output and stores", printed("took 3 s")),
    ("notes", "stores '4 ms'", picture(text_html="<td>4 ms</td>")),
    ("notes", "stores 'threads'", picture(text_html="on <b>2</b> threads")),
    ("notes", "stores 'free here'", picture(image_svg__xml=SVG.replace("25.557", "free here"))),
    ("hidden", "the truth of '07.output': 802,816", picture(text_html="<td>802,816 B</td>")),
    ("hidden", "the truth of '07.output': 784.0 KiB", picture(text_html="784.0 KiB")),
    ("hidden", "the truth of '07.output': 802816", picture(text_html="<p data-peak='802816'>")),
    ("asking", "does not show its question", {"output = ": output(text_plain="Predict.")}),
    ("asking", "shows 'right answer'", card("right answer  peak")),
    ("asking", "shows 'The same on new numbers", card("The same on new numbers: output.retry().")),
]


@pytest.mark.table
@pytest.mark.parametrize(("rule", "sentence", "shown"), STORED)
def test_a_changed_output_breaks_one_rule(lesson, rule, sentence, shown):
    faults = broken(lesson(learners=SHOWN | shown))
    assert set(faults) - {rule} <= BESIDE.get(rule, set()), faults
    assert any(sentence in text for text in faults[rule]), faults


def test_a_number_that_no_output_shows_any_more_is_seen(lesson):
    shown = SHOWN | {"views.": output(text_plain="26.557 MB", image_svg__xml="<svg><title>A")}
    assert broken(lesson(solved=shown)) == {
        "numbers": ["cell 07-small-07: '25.557 MB' is not computed and not checked"]
    }


def test_every_rule_is_broken_once():
    assert {row[0] for row in PLANTED + STORED} | {"folded"} == NAMES


def test_code_that_stands_open_above_a_card_is_found(lesson):
    page = lesson()
    assert form.folded(page) == []
    for cell in page.learners["cells"]:
        cell["metadata"].pop("jupyter", None)
    assert form.folded(page) == ["cell 07-small-09 shows 9 lines of code above its card"]


def test_a_short_lesson_need_not_name_the_four_subgoals(lesson):
    changes = ("40 minutes", "10 minutes"), ("Shapes, bytes, lifetime, peak", "Alone")
    assert set(broken(lesson(*changes))) == {"long_enough"}


@every_row(
    ("old", "new"),
    [
        (THEN, ""),
        ("It took", "Adjust it, justified and simplified. It took"),
        ("    return None  # replace None", "    return memory // ...  # how many bytes each?"),
        ('.revise("6 MB")', '.revise("6.3 MB")'),
        ("[08 Recompute](08_recompute.ipynb)", "09 Offload, which is to come"),
        ("# Next: ", "# This was the last lesson. If you have not done 07 to 09 yet:\n# "),
    ],
)
def test_other_ways_to_keep_it(lesson, old, new):
    assert broken(lesson((old, new))) == {}


def test_words_are_those_of_the_prose():
    text = "Run [the cell](02_network.ipynb) now.\n\n```\nnot me\n```\n"
    assert words(text) == ["Run", "the", "cell", "now"]


# -- numerals -----------------------------------------------------------------------------------


@every_row(
    ("text", "expected"),
    [
        ("It takes 1,024 values, 2.5 MB or 26M.", ["1,024", "2.5 MB", "26M"]),
        ("64·3·28x28 at 10⁶ and 2²⁰", ["64", "3", "28", "28", "10⁶", "2²⁰"]),
        ("9 times, 5 %, 3 x, 8×, 12 GB cards", ["9 times", "5 %", "3 x", "8×", "12 GB"]),
        ("# 02 A network\n\n45 minutes. Needs: [00 Start](00_start.ipynb).", []),
        ("ResNet-50, VGG-16, fp32, conv1, w1, A12, im2col, k², lesson 03, lessons 04 and 05", []),
        ("1. one\n2. two\n\n`a[3]`, (He et al., 2016), (2016), <https://a.org/1>", []),
        ("```\n77\n```\n![figure 5](images/6.png) in [the 7](8.ipynb)", ["5"]),
        ("in 2016, conv1 of 3 (see 4)", ["2016", "3", "4"]),
    ],
)
def test_the_numerals_of_prose(text, expected):
    assert [numeral.text for numeral in numerals.find(numerals.prose(text))] == expected


@every_row("text", ["11", "0.5", "2.0", "3 MB", "4 bytes", "9 times", "5 %", "10⁶"])
def test_these_have_to_be_computed(text):
    (numeral,) = numerals.find(text)
    assert numeral.counts


@every_row("text", ["0", "3", "10"])
def test_these_count_things(text):
    (numeral,) = numerals.find(text)
    assert not numeral.counts


@every_row(
    ("text", "value", "fits"),
    [
        ("26M", 25.56, True),
        ("26M", 25_557_032, True),
        ("26M", 26_600_000, False),
        ("6.4 MB", 6_422_528, True),
        ("6.4 MiB", 6_422_528, False),
        ("9.0 times", 9.04, True),
        ("9.00 times", 9.04, False),
        ("5 %", 0.049, True),
        ("10⁶", 1_000_001, False),
    ],
)
def test_a_value_is_right_to_the_printed_digits(text, value, fits):
    (numeral,) = numerals.find(text)
    assert numeral.fits(value) is fits


@every_row("code", ["1010", "1_010", "f(1010.0)", "'1,010'", "1.01e3"])
def test_the_same_number_in_code(code):
    assert (Fraction(1010), "") in numerals.keys(code)


def test_a_number_in_another_unit_is_another_number():
    assert (Fraction(12), "GB") in numerals.keys("free='12GB'")
    assert (Fraction(12), "GB") not in numerals.keys("free='12 GiB'")
    assert (Fraction(2**20), "") in numerals.keys("2**20")


@every_row("expression", ["1 / 0", "zoo", "'12'", "True", "nobody"])
def test_an_expression_that_is_no_number_is_a_fault(expression):
    assert numerals.faults({"12": expression})
