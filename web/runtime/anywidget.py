"""Stand-in for anywidget in a page: a widget whose browser side is a module of JavaScript.

A page has the module of memlab's views itself; any other module is sent as text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import traitlets

from web.runtime.widgets import DOMWidget

ENDS = {"_esm": ".js", "_css": ".css"}
"""Endings of the files of a module and of its style sheet."""


class AnyWidget(DOMWidget):
    """Widget that is drawn by ``_esm`` and styled by ``_css``: texts, or paths of files."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        for name, end in ENDS.items():
            given = getattr(self, name, "")
            is_own = Path(str(given)).name == f"view{end}"  # memlab's
            if given and not self.has_trait(name) and not is_own:
                self.add_traits(**{name: traitlets.Unicode(_text(given)).tag(sync=True)})
        super().__init__(**kwargs)


def _text(given: Any) -> str:
    """Return the text of a module or a style sheet, from itself or from its file."""
    is_file = isinstance(given, Path) or str(given).endswith(tuple(ENDS.values()))
    return Path(given).read_text(encoding="utf-8") if is_file else str(given)
