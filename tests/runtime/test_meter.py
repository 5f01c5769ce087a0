"""Meter compared with allocations of known sizes."""

from __future__ import annotations

import ast
import subprocess
import sys

import numpy as np
import pytest

from memlab import InputError
from memlab.private_api import InternalError
from memlab.runtime.metering import numpy_hook, numpy_private_api
from memlab.runtime.metering.meter import Meter


def test_an_expression_shows_its_temporary_and_its_scalar() -> None:
    a = np.ones(1000, np.float32)
    with Meter() as meter:
        b = a * 2 + 1
        assert meter.live == b.nbytes
        assert meter.peak == 2 * b.nbytes + 4  # the temporary, the result and one scalar
        del b
        assert meter.live == 0


WITHOUT_MEMORY = """
import ctypes as c
from types import SimpleNamespace

from memlab.runtime.metering import numpy_hook

libc = numpy_hook.c_library()
given = []
libc.malloc.restype, libc.realloc.restype = c.c_void_p, c.c_void_p
libc.realloc.argtypes = [c.c_void_p, c.c_size_t]

@c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_size_t)
def realloc(old, nbytes):
    return libc.realloc(old, nbytes) if given and given.pop() else None

code, address = numpy_hook._compiled_free(SimpleNamespace(realloc=realloc, free=libc.free))
freed = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p, c.c_size_t)(address)
log = numpy_hook._Freed(wanted=1)

def free(times):
    for _ in range(times):
        freed(c.addressof(log), libc.malloc(8), 8)
    print(log.count, log.room)

free(3)
given.append(True)
free(numpy_hook.NOTED)
free(2)
"""


def test_freeing_goes_on_where_there_is_no_memory_to_note_it() -> None:
    words = [sys.executable, "-c", WITHOUT_MEMORY]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    full = f"{numpy_hook.NOTED} {numpy_hook.NOTED}"
    assert done.stdout.splitlines() == ["0 0", full, full]


def test_blocks_keep_label_birth_and_death() -> None:
    with Meter() as meter:
        meter.op, meter.label = 3, "first"
        a = np.empty(100, np.uint8)
        meter.op, meter.label = 4, ""
        del a
        b = np.zeros(10)
    assert [(s.nbytes, s.label, s.birth, s.death) for s in meter.seen] == [
        (100, "first", 3, 4),
        (80, "", 4, None),
    ]
    del b


def test_resizing_is_one_block_less_and_one_more() -> None:
    with Meter() as meter:
        a = np.zeros(10)
        a.resize((30,), refcheck=False)
        assert meter.live == 240
        del a
        assert meter.live == 0


def test_a_view_costs_nothing() -> None:
    with Meter() as meter:
        a = np.zeros((10, 10))
        live = meter.live
        view = a.reshape(100)[5:].T
        assert meter.live == live
        del view


def test_arrays_from_before_are_not_booked() -> None:
    a = np.ones(1000)
    with Meter() as meter:
        del a
        assert meter.live == 0


def test_a_block_may_outlive_the_measurement() -> None:
    with Meter() as meter:
        a = np.ones(1000)
    before = meter.live
    del a
    assert meter.live == before == 8000


def test_the_allocator_is_given_back_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), Meter():
        raise ZeroDivisionError
    with Meter() as meter:
        assert meter.live == 0


IN_FLIGHT = """
import numpy as np
from memlab.runtime.metering.meter import Meter

def read(*values):
    pass

def through():
    read(np.empty(1000), 1 / 0)

def caught():
    try:
        through()
    except ZeroDivisionError as error:
        return error

def handled():
    try:
        read(np.empty(1000), 1 / 0)
    except ZeroDivisionError as error:
        return error

def in_numpy():
    return np.add(np.empty(1000), np.array(["a"]))

found = []
for function in (through, caught, handled, in_numpy):
    with Meter() as meter:
        try:
            found.append(type(function()).__name__)
        except (TypeError, ZeroDivisionError) as error:
            found.append("raised")
        found.append(meter.live)
with Meter():
    kept = [np.empty(1000)]
try:
    read(kept.pop(), 1 / 0)  # what a measurement left is freed on the way too
except ZeroDivisionError:
    found.append("handled")
print(found)
"""


def test_an_exception_frees_arrays_on_its_way_and_arrives() -> None:
    """In a process of its own: when Python code freed the arrays, the exception was lost, or the
    process crashed."""
    done = subprocess.run([sys.executable, "-c", IN_FLIGHT], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    one = "ZeroDivisionError"
    assert ast.literal_eval(done.stdout) == ["raised", 0, one, 0, one, 0, "raised", 0, "handled"]


def test_more_arrays_are_freed_at_once_than_there_was_room_for() -> None:
    count = 2 * numpy_hook.NOTED + 10
    with Meter() as meter:
        arrays = [np.empty(3, np.uint8) for _ in range(count)]
        assert meter.live == 3 * count
        del arrays
        assert meter.live == 0
        again = np.empty(5, np.uint8)
        assert meter.live == 5
    assert len(meter.seen) == count + 1
    assert meter.peak == 3 * count
    del again


def test_a_block_dies_in_the_operation_that_frees_it() -> None:
    with Meter() as meter:
        first, second = np.empty(10), np.empty(10)
        meter.op = 1
        del first
        meter.op = 2
        del second
    assert [block.death for block in meter.seen] == [1, 2]


def test_two_measurements_at_once_are_refused() -> None:
    with Meter(), pytest.raises(InputError, match="another measurement"), Meter():
        pass


def test_an_unknown_numpy_is_an_error_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_private_api, "KNOWN_ABI", {0})
    with pytest.raises(InternalError, match="install numpy 2"):
        numpy_hook.Hook()
