"""Formulas of batch normalisation and local response normalisation, in plain Python.

Batch normalisation is ``y = (x - mean) scale + shift``, and its gradient, with the means over the
batch of ``dy`` (``offset``) and of ``dy`` times x without its mean (in ``lean``)::

    dx = (dy - offset - (x - mean) lean) scale

Local response normalisation divides a value by a power of its neighbours' squares
(Krizhevsky et al. 2012). With ``s = k + alpha / size * (sum of x^2 over the channels around c)``::

    y[c]  = x[c] s[c]^-beta
    dx[i] = dy[i] s[i]^-beta - 2 alpha beta / size x[i] (sum of t[c] over the channels that see i)
    t[c]  = dy[c] x[c] s[c]^(-beta - 1)
"""

from __future__ import annotations

from typing import Any


def normalized(x: Any, mean: Any, scale: Any, shift: Any) -> Any:
    """``(x - mean) scale + shift``."""
    return (x - mean) * scale + shift


def normalized_backward(dy: Any, x: Any, mean: Any, lean: Any, offset: Any, scale: Any) -> Any:
    """``(dy - offset - (x - mean) lean) scale``."""
    return (dy - offset - (x - mean) * lean) * scale


def weakened(x: Any, s: Any, beta: Any) -> Any:
    """``x s^-beta``, of a value or of its gradient."""
    return x * s**-beta


def square(x: Any, share: Any) -> Any:
    """What a neighbour adds to ``s``."""
    return share * x * x
