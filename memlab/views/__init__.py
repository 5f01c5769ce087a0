"""Every picture and every widget of memlab; loading it loads anywidget and ipywidgets.

>>> view = memlab.views.memory("resnet50", batch=32)
>>> print(view)
"""

from memlab.views.addresses import AddressMap, addresses
from memlab.views.batches import BatchTimes, batch_times
from memlab.views.cards import PredictionCard, prediction_card
from memlab.views.case import OneCase, case
from memlab.views.copies import ShiftedCopies, shifted_copies
from memlab.views.exercises import ExerciseCard, exercise_card
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

__all__ = [
    "AddressMap",
    "AlgorithmTimes",
    "BatchTimes",
    "DataPathView",
    "ExerciseCard",
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
