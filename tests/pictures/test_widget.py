"""The view as a widget, without a browser: events in, one picture out."""

import json
import re
import subprocess
import sys

import pytest
from IPython.core.formatters import DisplayFormatter

import memlab
from memlab import free_memory, notebook_hooks, views
from memlab.errors import InputError


@pytest.fixture
def view():
    return views.memory("resnet50", free=False)


def send(view, *events, number=1):
    before = view.now_
    view._receive(view, {"view": "one", "number": number, "events": list(events)}, [])
    assert view.now_ is not before
    assert view.now_["answers"]["one"] == number
    return view.now_["shown"]


def event(name, value=None, dragging=False):
    return {"name": name, "value": value, "dragging": dragging}


def test_what_is_sent_is_json(view):
    assert len(json.dumps(view.now_)) < 150_000


def test_the_slider_sends_powers_of_two(view):
    shown = send(view, event("batch", 6))
    assert (view.batch, shown["shown"]) == (64, 6)
    assert shown["state"] == f"resnet50|64|momentum|{view.rows.peak.nbytes}"
    assert shown["says"]


def test_a_drag_is_silent_until_it_ends(view):
    assert send(view, event("batch", 7, dragging=True))["says"] == ""
    held = send(view, event("batch", 9, dragging=True))
    assert held["shown"] == 9
    assert ">↑ 43.9 GB</text>" in held["svg"]
    assert ">batch 32</text>" in held["svg"]
    released = send(view, event("batch", 9))
    assert released["says"]
    assert ">12.5 GB</text>" in released["svg"]
    assert ">batch 32</text>" in released["svg"]


def test_every_rendering_of_a_view_is_answered_though_nothing_has_changed(view):
    """A cell that runs again renders its view again, and numbers its events from 1 again."""
    sent = []
    view.observe(lambda change: sent.append(change["new"]["answers"]), "now_")
    for rendering in ("one", "two"):
        view._receive(view, {"view": rendering, "number": 1, "events": [event("width", 700)]}, [])
    assert sent == [{"one": 1}, {"one": 1, "two": 1}]


def test_the_renderings_that_are_told_are_few_and_the_last_ones(view):
    for number in range(40):
        view._receive(view, {"view": str(number), "number": 1, "events": []}, [])
    assert list(view.now_["answers"]) == [str(number) for number in range(8, 40)]


@pytest.mark.parametrize(
    ("part", "error"),
    [
        ("on_event", TypeError("no\npicture")),
        ("draw", KeyboardInterrupt()),
        ("controls", TypeError("no\npicture")),
    ],
)
def test_what_fails_in_python_is_said_and_answered(view, monkeypatch, part, error):
    def fails(*args, **kwargs):
        raise error

    shown, before = view.now_["shown"]["svg"], view.state
    with monkeypatch.context() as patch:
        patch.setattr(view, part, fails)
        with pytest.raises(type(error)):
            send(view, event("batch", 6))
    said = "TypeError: no picture" if isinstance(error, TypeError) else "KeyboardInterrupt"
    assert view.state is before
    assert view.now_["answers"] == {"one": 1}
    assert view.now_["shown"]["error"].startswith(f"Stopped by {said}. ")
    assert view.now_["shown"]["svg"] == shown
    assert send(view, event("batch", 7), number=2)["error"] == ""


def test_several_events_make_one_picture(view):
    sent = []
    view.observe(lambda change: sent.append(change["new"]), "now_")
    send(view, event("key", "Home"), event("key", "ArrowRight"), event("key", "ArrowRight"))
    assert view.cursor == 3
    assert len(sent) == 1


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "batch must be a whole number, got no number; try 32."),
        ("3.5", "batch must be a whole number, got 3.5; try 32."),
        ("2000000", "batch must be at most 1,000,000, got 2,000,000; try 1,000,000."),
    ],
)
def test_a_bad_number_gets_one_sentence_and_changes_nothing(view, value, says):
    before = view.state
    shown = send(view, event("batch_number", value))
    assert shown["error"] == says
    assert view.state == before
    assert send(view, event("batch_number", "48"))["error"] == ""
    assert view.batch == 48


def test_between_two_stops_the_slider_says_so(view):
    view.batch = 48
    control = view.controls()[1]
    assert control.kind == "range"
    assert 5 < control.value < 6
    assert control.spoken == "batch 48"
    assert view.now_["shown"]["shown"] == 6


def test_presets(view):
    view = views.memory("mnist_cnn")
    send(view, event("surprise"))
    assert view.code() == "memlab.views.memory('vgg16', batch=8, optimizer='adam')"
    send(view, event("break"))
    assert "resnet50" in view.code()
    assert view.batch == 512
    assert view.peak > 12_000_000_000
    send(view, event("start"))
    assert view.code() == "memlab.views.memory('mnist_cnn', batch=32, optimizer='momentum')"


def test_keys(view):
    view.detail = "all"
    last = view.rows.memory.operations
    send(view, event("key", "End"))
    assert view.cursor == last
    send(view, event("key", "ArrowRight"), event("key", "ArrowLeft"))
    assert view.cursor == last - 1
    send(view, event("key", "KeyP"))
    assert view.cursor is None
    send(view, event("key", "ArrowDown"), event("key", "ArrowDown"), event("key", "Enter"))
    assert view.state.unfolded == "stage 1"
    send(view, event("key", "Enter"))
    assert view.state.unfolded == "stage 1"
    shown = send(view, event("key", "Escape"), event("key", "ArrowUp"))
    assert view.state.chosen == f"block:{view.rows.blocks[4].name}"
    assert "made by" in shown["says"]
    send(view, event("key", "Escape"))
    assert view.state.chosen == ""


def test_a_screen_reader_hears_the_news_before_the_place(view):
    assert send(view, event("operation", 4))["says"].startswith("operation 5, forward")
    assert "the mountain doubles" in send(view, event("batch", 6))["says"]
    assert send(view, event("key", "ArrowRight"))["says"].startswith("operation 6, forward")


def test_a_click_chooses_a_line_and_a_second_one_opens_it(view):
    view.detail = "all"
    send(view, event("choose", "slice:stage 2"))
    assert view.state.chosen == "slice:stage 2"
    send(view, event("choose", "slice:stage 2"))
    assert view.state.unfolded == "stage 2"
    send(view, event("operation", 17))
    assert view.cursor == 18


def test_up_and_down_walk_through_the_counting_rules(view):
    view.rule = "conv-only"
    send(view, event("key", "ArrowDown"))
    assert view.rule == "conv-sums"
    send(view, event("choose", "rule:everything"))
    assert view.rule == "everything"
    assert "every output" in view.more()


def test_a_narrow_page_gets_a_narrow_picture(view):
    assert 'viewBox="0 0 960' in view.now_["shown"]["svg"]
    assert 'viewBox="0 0 700' in send(view, event("width", 700))["svg"]
    assert 'viewBox="-12 -12 984' in view.svg()


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("batch", 64, 0),
        ("format", "bf16", "int8"),
        ("network", "vgg16", "vgg17"),
        ("training", False, None),
        ("guess", "1.4 GB", "much"),
    ],
)
def test_python_steers_it(view, name, value, wrong):
    before, heard = view.svg(), []
    view.observe(lambda change: heard.append(change.name), name)
    setattr(view, name, value)
    assert view.svg() != before
    assert heard == [name]
    if wrong is not None:
        now = view.state
        with pytest.raises(InputError):
            setattr(view, name, wrong)
        assert view.state == now


def test_its_code_makes_it_again(view):
    view.batch, view.variant, view.rule, view.cursor = 48, "v1", "everything", 9
    again = eval(view.code(), {"memlab": memlab})
    assert again.code() == view.code()
    assert again.rows.here == view.rows.here


def test_it_offers_what_a_lesson_wants():
    locked = views.memory("mnist_cnn", networks=("mnist_cnn",), rules=False)
    front = [control.name for control in locked.controls() if control.place != "more"]
    assert front == ["batch", "batch_number", "detail", "start", "copy"]
    assert locked.more() == "More: momentum, training, fp32"
    two = views.memory("vgg16", networks=("vgg16", "resnet50"))
    assert [v for v, _ in two.controls()[0].options] == ["vgg16", "resnet50"]
    two.network, two.batch = "resnet50", 4
    send(two, event("start"))
    assert two.network is not None
    assert (two.network.name, two.batch) == ("vgg16", 32)
    with pytest.raises(InputError, match="unknown network 'vgg61'"):
        views.memory(networks=("vgg61",))


def test_a_ledger_and_a_step_are_shown_as_they_are():
    step = memlab.training_step(memlab.zoo.vgg11(), optimizer="adam")
    for subject in (step, memlab.plan(step)):
        view = views.memory(subject, batch=16)
        assert [control.name for control in view.controls()] == [
            "batch", "batch_number", "detail", "start", "copy",
        ]  # fmt: skip
        assert "VGG-11, batch 16, fp32, Adam, training" in view.text()
    with pytest.raises(InputError, match="try 'vgg16'"):
        views.memory(16)


def test_what_is_free_here_is_shown_live_and_never_stored(monkeypatch):
    monkeypatch.setattr(free_memory, "free_memory", lambda: 1_000_000_000)
    view = views.memory("resnet50")
    assert "It does not fit here, where 1.00 GB are free" in send(view, event("text"))["text"]
    bundle, _ = view._repr_mimebundle_() or ({}, {})
    stored = (view.svg(), view.text(), str(view), *map(str, bundle.values()))
    monkeypatch.setattr(free_memory, "free_memory", lambda: 2_000_000_000)
    view.batch = 32
    view.refresh()
    assert "where 2.00 GB are free" in view.now_["shown"]["text"]
    assert all("free" not in re.sub(r"[\w. ]*freed", "", text).lower() for text in stored)
    assert view.svg() == stored[0]


def test_a_saved_notebook_has_the_picture_and_its_text(view):
    bundle, _ = view._repr_mimebundle_()
    assert set(bundle) == {
        "application/vnd.jupyter.widget-view+json",
        "image/svg+xml",
        "text/plain",
    }
    assert bundle["text/plain"] == view.text() == str(view)
    assert bundle["image/svg+xml"] == view.svg()
    again = views.memory("resnet50", free=False)
    assert again.svg() == view.svg()


def test_networks_are_traits_that_a_page_does_not_know(view):
    heard = []
    view.observe(lambda change: heard.append((change.name, change.new)), ["what", "network"])
    view.network = "vgg16"
    assert heard == [("what", view.what), ("network", view.network)]
    assert not {"what", "network"} & {*view.keys}
    assert view.peak == view.rows.peak.nbytes


def test_no_address_in_its_name(view):
    named = "<memory of a step: ResNet-50 v1.5, batch 32, fp32, SGD with momentum, training>"
    assert repr(view) == named
    assert "0x" not in view.text()


def test_notebooks_show_ledgers_and_networks(monkeypatch):
    formatter = DisplayFormatter()
    formatter.active_types = ["text/plain", "image/svg+xml", "text/html"]
    shell = type("Shell", (), {"display_formatter": formatter})()
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    notebook_hooks.show_values()
    network = memlab.zoo.vgg11()
    ledger = memlab.plan(memlab.training_step(network))
    data, _ = formatter.format(ledger)
    assert set(data) == {"image/svg+xml", "text/plain"}
    assert data["image/svg+xml"].startswith("<svg")
    assert data["text/plain"] == repr(ledger)
    assert "<td>132,863,336</td>" in formatter.format(network)[0]["text/html"]


def test_a_terminal_keeps_to_text(monkeypatch):
    formatter = DisplayFormatter()
    formatter.active_types = ["text/plain"]
    shell = type("Shell", (), {"display_formatter": formatter})()
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    notebook_hooks.show_values()
    assert not formatter.mimebundle_formatter.deferred_printers


IN_A_NOTEBOOK = """
import sys
from ipykernel.inprocess.manager import InProcessKernelManager
manager = InProcessKernelManager()
manager.start_kernel()
manager.kernel.shell.display_formatter.active_types = ["text/plain", "image/svg+xml"]
manager.kernel.shell.run_cell("from memlab import zoo, plan, training_step")
assert "memlab.views" not in sys.modules
manager.kernel.shell.run_cell("ledger = plan(training_step(zoo.linear1()))")
data, _ = manager.kernel.shell.display_formatter.format(manager.kernel.shell.user_ns["ledger"])
print(*sorted(data))
"""


@pytest.mark.measures
def test_a_plan_alone_shows_its_picture():
    command = [sys.executable, "-c", IN_A_NOTEBOOK]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["image/svg+xml", "text/plain"]


@pytest.mark.measures
def test_importing_memlab_loads_no_view():
    code = "import sys, memlab; print('anywidget' in sys.modules or 'memlab.views' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("make", "key", "mark"),
    [
        (
            lambda: views.memory("resnet50", free=False, detail="all"),
            "ArrowDown",
            ("choose", "slice:conv1"),
        ),
        (lambda: views.shifted_copies(free=False), "ArrowRight", ("pixel", "36")),
        (views.addresses, "ArrowRight", None),
    ],
)
def test_the_mark_that_the_keys_are_on_says_its_fact(make, key, mark):
    """By its fact, or by what a press on it sends."""
    found = make()
    assert send(found, event("key", key))["fact"]
    shown = found.now_["shown"]
    if mark is None:
        assert f'data-fact="{shown["fact"]}"' in shown["svg"]
    else:
        assert shown["fact"] == ":".join(mark)
        name, value = mark
        sends = re.findall(
            r'<g data-fact="[^"]+" data-send="(.+?)" data-value="(.+?)"', shown["svg"]
        )
        assert (name, value) in sends
