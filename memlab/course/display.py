"""How a notebook shows a card or an exercise."""

from __future__ import annotations

from secrets import token_hex
from typing import Any

from IPython.display import publish_display_data

from memlab.course.cards import PredictionCard, prediction_card
from memlab.course.exercises import exercise_card
from memlab.lesson.card import Card
from memlab.lesson.exercise import Exercise
from memlab.pictures.live.outputs import publish
from memlab.pictures.live.widget import Widget

WIDGET = "application/vnd.jupyter.widget-view+json"


def bundle(exercise: Exercise) -> dict[str, Any]:
    """An exercise as a notebook shows it, by media type."""
    return _widget(exercise_card(exercise))


def show_card(card: Card) -> None:
    """A card, and below it what follows its answer: now, or in an empty slot until then. One that
    was answered before the kernel began is shown first, as its truth may take long to find."""
    view = prediction_card(card)
    if card.now.pending:
        _recall(view)
    else:
        publish_display_data(_widget(view))  # type: ignore[no-untyped-call]  # IPython has no types
    if card.revealed and card.follows:
        with view.at_work():
            followed = view.followed()
        publish(followed)
    elif card.follows:
        publish_display_data({WIDGET: view.slot.get_view_spec()})  # type: ignore[no-untyped-call]  # IPython has no types


def _recall(view: PredictionCard) -> None:
    """Show a card as it is, then as it was answered, which is stored."""
    transient = {"display_id": token_hex(8)}
    publish_display_data(_widget(view), transient=transient)  # type: ignore[no-untyped-call]  # IPython has no types
    view.recall()
    publish_display_data(_widget(view), transient=transient, update=True)  # type: ignore[no-untyped-call]  # IPython has no types


def _widget(view: Widget) -> dict[str, Any]:
    """A live widget, with its text and picture for where no Python runs."""
    data, _ = view._repr_mimebundle_() or (view.stored(), {})
    return data
