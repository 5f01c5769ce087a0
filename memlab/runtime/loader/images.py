"""Folders of images: written completely or not at all, and read into memory that is allocated
already.

A file holds one image of uint8, (C, H, W): raw bytes, NumPy's ``.npy``, or a PNG. Its label is the
number after the last hyphen of its name: ``00012-7.png`` shows a 7. Nothing in a file is run or
unpickled, and no file is decoded before its size is known to be the wanted one.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from errno import EDQUOT, ENOSPC
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memlab import units
from memlab.errors import InputError, library, shorten

Bytes = npt.NDArray[np.uint8]
Shape = tuple[int, int, int]
Drawn = Iterator[tuple[Bytes, int]]
"""Images, each with its label."""

RAW, NPY, PNG = KINDS = ("raw", "npy", "png")
"""Kinds of image files, which are their name extensions."""
REFUSE, SKIP = WHEN_BAD = ("refuse", "skip")
"""Ways to handle a file that holds no image of the wanted size."""
SPARE = 2**16
"""Bytes that a file may have beyond twice those of its image; a larger file cannot hold an image of
this size."""
HEADER = 10_000
"""Largest header of an ``.npy`` file, in bytes."""
SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = {1: 0, 3: 2}
"""PNG's number of the colour type, by channels: grey or RGB."""
_LABEL = re.compile(r"-(\d{1,9})$")


class BadImageError(InputError):
    """Error about a file that holds no image of the wanted size."""


@dataclass(frozen=True)
class ImageFolder:
    """Folder of images that was written: their number, their shape (C, H, W), and the bytes of all
    files."""

    folder: Path
    count: int
    shape: Shape
    nbytes: int

    def __str__(self) -> str:
        size = "x".join(map(str, self.shape))
        return f"{self.count:,} images of {size} in {self.folder}, {units.both(self.nbytes)}"


@dataclass(frozen=True)
class Source:
    """Images of a folder, in the order of their names.

    ``passed`` is the number of other files, links and folders in it.
    """

    folder: Path
    files: tuple[str, ...]
    shape: Shape
    passed: int

    @property
    def nbytes(self) -> int:
        """Bytes of one image in memory."""
        return prod(self.shape)

    def read(self, name: str, target: Bytes) -> int:
        """Read an image into an array, and return the bytes of its file.

        Args:
            name: name of the file.
            target: C-contiguous array (C, H, W), which is written.

        Raises:
            BadImageError: the file holds no image of this size; the array's values then mean
                nothing.
        """
        reader = READERS[name.rpartition(".")[2].lower()]
        try:
            with open(self.folder / name, "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                if size > 2 * self.nbytes + SPARE:
                    raise BadImageError(f"its {size:,} bytes are too many")
                reader(file, target)
                return size
        except BadImageError as error:
            why = str(error)
        except OSError as error:
            why = error.strerror or "it cannot be read"
        raise BadImageError(
            f"{shorten(name)} holds no image of {'x'.join(map(str, self.shape))}: {why}; remove it "
            f"from {self.folder}, or try bad={SKIP!r}."
        )

    def label(self, name: str, classes: int) -> int:
        """Class that the name of a file says, below ``classes``; without one, a number that depends
        on the name only."""
        match = _LABEL.search(name.rpartition(".")[0])
        number = int(match[1]) if match else zlib.crc32(name.encode(errors="replace"))
        return number % classes


def source(folder: object, shape: Shape) -> Source:
    """Images of a folder. Links, and files whose names do not end like an image's, are passed over.

    Args:
        folder: a path, or a folder that ``memlab.images`` returned.
        shape: shape of every image, (C, H, W).

    Raises:
        InputError: there is no such folder, it cannot be read, or it has no images.
    """
    place = path(folder)
    try:
        with os.scandir(place) as entries:
            kinds = [(e.name, _is_image(e)) for e in entries]
    except FileNotFoundError:
        raise InputError(
            f"there is no folder {shorten(str(place))}; make one with "
            f"memlab.images({str(place)!r}, count=1000)."
        ) from None
    except OSError as error:
        raise InputError(
            f"{shorten(str(place))} is no folder that can be read ({error.strerror}); try one of "
            f"images, as memlab.images makes it."
        ) from None
    files = tuple(sorted(name for name, is_image in kinds if is_image))
    if not files:
        raise InputError(
            f"{shorten(str(place))} holds no file that ends in {', '.join(KINDS)}; make images "
            "with memlab.images(folder, count=1000)."
        )
    return Source(place, files, shape, len(kinds) - len(files))


def _is_image(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry of a folder is a file whose name ends like an image's."""
    kind = entry.name.rpartition(".")[2].lower()
    return kind in KINDS and entry.is_file(follow_symlinks=False)


def path(folder: object) -> Path:
    """Path of a folder of images.

    Raises:
        InputError: it is no path by its type or name.
    """
    given = folder.folder if isinstance(folder, ImageFolder) else folder
    if not isinstance(given, str | Path) or not str(given).strip() or "\0" in str(given):
        raise InputError(f"images lie in a folder, got {shorten(given)}; try 'images'.")
    return Path(given)


# -- reading ------------------------------------------------------------------------------------


def _fill(file: io.FileIO, target: Bytes) -> None:
    """Fill an array from a file that has exactly as many bytes left."""
    view, got = memoryview(target.data).cast("B"), 0
    while got < len(view):
        more = file.readinto(view[got:])
        if not more:
            raise BadImageError(f"it ends after {got:,} of {len(view):,} bytes")
        got += more
    if file.read(1):
        raise BadImageError(f"more than {len(view):,} bytes are there")


def _read_npy(file: io.FileIO, target: Bytes) -> None:
    """Read an ``.npy`` file. Its header is parsed as text; an array of objects, which would be
    unpickled, is refused."""
    try:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, fortran, dtype = read(file, max_header_size=HEADER)
    except OSError:
        raise
    except Exception:  # NumPy reads the head as Python, which has errors of many kinds
        raise BadImageError("it is no .npy file") from None
    if dtype != np.uint8 or shape != target.shape or fortran:
        raise BadImageError(f"it holds {dtype} {shape}")
    _fill(file, target)


def _read_png(file: io.FileIO, target: Bytes) -> None:
    """Read a PNG file, after a check of its size and colour type."""
    channels, height, width = target.shape
    head = file.read(26) or b""
    if head[:8] != SIGNATURE or head[12:16] != b"IHDR" or len(head) < 26:
        raise BadImageError("it is no PNG")
    there = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    if there != (width, height):  # before anything is decoded: a small file may unfold to a large
        raise BadImageError(f"it is {there[1]:,} rows of {there[0]:,}")
    if head[24] != 8 or head[25] != COLOURS.get(channels):
        raise BadImageError(f"it does not hold 8-bit {'grey' if channels == 1 else 'RGB'}")
    file.seek(0)
    target[...] = _decoded_png(file, (height, width, channels)).transpose(2, 0, 1)


def _decoded_png(file: io.FileIO, shape: tuple[int, int, int]) -> Bytes:
    """Pixels of a PNG file, (H, W, C)."""
    pillow: Any = library("PIL.Image", "a PNG")
    try:
        with pillow.open(file, formats=["PNG"]) as image:
            pixels = image.tobytes()
        return np.frombuffer(pixels, np.uint8).reshape(shape)
    except Exception:  # Pillow raises errors of many kinds for what is damaged
        raise BadImageError("it is damaged") from None


Reader = Callable[[io.FileIO, Bytes], None]
READERS: dict[str, Reader] = {RAW: _fill, NPY: _read_npy, PNG: _read_png}


# -- writing ------------------------------------------------------------------------------------


def noise(count: int, shape: Shape, classes: int, seed: int) -> Drawn:
    """Yield ``count`` images of random noise, with labels 0, 1, ... in turns."""
    draws = np.random.default_rng(seed)
    for number in range(count):
        yield draws.integers(0, 256, shape, np.uint8), number % classes


def write(place: Path, kind: str, draw: Callable[[], Drawn], nbytes: int) -> int:
    """Write images into a new or empty folder, and return the bytes of their files.

    The files are written into a folder beside it, which gets its name once it is complete.

    Args:
        place: the folder.
        kind: ``"raw"``, ``"npy"`` or ``"png"``.
        draw: makes the images and their labels.
        nbytes: least number of bytes that they take.

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
        total = sum(_write_image(part, kind, *numbered) for numbered in enumerate(draw()))
        if place.exists():
            place.rmdir()
        part.rename(place)
        return total
    except OSError as error:
        raise InputError(_write_failure(place, nbytes, error)) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write_image(folder: Path, kind: str, number: int, drawn: tuple[Bytes, int]) -> int:
    """Write one image; return the bytes of its file."""
    image, label = drawn
    data = _encoded_image(image, kind)
    (folder / f"{number:06}-{label}.{kind}").write_bytes(data)
    return len(data)


def _encoded_image(image: Bytes, kind: str) -> bytes:
    """Bytes of an image file."""
    if kind == RAW:
        return image.tobytes()
    stream = io.BytesIO()
    if kind == NPY:
        np.save(stream, image, allow_pickle=False)
    else:
        pillow: Any = library("PIL.Image", "a PNG")
        pixels = image[0] if len(image) == 1 else np.ascontiguousarray(image.transpose(1, 2, 0))
        pillow.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def _write_failure(place: Path, nbytes: int, error: OSError) -> str:
    """Message about a folder that cannot be written."""
    if error.errno in (ENOSPC, EDQUOT):
        return (
            f"the disk of {shorten(str(place))} has no {units.both(nbytes)} left for these images; "
            "nothing was kept. Try fewer, or another folder."
        )
    return f"{shorten(str(place))} cannot be made: {error.strerror}; try another folder."
