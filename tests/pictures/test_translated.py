"""Views in the languages that memlab speaks: nothing collides, nothing is cut off."""

import pytest

from memlab import strings
from tests.pictures.pages import every, page_of

LANGUAGES = strings.languages()[1:]
TRANSLATED = ("memory", "case")
"""The factories whose texts are translated."""
CASES = {
    (language, factory, name): make
    for language in LANGUAGES
    for (factory, name), make in every().items()
    if factory in TRANSLATED
}


@pytest.mark.parametrize(("language", "factory", "name"), CASES)
def test_nothing_collides_or_is_cut_off(monkeypatch, language, factory, name):
    monkeypatch.setattr(strings, "language", lambda: language)
    view = CASES[language, factory, name]()
    for width in (480, 820, 1200):
        svg = page_of(view, width).svg()
        assert svg.collisions() == []
        assert svg.outside() == []


@pytest.mark.parametrize(("language", "factory", "name"), CASES)
def test_a_view_speaks_the_language(monkeypatch, language, factory, name):
    make = CASES[language, factory, name]
    english = page_of(make()).text()
    monkeypatch.setattr(strings, "language", lambda: language)
    assert page_of(make()).text() != english
