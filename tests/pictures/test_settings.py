"""A setting, declared once, is everywhere: property, argument, control, event, check, code."""

import inspect

import ipywidgets
import pytest

from memlab import strings
from memlab.errors import InputError
from memlab.pictures.draw.page import Page
from memlab.pictures.live.setting import Checkbox, NumberBox, Range, Select, Setting, State, TextBox
from memlab.pictures.live.view import ROOM, View, maker
from memlab.pictures.live.widget import among
from memlab.units import parse, short

TEXTS = {
    "name": "Demo",
    "control.way": "Way",
    "control.way_up": "upwards",
    "control.size": "Size of {unit}",
    "control.size_number": "Size as a number",
    "control.size_spoken": "{value} of {most}",
    "control.batch": "Batch",
    "control.count": "Count",
    "control.guess": "Guess",
    "control.guess_example": "2 GB",
    "control.loud": "Loud",
    "control.start": "Start",
    "control.tall": "Tall",
    "control.grow": "Grow",
    "control.grow_busy": "Growing",
    "control.copy": "Copy",
}


class Demo(View[int]):
    """A demonstration of settings."""

    name, made_by = "demo", "demo"
    positional = ("way", "size")
    presets = {"tall": {"size": 9, "way": "up"}}  # noqa: RUF012 - as short as it can be

    way = Select(("up", "down"), doc="where to", code="plain")
    size = Range(1, 10, doc="how large", default=lambda now: 3 if now.way == "up" else 7,
                 follows=["way"], box=True)  # fmt: skip
    batch = Range(1, 10**6, doc="the batch", default=8, stops=(1, 8, 64), code="always")
    count = NumberBox(0, doc="how many", default=2, place="more")
    guess = TextBox(doc="a guess", default=None, check=parse, show=short, place="more", stays=True)
    loud = Checkbox(doc="how it sounds", place="more")
    odd = Setting(doc="an even size stands for the one below", argument=False, code="never",
                  get=lambda now: now.size % 2 == 1,
                  put=lambda now, odd: {"size": now.size // 2 * 2 + odd},
                  check=bool)  # fmt: skip
    seen: Setting[int] = Setting(
        doc="what only buttons change", default=0, argument=False, stored=False
    )
    most = Setting(doc="the limit", default="12", check=int, fixed=True)

    def study(self, now):
        return now.size * now.batch

    def reconcile(self, new, was):
        if new.size * new.count > new.most * 2:
            raise InputError("too many; try fewer.")
        return new

    def compose(self, scene):
        previous = scene.previous.size if scene.previous else None
        parts = (scene.now.size, scene.now.batch, previous, scene.dragging, scene.news)
        return Page(f"{parts}", [], scene.width)

    def values(self, now):
        return {"unit": "cm"}

    def buttons(self, now):
        return {**super().buttons(now), "grow": "grow"}

    def on_action(self, now, name, value):
        return now.replace(size=now.size + 1, seen=now.seen + 1) if name == "grow" else None

    def test_state(self, now):
        return f"{now.way}|{now.size}|{now.batch}"


@pytest.fixture(autouse=True)
def texts(monkeypatch):
    for key, text in TEXTS.items():
        monkeypatch.setitem(strings.table(), f"demo.{key}", text)


@pytest.fixture
def demo():
    return maker(Demo)


def send(view, name, value=None, dragging=False):
    events = [{"name": name, "value": value, "dragging": dragging}]
    view._receive(view, {"number": 1, "events": events}, [])
    return view.now_["shown"]


def control(view, name):
    return next(found for found in view.controls() if found.name == name)


# -- what a page that asks leaves out -------------------------------------------------------------


def names(view):
    return [found.name for found in view.controls()]


def test_a_view_without_examples_has_no_button_for_them(demo):
    view = demo(examples=False)
    assert [name for name in names(demo()) if name not in names(view)] == ["tall"]
    assert view.code() == "memlab.views.demo('up', batch=8, examples=False)"
    send(view, "tall")
    assert view.state.size == 3
    send(view, "grow")
    send(view, "start")
    assert (view.state.size, "tall" in names(view)) == (3, False)


def test_a_view_with_only_some_controls_leaves_the_others_to_python(demo):
    view = demo(only=["size"])
    assert names(view) == ["size", "size_number", "start", "copy", "grow"]
    assert view.more() == ""
    send(view, "size", 5)
    send(view, "batch", 2)
    assert (view.state.size, view.state.batch) == (5, 8)
    view.batch = 64
    assert view.state.batch == 64
    assert view.code() == "memlab.views.demo('up', size=5, batch=64, only=('size',))"
    assert next(each.place for each in demo(only="count").controls()) == "main"
    with pytest.raises(InputError, match="unknown setting 'speed'"):
        demo(only="speed")
    with pytest.raises(InputError, match="True or False"):
        demo(examples=1)


# -- argument, property, code -------------------------------------------------------------------


def test_the_factory_has_the_settings_as_arguments(demo):
    assert str(inspect.signature(demo)) == (
        "(way='up', size=None, *, batch=8, count=2, guess=None, loud=False, most='12', "
        "examples=True, only=())"
    )
    assert demo.__name__ == "demo"
    assert demo.__doc__.startswith("A demonstration of settings.\n\nArgs:\n    way: where to.\n")
    view = demo("down", count=1)
    assert (view.way, view.size, view.batch, view.count) == ("down", 7, 8, 1)
    with pytest.raises(InputError, match="unknown argument 'coun'; did you mean 'count'"):
        demo(coun=3)


def test_a_default_may_depend_on_what_is_declared_later_or_given(demo):
    assert (demo("up").size, demo("down").size, demo("down", None).size) == (3, 7, 7)
    assert demo().most == 12


def test_the_property_sets_checks_and_is_documented(demo):
    view = demo()
    view.size = 5
    assert (view.size, view.rows, view.state.size) == (5, 40, 5)
    assert Demo.size.__doc__ == "how large"
    for name, wrong, says in (
        ("size", 11, "size must be at most 10, got 11; try 10."),
        ("size", "5", "size must be a whole number, got '5'; try 1."),
        ("way", "left", "unknown way 'left'. Known: up, down."),
        ("loud", 1, "loud must be True or False, got 1; try True."),
        ("count", 20, "too many; try fewer."),
    ):
        before = view.state
        with pytest.raises(InputError) as raised:
            setattr(view, name, wrong)
        assert str(raised.value) == view.now_["shown"]["error"] == says
        assert view.state is before
    for name in ("most", "seen"):
        with pytest.raises(AttributeError, match=name):
            setattr(view, name, 3)


def test_what_follows_a_setting_is_its_default_again_unless_it_is_set_too(demo):
    view = demo()
    view.size = 5
    view.way = "down"
    assert view.size == 7
    view.change(way="up", size=9)
    assert view.size == 9
    view.way = "up"
    assert view.size == 9
    view.size = None
    assert view.size == 3


def test_a_setting_without_a_value_of_its_own_reads_and_writes_another(demo):
    view = demo(size=4)
    assert view.odd is False
    view.odd = True
    assert (view.size, view.odd) == (5, True)


def test_the_line_of_code_names_what_is_not_the_default(demo):
    assert demo().code() == "memlab.views.demo('up', batch=8)"
    view = demo("down", 4, loud=True, guess="2 GB")
    assert view.code() == "memlab.views.demo('down', size=4, batch=8, guess=2000000000, loud=True)"
    again = eval(view.code().replace("memlab.views.demo", "demo"), {"demo": demo})
    assert again.state == view.state


@pytest.mark.parametrize("name", ["lines", "layout", "state"])
def test_a_name_that_a_view_or_a_widget_has_is_no_setting(name):
    with pytest.raises(TypeError, match=f"a view has its own {name}; rename the setting"):
        type("Wrong", (View,), {name: NumberBox()})


def test_a_state_never_changes(demo):
    state = demo().state
    with pytest.raises(AttributeError, match=r"state\.replace\(size=\.\.\.\)"):
        state.size = 4
    assert state.replace(size=4) == State({**vars(state), "size": 4}) != state
    with pytest.raises(AttributeError, match="no setting is called speed"):
        _ = state.speed


# -- traits ---------------------------------------------------------------------------------------


def heard(view, *names):
    """What an observer of these settings has been told."""
    found = []
    view.observe(lambda change: found.append((change.name, change.old, change.new)), names)
    return found


def test_a_change_is_observed_once_from_python_and_from_the_browser(demo):
    view = demo()
    found = heard(view, "size")
    view.size = 5
    view.size = 5
    send(view, "size", 6)
    assert found == [("size", 3, 5), ("size", 5, 6)]
    assert view.traits()["size"].help == "how large"


def test_settings_that_depend_on_each_other_are_told_when_all_have_changed(demo):
    view, found = demo(), []
    view.observe(lambda change: found.append((change.name, view.way, view.size)), ["way", "size"])
    view.way = "down"
    assert found == [("way", "down", 7), ("size", "down", 7)]


def test_an_observer_that_changes_the_view_again_has_the_last_word(demo):
    view = demo()
    found = heard(view, "size")
    view.observe(lambda change: view.change(size=9), "way")
    view.way = "down"
    assert (view.size, found) == (9, [("size", 7, 9)])


def test_changes_that_are_held_are_told_as_one(demo):
    view = demo()
    found = heard(view, "size", "way", "seen")
    with view.hold_trait_notifications():
        view.size = 4
        view.change(size=5, way="down")
        send(view, "grow")
    assert sorted(found) == [("seen", 0, 1), ("size", 3, 6), ("way", "up", "down")]


def test_a_widget_is_linked_with_a_setting(demo):
    view, slider = demo(size=4), ipywidgets.IntSlider(2, 1, 20)
    ipywidgets.link((slider, "value"), (view, "size"))
    assert view.size == 2
    slider.value = 6
    assert view.size == 6
    view.size = 8
    assert slider.value == 8
    with pytest.raises(InputError):
        slider.value = 11
    assert view.size == 8
    assert view.now_["shown"]["error"] == "size must be at most 10, got 11; try 10."
    follower = ipywidgets.IntText()
    ipywidgets.dlink((view, "size"), (follower, "value"))
    view.size = 3
    assert follower.value == 3
    shown = ipywidgets.interactive(view.change, count=(0, 2))
    shown.children[0].value = 1
    assert view.count == 1


def test_what_a_page_has_chosen_is_taken_or_goes_back(demo, monkeypatch):
    view, sent = demo(), []
    found = heard(view, "size")
    monkeypatch.setattr(view, "_send", lambda message, buffers=None: sent.append(message))
    view.set_state({"size": 9})
    assert (view.size, found) == (9, [("size", 3, 9)])
    assert "size" not in sent[-1]["state"]  # a slider that goes on is not called back
    view.set_state({"size": 11})
    assert (view.size, len(found)) == (9, 1)
    assert view.now_["shown"]["error"] == "size must be at most 10, got 11; try 10."
    assert sent[-1]["state"] == {"size": 9}


def test_a_page_is_sent_what_has_changed(demo, monkeypatch):
    view, sent = demo(), []
    monkeypatch.setattr(view, "_send", lambda message, buffers=None: sent.append(message["state"]))
    monkeypatch.setattr(view, "code", lambda: "")  # the picture and its texts stay as they were
    view.loud = True
    view.loud = False
    assert [sorted(state) for state in sent] == [["_control_loud", "now_"], ["loud"]] * 2
    assert {"size", "guess"} <= {*view.keys}
    assert not {"seen", "most"} & {*view.keys}


# -- controls and events --------------------------------------------------------------------------


def test_the_controls_are_those_of_the_settings_then_the_buttons(demo):
    view = demo(guess="2 GB")
    found = {each.name: each for each in view.controls()}
    assert list(found) == [
        *("way", "size", "size_number", "batch", "count", "guess", "loud"),
        *("start", "tall", "copy", "grow"),
    ]
    assert found["way"].options == (("up", "upwards"), ("down", "down"))
    size = found["size"]
    assert (size.label, size.value, size.least, size.most) == ("Size of cm", 3, 1, 10)
    assert size.spoken == "3 of 10"
    assert (found["size_number"].beside, found["size_number"].value) == (True, 3)
    assert (found["guess"].value, found["guess"].placeholder) == ("2.000 GB", "2 GB")
    assert (found["loud"].kind, found["loud"].value) == ("checkbox", False)
    assert (found["grow"].label, found["grow"].busy) == ("Grow", "Growing")
    assert view.more() == "More: 2, 2.000 GB"


@pytest.mark.parametrize(
    ("name", "value", "state"),
    [
        ("way", "down", "down|7|8"),
        ("size", 8, "up|8|8"),
        ("size", 10**9, "up|10|8"),
        ("size_number", " 4 ", "up|4|8"),
        ("batch", 2, "up|3|64"),
        ("tall", None, "up|9|8"),
        ("grow", None, "up|4|8"),
        ("nothing", 1, "up|3|8"),
    ],
)
def test_an_event_of_the_browser_changes_the_state(demo, name, value, state):
    assert send(demo(), name, value)["state"] == state


def test_a_value_that_a_browser_cannot_mean_is_a_sentence(demo):
    view = demo()
    for name, value, says in (
        ("size_number", "11", "size must be at most 10, got 11; try 10."),
        ("size_number", "many", "size must be a whole number, got many; try 1."),
        ("count", "", "count must be a whole number, got no number; try 2."),
        ("guess", "much", "'much' is no amount of memory; try 2.5 GB or 512 MiB."),
    ):
        before = view.state
        assert send(view, name, value)["error"].startswith(says.split(";")[0])
        assert view.state is before
    send(view, "guess", "3 GB")
    assert view.guess == 3 * 10**9
    send(view, "guess", "  ")
    assert view.guess is None


def test_a_slider_stands_between_its_stops_where_the_value_does(demo):
    view = demo(batch=16)
    assert control(view, "batch").value == among((1, 8, 64), 16)
    assert 1 < among((1, 8, 64), 16) < 1.5
    assert [among((1, 8, 64), each) for each in (1, 8, 64, 1000)] == [0, 1, 2, 2]
    assert view.now_["shown"]["shown"] == 3


def test_the_text_is_sent_once_somebody_has_asked_for_it(demo):
    view = demo()
    assert view.now_["shown"]["text"] == ""
    assert send(view, "text", True)["text"] == view.text()
    assert send(view, "size", 4)["text"].startswith("(4, 8, 3,")


# -- history --------------------------------------------------------------------------------------


def scene(view):
    return view.scene(live=True)


def test_the_state_before_is_kept_by_the_base(demo):
    view = demo()
    assert scene(view).previous is None
    view.size = 4
    view.size = 5
    found = scene(view)
    assert (found.now.size, found.previous.size, found.earlier.size) == (5, 4, 3)
    assert (found.before.now.size, found.before.previous.size) == (4, 3)
    view.size = 5
    assert scene(view).previous.size == 4


def test_while_a_slider_is_held_what_was_there_stays_the_state_before(demo):
    view = demo()
    view.size = 4
    for place in (5, 6, 7):
        send(view, "size", place, dragging=True)
    found = scene(view)
    assert (found.now.size, found.previous.size, found.dragging) == (7, 4, True)
    send(view, "size", 7)
    assert (scene(view).previous.size, scene(view).dragging) == (4, False)


def test_a_drag_that_ends_where_it_began_has_not_happened(demo):
    view = demo()
    view.size = 4
    send(view, "size", 9, dragging=True)
    send(view, "size", 4)
    found = scene(view)
    assert (found.now.size, found.previous.size, found.earlier, found.dragging) == (
        4, 3, None, False,
    )  # fmt: skip


def test_a_change_is_news_once_and_for_the_live_picture_alone(demo):
    view = demo()
    assert "True)" in send(view, "size", 4)["svg"]
    assert "True)" not in send(view, "width", 700)["svg"]
    view.size = 6
    assert "True)" not in view.svg()


def test_a_preset_and_the_start_leave_no_state_before(demo):
    view = demo("down", 4)
    send(view, "guess", "1 GB")
    send(view, "tall")
    assert (view.way, view.size, view.guess, view.previous) == ("up", 9, 10**9, None)
    send(view, "start")
    assert (view.way, view.size, view.guess, view.previous) == ("down", 4, 10**9, None)


def test_what_belongs_to_this_moment_is_not_stored(demo):
    view = demo()
    send(view, "grow")
    assert (view.state.seen, view.scene().now.seen) == (1, 0)
    assert view.scene().now.size == 4


def test_a_page_is_as_wide_as_the_browser_and_a_stored_one_as_wide_as_it_may(demo):
    view = demo()
    for given, width in ((700, 700), (10, Demo.narrowest), (5000, ROOM)):
        assert f'viewBox="0 0 {width} ' in send(view, "width", given)["svg"]
    assert view.page().width == Demo.widest
    assert view.page(500).width == 500
