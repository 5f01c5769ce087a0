"""A few cases of each test function, drawn so that they differ; all of them where nothing is asked.

``--cases 2`` keeps two cases of a function, and two of each kind where its parameters name kinds:
a parameter called one of ``NAMES``, or a value with a ``drawn_by``. The draw depends on the name of
the function alone, so that a run can be repeated, and so do the examples of Hypothesis. ``make
full`` and a run by hand run every case.

``@pytest.mark.every`` keeps every case; ``@pytest.mark.table`` does where more than two are asked
for: in a table each case is a branch of its own.
"""

from collections import defaultdict
from collections.abc import Iterable
from random import Random
from typing import Any

import hypothesis
import pytest

EVERY, TABLE = "every", "table"
NAMES = ("format", "target", "algorithm")
FEW = 2
"""As many cases or fewer are few: a table is drawn from, too, and Hypothesis draws a quarter of its
examples."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", type=int, help="how many cases of a test function are run")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{EVERY}: every case is always run")
    config.addinivalue_line("markers", f"{TABLE}: every case is a branch, and run in make test")
    number = config.getoption("--cases")
    # the machines are shared and slow at times: an example has no time limit
    profile: dict[str, Any] = {"deadline": None}
    if number is not None:
        profile |= {"derandomize": True, "database": None}
        profile |= {"max_examples": 25} if number <= FEW else {}
    hypothesis.settings.register_profile("memlab", **profile)
    hypothesis.settings.load_profile("memlab")


def examples(number: int) -> hypothesis.settings:
    """The settings of a test that draws another number of examples than the usual 100."""
    usual = hypothesis.settings().max_examples
    return hypothesis.settings(max_examples=-(-number * usual // 100))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the cases that are not drawn."""
    if (number := config.getoption("--cases")) is None:
        return
    kept = drawn(items, number)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def drawn(items: Iterable[pytest.Item], number: int) -> set[pytest.Item]:
    """The cases to run: of each function and kind at most ``number``."""
    groups = defaultdict(list)
    for item in items:
        whole = item.get_closest_marker(EVERY) or (number > FEW and item.get_closest_marker(TABLE))
        groups[item.nodeid if whole else (function(item), kinds(item))].append(item)
    return {
        item
        for group in groups.values()
        for item in (group if len(group) <= number else different(group, number))
    }


def function(item: pytest.Item) -> str:
    """The name of a test function and its file."""
    return item.nodeid.partition("[")[0]


def parameters(item: pytest.Item) -> Any:
    """The object that holds what a case is called with, by name."""
    return getattr(item, "callspec", None)


def kinds(item: pytest.Item) -> tuple[str, ...]:
    """The parameters of a case by which cases are drawn apart."""
    values = parameters(item).params if parameters(item) else {}
    named = [str(values[name]) for name in NAMES if name in values]
    return (*named, *(value.drawn_by for value in values.values() if hasattr(value, "drawn_by")))


def different(cases: list[pytest.Item], number: int) -> list[pytest.Item]:
    """Cases in a drawn order, each the one with most values that those before it lack."""
    left = list(cases)
    Random(function(left[0])).shuffle(left)
    seen: set[tuple[str, int]] = set()
    kept = []
    for _ in range(number):
        best = max(left, key=lambda item: len(places(item) - seen))
        left.remove(best)
        kept.append(best)
        seen |= places(best)
    return kept


def places(item: pytest.Item) -> set[tuple[str, int]]:
    """The parameters of a case, each with the identity of its value: a cross has it many times."""
    return {(name, id(value)) for name, value in parameters(item).params.items()}
