"""The notebooks that `make lessons` makes, on a small lesson."""

import json
import platform
from datetime import date, timedelta

import nbformat
import pytest

from lessons import build, stored
from tests.rows import every_row

SOURCE = """# %% [markdown]
# # A lesson
# See [the words](glossary.md), ![a picture](images/a.png), [the next](02_network.ipynb),
# [here](#words) and [far away](https://example.org/a).

# %%
class View:
    def __repr__(self):
        return "in words"

    def _repr_mimebundle_(self, **kwargs):
        widget = {"model_id": str(id(self))}
        return {"text/plain": "in words", "application/vnd.jupyter.widget-view+json": widget}


View()

# %% tags=["stub"]
answer = ...

# %% tags=["solution"]
answer = 42

# %% tags=["numbers"]
{"42": "6 * 7"}

# %% tags=["nbval-ignore-output"]
import datetime
import platform

print(platform.machine(), datetime.date.today(), "0.02 s")

# %%
for _ in range(2):
    print(answer, flush=True)
"""
BOTH = ["01_small.ipynb", "solutions/01_small.ipynb"]
GLOSSARY = """
[[term]]
en = "peak"
means = "The most."
zh = "峰值"
ja = "ピーク"

[[term]]
en = "Batch"
means = "Some samples."
zh = "批"
ja = "バッチ"
"""


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def lessons(tmp_path):
    """A folder of lessons with one source, nothing built."""
    put(tmp_path / "lessons/source/01_small.py", SOURCE)
    put(tmp_path / "lessons/source/glossary.toml", GLOSSARY)
    return tmp_path / "lessons"


@pytest.fixture
def built(lessons):
    """The same folder as if it had been built: its cells have not been run."""
    (source,) = build.sources(lessons)
    for target, solved in build.targets(source).items():
        put(target, build.text_of(build.notebook(source, solved)))
    put(lessons / "glossary.md", build.glossary(lessons))
    return lessons


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def texts(path):
    return ["".join(cell["source"]) for cell in cells(path)]


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_stub_is_for_learners_and_a_solution_for_the_solutions(built):
    learners, solved = built / "01_small.ipynb", built / "solutions/01_small.ipynb"
    assert "answer = ..." in texts(learners)
    assert "answer = 42" not in texts(learners)
    assert "answer = 42" in texts(solved)
    assert "answer = ..." not in texts(solved)
    assert texts(learners)[3:] == texts(solved)[3:]


def test_a_cell_has_the_same_id_in_both(built):
    learners, solved = cells(built / "01_small.ipynb"), cells(built / "solutions/01_small.ipynb")
    assert [c["id"] for c in learners] == [f"01-small-{i:02}" for i in (0, 1, 2, 5, 6)]
    assert [c["id"] for c in solved] == [f"01-small-{i:02}" for i in (0, 1, 3, 5, 6)]


def test_a_card_shows_two_lines_of_code_or_none(lessons):
    card, more = 'from memlab import lesson\n\nlesson.predict("01.a")', "batch = 1\n"
    source = lessons / "source" / "01_small.py"
    put(source, f"# %%\n{card}\n\n# %%\n{more}{card}\n\n# %%\n{more}\nbatch")
    open_cell, folded, plain = build.notebook(source, solved=False).cells
    assert open_cell.source.splitlines() == card.splitlines()[::2]
    assert folded.metadata.jupyter == {"source_hidden": True}
    assert plain.source.splitlines() == ["batch = 1", "", "batch"]
    assert "jupyter" not in open_cell.metadata
    assert "jupyter" not in plain.metadata


def test_links_of_the_solutions_lead_to_the_same_files(built):
    here, down = texts(built / "01_small.ipynb")[0], texts(built / "solutions/01_small.ipynb")[0]
    assert "(glossary.md)" in here
    assert "(images/a.png)" in here
    assert "(../glossary.md)" in down
    assert "(../images/a.png)" in down
    for same in ("(02_network.ipynb)", "(#words)", "(https://example.org/a)"):
        assert same in here
        assert same in down


def test_numbers_stand_in_neither(built):
    assert not [text for name in BOTH for text in texts(built / name) if "6 * 7" in text]


@pytest.mark.parametrize(
    ("tags", "sentence"),
    [
        ('"stub", "solution"', "01_small: cell 0 is solution and stub; choose one."),
        ('"numbers", "stub"', "01_small: cell 0 is stub and numbers; choose one."),
        (
            '"solutions"',
            "01_small: cell 0 is solutions; the tags are solution, stub, numbers, nbval",
        ),
    ],
)
def test_tags_that_say_nothing_are_refused(lessons, tags, sentence):
    put(lessons / "source/01_small.py", f"# %% tags=[{tags}]\n1\n")
    with pytest.raises(stored.LessonError, match=sentence):
        build.notebook(lessons / "source/01_small.py", solved=False)


def test_the_glossary_is_in_order(lessons):
    rows = build.glossary(lessons).splitlines()[-2:]
    assert rows == [
        '| <a id="batch"></a>Batch | Some samples. | 批 | バッチ |',
        '| <a id="peak"></a>peak | The most. | 峰值 | ピーク |',
    ]


# -- run ----------------------------------------------------------------------------------------


@pytest.mark.measures
def test_a_lesson_is_run_and_a_second_time_gives_the_same_bytes(lessons):
    assert build.main([], lessons) == 0
    before = files(lessons)
    learners = cells(lessons / "01_small.ipynb")
    assert [c.get("execution_count") for c in learners] == [None, 1, 2, 3, 4]
    assert learners[1]["outputs"][0]["data"] == {"text/plain": ["in words"]}
    assert learners[3]["outputs"][0]["text"] == [stored.NOTE]
    assert learners[4]["outputs"][0]["text"] == ["Ellipsis\n", "Ellipsis\n"]
    solved = cells(lessons / "solutions/01_small.ipynb")
    assert solved[4]["outputs"][0]["text"] == ["42\n", "42\n"]
    assert build.main([], lessons) == 0
    assert files(lessons) == before
    assert build.stale(lessons) == []


@pytest.mark.measures
@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("1 / 0", "01_small: a cell raised ZeroDivisionError: division by zero"),
        ("import warnings; warnings.warn('old')", "01_small: a cell wrote to stderr:"),
        (
            "from memlab import lesson\n\nhalve = lesson.predict('02.halve')\n\n@halve.then\n"
            "def shares():\n    return 1 / 0\n\nhalve\n\n# %%\nhalve.skip().reveal()",
            "shares, below the card 02.halve, raised ZeroDivisionError: division by zero",
        ),
    ],
)
def test_a_cell_that_fails_or_warns_stops_the_run(lessons, capsys, code, sentence):
    put(lessons / "source/01_small.py", f"# %%\n{code}\n")
    before = files(lessons)
    assert build.main(["01"], lessons) == 1
    assert sentence in capsys.readouterr().err
    assert files(lessons) == before


MACHINE = f"{platform.machine()}, {date.today()}"


def shown(text, *tags, source="show()", kind="text/plain"):
    """A cell that has shown a text."""
    output = nbformat.v4.new_output("display_data", {kind: text})
    return nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)}, outputs=[output])


@every_row(
    "text",
    [
        "took 0.25 s",
        "4 ms",
        "3 seconds",
        "2 threads",
        "1.2 GB free here now",
        "free 3 GB",
        "oneDNN: 3 GB",
        "read at 29.4 GB/s",
        "16 times less time per sample",
    ],
)
@every_row("kind", ["text/plain", "text/html", "image/svg+xml"])
def test_what_differs_has_the_tag_and_names_machine_and_date(text, kind):
    assert "tag it nbval-ignore-output" in stored.differs(shown(text, kind=kind))
    named = "name the machine"
    assert named in stored.differs(shown(text, stored.DIFFERS, kind=kind))
    assert named in stored.differs(shown(f"{text}, {date.today()}", stored.DIFFERS))
    full = shown(f"<text>{text} {MACHINE}</text>", stored.DIFFERS, kind=kind)
    assert stored.differs(full) == ""


@every_row(("ago", "taken"), [(0, True), (1, True), (2, False)])
def test_a_run_that_began_before_midnight_names_its_day(ago, taken):
    text = f"took 3 s, {platform.machine()}, {date.today() - timedelta(days=ago)}"
    assert (stored.differs(shown(text, stored.DIFFERS)) == "") == taken


@every_row("text", ["7,578 parameters", "26.562 MB (25.331 MiB)", "freed at 3 B", ""])
def test_what_is_the_same_everywhere_has_no_tag(text):
    assert stored.differs(shown(text)) == ""
    assert "it needs no nbval" in stored.differs(shown(text, stored.DIFFERS))


@every_row(
    "beside",
    [
        "24.725 GB (23.026 GiB) free",
        "lowered 96 B, 4 ms",
        "16 B, 968 µs",
        "L2 cache 1 MiB",
        "oneDNN 9 B",
    ],
)
def test_bytes_stand_beside_seconds_or_in_another_cell(beside):
    text = f"took 3 s, {MACHINE}\npeak 96 B"
    assert "show 'peak 96 B' in another" in stored.differs(shown(text, stored.DIFFERS))
    text = f"took 3 s, {MACHINE}\nread 96 MB/s\n{beside}"
    assert stored.differs(shown(text, stored.DIFFERS)) == ""


def test_a_table_below_a_head_that_names_pytorch_is_its_own():
    full = f"PyTorch takes beside its input:\nconv 9 B\nAs planned.\nend, {MACHINE}"
    assert stored.differs(shown(full, stored.DIFFERS)) == ""
    after = full.replace("end,", "peak 96 B,")
    assert "show 'peak 96 B" in stored.differs(shown(after, stored.DIFFERS))


@pytest.mark.measures
def test_a_cell_that_shows_seconds_without_the_tag_stops_the_run(lessons, capsys):
    put(lessons / "source/01_small.py", "# %%\nprint('took 3 s')\n")
    assert build.main(["01"], lessons) == 1
    assert "cell 01-small-00 shows '3 s'; tag it" in capsys.readouterr().err
    assert not (lessons / "01_small.ipynb").exists()


# -- stale --------------------------------------------------------------------------------------


def test_what_follows_from_the_source_is_not_stale(built):
    assert build.main(["--check"], built) == 0


def stale(folder):
    return [path.relative_to(folder).as_posix() for path in build.stale(folder)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("A lesson", "Another lesson", BOTH),
        ("answer = 42", "answer = 43", BOTH[1:]),
        ("answer = ...", "answer = None", BOTH[:1]),
        ("6 * 7", "7 * 6", []),
        (' tags=["nbval-ignore-output"]', "", BOTH),
    ],
)
def test_a_changed_source_makes_its_notebooks_stale(built, capsys, old, new, expected):
    put(built / "source/01_small.py", SOURCE.replace(old, new))
    assert stale(built) == expected
    assert build.main(["--check"], built) == bool(expected)
    line = capsys.readouterr().err
    assert all(f"lessons/{name}" in line for name in expected)


@pytest.mark.parametrize("name", [*BOTH, "glossary.md"])
def test_a_missing_or_broken_file_is_stale(built, name):
    put(built / name, "{}")
    assert stale(built) == [name]
    (built / name).unlink()
    assert stale(built) == [name]


def test_a_notebook_without_a_source_is_stale(built):
    put(built / "solutions/09_gone.ipynb", "{}")
    assert stale(built) == ["solutions/09_gone.ipynb"]
    assert build.stale(built, ["01"]) == []


def test_what_no_source_makes_is_not_made_again_but_deleted(built, capsys):
    put(built / "images/why-gone.svg", "<svg/>")  # of an appendix
    put(built / "appendix/why.ipynb", "{}")
    put(built / "glossary.md", "")
    assert build.main(["--check"], built) == 1
    assert capsys.readouterr().err.splitlines() == [
        "Stale: lessons/glossary.md; run `make lessons`.",
        "No source makes lessons/appendix/why.ipynb, lessons/images/why-gone.svg; "
        "delete what is not wanted.",
    ]


def test_a_changed_term_makes_the_glossary_stale(built):
    put(built / "source/glossary.toml", GLOSSARY.replace("most", "least"))
    assert stale(built) == ["glossary.md"]


def test_an_unknown_lesson_gets_one_sentence(lessons, capsys):
    assert build.main(["7"], lessons) == 1
    assert capsys.readouterr().err == "No lesson is called '7'; there are: 01_small.\n"


# -- an appendix, pictures, notes in a solution -------------------------------------------------

PAGE = """# %% [markdown]
# # Appendix: why?
#
# Belongs to: [01 Small](../01_small.ipynb). See the [peak](../glossary.md).

# %%
print(4)
"""
DRAWN = """# %% [markdown]
# # A lesson

# %% tags=["solution", "picture-bars"]
class Bars:
    def __repr__(self):
        return "bars"

    def _repr_svg_(self):
        return "<svg xmlns='http://www.w3.org/2000/svg'><title>Bars</title></svg>"


Bars()
"""


@pytest.mark.measures
def test_an_appendix_is_a_page_of_its_own(lessons):
    put(lessons / "source/appendix/why.py", PAGE)
    assert build.main(["why"], lessons) == 0
    page = lessons / "appendix/why.ipynb"
    assert texts(page)[1] == "print(4)"
    assert '(../glossary.md#peak "The most. 峰值 · ピーク")' in texts(page)[0]
    assert build.stale(lessons, ["why"]) == []
    put(lessons / "source/appendix/why.py", PAGE.replace("4", "5"))
    assert build.stale(lessons, ["why"]) == [page]


ASKING = """# %% [markdown]
# # Appendix: why?
#
# Belongs to: [01 Small](../01_small.ipynb).

# %%
given = 'lesson.exercise("01.small")'

# %% tags=["stub"]
print("stub")

# %% tags=["solution"]
print("solution")
"""


@pytest.mark.measures
def test_an_appendix_with_an_exercise_is_solved_among_the_solutions_of_its_lesson(lessons):
    put(lessons / "source/appendix/why.py", ASKING)
    assert build.main(["why"], lessons) == 0
    page, solved = lessons / "appendix/why.ipynb", lessons / "solutions/01_why.ipynb"
    assert [texts(page)[-1], texts(solved)[-1]] == ['print("stub")', 'print("solution")']
    assert texts(page)[0] == texts(solved)[0]  # its links lead to the same files from both
    assert build.stale(lessons, ["why"]) == []


@pytest.mark.measures
def test_a_picture_is_a_file_that_a_page_can_show(lessons):
    put(lessons / "source/01_small.py", DRAWN)
    assert build.main([], lessons) == 0
    picture = lessons / "images/01-bars.svg"
    assert picture.read_text().startswith("<svg xmlns=")
    assert build.stale(lessons) == []
    put(picture, "<svg/>")
    put(lessons / "images/01-gone.svg", "<svg/>")
    assert stale(lessons) == ["images/01-bars.svg", "images/01-gone.svg"]


@pytest.mark.measures
def test_a_cell_without_a_picture_keeps_none(lessons, capsys):
    put(lessons / "source/01_small.py", DRAWN.replace("Bars()", "4"))
    assert build.main([], lessons) == 1
    assert "cell 01-small-01 shows no picture to keep." in capsys.readouterr().err


def test_planned_seconds_are_the_same_everywhere_and_nothing_else_is():
    assert stored.differs(shown("12 GB/s: compute waits 0.27 s", stored.PLANNED)) == ""
    assert "tag it nbval-ignore-output" in stored.differs(shown("4 threads", stored.PLANNED))


def test_in_a_solution_a_note_stands_for_what_varies_alone():
    card, third = shown("planned 96 B").outputs[0], shown("as planned").outputs[0]
    cell = shown(f"took 3 s, {MACHINE}", stored.SOLUTION, stored.DIFFERS)
    cell.outputs = [card, *cell.outputs, *shown(f"2 threads, {MACHINE}").outputs, third]
    assert stored.differs(cell) == ""
    kept = stored.noted(cell, "Run this cell.\n")
    assert [output.get("text", "") for output in kept] == ["", "Run this cell.\n", ""]
    assert [kept[0], kept[2]] == [card, third]
    assert len(stored.noted(shown("3 s", stored.DIFFERS), "Run.")) == 1


def test_links_of_the_solutions_to_an_appendix_lead_to_the_same_file():
    links = "[a](02_network.ipynb) [b](appendix/slips.ipynb) [c](images/a.png)"
    down = "[a](02_network.ipynb) [b](../appendix/slips.ipynb) [c](../images/a.png)"
    assert build.one_folder_down(links) == down


def test_the_sources_say_where_they_are_computed_again(lessons):
    put(lessons / "source/01_small.py", "# %% [markdown]\n# It is so.\n#\n# Sources: A1, B5, D2.\n")
    (cell,) = build.notebook(lessons / "source/01_small.py", solved=False).cells
    assert "Sources: A1, B5, D2. In a terminal, `memlab claims B5` says" in cell.source
