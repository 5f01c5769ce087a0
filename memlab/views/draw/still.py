"""The base of every view that stands still: a page."""

from __future__ import annotations

import re
from typing import Any

from memlab.studies.figures import Study
from memlab.views.draw.page import Page
from memlab.views.draw.table import Block, Words

_FACT = re.compile(r"""<g data-fact=(?:"([^"]*)"|'([^']*)')([^>]*)>""")


class Still:
    """A notebook shows the picture, ``print`` the text, ``figure`` is for slides and papers. A
    subclass gives the page."""

    def page(self) -> Page:
        """What is shown."""
        raise NotImplementedError

    def svg(self) -> str:
        """The picture, which stands alone: what marks say on hover, the browser itself shows."""
        return _FACT.sub(_titled, self.page().render())

    def text(self) -> str:
        """The same in words."""
        return self.page().text()

    def figure(self) -> Any:
        """The same as a matplotlib ``Figure``, whose Axes can be changed before it is saved."""
        return self.page().figure()

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        page = self.page()
        picture = _FACT.sub(_titled, page.render())
        return {"image/svg+xml": picture, "text/plain": page.text()}


def _titled(group: re.Match[str]) -> str:
    return f"<g{group[3]}><title>{group[1] or group[2]}</title>"


def report(
    study: Study, *blocks: Block, size: int = 13, bold: int = 1, marked: bool = False
) -> Page:
    """The first sentences in bold and the others of a study, some blocks, and its notes.

    Where it is ``marked``, each sentence says of one way what its marks are.
    """
    first, others = study.sentences[:bold], study.sentences[bold:]
    said = [Words(first, size, bold=True), Words(others, min(size, 13))]
    if marked:
        said = [Words(each, 12, mark=index) for index, each in enumerate(study.sentences)]
    notes = Words(study.notes, 11, dim=True, gap=8)
    says = " ".join([f"{study.title}.", *study.sentences])
    return Page(study.title, [*said, *blocks, notes], says=says)
