"""The glossary: one sentence for each term, and its names in Chinese and Japanese."""

import re
import tomllib

from lessons import build
from tests.rows import every_row

TERMS = tomllib.loads((build.LESSONS / "source/glossary.toml").read_text(encoding="utf-8"))["term"]
HAN, KANA = "\u4e00-\u9fff", "\u3040-\u30ff"


def test_each_term_stands_once():
    names = [term["en"] for term in TERMS]
    assert sorted(set(names), key=str.lower) == names


@every_row("term", TERMS)
def test_a_term_has_one_sentence_and_two_names(term):
    assert set(term) == {"en", "means", "zh", "ja"}
    assert re.fullmatch(r"[^.|]+\.", term["means"])
    assert len(term["means"].split()) <= 25
    assert not re.search(r"\b(just|simply|obviously)\b", term["means"], re.IGNORECASE)
    assert re.search(f"[{HAN}]", term["zh"])
    assert not re.search(f"[{KANA}]", term["zh"])
    assert re.search(f"[{HAN}{KANA}]", term["ja"])
