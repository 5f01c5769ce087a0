"""Where a window that slides over a row meets the row; kernels of several files call this."""

from __future__ import annotations

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.maps import indices

inside = compiled(indices.inside)
