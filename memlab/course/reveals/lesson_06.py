"""Pictures under the answers of lesson 06."""

from __future__ import annotations

from decimal import Decimal

from memlab.course.reveals import reveal
from memlab.lesson.card_question import Attempt
from memlab.lesson.content.lesson_06 import slow_trainings, trainings
from memlab.lesson.digits import SLOWER
from memlab.measure import timing
from memlab.pictures.number import NumberBits, number
from memlab.pictures.precision import FormatsByRole, precision
from memlab.pictures.training_curves import TrainingCurves, training_curves

CHANGED = ("start_from", "optimizer_state", "feature_map", "gradient_map", "batch")
"""Settings that the change after the card needs."""


@reveal("06.update")
def first_sum(turn: Attempt) -> NumberBits:
    """Sum of the weight and the first update, and the values beside it."""
    value = str(1 + Decimal(turn.numbers["step"]))
    return number(value, turn.numbers["format"], only=("value", "format", "step"))


@reveal("06.state")
def formats_by_role(turn: Attempt) -> FormatsByRole:
    """Model state and activations of ResNet-50 with the optimizer of the question."""
    n = turn.numbers
    return precision("resnet50", 32, n["optimizer"], start_from=n["mode"], only=CHANGED)


@reveal("06.dark")
def losses(turn: Attempt) -> TrainingCurves:
    """Losses and test errors of the trainings in four formats, and of those at a tenth of the
    rate."""
    epochs = turn.numbers["epochs"]
    slow = {f"{mode}, rate/{SLOWER}": done for mode, done in slow_trainings(epochs).items()}
    return training_curves({**trainings(epochs), **slow}, timing.machine())
