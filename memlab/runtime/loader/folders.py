"""Folders of images are written whole or not at all, as ``runtime.images`` reads them."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterator
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import Any

import numpy as np

from memlab import units
from memlab.errors import InputError, library, shorten
from memlab.runtime.loader.images import NPY, RAW, Bytes, Shape

Drawn = Iterator[tuple[Bytes, int]]
"""Images and their labels."""


def noise(count: int, shape: Shape, classes: int, seed: int) -> Drawn:
    """Images of noise, whose labels take turns."""
    draws = np.random.default_rng(seed)
    for number in range(count):
        yield draws.integers(0, 256, shape, np.uint8), number % classes


def write(place: Path, kind: str, made: Callable[[], Drawn], nbytes: int) -> int:
    """Write images into a new folder, or an empty one; the bytes of their files. ``nbytes`` is what
    they take at least. The files go into a folder beside, which takes its name once it is whole.

    Raises:
        InputError: the folder has something in it, or cannot be made, or its disk is full.
    """
    part = place.parent / f".{place.name}.{os.urandom(4).hex()}.part"
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
