"""PyTorch models that were recorded for the lessons: steps to plan and to look at
without PyTorch."""

from __future__ import annotations

from functools import cache

from memlab.errors import known
from memlab.measure.recorded_figures import FOLDER as DATA
from memlab.pictures.explain import recorded_model
from memlab.pictures.explain.recorded_model import RecordedModel

FOLDER = DATA / "models"
NAMES = ("words", "kept", "vgg11", "vgg16", "vgg16_single", "vgg16_fused")
"""The files there."""


def model(name: str) -> RecordedModel:
    """Return a model as it was recorded from PyTorch.

    Its ``step`` is a training step for any batch; ``views.explain(model("words"), 32, "8 GB")``
    shows which techniques make it fit.

    Args:
        name: ``"words"`` (a language model of 4 layers), ``"kept"`` (the same, where a variable
            keeps its output alive), ``"vgg11"`` or ``"vgg16"`` (networks for images),
            ``"vgg16_single"`` or ``"vgg16_fused"`` (the same, where Adam updates one parameter
            after another, or all in one kernel).

    Raises:
        InputError: there is no model of that name, or its file is damaged.

    >>> from memlab import lesson
    >>> step = lesson.model("words").step
    >>> step.network, len(step.ops)
    ('LanguageModel', 200)
    """
    return _loaded(known("recorded model", name, NAMES))


@cache
def _loaded(name: str) -> RecordedModel:
    return recorded_model.load(FOLDER / f"{name}.json")
