"""The tables of a class: what each row says, what Canvas and Moodle get, and nothing that runs."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from memlab.classroom import files, marking, reasons, report, roster, tables
from memlab.classroom.batch import Batch, Graded, blank
from memlab.classroom.confinement import RECIPE
from memlab.classroom.limits import Limits
from memlab.classroom.marks import STATES, CardCall, NotebookMarks, QuestionMark
from memlab.classroom.submissions import handed_in
from memlab.errors import InputError
from tests.classroom.handing_in import (
    CARD,
    EXERCISE,
    LESSON,
    grade,
    notebook,
    record,
    turn,
    unstarted,
    write,
)

HINTS = {"checks": 4, "passed": None, "hints": 2, "solution": "2026-01-01T00:00:00+00:00"}
CLASS = {
    "ada/02_network.ipynb": notebook("passed"),
    "ada/progress.json": record(5, {CARD: [turn("3", False), turn()]}, {EXERCISE: HINTS}),
    "bo/02_network.ipynb": notebook("failed"),
    "bo/progress.json": record(6, {CARD: [turn("", None)]}),
    "cy/02_network.ipynb": notebook("review"),
    "cy/progress.json": "{",
    "di/notes.txt": "",
}


def graded(folder):
    """What was handed in, and the marks of all of it, without a process."""
    handed = handed_in(folder)
    return handed, Batch([
        Graded(one, handed.seed(one.learner),
               grade(one.notebook, 1, unstarted(), None, one.lesson[:2]))
        for one in handed.submissions
    ])  # fmt: skip


def read(text):
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


@pytest.fixture
def a_class(tmp_path):
    handed, batch = graded(write(tmp_path, CLASS))
    return handed, batch, tables.rows(handed, batch.graded, trusted=False)


def test_a_row_has_the_mark_and_what_the_progress_file_says(a_class):
    table = read(tables.marks_csv(a_class[2]))
    rows = {(row["learner"], row["question"]): row for row in table}
    ada = rows["ada", EXERCISE]
    assert (ada["state"], ada["points"], ada["of"]) == ("passed", "1", "1")
    assert (ada["hints used"], ada["attempts"], ada["solution shown"]) == ("2", "4", "yes")
    assert (ada["seed"], ada["seed from"], ada["confinement"]) == ("5", "progress.json", "confined")
    assert (rows["ada", CARD]["state"], rows["ada", CARD]["attempts"]) == ("passed", "2")
    bo = rows["bo", EXERCISE]
    assert (bo["state"], bo["points"]) == ("failed", "0")
    assert bo["verdict"] == "Not yet: 3 of 60 fresh cases disagree."
    assert bo["smallest failing case"] == "The smallest of them is a 1. There f gave 2."
    assert bo["hint"] == "Why?"
    assert (rows["bo", CARD]["state"], rows["bo", CARD]["points"]) == ("skipped", "0")
    cy = rows["cy", EXERCISE]
    assert (cy["state"], cy["points"], cy["seed from"]) == ("review", "", "name")
    assert rows["cy", CARD]["review"] == "progress.json could not be read"
    assert rows["cy", CARD]["points"] == ""


def test_only_a_wrong_answer_has_a_smallest_failing_case(a_class):
    mark = QuestionMark(
        EXERCISE, "exercise", "passed", "Agrees on 60 fresh cases.\nNo more memory."
    )
    assert tables._said(mark) == {"verdict": mark.said}
    assert tables._said(replace(mark, state="failed", said="Not yet."))["hint"] == ""


def test_a_notebook_that_cannot_be_read_costs_no_answered_card(tmp_path):
    files = {"ada/02_network.ipynb": "{", "ada/progress.json": record(1, {CARD: [turn()]})}
    handed = handed_in(write(tmp_path, files))
    (one,) = handed.submissions
    marks = marking.grade_notebook(one.notebook, 1, unstarted(), Limits(), "02")
    table = tables.rows(handed, [Graded(one, 1, marks)], trusted=False)
    points = {row.question: row.points for row in table}
    assert (points[CARD], points[EXERCISE], points["02.reads"]) == (1, None, None)


def test_who_handed_in_nothing_has_a_row_for_each_question(a_class):
    rows = [row for row in a_class[2] if row.learner == "di"]
    assert {row.question for row in rows} == {mark.question for mark in blank(LESSON, "")}
    assert {(row.state, row.points) for row in rows} == {(tables.NOTHING, 0)}


def test_a_class_without_a_notebook_has_a_row_for_each_learner(tmp_path):
    handed, batch = graded(write(tmp_path, {"ada/x.txt": "", "bo/y.txt": ""}))
    rows = tables.rows(handed, batch.graded, trusted=False)
    assert [(row.learner, row.state) for row in rows] == [
        ("ada", tables.NOTHING), ("bo", tables.NOTHING)]  # fmt: skip


def test_a_peak_is_marked_as_self_measured_and_a_trusted_run_as_trusted(tmp_path):
    handed, batch = graded(write(tmp_path, {"ada/02_network.ipynb": notebook("passed")}))
    (one,) = batch.graded
    marks = tuple(replace(mark, peak=123) for mark in one.marks.marks)
    with_peak = Graded(one.submission, 1, NotebookMarks("02", marks))
    row = read(tables.marks_csv(tables.rows(handed, [with_peak], trusted=True)))[0]
    assert (row["peak bytes"], row["peak is"], row["confinement"]) == (
        "123", "self-measured", "trusted")  # fmt: skip


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", " =", "\uff1d"])
def test_a_name_is_never_a_formula(tmp_path, start):
    name = f"{start}cmd|' C'!A0"
    handed, batch = graded(write(tmp_path, {f"{name}/02_network.ipynb": notebook("passed")}))
    table = tables.rows(handed, batch.graded, trusted=False)
    for text in (tables.marks_csv(table), tables.canvas_csv(handed, table, None),
                 tables.moodle_csv(handed, table, None)):  # fmt: skip
        cells = [cell for line in csv.reader(io.StringIO(text)) for cell in line]
        assert not [cell for cell in cells if cell.lstrip()[:1] in tuple("=+-@\t\r\uff1d")]
        assert any("cmd|" in cell for cell in cells)
        assert not [cell for cell in cells if not cell.removeprefix("\ufeff").isprintable()]


def test_no_formula_begins_where_a_spreadsheet_splits_at_semicolons():
    assert tables.cell("a;=1+1; @b") == "a;'=1+1; '@b"


def test_a_long_cell_is_cut_and_control_characters_are_shown():
    assert tables.cell("a\x1b[31mb\nc") == r"a\x1b[31mb c"
    assert len(str(tables.cell("x" * 10_000))) == tables.LONGEST + 3
    assert tables.cell(None) == ""


def test_canvas_gets_its_columns_and_blanks_where_a_person_decides(a_class):
    handed, _, table = a_class
    lines = list(csv.reader(io.StringIO(tables.canvas_csv(handed, table, None))))
    assert lines[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", LESSON]
    assert lines[1][0].strip() == "Points Possible"
    assert lines[1][-1] == "2"
    points = {line[0]: line[-1] for line in lines[2:]}
    assert points == {"ada": "2", "bo": "0", "cy": "", "di": "0"}


CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,02_network (991),Final Score
    Points Possible,,,,,7,(read only)
"Lovelace, Ada",12345,s1,ada,Week,,
"Bo, Bo",222,s2,bo,Week,,
"Elder, Eve",333,s3,eve,Week,,
"Student, Test",9,,,,,
"""
MOODLE = """\ufeffFirst name;Surname;ID number;Email address;Course total
Ada;Lovelace;s1;ada@example.org;-
Bo;Bo;s2;bo@example.org;-
"""


def as_roster(tmp_path, text):
    path = tmp_path / "roster.csv"
    path.write_bytes(text.encode())
    return roster.read(path)


def test_a_roster_of_canvas_fills_in_who_is_who(tmp_path):
    files = {
        "lovelaceada_12345_1_02_network.ipynb": notebook("passed"),
        "bobo_77_2_02_network.ipynb": notebook("failed"),
        "nobody_88_3_02_network.ipynb": notebook("passed"),
    }
    handed, batch = graded(write(tmp_path / "class", files))
    people = as_roster(tmp_path, CANVAS)
    table = tables.rows(handed, batch.graded, trusted=False)
    lines = read(tables.canvas_csv(handed, table, people))
    assert "02_network (991)" in lines[0]
    assert [(line["Student"], line["ID"], line["SIS Login ID"]) for line in lines[1:]] == [
        ("Bo, Bo", "222", "bo"), ("Lovelace, Ada", "12345", "ada")]  # fmt: skip
    said = report.missing(handed, people)
    assert said[0].startswith("nobody is not in the roster")
    assert said[1].startswith("Of the roster, 1 have no folder here")


@pytest.mark.parametrize("name", ["Ada Lovelace", "ada", "s1", "Lovelace, Ada", "LOVELACE ada"])
def test_a_learner_is_found_by_any_of_their_names(tmp_path, name):
    handed, _ = graded(write(tmp_path / "class", {f"{name}/x.txt": ""}))
    for text in (CANVAS, MOODLE):
        person = as_roster(tmp_path, text).find(handed.learners[0])
        assert "Lovelace" in str(person)


def test_moodle_gets_the_columns_by_which_it_knows_a_learner(tmp_path):
    name = "Ada Lovelace_12345_assignsubmission_file_/02_network.ipynb"
    handed, batch = graded(write(tmp_path / "class", {name: notebook("passed")}))
    people = as_roster(tmp_path, MOODLE)
    table = tables.rows(handed, batch.graded, trusted=False)
    (line,) = read(tables.moodle_csv(handed, table, people))
    assert line == {"First name": "Ada", "Surname": "Lovelace", "ID number": "s1",
                    "Email address": "ada@example.org", LESSON: "1"}  # fmt: skip
    (line,) = read(tables.moodle_csv(handed, table, None))
    assert (line["Identifier"], line["Full name"]) == ("Participant 12345", "Ada Lovelace")


WORKSHEET = """Identifier,Full name,Email address,Status,Grade,Maximum grade,Last modified (grade)
Participant 12345,Ada Lovelace,ada@example.org,Submitted,,100.00,-
Participant 7,Bo Bo,bo@example.org,No submission,,100.00,-
"""


def test_a_grading_worksheet_of_moodle_is_filled_in(tmp_path):
    folders = {
        "Ada L._12345_assignsubmission_file_": "failed",
        "Bo Bo_7_assignsubmission_file_": "review",
    }
    contents = {f"{name}/02_network.ipynb": notebook(state) for name, state in folders.items()}
    contents["Ada L._12345_assignsubmission_file_/progress.json"] = record(1, {CARD: [turn()]})
    handed, batch = graded(write(tmp_path / "class", contents))
    people = as_roster(tmp_path, WORKSHEET)
    table = tables.rows(handed, batch.graded, trusted=False)
    ada, bo = read(tables.moodle_csv(handed, table, people))
    assert [*ada] == WORKSHEET.partition("\n")[0].split(",")
    assert (ada["Identifier"], ada["Grade"], ada["Status"]) == (
        "Participant 12345", "50.00", "Submitted")  # fmt: skip
    assert (bo["Full name"], bo["Grade"]) == ("Bo Bo", "")


def test_two_people_of_one_name_are_nobody(tmp_path):
    people = as_roster(tmp_path, CANVAS + '"Lovelace, Ada",444,s4,ada2,Week,,\n')
    handed, _ = graded(write(tmp_path / "class", {"Ada Lovelace/x.txt": "", "ada2/x.txt": ""}))
    one, other = handed.learners
    assert people.find(one) is None
    assert people.find(other)["ID"] == "444"


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "\x00\x00", "Name,Mark\nAda,1\n"])
def test_another_table_is_no_roster(tmp_path, text):
    with pytest.raises(InputError, match="is no table of learners"):
        as_roster(tmp_path, text)


HOSTILE = "<script>alert(1)</script> [x](http://e.org) `a` $x$ | *b* \x1b[31m\n# head"


def test_reasons_are_read_and_never_run():
    records = {"a|da": {"cards": {CARD: [turn("2", False, because=HOSTILE, revision="1.2")]}}}
    page = reasons.page(reasons.reasons(records, []), {CARD: "1.09 x"})
    assert "**Answer:** 1.09 x" in page
    assert "VGG-16" in page
    line = next(line for line in page.splitlines() if line.startswith("- "))
    assert line.startswith(r"- **a\|da** guessed 2 (wrong), revised to 1.2: \<script\>alert\(1\)")
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(page)
    assert not re.search(r"<(script|a|code|table|img|em)\b", html)
    assert html.count("<h1") == html.count("<h2") == html.count("<ul") == html.count("<li") == 1
    assert "\x1b" not in page
    assert "http://" not in page  # nor does GitHub make a link of it


def test_a_reason_is_said_once_and_cut_where_it_is_long():
    records = {"ada": {"cards": {CARD: [turn(because="why"), turn(because="x" * 10_000)]}}}
    said = reasons.reasons(
        records, [("ada", [CardCall(CARD, "2", "why"), CardCall(CARD, "3", "other")])]
    )
    assert [one.because[:5] for one in said] == ["why", "xxxxx", "other"]
    assert max(map(len, reasons.page(said, {}).splitlines())) < 600


def test_a_flood_of_reasons_is_cut():
    cards = {f"02.{n}": [turn(because="why")] for n in range(1000)}
    cards[CARD] = [turn(because=f"why {n}") for n in range(1000)]
    assert len(reasons.reasons({"ada": {"cards": cards}}, [])) == reasons.MOST


def test_a_true_answer_is_found_once(tmp_path, monkeypatch):
    file = tmp_path / "answers.json"
    found = reasons.answers([CARD, "02.no_such"], file)
    assert found == {CARD: "1.09 x"}
    monkeypatch.setattr(reasons, "_answer", lambda topic: "again")
    assert reasons.answers([CARD], file) == found
    assert reasons.answers([CARD, "02.reads"], file) == {**found, "02.reads": "again"}
    monkeypatch.setattr("memlab.__version__", "99")
    assert reasons.answers([CARD], file) == {CARD: "again"}


def test_marks_are_written_before_answers_are_looked_for(a_class, tmp_path, monkeypatch):
    def stop(cards, file):
        raise KeyboardInterrupt

    handed, batch, table = a_class
    monkeypatch.setattr(reasons, "answers", stop)
    with pytest.raises(KeyboardInterrupt):
        files.write(tmp_path / "m.csv", handed, batch, table, None)
    there = {path.name for path in tmp_path.glob("m*")}
    assert there == {"m.csv", "m-canvas.csv", "m-moodle.csv"}


def test_a_page_without_reasons_says_so():
    assert "No reasons were given." in reasons.page([], {})


def test_the_report_says_who_passed_what_looped_and_what_to_look_at(tmp_path):
    files = {**CLASS, "ed/02_network.ipynb": notebook("looped")}
    handed, batch = graded(write(tmp_path, files))
    table = tables.rows(handed, batch.graded, trusted=True)
    facts = report.facts(handed, batch, table, [])
    more = {"at_once": 2, "why_so_many": "one for each core", "files": ["a.csv", "b.csv"]}
    text = report.text({**facts, **more, "confinement": unstarted(trusted=True).said})
    assert (
        f"{EXERCISE}     1 of 5 passed  1 failed, 1 review, 1 nothing handed in, 1 looped" in text
    )
    assert f"Looped: ed in {EXERCISE}." in text
    assert f"Look at cy in {CARD}: progress.json could not be read." in text
    assert "ed, 02_network: A cell looped." in text
    assert "Submissions are not confined" in text
    assert text.endswith("Written: a.csv, b.csv")
    assert "2 at once (one for each core); the largest submission held 5.0 MB" in text


def test_the_line_of_progress_shows_control_characters_and_is_short(tmp_path):
    handed, _ = graded(write(tmp_path, {"a\x1b[2J/02_network.ipynb": notebook("passed")}))
    line = report.progress(1, 20, 30 * handed.submissions, 79)
    assert line.startswith(r"1 of 20 graded; running: a\x1b[2J 02,")
    assert len(line) == 79


def test_the_page_on_grading_names_every_state_and_column():
    page = (Path(__file__).resolve().parents[2] / "docs/grading.md").read_text(encoding="utf-8")
    for state in (*STATES, "skipped", tables.NOTHING):
        assert re.search(rf"`{state}`|\"{state}\"", page), state
    columns = page.partition("| `marks.csv` |")[2].partition("\n")[0]
    for name in tables.marks_csv([]).strip("\ufeff\r\n").split(","):
        assert name in columns, name


def test_the_page_on_grading_has_the_command_of_the_refusal():
    page = (Path(__file__).resolve().parents[2] / "docs/grading.md").read_text(encoding="utf-8")
    command = " ".join(page.replace("\\\n", " ").split())
    assert RECIPE.replace("FOLDER:/class", '"$PWD/handed-in:/class"') in command
