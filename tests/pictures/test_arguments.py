"""Every setting of every live view and every message of a browser, with values that nobody means:
one sentence, and the view stays as it was; or a picture."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

import memlab
from memlab import lesson, views
from memlab.errors import InputError
from memlab.pictures.live.view import View
from memlab.pictures.live.widget import Widget, events
from tests.quick import apart
from tests.strange import STRANGE, mostly_refused, said

LIVE: dict[str, Callable[[], Widget]] = {
    "network": lambda: views.memory("mnist_cnn"),
    "ledger": lambda: views.memory(memlab.plan(memlab.training_step(memlab.zoo.linear1()))),
    "addresses": lambda: views.addresses(),
    "addresses of a step": lambda: views.addresses("mnist_cnn"),
    "copies": lambda: views.shifted_copies(),
    "warp": lambda: views.warp_memory(),
    "tile": lambda: views.shared_tile(),
    "layers": lambda: views.lowered_layers("mnist_cnn"),
    "number": lambda: views.number(),
    "vectors": lambda: views.vectors("mnist_cnn"),
    "precision": lambda: views.precision("mnist_cnn"),
    "batch_speed": lambda: views.batch_speed(),
    "layer_bytes": lambda: views.layer_bytes("mnist_cnn"),
    "offload": lambda: views.offload("mnist_cnn", 8),
    "length": lambda: views.length("gpt_small"),
    "cache": lambda: views.cache(),
    "fine_tuning": lambda: views.fine_tuning("gpt_small", 2, 128),
    "budget": lambda: views.budget(2),
    "idle": lambda: views.idle("mnist_cnn", 8),
    "remedies": lambda: views.remedies("mnist_cnn", 8, budget="5 MB"),
    "reuse": lambda: views.reuse("mnist_cnn", 8),
    "explain": lambda: views.explain("mnist_cnn", 8, "500 MB"),
    "path": lambda: views.path("mnist_cnn", 8),
    "amount": lambda: views.PredictionCard(lesson.predict("02.output")),
    "times": lambda: views.PredictionCard(lesson.predict("01.gradients")),
    "choice": lambda: views.PredictionCard(lesson.predict("00.double")),
    "class_guesses": lambda: views.class_guesses("04.warp", given="9 3"),
    "exercise": lambda: views.ExerciseCard(lesson.exercise("02.largest_batch")),
}


MAKERS: dict[Callable[..., Any], dict[str, Any]] = {
    views.memory: {"what": "mnist_cnn"},
    views.playground: {"what": "mnist_cnn"},
    views.addresses: {"what": "mnist_cnn"},
    views.shifted_copies: {"network": "mnist_cnn", "layer": "conv2", "k": 3},
    views.warp_memory: {"network": "mnist_cnn", "layer": "conv2"},
    views.shared_tile: {},
    views.lowered_layers: {"network": "mnist_cnn"},
    views.number: {},
    views.running_sum: {"count": 8},
    views.gradient_histogram: {"gradients": [1.0, 2.0]},
    views.graphics_cards: {"network": "mnist_cnn"},
    views.training_curves: {"histories": {}},
    views.planned_and_measured: {"run": None},
    views.precision: {"what": "mnist_cnn"},
    views.fine_tuning: {"network": "gpt_small", "batch": 2, "length": 128},
    views.length: {"network": "gpt_small"},
    views.cache: {"network": "gpt2"},
    views.offload: {"network": "mnist_cnn", "batch": 8},
    views.budget: {"level": 2},
    views.idle: {"network": "mnist_cnn", "batch": 8},
    views.remedies: {"network": "mnist_cnn", "batch": 8},
    views.reuse: {"network": "mnist_cnn", "batch": 8},
    views.path: {"network": "mnist_cnn", "batch": 8},
    views.recompute: {"what": "mnist_cnn"},
    views.case: {},
    views.explain: {"what": "mnist_cnn", "batch": 8, "memory": "500 MB"},
    views.techniques: {"network": "linear1"},
    views.vectors: {"network": "mnist_cnn"},
    views.batch_speed: {},
    views.layer_bytes: {"network": "mnist_cnn"},
    views.prediction_card: {"card": lesson.predict("02.output")},
    views.class_guesses: {"card": "04.warp"},
    views.exercise_card: {"exercise": lesson.exercise("02.largest_batch")},
}
KINDS = {getattr(views, name) for name in views.__all__ if not name.islower()}
MADE_BY = {kind.made_by for kind in KINDS if issubclass(kind, View) and kind is not View}
VIEWS: dict[str, Callable[[], View[Any]]] = {
    make.__name__: partial(make, **given)
    for make, given in MAKERS.items()
    if make.__name__ in MADE_BY
}


def test_every_view_is_tried() -> None:
    assert VIEWS.keys() == MADE_BY


@pytest.mark.parametrize("name", VIEWS)
def test_change_takes_what_a_setting_takes_and_nothing_else(name: str) -> None:
    """Also of those that Python does not set: what a key or a button chooses."""
    view, drawn = VIEWS[name](), Random(name)
    before, svg = view.state, view.now_["shown"]["svg"]
    for setting in view.settings:
        for given in (*drawn.sample(STRANGE, 4), "nope", ["nope"]):
            if said(lambda: view.change(**{setting: given})):  # noqa: B023
                assert view.state is before
                assert view.now_["shown"]["svg"] == svg
            else:
                assert view.settings[setting].settable
                view = VIEWS[name]()
                before, svg = view.state, view.now_["shown"]["svg"]


@pytest.mark.parametrize("name", VIEWS)
def test_a_page_is_told_what_json_can_hold(name: str) -> None:
    view = VIEWS[name]()
    told = json.loads(json.dumps(view.get_state()))
    for setting in view.settings.keys() & told.keys():
        view.change(**{setting: told[setting]})  # what a linked view is sent
    assert view.previous is None


@pytest.mark.parametrize("name", VIEWS)
def test_a_name_that_is_no_setting_is_a_sentence_with_the_nearest_one(name: str) -> None:
    view: Any = VIEWS[name]()
    before, near = view.state, next(n for n, s in view.settings.items() if s.settable)
    for slip in (lambda: view.change(**{f"{near}x": 1}), lambda: setattr(view, f"{near}x", 1)):
        with pytest.raises(InputError, match=f"unknown setting '{near}x'; did you mean '{near}'"):
            slip()
    assert view.state is before
    view._private, view.tooltip = 1, "a trait"


def test_a_view_keeps_its_state_where_a_page_cannot_be_composed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    view: Any = views.memory("mnist_cnn")
    before, shown = view.state, view.now_
    with monkeypatch.context() as patch:
        patch.setattr(view, "compose", lambda scene: vars(views)["nope"])
        with pytest.raises(KeyError):
            view.batch = 64
    assert view.state is before
    assert view.now_ is shown


VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 3, 10**6, 10**13, 10**400, 2.5, float("nan"), float("inf"), "", "x",
    "3", "-3", "1e9", "9" * 5000, "KeyR", "Enter", "ArrowUp", "block:", "block:x", "block:-1",
    "slice:99", "rule:x", "a/b", "vgg16/", "/", "\udc80", "a\nb", [], [1],
    {}, {"a": 1}, (1,), object(),
)  # fmt: skip
EVENTS = (
    "width", "key", "choose", "block", "operation", "at", "column", "pixels-0", "pixels-",
    "pixels-x",
    "places-99", "places-1", "put", "unknown", "", "start", "__class__",
)  # fmt: skip


def sent(view: Widget, content: Any) -> str:
    """What the page shows as an error after a message."""
    view._receive(None, content, None)
    assert "svg" in view.now_["shown"]
    error: str = view.now_["shown"]["error"]
    assert len(error.splitlines()) <= 1
    return error


def event(name: Any, value: Any, dragging: Any = False) -> dict[str, Any]:
    return {
        "view": "one",
        "number": 7,
        "events": [{"name": name, "value": value, "dragging": dragging}],
    }


@pytest.mark.measures
@pytest.mark.parametrize("name", sorted(LIVE))
def test_every_message_of_a_control(name: str) -> None:
    view = LIVE[name]()
    slow = {"run", "break", "reveal", "write"}
    controls = {control.name for control in view.controls()} | set(EVENTS)
    for control in sorted(controls - slow):
        for value in VALUES:
            for found in events(event(control, value, dragging=True)["events"]):
                if not said(lambda: view.on_event(*found)):  # noqa: B023
                    view.refresh()
        sent(view, event(control, []))
        assert view.now_["answers"] == {"one": 7}
        view = LIVE[name]()


@pytest.mark.parametrize("name", sorted(LIVE))
def test_what_is_no_number_is_named_and_a_box_refuses_what_a_slider_cannot_send(name: str) -> None:
    view = LIVE[name]()
    before = view.text()
    for control in view.controls():
        if control.kind in ("range", "number"):
            what = control.name.removesuffix("_number")
            says = sent(view, event(control.name, "abc"))
            assert says.startswith(f"{what} must be a whole number, got abc; try ")
        if control.kind == "number":
            assert "got -5" in sent(view, event(control.name, "-5"))
    assert view.text() == before


MESSAGES: tuple[Any, ...] = (
    None, [], "x", 5, {}, {"events": None}, {"events": 5}, {"events": "abc"}, {"events": {}},
    {"events": [None]}, {"events": [5]}, {"events": ["x"]}, {"events": [[]]}, {"events": [{}]},
    {"events": [{"name": "batch"}]}, {"events": [{"value": 3}]}, {"events": [{"name": None}]},
    {"events": [{"name": [], "value": 3}]}, {"events": [{"name": {}, "value": {}}]},
    {"events": [{"name": 3, "value": 3}]}, {"events": [], "number": None},
    {"events": [], "number": "x"}, {"events": [], "number": []}, {"events": [], "number": 1e400},
    {"events": [], "number": True}, {"number": 3}, {"events": [{"name": "width", "value": 600}]},
)  # fmt: skip


@pytest.mark.parametrize("name", ["network", "times", "exercise"])
def test_every_shape_of_a_message(name: str) -> None:
    view = LIVE[name]()
    before = view.text()
    for message in MESSAGES:
        sent(view, message)
    assert view.text() == before


ARGUMENTS = [
    (make, name)
    for make in MAKERS
    for name in Random(make.__name__).sample([*inspect.signature(make).parameters] * 2, 2)
    if name != "progress"
]
"""Up to two of each, drawn."""
MEASURING = {(views.techniques, "measure")}


@pytest.mark.parametrize(
    ("make", "name"),
    apart(ARGUMENTS, MEASURING.__contains__),
    ids=lambda part: getattr(part, "__name__", part),
)
def test_every_argument_of_every_view(make: Callable[..., Any], name: str) -> None:
    mostly_refused(lambda given: make(**MAKERS[make] | {name: given}))
