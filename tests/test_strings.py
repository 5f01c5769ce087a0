"""Texts stand apart from code: each one is found, used, and fits what the code fills in."""

import re
from importlib.resources import files
from pathlib import Path
from string import Formatter

import pytest

from memlab import strings

LANGUAGES = [folder.name for folder in files(strings).iterdir() if strings.table(folder.name)]
SOURCE = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted(Path(strings.__file__).parent.parent.rglob("*.py"))
)


def named(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("key", sorted(strings.table()))
def test_every_text_is_used(key):
    # a key may be put together: each of its parts stands in the code, or names a value of ours
    values = ("role.", "phase.", "kind.", "optimizer.", "network.control.", "run.origin.")
    parts = key.rpartition(".")[2].split("_")
    assert key.startswith(values) or all(re.search(rf"[\b_]?{part}", SOURCE) for part in parts)


def test_every_text_that_the_code_names_is_there():
    keys = set(re.findall(r'strings\.get\("([\w.]+)"', SOURCE))
    keys |= {f"network.{key}" for key in re.findall(r'words\.get\("([\w.]+)"', SOURCE)}
    assert len(keys) > 25
    assert keys <= set(strings.table())


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_names_the_same_values(language):
    table, english = strings.table(language), strings.table()
    assert table.keys() <= english.keys()
    for key, text in table.items():
        assert named(text) == named(english[key]), key


def test_what_a_language_lacks_is_shown_in_english(monkeypatch):
    monkeypatch.setenv("MEMLAB_LANGUAGE", "xx")
    assert strings.get("phase.loss") == "loss"
    monkeypatch.setenv("MEMLAB_LANGUAGE", "../en")
    assert strings.get("phase.loss") == "loss"


def test_words_are_for_people_who_read_english_as_a_second_language():
    for key, text in strings.table().items():
        assert not re.search(r"\b(just|simply|obviously|easy|easily)\b", text, re.I), key
