"""A folder of images: how one is made, and how its files are read into memory that is there.

A file holds one image of uint8, (C, H, W): raw bytes, NumPy's ``.npy``, or a PNG. Its label is the
number after the last hyphen of its name: ``00012-7.png`` shows a 7. Nothing in a file is run or
unpickled, and no file is decoded before its size is known to be the one that was asked for.
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
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memlab import units
from memlab.errors import InputError, flag, known, library, listed, shorten, whole

Bytes = npt.NDArray[np.uint8]
Shape = tuple[int, int, int]

RAW, NPY, PNG = KINDS = ("raw", "npy", "png")
"""The kinds of files, which are the ends of their names."""
REFUSE, SKIP = WHEN_BAD = ("refuse", "skip")
"""What becomes of a file that holds no image of the size that is asked for."""
SPARE = 2**16
"""Bytes that a file may have beyond twice those of its image: more is no image of this size."""
HEADER = 10_000
"""Bytes of the head of an ``.npy`` file, at most."""
SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = {1: 0, 3: 2}
"""PNG's number for grey and for RGB, by channels."""
_LABEL = re.compile(r"-(\d{1,9})$")


class BadImageError(InputError):
    """A file that holds no image of the size that is asked for."""


@dataclass(frozen=True)
class Images:
    """A folder of images that was made: how many, of which shape (C, H, W), and all their bytes."""

    folder: Path
    count: int
    shape: Shape
    nbytes: int

    def __str__(self) -> str:
        size = "x".join(map(str, self.shape))
        return f"{self.count:,} images of {size} in {self.folder}, {units.both(self.nbytes)}"


@dataclass(frozen=True)
class Source:
    """The images of a folder, in the order of their names. ``passed`` is how many other files,
    links and folders lie beside them."""

    folder: Path
    files: tuple[str, ...]
    shape: Shape
    passed: int

    @property
    def nbytes(self) -> int:
        """Of one image in memory."""
        return prod(self.shape)

    def read(self, name: str, target: Bytes) -> int:
        """Read an image into a C-contiguous array (C, H, W); the bytes of its file.

        Raises:
            BadImageError: it holds none of this size; what is in the array then means nothing.
        """
        path = self.folder / name
        reader = READERS[name.rpartition(".")[2].lower()]
        try:
            with open(path, "rb", buffering=0) as file:
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
        """The class that the name of a file says, below ``classes``; without one any, always the
        same."""
        found = _LABEL.search(name.rpartition(".")[0])
        number = int(found[1]) if found else zlib.crc32(name.encode(errors="replace"))
        return number % classes


def source(folder: object, shape: Shape) -> Source:
    """The images of a folder. Links and whatever is no image by the end of its name are passed
    over.

    Raises:
        InputError: no such folder, or none that can be read, or one without images.
    """
    place = _path(folder)
    try:
        with os.scandir(place) as entries:
            found = [(e.name, _is_image(e)) for e in entries]
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
    files = tuple(sorted(name for name, is_image in found if is_image))
    if not files:
        raise InputError(
            f"{shorten(str(place))} holds no file that ends in {', '.join(KINDS)}; make images "
            "with memlab.images(folder, count=1000)."
        )
    return Source(place, files, shape, len(found) - len(files))


def _is_image(entry: os.DirEntry[str]) -> bool:
    kind = entry.name.rpartition(".")[2].lower()
    return kind in KINDS and entry.is_file(follow_symlinks=False)


def _path(folder: object) -> Path:
    given = folder.folder if isinstance(folder, Images) else folder
    if not isinstance(given, str | Path) or not str(given).strip() or "\0" in str(given):
        raise InputError(f"images lie in a folder, got {shorten(given)}; try 'images'.")
    return Path(given)


# -- reading ------------------------------------------------------------------------------------


def _fill(file: io.FileIO, target: Bytes) -> None:
    """Read exactly as many bytes as there is room for, up to the end of the file."""
    view, got = memoryview(target.data).cast("B"), 0
    while got < len(view):
        more = file.readinto(view[got:])
        if not more:
            raise BadImageError(f"it ends after {got:,} of {len(view):,} bytes")
        got += more
    if file.read(1):
        raise BadImageError(f"more than {len(view):,} bytes are there")


def _read_npy(file: io.FileIO, target: Bytes) -> None:
    """The head is parsed as text; an array of objects, which would be unpickled, is refused."""
    try:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, fortran, dtype = read(file, max_header_size=HEADER)
    except (ValueError, KeyError, EOFError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise BadImageError("it is no .npy file") from None
    if dtype != np.uint8 or shape != target.shape or fortran:
        raise BadImageError(f"it holds {dtype} {shape}")
    _fill(file, target)


def _read_png(file: io.FileIO, target: Bytes) -> None:
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
    target[...] = _decoded(file, (height, width, channels)).transpose(2, 0, 1)


def _decoded(file: io.FileIO, shape: tuple[int, int, int]) -> Bytes:
    pillow: Any = library("PIL.Image", "a PNG")
    try:
        with pillow.open(file, formats=["PNG"]) as image:
            pixels = image.tobytes()
        return np.frombuffer(pixels, np.uint8).reshape(shape)
    except Exception:  # Pillow raises errors of many kinds for what is damaged
        raise BadImageError("it is damaged") from None


Reader = Callable[[io.FileIO, Bytes], None]
READERS: dict[str, Reader] = {RAW: _fill, NPY: _read_npy, PNG: _read_png}


# -- making -------------------------------------------------------------------------------------


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
    kind = known("kind of file", kind or (PNG if digits else RAW), KINDS)
    of, place = whole("seed", seed, least=0), _path(folder)
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
    from memlab.lesson import digits

    found = digits.load(seed)
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
