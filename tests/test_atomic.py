"""A file is written whole or not at all."""

import pytest

from memlab import atomic


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_text_and_bytes_are_written(tmp_path):
    atomic.write(tmp_path / "a.md", "k²\n")
    atomic.write(tmp_path / "a.md", "k³\n".encode())
    assert files(tmp_path) == {tmp_path / "a.md": b"k\xc2\xb3\n"}


def test_a_file_that_is_cut_short_leaves_the_old_one(tmp_path):
    (tmp_path / "a.ipynb").write_text("old")
    with pytest.raises(UnicodeEncodeError):
        atomic.write(tmp_path / "a.ipynb", "new \ud800")
    assert files(tmp_path) == {tmp_path / "a.ipynb": b"old"}


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_whatever_stops_it_leaves_the_old_one_alone(tmp_path, monkeypatch, step, error):
    (tmp_path / "a.json").write_text("old")

    def stop(path, *given):
        path.touch()
        raise error

    monkeypatch.setattr(f"pathlib.Path.{step}", stop)
    with pytest.raises(error):
        atomic.write(tmp_path / "a.json", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "old"
