"""The names by which views that keep a state of their own find the widget and its parts."""

from memlab.views.live.control import Control, stop, typed, width
from memlab.views.live.widget import Line, Picture, Widget
from memlab.views.live.widget import events as _events


class View(Widget):
    """A view with controls, a picture and actions of its own."""

    def code(self) -> str:
        """The line of Python that makes this view again."""
        return self.draw(stored=True).code


__all__ = ["Control", "Line", "Picture", "View", "_events", "stop", "typed", "width"]
