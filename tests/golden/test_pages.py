"""Golden pages: each page of each picture is kept, as a picture and as text.

A colour, a height, a line or a label changes only together with its file in the folder beside this
module. After a change that is meant, write the files again and look at the difference:

    python -m pytest -p no:nbval tests/golden --snapshot-update

A picture has one element a line, so a difference names the mark that changed.
"""

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation

from memlab.course.lecture.scenes import scenes
from tests.pictures.pages import golden, page_of
from tests.quick import apart

PAGES = golden()
RUNS = [("prediction_card", "02.output")]
"""Pages that need a run of a step."""
SCENES = len(scenes())


class Golden(SingleFileSnapshotExtension):
    """A file for each page and kind."""

    _write_mode = WriteMode.TEXT

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(Path(test_location.filepath).with_suffix(""))


class Picture(Golden):
    """An SVG element with a mark on each line."""

    file_extension = "svg"


class Text(Golden):
    """The words of a page."""

    file_extension = "txt"


def lines(svg: str) -> str:
    """The picture with a line break between elements; texts keep their spaces."""
    return re.sub(r">(?=<(?!/?tspan|/text))", ">\n", svg) + "\n"


@pytest.fixture
def picture(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Picture)


@pytest.fixture
def text(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Text)


@pytest.mark.every
@pytest.mark.parametrize(("factory", "name"), apart(PAGES, lambda page: page in RUNS))
def test_page(factory: str, name: str, picture: SnapshotAssertion, text: SnapshotAssertion) -> None:
    page = page_of(PAGES[factory, name]())
    assert lines(page.render("golden")) == picture
    assert page.text() + "\n" == text


@pytest.mark.every
@pytest.mark.parametrize("number", range(1, SCENES + 1))
def test_scene(number: int, picture: SnapshotAssertion, text: SnapshotAssertion) -> None:
    """The slides of one scene of the lecture, and its words."""
    scene = scenes()[number - 1]
    drawn = "".join(slide.render(scene.name) for slide in scene.slides)
    assert lines(drawn) == picture
    assert "\n\n".join([*scene.twins, scene.notes]) + "\n" == text
