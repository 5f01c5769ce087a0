"""Modules that moved: the old place works for one more version, with a warning that names the new.

What has no row kept its name: ``memlab.views.draw.chart`` is ``memlab.pictures.draw.chart``.
"""

from __future__ import annotations

import warnings
from importlib import import_module, util
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PICTURES = {
    "arena.addresses", "copies", "course.cards", "course.case", "course.exercises", "explain",
    "idle", "lowering.tile", "lowering.times", "lowering.warp", "memory", "numbers.number",
    "numbers.precision", "numbers.training", "offload", "path", "recompute", "run", "techniques",
    "totals", "vectors.batches", "vectors.filled", "vectors.lanes", "ways",
}  # fmt: skip
"""Modules of ``memlab.views`` when it was a folder: it has their names itself."""
MODULES = {
    "studies.figures": "pictures.values.number_text",
    "studies.figures.Part": "pictures.mountain.stack_parts",
    "studies.figures.Study": "pictures.values.study",
    "studies.lowering.timings": "pictures.values.timings",
    "studies.lowering.warps": "pictures.warp_memory",
    "studies.memory.cut": "pictures.memory.snapshot",
    "studies.memory.lifetimes": "pictures.memory.lifetimes",
    "studies.memory.planned_and_run": "pictures.planned_and_measured",
    "studies.memory.recipe": "pictures.values.recipe",
    "studies.memory.totals": "pictures.totals",
    "studies.number_formats": "pictures.number",
    "studies.precision": "pictures.precision",
    "studies.streams.idle": "pictures.idle",
    "studies.streams.offload": "pictures.offload.streams",
    "studies.streams.path": "pictures.path.data_path",
    "studies.techniques.case": "course.case",
    "studies.techniques.packing": "pictures.addresses.packing",
    "studies.techniques.ways": "pictures.ways.remedies",
    "studies.training": "pictures.training_curves",
    "studies.vectors": "pictures.vectors",
}
"""The new place by the old one: of a module, or of one name where it parted from its module."""


class Moved(ModuleType):
    """The old name of a module; what is in it comes from the new place."""

    def __getattr__(self, name: str) -> Any:
        old = self.__name__.removeprefix("memlab.")
        place = new_place(f"{old}.{name}" if f"{old}.{name}" in MODULES else old)
        if not place or name.startswith("__"):
            raise AttributeError(f"{self.__name__} has no {name!r}")
        value = getattr(import_module(place), name)
        text = f"{self.__name__} is {place} now; the next version has only the new name."
        warnings.warn(text, FutureWarning, stacklevel=2)
        return value


class Finder:
    """The last one that Python asks for a module: it makes those that moved."""

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The spec of an old name, or of a folder of old names."""
        top, _, old = name.partition(".")
        if top != "memlab" or old.split(".")[0] not in ("views", "studies"):
            return None
        rows = (*MODULES, *(f"views.{picture}" for picture in PICTURES))
        if not new_place(old) and not any(row.startswith(f"{old}.") for row in rows):
            return None
        return ModuleSpec(name, cls, is_package=True)  # type: ignore[arg-type]  # no object is needed

    @staticmethod
    def create_module(spec: ModuleSpec) -> Moved:
        """A module with that name."""
        return Moved(spec.name)

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Run nothing: it reads from the new place."""


def new_place(old: str) -> str | None:
    """The module that an old name, without ``memlab``, stands for."""
    room, _, rest = old.partition(".")
    if room == "views" and rest in PICTURES:
        return "memlab.views"
    place = f"memlab.{MODULES.get(old, f'pictures.{rest}')}"
    try:
        return place if rest and util.find_spec(place) else None
    except ModuleNotFoundError:
        return None
