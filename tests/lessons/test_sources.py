"""Every lesson is in step with its source, and its files are for every machine."""

import json
import re

import pytest

from lessons import build, stored
from memlab.cli.lessons import copy_lessons
from tests.rows import every_row

SOURCES = build.sources(build.LESSONS)
NOTEBOOKS = [target for source in SOURCES for target in build.targets(source)]
ABSOLUTE = re.compile(r"(?<![\w.:/<²])/(?:[\w.-]+/)+[\w.-]+|\b[A-Z]:\\\w")
LINK = re.compile(r"\]\(([^)#\s]+)")
PICTURE, FILE = 200_000, 10**6

notebooks = every_row("path", NOTEBOOKS)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def cells(notebook, kind):
    """The texts of all cells of a kind."""
    return ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == kind]


def outputs(notebook):
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def strings(tree):
    """Every text in a piece of JSON."""
    if isinstance(tree, str):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return [text for part in parts for text in strings(part)]


# -- the rules: each returns what breaks it -----------------------------------------------------


def not_for_a_file(notebook):
    """Errors, warnings and live widgets."""
    faults = ["metadata.widgets"] if "widgets" in notebook["metadata"] else []
    for output in outputs(notebook):
        if output["output_type"] == "error" or output.get("name") == "stderr":
            faults.append("".join(output.get("text", output.get("evalue", ""))))
        faults += [kind for kind in output.get("data", {}) if kind == stored.WIDGET]
    return faults


def absolute_paths(notebook):
    return ABSOLUTE.findall("\n".join(strings(outputs(notebook))))


def large_pictures(notebook):
    kinds = [(k, d) for output in outputs(notebook) for k, d in output.get("data", {}).items()]
    return [k for k, d in kinds if k.startswith("image/") and len("".join(d)) > PICTURE]


def dead_links(path, notebook):
    """Relative links that lead nowhere."""
    links = LINK.findall("\n".join(cells(notebook, "markdown")))
    here = [link for link in links if not re.match(r"[a-z]+:", link)]
    return [link for link in here if not (path.parent / link).exists()]


# -- the lessons --------------------------------------------------------------------------------


@pytest.mark.measures  # some claims of the readings are computed by a run
def test_nothing_is_stale():
    assert build.stale(build.LESSONS) == []


@notebooks
def test_its_outputs_are_for_every_machine(path):
    notebook = read(path)
    assert not_for_a_file(notebook) == []
    assert absolute_paths(notebook) == []


@notebooks
def test_every_code_cell_has_been_run(path):
    code = [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))


@notebooks
def test_it_is_small(path):
    assert large_pictures(read(path)) == []
    assert path.stat().st_size < FILE


@notebooks
def test_its_links_lead_somewhere(path):
    assert dead_links(path, read(path)) == []


def test_the_links_of_a_working_copy_lead_somewhere(tmp_path):
    copy_lessons(build.LESSONS, tmp_path)
    dead = {path.name: dead_links(path, read(path)) for path in tmp_path.glob("*.ipynb")}
    assert not any(dead.values()), dead


# -- the rules see what breaks them -------------------------------------------------------------


def with_cells(*cells):
    return {"cells": list(cells), "metadata": {}}


def code(source="", *outputs):
    return {"cell_type": "code", "source": [source], "outputs": list(outputs)}


def prose(source):
    return {"cell_type": "markdown", "source": [source]}


def shown(**data):
    data = {kind.replace("_", "/"): value for kind, value in data.items()}
    return {"output_type": "display_data", "data": data}


def printed(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": [text]}


@every_row(
    ("rule", "breaks", "follows"),
    [
        (not_for_a_file, code("", {"output_type": "error", "evalue": "x"}), code("", printed("4"))),
        (not_for_a_file, code("", printed("warning", "stderr")), code("", shown(text_plain="4"))),
        (not_for_a_file, code("", {**shown(), "data": {stored.WIDGET: {"model_id": "0"}}}), code()),
        (absolute_paths, code("", printed("in /opt/python/bin")), code("", printed("1 B/image"))),
        (absolute_paths, code("", printed(r"in C:\Users")), code("", printed("k²/s² / 2"))),
        (absolute_paths, code("", shown(text_plain=["/home/a/x.py"])), code("/home/a/x.py")),
        (
            absolute_paths,
            code("", shown(text_html="<a href='/home/a/b'>")),
            code("", shown(image_svg="<svg xmlns='http://www.w3.org/2000/svg'><g></g></svg>")),
        ),
        (large_pictures, code("", shown(image_svg="x" * 200_001)), code("", shown(image_svg="x"))),
    ],
)
def test_a_rule_sees_what_breaks_it(rule, breaks, follows):
    assert rule(with_cells(breaks))
    assert not rule(with_cells(follows))


def test_stored_widgets_are_seen():
    assert not_for_a_file({"cells": [], "metadata": {"widgets": {}}})


def test_a_dead_link_is_seen(tmp_path):
    (tmp_path / "glossary.md").touch()
    links = prose("[a](glossary.md#peak) [b](gone.ipynb) [c](https://example.org) [d](#here)")
    assert dead_links(tmp_path / "00_start.ipynb", with_cells(links)) == ["gone.ipynb"]
