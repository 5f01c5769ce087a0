"""Time in which one thread decodes a photo with Pillow."""

from __future__ import annotations

import time
from dataclasses import dataclass
from io import BytesIO

import numpy as np

from memlab.errors import library
from memlab.measure.timing import once

WIDTH, HEIGHT = 500, 375
"""Pixels of most photos in ImageNet."""
COARSE = 4
"""Pixels between two random values: a photo has few details that are finer."""
QUALITY = 90
SIDE = 224
"""Pixels to which a photo is scaled for training."""
PILLOW = "PIL.Image", "decoding a photo"
RUNS, IMAGES = 3, 20
"""Runs, of which the fastest counts, and the photos of each."""


@dataclass(frozen=True)
class Decoding:
    """Decoding of one photo: the bytes of its file, and processor seconds in the fastest run."""

    nbytes: int
    seconds: float

    @property
    def images_per_second(self) -> float:
        """Photos that one thread decodes in a second."""
        return 1 / self.seconds

    def __str__(self) -> str:
        return (
            f"a JPEG of {WIDTH} x {HEIGHT} pixels and {self.nbytes / 1000:.0f} kB: one thread "
            f"decodes it in {1000 * self.seconds:.1f} ms, or {self.images_per_second:.0f} images/s"
        )


def photo() -> bytes:
    """Return a JPEG file of smooth random colours, about as large as a photo's."""
    values = np.random.default_rng(0).integers(0, 256, (HEIGHT // COARSE, WIDTH // COARSE, 3))
    pillow = library(*PILLOW)
    coarse, file = pillow.fromarray(values.astype(np.uint8)), BytesIO()
    image = coarse.resize((WIDTH, HEIGHT), pillow.Resampling.BICUBIC)
    image.save(file, "JPEG", quality=QUALITY)
    return file.getvalue()


def decoded(file: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Return the values of a photo, of shape (224, 224, 3), in uint8."""
    image = library(*PILLOW).open(BytesIO(file)).convert("RGB")
    return np.asarray(image.resize((SIDE, SIDE)))


def decoding(runs: int = RUNS) -> Decoding:
    """Measure how long one thread needs to decode a photo and to scale it.

    Processor time counts, and the fastest of several runs: other programs can only slow them down.

    Args:
        runs: number of runs, each of 20 photos.

    Example::

        print(memlab.measure.jpeg.decoding())
    """
    file = photo()

    def decode_all(run: int) -> None:
        for _ in range(IMAGES):
            decoded(file)

    seconds = min(once(decode_all, clock=time.thread_time) for _ in range(runs))
    return Decoding(len(file), seconds / IMAGES)
