"""The base of every view that stands still: a page."""

from __future__ import annotations

import re
from typing import Any

from memlab.views.draw.page import Page

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
