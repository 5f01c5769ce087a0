"""Translations: what is drawn out, what a later run keeps, and that every one of them fits."""

import re
from itertools import chain
from string import Formatter

import pytest

from lessons import messages
from memlab import strings

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
    found = []

    def heard(each):
        found.append(each)
        return each

    assert part(text, heard) == text
    return found


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
    made = messages.read(messages.ROOT / "none" / "zh.po")
    for text in texts:
        made.add(text)
    return made


def test_a_later_run_keeps_what_is_translated_and_marks_what_was_changed(tmp_path):
    path = tmp_path / "zh.po"
    texts = ("The peak of a training step.", "It stays as it is here.", "It goes.")
    catalog, text = messages.updated(path, template(*texts))
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


# -- every translation --------------------------------------------------------------------------

CATALOGS = {path: messages.read(path) for each in LANGUAGES for path in messages.files(each)}
NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
KEPT = {
    "links": re.compile(r"\]\([^)]*\)"),
    "code": re.compile(r"`[^`]+`"),
    "numerals": NUMERAL,
    "blanks": re.compile(r"__"),
}


def braces(text):
    """What a text names, with how it is to be written."""
    return sorted(
        f"{{{name}{'!' + kind if kind else ''}{':' + form if form else ''}}}"
        for _, name, form, kind in Formatter().parse(text)
        if name is not None
    )


def lost(english, other):
    """What a translation has not kept of its English text, in words."""
    found = [name for name, each in KEPT.items() if not same(each, english, other)]
    if "{" in english and braces(english) != braces(other):
        found.append("values")
    if english.startswith("|") != other.startswith("|") or ("\n" in other) != ("\n" in english):
        found.append("lines")
    return found


def same(each, english, other):
    return sorted(each.findall(english)) == sorted(each.findall(other))


@pytest.mark.parametrize("path", CATALOGS, ids=lambda path: path.parent.name + "/" + path.name)
def test_a_translation_keeps_values_links_code_and_numerals(path):
    known = strings.translations(CATALOGS[path])
    assert {text: gone for (_, text), said in known.items() if (gone := lost(text, said))} == {}


@pytest.mark.parametrize(
    ("other", "gone"),
    [
        ("在 {n} 处有 `k`，[见](a.md) 3.5 倍", []),
        ("在 {m} 处有 `k`，[见](a.md) 3.5 倍", ["values"]),
        ("在 {n} 处有 k，[见](a.md) 3.5 倍", ["code"]),
        ("在 {n} 处有 `k`，[见](b.md) 3.5 倍", ["links"]),
        ("在 {n} 处有 `k`，[见](a.md) 3,5 倍", ["numerals"]),
        ("在 {n} 处有 `k`，\n[见](a.md) 3.5 倍", ["lines"]),
    ],
)
def test_a_translation_that_loses_something_is_seen(other, gone):
    assert lost("At {n} there is `k`, [see](a.md) 3.5 times", other) == gone


def test_a_file_of_messages_says_who_translated_it():
    assert all(catalog.last_translator for catalog in CATALOGS.values())
    assert len({*chain(CATALOGS)}) == 2 * len(LANGUAGES)
