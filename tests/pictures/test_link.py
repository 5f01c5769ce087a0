"""A link restores the settings of a view, whatever was chosen there."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memlab import network, views
from memlab.errors import InputError
from memlab.pictures.live import link
from memlab.pictures.live.view import View
from memlab.pictures.live.widget import Control
from tests.pictures.shown import send

TYPES = [each for name in views.__all__ if isinstance(each := getattr(views, name), type)]
MAKERS = {view.made_by for view in TYPES if issubclass(view, View)}
FACTORIES = [name for name in views.__all__ if name in MAKERS]


def changed(view: View[Any], draw: Any) -> None:
    """Change a control as a browser does."""
    controls = [each for each in view.controls() if each.kind != "button"]
    control = draw(st.sampled_from(controls))
    with contextlib.suppress(InputError):
        view.on_event(control.name, draw(values(view, control)), dragging=False)


def values(view: View[Any], control: Control) -> st.SearchStrategy[Any]:
    if control.options:
        return st.sampled_from([value for value, _ in control.options])
    if control.kind == "checkbox":
        return st.booleans()
    if control.kind == "range":
        return st.integers(control.least or 0, control.most or 10)
    return st.sampled_from(["1", "2", "8", "100", "2 GB", "0.3"])


@pytest.mark.parametrize("factory", FACTORIES)
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_state_of_every_view_goes_through_a_link(factory: str, data: Any) -> None:
    view = getattr(views, factory)()
    for _ in range(4):
        changed(view, data.draw)
    query = link.query_of(view)
    other = getattr(views, factory)()
    assert link.follow(other, query) == []
    for each in (view, other):  # history is in no link
        each._renew(each.state.replace(tries=()) if factory == "budget" else each.state)
    assert other.svg() == view.svg(), query


CASES = [
    (lambda: views.memory("resnet50", batch=64),
     "network=resnet50&batch=64&variant=v1.5&optimizer=momentum"),
    (lambda: views.memory("mnist_cnn", recompute="chain", budget="100 MB"),
     "network=mnist_cnn&batch=32&optimizer=momentum&recompute=chain&budget=100000000"),
    (lambda: views.memory("vgg16", detail="all", networks=("vgg16",)),
     "network=vgg16&batch=32&optimizer=momentum&detail=all"),
    (lambda: views.number("0.1", "bf16"), "value=%220.1%22&format=bf16"),
    (lambda: views.number("nan"), "value=nan&format=fp16"),
    (lambda: views.addresses("toy", moved={"A": "3 MiB"}),
     "what=toy&how=no%20reuse&moved=%7B%22A%22:3145728%7D"),
    (lambda: views.idle(asked=True, guess=0.5), "network=vgg16&batch=256"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "query"), CASES)
def test_a_link_names_what_the_line_of_python_names(made: Any, query: str) -> None:
    view = made()
    assert link.query_of(view).replace("%3A", ":") == query
    code = view.code()
    assert link.follow(view, query) == []
    assert view.code() == code


def test_what_a_link_leaves_out_is_its_default_again_and_what_is_fixed_stays() -> None:
    view = views.memory("vgg16", 8, "adam", networks=("vgg16", "vgg11"), only=("batch",))
    assert link.follow(view, "batch=16&network=vgg11") == []
    assert (
        view.code()
        == "memlab.views.memory('vgg11', batch=16, optimizer='momentum', only=('batch',))"
    )
    assert view.state.networks == ("vgg16", "vgg11")


def test_a_network_without_a_name_stays() -> None:
    mine = network("mine", features=4).linear(2).cross_entropy()
    view = views.memory(mine, batch=4)
    assert link.query_of(view) == "batch=4&optimizer=momentum"
    assert link.follow(view, "batch=8&optimizer=adam") == []
    assert (view.network, view.batch, view.optimizer) == (mine, 8, "adam")
    view.network = "linear1"
    query = link.query_of(view)
    assert link.follow(view, query) == []
    assert view.network.name == "linear1"


@pytest.mark.parametrize(("query", "sentences", "batch"), [
    ("batch=8&colour=red", ["unknown setting 'colour'"], 8),
    ("batch=many&optimizer=adam", ["batch must be a whole number"], 32),
    ("batch=0&network=resnet5", ["batch must be at least 1", "did you mean 'resnet50'"], 32),
    ("networks=vgg16&batch=4", ["unknown setting 'networks'"], 4),
    ("batch=4&room=many", ["the axes of this view"], 4),
    ("batch=4&room=[1]", ["the axes of this view"], 4),
    ("batch=99999999999999999999999999999999999999999999999999", ["batch must be at most"], 32),
    ("batch=1e999&k", ["batch must be a whole number", "k must be"], 32),
])  # fmt: skip
def test_what_is_refused_gives_one_sentence_and_the_rest_is_kept(
    query: str, sentences: list[str], batch: int
) -> None:
    view = views.memory("mnist_cnn")
    told = link.follow(view, query)
    assert [said for said, each in zip(told, sentences, strict=True) if each not in said] == []
    assert view.batch == batch


def test_a_text_that_is_no_link_is_refused() -> None:
    with pytest.raises(InputError, match="at most 20,000 characters"):
        link.follow(views.memory("linear1"), "batch=1&" * 3000)
    with pytest.raises(InputError, match="at most 100 settings"):
        link.follow(views.memory("linear1"), "colour=1&" * 101)


def test_axes_are_named_where_a_new_view_has_others() -> None:
    view = views.memory("mnist_cnn", batch=1, networks=())
    view.batch = 512
    assert "room=[" in link.query_of(view).replace("%5B", "[")
    other = views.memory("mnist_cnn")
    link.follow(other, link.query_of(view))
    assert other.state.room == view.state.room != views.memory("mnist_cnn", batch=512).state.room


def test_a_page_asks_for_a_link_and_opens_one() -> None:
    view = views.memory("linear1", batch=2)
    assert view.now_["shown"]["link"] is None
    assert send(view, copy_link=None)["link"] == "network=linear1&batch=2&optimizer=momentum"
    assert send(view, batch_number="4")["link"] is None
    shown = send(view, open_link="batch=16&colour=red")
    assert (view.batch, shown["error"][:24]) == (16, "unknown setting 'colour'")
    assert send(view, open_link="batch=8")["error"] == ""
