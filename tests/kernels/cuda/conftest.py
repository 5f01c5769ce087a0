"""Import of memlab's CUDA kernels before any test imports ``numba.cuda``, so that memlab decides
whether that is the simulator."""

import memlab.kernels.cuda  # noqa: F401
