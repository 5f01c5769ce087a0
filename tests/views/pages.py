"""Every page that a view can show, for the tests that hold for all of them.

A new view adds its cases here: a name, and a function that makes the view. A view whose factory
needs no argument has a case without that.
"""

from collections.abc import Callable
from dataclasses import replace
from inspect import Parameter, signature
from typing import Any

import memlab
from memlab import views
from memlab.lesson.card import Card
from memlab.lesson.question import topics
from memlab.views.draw.page import Page
from memlab.views.live.view import View
from tests.views import measurements

OLD = {"addresses", "comparison", "planned_and_measured", "techniques"}
"""Those that are no pages yet."""
WORDS = {"exercise_card"}
"""Those of words and buttons alone."""
FACTORIES = [name for name in views.__all__ if name.islower() and name not in OLD | WORDS]
CASES: dict[str, dict[str, Callable[[], Any]]] = {**measurements.CASES}
"""Of each public factory of ``memlab.views``, by its name: what is shown, and how it is made."""


def case(factory: str, name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """The function that is decorated makes a view of that factory."""

    def add(make: Callable[[], Any]) -> Callable[[], Any]:
        CASES.setdefault(factory, {})[name] = make
        return make

    return add


def every() -> dict[tuple[str, str], Callable[[], Any]]:
    """All cases by factory and name."""
    free = {name: {"by default": getattr(views, name)} for name in FACTORIES if not _needs(name)}
    found = free | CASES
    return {(factory, name): make for factory in found for name, make in found[factory].items()}


def _needs(factory: str) -> list[str]:
    """The arguments without which it makes nothing."""
    needed = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return [
        name
        for name, each in signature(getattr(views, factory)).parameters.items()
        if each.default is Parameter.empty and each.kind in needed
    ]


def page_of(view: Any, width: int = 820) -> Page:
    """The page of a view that stands still, or of the present state of a live one."""
    if isinstance(view, View):
        return view.page(width)
    page = view.page()
    assert isinstance(page, Page)
    return replace(page, width=width)


# -- a number in a format -------------------------------------------------------------------------


@case("number", "64 bits")
def _() -> Any:
    return views.number("0.1", "fp64")


@case("number", "nan")
def _() -> Any:
    return views.number("nan", "fp8_e4m3fn")


@case("number", "a walk below 0")
def _() -> Any:
    return views.number("-1e-400", "fp32", step=-3)


# -- one warp -------------------------------------------------------------------------------------


@case("warp_memory", "32 lines of stores")
def _() -> Any:
    return views.warp_memory(order="column")


@case("warp_memory", "in the padding")
def _() -> Any:
    return views.warp_memory(warp=0)


@case("warp_memory", "a short row")
def _() -> Any:
    return views.warp_memory("resnet50", "4.2.conv2", stride=2)


# -- the memory of a network ----------------------------------------------------------------------


def _network(*args: Any, then: dict[str, Any], **kwargs: Any) -> Any:
    """A view after a change, with the state before as its outline."""
    view = views.network_memory(*args, **kwargs)
    for name, value in then.items():
        setattr(view, name, value)
    return view


@case("network_memory", "a larger batch")
def _() -> Any:
    return _network("resnet50", then={"batch": 64})


@case("network_memory", "nearly all floor")
def _() -> Any:
    return _network("vgg16", 8, "adam", guess="3 GB", then={"batch": 4, "cursor": 9})


@case("network_memory", "a counting rule")
def _() -> Any:
    return views.network_memory("resnet50", rule="conv-sums")


@case("network_memory", "a stage by layer, refused")
def _() -> Any:
    return _network("resnet152", 512, budgets=["8 GB", "24 GB"], then={"unfolded": "stage 3"})


@case("network_memory", "a ledger")
def _() -> Any:
    return views.network_memory(memlab.plan(memlab.training_step(memlab.zoo.vgg11())), 16)


# -- shifted copies -------------------------------------------------------------------------------


@case("shifted_copies", "7 x 7, pinned, counted, on the way")
def _() -> Any:
    view = views.shifted_copies(k=7, step=20, free=False)
    view.pin, view.counts = "place:9", True
    return view


@case("shifted_copies", "a quarter each, after 5 x 5")
def _() -> Any:
    view = views.shifted_copies(k=5, free=False)
    view.k, view.stride = 3, 2
    return view


@case("shifted_copies", "one tile")
def _() -> Any:
    return views.shifted_copies("resnet50", "conv1", how="im2col-tile", free=False)


@case("shifted_copies", "nothing is made")
def _() -> Any:
    return views.shifted_copies("resnet50", "1.2.conv1", free=False)


# -- a revealed card ------------------------------------------------------------------------------

GUESSES = {"02.output": "900 TB", "00.unit": "fits", "02.halve": "1000000"}
"""A guess at an amount, at an option, and at a ratio."""


def _revealed(name: str, guess: str) -> Callable[[], Any]:
    return lambda: views.prediction_card(Card(topics()[name]).guess(guess).reveal())


for _name, _guess in GUESSES.items():
    case("prediction_card", _name)(_revealed(_name, _guess))
