"""Widgets of a page: traits on both sides, and messages between them.

A widget is a set of traits; those with ``sync=True`` are known to the page. What Python sets is
sent, what the page sets arrives in ``set_state``, and ``send`` and ``on_msg`` carry everything
else. ``anywidget`` and ``ipywidgets`` of a page take their classes from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from secrets import token_hex
from typing import Any, ClassVar

import traitlets

from web.runtime.outbox import post

VIEW = "application/vnd.jupyter.widget-view+json"
"""Media type of a widget in an output."""
Callback = Callable[[Any, Any, Any], object]
State = dict[str, Any]
instances: dict[str, Widget] = {}
"""Open widgets, by their ids."""


class Widget(traitlets.HasTraits):
    """Widget of a page. ``shape`` tells the page how it is drawn."""

    shape: ClassVar[str] = "any"
    _page_open = False
    _page_held: set[str] | None = None
    _page_given: Mapping[str, Any] = {}

    def __init__(self, **kwargs: Any) -> None:
        self._model_id = token_hex(8)
        self._page_handlers: list[Callback] = []
        super().__init__(**kwargs)
        self.open()

    # -- its life ---------------------------------------------------------------------------------

    @property
    def model_id(self) -> str:
        """Name of the widget in messages."""
        return self._model_id

    @property
    def keys(self) -> list[str]:
        """Names of the traits that the page knows."""
        return list(self.traits(sync=True))

    def open(self) -> None:
        """Tell the page that there is a widget, with its state."""
        if not self._page_open:
            self._page_open = True
            instances[self.model_id] = self
            post("open", model=self.model_id, shape=self.shape, state=self.get_state())

    def close(self) -> None:
        """Remove the widget from the page."""
        if self._page_open:
            self._page_open = False
            del instances[self.model_id]
            post("close", model=self.model_id)

    def get_view_spec(self) -> dict[str, Any]:
        """Return what an output holds to show this widget."""
        return {"version_major": 2, "version_minor": 0, "model_id": self.model_id}

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        return {"text/plain": repr(self), VIEW: self.get_view_spec()}, {}

    def __repr__(self) -> str:
        return object.__repr__(self)

    # -- its state --------------------------------------------------------------------------------

    def get_state(
        self, key: str | Iterable[str] | None = None, drop_defaults: bool = False
    ) -> State:
        """Return the values of the traits that the page knows, or of those that are named."""
        names = self.keys if key is None else [key] if isinstance(key, str) else list(key)
        return {name: self._page_json(name) for name in names}

    def send_state(self, key: str | Iterable[str] | None = None) -> None:
        """Send the values of all traits, or of those that are named."""
        state = self.get_state(key)
        if self._page_open and state:
            post("update", model=self.model_id, state=state)

    def set_state(self, sync_data: State) -> None:
        """Apply values that the page has set; a value is not sent back where it is taken as it
        came."""
        self._page_given = dict(sync_data)
        try:
            with self.hold_trait_notifications():
                for name in self.keys:
                    if name in sync_data:
                        read = self.trait_metadata(name, "from_json", _same)
                        self.set_trait(name, read(sync_data[name], self))
        finally:
            self._page_given = {}

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        """Send what a ``with`` block changes as one message at its end."""
        if self._page_held is not None:
            yield
            return
        self._page_held = set()
        try:
            yield
        finally:
            held, self._page_held = self._page_held, None
            self.send_state(sorted(held))

    def notify_change(self, change: Any) -> None:
        """Send a trait that has changed, then call its observers."""
        name = change["name"]
        if self._page_open and self.trait_metadata(name, "sync") and not self._page_sent(name):
            if self._page_held is None:
                self.send_state(name)
            else:
                self._page_held.add(name)
        super().notify_change(change)

    def add_traits(self, **traits: Any) -> None:
        """Add traits to this widget alone."""
        super().add_traits(**traits)
        self.send_state([name for name, trait in traits.items() if trait.metadata.get("sync")])

    def _page_json(self, name: str) -> Any:
        return self.trait_metadata(name, "to_json", _same)(getattr(self, name), self)

    def _page_sent(self, name: str) -> bool:
        """True if the page has just sent the value that a trait has now."""
        return name in self._page_given and bool(self._page_given[name] == self._page_json(name))

    # -- messages ---------------------------------------------------------------------------------

    def send(self, content: Any, buffers: Any = None) -> None:
        """Send a message to the page's side of the widget."""
        post("custom", model=self.model_id, content=content)

    def on_msg(self, callback: Callback, remove: bool = False) -> None:
        """Call a function for each message of the page, or stop calling it."""
        if remove:
            self._page_handlers = [each for each in self._page_handlers if each != callback]
        elif callback not in self._page_handlers:
            self._page_handlers.append(callback)

    def receive(self, message: Mapping[str, Any]) -> None:
        """Take what the page's side has sent: new values, or a message."""
        if message["method"] == "update":
            self.set_state(message["state"])
            return
        for handler in tuple(self._page_handlers):
            handler(self, message["content"], [])


def _same(value: Any, widget: object) -> Any:
    return value


def _model_id(value: Any, widget: object) -> Any:
    """Return the ids of widgets in a trait."""
    if isinstance(value, Widget):
        return value.model_id
    return [_model_id(each, widget) for each in value] if isinstance(value, list | tuple) else value


REFERENCE = {"sync": True, "to_json": _model_id}
"""Metadata of a trait that holds other widgets."""


class DOMWidget(Widget):
    """Widget with classes of CSS and a tooltip."""

    _dom_classes: Any = traitlets.Tuple().tag(sync=True)
    tooltip: Any = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    layout: Any = traitlets.Any(None, allow_none=True).tag(sync=True)

    def add_class(self, className: str) -> DOMWidget:
        """Add a class of CSS; return the widget."""
        if className not in self._dom_classes:
            self._dom_classes = (*self._dom_classes, className)
        return self

    def remove_class(self, className: str) -> DOMWidget:
        """Remove a class of CSS; return the widget."""
        self._dom_classes = tuple(name for name in self._dom_classes if name != className)
        return self


def receive(model: str, message: Mapping[str, Any]) -> None:
    """Give a widget what its page has sent. Messages to one that is closed are ignored."""
    if model in instances:
        instances[model].receive(message)
