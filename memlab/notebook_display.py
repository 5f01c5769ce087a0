"""Pictures, tables and widgets that a notebook shows for values of memlab, beside their text."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from IPython.display import publish_display_data

from memlab import strings
from memlab.course.cards import PredictionCard, prediction_card, unseen
from memlab.course.exercises import exercise_card
from memlab.layers.layer import text
from memlab.ledger.ledger import Ledger
from memlab.lesson.card import Card
from memlab.lesson.exercise import Exercise
from memlab.networks.graph import INPUT, Network
from memlab.pictures.live.outputs import Output
from memlab.pictures.live.widget import Widget
from memlab.pictures.memory import lifetimes as small
from memlab.pictures.memory.page import MemoryPageInputs, needs, page
from memlab.pictures.memory.snapshot import cut
from memlab.pictures.memory.step_memory import StepMemory, budget

if TYPE_CHECKING:
    from memlab.runtime.run import Run

BATCH = 32
"""Batch for which a ledger is shown, or the nearest one that the ledger covers."""
WIDTH = 960
WIDGET = "application/vnd.jupyter.widget-view+json"
HEADS = ("layer", "kind", "settings", "output", "parameters")


def bundle(value: Any) -> dict[str, Any]:
    """Return the representations of a value for a notebook, by media type; text is included where
    it differs from the value's own."""
    return next((show for kind, show in SHOWN.items() if isinstance(value, kind)), _run)(value)


def show_card(card: Card) -> None:
    """Show a card with the place for what follows its answer, which the answer fills.

    A card that was answered before the kernel began is shown at once, as finding its truth again
    may take long. Pages where no Python runs have the outputs under the answer one by one.
    """
    view = prediction_card(card)
    if card.now.pending:
        place = {"display_id": token_hex(8)}  # as it is, then as it was answered, which is stored
        _publish(_card(view), transient=place)
        view.recall()
        _publish(_card(view), transient=place, update=True)
    else:
        _publish(_card(view))
    if view.is_followed and card.now.revealed:
        for output in view.fill():
            _publish(_still(output))


def _card(view: PredictionCard) -> dict[str, Any]:
    """Return a card with the place under its answer, if it has one."""
    shown = view.container if view.is_followed else view
    return {WIDGET: shown.get_view_spec(), **view.stored()}


def _still(output: Output) -> dict[str, Any]:
    """Return an output under an answer for pages where no Python runs; a live page, which shows it
    in the card, shows nothing here."""
    lines = output.get("text") or "\n".join(output.get("traceback", ()))
    data = output.get("data") or {"text/plain": lines}
    return {**data, WIDGET: unseen().get_view_spec()}


def _publish(data: dict[str, Any], **more: Any) -> None:
    publish_display_data(data, **more)  # type: ignore[no-untyped-call]  # IPython has no types


def ledger_svg(ledger: Ledger) -> str:
    """Return a picture of a ledger as SVG: the lifetimes of a small step, otherwise bytes by role
    over the step."""
    batches = ledger.batches or range(1, BATCH + 1)
    batch = max(batches[0], min(batches[-1], BATCH))
    memory, card = StepMemory(ledger), budget("12 GB card")
    if small.fits(memory):
        return small.page(small.lifetimes(memory, batch), width=WIDTH).render()
    snapshot = cut(memory, batch)
    return page(MemoryPageInputs(snapshot, needs(snapshot), budgets=[card]), WIDTH).render()


def network_html(network: Network) -> str:
    """Return the layers of a network as an HTML table: settings, output per sample, parameters."""
    heads = [strings.get(f"layers.{key}") for key in HEADS]
    lines = [(INPUT, "", "", text(network.input_shape), "")]
    for node in network.nodes:
        count = sum(array.count for array in node.parameters)
        lines.append((node.name, node.kind, node.settings, text(node.shape), f"{count:,}"))
    total = strings.get("layers.total")
    lines.append((total, "", "", "", f"{network.parameters:,}"))
    head = "".join(f"<th scope='col'>{escape(cell)}</th>" for cell in heads)
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in line) for line in lines)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    caption = f"<caption>{escape(network.label)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _widget(view: Widget) -> dict[str, Any]:
    """Return a live widget, with its text and picture for pages where no Python runs."""
    data, _ = view._repr_mimebundle_() or (view.stored(), {})
    return data


def _run(run: Run) -> dict[str, Any]:
    """Return the picture of a run beside its plan; importing late is cheap, as a run has loaded
    what the picture needs."""
    from memlab.pictures.planned_and_measured import planned_and_measured

    bundle: dict[str, Any] = planned_and_measured(run)._repr_mimebundle_()
    return bundle


SHOWN: dict[type, Callable[[Any], dict[str, Any]]] = {
    Ledger: lambda ledger: {"image/svg+xml": ledger_svg(ledger)},
    Network: lambda network: {"text/html": network_html(network)},
    Exercise: lambda exercise: _widget(exercise_card(exercise)),
}
"""Functions that represent a value, by its class; a run has ``_run``."""
