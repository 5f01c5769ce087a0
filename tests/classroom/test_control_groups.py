"""Control groups of both versions, in folders that stand in for the kernel's."""

import os

import pytest

from memlab.classroom.control_groups import Folders, Group, _kill_all, clear, find, group
from memlab.classroom.limits import MIB, Limits
from tests.classroom.confined_here import linux

pytestmark = linux

LIMITS = Limits(memory=300 * MIB, processes=32)


@pytest.fixture
def version_2(tmp_path):
    """A machine with version 2, where the group above the own one passes both limits on."""
    inner = tmp_path / "root" / "user.slice" / "session.scope"
    inner.mkdir(parents=True)
    (tmp_path / "root" / "cgroup.controllers").write_text("cpu memory pids")
    (tmp_path / "root" / "user.slice" / "cgroup.subtree_control").write_text("cpu memory pids")
    own = tmp_path / "own"
    own.write_text("0::/user.slice/session.scope\n")
    return tmp_path / "root", own


def test_version_2_takes_the_nearest_group_that_passes_both_limits_on(version_2):
    root, own = version_2
    folder = root / "user.slice"
    assert find(root, own) == Folders(2, folder, folder)


def test_version_2_without_a_group_that_passes_them_on_is_none(version_2):
    root, own = version_2
    (root / "user.slice" / "cgroup.subtree_control").unlink()
    (root / "user.slice" / "cgroup.subtree_control").mkdir()  # cannot be written
    (root / "cgroup.subtree_control").mkdir()
    assert find(root, own) is None


def test_version_2_writes_the_limits_and_reads_what_the_kernel_says(tmp_path):
    made = Group(Folders(2, tmp_path, tmp_path), LIMITS)
    made.join(123)
    files = {file.name: file.read_text().strip() for file in made.memory.iterdir()}
    assert files == {
        "memory.max": str(300 * MIB), "memory.swap.max": "0", "pids.max": "32",
        "cgroup.procs": "123",
    }  # fmt: skip
    assert made.peak is None
    (made.memory / "memory.peak").write_text("4096\n")
    assert made.peak == 4096
    (made.memory / "memory.events").write_text("oom 1\noom_kill 0\n")
    assert not made.full
    (made.memory / "memory.events").write_text("oom 1\noom_kill 2\n")
    assert made.full


def test_version_1_has_a_folder_for_each_limit(tmp_path):
    for name in ("memory/mine", "pids"):
        (tmp_path / name).mkdir(parents=True)
    own = tmp_path / "own"
    own.write_text("4:memory:/mine\n8:pids:/elsewhere\n0::/\n")
    folders = find(tmp_path, own)
    assert folders == Folders(1, tmp_path / "memory" / "mine", tmp_path / "pids")
    made = Group(folders, LIMITS)
    assert (made.memory / "memory.limit_in_bytes").read_text().strip() == str(300 * MIB)
    assert (made.pids / "pids.max").read_text().strip() == "32"
    (made.memory / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    assert made.full


def test_groups_that_nobody_removed_are_cleared(tmp_path):
    names = "memlab-999999999-a", "memlab-999999999-b", f"memlab-{os.getpid()}-a"
    left, used, mine = (tmp_path / name for name in names)
    for folder in (left, used, mine):
        folder.mkdir()
    (used / "cgroup.procs").write_text("0")
    clear(Folders(2, tmp_path, tmp_path))
    assert [folder.exists() for folder in (left, used, mine)] == [False, True, True]


def test_a_process_of_another_space_is_not_killed(tmp_path):
    (tmp_path / "cgroup.procs").write_text("0")
    _kill_all(tmp_path)  # number 0 would be this process and its group


def test_a_machine_without_groups_has_none(tmp_path):
    assert find(tmp_path, tmp_path / "missing") is None
    with group(None, LIMITS) as made:
        assert made is None
