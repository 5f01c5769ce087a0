"""Steps side by side: the rows are the plans, picture and text agree, runs agree with both."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

import memlab
from memlab import InputError, units, views
from memlab.devices import Room
from memlab.runtime.cpu import Cpu
from memlab.runtime.guard import DoesNotFitError
from memlab.techniques.precision import MODES
from memlab.views import axis
from memlab.views.comparison import labels, picture, rows, words
from memlab.views.comparison.labels import Part
from memlab.views.comparison.view import Comparison
from memlab.views.roles import STACK


@cache
def steps(name="vgg16", optimizer="adam"):
    """A step in fp32 and in every mode."""
    first = memlab.training_step(memlab.zoo.build(name), optimizer)
    return {"fp32": first} | {f"as {mode}": memlab.precision(first, mode) for mode in MODES}


@cache
def compared(name="vgg16", optimizer="adam", batch=32):
    return views.comparison(steps(name, optimizer), batch)


def drawn(found):
    """Draw it; no text overlaps another or the edge or is too small."""
    svg = picture.draw(found)
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11
    return [label.content for label in svg.labels]


def numbers(text, begins):
    """The numbers of every line of a table that begins so."""
    lines = [line for line in text.splitlines() if re.match(rf"{re.escape(begins)}  +\d", line)]
    return [[cell.replace(",", "") for cell in line[len(begins) :].split()] for line in lines]


CASES = [("vgg16", "adam", 32), ("resnet50", "momentum", 32), ("mnist_cnn", "sgd", 1)]


# -- figures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_rows_are_the_plans(case):
    *which, batch = case
    for name, row in zip(steps(*which), compared(*case).rows.rows, strict=True):
        step = steps(*which)[name]
        ledger = memlab.plan(step)
        assert (row.name, row.operations) == (name, len(step.ops))
        assert row.peak == ledger.peak_at(batch)
        assert sum(row.at_peak.values()) == row.peak.nbytes
        for role, nbytes in ledger.roles(batch).items():
            assert sum(row.at_peak[look] for look in STACK if look.role is role) == nbytes
        assert row.parameters == memlab.zoo.build(which[0]).parameters


def test_the_largest_of_every_role_is_found_over_all_operations():
    row = compared("mnist_cnn", "adam", 8).rows.rows[3]
    ledger = memlab.plan(steps("mnist_cnn", "adam")["as mixed fp16"])
    for look in STACK:
        assert row.largest[look] == max(
            sum(
                8 * entry.size.per_sample if look.grows else entry.size.fixed
                for entry in ledger.alive(at)
                if entry.role is look.role
            )
            for at in range(len(ledger.rows))
        )


@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [("adam", (16, 8, 8, 16, 16)), ("momentum", (12, 6, 6, 12, 12)), ("sgd", (8, 4, 4, 8, 8))],
)
def test_mixed_precision_saves_nothing_on_model_state(optimizer, expected):
    found = compared("vgg16", optimizer).rows
    scaling = {"as mixed fp16": 13}  # the loss scale and its two counts, 4 bytes each; a flag
    for row, each in zip(found.rows, expected, strict=True):
        assert row.state == each * row.parameters + scaling.get(row.name, 0)
        assert words.per_parameter(row) == f"{each}.00"
    halves = [(r.name, sum(n for k, n in r.at_peak.items() if k.grows)) for r in found.rows]
    assert all(2 * n < dict(halves)["fp32"] * 1.01 for name, n in halves if name != "fp32")


def test_extra_operations_are_those_that_the_first_step_has_not():
    found = compared().rows
    by_name = {row.name: row for row in found.rows}
    more = ("check of the gradients", "update of the loss scale")
    assert by_name["as mixed fp16"].more == more
    assert by_name["as mixed bf16"].more == ()
    turned = views.comparison({"a": steps()["as mixed fp16"], "b": steps()["fp32"]})
    assert turned.rows.rows[1].fewer == more
    said = "2 fewer: check of the gradients, update of the loss scale"
    assert f"Operations against a: {said}." in turned.text()
    assert said in " ".join(drawn(turned.rows))


def test_many_extra_operations_are_counted():
    network = memlab.zoo.build("mnist_cnn")
    both = {"inference": memlab.inference_step(network), "training": steps("mnist_cnn")["fp32"]}
    first, other = views.comparison(both, 4).rows.rows
    (more, *_) = words.changes(other)
    assert more.startswith(f"{len(other.more)} more: {', '.join(other.more[: words.NAMED])} and ")
    assert more.endswith(f" and {len(other.more) - words.NAMED} others")
    assert first.operations + len(other.more) - len(other.fewer) == other.operations


def test_what_is_learned_in_an_inference_step_is_all_of_its_model_state():
    network = memlab.zoo.build("resnet18")
    found = views.comparison({"inference": memlab.inference_step(network)}, 4).rows
    assert found.first.state == 4 * found.first.parameters
    assert words.headline(found) == f"Peak {units.short(found.first.peak.nbytes)}."


def test_the_headline_names_the_lowest_peak():
    found = compared("mnist_cnn", "adam", 8).rows
    least = min(found.rows, key=lambda row: row.peak.nbytes)
    assert words.headline(found).startswith(f"The lowest peak: {least.name}, ")
    turned = replace(found, rows=(least, *(row for row in found.rows if row is not least)))
    assert words.headline(turned).startswith(f"The lowest peak is the first: {least.name}, ")


# -- picture and text ---------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_picture_and_text_show_the_same_figures(case):
    view = compared(*case)
    shown, text = drawn(view.rows), view.text()
    peaks = [str(row.peak.nbytes) for row in view.rows.rows]
    assert numbers(text, "peak") == [peaks]
    ratios = [f"{row.peak.nbytes / view.rows.first.peak.nbytes:.3f}" for row in view.rows.rows]
    assert numbers(text, "peak, ratio to fp32") == [ratios]
    for row, ratio in zip(view.rows.rows, ratios, strict=True):
        assert {row.name, units.both(row.peak.nbytes)} <= {*shown}
        assert row is view.rows.first or f"{ratio} × fp32" in shown
        assert f"{row.name}: {row.description}. Peak at operation" in text
    for look in STACK:
        if any(row.largest[look] for row in view.rows.rows):
            *at_peak, largest = numbers(text, f"  {look.label}")
            assert largest == [str(row.largest[look]) for row in view.rows.rows]
            for line in at_peak:
                assert line == [str(row.at_peak[look]) for row in view.rows.rows]
    state = [str(row.state) for row in view.rows.rows]
    assert numbers(text, "model state, bytes") == [state]
    assert words.headline(view.rows) in shown
    assert words.headline(view.rows) in text


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_part_has_a_label_with_its_amount_or_is_named_as_too_small(case):
    found = compared(*case).rows
    shown = drawn(found)
    small = next((line for line in shown if line.startswith("Too small")), "")
    for row in found.rows:
        for look, nbytes in row.at_peak.items():
            if nbytes and look.label not in small:
                assert look.label in shown
                assert units.short(nbytes) in shown


def test_a_wrong_number_in_the_picture_would_be_seen():
    found = compared().rows
    look = next(look for look in STACK if found.first.at_peak[look] > 10**9)
    wrong = replace(found.first, at_peak={**found.first.at_peak, look: 1_234_567_890})
    shown = [c.content for c in picture.draw(replace(found, rows=(wrong, *found.rows[1:]))).labels]
    assert "1.235 GB" in shown
    assert "1.235 GB" not in drawn(found)


def test_lengths_are_bytes_on_one_axis_from_0():
    found = compared().rows
    scale = axis.over(max(row.peak.nbytes for row in found.rows), axis.TIGHT)
    for row in found.rows:
        parts = labels.parts(row, scale, picture.RIGHT)
        assert parts[0].left == 0
        assert [part.left for part in parts[1:]] == [part.right for part in parts[:-1]]
        for part in parts:
            assert part.wide == pytest.approx(picture.RIGHT * part.nbytes / scale.end)
        assert sum(part.nbytes for part in parts) == row.peak.nbytes


@pytest.mark.parametrize("name", sorted(memlab.zoo.ZOO))
def test_every_network_is_drawn_without_collisions(name):
    first = memlab.training_step(memlab.zoo.build(name), "adam")
    both = {"fp32": first, "mixed fp16": memlab.precision(first, "mixed fp16")}
    for batch in (1, 32, 100_000):
        drawn(views.comparison(both, batch).rows)


def test_long_names_and_signs_of_markup_are_drawn():
    first = steps("mnist_cnn")["fp32"]
    view = views.comparison({"a" * 200: first, "<b> & {c}": first}, 2)
    drawn(view.rows)
    assert "<b> & {c}" in "".join(ET.fromstring(view.svg()).itertext())
    assert "<b> & {c}" in view.text()


def test_labels_above_a_stack_stand_in_order_near_their_parts_and_never_meet():
    looks = [look for look in STACK if look.usual]
    for wide in (2, 7, 30):
        for start in (0, 200, 560):
            parts = [
                Part(look, 10**7, start + wide * index, start + wide * (index + 1))
                for index, look in enumerate(looks)
            ]
            names = labels.above(parts, 820)
            assert [name.part for name in names] == parts
            assert names[0].left >= 0
            assert names[-1].right <= 820
            for one, other in pairwise(names):
                assert one.right + labels.APART <= other.left + 1e-6
    alone = Part(looks[0], 10**7, 300, 304)
    (name,) = labels.above([alone], 820)
    assert (name.left + name.right) / 2 == pytest.approx(alone.middle)


def test_labels_that_have_no_room_leave_the_widest():
    parts = [Part(look, 10**7, 20 * i, 20 * i + 3 + i) for i, look in enumerate(STACK)]
    names = labels.above(parts, 300)
    left_out = [part for part in parts if part not in [name.part for name in names]]
    assert left_out
    assert max(part.wide for part in left_out) < min(name.part.wide for name in names)


def test_a_notebook_shows_the_picture_and_print_the_text():
    view = compared()
    bundle = view._repr_mimebundle_()
    assert bundle == {"image/svg+xml": view.svg(), "text/plain": view.text()}
    assert str(view) == repr(view) == view.text()
    ET.fromstring(view.svg())
    assert views.comparison(steps(), 32).svg() == view.svg()
    assert isinstance(view, Comparison)


def test_what_is_planned_is_called_planned():
    view = compared()
    assert "measured" not in view.text() + view.svg()
    assert any(label.startswith("planned · peak in ") for label in drawn(view.rows))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_operation_of_each_peak_stands_under_its_stack_and_in_the_text(case):
    view = compared(*case)
    shown, text = drawn(view.rows), view.text()
    for row in view.rows.rows:
        name = memlab.plan(steps(*case[:2])[row.name]).peak_at(case[2]).row.name
        assert any(f"planned · peak in {name} · model state " in line for line in shown)
        assert f", {name}." in text


# -- measured -----------------------------------------------------------------------------------


@cache
def measured():
    return views.comparison(steps("linear1"), 4, measure=True, progress=False)


def test_a_measured_comparison_runs_every_step_and_says_what_it_used():
    view = measured()
    shown, text = drawn(view.rows), view.text()
    for row in view.rows.rows:
        assert row.measured is not None
        assert row.measured.residual == 0
        assert row.measured.nbytes == row.peak.nbytes
        said = f"measured here: {row.peak.nbytes:,} B, residual 0 B"
        assert any(said in line for line in shown)
    peaks = [str(row.peak.nbytes) for row in view.rows.rows]
    assert numbers(text, "measured here, peak, bytes") == [peaks]
    assert numbers(text, "residual, bytes") == [["0"] * len(peaks)]
    assert any(line.startswith("Under each stack, dotted") for line in shown)


def test_a_residual_is_shown_and_its_bar_fits_on_the_axis():
    found = measured().rows
    first = found.first
    more = rows.Measured(3 * first.peak.nbytes, 2 * first.peak.nbytes, 0.5)
    wrong = replace(found, rows=(replace(first, measured=more), *found.rows[1:]))
    shown = " ".join(drawn(wrong))
    assert f"residual {2 * first.peak.nbytes:,} B, 0.500 s" in shown
    assert f"{3 * first.peak.nbytes:,}" in Comparison(wrong).text()
    ends = [float(x) for x in re.findall(r"M0 [\d.]+H([\d.]+)V", Comparison(wrong).svg())]
    assert max(ends) <= picture.RIGHT


def test_what_does_not_fit_is_refused_before_anything_runs(monkeypatch):
    peaks = [row.peak.nbytes for row in compared("mnist_cnn", "adam", 8).rows.rows]
    monkeypatch.setattr(Cpu, "room", lambda self: Room(max(peaks) - 1))
    monkeypatch.setattr(rows, "run", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(DoesNotFitError, match="refused before anything was allocated"):
        views.comparison(steps("mnist_cnn"), 8, measure=True)


def test_a_step_without_kernels_is_refused_before_anything_runs(monkeypatch):
    network = memlab.zoo.build("linear1")
    monkeypatch.setattr(rows, "run", lambda *_, **__: pytest.fail("it ran"))
    both = {name: memlab.training_step(network, format=name) for name in ("fp32", "fp16")}
    with pytest.raises(InputError, match="fp16"):
        views.comparison(both, 4, measure=True)


# -- bad input ----------------------------------------------------------------------------------

STEP = memlab.training_step(memlab.zoo.build("linear1"))
BAD: dict[str, tuple[Any, Any, str]] = {
    "nothing": ({}, 32, "compared by their names"),
    "a step alone": (STEP, 32, "compared by their names"),
    "a list": ([STEP], 32, "compared by their names"),
    "no name": ({1: STEP}, 32, "must be text, got 1"),
    "an empty name": ({" ": STEP}, 32, "must be text, got ' '"),
    "no step": ({"a": STEP, "b": memlab.plan(STEP)}, 32, "b must be a step"),
    "no batch": ({"a": STEP}, 0, "batch must be at least 1, got 0"),
    "half a batch": ({"a": STEP}, 1.5, "batch must be a whole number, got 1.5"),
    "two networks": (
        {"a": STEP, "b": memlab.training_step(memlab.zoo.build("vgg11"))}, 32,
        "steps of one network, got Single linear layer and VGG-11",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "batch", "says"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(given, batch, says):
    with pytest.raises(InputError, match=re.escape(says)) as error:
        views.comparison(given, batch)
    assert "\n" not in str(error.value)


def test_a_batch_that_a_step_does_not_hold_for_is_refused_by_name():
    step = memlab.training_step(memlab.zoo.build("mnist_cnn"))
    fitted = memlab.lowering(step, batch=32, limit="1 MB")
    with pytest.raises(InputError, match="within 1 MB holds for batch 32 to 32, got 8"):
        views.comparison({"any": step, "within 1 MB": fitted}, 8)
    assert len(views.comparison({"any": step, "within 1 MB": fitted}).rows.rows) == 2
