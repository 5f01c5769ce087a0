"""Kernels that waste something on purpose, and the compiler's report on them, printed as JSON."""

import json
from dataclasses import asdict

from numba import cuda, float32, int64

from benchmarks.cuda_report import report
from memlab.kernels.cuda.compile import Compiled

MANY = 300
"""More values than a thread has registers."""
LINE = float32[::1]


def local(x, y):
    """Kernel with a local array that is indexed by a variable."""
    i = cuda.grid(1)
    values = cuda.local.array(400, float32)
    for j in range(400):
        values[j] = x[i + j]
    y[i] = values[i % 400]


def shared(x, y):
    values = cuda.shared.array(256, float32)
    values[cuda.threadIdx.x] = x[cuda.grid(1)]
    cuda.syncthreads()
    y[cuda.grid(1)] = values[255 - cuda.threadIdx.x]


def division(x, y, width):
    i = cuda.grid(1)
    y[i] = x[i // width]


def shift(x, y):
    i = cuda.grid(1)
    y[i] = x[i // 8] / x[i]


def spilling():
    """Kernel that reads all values before it writes the first, so that registers spill."""
    read = [f"v{j} = x[i + {j}]" for j in range(MANY)]
    written = [f"y[i + {j}] = v{j}" for j in range(MANY)]
    lines = ["i = cuda.grid(1)", *read, "cuda.syncthreads()", *written]
    names = {"cuda": cuda}
    exec("def kernel(x, y):\n    " + "\n    ".join(lines), names)
    return names["kernel"]


KERNELS = [
    Compiled("local", local, (LINE, LINE)),
    Compiled("shared", shared, (LINE, LINE)),
    Compiled("divisions", division, (LINE, LINE, int64)),
    Compiled("shift", shift, (LINE, LINE)),
    Compiled("spilling", spilling(), (LINE, LINE)),
]

if __name__ == "__main__":
    print(json.dumps([asdict(row) for row in report(KERNELS, [(9, 0)])]))
