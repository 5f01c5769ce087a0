"""Progress bars of long work; a web page, which has no package for them, shows none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")


class NoBar:
    """Bar that is never drawn, with the methods of one that is."""

    disable = True

    def __init__(self, items: Iterable[Any] = (), **settings: object) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __enter__(self) -> NoBar:
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing."""

    def update(self, count: int = 1) -> None:
        """Do nothing."""

    set_description = write = update


progress_bar: Any = NoBar
"""Class of a bar over some items, or of one that ``update`` moves, with the settings of tqdm."""

try:
    from tqdm import tqdm

    progress_bar = tqdm
except ModuleNotFoundError:
    pass
