"""The function that makes a network-memory view."""

from __future__ import annotations

from collections.abc import Sequence

from memlab import units
from memlab.errors import InputError, flag, known, listed, shorten, whole
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.planner.book import plan
from memlab.planner.ledger import Ledger
from memlab.step.step import Step
from memlab.views.network.source import network_of
from memlab.views.network.state import State, budget
from memlab.views.network.view import NetworkMemory


def network_memory(
    subject: str | Network | Step | Ledger = "mnist_cnn",
    batch: int = 32,
    optimizer: str = "momentum",
    *,
    training: bool = True,
    format: str = "fp32",
    variant: str | None = None,
    rule: str | None = None,
    cursor: int | None = None,
    guess: int | str | None = None,
    budgets: Sequence[str | int] = ("12 GB card",),
    free: bool = True,
    networks: Sequence[str] | None = None,
    lock: bool = False,
    rules: bool = True,
) -> NetworkMemory:
    """Bytes over the operations of one step, to look at and to change.

    Args:
        subject: a name of ``memlab.zoo``, a network of yours, or a step or ledger as it is.
        batch: the mini-batch size.
        optimizer: ``"sgd"``, ``"momentum"`` or ``"adam"``.
        training: a training step; False shows inference.
        format: of every array, ``"fp32"``, ``"fp64"``, ``"bf16"`` or ``"fp16"`` on a device that
            computes in it; or ``"mixed fp16"`` or ``"mixed bf16"`` (``memlab.precision``).
        variant: ``"v1"`` or ``"v1.5"``, for residual networks.
        rule: a counting rule (``memlab.counting``) to outline; None for none.
        cursor: the operation to cut, counted from 1; None for the peak.
        guess: a guess at the peak, in bytes or as ``"1.4 GB"``.
        budgets: names of ``memlab.devices``, or amounts.
        free: also show what is free on this machine; never in stored pictures.
        networks: the names to choose from; all of the zoo if not given.
        lock: show this network only.
        rules: offer the counting rules.

    Raises:
        InputError: a value that is not allowed.
    """
    chosen = _subject(subject, variant)
    state = State(
        chosen,
        batch,
        optimizer,
        training,
        format,
        "" if rule is None else rule,
        None if cursor is None else whole("operation", cursor) - 1,
        guess=None if guess is None else units.parse(guess),
        budgets=tuple(budget(found) for found in listed("budgets", budgets, "12 GB card")),
    )
    given = zoo.ZOO if networks is None else listed("networks", networks, "vgg16")
    names = tuple(known("network", name, zoo.ZOO) for name in given)
    names = () if flag("lock", lock) or isinstance(chosen, Ledger) else names
    if isinstance(chosen, Network) and chosen.name not in names:
        names = (chosen.name, *names)
    return NetworkMemory(state, names, flag("free", free), flag("rules", rules))


def _subject(given: object, variant: str | None) -> Network | Ledger:
    if isinstance(given, str):
        return network_of(given, "" if variant is None else variant)
    if variant is not None:
        raise InputError("only networks of the zoo have variants; leave variant out.")
    if isinstance(given, Step):
        return plan(given)
    if isinstance(given, Network | Ledger):
        return given
    raise InputError(f"give a network, a step or a ledger, got {shorten(given)}; try 'vgg16'.")
