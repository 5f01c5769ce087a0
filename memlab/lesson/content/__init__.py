"""What the lessons ask: the questions and exercises of each, one module per lesson."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules


def load() -> None:
    """Load the modules, so that their questions and exercises are known."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
