"""Modules that are changed when a script loads them."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

Change = Callable[[ModuleType], None]
"""Function that changes a module which was loaded."""


class ChangedModules(importlib.abc.MetaPathFinder):
    """Finder that lets other finders find a module, and changes it once it is loaded."""

    def __init__(self, change: Change) -> None:
        self.change = change

    def install(self) -> None:
        """Change the modules that are there, and those that are loaded later."""
        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType):
                self.change(module)
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec that the next finder has for a module, with a loader that changes it."""
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if isinstance(spec.loader, importlib.machinery.SourceFileLoader):
                    self._watch(spec.loader)
                return spec
        return None

    def _watch(self, loader: importlib.machinery.SourceFileLoader) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self.change(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]  # of this loader alone
