"""The base of every live view: a page that is made from settings, and the history of them.

A view is a class with its settings, a study and a page; the rest is here. What follows shows all
that a view may say:

    class WarpMemory(View[Warp]):
        '''The memory that moves while one warp lowers.'''   # first line of the factory's text too

        name, made_by = "warp", "warp_memory"     # the table of its texts; memlab.views.warp_memory
        positional = ("network", "layer")         # arguments that need no name
        presets = {"surprise": {"stride": 4}}     # buttons: settings as Python gives them, or a
                                                  # function of the state that returns them
        picture_keys = ("ArrowLeft", "KeyR")      # keys that the picture takes

        network = Setting(doc="a network", check=network_of, code="plain", fixed=True)
        stride = Choice((1, 2, 4), doc="how far the window moves")
        warp = Range(0, last, default=inner, box=True, follows=["stride"], doc="its number")

        def study(self, now): ...       # the exact figures of a state: view.rows; kept for each
        def compose(self, scene): ...   # the Page of a scene; self.rows_of(scene.now) are its rows
        def test_state(self, now): ...        # data-state: "1|8"
        def says(self, scene): ...      # what a screen reader hears after a change

    warp_memory = maker(WarpMemory)

``reconcile(new, was)`` checks settings against each other, or mends them. ``outline_key(now)`` is
what must differ for the state before to become the dashed outline. ``on_action(now, name, value)``
answers what is no setting: a button (``buttons``), a press on what the picture sends (``send=`` of
a mark), and its keys (``name`` is ``"key"``). It returns a state: ``now.replace(...)`` for what
keys and presses choose, ``self.changed(now, ...)`` for what is checked as a control is.
``fact(scene)`` tells the mark that the view's own keys are on: by its fact, or by what a press on
it sends, ``"name:value"``.

Settings are traits (``view.observe(f, "stride")``, ``ipywidgets.link``), and ``view.state`` holds
their values. Whatever changes them makes another state; the picture follows, and then observers are
told, once for each setting that has changed.

Every view takes ``examples=False``, which leaves out the buttons of its presets, and
``only=("batch",)``, which leaves out them and the controls of all other settings: for a page that
asks later what they would show. Python still sets everything.

History never is in the state. ``scene.previous`` is the state before the last change;
``scene.before`` the scene that it was seen in. The axes of a ``SteadyView`` follow no slider. Where
a drag ends where it began, what was there before is back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, cleandoc
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import traitlets

from memlab import strings
from memlab.errors import InputError, listed, several, true_or_false, unknown
from memlab.moved import old_names, rename_methods
from memlab.pictures.draw.svg import NARROWEST
from memlab.pictures.live import link
from memlab.pictures.live.setting import Checkbox, Draft, Range, Setting, State, resolve, same
from memlab.pictures.live.widget import Control, Labels, Paragraph, Picture, Widget, width

if TYPE_CHECKING:
    from memlab.pictures.draw.page import Page

S = TypeVar("S")
V = TypeVar("V", bound="View[Any]")
OWN = ("state", "previous", "earlier")
"""Names that a view has besides its settings."""
ROOM = 1400
"""Pixels of the widest live page."""
KEPT = 6
"""Studies of so many states are kept: a slider goes forth and back."""


@dataclass(frozen=True, slots=True)
class PageState:
    """State that a page is made from: the state of now, and the one before.

    ``previous`` is the state before the last change of what is described, ``earlier`` the one
    before that. ``news`` says that this change has just been made, so that it may be seen to
    happen. ``live`` pages may show what is free on this machine now; others are stored. ``width``
    is in pixels.
    """

    now: State
    previous: State | None = None
    earlier: State | None = None
    dragging: bool = False
    news: bool = False
    live: bool = False
    width: float = 820

    @property
    def before(self) -> PageState | None:
        """Scene in which the previous state was shown, or None."""
        if self.previous is None:
            return None
        return PageState(self.previous, self.earlier, live=self.live, width=self.width)


class View(Widget, Generic[S]):
    """View: a page that follows its settings. When Python sets one, the picture changes; ``print``
    shows the picture in words, ``rows`` holds the exact figures, and ``figure()`` returns a
    matplotlib figure."""

    examples = Setting[bool](
        doc="whether it has the buttons of its examples, as Surprising and Break it",
        default=True,
        check=lambda given: true_or_false("examples", given),
        fixed=True,
    )
    only = Setting[tuple[str, ...]](
        doc="the settings that have a control, without any example; all if not given",
        default=(),
        check=lambda given: tuple(listed("only", given, "batch")),
        fixed=True,
    )
    settings: ClassVar[dict[str, Setting[Any]]] = {"examples": examples, "only": only}
    _held: ClassVar[dict[str, Setting[Any]]] = settings
    """Settings that hold a value of their own."""
    _turned: ClassVar[dict[str, Checkbox]] = {}
    made_by: ClassVar[str] = ""
    positional: ClassVar[Sequence[str]] = ()
    behind_more: ClassVar[Sequence[str]] = ()
    """Buttons that stand behind the disclosure."""
    presets: ClassVar[Mapping[str, Mapping[str, Any] | Callable[[State], Mapping[str, Any]]]] = {}
    narrowest: ClassVar[int] = NARROWEST
    widest: ClassVar[int] = 960
    """A page is as wide as the browser has room for, within these; a stored one is the widest. A
    view that has not less than others is ``ROOM`` wide where a screen has it."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        rename_methods(cls)
        own = {name: part for name, part in vars(cls).items() if isinstance(part, Setting)}
        if taken := own.keys() & {*OWN, *dir(View)}:
            raise TypeError(f"a view has its own {', '.join(sorted(taken))}; rename the setting")
        last = {name: cls.settings[name] for name in View.settings}
        cls.settings = {n: s for n, s in cls.settings.items() if n not in last} | own | last
        cls._held = {name: setting for name, setting in cls.settings.items() if setting.put is None}
        checks = (
            setting
            for setting in cls.settings.values()
            if isinstance(setting, Checkbox) and setting.key
        )
        cls._turned = {check.key: check for check in checks}
        cls.picture_keys = tuple(dict.fromkeys([*cls.picture_keys, *cls._turned]))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        arguments = signature(type(self))
        if slips := kwargs.keys() - arguments.parameters.keys():
            raise unknown("argument", min(slips), arguments.parameters)
        given = arguments.bind(*args, **kwargs).arguments
        self._kept: deque[tuple[State, S]] = deque(maxlen=KEPT)
        self._events = {name: part for part in self.settings.values() for name in part.events}
        self._origin: PageState | None = None
        self._news = self._told = False
        self._link: str | None = None
        self._width = self.widest
        self.widest_drawn = ROOM if self.widest >= View.widest else self.widest
        self.previous: State | None = None
        self.earlier: State | None = None
        self.state = self._start = self._announced = self._made({}, given)
        several("setting", self.state.only, [n for n, s in self.settings.items() if s.events])
        self.rows_of(self.state)
        super().__init__()

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a setting, a trait or a private attribute. Any other name is an error, since it is
        most likely a typing mistake."""
        if not (name.startswith("_") or name in OWN or hasattr(type(self), name)):
            raise unknown("setting", name, [n for n, s in self.settings.items() if s.settable])
        super().__setattr__(name, value)

    # -- what a subclass gives --------------------------------------------------------------

    def study(self, now: State) -> S:
        """Return the exact figures of a state, which the picture and the text show.

        Raises:
            InputError: settings that nothing can be shown for; they are refused.
        """
        raise NotImplementedError

    def compose(self, scene: PageState) -> Page:
        """Return the page of a scene, at the width that the scene gives."""
        raise NotImplementedError

    def test_state(self, now: State) -> str:
        """Return the state as a line that tests read."""
        return ""

    def says(self, scene: PageState) -> str:
        """Sentence for a screen reader."""
        return ""

    def fact(self, scene: PageState) -> str:
        """Return the fact of the mark that keys of the picture have reached: its fact, or
        ``"name:value"``."""
        return ""

    def status(self, scene: PageState) -> str:
        """Line above the picture."""
        return ""

    def lines(self, scene: PageState) -> Sequence[Paragraph]:
        """Lines below the picture."""
        return ()

    def after(self, scene: PageState) -> Sequence[Paragraph]:
        """Lines after everything else."""
        return ()

    def reconcile(self, new: State, was: State | None) -> State:
        """Return a state whose settings are consistent. ``was`` is the state before, or None for
        the first state and for presets.

        Raises:
            InputError: they do not go together.
        """
        return new

    def outline_key(self, now: State) -> object:
        """Key of a state: a change leaves an outline of the state before where the key differs."""
        return now

    def values(self, now: State) -> Mapping[str, object]:
        """Values that the labels of controls name in braces, besides values and ends."""
        return {}

    def buttons(self, now: State) -> Mapping[str, str]:
        """Return the buttons, each with the key of its label. The text ``<key>_busy`` is shown
        while it works."""
        return {name: name for name in ("start", *self.presets, "copy")}

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        """Return the state after a button, a key or a click on the picture, or None if nothing
        changes.

        Raises:
            InputError: it is not allowed; the sentence is shown, and nothing changes.
        """
        return None

    # -- from Python ------------------------------------------------------------------------

    def observe(self, handler: Any, names: Any = traitlets.All, type: Any = "change") -> None:
        """Call a function after each change of a setting: ``view.observe(f, "batch")``.

        Raises:
            InputError: a name is that of no setting, so the function would never be called.
        """
        for name in traitlets.parse_notifier_name(names):
            if name is not traitlets.All and not self.has_trait(name):
                raise unknown("setting", name, self.settings)
        super().observe(handler, names, type)

    @property
    def rows(self) -> S:
        """Return the exact figures that are shown."""
        return self.rows_of(self.state)

    def rows_of(self, now: State) -> S:
        """Return the exact figures of a state. Those of the last few states are cached."""
        for state, rows in self._kept:
            if state == now:
                return rows
        self._kept.append((now, self.study(now)))
        return self._kept[-1][1]

    def change(self, **changes: Any) -> None:
        """Set several settings at once. If one of them is refused, none is changed.

        Raises:
            InputError: a value that is not allowed, a name that is no setting, or a setting that
                only another view, or a key or a button of this one, changes.
        """
        for name in changes:
            setting = self._setting(name)
            if not setting.settable:
                key = "fixed" if setting.fixed else "pressed"
                raise InputError(strings.get(f"widget.{key}", name=name))
        self._set(**changes)

    def scene(self, width: float | None = None, live: bool = False) -> PageState:
        """Page state that is on display, or the one that is stored."""
        wide = width or (self._width if live else self.widest)
        held, news = self._origin is not None, self._news and live
        now, previous, earlier = self.state, self.previous, self.earlier
        if not live:
            now = self._stored(now)
            previous = previous and self._stored(previous)
            earlier = earlier and self._stored(earlier)
        return PageState(now, previous, earlier, held, news, live, wide)

    def page(self, width: float | None = None) -> Page:
        """Page that is on display, as it is stored; ``width`` is in pixels."""
        return self.compose(self.scene(width))

    def text(self) -> str:
        return self.page().text()

    def svg(self) -> str:
        return self.page().render()

    def figure(self) -> Any:
        """Return the picture as a matplotlib ``Figure``, whose Axes can be changed before it is
        saved."""
        return self.page().figure()

    def code(self) -> str:
        """Return the line of Python that makes this view again."""
        ordered = sorted(self.settings.values(), key=lambda setting: setting.code != "plain")
        parts = [part for setting in ordered if (part := setting.as_code(self.state))]
        return f"memlab.views.{self.made_by}({', '.join(parts)})"

    def changed(self, now: State, **changes: Any) -> State:
        """Return the state after a change. The values are checked, and settings that follow a
        changed one return to their defaults.

        Raises:
            InputError: a value that is not allowed.
        """
        wanted = self._spread(now, changes)
        if not wanted:
            return now
        gone = self._followers(now, set(wanted)) | set(wanted)
        kept = {name: getattr(now, name) for name in self._held if name not in gone}
        return self.reconcile(Draft(self._held, kept, wanted).state(), now)

    # -- for the widget ---------------------------------------------------------------------

    def controls(self) -> list[Control]:
        return self.state.once(("controls", strings.language()), self._controls_of)

    def _controls_of(self, now: State) -> list[Control]:
        labels = self._labels(now)
        offered = filter(self._offers, self.settings.values())
        control_list = [control for setting in offered for control in setting.controls(now, labels)]
        if now.only:  # nothing is to be looked for
            control_list = [control._replace(place="main") for control in control_list]
        for name, key in self.buttons(now).items():
            if name in self.presets and not self._exemplary:
                continue
            busy = labels(f"{key}_busy") if labels.has(f"{key}_busy") else ""
            place = "more" if name in self.behind_more else "buttons"
            control_list.append(Control("button", name, labels(key), place=place, busy=busy))
        return control_list

    def _labels(self, now: State) -> Labels:
        others = {name: setting.label for name, setting in self.settings.items() if setting.label}
        return Labels(self.name, self.values(now), others)

    def more(self) -> str:
        now = self.state
        labels = self._labels(now)
        hidden = {control.name for control in View.controls(self) if control.place == "more"}
        if not hidden:
            return ""
        told = (
            setting.summary(now, labels)
            for name, setting in self.settings.items()
            if name in hidden
        )
        values = ", ".join(filter(None, told))
        return strings.get("widget.more" if values else "widget.more_alone", values=values)

    def draw(self, stored: bool) -> Picture:
        scene = self.scene(live=not stored)
        page = self.compose(scene)
        return Picture(
            svg=page.render("" if stored else str(self.model_id), standalone=stored),
            text=page.text() if stored or self._told else "",
            shown=self.first_slider(scene.now),
            state=self.test_state(scene.now),
            says="" if scene.dragging else self.says(scene),
            fact=self.fact(scene),
            status=self.status(scene),
            lines=tuple(self.lines(scene)),
            after=tuple(self.after(scene)),
            code=self.code(),
            link=self._link,
        )

    def _layout(self) -> dict[str, Any]:
        return {**super()._layout(), "view": self.made_by}

    def first_slider(self, now: State) -> int:
        """Value of the first slider."""
        sliders = (setting for setting in self.settings.values() if isinstance(setting, Range))
        first = next(sliders, None)
        return round(first.where(now)) if first else 0

    def refresh(self, error: str = "") -> None:
        super().refresh(error)
        self._news, self._link = False, None

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Apply the values that a linked widget of the page has chosen. Where they are refused, the
        widget gets the old values back."""
        try:
            super().set_state(sync_data)
        except InputError:
            self.send_state(self.settings.keys() & sync_data.keys())

    def _tell(self) -> None:
        """Notify observers and linked widgets of all settings that changed since the last
        notification, once for each setting and after all are set."""
        was, self._announced = self._announced, self.state
        changes = [(name, old, new) for name, setting in self.settings.items()
                   if not same(old := setting.value(was),
                       new := setting.value(self.state))]  # fmt: skip
        with self.hold_sync():
            for name, old, new in changes:
                if same(new, getattr(self, name)):  # no observer has changed it again
                    self._notify_trait(name, old, new)

    def on_event(self, name: str, value: Any, dragging: bool) -> None:
        now = self.state
        if name == "width":
            self._width = min(max(width(value), self.narrowest), self.widest_drawn)
        elif name == "text":
            self._told = True
        elif name == "copy_link":
            self._link = link.query_of(self)
        elif name == "open_link":
            self._open(str(value))
        elif name in self._events:
            setting = self._events[name]
            if self._offers(setting):
                chosen = {setting.name: setting.read(name, value, now)}
                self._slide(self.changed(now, **chosen), dragging)
        elif name == "key" and (check := self._turned.get(str(value))):
            if check.stays or self._offers(check):
                self._go(self.changed(now, **{check.name: not check.value(now)}))
        elif name in self.presets and self._exemplary:
            self._renew(self._made(self._staying(), resolve(self.presets[name], now)))
        elif name == "start":
            self._renew(self._start.replace(**self._staying()))
        elif (state := self.on_action(now, name, value)) is not None:
            self._slide(state, dragging)

    def _open(self, query: str) -> None:
        """Show what a link says.

        Raises:
            InputError: a part of it is refused; the rest is shown.
        """
        if sentences := link.follow(self, query):
            raise InputError(" ".join(sentences))

    def _set(self, **changes: Any) -> None:
        """Set settings without checks. The methods of a view check what they set themselves."""
        undo = self._undo()
        try:
            self._go(self.changed(self.state, **changes))
            self.refresh()
        except BaseException as failed:
            undo()
            if isinstance(failed, InputError):
                self._publish(self.now_["layout"], self.now_["shown"], str(failed))
            raise
        self._tell()

    def _undo(self) -> Callable[[], None]:
        names = ("state", "previous", "earlier", "_origin", "_news")
        kept = {name: getattr(self, name) for name in names}
        return lambda: self.__dict__.update(kept)

    # -- history ------------------------------------------------------------------------------

    def _go(self, state: State) -> None:
        """Show another state. The previous one is kept for comparison if what it describes has
        changed."""
        self.rows_of(state)  # what cannot be shown is refused here
        if self.outline_key(state) != self.outline_key(self.state):
            self.previous, self.earlier = self.state, self.previous
            self._news = True
        self.state, self._origin = state, None

    def _slide(self, state: State, dragging: bool) -> None:
        """Show another state while a slider moves. As long as it is held, the state from before it
        was taken stays the previous one."""
        origin = self._origin
        if origin is None and not dragging:
            self._go(state)
            return
        self.rows_of(state)
        if origin is None:
            self._origin = PageState(self.state, self.previous, self.earlier)
            self.previous, self.earlier = self.state, self.previous
        elif not dragging:
            self._origin, self._news = None, True
            if state == origin.now:
                state, self.previous, self.earlier = origin.now, origin.previous, origin.earlier
        self.state = state

    def _renew(self, state: State) -> None:
        """Show a state that is unrelated to the previous ones."""
        self.rows_of(state)
        self.state, self.previous, self.earlier, self._origin = state, None, None, None
        self._news = True

    # -- inside -------------------------------------------------------------------------------

    @property
    def _exemplary(self) -> bool:
        """True if the buttons of the presets are shown."""
        return self.state.examples and not self.state.only

    def _offers(self, setting: Setting[Any]) -> bool:
        """True if a setting has its control in the current state."""
        now = self.state
        return setting.when(now) and (not now.only or setting.name in now.only)

    def by_key(self, now: State, **changes: Any) -> State | None:
        """Return the state after a key has changed settings; None where one has no control."""
        offered = all(self._offers(self.settings[name]) for name in changes)
        return self.changed(now, **changes) if offered else None

    def _setting(self, name: str) -> Setting[Any]:
        if name not in self.settings:
            raise unknown("setting", name, self.settings)
        return self.settings[name]

    def _staying(self) -> dict[str, Any]:
        """Values that a preset leaves as they are."""
        return {name: getattr(self.state, name) for name, setting in self._held.items()
                if setting.fixed or setting.stays}  # fmt: skip

    def _made(self, kept: Mapping[str, Any], given: Mapping[str, Any]) -> State:
        own = {name: value for name, value in given.items() if name in self._held}
        kept = {name: value for name, value in kept.items() if name not in own}
        state = self.reconcile(Draft(self._held, kept, own).state(), None)
        others = {name: given[name] for name in given if name not in own}
        return self.changed(state, **{n: v for n, v in others.items() if v is not None})

    def _spread(self, now: State, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the changes, with those of settings that store a value of their own."""
        values: dict[str, Any] = {}
        for name, value in changes.items():
            setting = self._setting(name)
            if setting.put is None:
                values[name] = value
            elif not same(value, setting.value(now)):
                values |= setting.put(now, setting.checked(value, now))
        return {
            name: value for name, value in values.items() if not same(value, getattr(now, name))
        }

    def _followers(self, now: State, changed: set[str]) -> set[str]:
        """Settings that become their default again with the changed ones, and those that follow
        them."""
        followers: set[str] = set()
        while more := {
            name
            for name, setting in self._held.items()
            if name not in changed | followers
            and (changed | followers) & set(setting.follows)
            and not self._stands(setting, now)
        }:
            followers |= more
        return followers

    def _stands(self, setting: Setting[Any], now: State) -> bool:
        """True if the value of a setting was chosen after the view was made, and is kept."""
        if not setting.stands:
            return False
        start = getattr(self, "_start", now)
        return getattr(now, setting.name) not in (
            setting.first(now), getattr(start, setting.name)
        )  # fmt: skip

    def _stored(self, state: State) -> State:
        """Return the state without what belongs to this machine and this moment, for a stored
        notebook."""
        passing = {name: setting for name, setting in self._held.items() if not setting.stored}
        if not passing:
            return state
        return state.replace(**{name: setting.first(state) for name, setting in passing.items()})

    def __repr__(self) -> str:
        return f"<{self._named('name').lower()}: {self.page().title}>"


def signature(view: type[View[Any]]) -> Signature:
    """Return the signature of a view's function: its settings are the arguments."""
    arguments = {name: setting for name, setting in view.settings.items() if setting.argument}
    ordered = dict.fromkeys((*view.positional, *arguments))
    return Signature([_parameter(arguments[name], name in view.positional) for name in ordered])


def _parameter(setting: Setting[Any], positional: bool) -> Parameter:
    kind = Parameter.POSITIONAL_OR_KEYWORD if positional else Parameter.KEYWORD_ONLY
    return Parameter(setting.name, kind, default=None if setting.optional else setting.usual)


def _documented(view: type[View[Any]]) -> str:
    """Docstring of the function: the first paragraph of the class and its example, then the
    arguments."""
    head, *others = cleandoc(view.__doc__ or "").split("\n\n")
    example = [part for part in others if part.startswith(">>>")]
    lines = [f"    {name}: {view.settings[name].doc}." for name in signature(view).parameters]
    raises = "Raises:\n    InputError: a value that is not allowed."
    return "\n\n".join([head, *example, "\n".join(["Args:", *lines]), raises])


def maker(view: type[V]) -> Callable[..., V]:
    """Return the function that makes a view. Its arguments are the settings of the view."""

    def make(*args: Any, **kwargs: Any) -> V:
        return view(*args, **kwargs)

    make.__name__ = make.__qualname__ = view.made_by
    make.__module__ = view.__module__
    make.__signature__ = signature(view)  # type: ignore[attr-defined]  # functions have one
    make.__doc__ = _documented(view)
    return make


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
