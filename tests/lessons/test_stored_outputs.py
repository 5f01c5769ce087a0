"""Stored outputs of notebooks: every digit is compared as all cells run, no answer
is given away."""

import json
import re
import subprocess

import nbformat
import pytest

from lessons import build
from memlab.lesson.card_question import AnswerKind, topics
from memlab.lesson.misconceptions import DistanceRule
from tests import run
from tests.lessons import truths

pytestmark = pytest.mark.measures

LEARNERS = [
    target
    for source in build.sources(build.LESSONS)
    if source.parent.name != build.APPENDIX
    for target, solved in build.targets(source).items()
    if not solved
]

# -- every digit --------------------------------------------------------------------------------

SOURCE = """# %%
"4,096 B"

# %%
print("peak 1,010 B")

# %%
class Picture:
    def __repr__(self):
        return "a picture"

    def _repr_svg_(self):
        return "<svg xmlns='http://www.w3.org/2000/svg'><title>A</title><text>802 kB</text></svg>"


Picture()

# %% tags=["nbval-ignore-output"]
import platform
from datetime import datetime

print(f"{platform.machine()}, {datetime.now()}: took 0.25 s")
"""
TOO_MUCH = "held = b'x' * (2**30 + 2**27)"
CHANGED = {"shown": ("4,096", "4,097"), "printed": ("1,010", "1,011"), "drawn": ("802", "803")}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Places where nbval fails, called as CI calls it: in a notebook as it was built, in others
    with one digit changed, in one that takes too much memory."""
    folder = tmp_path_factory.mktemp("digits")
    (folder / "lessons/source").mkdir(parents=True)
    (folder / "lessons/source/01_digits.py").write_text(SOURCE, encoding="utf-8")
    (folder / "lessons/source/glossary.toml").write_text("term = []", encoding="utf-8")
    assert build.main(["01"], folder / "lessons") == 0
    stored = (folder / "lessons/01_digits.ipynb").read_text(encoding="utf-8")
    (folder / "sound.ipynb").write_text(stored, encoding="utf-8")
    for name, (old, new) in CHANGED.items():
        (folder / f"{name}.ipynb").write_text(with_digit(stored, old, new), encoding="utf-8")
    (folder / "large.ipynb").write_text(with_cell(stored, TOO_MUCH), encoding="utf-8")
    names = [f"{name}.ipynb" for name in ("sound", "large", *CHANGED)]
    env = {k: value for k, value in run.environment().items() if not k.startswith("PYTEST")}
    line = [*run.command(run.NOTEBOOKS), *names]
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True)
    assert "passed" in done.stdout, done.stdout + done.stderr
    return dict(re.findall(r"FAILED (\w+)\.ipynb::(\w+)", done.stdout))


def with_digit(stored, old, new):
    """The notebook with one digit of an output changed, and no source."""
    content = json.loads(stored)
    outputs = [output for cell in content["cells"] for output in cell["outputs"]]
    changed = [json.loads(json.dumps(output).replace(old, new)) for output in outputs]
    assert sum(a != b for a, b in zip(outputs, changed, strict=True)) == 1
    for cell in content["cells"]:
        cell["outputs"] = [changed.pop(0) for _ in cell["outputs"]]
    return json.dumps(content)


def with_cell(stored, source):
    """The notebook with one more cell, which shows nothing."""
    content = json.loads(stored)
    cell = {"cell_type": "code", "source": source, "outputs": [], "metadata": {}}
    content["cells"].append({**cell, "id": "more", "execution_count": 5})
    return json.dumps(content)


def test_a_notebook_passes_as_it_was_built(compared):
    assert "sound" not in compared


@pytest.mark.parametrize("kind", CHANGED)
def test_a_changed_digit_fails(compared, kind):
    assert compared[kind] == "Cell"


def test_a_kernel_that_takes_more_than_a_gibibyte_fails(compared):
    assert compared["large"] == "limits"


# -- no answer ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def secrets():
    return {name: truths.forms(topic) for name, topic in topics().items()}


def in_text(form):
    return nbformat.v4.new_markdown_cell(f"It takes {form}.")


def in_code(form):
    return nbformat.v4.new_code_cell(f"guess = '{form}'")


def printed(form):
    output = nbformat.v4.new_output("stream", text=f"peak: {form}\n")
    return nbformat.v4.new_code_cell("", outputs=[output])


def drawn(form):
    return displayed("image/svg+xml", f"<svg><title>A</title><text>{form}</text></svg>")


def in_a_table(form):
    return displayed("text/html", f"<table><td>{form}</td></table>")


def spoken(form):
    return displayed("image/svg+xml", f'<svg aria-label="peak {form}"></svg>')


def displayed(kind, text):
    output = nbformat.v4.new_output("display_data", {kind: text})
    return nbformat.v4.new_code_cell("", outputs=[output])


@pytest.mark.parametrize("place", [in_text, in_code, printed, drawn, in_a_table, spoken])
@pytest.mark.parametrize("path", LEARNERS, ids=lambda path: path.stem)
def test_a_truth_that_is_planted_is_found(path, place, secrets):
    stored = json.loads(path.read_text(encoding="utf-8"))
    asked = {name: forms for name, forms in secrets.items() if name[:2] == path.stem[:2]}
    planted = [(name, form) for name, forms in asked.items() for form in forms]
    own = [topic for name, topic in topics().items() if name[:2] == path.stem[:2]]
    # the name of an option and a bare count may stand anywhere
    counts = DistanceRule.COUNT
    assert planted or all(topic.kind is AnswerKind.CHOICE or topic.rule is counts for topic in own)
    stored["cells"] += [{**place(form), "id": f"{name} {form}"} for name, form in planted]
    places = truths.found(stored, asked)
    missed = [
        (name, form)
        for name, form in planted
        if f"cell {name} {form} holds the truth of {name!r}: {form}" not in places
    ]
    assert missed == []


PARTS = ("6,422,528", "6_422_528", "6422528", "422,528 B")


@pytest.mark.parametrize("text", ["16,422,528 B", "6,422,528,000", "6,422,528.5", "x6_422_528"])
def test_a_part_of_another_number_is_no_truth(text):
    assert not any(truths.holds(text, form) for form in PARTS)
