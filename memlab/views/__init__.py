"""Every picture and every widget of memlab; loading it loads anywidget and ipywidgets.

>>> view = memlab.views.network_memory("resnet50", batch=32)
>>> print(view)
"""

from memlab.views.copies.make import shifted_copies
from memlab.views.copies.view import ShiftedCopies
from memlab.views.lesson.card import PredictionCard, prediction_card
from memlab.views.lesson.exercise import ExerciseCard, exercise_card
from memlab.views.network.make import network_memory
from memlab.views.network.view import NetworkMemory
from memlab.views.run.view import PlannedAndMeasured, planned_and_measured
from memlab.views.speed.view import AlgorithmTimes, TimeAndMemory, algorithm_times
from memlab.views.warp.view import WarpMemory, warp_memory
from memlab.views.widget import View

__all__ = [
    "AlgorithmTimes",
    "ExerciseCard",
    "NetworkMemory",
    "PlannedAndMeasured",
    "PredictionCard",
    "ShiftedCopies",
    "TimeAndMemory",
    "View",
    "WarpMemory",
    "algorithm_times",
    "exercise_card",
    "network_memory",
    "planned_and_measured",
    "prediction_card",
    "shifted_copies",
    "warp_memory",
]
