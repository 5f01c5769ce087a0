"""The sentences about a warp, for the picture and for its text."""

from __future__ import annotations

from collections.abc import Sequence

from memlab import strings, units
from memlab.lesson.transactions import WARP
from memlab.networks.layers import text
from memlab.views.warp.rows import Line, Rows, Side
from memlab.views.warp.state import State
from memlab.views.warp.threads import Thread


def say(key: str, /, **values: object) -> str:
    """A text of this view."""
    return strings.get(f"warp.{key}", **values)


def title(state: State) -> str:
    """``'VGG-16 conv1_2: 3x3, to 64, pad 1, input 64x224x224, 1 image, fp32'``."""
    node = state.node
    return say(
        "title",
        network=state.network.title,
        layer=node.name,
        settings=node.layer.describe(),
        shape=text(node.input_shapes[0]),
    )


def which(state: State) -> str:
    """The order of the threads, and the warp."""
    order = say(f"order.{state.order}")
    return say("which", order=order, warp=f"{state.warp:,}", last=f"{state.last:,}")


def headline(rows: Rows) -> str:
    """What moves for loads and for stores."""
    return " ".join(map(cost, rows.sides))


def cost(side: Side) -> str:
    """``'Loads move 160 B and use 128 B of it.'``"""
    key = "nothing" if not side.moved else "whole" if side.moved == side.used else "part"
    sizes = {"moved": units.exact(side.moved), "used": units.exact(side.used)}
    return say(key, side=say(f"side.{side.name}"), **sizes)


def lines(side: Side) -> str:
    """``'Loads from the image: 5 sectors in 2 lines'``."""
    name, array = (say(f"{kind}.{side.name}") for kind in ("side", "array"))
    sectors, touched = side.sectors, len(side.lines)
    return say(
        "lines",
        side=name,
        array=array,
        sectors=say("sector" if sectors == 1 else "sectors", count=sectors),
        lines=say("line" if touched == 1 else "several", count=touched),
    )


def count(line: Line) -> str:
    """``'28 of 32'``."""
    return say("count", count=len(line.threads))


def ends(rows: Rows) -> list[str]:
    """The first thread and the last."""
    return [thread(found) for found in (rows.threads[0], rows.threads[-1])]


def notes(rows: Rows) -> list[str]:
    """Why some of the 32 access nothing."""
    idle = WARP - len(rows.threads)
    padding = len(rows.threads) - len(rows.load.accesses)
    counts = {"idle": idle, "padding": padding}
    return [say(key, count=count) for key, count in counts.items() if count]


def thread(found: Thread) -> str:
    """``'Thread 0: c 0, ky 0, kx 0, oy 1, ox 32.'``"""
    places = {name: getattr(found, name) for name in ("number", "c", "ky", "kx", "oy", "ox")}
    return say("thread", **places)


def span(numbers: Sequence[int]) -> str:
    """``'0–2, 9–11'``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def spoken(rows: Rows) -> str:
    """What a screen reader hears after a change."""
    return f"{which(rows.state)}. {headline(rows)}"
