"""The words of a lesson in JupyterLab: a list that opens on demand, a line where a word stands."""

HEAD = ".jp-Notebook .jp-MarkdownCell details"


def test_the_words_of_a_lesson_open_and_show_their_lines(open_notebook):
    page = open_notebook("02_network.ipynb")
    words = page.locator(HEAD).first
    assert not words.evaluate("words => words.open")
    words.locator("summary").click()
    assert words.locator("li", has_text="固定部分").first.is_visible()
    lands = words.locator("a", has_text="floor").get_attribute("href")
    assert "glossary.md" in lands
    titles = page.eval_on_selector_all(
        ".jp-MarkdownCell a[title]", "links => links.map(link => link.title)"
    )
    assert any("畳み込み" in title or "固定部分" in title for title in titles)
