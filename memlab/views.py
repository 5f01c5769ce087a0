"""Every picture and every widget of memlab; the first one loads anywidget and ipywidgets.

>>> view = memlab.views.memory("resnet50", batch=32)
>>> view.peak
2942651620

What stands directly in ``memlab/pictures`` is a picture, and its module has the name of its
function. ``views.pyi`` lists the others, and tells the types of all.
"""

import ast
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from memlab.moved import NAMES, old_names

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_FOUND = {
    module.stem: f"memlab.pictures.{module.stem}"
    for module in (Path(__file__).parent / "pictures").glob("[!_]*.py")
}
_LISTED = {
    alias.name: f"memlab.{node.module}"
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
_PLACES = _FOUND | _LISTED
"""The module of each name."""
__all__ = sorted(_PLACES)


def __getattr__(name):  # typed in the stub
    if name in NAMES:
        return old_names(__name__)(name)
    if name not in _PLACES:
        raise AttributeError(f"memlab.views has no {name!r}; it has {', '.join(__all__)}.")
    globals()[name] = value = getattr(import_module(_PLACES[name]), name)
    return value


def __dir__():
    return __all__


class _Names(ModuleType):
    """A module in which the old module ``memory`` takes no picture's name: see ``moved``."""

    def __setattr__(self, name, value):
        if not isinstance(value, ModuleType):
            super().__setattr__(name, value)


__path__ = []  # so that Python looks for the old modules
sys.modules[__name__].__class__ = _Names
