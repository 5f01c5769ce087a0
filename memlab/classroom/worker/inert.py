"""Objects that take part in everything and do nothing: views, plans and runs of memlab, which no
mark depends on, while a submission is marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Inert:
    """Value that is called, indexed, computed with and printed like any other, to no effect."""

    def __call__(self, *values: object, **named: object) -> Inert:
        return self

    def __getattr__(self, name: str) -> Inert:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> Inert:
        return self

    def __setitem__(self, key: object, value: object) -> None:
        """Forget the value."""

    def __setattr__(self, name: str, value: object) -> None:
        """Forget the value."""

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __enter__(self) -> Inert:
        return self

    def __exit__(self, *error: object) -> None:
        """Let an error pass."""

    def __format__(self, how: str) -> str:
        return ""

    def __repr__(self) -> str:
        return "a value of memlab"


def _operation(self: Inert, *others: object) -> Inert:
    """Result of any operation."""
    return self


for _name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "neg", "pos", "abs",
    "round",
    "radd", "rsub", "rmul", "rtruediv", "rfloordiv", "rmod", "rpow", "rmatmul",
    "lt", "le", "gt", "ge",
):  # fmt: skip
    setattr(Inert, f"__{_name}__", _operation)

INERT = Inert()


class _InertModule(ModuleType):
    """Module of memlab that is not here: it has every name, and each is inert."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return INERT


class InertModules(Loader):
    """Finder of the modules of memlab that the confined process does not have."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> Any:
        """Return an inert module for any part of memlab that nobody else finds."""
        if name.partition(".")[0] != "memlab":
            return None
        return ModuleSpec(name, InertModules(), is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a new module that has every name."""
        return _InertModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Load nothing."""


def ignored(*values: object, **named: object) -> Inert:
    """Do nothing, whatever is given."""
    return INERT
