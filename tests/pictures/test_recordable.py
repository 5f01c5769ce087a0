"""While a picture is recorded, it says so, and a notebook is given its figures."""

from typing import get_type_hints

import pytest

from memlab import views
from memlab.measure import recorded_figures
from memlab.measure.recorded_figures import RecordedFigures
from memlab.measure.timing import BenchmarkLine, Machine, Result
from memlab.pictures.values.recordable import FIGURES, Recordable
from tests.pictures import measurements, trainings

CASES = measurements.CASES | trainings.CASES
MADE = {name: get_type_hints(getattr(views, name))["return"] for name in CASES}
RECORDABLE = [(n, next(iter(CASES[n]))) for n, made in MADE.items() if issubclass(made, Recordable)]


def shown(name, case):
    return CASES[name][case]()


@pytest.mark.parametrize("name", CASES)
def test_a_factory_makes_what_it_says(name):
    assert type(shown(name, next(iter(CASES[name])))) is MADE[name]


def test_they_are_views_of_what_is_measured():
    assert {name for name, _ in RECORDABLE} >= {"algorithm_times", "batch_times", "training_curves"}


@pytest.mark.parametrize(("name", "case"), RECORDABLE)
def test_a_recorded_picture_says_so(name, case, monkeypatch):
    view = shown(name, case)
    assert FIGURES not in view._repr_mimebundle_()
    assert "Recorded on 2" not in view.text()
    monkeypatch.setenv(recorded_figures.WANTED, "make record ARGS=03")
    bundle = view._repr_mimebundle_()
    given = bundle[FIGURES]
    machine = Machine(**given["machine"])
    for kind in ("image/svg+xml", "text/plain"):
        assert f"Recorded on {machine.date}" in bundle[kind]
        assert machine.processor in bundle[kind]
        assert "easured here" not in bundle[kind]
    assert "with `make record ARGS=03`, " in bundle["text/plain"]
    assert given["threads"] >= 1
    lines = tuple(
        BenchmarkLine(**{**line, "samples": tuple(line["samples"])}) for line in given["lines"]
    )
    found = RecordedFigures("a processor", "make record", Result(name, machine, lines))
    assert recorded_figures.from_dict(recorded_figures.to_dict(found)) == found
    assert len({line.name for line in lines}) == len(lines)
