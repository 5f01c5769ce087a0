"""What is free here: the system's figure, and the limits of every control group around us."""

import os
import platform
import re
from datetime import date

import pytest

from memlab import free_memory
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
            (tmp_path / path).write_text(content, encoding="utf-8")
        return tmp_path

    return made


def test_without_control_groups_it_is_what_the_system_has(machine):
    assert free_memory.free_memory(machine({})) == 64 * GB


@pytest.fixture(params=[True, False])
def beside(request, monkeypatch):
    """Bytes that a run takes of a control group beside its arrays, with kernels loaded or not."""
    monkeypatch.setattr(free_memory, "LOADED", "memlab.free_memory" if request.param else "missing")
    return free_memory.RESIDENT_RUN + (0 if request.param else free_memory.RESIDENT_KERNELS)


def test_a_container_may_take_less(machine, beside):
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
    assert free_memory.free_memory(root) == 6 * GB - beside
    assert free_memory.room(root, of_a_run=False) == (6 * GB, "a control group")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no control groups, nor files so named")
@pytest.mark.parametrize("name", ["my job", "größe", "a:b", "a\u2028b"])
def test_a_control_group_may_have_any_name(machine, name, beside):
    root = machine(
        {
            "proc/self/cgroup": f"0::/{name}\n",
            "proc/self/status": f"Name:\t{name}\nVmSize:\t1 kB\n",
            f"sys/fs/cgroup/{name}/memory.max": str(GB),
            f"sys/fs/cgroup/{name}/memory.current": "0",
        }
    )
    assert free_memory.free_memory(root) == GB - beside
    status = root / "proc/self/status"
    status.write_bytes(status.read_bytes().replace("ö".encode(), b"\xc3"))  # cut by the system
    assert free_memory.free_memory(root) == GB - beside


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
    assert free_memory.free_memory(root) == 0


LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max data size             {data:20} unlimited            bytes
Max resident set          1                    unlimited            bytes
Max address space         {addresses:20} unlimited            bytes
Max nice priority         0                    0
"""
STATUS = "Name:\tpython\nVmPeak:\t 900000 kB\nVmSize:\t 500000 kB\nVmData:\t 250000 kB\n"


def _limited(machine, addresses="unlimited", data="unlimited"):
    limits = LIMITS.format(addresses=addresses, data=data)
    return machine({"proc/self/limits": limits, "proc/self/status": STATUS})


@pytest.mark.parametrize("loaded", [True, False])
def test_the_limits_of_the_process_count_beside_what_a_run_takes(machine, monkeypatch, loaded):
    monkeypatch.setattr(free_memory, "LOADED", "memlab.free_memory" if loaded else "missing")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    beside = free_memory.RUN + (0 if loaded else free_memory.KERNELS)
    assert free_memory.room(_limited(machine)) == (64 * GB, "")
    by_addresses = free_memory.room(_limited(machine, addresses=str(4 * GB)))
    assert by_addresses == (4 * GB - 512 * 10**6 - beside, "ulimit -v")
    by_data = free_memory.room(_limited(machine, addresses=str(4 * GB), data=str(2 * GB)))
    assert by_data == (2 * GB - 256 * 10**6 - beside, "ulimit -d")
    assert free_memory.room(_limited(machine, data="1000")) == (0, "ulimit -d")


@pytest.mark.parametrize(
    ("asked", "threads"),
    [
        ({"OPENBLAS_NUM_THREADS": "3"}, 3),
        ({"OPENBLAS_NUM_THREADS": "99"}, 8),
        ({"OPENBLAS_NUM_THREADS": "0", "OMP_NUM_THREADS": "2"}, 2),
        ({"OPENBLAS_NUM_THREADS": "2,2"}, 8),
        ({}, 8),
    ],
)
def test_a_library_of_more_threads_takes_more(machine, monkeypatch, asked, threads):
    monkeypatch.setattr(free_memory, "cores", lambda: 8)
    for name in free_memory.THREADS:
        monkeypatch.delenv(name, raising=False)
    for name, count in asked.items():
        monkeypatch.setenv(name, count)
    need = 10**8 + free_memory.THREAD * (threads - 1)
    free_memory.require("NumPy", 10**8, _limited(machine, addresses=str(512 * 10**6 + need)))
    least = _limited(machine, addresses=str(512 * 10**6 + need - 1))
    says = r"^NumPy takes about .* ulimit -v leaves .*; raise that limit, or set \w+=1\.$"
    with pytest.raises(InputError, match=says):
        free_memory.require("NumPy", 10**8, least)


def test_what_is_loaded_already_needs_no_room(monkeypatch):
    monkeypatch.setattr(free_memory, "require", lambda *_: pytest.fail("it was asked for"))
    monkeypatch.setattr(free_memory, "LOADED", "memlab.free_memory")
    free_memory.require_kernels()


def test_here_something_is_free():
    import psutil

    assert 0 <= free_memory.free_memory() <= psutil.virtual_memory().total


def test_here_names_the_machine_and_the_day():
    before, words = date.today(), free_memory.here().split(", ")
    assert words[0] == f"{platform.system()} {platform.machine()}"
    assert re.fullmatch(r"\d+ cores", words[1])
    assert before <= date.fromisoformat(words[2]) <= date.today()
