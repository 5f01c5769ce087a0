"""The words of the glossary, in place and on their page."""

from lessons import build, glossary
from tests.lessons.test_sources import NOTEBOOKS, cells, read
from tests.rows import every_row

KNOWN = {
    en: {"en": en, "means": means, "zh": zh, "ja": ja}
    for en, means, zh, ja in (
        ("batch size", "How many.", "批量大小", "バッチサイズ"),
        ("lowering (im2col)", "A copy.", "展开", "行列への展開"),
        ("MB, GB", "10⁶ and 10⁹ bytes.", "兆字节", "メガバイト"),
    )
}
HEAD = """# 02 A lesson

Words: [batch size](glossary.md), [lowering (im2col)](glossary.md),
[MB, GB](glossary.md).

See."""
LINE = '(glossary.md#batch-size "How many. 批量大小 · バッチサイズ")'


def placed(*texts):
    return glossary.in_place([HEAD, *texts], KNOWN)[1:]


def test_the_words_of_a_head_open_on_demand():
    (head,) = glossary.in_place([HEAD], KNOWN)
    assert "<summary>Words: batch size, lowering (im2col), MB, GB</summary>\n\n- **" in head
    assert "- **[batch size](glossary.md#batch-size)**: How many. 批量大小 · バッチサイズ\n" in head
    assert head.endswith("</details>\n\nSee.")


def test_the_first_mention_shows_its_line_and_no_other():
    first, second = placed("Many batch sizes,\nand a batch size.", "A batch size.")
    assert first == f"Many [batch sizes]{LINE},\nand a batch size."
    assert second == "A batch size."


@every_row(
    ("text", "linked"),
    [
        ("the batch\nsize", "the [batch\nsize]"),
        ("Lowering copies", "[Lowering](glossary.md#lowering-im2col"),
        ("3 GB of it", "3 [GB](glossary.md#mb-gb"),
        ("## A\n\nThe batch size", f"## A\n\nThe [batch size]{LINE}"),
        ("see [batch size](glossary.md)", f"see [batch size]{LINE}"),
    ],
)
def test_a_mention_is_found(text, linked):
    assert placed(text)[0].startswith(linked)


@every_row(
    "text",
    ["## The batch size", "`batch size`", "**batch size**", "[batch size](a.md)", "batch sized",
     "| batch size | 4 |", "```\nbatch size\n```", "<b title='batch size'>", "a GBs-batch"],
)  # fmt: skip
def test_what_is_no_prose_stays(text):
    assert placed(text) == [text]


def test_a_head_in_another_language_has_its_words_too():
    head = "# 02\n\n\u8bcd\u8bed\uff1a[批量大小](../glossary.md)\u3001[展开](../glossary.md)\u3002"
    (opened,) = glossary.in_place([head], KNOWN, say=str.upper)
    assert "<summary>\u8bcd\u8bed: 批量大小, 展开</summary>" in opened
    assert "[批量大小](../glossary.md#batch-size)**: HOW MANY. 批量大小" in opened


def test_no_line_would_end_a_link():
    for term in glossary.terms(build.LESSONS).values():
        assert not set("()[]\n") & set(glossary.line(term)), term


@every_row("path", NOTEBOOKS)
def test_every_link_to_a_word_lands_on_its_line(path):
    page = (build.LESSONS / "glossary.md").read_text(encoding="utf-8")
    for text in cells(read(path), "markdown"):
        for part in text.split("glossary.md#")[1:]:
            assert f'<a id="{part.split(" ")[0].split(")")[0]}"></a>' in page
