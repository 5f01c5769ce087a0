"""Functions that show values."""

from web.runtime.shell import (
    HTML,
    SVG,
    DisplayHandle,
    Image,
    Markdown,
    clear_output,
    display,
    publish_display_data,
    update_display,
)

__all__ = [
    "HTML",
    "SVG",
    "DisplayHandle",
    "Image",
    "Markdown",
    "clear_output",
    "display",
    "publish_display_data",
    "update_display",
]
