"""Links to a view: its settings as the query of a link, and back.

    batch=64&network=resnet50&recompute=every&k=4

A query names what the line of Python names, and leaves out the same defaults. What a view was made
with and nobody changes there, such as the networks that it offers, is never in a link: that belongs
to the place where the view stands.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Protocol

from memlab.errors import InputError, shorten, unknown
from memlab.pictures.live.setting import Setting, State, same
from memlab.strings import gettext as _

LONGEST = 20_000
"""Characters of a query that is read."""
MOST = 100
"""Settings of a query; no view has so many."""
AXES = "room"
"""The setting of views whose axes stay; a link names it where a new view has other axes."""


class Linked(Protocol):
    """View as links see it: its settings, the state that it shows, and the one it began with."""

    settings: ClassVar[dict[str, Setting[Any]]]
    state: State
    _start: State

    def _made(self, kept: Mapping[str, Any], given: Mapping[str, Any]) -> State: ...
    def _renew(self, state: State) -> None: ...
    def rows_of(self, now: State) -> Any: ...


# -- from a view to a query ------------------------------------------------------------------------


def query_of(view: Linked) -> str:
    """Return the settings of a view as the query of a link.

    >>> import memlab
    >>> from memlab.pictures.live import link
    >>> link.query_of(memlab.views.length("gpt2", length=512))
    'network=gpt2&batch=8&length=512'
    """
    from urllib.parse import quote, urlencode  # late: few views are linked to

    values = _values(view, view.state)
    if AXES in view.settings:
        values |= _axes(view, values)
    pairs = [(_name(view, name), _text(value)) for name, value in values.items()]
    return urlencode(pairs, quote_via=quote, safe=",")


def _values(view: Linked, now: State) -> dict[str, Any]:
    """Return the plain values of the settings that a link names, by name; those that the line of
    Python writes without a name come first."""
    ordered = sorted(view.settings.values(), key=lambda setting: setting.code != "plain")
    named = (setting for setting in ordered if _is_linked(setting))
    return {setting.name: value for setting in named for value in _plain(setting, now)}


def _is_linked(setting: Setting[Any]) -> bool:
    """True if links name a setting: one that can be changed where the view stands."""
    return setting.settable and setting.linked and setting.name != AXES


def _plain(setting: Setting[Any], now: State) -> Iterator[Any]:
    """Yield the value of a setting as Python would give it; nothing where a new view has that value
    too, or where no text stands for it, as for a network of one's own."""
    written = setting.as_code(now)
    if not (written or setting.argument or setting.put or setting.code != "changed"):
        written = _changed(setting, now)
    try:
        given = ast.literal_eval(written.removeprefix(f"{setting.name}="))
        setting.checked(given, now)
    except (ValueError, SyntaxError):  # InputError is a ValueError
        return
    yield given


def _changed(setting: Setting[Any], now: State) -> str:
    """Return a value that has no argument, in Python; empty for its default."""
    value = setting.value(now)
    return "" if same(value, setting.first(now)) else setting.write(value)


def _axes(view: Linked, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ends of the axes, where a new view would have others."""
    own = getattr(view.state, AXES)
    return {} if getattr(_state(view, values), AXES) == own else {AXES: list(own)}


def _name(view: Linked, name: str) -> str:
    """Return the name of a setting in a link, or the setting of such a name: ``what`` is called
    ``network`` where that chooses it."""
    pair = ("what", "network")
    chosen = view.settings.get("network")
    if chosen is None or chosen.put is None or name not in pair:
        return name
    return pair[1 - pair.index(name)]


def _text(value: Any) -> str:
    """Return a value as text: a word stands for itself, anything else is JSON."""
    if isinstance(value, str) and value and _value(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# -- from a query to a view ------------------------------------------------------------------------


def follow(view: Linked, query: str) -> list[str]:
    """Show what a query says in a view. Return a sentence for each setting that is unknown or
    refused; the others are kept.

    Raises:
        InputError: the query is too long for one of a link, or names too much.
    """
    from urllib.parse import parse_qsl  # late: few views are linked to

    if len(query) > LONGEST:
        raise InputError(_("a link has at most {most} characters, got {given}.",
                           most=f"{LONGEST:,}", given=f"{len(query):,}"))  # fmt: skip
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=MOST)
    except ValueError:
        raise InputError(_("a link names at most {most} settings.", most=MOST)) from None
    values = {_name(view, name): _value(text) for name, text in pairs}
    refused = [str(unknown("setting", _name(view, name), _names(view)))
               for name in values if name not in _names(view)]  # fmt: skip
    known = {name: value for name, value in values.items() if name in _names(view)}
    state, sentences = _allowed(view, known)
    view._renew(state)
    return [*refused, *sentences]


def _names(view: Linked) -> list[str]:
    """Return the names of the settings that a link may name."""
    names = [name for name, setting in view.settings.items() if _is_linked(setting)]
    return [*names, *([AXES] if AXES in view.settings else [])]


def _allowed(view: Linked, values: Mapping[str, Any]) -> tuple[State, list[str]]:
    """Return the state with all values that are allowed together, and a sentence for each of the
    others."""
    try:
        return _state(view, values), []
    except InputError:
        pass
    state, taken, waiting = _state(view, {}), dict[str, Any](), dict(values)
    sentences: dict[str, str] = {}
    while waiting:  # one may need another, whatever their order
        before = len(waiting)
        for name in list(waiting):
            try:
                state = _state(view, {**taken, name: waiting[name]})
                taken[name] = waiting.pop(name)
            except InputError as error:
                sentences[name] = str(error)
        if len(waiting) == before:
            break
    return state, [sentences[name] for name in waiting]


def _state(view: Linked, values: Mapping[str, Any]) -> State:
    """Return the state that a link with these values shows where the view stands.

    Raises:
        InputError: a value that is not allowed.
    """
    given = {name: value for name, value in values.items() if name != AXES}
    state = view._made(_kept(view), given)
    if AXES in values:
        ends = _ends(values[AXES], len(getattr(state, AXES)))
        state = state.replace(**{AXES: ends})
    view.rows_of(state)  # what cannot be shown is refused here
    return state


def _kept(view: Linked) -> dict[str, Any]:
    """Return the values that are those of the view that stands there, whatever a link says: what is
    fixed, what no link names, and what no text stands for."""
    start, now = view._start, view.state
    return {name: getattr(start if setting.fixed or _is_linked(setting) else now, name)
            for name, setting in view.settings.items() if setting.put is None
            if setting.fixed or (setting.stays and not _is_linked(setting))
            or (_is_linked(setting) and _is_nameless(setting, start))}  # fmt: skip


def _is_nameless(setting: Setting[Any], start: State) -> bool:
    """True if the value that a view was made with has no text."""
    return bool(setting.as_code(start)) and not list(_plain(setting, start))


def _ends(given: Any, count: int) -> tuple[int, ...]:
    """Return the ends of axes.

    Raises:
        InputError: they are none of so many axes.
    """
    whole = isinstance(given, list) and all(type(end) is int and end >= 0 for end in given)
    if not (whole and len(given) == count and any(given)):
        raise InputError(_("the axes of this view have {count} ends, got {given}; leave room out.",
                           count=count, given=shorten(given)))  # fmt: skip
    return tuple(given)


def _value(text: str) -> Any:
    """Return the value of a text: a number, a truth value, a list or names with values are JSON,
    anything else is a word."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if not isinstance(value, float) or abs(value) < float("inf") else text
