"""Every measured cell of lessons 03, 05 and 06 has its picture, and every picture its evidence."""

import json
import re
from dataclasses import replace

import nbformat
import pytest

from lessons import build, kernel, record, recordings, stored
from lessons.recordings import Picture
from memlab.errors import InputError
from memlab.measure.recorded_figures import RecordedFigures
from memlab.measure.timing import BenchmarkLine, Machine, Result
from tests.rows import every_row

NUMBERS = ("03", "05", "06")
"""The lessons whose measured cells are recorded."""
SOURCES = build.sources(build.LESSONS, NUMBERS)
OTHERS = [s for s in build.sources(build.LESSONS) if s not in SOURCES and record.names_of(s)]

# -- the rules: each takes a source, and returns what breaks it -----------------------------------


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def unrecorded(source):
    """Measured cells without a picture."""
    measured = [c for c in build.cells(source) if stored.DIFFERS in c.metadata.tags]
    breaks = [c.id for c in measured if not recordings.tagged(source.stem, c.metadata.tags)]
    breaks = [f"cell {id} measures, and has no tag recorded-name" for id in breaks]
    names = record.names_of(source)
    gone = [name for name in names if not recordings.find(build.home(source), name)]
    return breaks + [f"{name} was not recorded: {recordings.command_of(name)}" for name in gone]


def unsaid(source):
    """Pictures that do not say when, where and how they were recorded."""
    breaks = []
    for name, picture in build.kept_of(source).items():
        machine = picture.recorded.result.machine
        command = picture.recorded.command
        breaks += [f"{name}: its command is {command}"] * (command != recordings.command_of(name))
        words = f"Recorded on {machine.date} with `{command}`"
        breaks += [f"{name} does not say {words!r}"] * (words not in picture.text)
        shown = stored.text_of_output({"data": {stored.SVG: picture.svg}})
        for required in ("Recorded on", machine.date, machine.processor, command):
            breaks += [f"the picture {name} does not say {required!r}"] * (required not in shown)
        here = re.search("measured here", picture.text + picture.svg, re.IGNORECASE)
        breaks += [f"{name} says {here[0]!r}"] if here else []
    return breaks


def elsewhere(source):
    """Pictures that the solutions do not show, and those that the learners' notebook does."""
    *learners, solved = build.targets(source)
    kept, shown, breaks = build.kept_of(source), {}, []
    for cell in cells(solved):
        above = ""
        for output in cell.get("outputs", []):
            if recordings.is_recorded(output):
                shown[output["metadata"]["recorded"]] = (above, output["data"])
            above = "".join(output.get("text", ""))
    for name, picture in kept.items():
        note, data = shown.get(name, ("", {}))
        same = {kind: "".join(data.get(kind, "")) for kind in (stored.SVG, "text/plain")}
        if same != {stored.SVG: picture.svg, "text/plain": picture.text}:
            breaks.append(f"the solutions do not show {name} as it was recorded")
        elif note != f"{stored.NOTE}{picture.above}\n":
            breaks.append(f"the solutions do not say above {name} when it was recorded")
    breaks += [f"{name} is shown and not recorded" for name in shown.keys() - kept.keys()]
    if source.parent.name == build.APPENDIX:
        return breaks
    outputs = [item for cell in cells(*learners) for item in cell.get("outputs", [])]
    return breaks + ["learners are shown a picture"] * any(map(recordings.is_recorded, outputs))


def unpaged(source):
    """Pictures that the page for instructors does not show."""
    page = build.home(source) / "instructor" / f"{source.stem[:2]}.md"
    shown = re.findall(r"!\[\w[^]]*\]\(\.\./images/([\w-]+)\.svg\)", page.read_text("utf-8"))
    return [f"{name} is not on {page.name}" for name in build.kept_of(source) if name not in shown]


@every_row("rule", [unrecorded, unsaid, elsewhere, unpaged])
@every_row("source", SOURCES)
def test_every_measured_cell_has_its_evidence(source, rule):
    assert rule(source) == []


@every_row("rule", [unsaid, elsewhere])
@every_row("source", OTHERS)
def test_so_has_every_picture_of_an_appendix(source, rule):
    gone = [name for name in record.names_of(source) if name not in build.kept_of(source)]
    assert gone == []
    assert rule(source) == []


def test_nothing_is_kept_that_no_cell_records():
    names = {name for source in build.sources(build.LESSONS) for name in record.names_of(source)}
    there = {path.stem for path in (build.LESSONS / "data" / "recorded").iterdir()}
    assert there == names


# -- and see what breaks them ---------------------------------------------------------------------

MACHINE = Machine("a processor", 2, "Linux x86_64", "2026-01-31", {"python": "3.11.7"})
FIGURES = (BenchmarkLine("tile", 0.5, "s", None, (0.4, 0.5, 0.6)), BenchmarkLine("peak", 96, "B"))
COMMAND = "make record ARGS=01"
FOUND = RecordedFigures("a processor", COMMAND, Result("01-bars", MACHINE, FIGURES))
FOOT = f"Recorded on 2026-01-31 with `{COMMAND}`, 1 thread: a processor"
PICTURE = Picture("01-bars", f"<svg><title>A</title><text>{FOOT}</text></svg>", FOOT, 1, 0.2, FOUND)
MEASURED = f'# %% tags=["{stored.DIFFERS}", "recorded-bars"]\nmeasure()\n'


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def lessons(tmp_path):
    """A lesson whose cell was recorded, and that was built."""
    folder = tmp_path / "lessons"
    put(folder / "source/01_small.py", f"# %% [markdown]\n# # A lesson\n\n{MEASURED}")
    put(folder / "source/glossary.toml", "term = []")
    put(folder / "instructor/01.md", "![Bars of a run.](../images/01-bars.svg)")
    recordings.write(folder, PICTURE)
    stores(folder, PICTURE)
    return folder


def stores(folder, picture):
    """Both notebooks, as if the cell had been run."""
    (source,) = build.sources(folder)
    for target, solved in build.targets(source).items():
        notebook = build.notebook(source, solved)
        note = nbformat.v4.new_output("stream", name="stdout", text=stored.NOTE)
        outputs = [note]
        notebook.cells[-1].outputs = (
            recordings.beside(outputs, stored.NOTE, picture) if solved else outputs
        )
        put(target, build.text_of(notebook))


def broken(folder):
    (source,) = build.sources(folder)
    return [fault for rule in (unrecorded, unsaid, elsewhere, unpaged) for fault in rule(source)]


def test_a_recorded_cell_keeps_the_rules(lessons):
    assert broken(lessons) == []
    assert recordings.find(lessons, "01-bars") == PICTURE
    assert not build.old_pictures(lessons)


def changed(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.table
@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("source/01_small.py", ', "recorded-bars"', "", "has no tag recorded-name"),
        ("source/01_small.py", "recorded-bars", "recorded-other", "01-other was not recorded"),
        ("images/01-bars.svg", "2026-01-31", "some day", "does not say '2026-01-31'"),
        ("images/01-bars.svg", "Recorded on", "Measured here", "says 'Measured here'"),
        ("images/01-bars.svg", "A</title>", "B</title>", "do not show 01-bars as it was recorded"),
        ("data/recorded/01-bars.json", "ARGS=01", "ARGS=02", "its command is make record ARGS=02"),
        ("solutions/01_small.ipynb", "Recorded on a processor", "On it", "do not say above"),
        ("solutions/01_small.ipynb", '"recorded": "01-bars"', '"a": ""', "do not show 01-bars"),
        ("instructor/01.md", "bars.svg", "pie.svg", "01-bars is not on 01.md"),
    ],
)
def test_a_rule_sees(lessons, file, old, new, sentence):
    changed(lessons / file, old, new)
    assert any(sentence in fault for fault in broken(lessons))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("machine",), {}),
        (("machine", "processor"), ""),
        (("machine", "date"), ""),
        (("machine", "versions"), {"python": ""}),
        (("command",), ""),
        (("lines",), []),
        (("picture", "text"), ""),
        (("picture", "threads"), 0),
    ],
    ids=str,
)
def test_figures_name_machine_date_and_command(lessons, place, value):
    _, path = recordings.files_of(lessons, "01-bars")
    data = part = json.loads(path.read_text())
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    path.write_text(json.dumps(data))
    with pytest.raises(InputError):
        recordings.find(lessons, "01-bars")


@pytest.mark.parametrize(("kept", "gone"), [(0, "figures"), (1, "picture")])
def test_a_picture_without_figures_is_none(lessons, kept, gone):
    recordings.files_of(lessons, "01-bars")[1 - kept].unlink()
    expected = f"the recording 01-bars has no {gone}; write both again with `{COMMAND}`."
    with pytest.raises(InputError, match=expected):
        recordings.find(lessons, "01-bars")


def test_the_picture_of_the_solutions_is_that_of_the_file(lessons):
    changed(lessons / "images/01-bars.svg", "A</title>", "B</title>")
    assert build.old_pictures(lessons) == [lessons / "images/01-bars.svg"]


# -- make record ----------------------------------------------------------------------------------

RUN = """# %% [markdown]
# # A lesson

# %% tags=["nbval-ignore-output", "recorded-bars"]
from memlab.measure.timing import BenchmarkLine
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.table import Paragraphs
from memlab.pictures.values.recordable import Recordable


class Bars(Recordable):
    lines = [
        BenchmarkLine("tile", {seconds}, "s", None, ({seconds},) * 3),
        BenchmarkLine("peak", 96, "B"),
    ]

    def page(self):
        return Page("Bars", [Paragraphs("It took 4 ms.")])


import platform
from datetime import date

print(platform.machine(), date.today(), "took 3 s")
Bars()
"""


def run(folder, capsys, text="", *names):
    """Record the lesson as it is now: the status and what is said."""
    put(folder / "source/01_small.py", text or RUN.replace("{seconds}", "0.004"))
    status = record.main([*names], folder)
    said = capsys.readouterr()
    return status, said.out + said.err


@pytest.fixture
def empty(tmp_path):
    put(tmp_path / "lessons/source/glossary.toml", "term = []")
    return tmp_path / "lessons"


def kept(folder):
    picture = recordings.find(folder, "01-bars")
    assert picture
    return picture


@pytest.mark.measures
def test_a_cell_is_recorded_and_then_it_is_said_what_moved(empty, capsys, monkeypatch):
    monkeypatch.setattr(record, "load_now", lambda: 0.1)
    status, said = run(empty, capsys)
    assert (status, "recorded for the first time" in said) == (0, True)
    first = kept(empty)
    assert first.recorded.result.lines[0] == BenchmarkLine("tile", 0.004, "s", None, (0.004,) * 3)
    assert 0 < first.recorded.line(record.WHOLE).value < kernel.SECONDS
    assert first.load == 0.1
    solved = cells(empty / "solutions/01_small.ipynb")[1]["outputs"]
    assert [recordings.is_recorded(output) for output in solved] == [False, True]
    assert solved[1]["data"].keys() == {stored.SVG, "text/plain"}
    (source,) = build.sources(empty)
    put(empty / "01_small.ipynb", build.text_of(build.notebook(source, solved=False)))
    put(empty / "instructor/01.md", "![Bars](../images/01-bars.svg)")
    assert broken(empty) == []
    status, said = run(empty, capsys, RUN.replace("{seconds}", "0.006"), "01")
    assert re.search(r"tile +4\.00 ms -> +6\.00 ms +1\.50 x  MOVED\n", said)
    assert re.search(r"peak +96 B -> +96 B +1\.00 x\n", said)
    assert "1 of 3 moved by more than their runs spread" in said
    assert build.main(["01"], empty) == 0  # a build shows what is recorded
    assert kept(empty).recorded.result.lines[0].value == 0.006
    assert broken(empty) == []


@pytest.mark.measures
@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("Bars()\n", "print('scikit-learn is missing')\n", "It says: scikit-learn is missing"),
        ("Bars()\n", "1 / 0\n", "a cell raised ZeroDivisionError"),
        ("{seconds}", "float('nan')", "these figures are damaged"),
    ],
)
def test_nothing_is_written_where_something_is_missing(empty, capsys, old, new, sentence):
    text = RUN.replace(old, new).replace("{seconds}", "0.004")
    before = {path for path in empty.rglob("*") if path.is_file()}
    status, said = run(empty, capsys, text)
    assert (status, sentence in said) == (1, True), said
    after = {path for path in empty.rglob("*") if path.is_file()}
    assert after - before == {empty / "source/01_small.py"}


@pytest.mark.parametrize(
    ("text", "names", "sentence"),
    [
        ("# %%\n1\n", [], "No lesson has a cell to record; tag a measured one"),
        ("# %%\n1\n", ["01"], "01_small has no cell to record"),
        ("# %%\n1\n", ["07"], "No lesson is called '07'"),
        ('# %% tags=["recorded-a"]\n1\n', [], "01-a: a measured cell is recorded; tag it"),
        (MEASURED * 2, [], "01-bars is the picture of two cells"),
    ],
)
def test_what_cannot_be_recorded_gets_one_sentence(empty, capsys, text, names, sentence):
    status, said = run(empty, capsys, text, *names)
    assert (status, sentence in said) == (1, True), said


@pytest.mark.parametrize(("load", "busy"), [(1.9, True), (0.1, False), (None, False)])
def test_a_busy_machine_is_told(empty, capsys, monkeypatch, load, busy):
    monkeypatch.setattr(record, "load_now", lambda: load)
    _, said = run(empty, capsys, "# %%\n1\n")
    assert ("This machine is busy: load 1.9" in said) is busy


def timed(*samples):
    return BenchmarkLine("tile", sorted(samples)[len(samples) // 2], "s", None, samples)


@every_row(
    ("before", "now", "moved"),
    [
        (timed(1.0, 1.1, 1.2), timed(1.05, 1.15, 1.2), False),
        (timed(1.0, 1.1, 1.2), timed(1.3, 1.4, 1.5), True),
        (timed(1.0, 1.1, 1.2), timed(0.7, 0.8, 0.9), True),
        (timed(1.0, 1.1, 9.0), timed(1.05, 1.2, 1.3), False),
        (timed(1.0), timed(9.0), False),  # of one sample nobody knows the spread
        (BenchmarkLine("fall", 13.0, "x"), BenchmarkLine("fall", 15.0, "x"), False),
        (BenchmarkLine("peak", 96, "B"), BenchmarkLine("peak", 100, "B"), True),
    ],
)
def test_moved_is_what_lies_further_apart_than_the_runs_spread(before, now, moved):
    assert record.apart(before, now) is moved
    assert record.apart(now, before) is moved


def test_figures_that_come_and_go_are_told():
    lines = (FIGURES[0], BenchmarkLine("rival", 0.2, "s"))
    other = replace(PICTURE, recorded=replace(FOUND, result=Result("01-bars", MACHINE, lines)))
    said = "\n".join(record.moved(PICTURE, other))
    assert re.search(r"rival +is new: 200 ms", said)
    assert re.search(r"peak +is gone", said)
    assert "load 0.2" in said
