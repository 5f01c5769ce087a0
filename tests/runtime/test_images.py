"""Folders of images: written images are read back, other files are reported, nothing is
half-written."""

from __future__ import annotations

import errno
import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import memlab
from memlab import InputError
from memlab.lesson import digits
from memlab.runtime.loader.images import KINDS, BadImageError, Bytes, source

SHAPE = (3, 6, 5)
RAW = bytes(range(90))


def read(folder: Path, shape: tuple[int, int, int] = SHAPE) -> Bytes:
    """All images of a folder."""
    images = source(folder, shape)
    values = np.empty((len(images.files), *shape), np.uint8)
    for name, target in zip(images.files, values, strict=True):
        images.read(name, target)
    return values


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_is_read_back(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("PIL")
    written = memlab.images(tmp_path / "made", 7, SHAPE, kind, seed=3)
    draws = np.random.default_rng(3)
    wanted = [draws.integers(0, 256, SHAPE, np.uint8) for _ in range(7)]
    np.testing.assert_array_equal(read(written.folder), wanted)
    assert written.nbytes == sum(file.stat().st_size for file in written.folder.iterdir())


def test_digits_are_pngs_with_their_labels(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    written = memlab.images(tmp_path / "digits", 20, digits=True)
    data, images = digits.load(), source(written.folder, (1, 8, 8))
    np.testing.assert_array_equal(read(written.folder, (1, 8, 8)), np.rint(255 * data.x[:20]))
    assert [images.label(name, 10) for name in images.files] == list(data.y[:20])
    assert all(name.endswith(".png") for name in images.files)


def npy(values: object) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(values), allow_pickle=True)
    return stream.getvalue()


def png(rows: int, columns: int, kind: int = 2, bits: int = 8) -> bytes:
    """Bytes of a PNG file with this header, whose values are zeros that compress to few bytes."""
    parts = [(b"IHDR", struct.pack(">IIBBBBB", columns, rows, bits, kind, 0, 0, 0)),
             (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b"")]  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(name, data) for name, data in parts)


def chunk(name: bytes, data: bytes) -> bytes:
    """Chunk of a PNG file: length, kind, data, and checksum."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


class Bomb:
    """Object that creates a file when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return (eval, ("open('unpickled', 'w')",))


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.raw", RAW[:50], "ends after 50 of 90 bytes"),
        ("a.raw", RAW + b"x", "more than 90 bytes"),
        ("a.raw", bytes(10**6), "1,000,000 bytes are too many"),
        ("a.npy", npy([Bomb()]), "it holds object"),
        ("a.npy", npy(np.zeros(SHAPE, np.float32)), "it holds float32"),
        ("a.npy", npy(np.zeros((3, 5, 6), np.uint8)), r"it holds uint8 \(3, 5, 6\)"),
        ("a.npy", npy(np.zeros(SHAPE, np.uint8))[:-9], "ends after 81 of 90"),
        ("a.npy", b"\x93NUMPY\x01\x00\xff\xff{", "it is no .npy file"),
        ("a.npy", b"\x93NUMPY\x01\x00\x01\x00(", "it is no .npy file"),
        ("a.png", b"no picture", "it is no PNG"),
        ("a.png", png(60_000, 60_000), "60,000 rows of 60,000"),
        ("a.png", png(6, 5, kind=6), "8-bit RGB"),
        ("a.png", png(6, 5, bits=16), "8-bit RGB"),
        ("a.png", png(6, 5)[:40], "it is damaged"),
        ("a.png", png(6, 5).replace(b"IDAT", b"IDAX"), "it is damaged"),
    ],
)
def test_what_is_no_image_is_told(
    tmp_path: Path, name: str, data: bytes, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name.endswith("png"):
        pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BadImageError, match=f"holds no image of 3x6x5: .*{said}"):
        read(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_other_things_are_passed_over(tmp_path: Path) -> None:
    folder = memlab.images(tmp_path / "made", 3, SHAPE).folder
    (folder / "notes.txt").write_text("hello")
    (folder / "more.raw").mkdir()
    (folder / "link.raw").symlink_to(folder / "000000-0.raw")
    images = source(folder, SHAPE)
    assert (len(images.files), images.passed) == (3, 3)


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        source(tmp_path / "none", SHAPE)
    with pytest.raises(InputError, match=r"holds no file that ends in raw, npy, png"):
        source(tmp_path, SHAPE)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="no folder that can be read"):
        source(tmp_path / "file", SHAPE)
    with pytest.raises(InputError, match="images lie in a folder"):
        source(3, SHAPE)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_folder_is_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    write, times = Path.write_bytes, iter(range(99))

    def filling(self: Path, data: bytes) -> int:
        if next(times) == 3:
            raise error
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", filling)
    wanted: type[BaseException] = InputError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(wanted, match="nothing was kept" if wanted is InputError else None):
        memlab.images(tmp_path / "made", 7, SHAPE)
    assert not list(tmp_path.iterdir())


def test_what_images_refuses(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    for arguments, said in (
        ({"folder": tmp_path}, "has something in it"),
        ({"folder": tmp_path.anchor}, "has something in it"),
        ({"folder": tmp_path / "a", "shape": (3, 4)}, "channels, rows, columns"),
        ({"folder": tmp_path / "a", "kind": "jpg"}, "unknown kind of file 'jpg'"),
        ({"folder": tmp_path / "a", "shape": (2, 4, 4), "kind": "png"}, "1 or 3 channels"),
        ({"folder": tmp_path / "a", "count": 10**9, "shape": (3, 4096, 4096)}, "no .* left"),
        ({"folder": tmp_path / "mine.txt" / "a"}, "cannot be made"),
        ({"folder": tmp_path / "a", "digits": True, "count": 1798}, "there are 1,797 digits"),
    ):
        with pytest.raises(InputError, match=said):
            memlab.images(**arguments)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]
