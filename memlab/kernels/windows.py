"""Where a window that slides over a row meets the row; kernels of several files call this."""

from __future__ import annotations

from memlab.kernels import indices
from memlab.kernels.compile import compiled

inside = compiled(indices.inside)
