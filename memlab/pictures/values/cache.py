"""Cache of the last results."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from memlab import strings

T = TypeVar("T")


class RecentResults:
    """Cache of the last ``most`` results, by their arguments and the language of their texts.

    What cannot be hashed, as a device, is told apart by its identity: it is kept with the result,
    so that no other one gets its number.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._found: OrderedDict[tuple[Hashable, ...], tuple[object, Any]] = OrderedDict()

    def of(self, made_of: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return the result that was made of these things before, or make it now."""
        key = strings.language(), *map(_key, made_of)
        if key not in self._found:
            self._found[key] = made_of, make()
        self._found.move_to_end(key)
        if len(self._found) > self.most:
            self._found.popitem(last=False)
        result: T = self._found[key][1]
        return result


def _key(thing: object) -> Hashable:
    try:
        hash(thing)
    except TypeError:
        return "id", id(thing)
    return thing
