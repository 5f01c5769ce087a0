"""The lanes curve: its knee, what is said of it, and that another target is another width."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from benchmarks import BENCHMARKS
from benchmarks import vectors as benchmark
from memlab import InputError
from memlab.kernels.cpu import vector_code
from memlab.measure import memory_bandwidth, vector_lanes
from memlab.measure.timing import Machine
from memlab.measure.vector_lanes import LaneCurve, LaneMeasurement, LoopSamples

MACHINE = Machine("a processor", 2, "Linux x86_64", "2026-01-31", {"numba": "0.68.1"})


def curve(*rates: float, format: str = "fp32", bits: int = 32, first: int = 1) -> LaneCurve:
    """Points of those operations per second, each with twice the lanes of the one before."""
    points = [
        LoopSamples(first << n, 1000, (2000 / rate, 1000 / rate)) for n, rate in enumerate(rates)
    ]
    return LaneCurve(format, bits, tuple(points))


def measured(*curves: LaneCurve, **others: Any) -> LaneMeasurement:
    given: dict[str, Any] = {
        "bits": 512, "registers": 32, "feature": "avx512f", "target": "", "missing": (),
        "chosen": {"zmm": 16, "ymm": 4}, "chosen_bits": 512, "clock": "process_time",
    } | others  # fmt: skip
    return LaneMeasurement(curves, machine=MACHINE, **given)


@pytest.fixture(autouse=True)
def quick(monkeypatch: Any) -> None:
    monkeypatch.setattr(vector_lanes, "SHORTEST", 0.0)
    monkeypatch.setattr(vector_lanes, "FEW", 10)


def test_the_rate_is_that_of_the_best_sample() -> None:
    assert LoopSamples(4, 300, (3.0, 1.5, 2.0)).rate == 200


@pytest.mark.parametrize(
    ("rates", "knee", "ends", "deviation", "gain"),
    [
        ((10, 20, 40, 40, 44, 42), 4, True, 0, 0.1),
        ((10, 19, 40, 80, 80), 8, True, 0.05, 0),
        ((10, 20, 40, 60, 90), 16, False, 0.4375, 0),
        ((10, 20, 40, 30, 10), 4, True, 0, 0),
        ((10, 13, 26, 52), 1, True, 0, 4.2),
        ((10,), 1, False, 0, 0),
    ],
)
def test_the_knee_is_where_a_doubling_gains_no_more(
    rates: tuple[float, ...], knee: int, ends: bool, deviation: float, gain: float
) -> None:
    found = curve(*rates)
    assert (found.knee.lanes, found.ends) == (knee, ends)
    assert found.width == 32 * knee
    assert found.deviation == pytest.approx(deviation)
    assert found.gain == pytest.approx(gain)


def test_linear_starts_at_the_first_point_and_a_loss_is_no_gain() -> None:
    found = curve(80, 160, 150, 20, format="bf16", bits=16, first=8)
    assert found.linear(32) == pytest.approx(320)
    assert found.width == 256
    assert found.gain == 0
    assert found.falls
    assert not curve(10, 20, 19).falls


def test_lines_have_the_aims_of_every_format() -> None:
    found = measured(curve(10, 20, 20), curve(20, 50, 58, format="bf16", bits=16, first=8))
    lines = {line.name: line for line in benchmark.lines_of(found)}
    assert lines["fp32: width, measured"].value == 64
    assert lines["fp32: largest gain beyond it"].aim == 15
    off = lines["bf16: worst deviation from linear, to it"]
    assert off.value == pytest.approx(25)
    assert (off.aim, off.reached) == (10, False)
    assert not lines["bf16: largest gain beyond it"].reached
    assert lines["bf16 against fp32, operations"].value == pytest.approx(2.5)
    assert lines["bits in a vector, by avx512f"].value == 512
    rising = benchmark.lines_of_curve(curve(10, 20), "x")
    assert not [line for line in rising if "beyond" in line.name]


def test_a_measurement_survives_json() -> None:
    found = measured(curve(10, 20, 20), missing=("int8",), target="avx2")
    assert vector_lanes.read(json.loads(json.dumps(asdict(found)))) == found
    assert found.curve("fp32").knee.lanes == 2
    with pytest.raises(InputError, match="unknown measured format 'fp64'"):
        found.curve("fp64")


def test_a_real_measurement_has_a_point_for_every_loop() -> None:
    found = vector_lanes.measure(("fp32", "fp64"), (4, 1, 4), repeats=2)
    assert [each.format for each in found.curves] == ["fp32", "fp64"]
    for each in found.curves:
        assert [point.lanes for point in each.points] == [1, 4]
        assert all(len(point.samples) == 2 and point.operations > 0 for point in each.points)
    assert (found.bits, found.registers, found.feature) == vector_code.WIDTH
    assert found.target == ""
    assert found.chosen_bits in (0, 128, 256, 512)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"formats": ("fp31",)}, "unknown format of vectors 'fp31'"),
        ({"formats": ()}, "no vectors of no format are computed here"),
        ({"formats": "fp32", "lanes": (3,)}, "lanes of fp32 must be one of"),
        ({"formats": "fp32", "lanes": ("a",)}, "lanes must be a whole number, got 'a'"),
        ({"formats": "fp32", "lanes": ()}, "fp32 has no loop of so few lanes; try 1."),
        ({"formats": "fp32", "repeats": 0}, "repeats must be at least 1"),
    ],
)
def test_bad_input_gives_one_sentence(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        vector_lanes.measure(**arguments)


# -- another target -----------------------------------------------------------------------------

x86 = pytest.mark.skipif(
    "avx2" not in vector_code.FEATURES, reason="only an x86-64 with AVX2 runs code for it"
)


@x86
def test_a_forced_target_has_its_own_width() -> None:
    found = vector_lanes.forced("avx2", ("fp32", "bf16", "fp32"), (1, 8), repeats=1)
    assert (found.target, found.bits, found.registers, found.feature) == ("avx2", 256, 16, "avx2")
    assert found.missing == ("bf16",)
    assert found.chosen_bits == 256
    assert "zmm" not in found.chosen
    (one,) = found.curves
    assert [point.lanes for point in one.points] == [1, 8]


@x86
def test_what_the_other_process_refuses_is_refused() -> None:
    with pytest.raises(InputError, match="no vectors of bf16 are computed here"):
        vector_lanes.forced("sse2", "bf16", (8,), repeats=1)


def test_a_target_that_cannot_run_is_refused(monkeypatch: Any) -> None:
    with pytest.raises(InputError, match="unknown target 'avx1024'"):
        vector_lanes.forced("avx1024")
    monkeypatch.setattr(vector_code, "FEATURES", frozenset({"neon"}))
    with pytest.raises(InputError, match="this processor has no sse2, so it runs no code for avx2"):
        vector_lanes.forced("avx2")


def test_the_benchmark_measures_both_targets(monkeypatch: Any) -> None:
    monkeypatch.setattr(vector_lanes, "measure", lambda **_: measured(curve(10, 20, 20)))
    forced = measured(curve(10, 20, 20), bits=256, feature="avx2", target="avx2")
    monkeypatch.setattr(vector_lanes, "forced", lambda target, **_: forced)
    monkeypatch.setattr(memory_bandwidth, "LEAST", 2**20)
    monkeypatch.setattr(memory_bandwidth, "caches", dict)
    names = [line.name for line in BENCHMARKS["lanes"]().lines]
    assert "fp32: width, measured" in names
    assert "forced avx2: fp32: width, measured" in names
    assert "int8: read 1.0 MB from memory" in names


# -- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("largest", "free", "nbytes"),
    [
        (0, 2**33, 2**28),
        (2**25, 2**33, 2**28),
        (2**26, 2**33, 2**29),
        (3 * 2**25, 2**33, 2**29),
        (300 * 2**20, 2**39, 2**29),
        (2**30, 2**39, 2**29),
        (2**25, 2**28, 2**27),
        (2**25, 2**27, 2**26),
    ],
)
def test_the_array_is_large_and_leaves_room(largest: int, free: int, nbytes: int) -> None:
    assert memory_bandwidth.size(largest, free) == nbytes


def test_too_little_memory_is_said() -> None:
    with pytest.raises(InputError, match=r"1\.0 MB is read, .* half of what is free, .* free some"):
        memory_bandwidth.size(0, 2**21 - 1)


@pytest.mark.parametrize(("largest", "cached"), [(0, False), (2**18, False), (2**18 + 1, True)])
def test_a_cache_that_holds_much_of_the_array_is_named(
    largest: int, cached: bool, monkeypatch: Any
) -> None:
    monkeypatch.setattr(memory_bandwidth, "LEAST", 2**20)
    monkeypatch.setattr(memory_bandwidth, "MOST", 2**20)
    monkeypatch.setattr(memory_bandwidth, "caches", lambda: {"L3": largest})
    assert memory_bandwidth.measure("fp32", repeats=1).cached == cached
    names = [line.name for line in benchmark.reading(repeats=1)]
    source = "memory and caches" if cached else "memory"
    assert f"fp32: read 1.0 MB from {source}" in names


def test_the_same_bytes_are_read_in_every_format(monkeypatch: Any) -> None:
    monkeypatch.setattr(memory_bandwidth, "LEAST", 2**20)
    monkeypatch.setattr(memory_bandwidth, "caches", dict)
    found = memory_bandwidth.measure(("fp64", "fp16", "int8"), repeats=2)
    assert found.nbytes == 2**20
    assert [each.bits for each in found.rates] == [64, 16, 8]
    for each in found.rates:
        assert each.values * each.bits == pytest.approx(8 * each.bandwidth)
    for formats, says in ((("int4",), "less than a byte"), ((), "no format"), ("fp31", "unknown")):
        with pytest.raises(InputError, match=says):
            memory_bandwidth.measure(formats)
