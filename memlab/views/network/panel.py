"""The controls of the network-memory view, its presets, and the line of Python that makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memlab import strings
from memlab.networks import counting
from memlab.step.rules import UPDATES
from memlab.views.network import words
from memlab.views.network.source import OFFERED, network_of, variants
from memlab.views.network.state import STOPS, State
from memlab.views.widget import Control

if TYPE_CHECKING:
    from memlab.views.network.view import NetworkMemory

PRESETS: dict[str, tuple[str, int, str]] = {
    "surprise": ("vgg16", 8, "adam"),
    "break": ("resnet50", 512, "momentum"),
}
"""Network, batch, optimizer. The first is nearly all floor; the second fits few machines."""


def preset(name: str, state: State) -> State:
    """The state behind a button; budgets, guess and width stay."""
    network, batch, optimizer = PRESETS[name]
    kept = {"budgets": state.budgets, "guess": state.guess, "width": state.width}
    return State(network_of(network), batch, optimizer, **kept)  # type: ignore[arg-type]  # State checks them


def controls(view: NetworkMemory) -> list[Control]:
    """Network and batch in sight, the rest behind the disclosure, then the buttons."""
    found = []
    if len(view.networks) > 1 and view.network is not None:
        names = tuple((name, view.find(name).title) for name in view.networks)
        label = _label("network")
        found.append(Control("select", "network", label, view.network.name, options=names))
    found += _batch(view)
    if view.network is not None:
        found += _settings(view)
    choice = view.networks if len(view.networks) > 1 else ()
    offered = [name for name, (network, _, _) in PRESETS.items() if network in choice]
    buttons = ["start", *offered, "copy"]
    return found + [Control("button", name, _label(name), place="buttons") for name in buttons]


def more(view: NetworkMemory) -> str:
    """The values that the disclosure hides."""
    ledger = view.state.source.ledger
    values = [view.variant, words.optimizer(ledger.optimizer, short=True)]
    values += [words.step(view.state), view.format]
    values += [counting.find(view.rule).title] if view.rule else []
    return words.get("more", values=", ".join(filter(None, values)))


def code(view: NetworkMemory) -> str:
    """The line that makes this view again; a ledger is called ``ledger``."""
    values: dict[str, Any] = {"batch": view.batch}
    if view.network is not None:
        values |= {"optimizer": view.optimizer} if view.training else {"training": False}
        values |= {"format": view.format} if view.format != "fp32" else {}
        values |= {"variant": view.variant} if variants(view.network) else {}
    values |= {"rule": view.rule} if view.rule else {}
    values |= {"cursor": view.cursor} if view.cursor else {}
    settings = ", ".join(f"{name}={value!r}" for name, value in values.items())
    subject = repr(view.network.name) if view.network else "ledger"
    return f"memlab.views.network_memory({subject}, {settings})"


def _batch(view: NetworkMemory) -> list[Control]:
    label = _label("batch", sample=words.sample(view.state))
    spoken = _label("spoken", batch=f"{view.batch:,}")
    top = len(STOPS) - 1
    return [
        Control("range", "batch", label, view.exponent, least=0, most=top, spoken=spoken),
        Control("number", "batch_number", _label("batch_number"), view.batch, least=1, beside=True),
    ]


def _settings(view: NetworkMemory) -> list[Control]:
    assert view.network is not None
    forms = variants(view.network)
    found = [_select("variant", view.variant, {form: form for form in forms})] if forms else []
    steps = {name: strings.get(f"step.{name}") for name in ("training", "inference")}
    found += [
        _select("optimizer", view.optimizer, {name: words.optimizer(name) for name in UPDATES}),
        _select("training", "training" if view.training else "inference", steps),
        _select("format", view.format, {name: name for name in OFFERED}),
    ]
    if view.rules:
        rules = {"": words.get("no_rule")}
        rules |= {rule.name: rule.title for rule in counting.CONVENTIONS.values()}
        found.append(_select("rule", view.rule, rules))
    return found


def _label(name: str, **values: object) -> str:
    return words.get(f"control.{name}", **values)


def _select(name: str, value: str, options: dict[str, str]) -> Control:
    return Control("select", name, _label(name), value, "more", tuple(options.items()))
