"""Memory manager that replaces Numba's, with a fake driver that counts instead of allocating.

Numba decides at its import between GPU and simulator, so each test runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

DRIVER = """
import json
from numba import cuda
from numba.cuda.cudadrv.driver import CudaAPIError, driver
from memlab.errors import InputError
from memlab.runtime.cuda.arrays import Gpu
from memlab.runtime.cuda.manager import ManagerHook
from memlab.runtime.metering.meter import Meter

used, freed = {}, []

def allocate(nbytes):
    address = 4096 * (len(used) + len(freed) + 1)
    used[address] = nbytes
    return address

def free(address):
    freed.append(used.pop(int(address)))

class Context:
    memory_manager = None

    def get_memory_info(self):
        return self.memory_manager.get_memory_info()

context = Context()
cuda.current_context = lambda: context
driver.cuMemAlloc, driver.cuMemFree = allocate, free
driver.cuMemGetInfo = lambda: (10**6 - sum(used.values()), 10**6)
"""


def seen(code: str) -> Any:
    """Output of code in a process whose Numba is set up for the GPU of the fake driver."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER + code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "0"},
    )
    return json.loads(done.stdout)


def test_every_allocation_and_release_is_reported_at_once() -> None:
    lives, blocks, last = seen("""
hook = ManagerHook()
with Meter(hook=hook) as meter:
    manager, lives = context.memory_manager, []
    meter.op, meter.label = 0, "first"
    first = manager.memalloc(1000)
    lives.append([meter.live, sum(used.values())])
    meter.op, meter.label = 1, ""
    second = manager.memalloc(24)
    lives.append([meter.live, sum(used.values())])
    del first
    lives.append([meter.live, sum(used.values())])
    meter.op = 2
    del second
    lives.append([meter.live, sum(used.values())])
blocks = [[b.nbytes, b.label, b.birth, b.death] for b in meter.seen]
print(json.dumps([lives, blocks, [meter.peak, hook.most, freed]]))
""")
    assert lives == [[1000, 1000], [1024, 1024], [24, 24], [0, 0]]
    assert blocks == [[1000, "first", 0, 1], [24, "", 1, 2]]
    assert last == [1024, 1024, [1000, 24]]


def test_pages_of_the_host_are_counted_apart_and_freed_at_once() -> None:
    lives, blocks, last = seen("""
import numpy as np

class Address(int):
    value = property(int)

def locked(shape, dtype):
    return np.frombuffer(context.memory_manager.memhostalloc(shape), dtype)

kept, hook = np.zeros(1000, np.uint8), ManagerHook()
driver.cuMemHostAlloc = lambda nbytes, flags: Address(kept.ctypes.data)
driver.cuMemFreeHost = lambda address: freed.append("host")
cuda.pinned_array = locked
with Meter(hook=hook) as meter:
    meter.op, meter.memory = 0, "host"
    there = Gpu("A card").host_block(1000)
    lives = [meter.live, sum(used.values()), there.nbytes]
    meter.op = 1
    del there
blocks = [[b.nbytes, b.memory, b.birth, b.death] for b in meter.seen]
print(json.dumps([lives, blocks, [meter.peak, hook.most, freed]]))
""")
    assert lives == [0, 0, 1000]
    assert blocks == [[1000, "host", 0, 1]]
    assert last == [0, 0, ["host"]]


def test_a_stream_of_copies_waits_for_no_kernel_and_is_ended() -> None:
    assert seen("""
class Stream(int):
    external = True

made, ended = [], []
cuda.implementation, cuda.external_stream = "NVIDIA", Stream
driver.cuStreamCreate = lambda flags: made.append(flags) or 77
driver.cuStreamDestroy = ended.append
card = Gpu("A card")
card.end(card.stream())
print(json.dumps([made, ended]))
""") == [[1], [77]]  # CU_STREAM_NON_BLOCKING


def test_the_manager_before_comes_back_and_what_lives_on_is_freed_by_its_own() -> None:
    assert seen("""
context.memory_manager = before = object()
hook = ManagerHook()
with Meter(hook=hook) as meter:
    manager = context.memory_manager
    block = manager.memalloc(8)
restored = context.memory_manager is before
del block
print(json.dumps([restored, meter.live, freed, manager.interface_version]))
""") == [True, 8, [8], 1]


def test_a_device_without_room_is_one_sentence() -> None:
    sentence = seen("""
def full(*_):
    raise CudaAPIError(2, "out of memory")

cuda.device_array = full
try:
    Gpu("A card").block(3 * 10**9)
except InputError as error:
    print(json.dumps(str(error)))
""")
    assert sentence.startswith("A card has no 3.000 GB (2.794 GiB) in one piece left")
    assert "\n" not in sentence


def test_a_host_that_locks_no_more_pages_is_one_sentence() -> None:
    sentence = seen("""
def full(*_):
    raise CudaAPIError(2, "out of memory")

cuda.pinned_array = full
try:
    Gpu("A card").host_block(3 * 10**9)
except InputError as error:
    print(json.dumps(str(error)))
""")
    assert sentence.startswith(
        "the host's page-locked memory has no 3.000 GB (2.794 GiB) in one piece"
    )
    assert "host='/tmp'" in sentence
