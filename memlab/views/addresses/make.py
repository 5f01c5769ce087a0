"""The function that makes an address map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memlab import units
from memlab.errors import InputError, flag, listed, shorten, whole
from memlab.views.addresses.panel import BUDGETS
from memlab.views.addresses.room import named
from memlab.views.addresses.source import OFFERED, Subject
from memlab.views.addresses.state import State
from memlab.views.addresses.view import AddressMap


def addresses(
    what: Subject = "toy",
    batch: int | None = None,
    *,
    how: str = "no reuse",
    beside: str | None = None,
    in_place: bool = False,
    cursor: int | None = None,
    chosen: str | None = None,
    stage: str | None = None,
    packed: int | None = None,
    guess: int | str | None = None,
    budgets: Sequence[str | int] = BUDGETS,
    free: bool = True,
    moved: Mapping[str, int | str] | None = None,
    lock: bool = False,
) -> AddressMap:
    """Which tensors lie where in one arena, to look at, to pack by hand and to run.

    Args:
        what: ``"toy"``, six made-up tensors; a name of ``memlab.zoo``; a network or a step;
            ``"resnet50 chen2016"``, ResNet-50 v1.5 as that paper counts it.
        batch: the mini-batch size; the toy has none.
        how: a placing: ``"no reuse"``, ``"birth"``, ``"biggest"``, ``"best fit"``, ``"exact"`` for
            a few blocks, or ``"best"``, the best known.
        beside: a second placing beside the first, of the toy.
        in_place: outputs overwrite inputs that nobody needs any more (``memlab.in_place``).
        cursor: the operation to cut, counted from 1; None for the busiest.
        chosen: the name of the block in focus.
        stage: a stage of the network, to show its blocks alone; None for all.
        packed: how many blocks lie already, in the placer's order; None for all.
        guess: a guess at the arena, in bytes or as ``"9 MiB"``.
        budgets: names of ``memlab.devices``, or amounts; not for the toy.
        free: also show what is free on this machine; never in stored pictures.
        moved: addresses given by hand to some blocks, in bytes or as ``"3 MiB"``.
        lock: offer nothing else to look at.

    Raises:
        InputError: a value that is not allowed.
    """
    state = State(
        what,
        how,
        "" if beside is None else beside,
        in_place,
        0 if batch is None else whole("batch", batch),
        None if cursor is None else whole("cursor", cursor) - 1,
        "" if chosen is None else chosen,
        None if packed is None else whole("packed", packed, least=0),
        None if guess is None else units.parse(guess),
        "" if stage is None else stage,
        tuple(named(found) for found in listed("budgets", budgets, "12 GB card")),
    )
    for name, address in _addresses(moved).items():
        hand = state.placement.moved(name, units.parse(address))
        state = replace(state, hand=hand)
    own = None if isinstance(what, str) and what in OFFERED else what
    first = (state.network,) if own is not None or flag("lock", lock) else ()
    names = first if lock else tuple(dict.fromkeys((*first, *OFFERED)))
    return AddressMap(state, names, own, flag("free", free))


def _addresses(given: object) -> Mapping[str, int | str]:
    if given is not None and not isinstance(given, Mapping):
        raise InputError(
            f"moved are addresses by the names of blocks, got {shorten(given)}; "
            "try {'A': '3 MiB'}."
        )
    return given or {}
