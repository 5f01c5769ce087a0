"""Pictures under the answers of lesson 12."""

from __future__ import annotations

from memlab.course.reveals import reveal
from memlab.lesson.card_question import Attempt
from memlab.lesson.material.recorded_models import model
from memlab.pictures.explain.view import ExplainedModel, explain


@reveal("12.more")
def words(turn: Attempt) -> ExplainedModel:
    """Peak of the language model on a GPU of 12 GB."""
    return explain(model(turn.numbers["model"]), turn.numbers["batch"], "12 GB", only=("memory",))


@reveal("12.chunks")
def in_chunks(turn: Attempt) -> ExplainedModel:
    """The model with a loss in chunks, beside the loss as it was."""
    n = turn.numbers
    view = explain(model(n["model"]), n["batch"], n["memory"], only=("batch", "changed_by"))
    view.changed_by = "chunked"
    return view


@reveal("12.optimizer")
def update(turn: Attempt) -> ExplainedModel:
    """The model with a fused optimizer, beside the peak in the update as it was."""
    n = turn.numbers
    view = explain(model(n["model"]), n["batch"], "3.8 GB", only=("batch", "changed_by"))
    view.changed_by = "fused"
    return view


@reveal("12.smi")
def range_on_a_card(turn: Attempt) -> ExplainedModel:
    """Least and most bytes that the GPU shows."""
    n = turn.numbers
    return explain(model(n["model"]), n["batch"], n["memory"], only=("batch", "memory"))
