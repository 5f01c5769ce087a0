"""What the blocks of a small step are called in formulas, and what its operations make."""

from __future__ import annotations

from collections.abc import Sequence

from memlab import strings
from memlab.ledger.ledger import Entry
from memlab.step.op import Op, Phase, plain
from memlab.step.tensor import Role

GRADIENT = "gradient of "
"""How a step names a gradient."""


def say(key: str, **values: object) -> str:
    """A text about lifetimes."""
    return strings.get(f"lifetimes.{key}", **values)


def symbols_of(entries: Sequence[Entry]) -> dict[str, str]:
    """The name of each block in formulas: ``x``, ``w1``, ``dE/dy``. The parameters of one layer
    are numbered; of several layers, weights and biases are."""
    owners = [entry for entry in entries if entry.role is Role.PARAMETER]
    layers = list(dict.fromkeys(entry.layer for entry in owners))
    found: dict[str, str] = {}
    for number, entry in enumerate(owners, 1):
        letter = _say_or(f"symbol.{entry.name.rpartition('.')[2]}", "")
        place = layers.index(entry.layer) + 1
        found[entry.name] = (
            f"w{number}" if len(layers) == 1 else f"{letter}{place}" if letter else entry.name
        )
    for entry in entries:
        found.setdefault(entry.name, symbol_of(entry.name, found))
    return found


def symbol_of(name: str, known: dict[str, str]) -> str:
    """The name of a tensor in formulas; ``known`` are those of blocks."""
    if name in known:
        return known[name]
    if (whole := plain(name)) != name:
        return symbol_of(whole, known) + name.removeprefix(whole)
    if name.startswith(GRADIENT):
        return f"dE/d{symbol_of(name.removeprefix(GRADIENT), known)}"
    owner, _, rest = name.rpartition(".")
    if owner in known:
        letter = _say_or(f"symbol.{rest}", "")
        return f"{letter}({known[owner]})" if letter else f"{known[owner]} {rest}"
    return _say_or(f"symbol.{name}", name)


def _say_or(key: str, other: str) -> str:
    """A text about lifetimes, or another one where there is none."""
    return say(key) if strings.has(f"lifetimes.{key}") else other


def layer_kind(kind: str) -> str:
    """The kind of the layer that an operation is of."""
    return kind.partition(".")[0]


def made_by(op: Op, symbols: dict[str, str]) -> tuple[str, str]:
    """What an operation makes, and its formula; empty where it makes several things."""
    products = list(op.writes.values())
    operands = {name: symbol_of(tensor.name, symbols) for name, tensor in op.reads.items()}
    if op.phase is Phase.UPDATE:
        head = say("symbol.parameters")
    elif len(products) > 1:
        alike = all(tensor.role is Role.PARAMETER_GRADIENT for tensor in products)
        head = say("symbol.gradients") if alike else ""
    else:
        head = symbol_of(products[0].name, symbols) if products else ""
    try:
        return head, say(f"formula.{op.phase}.{layer_kind(op.kind)}", **operands)
    except KeyError:  # no such formula, or not of these operands
        return head, ""
