"""What is free here: the system's figure, and the limits of every control group around us."""

import platform
import re
from datetime import date

import pytest

from memlab import devices
from memlab.errors import InputError

GB = 10**9


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """`machine({"path": text})` is a root folder with these files, on a system with 64 GB free."""
    import psutil

    class Memory:
        available = 64 * GB

    monkeypatch.setattr(psutil, "virtual_memory", Memory)

    def made(files):
        for path, content in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(content)
        return tmp_path

    return made


def test_without_control_groups_it_is_what_the_system_has(machine):
    assert devices.free_memory(machine({})) == 64 * GB


def test_a_container_may_take_less(machine):
    root = machine(
        {
            "proc/self/cgroup": "0::/lab/user\n",
            "sys/fs/cgroup/lab/memory.max": f"{8 * GB}\n",
            "sys/fs/cgroup/lab/memory.current": f"{3 * GB}\n",
            "sys/fs/cgroup/lab/memory.stat": f"anon {2 * GB}\ninactive_file {GB}\n",
            "sys/fs/cgroup/lab/user/memory.max": "max\n",
            "sys/fs/cgroup/lab/user/memory.current": f"{3 * GB}\n",
        }
    )
    assert devices.free_memory(root) == 6 * GB


def test_the_first_version_of_control_groups_counts_too(machine):
    folder = "sys/fs/cgroup/memory/job"
    root = machine(
        {
            "proc/self/cgroup": "7:cpu,cpuacct:/job\n4:memory:/job\n1:name=systemd:/job\n",
            f"{folder}/memory.limit_in_bytes": str(2 * GB),
            f"{folder}/memory.usage_in_bytes": str(3 * GB),
            f"{folder}/memory.stat": "cache 5\n",
        }
    )
    assert devices.free_memory(root) == 0


def test_here_something_is_free():
    import psutil

    assert 0 <= devices.free_memory() <= psutil.virtual_memory().total


def test_devices_have_a_source():
    assert devices.find("12 GB card").memory == 12 * GB
    for name, device in devices.DEVICES.items():
        assert name == device.name
        assert device.memory > 0
        assert device.source
    with pytest.raises(InputError, match="did you mean '24 GB card'"):
        devices.find("24GB card")


def test_here_names_the_machine_and_the_day():
    words = devices.here().split(", ")
    assert words[0] == f"{platform.system()} {platform.machine()}"
    assert re.fullmatch(r"\d+ cores", words[1])
    assert words[2] == date.today().isoformat()
