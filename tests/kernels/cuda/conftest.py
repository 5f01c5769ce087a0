"""Before any test imports ``numba.cuda``, memlab settles whether that is the simulator."""

import memlab.kernels.cuda  # noqa: F401
