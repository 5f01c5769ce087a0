"""What stands on top: how much is written, of which layer, and the formula of its bytes."""

from __future__ import annotations

from memlab.views import extents
from memlab.views.copies import words
from memlab.views.copies.layer import amount
from memlab.views.copies.layout import LINE, Layout
from memlab.views.copies.rows import Rows
from memlab.views.svg import Svg


def draw(svg: Svg, rows: Rows, place: Layout) -> float:
    """The counter and the sentences below it; returns where they end."""
    end = _amounts(svg, rows)
    counter = words.say("head.counter", step=rows.step, count=rows.count) if rows.count else ""
    sentences = _sentences(rows)
    if end + 12 + extents.width(counter, 13) <= place.right:
        svg.text(place.right, 20, counter, 13, "end")
    else:
        sentences.insert(0, counter)
    y = 43
    for sentence in sentences:
        for line in extents.flow([(sentence, False)], place.right, 13):
            svg.text(0, y, line, 13)
            y += LINE
    return y - LINE + 4


def _amounts(svg: Svg, rows: Rows) -> float:
    """What is written of what, and how many times the input that is; returns where it ends."""
    end = svg.text(0, 20, amount(rows.written), 20, bold=True).right + 5
    if not rows.count:
        return svg.text(end, 20, words.say("head.unmade"), 16).right
    end = svg.text(end, 20, words.say("head.of", total=amount(rows.total)), 16).right
    end = svg.text(end + 9, 20, "·", 20).right
    now = words.say("head.times", now=words.times(rows.now))
    return svg.text(end + 9, 20, [(now, True), (words.say("head.input"), False)], 16).right


def _sentences(rows: Rows) -> list[str]:
    """Layer, bytes and factor."""
    whole = rows.end == rows.factor
    factor = words.factor(rows, "head.factor" if whole else "head.once")
    return [line for line in (words.title(rows.state), words.formula(rows), factor) if line]
