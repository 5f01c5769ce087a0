"""A learner's memory limit, in a real control group: set and tried first, and then honoured."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lessons import cost
from memlab import free_memory
from tests.classroom import memory_group

ROOT = Path(__file__).resolve().parents[2]
GIB, MIB = 2**30, 2**20
LESSON = """import sys
from pathlib import Path
from lessons import build, cost
cost.of_run(Path(sys.argv[1]), {"NUMBA_CACHE_DIR": sys.argv[2]})
"""

pytestmark = pytest.mark.measures
FULL = pytest.mark.skipif("os.environ.get('MEMLAB_CLASSROOM') != 'full'", reason="make full")


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Iterator[memory_group.MemoryGroup]:
    """Group of the bytes that the test asks for, whose limit holds."""
    try:
        made = memory_group.make("limit", request.param)
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        assert made.ends_who_takes_more()
        yield made
    finally:
        made.remove()


def ran(
    group: memory_group.MemoryGroup, *words: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """A Python in the group, after it has ended."""
    return subprocess.run(
        group.entering(sys.executable, *words), capture_output=True, text=True, cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
    )  # fmt: skip


@pytest.mark.parametrize("group", [600 * MIB], indirect=True)
def test_what_is_free_is_what_the_group_leaves(group: memory_group.MemoryGroup) -> None:
    done = ran(group, "-c", "from memlab.free_memory import room; print(*room())")
    nbytes, _, limit = done.stdout.strip().partition(" ")
    assert limit == "a control group", done.stderr
    beside = free_memory.RESIDENT_RUN + free_memory.RESIDENT_KERNELS
    assert 500 * MIB < int(nbytes) + beside < 600 * MIB


@FULL
@pytest.mark.parametrize("network", ["mnist_cnn", "resnet18"])
@pytest.mark.parametrize("group", [GIB], indirect=True)
def test_the_largest_batch_that_a_refusal_names_runs(
    network: str, group: memory_group.MemoryGroup, tmp_path: Path
) -> None:
    """Also where every kernel is compiled in that process."""
    own = {"NUMBA_CACHE_DIR": str(tmp_path)}
    refused = ran(group, "-m", "memlab", "run", network, "--batch", "100000", **own)
    assert refused.returncode == 2, refused.stderr
    assert "refused before anything was allocated" in refused.stderr
    (largest,) = re.findall(r"the largest batch that fits is (\d+)", refused.stderr)
    done = ran(group, "-m", "memlab", "run", network, "--batch", largest, **own)
    assert done.returncode == 0, done.stderr


def share(lesson: Path) -> int:
    """Bytes of a group in which a lesson's kernel has as much as on a hub: there the server takes
    its part, and here a smaller program that runs the cells."""
    return cost.limit(cost.recorded()["lessons"][lesson.stem]) - cost.server() + 100 * MIB


@FULL
@pytest.mark.parametrize(
    ("lesson", "group"),
    [pytest.param(lesson, share(lesson), id=lesson.stem) for lesson in cost.lessons()],
    indirect=["group"],
)
def test_a_lesson_runs_within_the_limit_of_the_page(
    lesson: Path, group: memory_group.MemoryGroup, tmp_path: Path
) -> None:
    """Solved, with every kernel compiled anew."""
    done = ran(group, "-c", LESSON, str(lesson), str(tmp_path))
    assert done.returncode == 0, done.stderr
