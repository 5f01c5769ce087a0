"""Vector lanes and reading memory: picture and text say the same, of made-up measurements."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from memlab import InputError, views
from memlab.bench import reading
from memlab.bench.curves import Curve, Measured, Point
from memlab.bench.reading import Rate, Reading
from memlab.bench.timing import Machine
from memlab.views.lanes import curve, memory, twin, words
from memlab.views.lanes.view import MemoryRate, VectorLanes
from memlab.views.svg import Box

MACHINE = Machine("a processor", 2, "Linux x86_64", "2026-01-31", {"numba": "0.68.1"})
BITS = {"fp64": 64, "fp32": 32, "bf16": 16, "int8": 8}


def rates(format: str, width: int, *, first: int = 1, lost: float = 1.0) -> Curve:
    """Linear up to ``width`` bits, 1 % more beyond, and at last only a part of it."""
    lanes = [first << n for n in range(7) if first << n <= 64]
    most = width // BITS[format]
    found = [14e9 * min(n, most) * (1.01 if n > most else 1) for n in lanes]
    found[-1] *= lost
    points = [Point(n, 10**9, (10**9 / rate,) * 3) for n, rate in zip(lanes, found, strict=True)]
    return Curve(format, BITS[format], tuple(points))


def made_up(*curves: Curve, **others: Any) -> Measured:
    given: dict[str, Any] = {
        "bits": 512, "registers": 32, "feature": "avx512f", "target": "", "missing": (),
        "chosen": {"zmm": 16, "ymm": 4}, "chosen_bits": 512, "clock": "process_time",
    } | others  # fmt: skip
    return Measured(curves, machine=MACHINE, **given)


ALL = made_up(
    rates("fp64", 512), rates("fp32", 512), rates("bf16", 512, first=8),
    rates("int8", 512, first=16),
)  # fmt: skip
PARTS = made_up(rates("fp64", 256), rates("fp32", 256), rates("bf16", 256, first=8))
FORCED = made_up(
    rates("fp64", 256, lost=0.5), rates("fp32", 256), bits=256, registers=16, feature="avx2",
    target="avx2", missing=("bf16", "int8"), chosen={"ymm": 12}, chosen_bits=256,
)  # fmt: skip
CASES = {
    "all": ALL,
    "parts": PARTS,
    "forced": FORCED,
    "together": made_up(*(rates("fp32", 128) for _ in range(4)), bits=128, feature="neon"),
    "one": made_up(rates("fp64", 512), chosen={}, chosen_bits=0),
    "unbroken": made_up(rates("int8", 512, first=16)),
    "lost": made_up(
        Curve("fp32", 32, tuple(Point(2**n, 10**9, (2.0 ** -min(n, 4 - n),)) for n in range(4)))
    ),
    "wider": made_up(rates("fp32", 256), bits=128, feature="", clock="perf_counter"),
}


def drawn(svg: Any) -> list[str]:
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11
    return [label.content for label in svg.labels]


@pytest.mark.parametrize("name", CASES)
def test_picture_and_text_have_the_same_marks_and_rates(name: str) -> None:
    found, view = CASES[name], VectorLanes(CASES[name])
    labels, text = drawn(curve.draw(found)), view.text()
    ET.fromstring(view.svg())
    for lanes, label in words.marks(found):
        assert label in labels
        assert f"{lanes} lanes: {label}." in text
    for each in found.curves:
        assert words.at(each) in labels
        assert words.measured(each) in text
        assert words.measured(each) in view.svg() or each is words.reference(found)
        starred = f"{words.billions(each.knee.rate)}*" in text
        assert starred is each.ends
    for said in ("a processor", "2026-01-31", *words.notes(found)):
        assert said in text
        assert any(said in label for label in labels)


@pytest.mark.parametrize("name", CASES)
def test_every_point_is_inside_and_as_high_as_its_rate(name: str) -> None:
    found = CASES[name]
    plane = curve._plane(found, Box(0, 0, 600, 300))
    for each in found.curves:
        places = [curve._place(plane, point.lanes, point.rate) for point in each.points]
        assert all(0 <= x <= 600 and 0 <= y <= 300 for x, y in places)
        assert [x for x, _ in places] == sorted(x for x, _ in places)
        if len(places) > 2:
            assert places[0][1] - places[1][1] == pytest.approx(plane.y(1) - plane.y(2))


def test_the_table_has_a_row_for_every_number_of_lanes() -> None:
    lines = twin.table(ALL)
    assert [line.split()[0] for line in lines] == ["lanes", "1", "2", "4", "8", "16", "32", "64"]
    assert lines[0].split()[1:] == ["fp64", "fp32", "bf16", "int8"]
    assert lines[1].split()[1:] == ["14.0", "14.0", "-", "-"]
    assert lines[4].split()[1:] == ["112*", "112", "112", "-"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("all", "fp32: linear up to 16 lanes, 512 bits. Measured: off by at most 0.0 % up to "
                "there, at most 1.0 % more beyond."),
        ("all", "A register holds 512 bits, 16 fp32 lanes: the features of this processor name "
                "avx512f. Measurement and registers agree."),
        ("all", "16 lanes: 512 bits: 16 fp32 lanes in a register (avx512f), and measured."),
        ("all", "32 lanes: 1024 bits: 32 fp32 lanes, as a GPU warp: 32 threads × 32 bits."),
        ("all", "fp64 : fp32 : bf16 : int8 = 1.00 : 2.00 : 4.00 : 8.00"),
        ("all", "The compiler itself chose 512 bits for a plain loop, a + b in fp32: zmm 16 times, "
                "ymm 4 times."),
        ("parts", "8 lanes: 256 bits: 8 fp32 lanes, measured."),
        ("parts", "this processor computes them in 2 parts of 256 bits"),
        ("forced", "compiled for avx2"),
        ("forced", "it was forced, avx2 is the widest that it has. Measurement and"),
        ("forced", "256 bits: 8 fp32 lanes in a register (avx2, forced), and measured"),
        ("forced", "Where a line falls, too few sums of so many lanes fit the 16 registers."),
        ("forced", "more beyond. At 64 lanes fp64 falls to 0.51 times its"),
        ("lost", "up to there, no more beyond."),
        ("lost", "At 8 lanes fp32 falls to 0.50 times its operations at 4 lanes."),
        ("forced", "Not computed in vectors here: bf16, int8."),
        ("one", "8 lanes: 512 bits: 8 fp64 lanes in a register (avx512f), and measured."),
        ("one", "The compiler itself made no vectors of a known width"),
        ("unbroken", "int8: linear up to 64 lanes, 512 bits, the most that were measured"),
        ("wider", "no feature of this processor names a wider one. The curve rises beyond one "
                  "register: this processor computes 2 of them at a time."),
        ("wider", "time on the wall"),
    ],
)  # fmt: skip
def test_what_is_said(name: str, says: str) -> None:
    assert says in VectorLanes(CASES[name]).text()


@pytest.mark.parametrize(
    ("name", "says"),
    [("one", "GPU warp"), ("unbroken", "measured."), ("all", "falls"), ("unbroken", "agree")],
)
def test_what_is_not_said(name: str, says: str) -> None:
    assert says not in VectorLanes(CASES[name]).text()


def test_formats_differ_in_more_than_colour_and_knees_have_rings() -> None:
    parts = curve.draw(ALL).parts
    shapes = {re.search(r'd="([^"]+)"', part).group(1) for part in parts if "translate" in part}  # type: ignore[union-attr]
    assert len(shapes) == 4
    assert sum("<circle" in part for part in parts) == sum(each.ends for each in ALL.curves) == 3


# -- memory -------------------------------------------------------------------------------------


def read(*formats: str, speed: float = 30e9, **others: Any) -> Reading:
    nbytes = 2**28
    found = tuple(Rate(name, BITS[name], nbytes, (nbytes / speed,) * 2) for name in formats)
    given: dict[str, Any] = {"largest": 2**25, "clock": "process_time"} | others
    return Reading(nbytes, rates=found, machine=MACHINE, **given)


READINGS = {
    "all": read("fp64", "fp32", "bf16", "int8"),
    "one": read("fp32", speed=2e9, largest=0),
    "fast": read("int8", "fp64", speed=900e9, clock="perf_counter"),
}


@pytest.mark.parametrize("name", READINGS)
def test_reading_says_the_same_in_picture_and_text(name: str) -> None:
    found, view = READINGS[name], MemoryRate(READINGS[name])
    labels, text = drawn(memory.draw(found)), view.text()
    ET.fromstring(view.svg())
    for each in found.rates:
        values, speed = words.billions(each.values), words.billions(each.bandwidth)
        assert f"{each.format}: {values} billion/s, {speed} GB/s" in labels
        (line,) = (line for line in text.split("\n") if line.startswith(f"{each.format}  "))
        assert line.split() == [each.format, str(each.bits // 8), values, speed]
    for said in (*memory.headline(found), *memory.notes(found)):
        assert said in text
        assert said in labels


def test_what_is_said_of_reading() -> None:
    text = MemoryRate(READINGS["all"]).text()
    assert "Reading 268 MB from memory" in text
    assert "30.0 to 30.0 GB/s in every format" in text
    assert "int8 against fp64: 0.125 of the bytes for each value, 8.00 times the values." in text
    assert "The array is 8.00 times the largest cache, 33.6 MB." in text
    assert "does not say how large the caches are" in MemoryRate(READINGS["one"]).text()


# -- the functions ------------------------------------------------------------------------------


def test_a_notebook_gets_picture_and_text() -> None:
    for view in (VectorLanes(ALL), MemoryRate(READINGS["all"])):
        assert str(view) == repr(view) == view.text()
        assert view._repr_mimebundle_() == {
            "image/svg+xml": view.svg(),
            "text/plain": view.text(),
        }


def test_a_real_reading_is_shown(monkeypatch: Any) -> None:
    monkeypatch.setattr(reading, "LEAST", 2**20)
    monkeypatch.setattr(reading, "caches", dict)
    found = views.memory_rate(("fp32", "int8"), progress=False)
    assert [each.format for each in found.measured.rates] == ["fp32", "int8"]
    drawn(memory.draw(found.measured))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"formats": ("fp16",)}, "unknown format of vectors 'fp16'"),
        ({"target": "avx1024"}, "unknown target 'avx1024'"),
    ],
)
def test_bad_input_gives_one_sentence(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        views.vector_lanes(**arguments)
    with pytest.raises(InputError, match="less than a byte"):
        views.memory_rate(("int4",))
