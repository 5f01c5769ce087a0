"""Every picture and every widget of memlab; loading it loads anywidget and ipywidgets.

>>> view = memlab.views.network_memory("resnet50", batch=32)
>>> print(view)
"""

from memlab.views.lesson.card import PredictionCard, prediction_card
from memlab.views.lesson.exercise import ExerciseCard, exercise_card
from memlab.views.network.make import network_memory
from memlab.views.network.view import NetworkMemory
from memlab.views.run.view import PlannedAndMeasured, planned_and_measured
from memlab.views.widget import View

__all__ = [
    "ExerciseCard",
    "NetworkMemory",
    "PlannedAndMeasured",
    "PredictionCard",
    "View",
    "exercise_card",
    "network_memory",
    "planned_and_measured",
    "prediction_card",
]
