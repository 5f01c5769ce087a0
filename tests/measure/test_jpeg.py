"""A photo that one thread decodes: its file, its values, and its time."""

import re
import time

from memlab.measure import jpeg


def test_a_photo_has_a_file_like_those_of_imagenet() -> None:
    file = jpeg.photo()
    assert file[:2] == b"\xff\xd8"
    assert 60_000 < len(file) < 150_000


def test_what_is_decoded_is_a_photo_for_training() -> None:
    values = jpeg.decoded(jpeg.photo())
    assert values.shape == (224, 224, 3)
    assert values.std() > 10


def test_the_fastest_run_counts(monkeypatch) -> None:
    ticks = iter([0.0, 2.0, 2.0, 2.5, 2.5, 9.5])
    monkeypatch.setattr(time, "thread_time", lambda: next(ticks))
    found = jpeg.decoding(runs=3)
    assert found.seconds == 0.5 / jpeg.IMAGES
    assert found.images_per_second == 2 * jpeg.IMAGES
    assert re.search(r"decodes it in 25.0 ms, or 40 images/s$", str(found))
