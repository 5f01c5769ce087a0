"""A small lesson that keeps the contract, for the tests that break it."""

import copy
import json
from fractions import Fraction
from typing import Any

import pytest

from lessons import build
from lessons.stored import NOTE
from memlab import strings
from memlab.lesson.card_question import AnswerKind, Purpose, Question, RevealBar, Truth
from memlab.lesson.misconceptions import Mistake
from tests.lessons.parts import Lesson

SOURCE = """# %% [markdown]
# # 07 A small lesson: what does it hold?
#
# 40 minutes. Needs: [00 Start](00_start.ipynb), [01 One linear layer](01_linear.ipynb).

# %%
from memlab import lesson, units, views

views.memory("vgg16", batch=64, only=("optimizer",))

# %% [markdown]
# You will be able to
#
# - count the bytes of a layer,
# - say when they are free again.
#
# Words: [peak](glossary.md),
# [batch](glossary.md).

# %%
lesson.recall("07.sum")

# %% tags=["solution"]
lesson.recall("07.sum").guess("yes").reveal()

# %%
lesson.recall("07.unit")

# %% tags=["solution"]
lesson.recall("07.unit").guess("no").reveal()

# %% [markdown]
# ![The floor and the mountain](images/a.png)
#
# ## How much does one output take?
#
# ResNet-50 has 26M parameters (He et al., 2016), and a batch of 64 images. A MB has 10⁶ bytes.
# Lesson 01 counted `12345` of them in 3 layers. It took 25.557 MB.<sup>A4</sup>

# %% tags=["numbers"]
{
    "26M": "zoo.resnet50().parameters / 1e6",
    "10⁶ bytes": "units.parse('1 MB')",
}

# %%
output = lesson.predict("07.output")


@output.then
def as_planned():
    print(units.both(memlab.zoo.resnet50().parameters))


output

# %% tags=["solution"]
output.guess("0.2 MB", because="one image").revise("6 MB").reveal()

# %% [markdown]
# The next one is drawn.

# %%
lesson.predict("07.copies")

# %% tags=["solution"]
lesson.predict("07.copies").guess(3).reveal()

# %%
lesson.change("07.twice")

# %% tags=["solution"]
lesson.change("07.twice").guess("yes").reveal()

# %% tags=["nbval-ignore-output"]
print(seconds)

# %% [markdown]
# ## Exercise: the largest batch
#
# Shapes, bytes, lifetime, peak.

# %%
largest = lesson.exercise("07.largest_batch")

# %% tags=["stub"]
def largest_batch(memory):
    return None  # replace None

# %% tags=["solution"]
def largest_batch(memory):
    return memory // 64

# %%
largest.check(largest_batch)

# %% [markdown]
# ## What this plan leaves out
#
# Python's own objects.
#
# Sources: A4.

# %% [markdown]
# ## The case so far
#
# One bar is shorter.

# %%
lesson.predict("07.case")

# %% tags=["solution"]
lesson.predict("07.case").guess("no").reveal()

# %% [markdown]
# ## Key points
#
# - A MB is a unit.
#
# Next: [08 Recompute](08_recompute.ipynb). What is made again?
"""
GLOSSARY = """
[[term]]
en = "peak"
means = "The most."
zh = "峰值"
ja = "ピーク"

[[term]]
en = "batch"
means = "Some samples."
zh = "批"
ja = "バッチ"
"""
QUESTION = "How many bytes does the output of 1,024 values take?"
TEXTS = {
    "output.question": QUESTION,
    "output.finding": "Each value has its own place.",
    "copies.question": "The window has 3 rows. How many times as large is the copy?",
    "copies.finding": "Rows and columns count.",
    "case.question": "Does the step of ResNet-50 fit now?",
    "case.finding": "Its bar is as long as before.",
    "case.seen": "It does not fit.",
    "case.wrong.yes": "Which blocks are alive at the peak?",
    "output.seen": "It is 1.",
    "copies.seen": "It is 9.",
    **{f"{name}.question": "Is it so?" for name in ("sum", "unit", "twice")},
}
VIEW = 'views.memory("vgg16", batch=64, only=("optimizer",))\n'
SVG = "<svg role='img'><title>VGG-16, batch 64</title><text>25.557 MB</text></svg>"
FIGURES = (RevealBar("planned", Fraction(802_816)), RevealBar("planned", Fraction(1024), "values"))


def again(chance):
    return {"network": "alexnet"}


def truth(numbers):
    causes = Mistake("bits", Fraction(8 * 802_816)), Mistake("padding", Fraction(9))
    return Truth(Fraction(802_816), FIGURES, causes)


def ninefold(numbers):
    causes = Mistake("not_lowered", Fraction(1)), Mistake("padding", Fraction(8))
    return Truth(Fraction(9), (), causes)


def agreed(numbers):
    return Truth("yes")


def refused(numbers):
    return Truth("no")


FIRST = {"network": "mnist_cnn", "layer": "conv2"}
CHOICE: dict[str, Any] = {"options": ("yes", "no"), "gives": ("it is so",)}
TOPICS = {
    "07.sum": Question("07.sum", AnswerKind.CHOICE, {}, None, agreed, part=Purpose.RECALL,
    **CHOICE),
    "07.unit": Question("07.unit", AnswerKind.CHOICE, {}, None, agreed, part=Purpose.RECALL,
    **CHOICE),
    "07.output": Question("07.output", AnswerKind.AMOUNT, FIRST, again, truth,
                       gives=("batch * channels", "each image alone"),
                       shows=({"network": "mnist_cnn", "batch": 4}, {"batch": 128})),
    "07.copies": Question("07.copies", AnswerKind.TIMES, {}, again, ninefold, gives=("k²·Ho·Wo",)),
    "07.case": Question("07.case", AnswerKind.CHOICE, {}, None, refused,
                     options=("yes", "no"), gives=("it does not",)),
    "07.twice": Question("07.twice", AnswerKind.CHOICE, {}, None, agreed, part=Purpose.CHANGE,
    **CHOICE),
}  # fmt: skip


def output(**data):
    data = {kind.replace("__", "+").replace("_", "/"): text for kind, text in data.items()}
    return {"output_type": "display_data", "data": data, "metadata": {}}


PICTURE = output(text_plain="VGG-16, batch 64", image_svg__xml=SVG)
SHOWN = {
    "views.memory": PICTURE,
    "output = ": output(text_plain=f"Predict. {QUESTION}\nAnswer: ..."),
    'predict("07.copies")': output(text_plain=f"Predict. {TEXTS['copies.question']}\nAnswer: ..."),
    'predict("07.case")': output(text_plain=f"Predict. {TEXTS['case.question']}\nAnswer: ..."),
    **{f'("07.{name}")': output(text_plain="Is it so?") for name in ("sum", "unit", "twice")},
    "print(seconds": output(text_plain=NOTE),
}


@pytest.fixture
def lesson(tmp_path, monkeypatch):
    """The lesson with some of its source replaced, and outputs of some cells."""
    for name, text in TEXTS.items():
        monkeypatch.setitem(strings.table(), f"ask.07.{name}", text)

    def make(*changes, learners=SHOWN, solved=SHOWN, topics=TOPICS):
        text = SOURCE
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        source = tmp_path / "source/07_small.py"
        source.parent.mkdir(exist_ok=True)
        source.write_text(text, encoding="utf-8")
        (source.parent / "glossary.toml").write_text(GLOSSARY, encoding="utf-8")
        notebooks = stored(source, learners, solved=False), stored(source, solved, solved=True)
        terms = frozenset(["peak", "batch"])
        return Lesson("07_small", build.cells(source), *notebooks, terms, topics)

    return make


def stored(source, shown, solved):
    """A notebook whose cells show what is given for some words of their sources."""
    notebook = json.loads(build.text_of(build.notebook(source, solved)))
    for cell in notebook["cells"]:
        for part, data in shown.items():
            if part in "".join(cell["source"]) and cell["cell_type"] == "code":
                cell["outputs"] = [copy.deepcopy(data)]
    return notebook
