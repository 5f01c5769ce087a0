"""Test memlab on this machine's GPU, time its kernels there, and keep the figures for lessons.

`make gpu` calls this; `python -m tests.gpu look` only says whether there is a GPU.
"""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks import gpu
from memlab import InputError
from memlab.kernels.cuda import target
from memlab.kernels.cuda.target import gpu as find_gpu
from memlab.measure import recorded_figures

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("tests/kernels", "tests/runtime", "-k", "cuda")
NO_GPU = "No figures: NVIDIA's driver lists no GPU here, and the times of a simulator say nothing."
SIMULATED = "No figures: NUMBA_ENABLE_CUDASIM asks for the simulator; unset it and try again."
FAILED = "No figures: a test failed on the GPU."


def main(words: list[str]) -> int:
    """2 without a GPU that Numba can use, 1 when a test fails; then nothing is recorded."""
    if find_gpu() is None:
        print(NO_GPU)
        return 2
    if words == ["look"]:
        return 0
    try:
        device = target()
    except InputError as error:
        print(f"No figures: {error}")
        return 2
    if device.simulated:
        print(SIMULATED)
        return 2
    return record(device.name)


def record(device: str) -> int:
    """Run the tests and the benchmark, and write what it finds."""
    command = [sys.executable, "-m", "pytest", "-q", *TESTS]
    if subprocess.run(command, cwd=ROOT, env=os.environ | {"MEMLAB_REQUIRE_GPU": "1"}).returncode:
        print(FAILED)
        return 1
    found = recorded_figures.RecordedFigures(device, recorded_figures.COMMAND, gpu.run())
    print(f"{found}\nwritten to {recorded_figures.save(found, recorded_figures.FOLDER)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
