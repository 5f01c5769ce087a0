"""Stand-in for ipywidgets in a page: the boxes, texts, outputs and plain controls that people use
beside memlab's views. Anything else says so in one sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

import traitlets
from traitlets import dlink, link

from web.runtime.notebook import error_output
from web.runtime.shell import display, shell
from web.runtime.widgets import REFERENCE, DOMWidget, Widget

jslink, jsdlink = link, dlink
"""In a page Python is as near as the browser: both kinds of links are one."""

# -- boxes and texts -------------------------------------------------------------------------------


class Box(DOMWidget):
    """Widgets one after the other."""

    shape = "box"
    children: Any = traitlets.Tuple().tag(**REFERENCE)

    def __init__(self, children: Sequence[Widget] = (), **kwargs: Any) -> None:
        super().__init__(children=tuple(children), **kwargs)


class VBox(Box):
    """Widgets one below the other."""


class HBox(Box):
    """Widgets side by side."""

    shape = "row"


class HTML(DOMWidget):
    """Text in HTML."""

    shape = "html"
    value: Any = traitlets.Unicode().tag(sync=True)
    description: Any = traitlets.Unicode().tag(sync=True)

    def __init__(self, value: str = "", **kwargs: Any) -> None:
        super().__init__(value=value, **kwargs)


class Label(HTML):
    """Plain text."""

    shape = "label"


class Output(DOMWidget):
    """Place for outputs: ``with place:`` shows there what its block prints and displays."""

    shape = "outputs"
    outputs: Any = traitlets.Tuple().tag(sync=True)

    def __enter__(self) -> Output:
        self._block = shell.capturing(self._take)
        self._block.__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self._block.__exit__(None, None, None)
        if error is not None:
            self._take(error_output(error))
        return True

    def _take(self, output: dict[str, Any]) -> None:
        before, last = self.outputs[:-1], self.outputs[-1] if self.outputs else {}
        if output["output_type"] == "stream" and last.get("name") == output["name"]:
            self.outputs = (*before, {**output, "text": last["text"] + output["text"]})
        else:
            self.outputs = (*self.outputs, output)

    def clear_output(self, *args: Any, **kwargs: Any) -> None:
        """Remove the outputs."""
        self.outputs = ()

    def append_stdout(self, text: str) -> None:
        """Add printed text."""
        self._take({"output_type": "stream", "name": "stdout", "text": text})

    def append_stderr(self, text: str) -> None:
        """Add text of an error stream."""
        self._take({"output_type": "stream", "name": "stderr", "text": text})

    def append_display_data(self, value: Any) -> None:
        """Add a value as it is displayed."""
        with self:
            display(value)

    def capture(
        self, clear_output: bool = False, **more: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that shows the outputs of a function in this place."""

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            @wraps(function)
            def captured(*args: Any, **kwargs: Any) -> Any:
                if clear_output:
                    self.clear_output()
                with self:
                    return function(*args, **kwargs)

            return captured

        return decorate


# -- controls --------------------------------------------------------------------------------------


class Control(DOMWidget):
    """Labelled control of the browser; ``kind`` is that of its element."""

    shape = "control"
    kind: Any = traitlets.Unicode("text").tag(sync=True)
    description: Any = traitlets.Unicode().tag(sync=True)
    disabled: Any = traitlets.Bool(False).tag(sync=True)


class IntSlider(Control):
    """Slider over whole numbers."""

    kind: Any = traitlets.Unicode("range").tag(sync=True)
    value: Any = traitlets.CInt(0).tag(sync=True)
    min: Any = traitlets.CInt(0).tag(sync=True)
    max: Any = traitlets.CInt(100).tag(sync=True)
    step: Any = traitlets.CInt(1).tag(sync=True)


class FloatSlider(Control):
    """Slider over numbers."""

    kind: Any = traitlets.Unicode("range").tag(sync=True)
    value: Any = traitlets.CFloat(0.0).tag(sync=True)
    min: Any = traitlets.CFloat(0.0).tag(sync=True)
    max: Any = traitlets.CFloat(10.0).tag(sync=True)
    step: Any = traitlets.CFloat(0.1).tag(sync=True)


class IntText(Control):
    """Box for a whole number."""

    kind: Any = traitlets.Unicode("number").tag(sync=True)
    value: Any = traitlets.CInt(0).tag(sync=True)


class FloatText(Control):
    """Box for a number."""

    kind: Any = traitlets.Unicode("number").tag(sync=True)
    value: Any = traitlets.CFloat(0.0).tag(sync=True)


class Text(Control):
    """Box for a text."""

    value: Any = traitlets.Unicode("").tag(sync=True)
    placeholder: Any = traitlets.Unicode("").tag(sync=True)


class Checkbox(Control):
    """Box that is checked or not."""

    kind: Any = traitlets.Unicode("checkbox").tag(sync=True)
    value: Any = traitlets.CBool(False).tag(sync=True)


class Dropdown(Control):
    """Choice among options: values, or pairs of a label and a value."""

    kind: Any = traitlets.Unicode("select").tag(sync=True)
    labels: Any = traitlets.Tuple().tag(sync=True)
    index: Any = traitlets.Int(0).tag(sync=True)
    value: Any = traitlets.Any()

    def __init__(self, options: Any = (), value: Any = None, **kwargs: Any) -> None:
        pairs = list(options.items()) if isinstance(options, dict) else list(options)
        pairs = [pair if isinstance(pair, tuple) else (str(pair), pair) for pair in pairs]
        self._values = [chosen for _, chosen in pairs]
        index = self._values.index(value) if value in self._values else 0
        first = self._values[index] if pairs else None
        labels = tuple(label for label, _ in pairs)
        super().__init__(labels=labels, index=index, value=first, **kwargs)

    @traitlets.observe("index")
    def _chosen(self, change: Any) -> None:
        self.value = self._values[change["new"]]

    @traitlets.observe("value")
    def _given_value(self, change: Any) -> None:
        if change["new"] in self._values:
            self.index = self._values.index(change["new"])


class Button(Control):
    """Button; ``on_click`` names functions that it calls."""

    kind: Any = traitlets.Unicode("button").tag(sync=True)
    _clicked: Sequence[Callable[[Button], object]] = ()

    def on_click(self, function: Callable[[Button], object], remove: bool = False) -> None:
        """Call a function with the button when it is pressed."""
        chosen = [each for each in self._clicked if each != function]
        self._clicked = chosen if remove else [*chosen, function]

    def receive(self, message: Any) -> None:
        super().receive(message)
        for function in self._clicked if message["method"] == "custom" else ():
            function(self)


# -- functions of controls -------------------------------------------------------------------------


def control_for(value: Any) -> Widget:
    """Return the control of a value: a slider for a number or a pair of ends, a list of options, a
    box for a text."""
    if isinstance(value, Widget):
        return value
    if isinstance(value, bool):
        return Checkbox(value=value)
    if isinstance(value, str):
        return Text(value=value)
    if isinstance(value, int | float):
        ends = sorted((0 * value, 3 * value)) if value else [0, 1]
        kind = IntSlider if isinstance(value, int) else FloatSlider
        return kind(value=value, min=ends[0], max=ends[1])
    if isinstance(value, tuple) and all(isinstance(end, int | float) for end in value):
        kind = IntSlider if all(isinstance(end, int) for end in value) else FloatSlider
        return kind(value=value[0], **dict(zip(("min", "max", "step"), value, strict=False)))
    return Dropdown(value)


class interactive(VBox):  # noqa: N801  # its name in ipywidgets
    """Controls for the arguments of a function, above its outputs, which follow them."""

    def __init__(self, function: Callable[..., Any], **arguments: Any) -> None:
        self.kwargs_widgets = {
            name: control_for(value) for name, value in _all(function, arguments)
        }
        for name, control in self.kwargs_widgets.items():
            if isinstance(control, Control) and not control.description:
                control.description = name
        self.out = interactive_output(function, self.kwargs_widgets)
        super().__init__([*self.kwargs_widgets.values(), self.out])


def _all(function: Callable[..., Any], given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of a function with the values that their controls begin with."""
    for name, parameter in inspect.signature(function).parameters.items():
        if name in given:
            yield name, given[name]
        elif parameter.default is not parameter.empty:
            yield name, parameter.default


def interactive_output(function: Callable[..., Any], controls: dict[str, Any]) -> Output:
    """Return a place that shows the outputs of a function, again whenever a control changes."""
    place = Output()

    def show(change: object = None) -> None:
        place.clear_output()
        with place:
            result = function(**{name: control.value for name, control in controls.items()})
            if result is not None:
                display(result)

    for control in controls.values():
        control.observe(show, "value")
    show()
    return place


def interact(function: Callable[..., Any] | None = None, **arguments: Any) -> Any:
    """Show controls for the arguments of a function with its outputs; return the function. Without
    one, return a decorator."""
    if function is None:
        return lambda decorated: interact(decorated, **arguments)
    display(interactive(function, **arguments))
    return function


class Layout:
    """Settings of a layout, which a page leaves to its style sheet."""

    def __init__(self, **kwargs: Any) -> None:
        vars(self).update(kwargs)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(
        f"ipywidgets.{name} is not there in a web page; open this lesson in JupyterLab to use it."
    )
