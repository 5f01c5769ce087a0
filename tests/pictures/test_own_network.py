"""Views in a notebook of a user's own: their network, their step, their widgets around it."""

import ipywidgets
import pytest

import memlab
from memlab import InputError, views

NETWORK = (
    memlab.network("mine", image=(3, 16, 16))
    .conv(8, 3, pad="same").relu().max_pool(2)
    .conv(8, 3, pad="same").relu().flatten().linear(10).cross_entropy()
)  # fmt: skip
OF_A_NETWORK = ("memory", "recompute", "offload", "precision", "remedies", "addresses",
                "techniques", "idle", "path")  # fmt: skip
"""Views that take a network and a batch."""


def built(batch, k=1):
    """A step that a function of the user's builds."""
    return memlab.training_step(NETWORK, "adam")


@pytest.fixture(params=OF_A_NETWORK)
def view(request):
    return getattr(views, request.param)(NETWORK)


def test_a_slider_moves_a_view_and_a_view_the_slider(view):
    slider = ipywidgets.IntSlider(32, 1, 512)
    ipywidgets.link((view, "batch"), (slider, "value"))
    slider.value = 16
    assert view.batch == 16
    view.batch = 4
    assert slider.value == 4


def test_a_change_of_the_batch_is_observed(view):
    found = []
    view.observe(lambda change: found.append((change.name, change.new)), "batch")
    view.batch = 2
    assert found == [("batch", 2)]


def test_two_views_are_linked_in_the_page():
    view = views.memory(NETWORK, batch=8)
    links = [
        ipywidgets.jslink((view, name), (one, "value"))
        for name, one in (("batch", ipywidgets.IntText()), ("optimizer", ipywidgets.Text()))
    ]
    assert [link.source[1] for link in links] == ["batch", "optimizer"]


def test_what_is_no_setting_is_not_observed(view):
    for name in ("bacth", "peak"):
        with pytest.raises(InputError, match=f"unknown setting '{name}'.*Known: .*batch"):
            view.observe(print, name)
        with pytest.raises(InputError, match=f"unknown setting '{name}'"):
            view.observe(print, ["batch", name])
    view.observe(print)  # everything


def test_interact_shows_a_view_that_a_function_returns():
    made = []

    def show(batch):
        made.append(views.memory(NETWORK, batch=batch))
        return made[-1]

    shown = ipywidgets.interactive(show, batch=(1, 64))
    shown.children[0].value = 5
    shown.update()
    assert made[-1].batch == 5
    assert shown.result is made[-1]


def test_the_peak_of_a_network_of_ones_own_is_that_of_its_plan():
    planned = memlab.plan(memlab.training_step(NETWORK, "adam"))
    view = views.memory(NETWORK, batch=8, optimizer="adam")
    assert view.peak == planned.peak(8)
    view.batch = 64
    assert view.peak == planned.peak(64)
    assert views.memory(built, batch=8).peak == planned.peak(8)
    assert views.memory(built(8), batch=8).peak == planned.peak(8)


def test_the_peak_follows_the_formats():
    view = views.precision(NETWORK, batch=8, start_from="fp32")
    assert view.peak == memlab.plan(memlab.training_step(NETWORK, "adam")).peak(8)
    full = view.peak
    view.start_from = "bf16"
    assert view.peak < full


def test_the_peak_follows_the_marked_schedule():
    view = views.techniques("resnet18", batch=64)
    best = view.peak
    assert best == view.rows.all.best.peak
    view.stop = 3
    most = view.rows.all.plain.peak
    view.budget = most
    assert best < view.peak == most


@pytest.mark.parametrize("name", ["recompute", "offload", "precision", "techniques"])
def test_the_peak_follows_the_batch(name):
    view = getattr(views, name)(NETWORK, batch=8)
    before = view.peak
    view.batch = 32
    assert before < view.peak < 4 * before  # the floor stays
