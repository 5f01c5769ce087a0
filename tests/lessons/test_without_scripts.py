"""A notebook is a page too: with no script on it, every stored picture and text is there."""

import re
from base64 import b64decode

import pytest
from nbconvert import HTMLExporter

from tests.lessons.test_sources import NOTEBOOKS, outputs, read

SCRIPT = re.compile(r"<script\b.*?</script>", re.DOTALL | re.IGNORECASE)
SVG = "image/svg+xml"
DRAWN = re.compile(rf'<img[^>]* src="data:{re.escape(SVG)};base64,([^"]+)"')


def page(path):
    """Page that a browser shows without running scripts."""
    html, _ = HTMLExporter(template_name="lab").from_filename(str(path))
    return SCRIPT.sub("", html)


@pytest.mark.measures
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_stored_pictures_stand_on_a_page_without_scripts(path):
    html, stored = page(path), [out["data"] for out in outputs(read(path)) if "data" in out]
    drawn = {b64decode(encoded).decode() for encoded in DRAWN.findall(html)}
    assert {"".join(data[SVG]) for data in stored if SVG in data} <= drawn
    assert "widget-view" not in html
    assert ("<details>" in html) == ("<details>" in "".join(map(str, read(path)["cells"])))
