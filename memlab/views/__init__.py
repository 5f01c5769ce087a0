"""Every picture and every widget of memlab; the first one loads anywidget and ipywidgets.

>>> view = memlab.views.memory("resnet50", batch=32)
>>> print(view)
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memlab.views.addresses import AddressMap, addresses
    from memlab.views.batches import BatchTimes, batch_times
    from memlab.views.cards import PredictionCard, prediction_card
    from memlab.views.case import OneCase, case
    from memlab.views.copies import ShiftedCopies, shifted_copies
    from memlab.views.exercises import ExerciseCard, exercise_card
    from memlab.views.explain import ExplainedModel, explain
    from memlab.views.idle import IdleMaps, idle
    from memlab.views.lanes import MemoryRate, VectorLanes, memory_rate, vector_lanes
    from memlab.views.live.view import View
    from memlab.views.memory import Memory, memory
    from memlab.views.number import NumberBits, number
    from memlab.views.offload import Offloaded, offload
    from memlab.views.path import DataPathView, path
    from memlab.views.precision import FormatsByRole, precision
    from memlab.views.recompute import Recompute, recompute
    from memlab.views.run import PlannedAndMeasured, planned_and_measured
    from memlab.views.techniques import Techniques, techniques
    from memlab.views.tile import SharedTile, shared_tile
    from memlab.views.times import AlgorithmTimes, TimeAndMemory, algorithm_times
    from memlab.views.totals import StepTotals, totals
    from memlab.views.training import (
        GradientHistogram,
        RunningSum,
        TrainingCurves,
        gradient_histogram,
        running_sum,
        training_curves,
    )
    from memlab.views.vectors import FilledVectors, vectors
    from memlab.views.warp import WarpMemory, warp_memory
    from memlab.views.ways import WaysOut, ways

_HOMES = {
    "AddressMap": "addresses",
    "AlgorithmTimes": "times",
    "BatchTimes": "batches",
    "DataPathView": "path",
    "ExerciseCard": "exercises",
    "ExplainedModel": "explain",
    "FilledVectors": "vectors",
    "FormatsByRole": "precision",
    "GradientHistogram": "training",
    "IdleMaps": "idle",
    "Memory": "memory",
    "MemoryRate": "lanes",
    "NumberBits": "number",
    "Offloaded": "offload",
    "OneCase": "case",
    "PlannedAndMeasured": "run",
    "PredictionCard": "cards",
    "Recompute": "recompute",
    "RunningSum": "training",
    "SharedTile": "tile",
    "ShiftedCopies": "copies",
    "StepTotals": "totals",
    "Techniques": "techniques",
    "TimeAndMemory": "times",
    "TrainingCurves": "training",
    "VectorLanes": "lanes",
    "View": "live.view",
    "WarpMemory": "warp",
    "WaysOut": "ways",
    "addresses": "addresses",
    "algorithm_times": "times",
    "batch_times": "batches",
    "case": "case",
    "exercise_card": "exercises",
    "explain": "explain",
    "gradient_histogram": "training",
    "idle": "idle",
    "memory": "memory",
    "memory_rate": "lanes",
    "number": "number",
    "offload": "offload",
    "path": "path",
    "planned_and_measured": "run",
    "precision": "precision",
    "prediction_card": "cards",
    "recompute": "recompute",
    "running_sum": "training",
    "shared_tile": "tile",
    "shifted_copies": "copies",
    "techniques": "techniques",
    "totals": "totals",
    "training_curves": "training",
    "vector_lanes": "lanes",
    "vectors": "vectors",
    "warp_memory": "warp",
    "ways": "ways",
}
"""Every public name and the module that it is loaded from when it is first used."""

__all__ = [
    "AddressMap",
    "AlgorithmTimes",
    "BatchTimes",
    "DataPathView",
    "ExerciseCard",
    "ExplainedModel",
    "FilledVectors",
    "FormatsByRole",
    "GradientHistogram",
    "IdleMaps",
    "Memory",
    "MemoryRate",
    "NumberBits",
    "Offloaded",
    "OneCase",
    "PlannedAndMeasured",
    "PredictionCard",
    "Recompute",
    "RunningSum",
    "SharedTile",
    "ShiftedCopies",
    "StepTotals",
    "Techniques",
    "TimeAndMemory",
    "TrainingCurves",
    "VectorLanes",
    "View",
    "WarpMemory",
    "WaysOut",
    "addresses",
    "algorithm_times",
    "batch_times",
    "case",
    "exercise_card",
    "explain",
    "gradient_histogram",
    "idle",
    "memory",
    "memory_rate",
    "number",
    "offload",
    "path",
    "planned_and_measured",
    "precision",
    "prediction_card",
    "recompute",
    "running_sum",
    "shared_tile",
    "shifted_copies",
    "techniques",
    "totals",
    "training_curves",
    "vector_lanes",
    "vectors",
    "warp_memory",
    "ways",
]


def _from_home(name: str) -> property:
    """A public name, loaded with its module. ``memory`` is the function, also once the module of
    that name is imported: what an import sets here does not replace it."""

    def value(_: ModuleType) -> Any:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

    def keep(_: ModuleType, given: Any) -> None:
        if not isinstance(given, ModuleType):
            raise AttributeError(f"{name} of memlab.views cannot be replaced.")

    return property(value, keep)


class _Views(ModuleType):
    """This package: it loads a view when that is first used."""

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *__all__]


for _name in _HOMES:
    setattr(_Views, _name, _from_home(_name))
sys.modules[__name__].__class__ = _Views
