"""A setting of a live view, declared once in its class: all that is known of it follows from there.

    class WarpMemory(View[Warp]):
        stride = Choice(STRIDES, doc="how far the window moves")
        warp = Range(0, last, default=inner, box=True, follows=["stride"], doc="its number")

A setting is a trait of its view, so ``view.warp = 3``, ``view.observe(f, "warp")`` and
``ipywidgets.link((slider, "value"), (view, "warp"))`` work. From the declaration come also the
argument of the factory with its line of documentation, the native control with its label
(``<view>.control.warp`` in the texts), the check of what Python sets and of what a browser sends,
and its part in the line of code. What a setting needs to know of the others it asks of the state:
wherever a value may stand, a function ``state -> value`` may stand too.

The values stand in one place, the state of the view: the trait reads them there, and to set it is
to change that state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, overload

from traitlets import TraitType

from memlab.errors import LARGEST, known, true_or_false, whole_number
from memlab.moved import old_names
from memlab.pictures.live.widget import Control, Labels, among, one_of, stop, typed

if TYPE_CHECKING:
    from typing import Self

T = TypeVar("T")


# -- what is chosen -------------------------------------------------------------------------------


class State:
    """Choices of the user, and nothing else: one value for each setting, which never changes."""

    __slots__ = ("__dict__", "_once")

    def __init__(self, values: Mapping[str, Any]) -> None:
        vars(self).update(values)
        object.__setattr__(self, "_once", {})

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no setting is called {name}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a state never changes: state.replace({name}=...) makes another one")

    def replace(self, **changes: Any) -> State:
        """Return the state with other values, which are not checked again."""
        return State(vars(self) | changes)

    def once(self, key: object, make: Callable[[State], T]) -> T:
        """Return the result of a function of this state, computed at most once."""
        if key not in self._once:
            self._once[key] = make(self)
        result: T = self._once[key]
        return result

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self)))

    def __repr__(self) -> str:
        return f"State({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def once(function: Callable[[State], T]) -> Callable[[State], T]:
    """Return a function that computes its result at most once for each state."""

    @wraps(function)
    def kept(now: State) -> T:
        return now.once(function, function)

    return kept


def always(now: State) -> bool:
    """Return True, in every state."""
    return True


def never(now: State) -> bool:
    """Return False, for a setting that never has a control."""
    return False


def same(value: object, other: object) -> bool:
    """True if two values of a setting are the same choice."""
    return value is other or (type(value) is type(other) and value == other)


def resolve(value: Any, now: State) -> Any:
    """Return a value, or the result of a function of the state."""
    return value(now) if callable(value) else value


# -- kinds ---------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class Setting(TraitType[T, Any]):
    """Setting without a control: an argument, or a value that keys and buttons change.

    Attributes:
        doc: what it is, for the property and for the argument.
        default: its first value, or a function of the state. Where that is a function, None or
            ``""``, None stands for it, and for the argument that is not given.
        check: makes the value of what Python gives, or raises InputError.
        follows: settings with which it becomes its default again.
        stands: whether it stays, whatever it follows, where another value was chosen since the view
            was made.
        when: whether its control is offered in a state.
        place: of its control, ``"main"`` or ``"more"``, or a function of the state.
        what: its name in an error, where that is not its own.
        label: that of its control, where the texts of the view have none.
        argument: whether the factory takes it.
        fixed: whether it stays as the factory was given it.
        stays: whether presets leave it as it is.
        linked: whether a link names it; not what a lesson asks, or what was guessed.
        stored: False where it belongs to this machine and this moment: a stored picture has its
            default.
        synced: whether the page knows its value, so that ``jslink`` works: JSON has to hold it. So
            it is, if not said, where there is a control.
        code: when the line of Python names it: ``"changed"`` from its default, ``"always"``,
            ``"plain"`` (always, and without its name), ``"never"``, or a function of the state.
        write: how that line writes it.
        get, put: for a setting that holds no value of its own: its value in a state, and the
            changes ``(state, value) -> {name: value}`` that choosing one makes.
        brief: what the label of the disclosure says of it, a function of the state.
    """

    doc: str = ""
    default: Any = None
    check: Callable[[Any], T] | None = None
    follows: Iterable[str] = ()
    stands: bool = False
    when: Callable[[State], bool] = always
    place: str | Callable[[State], str] = "main"
    what: str = ""
    label: str = ""
    argument: bool = True
    fixed: bool = False
    stays: bool = False
    linked: bool = True
    stored: bool = True
    synced: bool | None = None
    code: str | Callable[[State], bool] = "changed"
    write: Callable[[T], str] = repr
    get: Callable[[State], T] | None = None  # type: ignore[assignment]  # of a state, not a view
    put: Callable[[State, T], Mapping[str, Any]] | None = None
    brief: Callable[[State], str] | None = None
    name: str = field(default="", init=False)

    def __post_init__(self) -> None:
        super().__init__(help=self.doc, read_only=not self.settable)
        synced = type(self) is not Setting if self.synced is None else self.synced
        if synced and self.settable:
            self.tag(sync=True)

    @overload
    def __get__(self, view: None, owner: type) -> Self: ...
    @overload
    def __get__(self, view: Any, owner: type) -> T: ...
    def __get__(self, view: Any, owner: type) -> Self | T:
        return self if view is None else self.value(view.state)

    def __set__(self, view: Any, given: Any) -> None:
        if self.read_only:
            raise AttributeError(f"{self.name} cannot be set; make another view")
        view.change(**{self.name: given})

    def set(self, view: Any, given: Any) -> None:
        """Set the value of a view. traitlets also calls this with the value that is set already."""
        if not same(given, self.value(view.state)):
            view.change(**{self.name: given})

    # -- its value --------------------------------------------------------------------------

    @property
    def settable(self) -> bool:
        """True if Python may set it. A setting that only keys and buttons change has no check for
        values."""
        inner = type(self) is Setting and not (self.argument or self.check or self.put)
        return not (self.fixed or inner)

    @property
    def optional(self) -> bool:
        """True if None stands for its default."""
        return callable(self.default) or self.default is None or self.default == ""

    @property
    def usual(self) -> Any:
        """Return its default, where that does not depend on the state."""
        return None if callable(self.default) else self.default

    def value(self, now: State) -> T:
        """Return its value in a state."""
        setting_value: T = self.get(now) if self.get else getattr(now, self.name)
        return setting_value

    def first(self, now: State) -> T:
        """Return its default in a state. A constant default is checked like a value that Python
        gives."""
        default: T = resolve(self.default, now)
        return default if self.optional else self.allowed(default, now)

    def checked(self, given: Any, now: State) -> T:
        """Return a value that Python gave, as a value of this setting.

        Raises:
            InputError: it is none.
        """
        if given is None and self.optional:
            return self.first(now)
        return self.allowed(given, now)

    def allowed(self, given: Any, now: State) -> T:
        """Return a value after its check. None stands for the default and is not checked."""
        checked: T = self.check(given) if self.check else given
        return checked

    # -- in the browser -----------------------------------------------------------------------

    @property
    def events(self) -> tuple[str, ...]:
        """Return the names of the events of its controls: its own, and that of a box beside it."""
        return () if type(self) is Setting else (self.name, f"{self.name}_number")

    def read(self, event: str, value: Any, now: State) -> Any:
        """Return the value that an event of the browser chooses, to be checked as if Python had
        given it.

        Raises:
            InputError: no such value can be sent.
        """
        return value

    def controls(self, now: State, labels: Labels) -> list[Control]:
        """Return its controls, with the value of a state."""
        return []

    # -- in words -----------------------------------------------------------------------------

    def summary(self, now: State, labels: Labels) -> str:
        """Return its value in words for the label of the disclosure that hides it."""
        return self.brief(now) if self.brief else self.value_text(now, labels)

    def value_text(self, now: State, labels: Labels) -> str:
        """Return its value in words."""
        return str(self.value(now))

    def as_code(self, now: State) -> str:
        """Return its part of the line of Python, or ``''`` if the line leaves it out."""
        value, mode = self.value(now), self.code
        shown = mode(now) if callable(mode) else mode in ("always", "plain")
        if mode == "changed":
            shown = value != self.default and value != self.first(now)
        if not (self.argument and shown):
            return ""
        return self.write(value) if mode == "plain" else f"{self.name}={self.write(value)}"


@dataclass(eq=False)
class Select(Setting[T]):
    """Setting with one of several values, shown as a select, or as radio buttons where they are
    ``few``. ``options`` are the values, or labels by value. The text
    ``<view>.control.<name>_<value>`` is used as a label if it exists, else the value itself.

    Without a default it is the first. A text or a whole number is refused by a sentence that names
    the options.
    """

    options: Sequence[T] | Mapping[T, str] | Callable[[State], Sequence[T] | Mapping[T, str]]
    default: Any = field(default=..., kw_only=True)
    few: bool = field(default=False, kw_only=True)

    @property
    def usual(self) -> Any:
        first = self.default is ... and not callable(self.options)
        return next(iter(self.options)) if first else super().usual  # type: ignore[arg-type]  # not callable

    def first(self, now: State) -> T:
        option: T = (
            next(iter(resolve(self.options, now))) if self.default is ... else super().first(now)
        )
        return option

    def allowed(self, given: Any, now: State) -> T:
        given = super().allowed(given, now)
        allowed = resolve(self.options, now)
        if all(isinstance(option, int) for option in allowed):
            return one_of(self.what or self.name, given, list(allowed))  # type: ignore[return-value]  # one of those allowed
        empty = [""] if self.default == "" else []
        return known(self.what or self.name, given, [*empty, *allowed])  # type: ignore[return-value]  # one of those allowed

    def read(self, event: str, value: Any, now: State) -> Any:
        allowed = list(resolve(self.options, now))
        if allowed and all(isinstance(option, int) for option in allowed):
            return typed(self.what or self.name, value, usual=allowed[len(allowed) // 2])
        return str(value)

    def labelled(self, now: State, labels: Labels) -> dict[T, str]:
        """Return the label of every option."""
        options = resolve(self.options, now)
        if isinstance(options, Mapping):
            return dict(options)
        keys = {option: f"{self.name}_{option}" for option in options}
        return {name: labels(key) if labels.has(key) else str(name) for name, key in keys.items()}

    def value_text(self, now: State, labels: Labels) -> str:
        value = self.value(now)
        return self.labelled(now, labels).get(value, str(value))

    def controls(self, now: State, labels: Labels) -> list[Control]:
        options = self.labelled(now, labels)
        if not options:
            return []
        listed = tuple((str(value), text) for value, text in options.items())
        value, kind = str(self.value(now)), "radio" if self.few else "select"
        return [
            Control(kind, self.name, labels(self.name), value, resolve(self.place, now), listed)
        ]


@dataclass(eq=False)
class ByName(Select[Any]):
    """Setting with one of several named objects, or any other object of their type. ``check`` makes
    the object from what Python gives, or from a name; ``options`` are titles by name."""

    synced: bool | None = field(default=False, kw_only=True)

    def allowed(self, given: Any, now: State) -> Any:
        return Setting.allowed(self, given, now)

    def labelled(self, now: State, labels: Labels) -> dict[Any, str]:
        value, labels_of_parent = self.value(now), super().labelled(now, labels)
        return (
            labels_of_parent
            if value.name in labels_of_parent
            else {value.name: value.title} | labels_of_parent
        )

    def value_text(self, now: State, labels: Labels) -> str:
        return str(self.value(now).title)

    def controls(self, now: State, labels: Labels) -> list[Control]:
        name = self.value(now).name
        return [control._replace(value=name) for control in super().controls(now, labels)]


@dataclass(eq=False)
class NumberBox(Setting[int]):
    """Setting with a whole number from ``least`` to ``most``, typed into a box."""

    least: int | Callable[[State], int] = 1
    most: int | Callable[[State], int] = LARGEST
    default: Any = field(default=1, kw_only=True)

    def allowed(self, given: Any, now: State) -> int:
        least, most = self.span(now)
        return whole_number(self.what or self.name, super().allowed(given, now), least, most)

    def read(self, event: str, value: Any, now: State) -> int:
        least, _ = self.span(now)
        usual = self.default if isinstance(self.default, int) else least
        return typed(self.what or self.name, value, usual, least)

    def span(self, now: State) -> tuple[int, int]:
        """Return the smallest and the largest allowed value."""
        return resolve(self.least, now), resolve(self.most, now)

    def controls(self, now: State, labels: Labels) -> list[Control]:
        return [self._box(self.name, now, labels)]

    def _box(self, name: str, now: State, labels: Labels, beside: bool = False) -> Control:
        """Return the box that the number is typed into."""
        least, most = self.span(now)
        high = most if most < LARGEST else None
        value, place = self.value(now), resolve(self.place, now)
        key = f"{self.name}_example"
        example = labels(key) if labels.has(key) else ""
        return Control("number", name, labels(name), value, place, least=least, most=high,
                       beside=beside, placeholder=example)  # fmt: skip


@dataclass(eq=False)
class Range(NumberBox):
    """Setting with a slider from ``least`` to ``most``, and a ``box`` beside it that accepts any
    allowed number.

    Where it has ``stops``, or a function of the state that gives them, it stops at these values
    only, which grow, and another value stands between them as its logarithm does. ``at`` is where
    it stands while the value is None. ``show`` writes a value. The text
    ``<view>.control.<name>_spoken`` says the value, which it names as ``{value}``, with ``{least}``
    and ``{most}``; ``<name>_number`` is the label of the box, and ``<name>_example`` stands in it
    while the value is None.
    """

    box: bool = field(default=False, kw_only=True)
    stops: Sequence[int] | Callable[[State], Sequence[int]] = field(default=(), kw_only=True)
    at: Callable[[State], int] | None = field(default=None, kw_only=True)
    show: Callable[[int], str] = field(default="{:,}".format, kw_only=True)

    def read(self, event: str, value: Any, now: State) -> int:
        if event != self.name:
            return super().read(event, value, now)
        place = stop(self.what or self.name, value, *self.ends(now))
        stops = resolve(self.stops, now)
        return stops[place] if stops else place

    def ends(self, now: State) -> tuple[int, int]:
        """Return the ends of the slider, as values or as numbers of stops."""
        stops = resolve(self.stops, now)
        return (0, len(stops) - 1) if stops else self.span(now)

    def where(self, now: State) -> float:
        """Position of the slider; between two stops it is no whole number."""
        value, stops = self.standing(now), resolve(self.stops, now)
        return among(stops, value) if stops else value

    def standing(self, now: State) -> int:
        """Return its value, or the number that the slider shows for None."""
        value: int | None = self.value(now)
        return value if value is not None else self.at(now) if self.at else self.span(now)[0]

    def value_text(self, now: State, labels: Labels) -> str:
        least, most = map(self.show, self.span(now))
        value = self.show(self.standing(now))
        key = f"{self.name}_spoken"
        return labels(key, value=value, least=least, most=most) if labels.has(key) else value

    def controls(self, now: State, labels: Labels) -> list[Control]:
        least, most = self.ends(now)
        label = labels(self.name, most=f"{self.span(now)[1]:,}")
        slider = Control("range", self.name, label, self.where(now), resolve(self.place, now),
                         least=least, most=most, spoken=self.value_text(now, labels))  # fmt: skip
        beside = f"{self.name}_number"
        return [slider, *([self._box(beside, now, labels, True)] if self.box else [])]


@dataclass(eq=False)
class TextBox(Setting[T]):
    """Setting that is typed, as ``check`` reads it and ``show`` writes it. The text
    ``<view>.control.<name>_example`` stands in the empty field; an empty field is None where
    that is allowed."""

    show: Callable[[T], str] = field(default=str, kw_only=True)

    def read(self, event: str, value: Any, now: State) -> Any:
        text = "" if value is None else str(value)
        return None if self.optional and not text.strip() else text

    def value_text(self, now: State, labels: Labels) -> str:
        value = self.value(now)
        return "" if value is None else self.show(value)

    def controls(self, now: State, labels: Labels) -> list[Control]:
        example = labels(f"{self.name}_example") if labels.has(f"{self.name}_example") else ""
        value = self.value_text(now, labels)
        return [Control("text", self.name, labels(self.name), value, resolve(self.place, now),
                        placeholder=example)]  # fmt: skip


@dataclass(eq=False)
class TextArea(TextBox[str]):
    """Setting with a text of several lines."""

    def controls(self, now: State, labels: Labels) -> list[Control]:
        return [
            control._replace(kind="area", wide=True) for control in super().controls(now, labels)
        ]


@dataclass(eq=False)
class Checkbox(Setting[bool]):
    """Setting that is true or false, shown as a checkbox. It is shown as a select where the texts
    ``<view>.control.<name>_yes`` and ``<name>_no`` exist. ``key`` is a key that toggles it in
    the picture."""

    default: Any = field(default=False, kw_only=True)
    key: str = field(default="", kw_only=True)

    def allowed(self, given: Any, now: State) -> bool:
        return true_or_false(self.what or self.name, super().allowed(given, now))

    def read(self, event: str, value: Any, now: State) -> bool:
        return value is True or value == "yes"

    def value_text(self, now: State, labels: Labels) -> str:
        words = self._words(labels) or {"yes": labels(self.name), "no": ""}
        return words["yes" if self.value(now) else "no"]

    def controls(self, now: State, labels: Labels) -> list[Control]:
        value, label = self.value(now), labels(self.name)
        if not (words := self._words(labels)):
            return [Control("checkbox", self.name, label, value, resolve(self.place, now))]
        chosen = "yes" if value else "no"
        place, options = resolve(self.place, now), tuple(words.items())
        return [Control("select", self.name, label, chosen, place, options)]

    def _words(self, labels: Labels) -> dict[str, str]:
        """Return the names of the two values, or nothing if they have none."""
        if not labels.has(f"{self.name}_yes"):
            return {}
        return {"yes": labels(f"{self.name}_yes"), "no": labels(f"{self.name}_no")}


# -- settings of several views ---------------------------------------------------------------------


def asking(question: str) -> Setting[bool]:
    """Return the setting of a view that may ask and show no answer; it stays when others change.

    Args:
        question: the question after "whether it asks": ``"how long a text may be"``.
    """
    return Setting(
        doc=f"whether it asks {question}, and shows no answer", default=False,
        check=lambda given: true_or_false("asked", given), stays=True, linked=False,
    )  # fmt: skip


def frame_height(of: str, usual: int, least: int, most: int) -> Setting[int]:
    """Return the setting of the height of a frame, in pixels.

    Args:
        of: what has the frame, and what else is to be known: ``"the chart's frame"``.
        usual: the height where none is given.
        least: the lowest frame in which everything can be read.
        most: the highest frame.
    """
    return Setting(
        doc=f"height in pixels of {of}", default=usual, fixed=True, code="never",
        check=lambda given: whole_number("height (pixels)", given, least=least, most=most),
    )  # fmt: skip


# -- a state in the making -------------------------------------------------------------------------


class Draft(State):
    """State under construction. A setting that depends on another one causes that one to be
    computed first."""

    __slots__ = ("_given", "_settings")

    def __init__(
        self,
        settings: Mapping[str, Setting[Any]],
        kept: Mapping[str, Any],
        given: Mapping[str, Any],
    ) -> None:
        super().__init__(kept)
        object.__setattr__(self, "_settings", settings)
        object.__setattr__(self, "_given", given)

    def __getattr__(self, name: str) -> Any:
        if name not in self._settings:
            return super().__getattr__(name)
        setting = self._settings[name]
        given = name in self._given
        value = setting.checked(self._given[name], self) if given else setting.first(self)
        return vars(self).setdefault(name, value)

    def state(self) -> State:
        """Return the state, once every value is known."""
        return State({name: getattr(self, name) for name in self._settings})


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
