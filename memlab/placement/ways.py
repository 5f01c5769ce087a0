"""The ways to give blocks addresses, by name."""

from __future__ import annotations

from collections.abc import Callable

from memlab.placement import exact_packing, packing
from memlab.placement.packing import Load, Packing

NEAR = 100
"""The search for the best order ends where at most 1/100 of the lower bound is lost."""


def _no_reuse(load: Load) -> Packing:
    order = packing.by_birth(load)
    return order, packing.stacked(load, order)


def _birth(load: Load) -> Packing:
    order = packing.by_birth(load)
    return order, packing.first_fit(load, order)


def _biggest(load: Load) -> Packing:
    order = packing.by_size(load)
    return order, packing.first_fit(load, order)


def _best_fit(load: Load) -> Packing:
    order = packing.by_birth(load)
    return order, packing.best_fit(load, order)


def _best(load: Load) -> Packing:
    bound, _ = load.bound()
    return packing.search(load, bound + bound // NEAR)


def _exact(load: Load) -> Packing:
    bound, _ = load.bound()
    found = packing.search(load, bound)
    top = load.top(found[1])
    return found if top == bound else exact_packing.solve(load, top)


WAYS: dict[str, Callable[[Load], Packing]] = {
    "no reuse": _no_reuse,
    "birth": _birth,
    "biggest": _biggest,
    "best fit": _best_fit,
    "exact": _exact,
    "best": _best,
}
"""From a load to the order of placing and the addresses."""
