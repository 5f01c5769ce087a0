"""Translations: what is drawn out, what a later run keeps, and that every one of them fits."""

import json
import re
from functools import cache
from string import Formatter

import pytest
from markdown_it import MarkdownIt

from lessons import build, messages, stored
from memlab import hardware, strings
from memlab.lesson.card_question import topics
from memlab.pictures.live import widget
from tests.rows import every_row

LANGUAGES = strings.languages()[1:]
CELL = """## A heading: *where*?

First line of a paragraph,
and its second: `code` and [a link](a.md).

- one item
  in two lines,
- another.

1. numbered

| to do | press |
|---|---|
| go | Tab |

```
not a sentence
```"""
SAID = [
    "A heading: *where*?",
    "First line of a paragraph, and its second: `code` and [a link](a.md).",
    "one item in two lines,",
    "another.",
    "numbered",
    "| to do | press |\n|---|---|\n| go | Tab |",
]


def drawn_out(part, text):
    drawn = []

    def heard(message):
        drawn.append(message)
        return message

    assert part(text, heard) == text
    return drawn


def test_a_message_is_a_heading_an_item_a_paragraph_or_a_table():
    assert sorted(drawn_out(messages.prose, CELL)) == sorted(SAID)


def test_a_translation_stands_where_the_english_text_stood():
    known = {"one item in two lines,": "第一项，", "A heading: *where*?": "标题", SAID[-1]: "|表|"}
    told = messages.prose(CELL, lambda text: known.get(text, text))
    assert told.startswith("## 标题\n\nFirst line of a paragraph,\nand its second:")
    assert "\n\n- 第一项，\n- another.\n\n1. numbered\n\n|表|\n\n```\nnot a sentence\n```" in told


CODE = """x = "# no comment"  # the first comment
def stub(batch):
    maps = batch * ...  # which maps?
    return None  # fmt: skip
"""


def test_comments_are_drawn_out_of_code_and_nothing_else():
    assert drawn_out(messages.comments, CODE) == ["the first comment", "which maps?"]
    told = messages.comments(CODE, lambda text: "注释")
    assert told == CODE.replace("the first comment", "注释").replace("which maps?", "注释")


def test_all_that_is_said_is_drawn_out():
    said = {message.id for message in messages.of_memlab()}
    assert {text for text in strings.table().values() if text} <= said
    assert "{what} must be at least {least}, got {given}; try {usual}." in said
    told = {message.id for message in messages.of_lessons()}
    assert {"Key points", "You will be able to"} <= told


def template(*texts):
    catalog = messages.read(messages.ROOT / "none" / "zh.po")
    for text in texts:
        catalog.add(text)
    return catalog


def test_a_later_run_keeps_what_is_translated_and_marks_what_was_changed(tmp_path):
    path = tmp_path / "zh.po"
    texts = ("The peak of a training step.", "It stays as it is here.", "It goes.")
    catalog, _ = messages.updated(path, template(*texts), every=True)
    for message, said in zip(texts, ("训练步的峰值。", "这里保持不变。", "它离开。"), strict=True):
        catalog[message].string = said
    text = messages.text_of(catalog)
    path.write_text(text, encoding="utf-8")
    assert messages.updated(path, template(*texts))[1] == text

    catalog, text = messages.updated(path, template("The peaks of a training step.", texts[1]))
    assert strings.translations(catalog) == {("", texts[1]): "这里保持不变。"}
    assert '#| msgid "The peak of a training step."\nmsgid "The peaks of' in text
    assert '#~ msgid "It goes."' in text

    path.write_text(text, encoding="utf-8")
    catalog, _ = messages.updated(path, template(*texts))
    assert strings.translations(catalog)["", "It goes."] == "它离开。"


def test_what_is_not_translated_is_listed_on_request_alone(tmp_path):
    path = tmp_path / "zh.po"
    catalog, text = messages.updated(path, template("One.", "Two."), every=True)
    assert 'msgid "One."\nmsgstr ""' in text
    catalog["Two."].string = "二。"
    path.write_text(messages.text_of(catalog), encoding="utf-8")
    catalog, text = messages.updated(path, template("One.", "Two.", "Two..."))
    assert strings.translations(catalog) == {("", "Two."): "二。"}
    assert "One." not in text
    assert "fuzzy" not in text  # a similar text is no translation


# -- a lesson in another language ----------------------------------------------------------------

SOURCE = """# %% [markdown]
# # 01 Small: a lesson?
# See [the words](glossary.md), ![a picture](images/a.png), [the next](02_network.ipynb),
# [here](#words) and [far away](https://example.org/a).

# %%
2 * 3  # six

# %% tags=["nbval-ignore-output"]
import datetime
import platform

print(platform.machine(), datetime.date.today(), "0.02 s")
"""
MESSAGES = """
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\\n"
"Last-Translator: {by}\\n"

msgid "01 Small: a lesson?"
msgstr "01 一课"

msgid ""
"See [the words](glossary.md), ![a picture](images/a.png), [the next](02_network.ipynb), "
"[here](#words) and [far away](https://example.org/a)."
msgstr ""
"见[词汇](glossary.md)，![图](images/a.png)，[下一课](02_network.ipynb)，[此处](#words)，"
"[自己](01_small.ipynb)和[远处](https://example.org/a)。"

msgid "six"
msgstr "六"

msgid "A machine made this translation. It waits for a reader who speaks the language."
msgstr "机器翻译。"

msgid "Run this cell: what it shows depends on your machine. It names the machine and the date."
msgstr "请运行这个单元。"
"""


@pytest.fixture
def translated(tmp_path):
    """Writes the messages of a lesson, translated by somebody; there is one without messages."""

    def writes(by):
        folder = tmp_path / "lessons/source"
        folder.mkdir(parents=True, exist_ok=True)
        glossary = build.LESSONS / "source/glossary.toml"
        (folder / "glossary.toml").write_bytes(glossary.read_bytes())
        (folder / "01_small.py").write_text(SOURCE, encoding="utf-8")
        (folder / "02_network.py").write_text("# %% [markdown]\n# # Another\n", encoding="utf-8")
        (folder / "zh.po").write_text(MESSAGES.format(by=by), encoding="utf-8")
        messages.sayer.cache_clear()
        return build.sources(folder.parent)

    return writes


def test_a_lesson_is_made_in_the_languages_that_its_head_is_translated_to(translated):
    sources = translated("machine")
    assert [build.languages(source) for source in sources] == [["en", "zh"], ["en"]]
    folder = sources[0].parent.parent / "zh"
    notebooks = {folder / "01_small.ipynb": False, folder / "solutions/01_small.ipynb": True}
    assert build.targets(sources[0], "zh") == notebooks


@pytest.mark.parametrize(
    ("solved", "up", "network"),
    [(False, "../", "../02_network.ipynb"), (True, "../../", "../../solutions/02_network.ipynb")],
)
def test_a_translated_lesson_lies_one_folder_further_down(translated, solved, up, network):
    head, spoken, code, _ = build.notebook(translated("machine")[0], solved, "zh").cells
    assert head.source == (
        f"# 01 一课\n见[词汇]({up}glossary.md)，![图]({up}images/a.png)，[下一课]({network})，"
        "[此处](#words)，[自己](01_small.ipynb)和[远处](https://example.org/a)。\n\n> 机器翻译。"
    )
    assert spoken.source == 'import os\n\nos.environ["MEMLAB_LANGUAGE"] = "zh"'
    assert code.source == "2 * 3  # 六"


def test_who_has_read_a_translation_takes_the_note_from_its_head(translated):
    source, _ = translated("A Reader <reader@example.org>")
    assert "机器翻译" not in build.notebook(source, False, "zh").cells[0].source


@pytest.mark.measures
def test_a_translated_lesson_is_written_and_checked(translated, capsys):
    source, _ = translated("machine")
    lessons = source.parent.parent
    assert build.main(["01"], lessons) == 0
    assert build.main(["01", "--check"], lessons) == 0
    notebook = json.loads((lessons / "zh/01_small.ipynb").read_text(encoding="utf-8"))
    assert notebook["cells"][-1]["outputs"][0]["text"] == ["请运行这个单元。\n"]
    file = source.parent / "zh.po"
    file.write_text(file.read_text(encoding="utf-8").replace("一课", "第一课"), encoding="utf-8")
    messages.sayer.cache_clear()
    capsys.readouterr()
    assert build.main(["01", "--check"], lessons) == 1
    assert "lessons/zh/01_small.ipynb, lessons/zh/solutions/01_small" in capsys.readouterr().err


# -- every translation --------------------------------------------------------------------------

FILES = [path for each in LANGUAGES for path in messages.paths(each)]
catalog_of = cache(messages.read)


@cache
def translated_in(path):
    """The translations of a file by context and English text."""
    return strings.translations(catalog_of(path))


NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
KEPT = {
    "links": re.compile(r"\]\([^)]*\)"),
    "code": re.compile(r"`[^`]+`"),
    "numerals": NUMERAL,
    "blanks": re.compile(r"__"),
}


def braces(text):
    """Values that a text names, with their formats."""
    return sorted(
        f"{{{name}{'!' + kind if kind else ''}{':' + form if form else ''}}}"
        for _, name, form, kind in Formatter().parse(text)
        if name is not None
    )


def lost(english, other):
    """Parts of an English text that a translation has not kept, in words."""
    faults = [name for name, pattern in KEPT.items() if not same(pattern, english, other)]
    if "{" in english and braces(english) != braces(other):
        faults.append("values")
    if loud(english) != loud(other):
        faults.append("bold")
    if english.startswith("|") != other.startswith("|") or ("\n" in other) != ("\n" in english):
        faults.append("lines")
    return faults


def loud(text):
    """Number of bold parts of a text: a full stop inside of `**` can undo that in Chinese."""
    (inline,) = MarkdownIt("commonmark").parseInline(text)
    return [child.type for child in inline.children or ()].count("strong_open")


def same(pattern, english, other):
    return sorted(pattern.findall(english)) == sorted(pattern.findall(other))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name + "/" + path.name)
def test_a_translation_keeps_values_links_code_and_numerals(path):
    known = translated_in(path)
    assert {text: gone for (_, text), said in known.items() if (gone := lost(text, said))} == {}


@every_row(
    ("other", "gone"),
    [
        ("在 {n} 处有 `k`，[见](a.md) 3.5 倍", []),
        ("在 {m} 处有 `k`，[见](a.md) 3.5 倍", ["values"]),
        ("在 {n} 处有 k，[见](a.md) 3.5 倍", ["code"]),
        ("在 {n} 处有 `k`，[见](b.md) 3.5 倍", ["links"]),
        ("在 {n} 处有 `k`，[见](a.md) 3,5 倍", ["numerals"]),
        ("在 {n} 处有 `k`，\n[见](a.md) 3.5 倍", ["lines"]),
        ("**在** {n} 处有 `k`，[见](a.md) 3.5 倍", ["bold"]),
    ],
)
def test_a_translation_that_loses_something_is_seen(other, gone):
    assert lost("At {n} there is `k`, [see](a.md) 3.5 times", other) == gone


def translator(catalog):
    """Name of the last translator of a file, a machine or somebody with an address; empty where it
    does not say so: Babel puts its own example there."""
    named = re.fullmatch(r"[^<>]+ <[^<>@\s]+@[^<>@\s]+\.[^<>@\s]+>", catalog.last_translator)
    known = named or catalog.last_translator == messages.MACHINE
    return catalog.last_translator if known else ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name + "/" + path.name)
def test_a_file_of_messages_says_who_translated_it(path):
    assert translator(catalog_of(path))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('"Last-Translator: machine\\n"', "machine"),
        ('"Last-Translator: A Reader <reader@example.org>\\n"', "A Reader <reader@example.org>"),
        ('"Last-Translator: \\n"', ""),
        ('"Last-Translator: someone\\n"', ""),
        ("", ""),
    ],
)
def test_a_file_that_does_not_say_who_translated_it_is_seen(tmp_path, line, found):
    (file := tmp_path / "zh.po").write_text(f'msgid ""\nmsgstr ""\n"Language: zh\\n"\n{line}\n')
    assert translator(messages.read(file)) == found


# -- every translated lesson --------------------------------------------------------------------

NOTEBOOKS = [
    path
    for language in LANGUAGES
    for path in sorted((build.LESSONS / language).rglob("[!.]*.ipynb"))
]
WORD = r"[A-Za-z][A-Za-z'-]*(?![\w'-])"
ENGLISH = re.compile(rf"\b{WORD}(?:[,.:;]? {WORD}){{3,}}")
"""Four words, one behind the other."""


def left(notebook, known):
    """English sentences of a notebook that stand neither in its code nor among these texts."""
    cells = notebook["cells"]
    code = flat("".join("".join(part["source"]) for part in cells if part["cell_type"] == "code"))
    shown = []
    for cell in cells:
        if cell["cell_type"] == "markdown":
            shown.append(re.sub(r"`[^`]*`|\]\([^)]*\)", "", "".join(cell["source"])))
        else:
            shown += map(stored.text_of_output, cell["outputs"])
    sentences = [flat(part) for text in shown for line in text.splitlines()
             for part in ENGLISH.findall(re.sub(r"\S*[_(=]\S*| {2,}", " | ", line))]  # fmt: skip
    return [part for part in sentences if part not in code and part not in known]


def flat(text):
    return " ".join(text.split())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.parent.name + "/" + path.name)
def test_no_english_sentence_is_left_but_those_that_wait_to_be_translated(path):
    language = path.relative_to(build.LESSONS).parts[0]
    waiting = [
        flat(message.id)
        for file, template in messages.files(language).items()
        for message in template
        if message.id and (message.context or "", message.id) not in translated_in(file)
    ]
    waiting += [  # with the others of its card, its exercise or its view
        flat(text)
        for key, text in strings.table().items()
        if not strings.whole(language, strings.part_of(key))
    ]
    names = [device.title for device in hardware.DEVICES.values()]
    known = " ".join([*waiting, *names])
    assert left(json.loads(path.read_text(encoding="utf-8")), known) == []


SHOWN_IN_01 = ("card", "exercise", "memory", "lifetimes", *widget.SHARED)


@pytest.mark.measures
def test_lesson_01_is_wholly_translated():
    parts = {strings.part_of(key) for key in strings.table()}
    own = {part for part in parts if part.startswith(("ask.01.", "task.01."))}
    assert len(own) >= 8
    for language in LANGUAGES:
        assert [p for p in (*own, *SHOWN_IN_01) if not strings.whole(language, p)] == []
        for name in (topic for topic in topics() if topic.startswith("01.")):
            question = topics()[name]
            causes = [cause.name for cause in question.truth(question.first).causes]
            assert [c for c in causes if not strings.whole(language, f"cause.{c}")] == []


def test_an_english_sentence_is_seen():
    def cell(kind, source, **more):
        return {"cell_type": kind, "source": [source], **more}

    output = {"data": {"text/plain": ["峰值 8。It is as large\nas `plan` says here, now."]}}
    cells = [
        cell("markdown", "一课 with four words left `and some more code` 到此"),
        cell("code", 'guess("all maps are there")', outputs=[output]),
        cell("code", "", outputs=[{"text": ["all maps are there; it waits for a reader"]}]),
    ]
    sentences = left({"cells": cells}, "it waits for a reader.")
    assert sentences == [
        "with four words left",
        "It is as large",
        "all maps are there; it waits for a reader",
    ]
