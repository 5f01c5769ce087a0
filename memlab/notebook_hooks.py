"""Registration of memlab's values with IPython, so that a notebook shows pictures, not only text.

``import memlab`` calls it; the drawing code is loaded when the first value is shown.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

SHOWN = {
    "Exercise": "memlab.lesson.exercise",
    "Ledger": "memlab.ledger.ledger",
    "Network": "memlab.networks.graph",
    "Run": "memlab.runtime.run",
}
"""Classes whose values are shown as a picture or widget, and their modules."""


def show_values() -> None:
    """Tell IPython how to show memlab's values; do nothing outside IPython."""
    if "IPython" not in sys.modules:
        return
    shell = import_module("IPython.core.getipython").get_ipython()
    formatter = shell.display_formatter if shell else None
    if formatter is not None and "image/svg+xml" in formatter.active_types:
        for name, home in SHOWN.items():
            formatter.mimebundle_formatter.for_type_by_name(home, name, _bundle)
        display = formatter.ipython_display_formatter
        display.for_type_by_name("memlab.lesson.card", "Card", _display)


def _bundle(value: Any) -> Any:
    return import_module("memlab.notebook_display").bundle(value)


def _display(card: Any) -> None:
    """Show a card, and below it the outputs that follow its answer."""
    import_module("memlab.notebook_display").show_card(card)
