"""Every page as a matplotlib figure: the same texts, the same scales; nothing else loads it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.text import Text

from memlab import views
from memlab.pictures.draw import labels as written
from memlab.pictures.draw.alternatives import Names
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.svg import Svg
from memlab.pictures.draw.text import plain
from tests.pictures.pages import every, page_of

MADE = every()
FIRST = {factory: (factory, name) for factory, name in reversed(MADE)}
del FIRST["prediction_card"]  # words, and bars that its answer runs for


@pytest.fixture(autouse=True)
def no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpl, "use", lambda *_: pytest.fail("a backend was chosen"))


def said(figure: Any) -> str:
    """All texts of a figure, and the labels of its ticks."""
    texts = [text.get_text() for text in figure.findobj(Text)]
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            texts += getattr(axis.get_major_formatter(), "seq", [])
    return "\n".join(texts).replace(r"\$", "$")


def charts(svg: Svg, figure: Any) -> list[tuple[Chart, Any]]:
    """Each chart of a picture with its axes; the first axes hold the words."""
    return list(zip((chart for chart, _ in svg.charts), figure.axes[1:], strict=True))


def labels(chart: Chart) -> Iterator[str]:
    """Texts of a chart that stand at values; other labels are among the words of the picture."""
    for scale, axis in ((chart.x, chart.x_axis), (chart.y, chart.y_axis)):
        if axis:
            yield from (axis.title, axis.note)
            yield from (label for _, label in axis.marks(scale) if axis.labels)
    for mark in chart.marks:
        if isinstance(mark, written.ChartText):
            yield plain(mark.content)
        if isinstance(mark, Names):
            yield from (plain(line) for named in mark.lines for line in named.name)


@pytest.mark.measures
@pytest.mark.parametrize("factory", FIRST)
def test_a_figure_has_the_texts_and_the_scales_of_the_picture(factory: str, tmp_path: Any) -> None:
    page = page_of(MADE[FIRST[factory]]())
    svg, figure = page.svg(), page.figure()
    texts = said(figure)
    for label in svg.words:
        assert label.content.strip("…") in texts
    for chart, axes in charts(svg, figure):
        assert all(each in texts for each in labels(chart))
        assert axes.get_xlim() == pytest.approx((chart.x.first, chart.x.last))
        assert axes.get_ylim() == pytest.approx((chart.y.first, chart.y.last))
        axes.set_title("mine")
    figure.savefig(tmp_path / "figure.svg")
    assert said(figure).count("mine") == len(svg.charts)


@pytest.mark.parametrize("view", [views.running_sum(count=8), views.number(0.1)])
def test_a_view_gives_the_figure_of_its_page(view: Any) -> None:
    assert said(view.figure()) == said(view.page().figure())


ALONE = """
import sys
from memlab import views
view = views.vectors()
assert view.svg() and view.text() and str(views.running_sum(count=8))
print("matplotlib" in sys.modules)
view.figure()
print("matplotlib" in sys.modules, "matplotlib.pyplot" in sys.modules)
"""


@pytest.mark.measures
def test_nothing_but_a_figure_loads_matplotlib() -> None:
    run = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, check=True, timeout=120
    )
    assert run.stdout.split() == ["False", "True", "False"]
