"""The meter against allocations whose sizes are known."""

from __future__ import annotations

import numpy as np
import pytest

from memlab import InputError
from memlab.runtime import hook
from memlab.runtime.meter import Meter


def test_an_expression_shows_its_temporary_and_its_scalar() -> None:
    a = np.ones(1000, np.float32)
    with Meter() as meter:
        b = a * 2 + 1
        assert meter.live == b.nbytes
        assert meter.peak == 2 * b.nbytes + 4  # the temporary, the result and one scalar
        del b
        assert meter.live == 0


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


def test_two_measurements_at_once_are_refused() -> None:
    with Meter(), pytest.raises(InputError, match="another measurement"), Meter():
        pass


def test_an_unknown_numpy_is_an_error_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "KNOWN_ABI", {0})
    with pytest.raises(hook.HookError, match="install numpy 2"):
        hook.Hook()
