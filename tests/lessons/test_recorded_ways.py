"""Statements of lesson 03 and its appendix on recorded curves hold of the figures."""

from lessons import build, recordings
from tests.rows import every_row

WORKSPACE = ", workspace"


def figures(name):
    """Seconds and bytes of workspace of each way of a recorded curve."""
    picture = recordings.find(build.LESSONS, name)
    assert picture is not None
    lines = picture.recorded.result.lines
    values = {line.name.rpartition(": ")[2]: line.value for line in lines}
    seconds = {way: value for way, value in values.items() if way + WORKSPACE in values}
    return seconds, {way: values[way + WORKSPACE] for way in seconds}


@every_row(
    ("name", "seconds", "workspace"),
    [
        ("03-tile", "im2col-tile im2col-image direct", "direct offsets im2col-tile im2col-image"),
        ("03-tile", "offsets im2col-image direct", "im2col-image im2col-batch"),
        ("workspace-large", "im2col-tile winograd im2col-image fft", "winograd im2col-image fft"),
        ("workspace-large", "offsets winograd", "offsets im2col-tile winograd"),
        ("workspace-small", "im2col-image winograd direct", "im2col-image winograd"),
        ("workspace-wide", "fft offsets im2col-image direct", "offsets fft im2col-image"),
        ("workspace-point", "im2col-tile im2col-image fft", "im2col-image offsets fft"),
    ],
)
def test_the_ways_stand_in_the_order_that_the_text_says(name, seconds, workspace):
    times, sizes = figures(name)
    for order, values in ((seconds.split(), times), (workspace.split(), sizes)):
        assert order == sorted(order, key=values.__getitem__)
        assert len({values[way] for way in order}) == len(order)


def test_where_the_text_says_fastest_and_most():
    large, wide = figures("workspace-large"), figures("workspace-wide")
    assert sorted(large[0], key=large[0].__getitem__)[:2] in (
        ["im2col-tile", "offsets"],
        ["offsets", "im2col-tile"],
    )
    assert max(large[1], key=large[1].__getitem__) == "fft"
    assert min(wide[0], key=wide[0].__getitem__) == "fft"
    small, point = figures("workspace-small"), figures("workspace-point")
    assert max(small[1], key=small[1].__getitem__) == "winograd"
    assert point[1]["im2col-image"] == 0
