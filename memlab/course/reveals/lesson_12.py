"""Pictures under the answers of lesson 12."""

from __future__ import annotations

from memlab.course.reveals import reveal
from memlab.lesson.card_question import Attempt
from memlab.lesson.material.recorded_models import model
from memlab.pictures.explain.recorded_model import RecordedModel
from memlab.pictures.explain.view import ExplainedModel, explain


@reveal("12.more")
def words(turn: Attempt) -> ExplainedModel:
    """Peak of the language model on a GPU of 12 GB."""
    return explain(model(turn.numbers["model"]), turn.numbers["batch"], "12 GB", only=("memory",))


@reveal("12.kept")
def without_the_variable(turn: Attempt) -> ExplainedModel:
    """The model without the variable, beside the step in which it keeps the scores."""
    n = turn.numbers
    kept, key = model(n["other"]), "keep_output"
    change = {
        "key": key, "code": ["loss = loss_fn(model(tokens), targets)"], "names": (), "alone": (),
        "parts": 1, "same": True, "step": model(n["model"]).step,
    }  # fmt: skip
    both = RecordedModel(kept.step, kept.modules, [change], kept.where, kept.card)
    view = explain(both, n["batch"], "12 GB", only=("changed_by",))
    view.changed_by = key
    return view


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
