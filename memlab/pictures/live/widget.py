"""One widget that shows anything: labelled native controls, and a slot for a picture.

Python computes, the browser displays. The browser sends what was done as a list of events, and
waits for the answer before it sends the next list; in between it keeps only the newest value of
each control, so that a slow picture is skipped and never queued.

A model may be rendered several times: side by side, or again where its cell runs again. Each
rendering has a key of its own and numbers its lists; what is sent to all of them names the last
list of each that was answered, so that no answer equals the one before or is lost in a later one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from math import isfinite, log
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, TypeVar

import anywidget
import traitlets

from memlab import strings
from memlab.errors import LARGEST, LONGEST, InputError, shorten, whole_number
from memlab.strings import gettext as _

_HERE = Path(__file__).parent
RENDERINGS = 32
"""Most renderings of a model that are told what was answered: those that asked last."""


class Paragraph(NamedTuple):
    """Paragraph beside a picture. ``code`` keeps its line breaks and uses a monospaced font. In a
    ``marked`` paragraph, words may be **bold** or `code`; a ``dim`` one comes second."""

    text: str
    code: bool = False
    marked: bool = False
    dim: bool = False


class Picture(NamedTuple):
    """Picture at one moment, with the texts around it.

    ``svg`` is empty where there is no picture yet. ``shown`` is the value of the first range
    control that it was drawn for, ``state`` the machine-readable line for tests, ``text`` the twin,
    ``says`` what a screen reader hears, ``fact`` tells the mark that the keyboard is on, ``status``
    the line above the picture, ``verdict`` the parts of the line of an answer (kind, label, text
    and reason), ``lines`` stand below the picture and are read aloud when they change, ``after``
    comes last, ``code`` is the line of Python that makes this view again, ``link`` the query of a
    link to it where that was asked for.
    """

    svg: str
    text: str
    shown: int = 0
    state: str = ""
    says: str = ""
    fact: str = ""
    status: str = ""
    verdict: tuple[tuple[str, str, str, str], ...] = ()
    lines: tuple[Paragraph, ...] = ()
    after: tuple[Paragraph, ...] = ()
    code: str = ""
    link: str | None = None


SHARED = ("widget", "draw", "role", "phase", "step", "optimizer", "kind", "fact")
"""Tables of texts that all views share."""
SHOWING = ("page", "text", "svg", "figure", "stored", "refresh", "__repr__", "__str__")
"""Methods that show a widget, each in one language."""
Shown = TypeVar("Shown")


def _in_one_language(method: Callable[..., Shown]) -> Callable[..., Shown]:
    """Return a method of a widget that speaks English where a text of the widget lacks a
    translation."""

    @wraps(method)
    def spoken(widget: Widget, *args: Any, **kwargs: Any) -> Shown:
        with strings.speaking(*widget.parts):
            return method(widget, *args, **kwargs)

    return spoken


class Widget(anywidget.AnyWidget):
    """Base of widgets: controls, a picture and answers to events. A subclass gives ``controls``,
    ``draw`` and ``on_event``."""

    _esm = _HERE / "view.js"
    _css = _HERE / "view.css"

    now_ = traitlets.Dict().tag(sync=True)
    """Texts, names of the controls and how many changes they have had, the picture, and the lists
    of events that are answered. Each control is a trait of its own, ``_control_<name>``: only those
    are sent that have changed."""

    name = "view"
    """The table of its texts; ``name`` and ``help`` in it are those of the picture."""
    tables: Sequence[str] = ()
    """The tables of its texts, where there are several."""
    twin = True
    """Whether a button shows the text below the picture."""
    classes = "memlab-view"
    """The classes of its root: ``memlab-view`` is what a page measures and a lesson opens with."""
    widest_drawn = 0
    """Pixels that its picture has use for, where they are many."""
    picture_keys: Sequence[str] = ()
    """The keys that its picture takes, by ``event.code``; arrows that are not among them walk its
    marks."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in set(SHOWING) & vars(cls).keys():
            setattr(cls, name, _in_one_language(vars(cls)[name]))

    def __init__(self) -> None:
        self._answers: dict[str, int] = {}
        self._controls: dict[str, Control] = {}
        self._changes = 0
        self._sending = RLock()  # a browser's events may come in a thread of their own
        self._show(self.controls())
        super().__init__()
        self.on_msg(self._receive)
        self.refresh()

    # -- what a subclass gives --------------------------------------------------------------

    @property
    def parts(self) -> tuple[str, ...]:
        """Parts of the texts (``strings.part_of``) that are shown in one language."""
        return *(self.tables or (self.name,)), *SHARED

    def controls(self) -> list[Control]:
        """Return the controls with their current values."""
        raise NotImplementedError

    def more(self) -> str:
        """Return the label of the disclosure, which names what it hides."""
        return ""

    def heading(self) -> tuple[str, str]:
        """Heading of the widget: a bold beginning, and the rest."""
        return "", ""

    def next(self) -> str:
        """Return the control that gets the focus when the focused one disappears."""
        return ""

    def label(self) -> str:
        """Name of the picture for a screen reader."""
        return self._named("name")

    def help(self) -> str:
        """Help below the picture: the keys that it answers to now."""
        return self._named("help")

    def draw(self, stored: bool) -> Picture:
        """Return the current picture. A stored picture shows nothing that only
        this machine knows."""
        raise NotImplementedError

    def on_event(self, name: str, value: Any, dragging: bool) -> None:
        """Handle an event of the browser.

        Raises:
            InputError: a value that is not allowed; the sentence is shown, and nothing changes.
        """
        raise NotImplementedError

    # -- for everybody ----------------------------------------------------------------------

    @_in_one_language
    def text(self) -> str:
        """Return the view in words."""
        return self.draw(stored=True).text

    @_in_one_language
    def svg(self) -> str:
        """Return the view as a standalone SVG picture."""
        return self.draw(stored=True).svg

    @_in_one_language
    def stored(self) -> dict[str, str]:
        """Text of the widget, and its picture if there is one, for a page where no Python runs."""
        picture = self.draw(stored=True)
        drawn = {"image/svg+xml": picture.svg} if picture.svg else {}
        return {**drawn, "text/plain": picture.text}

    @_in_one_language
    def refresh(self, error: str = "") -> None:
        """Draw again, and send everything that has changed as one message."""
        with self._sending, self.hold_sync():
            controls, layout, picture = self.controls(), self._layout(), self.draw(stored=False)
            self._show(controls)
            layout |= {"controls": [control.name for control in controls], "changes": self._changes}
            self._publish(layout, picture._asdict(), error)

    def _tell(self) -> None:
        """Notify observers of what has changed since the last notification."""

    def _show(self, controls: Sequence[Control]) -> None:
        """Send the controls that have changed."""
        changed = {
            f"_control_{control.name}": control._asdict()
            for control in controls
            if control != self._controls.get(control.name)
        }
        new = {
            name: traitlets.Dict(control).tag(sync=True)
            for name, control in changed.items()
            if not self.has_trait(name)
        }
        if new:
            self.add_traits(**new)
        for name, control in changed.items():
            self.set_trait(name, control)
        self._controls |= {control.name: control for control in controls}
        self._changes += len(changed)

    def _layout(self) -> dict[str, Any]:
        """Return what the page consists of, without the current picture and values."""
        texts = ("copied", "copy_by_hand", "copy_link", "link_by_hand", "walk", "working", "gone")
        return {
            "more": self.more(),
            "classes": self.classes,
            "room": self.widest_drawn,
            "heading": list(self.heading()),
            "next": self.next(),
            "name": self.label(),
            "language": strings.language(),
            "help": self.help(),
            "text": strings.get("widget.text") if self.twin else "",
            "keys": list(self.picture_keys),
            **{key: strings.get(f"widget.{key}") for key in texts},
        }

    def _publish(self, layout: object, shown: Mapping[str, Any], error: str) -> None:
        answers = dict(self._answers)
        self.now_ = {"layout": layout, "shown": {**shown, "error": error}, "answers": answers}

    def _named(self, key: str) -> str:
        key = f"{self.name}.{key}"
        return strings.get(key) if strings.has(key) else ""

    def _undo(self) -> Callable[[], None]:
        """Return a function that restores the current content."""
        return lambda: None

    def _receive(self, _: object, content: object, buffers: object) -> None:
        message, error = content if isinstance(content, Mapping) else {}, ""
        undo = self._undo()
        try:
            try:
                for name, value, dragging in events(message.get("events")):
                    self.on_event(name, value, dragging)
            except InputError as refused:
                error = str(refused)
            self._note(message)
            self.refresh(error)
        except BaseException as failed:  # a mistake, or the kernel was interrupted
            undo()
            self._note(message)
            self._say(failed)
            if not isinstance(failed, InputError):
                raise
        else:
            self._tell()

    def _say(self, failed: BaseException) -> None:
        """Show an error beside the picture. If the picture with it cannot be drawn, the last one
        stays."""
        known = isinstance(failed, InputError)
        error = str(failed) if known else strings.get("widget.failed", why=_why(failed))
        try:
            self.refresh(error)
        except BaseException:  # it is raised already
            self._publish(self.now_["layout"], self.now_["shown"], error)

    def _note(self, message: Mapping[str, Any]) -> None:
        """Mark a list of events as answered by the next message."""
        view, number = message.get("view"), message.get("number")
        if not (isinstance(view, str) and len(view) <= LONGEST and type(number) is int):
            return
        with self._sending:
            others = {key: last for key, last in self._answers.items() if key != view}
            self._answers = dict([*others.items(), (view, number)][-RENDERINGS:])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        return {**data, **self.stored()}, metadata

    def __str__(self) -> str:
        return self.text()


def _why(failed: BaseException) -> str:
    """Return an error in one line."""
    said = " ".join(str(failed).split())
    return f"{type(failed).__name__}: {said}" if said else type(failed).__name__


# -- what a browser sends --------------------------------------------------------------------------


def events(given: object) -> Iterator[tuple[str, Any, bool]]:
    """Yield the name, the value and whether a slider is held, for each event. Messages that our
    pages do not send are ignored."""
    for event in given if isinstance(given, list) else ():
        if isinstance(event, Mapping) and isinstance(event.get("name"), str):
            value = event.get("value", event)
            if _is_plain(value):
                yield event["name"], value, event.get("dragging") is True


def _is_plain(value: object) -> bool:
    """True if a control can have such a value: a text, a JavaScript number, a bool or None."""
    if isinstance(value, int | float):
        return abs(value) <= 2**53 if isinstance(value, int) else isfinite(value)
    return value is None or isinstance(value, str)


# -- controls, and what may come from them ---------------------------------------------------------


class Control(NamedTuple):
    """Native control of the browser. ``kind`` is range, number, text, area (a text of several
    lines), select, radio, checkbox or button.

    ``place`` is ``"main"``, ``"more"`` (behind the disclosure), ``"buttons"`` or ``"below"`` the
    picture. ``options`` are the values and labels of a select or of radio buttons. ``spoken`` is
    the value of a range in words, ``ends`` stand at its ends, and ``unset`` says that nobody has
    chosen it yet. ``busy`` is what a button says until its answer comes: a second press does
    nothing, and a bar follows the ``seconds`` that the answer takes, where these are known. One
    that is ``wide`` has a row of its own.
    """

    kind: str
    name: str
    label: str
    value: Any = None
    place: str = "main"
    options: tuple[tuple[str, str], ...] = ()
    least: int | None = None
    most: int | None = None
    spoken: str = ""
    ends: tuple[str, ...] = ()
    placeholder: str = ""
    busy: str = ""
    beside: bool = False
    unset: bool = False
    wide: bool = False
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of the controls of one view. ``values`` may be named in braces in a text; ``others``
    are labels that no text file has."""

    view: str
    values: Mapping[str, object] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, key: str, **values: object) -> str:
        """Return the label of a key: ``labels("stride")`` is ``<view>.control.stride``."""
        if key in self.others and not self.has(key):
            return self.others[key]
        return strings.get(f"{self.view}.control.{key}", **{**self.values, **values})

    def has(self, key: str) -> bool:
        """True if there is a text for the key."""
        return strings.has(f"{self.view}.control.{key}")


def one_of(what: str, given: object, allowed: Sequence[int]) -> int:
    """Return ``given``, which must be one of the allowed whole numbers.

    Raises:
        InputError: it is none of them; the message names all.
    """
    value = whole_number(what, given, least=min(allowed, default=1))
    if value not in allowed:
        *most, last = map(str, allowed)
        raise InputError(_("{what} must be {most} or {last}, got {given}; try {usual}.",
                           what=what, most=", ".join(most), last=last, given=shorten(given),
                           usual=allowed[len(allowed) // 2]))  # fmt: skip
    return value


def typed(what: str, value: object, usual: int, least: int = 1) -> int:
    """Return the whole number that a control sends, as a number or as typed text; None where that
    is no number.

    Raises:
        InputError: it is no whole number of at least ``least``.
    """
    text = "" if value is None else str(value).strip()
    try:
        number = int(text)
    except ValueError:  # also where it has thousands of digits
        shown = text if text.isprintable() and len(text) <= LONGEST else shorten(text)
        given = shown or strings.get("widget.no_number")
        raise InputError(_("{what} must be a whole number, got {given}; try {usual}.",
                           what=what, given=given, usual=usual)) from None  # fmt: skip
    return whole_number(what, number, least)


def stop(what: str, value: object, least: int, most: int) -> int:
    """Return the position of a slider or a pointer, kept between its ends; for a box there is
    ``typed``.

    Raises:
        InputError: that is no whole number.
    """
    return min(max(typed(what, value, max(least, 0), -LARGEST), least), most)


def among(stops: Sequence[Any], value: Any) -> float:
    """Return the position of a number among stops, which grow: one half-way between the third and
    the fourth in ratio is at 2.5.

    >>> among((1, 2, 4), 2), among((1, 2, 4), 3) > 1.5, among((1, 2, 4), 9)
    (1, True, 2)
    """
    value = min(max(value, stops[0]), stops[-1])
    below = bisect_right(stops, value) - 1
    if value == stops[below]:
        return below
    low, high = stops[below : below + 2]
    return below + log(value / low) / log(high / low)


WIDEST = 10_000


def width(value: object) -> int:
    """Width of the page, in its pixels."""
    return stop("width", value, 1, WIDEST)
