"""Questions and exercises of the lessons, one module per lesson."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages


def load() -> None:
    """Import all modules of lessons, which registers their questions and exercises."""
    for module in walk_packages(__path__, f"{__name__}."):
        import_module(module.name)
