"""The playground: one view of any network, whose link an instructor puts on a slide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from memlab import views
from memlab.pictures.live import link
from memlab.pictures.memory.playground import WRITTEN
from web.site.frame import SitePage
from web.site.notebook import code_block, picture

PLACE = "playground.html"
TITLE = "Any network, any technique: where does the memory go?"
ABOUT = (
    "Choose a network or write one, switch techniques on and off, and move the batch. "
    "The picture is the plan of one training step, to the byte."
)
CODE = "import memlab\n\nmemlab.views.playground(free=False)"
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "a network written by hand": {"network": WRITTEN},
    "VGG-16 with Adam": {"network": "vgg16", "batch": 8, "optimizer": "adam"},
    "ResNet-50 in mixed precision": {"format": "mixed fp16", "batch": 64},
    "ResNet-50, made again in segments": {"recompute": "every", "batch": 64, "in_place": True},
    "GPT-2 with the maps in host memory": {"network": "gpt2", "batch": 8, "offload": "all"},
}
"""Names of links, and the settings that each restores."""


def page() -> SitePage:
    """Return the page."""
    view = views.playground(free=False)
    return SitePage(
        place=PLACE,
        title=f"Playground – {TITLE} – memlab",
        about=ABOUT,
        body=f"{_text()}{_cell(picture(view.svg(), view.text()))}{_links()}",
        lesson="playground",
        live=True,
        kind="playground",
        styles=("playground.css",),
    )


def _text() -> str:
    return f'<h1>{TITLE}</h1>\n<p class="lead">{ABOUT}</p>\n'


def _links() -> str:
    """Return the examples, below the picture."""
    rows = "".join(f'<li><a href="#{address}">{escape(name)}</a></li>'
                   for name, address in examples())  # fmt: skip
    return (
        "<h2>For a slide or an exercise</h2>\n<p><b>Copy link</b> gives an address that opens "
        "exactly this picture, the network that you wrote included. Some to begin with:</p>\n"
        f"<ul>{rows}</ul>\n"
    )


def examples() -> Iterator[tuple[str, str]]:
    """Yield the name and the address of each example."""
    for name, settings in EXAMPLES.items():
        view = views.playground()
        for setting in sorted(settings, key=lambda setting: setting != "network"):
            setattr(view, setting, settings[setting])
        yield name, escape(f"{view.made_by}?{link.query_of(view)}")


def _cell(stored: str) -> str:
    """Return the cell: its picture first, for the code is the same for everybody."""
    return (
        f'<section class="cell" data-cell="playground-01">\n<div class="output">{stored}</div>\n'
        f'<details class="code"><summary>In a notebook</summary>{code_block(CODE)}</details>\n'
        "</section>\n"
    )
