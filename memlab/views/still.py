"""The base of every view that stands still: a picture, and its text."""

from __future__ import annotations

from typing import Any


class Still:
    """A notebook shows the picture, ``print`` the text. A subclass gives both."""

    def svg(self) -> str:
        """The picture, which stands alone."""
        raise NotImplementedError

    def text(self) -> str:
        """The same in words."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": self.text()}
