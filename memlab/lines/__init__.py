"""Lines of figures, one for each operation, block or pixel: NumPy's arrays where it is there.

Where it is not, as in a web page, ``np`` is ``memlab.lines.plain``: the part of NumPy that plans
and their pictures ask for, on lists. Both give the same figures to the bit. Modules that compute
networks need NumPy itself, and import it themselves.
"""

from __future__ import annotations

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

__all__ = ["Column", "Floats", "Integers", "Truths", "least", "most", "np"]


def most(line: Floats, span: int, at: Integers) -> Floats:
    """The largest of ``span`` figures of a line from each place on, of shape (places,)."""
    return _windows(line, span, at, max)


def least(line: Floats, span: int, at: Integers) -> Floats:
    """The smallest of ``span`` figures of a line from each place on, of shape (places,)."""
    return _windows(line, span, at, min)


def _windows(line: Floats, span: int, at: Integers, best: Any) -> Floats:
    if hasattr(np, "lib"):
        windows = np.lib.stride_tricks.sliding_window_view(line, span)[at]
        found: Floats = windows.max(axis=1) if best is max else windows.min(axis=1)
        return found
    figures = line.tolist()
    return np.array([best(figures[first : first + span]) for first in at.tolist()], np.float64)
