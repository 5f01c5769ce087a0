"""Texts stand apart from code: each one is found, used, and fits what the code fills in."""

import re
import shutil
import sys
from collections import defaultdict
from pathlib import Path
from string import Formatter

import pytest

import memlab
from memlab import strings
from memlab.layers import LAYERS
from memlab.ledger.files import ORIGINS
from memlab.optimizers import OPTIMIZERS
from memlab.placement.placement import HOWS
from tests import texts

STATES = {state for each in OPTIMIZERS.values() for state in each.states}
NAMES = {*LAYERS, *ORIGINS, *OPTIMIZERS, *STATES, *(name.replace(" ", "_") for name in HOWS)}
"""What a key may name too, wherever it is asked for."""


def named(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.fixture(scope="module")
def asked():
    code = texts.Code(Path(memlab.__file__).parent)
    for module in code.modules.values():
        module.near |= NAMES
    return code.asked()


def unused(asked, keys):
    """The keys that nothing in the code asks for."""
    patterns = {each.key: each for each in asked}.values()
    exact = {texts.text_of(each.key) for each in patterns if not each.holes}
    holed = [each for each in patterns if each.holes]
    return [key for key in keys if key not in exact and not any(each.fits(key) for each in holed)]


def missing(asked, table):
    """Where the code asks for a text that is not there, and not whether it is, by line."""
    places = defaultdict(list)
    for each in asked:
        places[each.where, each.given].append(each)
    return [
        f"{where} asks for {given or texts.text_of(several[0].key)!r}"
        for (where, given), several in places.items()
        if all(each.has_to_be for each in several)
        and not any(each.fits(key) for each in several for key in table)
    ]


@pytest.mark.measures  # reads the whole package, for seconds
def test_every_text_is_used(asked):
    assert unused(asked, strings.table()) == []


INVENTED = (
    "copies.list_new",
    "lanes.class_name",
    "views.import_all",
    "memory.verdict.before",
    "addresses.result.first",
    "number.control.title.long",
    "exercise.page_width",
    "role.hyperparameter",
    "phase.forward.one",
    "techniques.table.memory",
)


@pytest.mark.measures  # reads the whole package, for seconds
@pytest.mark.parametrize("key", INVENTED)
def test_a_text_that_nothing_asks_for_is_seen(asked, key):
    assert key not in strings.table()
    assert unused(asked, [key]) == [key]


@pytest.mark.measures  # reads the whole package, for seconds
def test_every_text_that_the_code_names_is_there(asked):
    assert sum(bool(each.given) for each in asked) > 300
    assert missing(asked, strings.table()) == []


PACKAGE = {
    "__init__.py": "",
    "strings.py": "def get(key, **values): ...\ndef has(key): ...",
    "words.py": """
from memlab import strings
from memlab.strings import get as text

HEADS = {"one": 1, "two": 2}

def say(key, /, side="left", **values):
    return strings.get(f"view.{key}", **values) + text(f"side.{side}")

class Sheet:
    def write(self, x, key):
        return say(f"sheet.{key}")
""",
    "view.py": """
from memlab import words
from memlab.words import HEADS, say

WAYS = ("im2col", "winograd")

def draw(sheet, state, many, deep):
    key = "peak" if state else "floor"
    heads = [*WAYS, *(["many"] if many else [])]
    heads += ["last"]
    sheet.write(0, "title")
    sheet.write(0, state.gone)
    lines = [words.say(f"head.{head}", side="right") for head in HEADS]
    lines += [words.say(f"way.{way}") for way in heads]
    return lines + [say(key), say(state.name), *map(_row, deep)]

def _row(name):
    return say(f"row.{name}")

def names(state):
    return "here", "there"
""",
}
USED = {
    *("view.peak", "view.floor", "view.head.one", "view.head.two", "view.here", "view.row.there"),
    *("view.way.im2col", "view.way.winograd", "view.way.many", "view.way.last"),
    *("view.sheet.title", "side.left", "side.right"),
}


@pytest.fixture
def package(tmp_path):
    (tmp_path / "memlab").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / "memlab" / name).write_text(text, encoding="utf-8")
    return tmp_path / "memlab"


def test_keys_are_followed_through_the_code(package):
    asked = texts.Code(package).asked()
    assert unused(asked, USED) == []
    others = ["view.elsewhere", "peak", "side.peak", "view.head.im2col", "view.way.one", "view.top"]
    assert unused(asked, others) == others
    assert missing(asked, USED) == []


def test_a_text_that_is_not_there_is_seen(package):
    lost = {"view.peak", "view.sheet.title", "side.right", "view.way.im2col"}
    found = missing(texts.Code(package).asked(), USED - lost)
    assert [line.partition(" asks for ")[2] for line in found] == [
        "'title'",
        "'view.sheet.'",
        "'right'",
    ]


@pytest.fixture
def asks_for(monkeypatch):
    """Texts in a language, as a fresh kernel has them."""

    def asks(language):
        monkeypatch.setenv("MEMLAB_LANGUAGE", language)
        for cached in (strings.chosen, strings.table, strings.messages, strings.whole,
                       strings._keys):  # fmt: skip
            cached.cache_clear()

    yield asks
    asks("en")


@pytest.mark.parametrize("language", ["zh", "zh_CN.UTF-8", "zh-Hans"])
def test_texts_are_in_the_language_that_is_asked_for(asks_for, capsys, language):
    asks_for(language)
    assert strings.language() == "zh"
    assert strings.get("card.control.lock") != strings.table("en")["card.control.lock"]
    with pytest.raises(memlab.InputError, match="step 必须"):
        memlab.errors.whole_number("step", "a")
    assert not capsys.readouterr().err


def test_english_is_read_without_babel(asks_for, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "babel.messages.pofile", None)
    for language in ("", "en", "en_GB"):
        asks_for(language)
        assert strings.get("phase.loss") == strings.gettext("loss") == "loss"
    assert not capsys.readouterr().err
    asks_for("zh")
    assert strings.get("phase.loss") == "loss"
    assert capsys.readouterr().err == (
        "Texts are in English: those in 'zh' are read by Babel, which is not installed; "
        "try pip install babel.\n"
    )


def test_what_babel_has_read_is_spoken_without_it(asks_for, capsys, monkeypatch, tmp_path):
    """A web page carries it, and no Babel."""
    asks_for("zh")
    lock = strings.get("card.control.lock")
    (tmp_path / "zh.json").write_text(strings.as_read("zh"), encoding="utf-8")
    shutil.copytree(strings.FOLDER / "en", tmp_path / "en")
    monkeypatch.setattr(strings, "FOLDER", tmp_path)
    monkeypatch.setitem(sys.modules, "babel.messages.pofile", None)
    asks_for("zh")
    assert strings.languages() == ["en", "zh"]
    assert strings.get("card.control.lock") == lock != "Lock"
    assert not capsys.readouterr().err


@pytest.mark.parametrize("language", ["xx", "../en", "__init__"])
def test_a_language_that_is_not_there_is_english_and_said_once(asks_for, capsys, language):
    asks_for(language)
    assert strings.get("phase.loss") == strings.get("phase.loss") == "loss"
    told = f"MEMLAB_LANGUAGE is {language!r}, and texts are there in en, zh; this is English.\n"
    assert capsys.readouterr().err == told


MESSAGES = """
msgctxt "a.start"
msgid "Start"
msgstr "开始"

msgid "Start"
msgstr "无"

msgid "A text of {count} words."
msgstr "{count} 个词。"

#, fuzzy
msgid "It was changed since then."
msgstr "旧"

msgid "It is not translated yet."
msgstr ""

msgid "Which part of the peak stays?"
msgstr "峰值的哪一部分不变。"

msgctxt "ask.01.peak.wrong.all"
msgid "All of it?"
msgstr "全部。"

msgid "Which part of the step takes longest?"
msgstr "训练步的哪一部分最长。"

msgctxt "cause.half"
msgid "A half?"
msgstr "一半。"

#~ msgid "It is no longer there."
#~ msgstr "没了"
"""
TEXTS = """
[a]
start = "Start"
said = "A text of {count} words."
new = "It is not translated yet."
[fuzzy]
start = "It was changed since then."
[b]
start = "Start"
[whole]
said = "A text of {count} words."
empty = ""
[ask.01.peak]
question = "Which part of the peak stays?"
wrong.all = "All of it?"
[ask.01.step]
question = "Which part of the step takes longest?"
wrong.all = "All of it?"
[cause]
half = "A half?"
twice = "Twice?"
"""


@pytest.fixture
def translated(asks_for, monkeypatch, tmp_path):
    """A few texts, of which some have a translation."""
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "own.toml").write_text(TEXTS, encoding="utf-8")
    (tmp_path / "zh.po").write_text(MESSAGES, encoding="utf-8")
    monkeypatch.setattr(strings, "FOLDER", tmp_path)
    asks_for("zh")


@pytest.mark.usefixtures("translated")
def test_a_part_that_lacks_a_translation_is_shown_in_english():
    found = {key: strings.get(key) for key in strings.table()}
    assert found == {
        "a.start": "Start",  # it has a translation, and a.new has none
        "a.said": "A text of {count} words.",
        "a.new": "It is not translated yet.",
        "fuzzy.start": "It was changed since then.",
        "b.start": "Start",  # a short text has its own translation at each place
        "whole.said": "{count} 个词。",
        "whole.empty": "",
        "ask.01.peak.question": "峰值的哪一部分不变。",
        "ask.01.peak.wrong.all": "全部。",
        "ask.01.step.question": "Which part of the step takes longest?",
        "ask.01.step.wrong.all": "All of it?",
        "cause.half": "一半。",
        "cause.twice": "Twice?",
    }
    assert strings.get("whole.said", count=5) == "5 个词。"
    assert strings.gettext("A text of {count} words.", count=5) == "5 个词。"
    assert strings.gettext("It is said in {count} places.", count=1) == "It is said in 1 places."


@pytest.mark.usefixtures("translated")
def test_what_is_shown_together_is_in_one_language():
    def shown(*parts):
        with strings.speaking(*parts):
            return strings.language(), strings.get("whole.said", count=5)

    assert shown("ask.01.peak", "whole") == ("zh", "5 个词。")
    assert shown("ask.01.step", "whole") == ("en", "A text of 5 words.")
    assert shown("ask.01.peak", "a") == ("en", "A text of 5 words.")
    with strings.speaking("ask.01.step"):
        assert shown("ask.01.peak") == ("en", "A text of 5 words.")  # a view of an English card
    assert strings.language() == "zh"


def test_words_are_for_people_who_read_english_as_a_second_language():
    for key, text in strings.table().items():
        assert not re.search(r"\b(just|simply|obviously|easy|easily)\b", text, re.I), key
