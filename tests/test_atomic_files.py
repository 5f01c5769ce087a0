"""A file is written whole or not at all, and only a regular file is replaced."""

import errno
import os
import re
import stat
from pathlib import Path
from threading import Thread

import pytest

from memlab import atomic_files

ROOT = Path(atomic_files.__file__).resolve().parents[1]
WRITING = re.compile(
    r"\b(write_text|write_bytes|savefig|touch|copyfile|copytree|json\.dump)\("
    r"|\bopen\([^)\n]*[\"'][rbt+]*[wxa]"
)
STREAMS = (
    "memlab/classroom/control_groups.py",
    "memlab/classroom/worker/probe.py",
    "memlab/classroom/worker_copy.py",
    "memlab/cli/__init__.py",
    "memlab/measure/torch_lowering.py",
    "memlab/pictures/draw/files.py",
    "memlab/runtime/loader/images.py",
)
"""What sets limits in files of the kernel, what tries whether it can write, what fills a new folder
that is removed again, what opens the null device, what has a stream already, what draws into one,
and what fills a folder that gets its name once it is whole."""
posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_text_and_bytes_are_written(tmp_path):
    atomic_files.write(tmp_path / "a.md", "k²\n")
    atomic_files.write(tmp_path / "a.md", "k³\n".encode())
    assert files(tmp_path) == {tmp_path / "a.md": b"k\xc2\xb3\n"}


def test_a_file_that_is_cut_short_leaves_the_old_one(tmp_path):
    (tmp_path / "a.ipynb").write_text("old")
    with pytest.raises(UnicodeEncodeError):
        atomic_files.write(tmp_path / "a.ipynb", "new \ud800")
    assert files(tmp_path) == {tmp_path / "a.ipynb": b"old"}


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_whatever_stops_it_leaves_the_old_one_alone(tmp_path, monkeypatch, step, error):
    target = tmp_path / "a.json"
    target.write_text("old")

    def stop(*_):
        raise error

    monkeypatch.setattr(step, stop)
    with pytest.raises(type(error)) as caught:
        atomic_files.write(target, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert target.read_text() == "old"
    if isinstance(caught.value, OSError):
        assert caught.value.filename == str(target)


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    atomic_files.write(tmp_path / ("a" * 255), "new")
    assert files(tmp_path) == {tmp_path / ("a" * 255): b"new"}


def test_no_other_module_writes_files():
    sources = [*ROOT.glob("memlab/**/*.py"), ROOT / "lessons/build.py", ROOT / "tests/gpu.py"]
    writing = [path for path in sources if WRITING.search(path.read_text(encoding="utf-8"))]
    found = {path.relative_to(ROOT).as_posix() for path in writing}
    assert found == {"memlab/atomic_files.py", *STREAMS}


# -- what stands there --------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("bits", [0o600, 0o644, 0o640, 0o755])
def test_a_file_keeps_its_mode(tmp_path, bits):
    target = tmp_path / "a.json"
    target.write_text("old")
    target.chmod(bits)
    atomic_files.write(target, "new")
    assert (mode(target), target.read_text()) == (bits, "new")


@posix
def test_a_new_file_has_the_mode_of_any_other(tmp_path):
    (tmp_path / "other").touch()
    atomic_files.write(tmp_path / "a.json", "new")
    assert mode(tmp_path / "a.json") == mode(tmp_path / "other")


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="root alone gives files away")
def test_a_file_keeps_its_owner(tmp_path):
    target = tmp_path / "a.json"
    target.write_text("old")
    target.chmod(0o666)
    os.chown(target, 12345, 23456)
    atomic_files.write(target, "new")
    assert (target.stat().st_uid, target.stat().st_gid) == (12345, 23456)


def test_a_file_that_may_not_be_written_is_left_alone(tmp_path):
    target = tmp_path / "a.json"
    target.write_text("old")
    target.chmod(0o444)
    if os.access(target, os.W_OK):
        pytest.skip("root may write to all files")
    with pytest.raises(PermissionError):
        atomic_files.write(target, "new")
    assert files(tmp_path) == {target: b"old"}


@posix
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed(tmp_path, there):
    (tmp_path / "folder").mkdir()
    true, link, other = (tmp_path / name for name in ("folder/a.json", "link", "other"))
    if there:
        true.write_text("old")
    link.symlink_to(Path("folder/a.json"))
    other.symlink_to(link)
    atomic_files.write(other, "new")
    assert true.read_text() == "new"
    assert link.is_symlink()
    assert other.is_symlink()
    assert {path.name for path in tmp_path.rglob("*")} == {"folder", "a.json", "link", "other"}


@posix
def test_another_name_keeps_what_was_there(tmp_path):
    (tmp_path / "a").write_text("old")
    os.link(tmp_path / "a", tmp_path / "b")
    atomic_files.write(tmp_path / "a", "new")
    assert files(tmp_path) == {tmp_path / "a": b"new", tmp_path / "b": b"old"}


@posix
def test_links_that_lead_nowhere_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c").symlink_to("no/such")
    for name in "abc":
        with pytest.raises(OSError, match=name) as caught:
            atomic_files.write(tmp_path / name, "new")
        assert caught.value.filename == str(tmp_path / name)
    assert all(path.is_symlink() for path in tmp_path.iterdir())


@posix
def test_into_a_pipe_it_writes_as_into_a_stream(tmp_path):
    pipe, seen = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: seen.append(pipe.read_text()))
    reader.start()
    atomic_files.write(pipe, "new")
    reader.join()
    assert seen == ["new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@posix
def test_a_stream_that_is_open_already_is_written_to():
    """As a shell's ``--save >(jq .)``: the name of a pipe that stands in no folder."""
    out, into = os.pipe()
    atomic_files.write(Path(f"/dev/fd/{into}"), "new")
    os.close(into)
    with open(out) as stream:
        assert stream.read() == "new"


@pytest.fixture
def device(tmp_path):
    """A device of the system's, under a name of its own: never the one in /dev."""

    def make(number):
        path = tmp_path / "device"
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, number))
            path.open("wb").close()
        except (AttributeError, OSError) as error:
            pytest.skip(f"no device can be made here: {error}")
        return path

    return make


def test_a_device_stays_one(device):
    path = device(3)  # /dev/null
    atomic_files.write(path, "new")
    assert stat.S_ISCHR(path.lstat().st_mode)


def test_a_device_that_is_full_says_which(device):
    path = device(7)  # /dev/full
    with pytest.raises(OSError, match="No space left") as caught:
        atomic_files.write(path, "new")
    assert caught.value.filename == str(path)
    assert stat.S_ISCHR(path.lstat().st_mode)


def test_a_folder_is_an_error(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        atomic_files.write(tmp_path / "folder", "new")
    assert (tmp_path / "folder").is_dir()
