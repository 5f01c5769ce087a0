"""Parts of Numba's simulator that memlab replaces."""

from __future__ import annotations

import time
from threading import Thread
from typing import Any

import numpy as np
import pytest
from numba import types

from memlab.kernels.cuda import target

if not target().simulated:
    pytest.skip("there is a GPU, and so no simulator", allow_module_level=True)

from memlab.kernels.cuda.simulator import SHARED, fix_shared_arrays

fix_shared_arrays()
SharedArrays = SHARED()


def test_threads_that_ask_at_the_same_moment_share_an_array(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    empty, shared, arrays = np.empty, SharedArrays(0), []

    def slow(*arguments: Any) -> Any:
        time.sleep(0.05)
        return empty(*arguments)

    def ask() -> None:
        arrays.append(shared.array((2, 3), np.float64))

    monkeypatch.setattr(np, "empty", slow)
    threads = [Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(arrays) == 3
    assert all(array is arrays[0] for array in arrays)


def test_two_lines_have_two_arrays() -> None:
    shared = SharedArrays(64)
    first = shared.array(4, types.float32)
    other = shared.array(4, np.dtype(np.float32))
    assert first is not other
    assert first.dtype == other.dtype == np.float32
    assert shared.array(0, np.dtype(np.float32)).size == 16
