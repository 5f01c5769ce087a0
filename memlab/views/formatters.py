"""How a notebook shows the values of memlab: pictures and tables beside their own text."""

from __future__ import annotations

from html import escape
from typing import Any

from memlab.networks.graph import INPUT, Network
from memlab.networks.layers import text
from memlab.planner.ledger import Ledger
from memlab.runtime.run import Run
from memlab.views import strings
from memlab.views.network import picture, words
from memlab.views.network.rows import rows
from memlab.views.network.state import State, budget
from memlab.views.run.view import planned_and_measured

BATCH = 32
"""The batch of a ledger that is shown as it is, or the nearest one that it holds for."""
HEADS = ("layer", "kind", "settings", "output", "parameters")


def register() -> None:
    """Tell IPython, where it runs."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    formatter = shell.display_formatter if shell else None
    if formatter is None:
        return
    formatter.formatters["image/svg+xml"].for_type(Ledger, ledger_svg)
    formatter.formatters["image/svg+xml"].for_type(Run, run_svg)
    formatter.formatters["text/plain"].for_type(Run, run_text)
    formatter.formatters["text/html"].for_type(Network, network_html)


def ledger_svg(ledger: Ledger) -> str:
    """The floor and the mountain of a ledger."""
    batches = ledger.batches or range(1, BATCH + 1)
    batch = max(batches[0], min(batches[-1], BATCH))
    state = State(ledger, batch, budgets=(budget("12 GB card"),))
    return picture.draw(rows(state)).render(words.title(state))


def run_svg(run: Run) -> str:
    """Planned beside measured."""
    return planned_and_measured(run).svg()


def run_text(run: Run, printer: Any, cycle: bool) -> None:
    """The same in words; without seconds, which differ each time."""
    printer.text(planned_and_measured(run).text())


def network_html(network: Network) -> str:
    """The layers as a table: settings, output per sample, parameters."""
    heads = [strings.get(f"layers.{key}") for key in HEADS]
    lines = [(INPUT, "", "", text(network.input_shape), "")]
    for node in network.nodes:
        count = sum(array.count for array in node.parameters)
        lines.append((node.name, node.kind, node.layer.describe(), text(node.shape), f"{count:,}"))
    total = strings.get("layers.total")
    lines.append((total, "", "", "", f"{network.parameters:,}"))
    head = "".join(f"<th scope='col'>{escape(cell)}</th>" for cell in heads)
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in line) for line in lines)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    caption = f"<caption>{escape(network.label)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
