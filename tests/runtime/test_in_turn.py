"""Runs without a thread, as in a web page: everything in turn, with the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from tqdm import tqdm

import memlab
from memlab.kernels.cpu.threads import NO_THREADS, threads_start
from memlab.step.step import Step

pytestmark = pytest.mark.measures


def step(threads: int = 1) -> Step:
    net = memlab.network("small", image=(3, 12, 12)).conv(8, 3, pad=1).relu().conv(8, 3)
    return memlab.training_step(net.relu().flatten().linear(10).cross_entropy(), threads=threads)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A Python that starts no thread."""

    def refuse(thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    threads_start.cache_clear()
    monkeypatch.setattr(tqdm, "monitor_interval", 0)  # its bars have a thread
    monkeypatch.setattr(Thread, "start", refuse)
    yield
    threads_start.cache_clear()


@pytest.mark.parametrize("made", [lambda: memlab.offload(step(), "all"), lambda: step(threads=3)])
def test_copies_and_parts_of_kernels(alone: None, made: Callable[[], Step]) -> None:
    run = memlab.run(made(), 4)
    assert (run.residual, run.in_turn) == (0, True)
    assert f"threads   {NO_THREADS}: copies and parts of kernels ran in turn" in run.text()


def test_a_step_without_either_says_nothing(alone: None) -> None:
    run = memlab.run(step(), 4)
    assert (run.residual, run.in_turn) == (0, False)
    assert "thread" not in run.text()


@pytest.mark.parametrize("disk", [None, "1 MB/s"])
def test_images_are_read_and_trained_with_in_turn(
    alone: None, disk: str | None, tmp_path: Path
) -> None:
    memlab.images(tmp_path, 12, (3, 12, 12))
    fed = memlab.feed(step(), tmp_path, batch=4, buffers=2, disk=disk)
    assert (fed.batches, fed.residual, fed.in_turn) == (3, 0, True)
    assert NO_THREADS in str(fed)
    one_thread = memlab.feed(step(), tmp_path, batch=4, buffers=0)
    assert not one_thread.in_turn
    np.testing.assert_array_equal(fed.losses, one_thread.losses)


def test_threads_start_here() -> None:
    threads_start.cache_clear()
    assert threads_start()
