"""The playground shows any network, and says what is wrong with a text that is none."""

import pytest

from memlab import views
from memlab.errors import InputError
from memlab.pictures.live import link
from memlab.pictures.memory.playground import EXAMPLE, WRITTEN
from tests.pictures.shown import send

ONE = 'network("one", features=784).linear(10).cross_entropy()'


def offered(view):
    return {control.name for control in view.controls()}


def test_a_written_network_is_that_of_the_memory_view():
    view = views.playground(written=ONE, batch=8)
    assert view.peak == views.memory(view.network, batch=8).peak
    assert view.network.name == "one"


def test_the_field_is_there_where_a_network_is_written():
    view = views.playground()
    assert WRITTEN not in offered(view)
    send(view, network=WRITTEN)
    assert WRITTEN in offered(view)
    assert (view.network.name, view.written) == ("tiny", EXAMPLE)
    send(view, written=ONE)
    assert view.network.name == "one"
    send(view, network="vgg16")
    send(view, network=WRITTEN)
    assert view.network.name == "one"


def test_a_wrong_text_is_refused_and_changes_nothing():
    view = views.playground(written=ONE)
    shown = send(view, written="network('two', features=4).linear(2)")
    assert shown["error"] == "the network has no loss yet; end it with .cross_entropy()."
    assert view.network.name == "one"
    with pytest.raises(InputError, match="line 1: unknown name 'y'"):
        view.written = "y"


def test_code_and_link_hold_the_text():
    view = views.playground(written=ONE, batch=8, in_place=True)
    assert eval(view.code().replace("memlab.", "")).svg() == view.svg()
    other = views.playground()
    assert link.follow(other, link.query_of(view)) == []
    assert other.svg() == view.svg()
    assert link.follow(other, "network=vgg16&batch=2") == []
    assert (other.network.name, other.batch) == ("vgg16", 2)


def test_every_technique_stands_in_front():
    view = views.playground()
    front = {control.name for control in view.controls() if control.place == "main"}
    assert {"recompute", "in_place", "offload", "format", "algorithm", "relu_masks"} <= front
