"""What every technique holds to, as its row says; the files and the choices are those of the
registry, so a new technique needs no line here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import memlab
from memlab import cli
from memlab.errors import InputError
from memlab.pictures.memory.choices import BY_ROW
from memlab.pictures.techniques.compare import compare_techniques
from memlab.runtime.run import Run
from memlab.step.step import Step
from memlab.techniques.registry import (
    ArgumentKind,
    Technique,
    applied,
    find,
    later,
    techniques,
)
from tests import cross
from tests.rows import every_row
from tests.staged_networks import NETWORKS, step
from tests.techniques.same import differences, ran

ROWS = techniques()
BATCH = cross.BATCH
BEFORE = [(row.name, other.name) for row in ROWS.values() for other in later(row.name)
          if other.shown]  # fmt: skip
"""Every two techniques of which the second one shows, and may not be there already."""
NAMED: dict[str, tuple[str, dict[str, Any]]] = {"chunked_loss": ("gpt_small", {})}
"""The network that a technique has something for where VGG has nothing, and its sizes."""
TRIED = ("branches", "cells", "tokens")
"""Networks of odd sizes: with forks, batch norm and dropout, and with a recurrence."""


def plain(row: Technique, network: str = "branches") -> Step:
    """A step that a technique may rewrite."""
    return step(network, cross.OPTIMIZER.get(row.name, "sgd"))


def rewritten(row: Technique) -> tuple[Step, Step]:
    """The first step that a technique has something for, before and after it."""
    for network in TRIED:
        with suppress(InputError):
            return plain(row, network), applied(row.name)(plain(row, network))
    raise AssertionError(f"{row.name} has nothing for {TRIED}")


def choices(row: Technique, before: Step) -> list[cross.Technique]:
    """A technique with everything that it may be told to do."""
    return [each for each in cross.techniques(before) if each.family == row.name]


@every_row("name", ROWS)
def test_a_row_says_what_the_function_takes(name: str) -> None:
    row = ROWS[name]
    taken = list(signature(row.rewrite).parameters)
    offered = [each.name for each in (*filter(None, [row.choice]), *row.more)]
    assert taken[0] == "step"
    assert set(offered) <= set(taken[1:])
    assert row.label
    assert row.note
    assert bool(row.does) == bool(row.shown)
    for value in row.values:
        needs, takes = row.takes(value)
        assert {*needs, *takes} <= {each.name for each in row.more}


@every_row("name", ROWS)
def test_the_facade_has_it(name: str) -> None:
    assert getattr(memlab, name) is ROWS[name].rewrite
    assert name in memlab.__all__


def test_the_facade_has_no_other_one() -> None:
    values = {name: getattr(memlab, name) for name in memlab.__all__}
    homes = {name: getattr(value, "__module__", "") for name, value in values.items()}
    found = {name for name, home in homes.items() if home.startswith("memlab.techniques")}
    assert found == set(ROWS)


def test_they_come_in_their_order() -> None:
    names = list(ROWS)
    assert [ROWS[name].place for name in names] == sorted(row.place for row in ROWS.values())
    with pytest.raises(InputError, match="unknown technique 'inplace'; did you mean 'in_place'"):
        find("inplace")


@every_row(("first", "second"), BEFORE)
def test_a_wrong_order_gets_one_sentence(first: str, second: str) -> None:
    row = ROWS[second]
    before, done = rewritten(row)
    assert row.shown is not None
    assert row.shown(done)
    with pytest.raises(InputError) as error:
        choices(ROWS[first], before)[0].rewrite(done)
    said = f"{first} comes before {second}, and this step has {second} already"
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


@pytest.mark.measures
@pytest.mark.parametrize("name", ROWS)
def test_it_runs_as_planned(name: str) -> None:
    """Alone, before in place, and in an arena; what changes no arithmetic keeps every bit. What one
    network has nothing for runs on the other."""
    row, tried = ROWS[name], dict[str, bool]()
    for network in TRIED:
        before = plain(row, network)
        expected = ran(before, BATCH)
        for each in choices(row, before):
            try:
                after = each.rewrite(before)
            except InputError:
                tried.setdefault(each.name, False)
                continue
            tried[each.name] = True
            assert not [*run_wrongly(row, after, expected)], f"{each.name} on {network}"
    assert all(tried.values()), tried


def run_wrongly(row: Technique, after: Step, expected: Run) -> Iterator[str]:
    """What is not as planned or, where every bit is kept, not as in the plain step."""
    runs = {"alone": ran(after, BATCH), "placed": ran(after, BATCH, placement="best")}
    if row.name != "in_place":
        runs["in place"] = ran(memlab.in_place(after), BATCH)
    for how, run in runs.items():
        if run.residual or run.nan:
            yield f"{how}: residual of {run.residual} B, NaN in {run.nan}"
        if row.exact:
            yield from (f"{how}: {each}" for each in differences(expected, run))


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.built])
def test_the_command_line_has_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    row = ROWS[name]
    free = [value for value in row.values if not row.takes(value).needs]
    value = [row.usual if row.usual in free else free[0]] if free else []
    value = ["2"] if row.choice and row.choice.values is ArgumentKind.COUNT else value
    network, sizes = NAMED.get(name, ("vgg11", {"image": 32}))
    words = [network, *(word for size in sizes.items() for word in (f"--{size[0]}", str(size[1])))]
    words += ["--optimizer", "adam", "--batch", str(BATCH), "--json"]
    assert cli.main(["plan", *words, f"--{name.replace('_', '-')}", *value]) == 0
    facts = json.loads(capsys.readouterr().out)
    given = [int(each) if each.isdigit() else each for each in value]
    built = memlab.training_step(memlab.zoo.build(network, **sizes), "adam")
    assert facts["peak_bytes"] == memlab.plan(applied(name, *given)(built)).peak(BATCH)
    assert list(facts["techniques"]) == [name]


@every_row("name", BY_ROW)
def test_the_memory_view_has_it(name: str) -> None:
    row = ROWS[name]
    free = [value for value in row.values if not row.takes(value).needs]
    view = memlab.views.memory("vgg11", BATCH, free=False)
    made = applied(name, *free[-1:])(memlab.training_step(memlab.zoo.vgg11(), "momentum"))
    view.change(**{name: free[-1] if free else True})
    assert view.rows.peak == memlab.plan(made).peak_at(BATCH)
    assert row.label in view.page().title


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.compared])
def test_it_is_compared(name: str) -> None:
    found = compare_techniques(memlab.training_step(NETWORKS["branches"], "sgd"), BATCH)
    row = found.row(name)
    assert row.call == f"memlab.{name}(step)"
    assert row.peak == memlab.plan(applied(name)(step("branches"))).peak(BATCH)
    assert found.name(row)
    assert found.about(row)


def test_a_technique_with_its_arguments_is_a_line_of_code() -> None:
    made = applied("recompute", "chain", batch=8, budget="2GB", k=None)
    assert made.line("before") == 'memlab.recompute(before, "chain", batch=8, budget="2GB")'
    assert made.arguments == {"how": "chain", "batch": 8, "budget": "2GB"}
    before = step("branches")
    assert applied("recompute", "every", k=2)(before) == memlab.recompute(before, "every", k=2)


def test_files_are_found_where_they_lie() -> None:
    folder = Path(memlab.__file__).parent / "techniques"
    found = [path for path in folder.rglob("*.py") if "\n@technique(" in path.read_text("utf-8")]
    assert len(found) == len(ROWS)
