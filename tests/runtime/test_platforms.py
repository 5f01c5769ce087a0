"""C library of each system, and an allocator that has no memory left."""

from __future__ import annotations

import ctypes
import sys
from unittest.mock import Mock

import numpy as np
import pytest

from memlab import cli
from memlab.errors import InputError
from memlab.kernels import registry
from memlab.runtime.metering import meter, numpy_hook
from memlab.runtime.metering.meter import Meter


@pytest.mark.parametrize(
    ("system", "name"), [("linux", None), ("darwin", None), ("win32", "ucrtbase.dll")]
)
def test_the_c_library_of_each_system(system, name, monkeypatch):
    opened = Mock()
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(ctypes, "CDLL", opened)
    assert numpy_hook.c_library() is opened.return_value
    opened.assert_called_once_with(name)


def test_without_a_c_library_one_sentence_says_so(monkeypatch, capsys):
    def missing(name: str | None) -> None:
        raise OSError("no such library")

    registry.load()  # Numba opens libraries too
    monkeypatch.setattr(ctypes, "CDLL", missing)
    meter.process_hook.cache_clear()
    try:
        with pytest.raises(InputError, match=r"^memlab knows no C library .* plan it instead\.$"):
            Meter()
        assert cli.main(["run", "mnist_cnn", "--image", "8", "--batch", "1"]) == 2
    finally:
        meter.process_hook.cache_clear()
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("memlab: memlab knows no C library")
    assert told.err.count("\n") == 1


def test_what_cannot_grow_stays_and_is_still_counted():
    with Meter() as seen:
        kept = np.zeros(100, np.uint8)
        with pytest.raises(MemoryError):
            kept.resize(2**60, refcheck=False)
        assert seen.live == 100
        with pytest.raises(MemoryError):
            np.empty(2**60, np.uint8)
        assert seen.live == 100
        kept.resize(300, refcheck=False)
        assert seen.live == 300
        del kept
        np.empty(1, np.uint8)
    assert seen.live == 0
