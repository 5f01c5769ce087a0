"""``memlab.images``: write a folder of images, noise or handwritten digits, completely or not at
all."""

from __future__ import annotations

from functools import partial
from math import prod
from pathlib import Path

import numpy as np

from memlab.errors import InputError, known, listed, shorten, true_or_false, whole_number
from memlab.lesson import digits as handwritten
from memlab.runtime.loader.images import (
    COLOURS,
    KINDS,
    PNG,
    RAW,
    Drawn,
    ImageFolder,
    Shape,
    noise,
    path,
    write,
)


def images(
    folder: str | Path,
    count: int | None = None,
    shape: tuple[int, int, int] = (3, 32, 32),
    kind: str | None = None,
    digits: bool = False,
    classes: int = 10,
    seed: int = 0,
) -> ImageFolder:
    """Write a folder of images, noise or handwritten digits, completely or not at all.

    Args:
        folder: where to write; it must be new, or empty.
        count: number of images; None is 1,000 of noise, or all 1,797 digits.
        shape: channels, rows and columns of noise; digits are (1, 8, 8).
        kind: ``"raw"`` (bytes alone), ``"npy"`` or ``"png"``; by default noise is raw, digits are
            PNG.
        digits: True writes the digits of scikit-learn.
        classes: number of labels of noise.
        seed: seed of the noise, or of the order of the digits.

    Returns:
        The folder, with the number and the shape of its images.

    Raises:
        InputError: a folder with something in it, or that cannot be made; more images than fit on
            the disk, or than there are digits; an unknown kind, or one without its library.

    >>> import tempfile
    >>> import memlab
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     memlab.images(folder, 10, shape=(3, 8, 8)).shape
    (3, 8, 8)
    """
    drawn = _digits if true_or_false("digits", digits) else noise
    kind = known("kind of file", (PNG if digits else RAW) if kind is None else kind, KINDS)
    of, place = whole_number("seed", seed, least=0), path(folder).absolute()
    extents = (1, 8, 8) if digits else _shape(shape, kind)
    number = whole_number("count", (1797 if digits else 1000) if count is None else count)
    write_image = partial(drawn, number, extents, whole_number("classes", classes), of)
    return ImageFolder(
        place, number, extents, write(place, kind, write_image, number * prod(extents))
    )


def _shape(given: object, kind: str) -> Shape:
    shape = tuple(
        whole_number("an extent of an image", n, most=2**15) for n in listed("shape", given, 3)
    )
    if len(shape) != 3:
        raise InputError(
            f"an image is (channels, rows, columns), got {shorten(given)}; try (3, 32, 32)."
        )
    if kind == PNG and shape[0] not in COLOURS:
        raise InputError(f"a PNG has 1 or 3 channels, got {shape[0]}; try kind='raw'.")
    return shape


def _digits(count: int, shape: Shape, classes: int, seed: int) -> Drawn:
    digits = handwritten.load(seed)
    x, labels = (
        np.concatenate(halves) for halves in ((digits.x, digits.x_test), (digits.y, digits.y_test))
    )
    if count > len(x):
        raise InputError(f"there are {len(x):,} digits, got {count:,}; try {len(x)}.")
    for image, label in zip(x[:count], labels[:count], strict=True):
        yield np.rint(255 * image).astype(np.uint8), int(label)
