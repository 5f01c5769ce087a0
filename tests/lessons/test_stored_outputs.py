"""What the notebooks store: every digit is compared, no answer is given away, and all cells run."""

import copy
import json
import os
import subprocess
import time

import nbformat
import pytest

from lessons import build
from memlab.lesson.question import topics
from tests import run
from tests.lessons import truths

LEARNERS = [
    target
    for source in build.sources(build.LESSONS)
    for target, solved in build.targets(source).items()
    if not solved
]
GIB = 2**30
SECONDS = 100  # five times what a lesson should take

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
CHANGED = {"shown": ("4,096", "4,097"), "printed": ("1,010", "1,011"), "drawn": ("802", "803")}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The notebooks that nbval refuses, called as CI calls it: one as it was built, and others
    with one digit changed."""
    folder = tmp_path_factory.mktemp("digits")
    (folder / "lessons/source").mkdir(parents=True)
    (folder / "lessons/source/01_digits.py").write_text(SOURCE, encoding="utf-8")
    assert build.main(["01"], folder / "lessons") == 0
    stored = (folder / "lessons/01_digits.ipynb").read_text(encoding="utf-8")
    (folder / "sound.ipynb").write_text(stored, encoding="utf-8")
    for name, (old, new) in CHANGED.items():
        (folder / f"{name}.ipynb").write_text(with_digit(stored, old, new), encoding="utf-8")
    names = [f"{name}.ipynb" for name in ("sound", *CHANGED)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    line = [*run.command(run.NOTEBOOKS), *names]
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True)
    assert "passed" in done.stdout, done.stdout + done.stderr
    return {name for name in names if f"FAILED {name}::" in done.stdout}


def with_digit(stored, old, new):
    """The notebook with one digit of an output changed, and no source."""
    content = json.loads(stored)
    outputs = [output for cell in content["cells"] for output in cell["outputs"]]
    changed = [json.loads(json.dumps(output).replace(old, new)) for output in outputs]
    assert sum(a != b for a, b in zip(outputs, changed, strict=True)) == 1
    for cell in content["cells"]:
        cell["outputs"] = [changed.pop(0) for _ in cell["outputs"]]
    return json.dumps(content)


def test_a_notebook_passes_as_it_was_built(compared):
    assert "sound.ipynb" not in compared


@pytest.mark.parametrize("kind", CHANGED)
def test_a_changed_digit_fails(compared, kind):
    assert f"{kind}.ipynb" in compared


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
    assert planted
    for name, form in planted:
        made = copy.deepcopy(stored)
        made["cells"].append({**place(form), "id": "planted"})
        sentence = f"cell planted holds the truth of {name!r}: {form}"
        assert sentence in truths.found(made, asked)


PARTS = ("6,422,528", "6_422_528", "6422528", "422,528 B")


@pytest.mark.parametrize("text", ["16,422,528 B", "6,422,528,000", "6,422,528.5", "x6_422_528"])
def test_a_part_of_another_number_is_no_truth(text):
    assert not any(truths.holds(text, form) for form in PARTS)


# -- restart and run all ------------------------------------------------------------------------

LARGEST = """
import re
from pathlib import Path

from memlab.runtime.measured import resident_set

status = Path("/proc/self/status")  # there a process does not inherit the figure of its parent
found = re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text()) if status.exists() else None
print(1024 * int(found[1]) if found else resident_set())
"""


def run_all(notebook, folder, name):
    """Seconds, and the largest resident set of the kernel in bytes."""
    notebook.cells.append(nbformat.v4.new_code_cell(LARGEST))
    start = time.monotonic()
    build.execute(notebook, folder, name)
    return time.monotonic() - start, int(notebook.cells[-1].outputs[0].text)


@pytest.mark.parametrize("path", LEARNERS, ids=lambda path: path.stem)
def test_restart_and_run_all_unanswered_and_unsolved(path):
    seconds, largest = run_all(nbformat.read(path, as_version=4), path.parent, path.stem)
    assert seconds <= SECONDS
    assert largest <= GIB


def test_the_largest_resident_set_is_seen(tmp_path):
    cells = [nbformat.v4.new_code_cell("held = b'x' * 2**28\ndel held")]
    _, largest = run_all(nbformat.v4.new_notebook(cells=cells), tmp_path, "large")
    assert GIB / 4 < largest <= GIB
