"""Texts, notebooks and links of the site, one by one."""

import json
from pathlib import Path

import pytest

from memlab import InputError
from web.live import KERNELS
from web.pyodide import PUBLISHED, ROOT
from web.site import build, lessons, markdown, notebook, serve
from web.site.code import highlighted
from web.site.markdown import Headings
from web.site.places import places, relative

NAMES = "The peak. \u5cf0\u503c · \u30d4\u30fc\u30af\uff08\u6700\u5927\u4f7f\u7528\u91cf\uff09"


def html(text, resolve=str):
    return markdown.html(text, resolve, Headings())


def test_a_link_between_files_leads_to_their_pages():
    known = places(extra=build.OWN)
    file = "lessons/appendix/slips.ipynb"
    assert known.resolve("../01_linear.ipynb", file) == "../01_linear.html"
    assert known.resolve("../glossary.md#peak", file) == "../glossary.html#peak"
    assert known.resolve("../../README.md#lessons", file) == "../../index.html#lessons"
    assert known.resolve("claims:", file) == "../../claims.html"


def test_a_link_to_what_the_site_does_not_show_is_its_text():
    known = places()
    assert known.resolve("../memlab/units.py", "docs/house.md") == ""
    assert html("[the units](units.py) count", lambda link: "") == "<p>the units count</p>\n"


def test_a_dead_link_and_an_undeclared_source_are_refused():
    known = places()
    with pytest.raises(InputError, match="not there"):
        known.resolve("gone.ipynb", "lessons/01_linear.ipynb")
    with pytest.raises(InputError, match="no declared source"):
        known.resolve("https://example.org/", "lessons/01_linear.ipynb")


def test_headings_have_ids_and_none_twice():
    headings = Headings()
    text = markdown.html("## The case\n\n## The case\n\n## 这是什么", str, headings)
    assert [row[1] for row in headings.rows] == ["the-case", "the-case-2", "这是什么"]
    assert '<h2 id="the-case-2">' in text


def test_names_of_terms_say_their_languages():
    assert '<span lang="zh">峰值</span> · <span lang="ja">' in html(NAMES)
    table = html("| term | 中文 |\n|---|---|\n| peak | 峰值 |")
    assert '<td lang="zh">峰值</td>' in table
    assert '<th lang="zh">' in table


def test_what_a_text_claims_leads_to_the_table():
    assert html("less<sup>B5, D2</sup>", lambda link: "claims.html") == (
        '<p>less<sup><a href="claims.html#B5">B5</a>, <a href="claims.html#D2">D2</a></sup></p>\n'
    )


def test_comments_are_left_out():
    assert html("a\n\n<!-- numbers\n1 = 2\n-->") == "<p>a</p>\n"


def test_code_is_escaped():
    assert highlighted("x < 1", "nonsense") == "x &lt; 1"
    assert "&lt;" in highlighted("x < 1")


def cell(**parts):
    return {"cell_type": "code", "id": "c1", "metadata": {}, "source": "x", "outputs": []} | parts


def test_a_cell_keeps_to_the_contract_of_pages():
    made = notebook.body([cell(source="a < b")], str, Headings())
    assert '<section class="cell" data-cell="c1">' in made
    assert '<div class="code"><pre class="source"' in made
    assert "<code>a &lt; b</code>" in made
    assert '<div class="output"></div>' in made


def test_outputs_are_shown_as_stored():
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["1 <\n", "2"]},
        {"output_type": "error", "ename": "NameError", "evalue": "no x"},
        {"output_type": "display_data",
         "data": {"image/svg+xml": "<svg><title>A</title></svg>", "text/plain": "A & B"}},
    ]  # fmt: skip
    made = notebook.body([cell(outputs=outputs)], str, Headings())
    assert "1 &lt;\n2</pre>" in made
    assert '<pre class="error">NameError: no x</pre>' in made
    assert 'aria-label="A"><svg><title>A</title></svg></div>' in made
    assert ">A &amp; B</pre></details>" in made


def test_what_the_notebook_folds_is_folded():
    hidden = cell(metadata={"jupyter": {"source_hidden": True}})
    assert "<details><summary>" in notebook.body([hidden], str, Headings())


def test_the_order_of_the_lessons_is_told_by_the_docs():
    assert [lesson.number for lesson in lessons.spine()][:4] == ["00", "01", "02", "07"]
    first = lessons.find("01")
    assert (first.minutes, first.needs, first.title) == (45, ("00",), "One linear layer")
    assert first.question == "What must one training step keep?"
    assert {*lessons.spine(), *lessons.side_roads()} == {*lessons.lessons()}


def test_a_lesson_is_followed_by_its_neighbours_and_its_solutions():
    page = build.notebook_page("lessons/02_network.ipynb", places())
    links = [(kind, link.partition('"')[2].partition('"')[0]) for kind, _, link in page.around]
    assert links == [
        ("previous", "01_linear.html"), ("next", "03_lowering.html"),
        ("solutions", "solutions/02_network.html"), ("instructor", "instructor/02.html"),
    ]  # fmt: skip


def test_a_translated_lesson_says_its_language():
    page = build.notebook_page("lessons/zh/01_linear.ipynb", places())
    assert page.language == "zh"
    assert page.root == "../../"
    assert relative("index.html", page.place) == "../../index.html"


def test_the_server_knows_every_kind_of_file_of_a_site():
    kinds = serve.Handler.extensions_map
    live = [*PUBLISHED.core, *KERNELS, "numpy.whl"]
    assert {Path(name).suffix for name in live} <= {*kinds}
    assert kinds[".wasm"] == "application/wasm"


def test_every_cell_of_a_notebook_has_a_name():
    for file in ROOT.glob("lessons/*.ipynb"):
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        names = [each["id"] for each in cells]
        assert len(set(names)) == len(names), file
