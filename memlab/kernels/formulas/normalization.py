"""Formulas of batch normalisation and local response normalisation, in plain Python.

Batch normalisation is ``y = (x - mean) scale + shift``. Its gradient uses two means over the
batch: that of ``dy`` (``offset``), and that of ``dy (x - mean)``, divided by the variance
(``lean``)::

    dx = (dy - offset - (x - mean) lean) scale

Local response normalisation divides a value by a power of its neighbours' squares (Krizhevsky et
al. 2012). With ``s = k + alpha / size * (sum of x^2 over the channels around c)``::

    y[c]  = x[c] s[c]^-beta
    dx[i] = dy[i] s[i]^-beta - 2 alpha beta / size x[i] (sum of t[c] over the channels that see i)
    t[c]  = dy[c] x[c] s[c]^(-beta - 1)
"""

from __future__ import annotations

from typing import Any


def normalized(x: Any, mean: Any, scale: Any, shift: Any) -> Any:
    """Normalised value, ``(x - mean) scale + shift``."""
    return (x - mean) * scale + shift


def normalized_backward(dy: Any, x: Any, mean: Any, lean: Any, offset: Any, scale: Any) -> Any:
    """Gradient of the input of batch normalisation, ``(dy - offset - (x - mean) lean) scale``."""
    return (dy - offset - (x - mean) * lean) * scale


def divided_by_power(x: Any, s: Any, beta: Any) -> Any:
    """Value or gradient divided by a power of its neighbours' squares, ``x s^-beta``."""
    return x * s**-beta


def square_term(x: Any, share: Any) -> Any:
    """Term ``share x^2`` that a neighbouring value adds to ``s``."""
    return share * x * x
