"""The base of every view that stands still: a page."""

from __future__ import annotations

from typing import Any

from memlab.views.draw.page import Page


class Still:
    """A notebook shows the picture, ``print`` the text, ``figure`` is for slides and papers. A
    subclass gives the page."""

    def page(self) -> Page:
        """What is shown."""
        raise NotImplementedError

    def svg(self) -> str:
        """The picture, which stands alone."""
        return self.page().render()

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
        return {"image/svg+xml": page.render(), "text/plain": page.text()}
