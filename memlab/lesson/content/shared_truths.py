"""Helpers for the answers of several lessons: peaks, bars, steps."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random

from memlab import free_memory
from memlab.assemble.step import inference_step, training_step
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson.card_question import Numbers, RevealBar, Truth
from memlab.lesson.exercise_task import Arguments
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.step.op import Phase
from memlab.step.step import Step


def planned(value: Fraction | int, label: str = "") -> RevealBar:
    """Return a bar with a planned value."""
    return RevealBar("planned", Fraction(value), label)


def measured(value: Fraction | int, label: str = "") -> RevealBar:
    """Return a bar with a value that was measured on this machine."""
    return RevealBar("measured", Fraction(value), label)


def beside(due: Fraction | int, measure: Callable[[], Fraction | int]) -> tuple[RevealBar, ...]:
    """Return a planned bar and one with the value that ``measure`` returns; the planned bar alone
    where nothing can be computed, as on a web page."""
    seen = (measured(measure()),) if free_memory.computing() else ()
    return (planned(due), *seen)


def any_window(chance: Random, size: int) -> Arguments:
    """Draw sizes of a convolution: any stride and padding, also where the window does not reach the
    last rows."""
    while True:
        numbers = {
            "size": chance.randint(3, 8 + size),
            "k": chance.choice((1, 1, 2, 2, 3, 3, 4, 5, 7)),
            "stride": chance.choice((1, 1, 2, 3, 4)),
            "pad": chance.randint(0, 3),
        }
        if numbers["k"] <= numbers["size"]:
            return numbers


def copied_window(chance: Random, size: int) -> Arguments:
    """Draw sizes of a convolution whose lowering makes a copy: not 1x1 with stride 1 and no
    padding."""
    while True:
        arguments = any_window(chance, size)
        if (arguments["k"], arguments["stride"], arguments["pad"]) != (1, 1, 0):
            return arguments


def room(window: Arguments, sides: int = 2) -> int:
    """Number of pixels that a window can move, with padding on ``sides`` sides."""
    return int(window["size"] + sides * window["pad"] - window["k"])


def same_rows(window: Arguments) -> int:
    """Output rows for somebody who takes every padding of k // 2 for "same", which is wrong for an
    even k."""
    if window["pad"] == window["k"] // 2:
        return -(-int(window["size"]) // int(window["stride"]))
    return int(room(window) // window["stride"] + 1)


def with_label(n: Numbers) -> Numbers:
    """Numbers of a question with the label of its network, for texts."""
    return {**n, "label": zoo.build(n["network"]).label}


def step_of(network: Network, optimizer: str = "momentum", format: str = "fp32") -> Step:
    """Training step of a network; an inference step if there is no optimizer."""
    if not optimizer:
        return inference_step(network, format)
    return training_step(network, optimizer, format)


def peak_of(network: Network, batch: int, optimizer: str = "momentum") -> int:
    """Planned peak of a training step in bytes."""
    return plan(step_of(network, optimizer)).peak(batch)


def floor_and_mountain(ledger: Ledger, batch: int) -> tuple[int, int]:
    """Bytes at the peak that are the same for every batch, and bytes that grow with it."""
    at = ledger.peak_at(batch).index
    floor, per_sample = (int(part[at]) for part in ledger.line())
    return floor, batch * per_sample


def backward_begins(ledger: Ledger) -> int:
    """Index of the first operation of backward."""
    return next(i for i, row in enumerate(ledger.rows) if row.phase is Phase.BACKWARD)


def known(answer: str) -> Callable[[Numbers], Truth]:
    """Truth of a question about a notion: the option of that name; nothing is computed.

    Example::

        ask = topic("08.waiting", AnswerKind.CHOICE, {}, None, options=("none", "last", "read"),
                    part=Purpose.RECALL)
        ask(known("read"))
    """
    return lambda numbers: Truth(answer)
