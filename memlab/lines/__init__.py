"""Lines of figures, one for each operation, block or pixel: NumPy's arrays where it is there.

Where it is not, as in a web page, ``np`` is ``memlab.lines.plain``: the part of NumPy that plans
and their pictures ask for, on lists. Both give the same figures to the bit. Modules that compute
networks need NumPy itself, and import it themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[Any]
    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Truths = NDArray[np.bool_]
else:
    try:
        import numpy as np
    except ImportError:
        from memlab.lines import plain as np
    Column = Floats = Integers = Truths = Any

__all__ = ["Column", "Floats", "Integers", "Truths", "alive", "column", "least", "most", "np"]


def column(numbers: Sequence[int]) -> Column:
    """Whole numbers of at least 0 as a line in which every sum of them is exact."""
    return np.array(numbers, np.int64 if sum(numbers) < 2**63 else object)


def alive(sizes: Column, births: Column, deaths: Column, moments: int) -> Column:
    """The sum of what is alive at each of so many moments, of shape (moments,).

    Each of the ``sizes``, a ``column``, is alive from its birth to its death, both counted; one
    born before moment 0 is there from then on, one that dies after the last is there until then.
    """
    change = np.zeros(moments + 1, sizes.dtype if len(sizes) else np.int64)
    np.add.at(change, np.maximum(births, 0), sizes)
    np.subtract.at(change, np.minimum(deaths + 1, moments), sizes)
    return np.cumsum(change[:-1])


def most(line: Floats, span: int, at: Integers) -> Floats:
    """The largest of ``span`` figures of a line from each place on, of shape (places,)."""
    return _windows(line, span, at, max)


def least(line: Floats, span: int, at: Integers) -> Floats:
    """The smallest of ``span`` figures of a line from each place on, of shape (places,)."""
    return _windows(line, span, at, min)


def _windows(line: Floats, span: int, at: Integers, best: Any) -> Floats:
    if np.__name__ == "numpy":
        windows = np.lib.stride_tricks.sliding_window_view(line, span)[at]
        found: Floats = windows.max(axis=1) if best is max else windows.min(axis=1)
        return found
    figures = line.tolist()
    return np.array([best(figures[first : first + span]) for first in at.tolist()], np.float64)
