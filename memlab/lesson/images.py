"""``memlab.images``: a folder of images, of noise or of handwritten digits, whole or not at all."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterator
from errno import EDQUOT, ENOSPC
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from memlab import units
from memlab.errors import InputError, flag, known, library, listed, shorten, whole
from memlab.lesson import digits as handwritten
from memlab.runtime.images import COLOURS, KINDS, NPY, PNG, RAW, Bytes, Images, Shape, path


def images(
    folder: str | Path,
    count: int | None = None,
    shape: tuple[int, int, int] = (3, 32, 32),
    kind: str | None = None,
    digits: bool = False,
    classes: int = 10,
    seed: int = 0,
) -> Images:
    """Make a folder of images, whole or not at all: noise of a size, or handwritten digits.

    Args:
        folder: it must be new, or empty.
        count: how many; 1,000 of noise, all 1,797 digits where it is None.
        shape: channels, rows and columns of noise; digits are (1, 8, 8).
        kind: ``"raw"`` (bytes alone), ``"npy"`` or ``"png"``; noise is raw, digits are PNG.
        digits: those of scikit-learn.
        classes: how many labels noise has.
        seed: of the noise, or of the order of the digits.

    Raises:
        InputError: a folder with something in it, or that cannot be made; more images than fit on
            the disk, or than there are digits; an unknown kind, or one without its library.
    """
    drawn = _digits if flag("digits", digits) else _noise
    kind = known("kind of file", (PNG if digits else RAW) if kind is None else kind, KINDS)
    of, place = whole("seed", seed, least=0), path(folder).absolute()
    extents = (1, 8, 8) if digits else _shape(shape, kind)
    number = whole("count", (1797 if digits else 1000) if count is None else count)
    made = partial(drawn, number, extents, whole("classes", classes), of)
    return Images(place, number, extents, _write(place, kind, made, number * prod(extents)))


def _shape(given: object, kind: str) -> Shape:
    shape = tuple(whole("an extent of an image", n, most=2**15) for n in listed("shape", given, 3))
    if len(shape) != 3:
        raise InputError(
            f"an image is (channels, rows, columns), got {shorten(given)}; try (3, 32, 32)."
        )
    if kind == PNG and shape[0] not in COLOURS:
        raise InputError(f"a PNG has 1 or 3 channels, got {shape[0]}; try kind='raw'.")
    return shape


Drawn = Iterator[tuple[Bytes, int]]
"""Images and their labels."""


def _noise(count: int, shape: Shape, classes: int, seed: int) -> Drawn:
    draws = np.random.default_rng(seed)
    for number in range(count):
        yield draws.integers(0, 256, shape, np.uint8), number % classes


def _digits(count: int, shape: Shape, classes: int, seed: int) -> Drawn:
    found = handwritten.load(seed)
    x, labels = (
        np.concatenate(each) for each in ((found.x, found.x_test), (found.y, found.y_test))
    )
    if count > len(x):
        raise InputError(f"there are {len(x):,} digits, got {count:,}; try {len(x)}.")
    for image, label in zip(x[:count], labels[:count], strict=True):
        yield np.rint(255 * image).astype(np.uint8), int(label)


def _write(place: Path, kind: str, made: Callable[[], Drawn], nbytes: int) -> int:
    """The files are written into a folder beside, which takes its name once it is whole; all their
    bytes."""
    part = place.with_name(f".{place.name}.{os.urandom(4).hex()}.part")
    try:
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise InputError(f"{shorten(str(place))} has something in it; try a new folder.")
        place.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(place.parent).free < nbytes:
            raise OSError(ENOSPC, "full")
        part.mkdir()
        total = sum(_written(part, kind, *each) for each in enumerate(made()))
        if place.exists():
            place.rmdir()
        part.rename(place)
        return total
    except OSError as error:
        raise InputError(_said(place, nbytes, error)) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _written(folder: Path, kind: str, number: int, drawn: tuple[Bytes, int]) -> int:
    image, label = drawn
    data = _encoded(image, kind)
    (folder / f"{number:06}-{label}.{kind}").write_bytes(data)
    return len(data)


def _encoded(image: Bytes, kind: str) -> bytes:
    if kind == RAW:
        return image.tobytes()
    stream = io.BytesIO()
    if kind == NPY:
        np.save(stream, image, allow_pickle=False)
    else:
        pillow: Any = library("PIL.Image", "a PNG")
        shown = image[0] if len(image) == 1 else np.ascontiguousarray(image.transpose(1, 2, 0))
        pillow.fromarray(shown).save(stream, "PNG")
    return stream.getvalue()


def _said(place: Path, nbytes: int, error: OSError) -> str:
    if error.errno in (ENOSPC, EDQUOT):
        return (
            f"the disk of {shorten(str(place))} has no {units.both(nbytes)} left for these images; "
            "nothing was kept. Try fewer, or another folder."
        )
    return f"{shorten(str(place))} cannot be made: {error.strerror}; try another folder."
