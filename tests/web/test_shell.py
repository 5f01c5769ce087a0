"""Values as the shell of a page shows them."""

import re

from memlab import views
from web.runtime.shell import DisplayFormatter

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
    for room, drawn in ((1000, stored), (500, 500), (300, 358)):
        monkeypatch.setenv("MEMLAB_ROOM", str(room))
        assert wide(totals) == drawn
