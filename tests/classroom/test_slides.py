"""Slides of lessons: how notebooks are cut, and what the page holds."""

from __future__ import annotations

import json
import os
import re
from itertools import pairwise

import nbformat
import pytest

from lessons import build
from memlab.classroom.slides import card_text, deck
from memlab.classroom.slides.deck import Slide
from memlab.classroom.slides.page import lessons, notebook_of, page
from memlab.errors import InputError
from memlab.lesson.card_question import topics

TWIN = """Recall. Which array is freed by the operation that makes it?
  map: The output.
  workspace: The workspace.
your guess     The output
because        it is large
your revision  The workspace
right answer   The workspace
Does no later operation read the output?
Your revision: Right.
No later operation reads the workspace.
The same on new numbers: lesson.recall("03.inside").retry()."""
FETCHED = re.compile(r"""(?:src|href)=["'](?!#|data:)|url\((?!#)|@import|\bimport\(|fetch\(""")


def markdown(text):
    return {"cell_type": "markdown", "source": text}


def code(source, *outputs):
    return {"cell_type": "code", "source": source, "outputs": list(outputs)}


def drawn(words, svg="<svg></svg>"):
    data = {"image/svg+xml": svg, "text/plain": words}
    return {"output_type": "display_data", "data": data}


def printed(text):
    return {"output_type": "stream", "name": "stdout", "text": text}


def looks(slides):
    return [(slide.heading, slide.kind) for slide in slides]


# -- the text of a card -------------------------------------------------------------------------


def test_an_answered_card_is_read_in_parts():
    card = card_text.read(TWIN)
    assert card.options == ("The output.", "The workspace.")
    assert card.figures == (("right answer", "The workspace"),)
    assert (card.guess, card.diagnosis) == (
        "The output",
        "Does no later operation read the output?",
    )
    assert card.said == ("No later operation reads the workspace.",)


def test_what_a_card_says_to_a_right_guess_is_left_out():
    card = card_text.read("Recall. Why?\nyour guess    b\nright answer  b\nRight.\nBecause.")
    assert (card.guess, card.diagnosis, card.said) == ("", "", ("Because.",))


def test_a_card_in_another_language_is_read_too():
    text = "回忆。 哪个\n  a: 甲。\n你的猜测  乙\n正确答案  甲\n为什么\n因为。"
    card = card_text.read(text)
    assert (card.guess, card.diagnosis, card.said) == ("乙", "为什么", ("因为。",))
    assert "<span>回忆。</span> 哪个" in card_text.question_html(card)


def test_a_question_is_shown_with_letters_and_without_code():
    how = 'Answer with lesson.recall("x").guess("...").'
    html = card_text.question_html(card_text.read(f"Recall. Is a < b?\n  yes: Yes.\n{how}"))
    assert "<span>Recall.</span> Is a &lt; b?" in html
    assert "<li>Yes.</li>" in html
    assert "guess" not in html


# -- how a notebook is cut ----------------------------------------------------------------------


def test_each_heading_begins_a_slide_and_the_first_one_has_its_line():
    slides = deck.deck([markdown("# Title\n\n45 minutes.\n\nMore.\n\n## Part\n\nText.")])
    assert looks(slides) == [("Title", "title"), ("Title", "text"), ("Part", "text")]
    assert [slide.lead for slide in slides] == ["45 minutes.", "More.", "Text."]
    assert [slide.goes_on for slide in slides] == [False, True, False]


def test_a_long_text_is_cut_between_paragraphs_and_nothing_is_lost():
    parts = [f"{number} {'word ' * 50}".strip() for number in range(9)]
    slides = deck.deck([markdown("\n\n".join(parts))])
    assert len(slides) > 1
    assert [part for slide in slides for part in slide.lead.split("\n\n")] == parts
    assert all(deck.height(slide) <= deck.LINES for slide in slides)


def test_a_comment_in_a_block_of_code_is_no_heading():
    text = "## Part\n\n```\n# not a heading\n\nx = 1\n```\n\n- one\n- two\n  - below\n\nEnd."
    (slide,) = deck.deck([markdown(text)])
    assert slide.heading == "Part"
    assert slide.lead == text.partition("\n\n")[2]


def test_a_picture_of_an_own_notebook_is_no_question_and_a_table_is_not_lost():
    table = {"output_type": "execute_result", "data": {"text/html": "<table></table>"}}
    cells = [markdown("## Part"), code("plt.show()", drawn("Bars")), code("data", table), code("x")]
    slides = deck.deck(cells)
    assert [slide.kind for slide in slides] == ["picture", "table", "code"]
    assert slides[1].html == "<table></table>"


def test_a_picture_beside_an_own_notebook_is_in_the_page(tmp_path):
    (tmp_path / "dot.png").write_bytes(b"dot")
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_markdown_cell("Look: ![a dot](dot.png)")]
    nbformat.write(notebook, tmp_path / "own.ipynb")
    assert 'src="data:image/png;base64,ZG90"' in page(tmp_path / "own.ipynb")[0]


def test_links_within_the_lessons_become_words_and_others_stay():
    text = '[tile](glossary.md#tile "A part"), [next](04_cuda.ipynb), [site](https://example.org)'
    assert deck.deck([markdown(text)])[0].lead == "tile, next, [site](https://example.org)"


def test_a_short_text_stands_above_the_code_that_it_leads_to():
    (slide,) = deck.deck([markdown("## Part\n\nRun it:"), code("x = 1\nx", printed("1\n"))])
    assert (slide.heading, slide.lead, slide.code, slide.printed) == (
        "Part", "Run it:", "x = 1\nx", "1\n",
    )  # fmt: skip


def test_a_question_its_answer_and_its_picture_are_three_slides_in_this_order():
    asked = code('lesson.recall("03.inside")', drawn("Recall. Which?\n  a: A."))
    solved = code('lesson.recall("03.inside").guess("a").reveal()', drawn(TWIN), drawn("Bars  2"))
    slides = deck.deck([asked, solved])
    assert [slide.kind for slide in slides] == ["question", "answer", "picture"]
    assert slides[0].caption == 'lesson.recall("03.inside")'
    assert "right answer" not in str(slides[0])


def test_code_stands_above_a_picture_only_where_there_is_room():
    for lines, count in ((deck.CODE_BESIDE, 1), (deck.CODE_BESIDE + 1, 2)):
        assert len(deck.deck([code("\n".join(["x"] * lines), drawn("Bars"))])) == count


def test_long_code_is_cut_and_whole():
    source = "\n".join(f"x = {line}" for line in range(50))
    slides = deck.deck([code(source)])
    assert "\n".join(slide.code for slide in slides) == source
    assert max(slide.code.count("\n") for slide in slides) < deck.CODE_LINES


def test_the_check_of_an_exercise_and_the_note_for_a_measured_cell_are_left_out():
    note = printed("Run this cell: what it shows depends on your machine. It names the machine.\n")
    assert deck.deck([code("exercise.check(f)", printed("Not yet"))]) == []
    assert deck.deck([code("f()", note)]) == [Slide("", "code", code="f()")]


# -- the lessons --------------------------------------------------------------------------------


def cells(name, solved=False):
    return nbformat.read(notebook_of(name, solved), as_version=4).cells


@pytest.mark.parametrize("name", [name for name in lessons() if name[0].isdigit()])
def test_each_card_of_a_lesson_is_a_slide_and_its_answer_follows(name):
    source = next((build.LESSONS / "source").glob(f"{name}.py")).read_text(encoding="utf-8")
    named = re.findall(r'^lesson\.(?:predict|recall|change)\("([\w.]+)"\)$', source, re.MULTILINE)
    asked = [ask for ask in named if ask in topics()]
    slides = deck.deck(cells(name, solved=True))
    found = [re.findall(r'"([\w.]+)"', slide.caption)[0] for slide in slides
             if slide.kind == "question" and "exercise" not in slide.caption]  # fmt: skip
    assert found == asked
    for slide, after in pairwise(slides):
        if slide.kind == "question" and "exercise" not in slide.caption:
            assert after.kind == "answer"
            assert after.card
            assert slide.card
            assert after.card.question == slide.card.question
    assert not [slide for slide in deck.deck(cells(name)) if slide.kind == "answer"]


def test_every_picture_is_stored_at_its_first_level():
    more = re.compile(r"""\bdetail=|\bnumbers=True|\bformulas=True""")
    for source in build.sources(build.LESSONS):
        assert not more.search(source.read_text(encoding="utf-8")), source.name


def test_a_page_loads_nothing_and_repeats_no_link():
    html, count = page(notebook_of("03", solved=True))
    assert not FETCHED.findall(re.sub(r"<a [^>]*>", "", html))
    assert html.count("<section ") == count > 20


def test_a_page_may_begin_dark():
    (light, _), (dark, _) = page(notebook_of("leak")), page(notebook_of("leak"), dark=True)
    assert '<html data-theme="dark" lang="en">' in dark
    assert light == dark.replace(' data-theme="dark"', "")


# -- which notebook -----------------------------------------------------------------------------


def test_a_lesson_is_named_by_its_number_its_name_or_a_path(tmp_path):
    assert notebook_of("03") == notebook_of("03_lowering") == build.LESSONS / "03_lowering.ipynb"
    assert notebook_of("03", solved=True).parent.name == "solutions"
    assert notebook_of("leak", solved=True).name == "10_leak.ipynb"
    assert notebook_of("mine/week.ipynb").name == "week.ipynb"


def test_a_translated_lesson_is_taken_in_the_language_of_the_reader(monkeypatch):
    monkeypatch.setattr("memlab.strings.language", lambda: "zh")
    for solved in (False, True):
        file = notebook_of("01", solved)
        assert "zh" in file.parts
        assert ("solutions" in file.parts) == solved
    html, _ = page(file)
    assert '<html lang="zh">' in html
    assert "MEMLAB_LANGUAGE" not in html
    assert notebook_of("03").parent == build.LESSONS


@pytest.mark.parametrize(
    ("lesson", "solved", "text"),
    [
        ("99", False, "unknown lesson '99'. Known: 00_start,"),
        ("seller", True, "seller has no exercise"),
        ("mine.ipynb", True, "--solved is of memlab's lessons"),
    ],
)
def test_what_is_no_lesson_gets_a_sentence(lesson, solved, text):
    with pytest.raises(InputError, match=text):
        notebook_of(lesson, solved)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is no notebook"),
        ('{"cells": 1}', "is no notebook"),
        (json.dumps(nbformat.v4.new_notebook()), "has no cell to show"),
    ],
)
def test_a_file_that_is_no_notebook_gets_a_sentence(tmp_path, text, told):
    file = tmp_path / "week.ipynb"
    file.write_text(text)
    with pytest.raises(InputError, match=told):
        page(file)


def test_the_command_writes_a_page_and_says_how_many_slides(tmp_path, capsys, monkeypatch):
    from memlab import cli

    monkeypatch.chdir(tmp_path)
    assert cli.main(["slides", "leak"]) == 0
    assert re.match(r"leak\.html: \d+ slides, ", capsys.readouterr().out)
    assert (tmp_path / "leak.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


# -- in a browser -------------------------------------------------------------------------------

SHOWN = list(lessons()) if os.environ.get("MEMLAB_CLASSROOM") == "full" else ["03", "06", "12"]
CUT_OFF = """() => [...document.querySelectorAll(".slide")].flatMap((slide, index) =>
    [slide, ...slide.querySelectorAll(".body, pre, table, figure")]
        .filter(box => box.scrollHeight > box.clientHeight + 1
            || box.scrollWidth > box.clientWidth + 1
            || box.getBoundingClientRect().right > innerWidth)
        .map(box => `slide ${index + 1}: ${box.tagName} ${box.className}`))"""
SMALLEST = """() => Math.min(...[...document.querySelectorAll(".body :is(pre, p, li, td)")]
    .map(box => parseFloat(getComputedStyle(box).fontSize)))"""
SCROLLED = "Math.round(document.documentElement.scrollTop / innerHeight)"


@pytest.mark.measures
def test_nothing_is_cut_off_and_the_keys_work(browser, tmp_path, findings):
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    tab, errors = context.new_page(), []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    for name in SHOWN:
        file = tmp_path / f"{name}.html"
        html, count = page(notebook_of(name, solved=name[:2].isdigit()))
        file.write_text(html, encoding="utf-8")
        tab.goto(file.as_uri())
        assert tab.evaluate(CUT_OFF) == []
        assert tab.evaluate(SMALLEST) >= 17.9
    for key, at in (("ArrowRight", 1), (" ", 2), ("ArrowLeft", 1), ("End", count - 1), ("Home", 0)):
        tab.keyboard.press(key)
        tab.wait_for_function(f"{SCROLLED} === {at}")
    printed = tab.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == count
    words = tab.locator(".words").first
    tab.goto(f"{file.as_uri()}#{words.evaluate('text => text.parentElement.id')}")
    assert words.is_hidden()
    tab.keyboard.press("t")
    assert words.is_visible()
    html, _ = page(notebook_of("00", solved=True))
    file.write_text(html, encoding="utf-8")
    tab.goto(file.as_uri())
    assert findings(tab, "main") == []
    tab.keyboard.press("l")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 27)"
    assert findings(tab, "main") == []
    tab.evaluate("document.querySelector('.body').append('a long text '.repeat(400))")
    assert tab.evaluate(CUT_OFF) == ["slide 1: DIV body"]
    context.close()
    assert errors == []
