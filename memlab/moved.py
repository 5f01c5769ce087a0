"""Old names of modules, functions and classes: each works for one more version, with a warning.

The warning is a ``FutureWarning`` that gives the new name. What has no row kept its name:
``memlab.views.draw.chart`` is ``memlab.pictures.draw.chart``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module, util
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

NAMES = {"ways": "remedies", "WaysOut": "ComparedRemedies"}
"""The new names of what ``memlab`` and ``memlab.views`` have, by the old ones."""
PICTURES = {
    "arena.addresses", "copies", "course.cards", "course.case", "course.exercises", "explain",
    "idle", "lowering.tile", "lowering.times", "lowering.warp", "memory", "numbers.number",
    "numbers.precision", "numbers.training", "offload", "path", "recompute", "run", "techniques",
    "totals", "vectors.batches", "vectors.filled", "vectors.lanes", "ways",
}  # fmt: skip
"""Modules of ``memlab.views`` when it was a folder: it has their names itself."""
MODULES = {
    "build.backward": "assemble.backward",
    "build.forward": "assemble.forward",
    "build.step": "assemble.step",
    "kernels.cuda.conv.counted": "kernels.cuda.conv.counted_product",
    "kernels.everywhere": "kernels.device_independent",
    "kernels.maps.pointwise": "kernels.formulas.pointwise",
    "layers.row": "layers.layer_kind",
    "step.traits": "step.rewrite_traits",
    "techniques.order": "techniques.application_order",
    "studies.figures": "pictures.values.number_text",
    "studies.figures.Part": "pictures.mountain.stack_parts",
    "studies.figures.Study": "pictures.values.study",
    "studies.lowering.timings": "pictures.values.timings",
    "studies.lowering.warps": "pictures.warp_memory",
    "studies.memory.cut": "pictures.memory.snapshot",
    "studies.memory.lifetimes": "pictures.memory.lifetimes",
    "studies.memory.planned_and_run": "pictures.planned_and_measured",
    "studies.memory.recipe": "pictures.values.step_recipe",
    "studies.memory.totals": "pictures.totals",
    "studies.number_formats": "pictures.number",
    "studies.precision": "pictures.precision",
    "studies.streams.idle": "pictures.idle",
    "studies.streams.offload": "pictures.offload.streams",
    "studies.streams.path": "pictures.path.data_path",
    "studies.techniques.case": "course.case",
    "studies.techniques.packing": "pictures.addresses.packing",
    "studies.techniques.ways": "pictures.remedies.remedies",
    "studies.training": "pictures.training_curves",
    "studies.vectors": "pictures.vectors",
}
"""The new place by the old one: of a module, or of one name where it parted from its module."""
RENAMED = {
    "errors.real": "real_number",
    "errors.whole": "whole_number",
    "kernels.formulas.accumulation.put": "write_or_add",
    "kernels.registry.Call": "KernelCall",
    "layers.layer.settle": "validate",
    "layers.layer_kind.Choice": "KernelChoice",
    "layers.layer_kind.Over": "InPlacePairs",
    "layers.layer_kind.Row": "LayerKind",
    "pictures.draw.labels.Text": "ChartText",
    "pictures.draw.scale.Linear": "LinearScale",
    "pictures.draw.scale.Log": "LogScale",
    "pictures.draw.table.Beside": "SideBySide",
    "pictures.draw.table.Words": "Paragraphs",
    "pictures.live.setting.Check": "Checkbox",
    "pictures.live.setting.Choice": "Select",
    "pictures.live.setting.Number": "NumberBox",
    "pictures.live.setting.Text": "TextBox",
    "pictures.live.view.Scene": "PageState",
    "pictures.mountain.stack_parts.Part": "StackPart",
    "pictures.remedies.remedies.ways": "remedies",
    "pictures.values.number_text.three": "three_digits",
    "step.rewrite_traits.Again": "RerunRule",
    "step.rewrite_traits.Cut": "SplitAxis",
    "techniques.registry.Place": "Order",
}
"""The new names of functions and classes that users write layers, techniques and pictures with."""


METHODS = {
    "act": "on_event",
    "described": "outline_key",
    "do": "on_action",
    "line": "test_state",
    "settle": "reconcile",
    "shown": "first_slider",
}
"""The new names of methods that a view of a user defines."""


class Moved(ModuleType):
    """The old name of a module; its contents come from the new place."""

    def __getattr__(self, name: str) -> Any:
        old = self.__name__.removeprefix("memlab.")
        place = new_place(f"{old}.{name}" if f"{old}.{name}" in MODULES else old)
        if not place or name.startswith("__"):
            raise AttributeError(f"{self.__name__} has no {name!r}")
        new = NAMES.get(name, RENAMED.get(f"{place.removeprefix('memlab.')}.{name}", name))
        value = getattr(import_module(place), new)
        _warn(self.__name__, place)
        return value


class Finder:
    """Python's last finder of modules: it makes those that moved."""

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of an old name, or of a folder of old names; None for any other name."""
        top, _, old = name.partition(".")
        if top != "memlab" or not old:
            return None
        rows = (*MODULES, *(f"views.{picture}" for picture in PICTURES))
        if not new_place(old) and not any(row.startswith(f"{old}.") for row in rows):
            return None
        return ModuleSpec(name, cls, is_package=True)  # type: ignore[arg-type]  # no object is needed

    @staticmethod
    def create_module(spec: ModuleSpec) -> Moved:
        """Return a module with the old name."""
        return Moved(spec.name)

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Run nothing: the module reads from the new place."""


def new_place(old: str) -> str | None:
    """Return the module that an old name, without ``memlab``, stands for."""
    room, _, rest = old.partition(".")
    if room == "views" and rest in PICTURES:
        return "memlab.views"
    place = MODULES.get(old) or (f"pictures.{rest}" if room in ("views", "studies") else "")
    try:
        return f"memlab.{place}" if rest and place and util.find_spec(f"memlab.{place}") else None
    except ModuleNotFoundError:
        return None


def old_names(module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module in which some names are new; it knows the old ones."""
    room = module.removeprefix("memlab.")
    rows = NAMES if module in ("memlab", "memlab.views") else RENAMED

    def value(name: str) -> Any:
        new = rows.get(name if rows is NAMES else f"{room}.{name}")
        if new is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        _warn(f"{module}.{name}", f"{module}.{new}")
        return getattr(import_module(module), new)

    return value


def rename_methods(view: type) -> None:
    """Give the methods of a new class of views that have an old name the new one as well."""
    for old in METHODS.keys() & vars(view).keys():
        setattr(view, METHODS[old], vars(view)[old])
        _warn(f"{view.__name__}.{old}", f"{view.__name__}.{METHODS[old]}")


def _warn(old: str, new: str) -> None:
    text = f"{old} is {new} now; the next version has only the new name."
    warnings.warn(text, FutureWarning, stacklevel=3)
