"""A table in one test: each row is a branch of its own, and takes less time than a test does."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from _pytest.mark import ParameterSet


def every_row(names: str | tuple[str, ...], table: Iterable[Any]) -> Callable[..., Any]:
    """A decorator as ``pytest.mark.parametrize``, that calls the test with every row in turn.

    The first row that fails ends the test, and is named. A fixture is the same for all rows.
    """
    columns = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else names
    sets = [ParameterSet.extract_from(row, force_tuple=len(columns) == 1) for row in table]

    def over(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def looped(**fixtures: Any) -> None:
            for row in sets:
                given = dict(zip(columns, row.values, strict=True))
                try:
                    test(**fixtures, **given)
                except BaseException as error:
                    error.add_note(f"in the row {given}")
                    raise

        signature = inspect.signature(test)
        left = [each for name, each in signature.parameters.items() if name not in columns]
        looped.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return looped

    return over
