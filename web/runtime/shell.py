"""The shell of a page: it shows values as a notebook does, and stands where IPython's would.

What is shown goes to the page as outputs of the cell that runs, in the form that a notebook file
has. ``IPython`` of a page takes its functions from here.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pprint import pformat
from secrets import token_hex
from typing import Any

from web.runtime.outbox import post
from web.runtime.widgets import VIEW, Widget

Data = dict[str, Any]
Bundle = tuple[Data, Data]
"""Representations of a value by media type, and what is said of each."""
PICTURE = "image/svg+xml"
METHODS = {
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    PICTURE: "_repr_svg_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "text/latex": "_repr_latex_",
    "application/json": "_repr_json_",
}
CONTAINERS = (dict, list, set, tuple)
WIDE = 79
"""Characters of a line in which a container is printed."""


# -- the kinds of values ---------------------------------------------------------------------------


class ByType:
    """Functions by class, for classes that are named before they are imported too."""

    def __init__(self) -> None:
        self._functions: dict[object, Callable[[Any], Any]] = {}

    def for_type(self, kind: type, function: Callable[[Any], Any]) -> None:
        """Show values of a class by a function."""
        self._functions[kind] = function

    def for_type_by_name(self, module: str, name: str, function: Callable[[Any], Any]) -> None:
        """Show values of a class by a function, whether or not it is imported yet."""
        self._functions[module, name] = function

    def of(self, value: object) -> Callable[[Any], Any] | None:
        """Return the function for a value, or None."""
        for kind in type(value).__mro__:
            for key in (kind, (kind.__module__, kind.__name__)):
                if key in self._functions:
                    return self._functions[key]
        return None


class DisplayFormatter:
    """Representations of values. A widget is shown as itself: what a page without Python would need
    is not made."""

    def __init__(self) -> None:
        self.active_types = ["text/plain", *METHODS]
        self.mimebundle_formatter, self.ipython_display_formatter = ByType(), ByType()
        self.formatters = {kind: ByType() for kind in self.active_types}

    def format(self, value: Any) -> Bundle:
        """Return the representations of a value; none where the value shows itself."""
        if isinstance(value, Widget):
            return {VIEW: value.get_view_spec(), "text/plain": ""}, {}
        if show := self.ipython_display_formatter.of(value) or _method(value, "_ipython_display_"):
            show(value)
            return {}, {}
        data, metadata = self._bundle(value)
        for kind, method in METHODS.items():
            make = self.formatters[kind].of(value) or _method(value, method)
            if kind not in data and make and (made := make(value)) is not None:
                data[kind], more = made if isinstance(made, tuple) else (made, {})
                metadata |= {kind: more} if more else {}
        data.setdefault("text/plain", _plain(value))
        return {kind: _text(part) for kind, part in data.items()}, metadata

    def _bundle(self, value: Any) -> Bundle:
        make = self.mimebundle_formatter.of(value) or _method(value, "_repr_mimebundle_")
        made = make(value) if make else None
        data, metadata = made if isinstance(made, tuple) else (made or {}, {})
        return _fitted(value, dict(data)), dict(metadata)


def _fitted(value: Any, data: Data) -> Data:
    """Return representations in which a picture without controls is drawn as wide as the page has
    room for, where that is less than its own width."""
    room = int(os.environ.get("MEMLAB_ROOM", 0))
    drawn = sys.modules.get("memlab.pictures.draw.page")
    if not room or drawn is None or PICTURE not in data or not isinstance(value, drawn.Still):
        return data
    page = value.page()
    if room >= page.width:
        return data
    from memlab.pictures.draw.svg import NARROWEST

    narrow = replace(page, width=max(room, NARROWEST))
    return data | {PICTURE: narrow.alone(standalone=False)}


def _method(value: Any, name: str) -> Callable[[Any], Any] | None:
    """Return a function that calls a method of a value; a class itself has none."""
    has = not isinstance(value, type) and callable(getattr(value, name, None))
    return (lambda value: getattr(value, name)()) if has else None


def _plain(value: Any) -> str:
    is_plain = type(value) in CONTAINERS
    return pformat(value, width=WIDE, compact=True, sort_dicts=False) if is_plain else repr(value)


def _text(part: Any) -> Any:
    return base64.b64encode(part).decode() if isinstance(part, bytes) else part


# -- outputs ---------------------------------------------------------------------------------------


class DisplayPublisher:
    """Way of outputs to the page."""

    def publish(
        self,
        data: Data,
        metadata: Data | None = None,
        source: str = "",
        *,
        transient: Mapping[str, Any] | None = None,
        update: bool = False,
        **more: Any,
    ) -> None:
        """Show representations; with ``update``, in place of those with the same ``display_id``."""
        shell.flush()
        output = {"output_type": "display_data", "data": data, "metadata": metadata or {}}
        place = (transient or {}).get("display_id")
        shell.show(output, display_id=place, update=update)

    def clear_output(self, wait: bool = False) -> None:
        """Remove the outputs so far; with ``wait``, when the next one comes."""
        shell.flush()
        shell.clear(wait)


class CapturingDisplayPublisher(DisplayPublisher):
    """Publisher that keeps what is shown, in ``outputs``."""

    def __init__(self) -> None:
        self.outputs: list[Data] = []

    def publish(
        self, data: Data, metadata: Data | None = None, source: str = "", **more: Any
    ) -> None:
        """Keep representations."""
        self.outputs.append({"data": data, "metadata": metadata or {}, **more})

    def clear_output(self, wait: bool = False) -> None:
        """Forget what was kept."""
        self.outputs.clear()


class Shell:
    """Shell of a page, which ``get_ipython()`` returns."""

    def __init__(self) -> None:
        self.display_formatter = DisplayFormatter()
        self.display_pub: DisplayPublisher = DisplayPublisher()
        self.user_ns: dict[str, Any] = {}
        self.execution_count = 0
        self.cell = ""
        self.flush: Callable[[], object] = lambda: None
        """Sends what was printed before; a session sets it."""
        self._captures: list[Callable[[Data], object]] = []

    def get_parent(self) -> Data:
        """Return the message that runs the current cell, with the name of the cell."""
        return {"metadata": {"cellId": self.cell}}

    def show(self, output: Data, display_id: str | None = None, update: bool = False) -> None:
        """Show an output of the cell that runs, or where a ``with`` block captures it."""
        if self._captures and not update:
            self._captures[-1](output)
        else:
            post("output", cell=self.cell, output=output, display_id=display_id, update=update)

    def clear(self, wait: bool) -> None:
        """Remove the outputs of the cell that runs."""
        post("clear", cell=self.cell, wait=wait)

    @contextmanager
    def capturing(self, take: Callable[[Data], object]) -> Iterator[None]:
        """Give the outputs of a ``with`` block to a function."""
        self.flush()
        self._captures.append(take)
        try:
            yield
        finally:
            self.flush()
            self._captures.pop()

    def run_line_magic(self, name: str, line: str = "", **more: Any) -> None:
        """Refuse a magic command.

        Raises:
            NotImplementedError: always; a page has none.
        """
        raise NotImplementedError(NO_MAGIC.format(given=f"%{name}"))

    run_cell_magic = run_line_magic


NO_MAGIC = "{given} is a command of IPython, which a web page does not have; use plain Python here."

shell = Shell()


def get_ipython() -> Shell:
    """Return the shell of the page."""
    return shell


# -- showing ---------------------------------------------------------------------------------------


class DisplayHandle:
    """An output that can be changed later."""

    def __init__(self, display_id: str | None = None) -> None:
        self.display_id = display_id or token_hex(8)

    def display(self, value: Any, **more: Any) -> None:
        """Show a value as another output of this name."""
        display(value, display_id=self.display_id, **more)

    def update(self, value: Any, **more: Any) -> None:
        """Show a value in place of what was shown."""
        display(value, display_id=self.display_id, update=True, **more)


def display(
    *values: Any,
    metadata: Data | None = None,
    transient: Data | None = None,
    display_id: str | bool | None = None,
    raw: bool = False,
    clear: bool = False,
    update: bool = False,
    **more: Any,
) -> DisplayHandle | None:
    """Show values, as a notebook does; with ``raw`` they are representations by media type. Return
    a handle where a ``display_id`` is asked for."""
    if clear:
        shell.display_pub.clear_output(wait=True)
    handle = DisplayHandle(display_id if isinstance(display_id, str) else None)
    place = {**(transient or {}), **({"display_id": handle.display_id} if display_id else {})}
    for value in values:
        data, about = (value, {}) if raw else shell.display_formatter.format(value)
        if data:
            about = {**about, **(metadata or {})}
            shell.display_pub.publish(data, about, transient=place, update=update)
    return handle if display_id else None


def publish_display_data(
    data: Data, metadata: Data | None = None, *, transient: Data | None = None, **more: Any
) -> None:
    """Show representations of a value by media type."""
    shell.display_pub.publish(data, metadata, transient=transient or {}, **more)


def update_display(value: Any, *, display_id: str, **more: Any) -> None:
    """Show a value in place of what was shown with a ``display_id``."""
    display(value, display_id=display_id, update=True, **more)


def clear_output(wait: bool = False) -> None:
    """Remove the outputs of the cell that runs; with ``wait``, when the next one comes."""
    shell.display_pub.clear_output(wait)


class Shown:
    """A text of one media type, which is shown as that."""

    kind = "text/plain"

    def __init__(self, data: Any = None, url: str | None = None, filename: str | None = None,
                 **more: Any) -> None:  # fmt: skip
        if filename is not None:
            with open(filename, "rb") as file:
                data = file.read()
        self.data = data.decode() if isinstance(data, bytes) and self.kind != "image/png" else data

    def _repr_mimebundle_(self) -> Data:
        return {self.kind: self.data, "text/plain": f"<{type(self).__name__}>"}


class HTML(Shown):
    """HTML to be shown."""

    kind = "text/html"


class Markdown(Shown):
    """Markdown to be shown; a page shows its text."""

    kind = "text/markdown"


class SVG(Shown):
    """Picture in SVG."""

    kind = "image/svg+xml"


class Image(Shown):
    """Picture in PNG."""

    kind = "image/png"
