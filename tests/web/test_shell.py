"""Values as the shell of a page shows them."""

import json
import re

import numpy as np

from memlab import views
from memlab.pictures.draw.svg import NARROWEST
from web.runtime import notebook
from web.runtime.outbox import Outbox
from web.runtime.shell import DisplayFormatter, shell

PICTURE = "image/svg+xml"


def wide(value):
    """The width of what a page is sent."""
    data, _ = DisplayFormatter().format(value)
    found = re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+)', data[PICTURE])
    assert found is not None
    return float(found[1])


def test_a_picture_without_controls_is_as_wide_as_the_page_has_room(monkeypatch):
    totals = views.totals("vgg16", 1)
    stored = wide(totals)
    for room, drawn in ((1000, stored), (500, 500), (300, NARROWEST)):
        monkeypatch.setenv("MEMLAB_ROOM", str(room))
        assert wide(totals) == drawn


def test_a_number_that_is_not_finite_reaches_the_page_as_null():
    told, outbox = list[str](), Outbox()
    outbox.deliver = told.append
    outbox.post("update", state={"value": float("nan"), "rest": np.array([1.5, np.inf])})
    outbox.post("update", state={"value": 2})
    assert [json.loads(text, parse_constant=str)["state"] for text in told] == [
        {"value": None, "rest": [1.5, None]},
        {"value": 2},
    ]


def test_a_cell_that_prints_without_end_says_so_once(monkeypatch):
    told = []
    monkeypatch.setattr(shell, "show", lambda output: told.append(output["text"]))
    monkeypatch.setattr(notebook, "PAUSE", 0)
    stream = notebook.Stream("stdout")
    for _ in range(50):
        print("x" * 9_999, file=stream)
    assert len("".join(told)) == notebook.MOST + len(notebook.MORE)
    stream.begin()
    print("next", file=stream)
    assert told[-1] == "next\n"
