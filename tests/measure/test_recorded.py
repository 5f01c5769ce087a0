"""Figures that were measured elsewhere come back as they were written, or not at all."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from memlab import InputError
from memlab.measure import recorded_figures
from memlab.measure.recorded_figures import RecordedFigures
from memlab.measure.timing import BenchmarkLine, Machine, Result

VERSIONS = {"numba-cuda": "0.30.4"}
MACHINE = Machine("NVIDIA H200, beside a core", 16, "Linux x86_64", "2026-11-20", VERSIONS)
LINES = (
    BenchmarkLine("im2col", 1e-4, "s", None, (1e-4, 2e-4)),
    BenchmarkLine("im2col against a fill", 1.25, "x"),
)
FOUND = RecordedFigures("NVIDIA H200", "make gpu", Result("gpu", MACHINE, LINES))


def test_what_is_saved_is_loaded(tmp_path):
    path = recorded_figures.save(FOUND, tmp_path / "data")
    assert path == tmp_path / "data" / "recorded_nvidia_h200.json"
    assert recorded_figures.load(path) == FOUND


def test_a_figure_says_where_and_how_it_was_recorded():
    head, *lines = recorded_figures.text(FOUND).splitlines()
    assert head.startswith("recorded with `make gpu`: NVIDIA H200, beside a core, 16 cores")
    assert "numba-cuda 0.30.4" in head
    assert "2026-11-20" in head
    assert lines == [str(line) for line in LINES]


def test_without_a_file_one_sentence_says_so(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        assert recorded_figures.latest(folder) is None
    assert recorded_figures.text(None).startswith("There are no recorded figures yet")


def test_the_newest_is_shown(tmp_path):
    recorded_figures.save(FOUND, tmp_path)
    newer = replace(MACHINE, date="2027-01-02")
    other = RecordedFigures("NVIDIA T4", "make gpu", replace(FOUND.result, machine=newer))
    recorded_figures.save(other, tmp_path)
    assert recorded_figures.latest(tmp_path) == other


def test_a_figure_is_found_by_its_name():
    assert FOUND.line("im2col") == LINES[0]
    with pytest.raises(InputError, match="'col2im' was not recorded on NVIDIA H200; run"):
        FOUND.line("col2im")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("schema",), "memlab.recorded/0", "no figures of schema memlab.recorded/1"),
        (("device",), "", "damaged"),
        (("device",), 200, "damaged"),
        (("command",), None, "damaged"),
        (("machine", "date"), "yesterday", "yesterday"),
        (("machine", "date"), None, "damaged"),
        (("machine", "versions"), ["numba"], "damaged"),
        (("machine", "versions", "numba-cuda"), "", "damaged"),
        (("machine", "memory"), 1, "memory"),
        (("lines",), [], "no figure"),
        (("lines", 0, "value"), float("nan"), "im2col: nan"),
        (("lines", 0, "value"), -1, "im2col: -1"),
        (("lines", 0, "value"), "fast", "damaged"),
        (("lines", 0, "value"), 10**400, "damaged"),
        (("lines", 0, "name"), "", "damaged"),
        (("lines", 0, "unit"), None, "damaged"),
        (("lines", 0, "aim"), "low", "damaged"),
        (("machine", "cores"), "many", "cores must be a whole number"),
        (("benchmark",), [], "damaged"),
        (("lines", 0, "samples"), [0.1, None], "damaged"),
        (("lines", 1), "im2col", "damaged"),
    ],
)
def test_a_damaged_file_gives_one_sentence(place, value, message, tmp_path):
    path = recorded_figures.save(FOUND, tmp_path)
    data = json.loads(path.read_text())
    *way, last = place
    part = data
    for step in way:
        part = part[step]
    part[last] = value
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=message):
        recorded_figures.load(path)


NO_RECORDS = {
    "cut": b"{", "no text": b"\xff", "a list": b"[]", "null": b"null",
    "deep": b"[" * 200_000, "digits": b"9" * 5000, "deep in it": b'{"lines": ' + b"[" * 200_000,
}  # fmt: skip


@pytest.mark.parametrize("content", NO_RECORDS.values(), ids=NO_RECORDS)
def test_what_is_no_record_gives_one_sentence(content, tmp_path):
    path = tmp_path / "recorded_x.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"recorded_x\.json"):
        recorded_figures.load(path)


def test_a_missing_file_gives_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*; check the name"):
        recorded_figures.load(tmp_path / "none.json")


def test_every_record_of_the_lessons_is_valid():
    for path in recorded_figures.FOLDER.glob("recorded_*.json"):
        assert path.name == recorded_figures.name_of(recorded_figures.load(path).device)
