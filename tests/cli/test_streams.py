"""The files and streams of the command line: none is lost, each failure is one sentence."""

import json
import os
import stat
import subprocess
import sys
from contextlib import redirect_stdout

import pytest

from memlab import cli
from memlab.ledger import files

pytestmark = pytest.mark.measures

PLAN = ["plan", "linear1", "--batch", "4"]
posix = pytest.mark.skipif(os.name != "posix", reason="a POSIX shell closes and redirects here")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(run):
    """Run what is refused; give back its sentence."""

    def call(*words):
        code, out, err = run(*words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        return err

    return call


# -- files --------------------------------------------------------------------------------------


def spellings(folder):
    """Other names of the file X in a folder."""
    (folder / "sub").mkdir()
    yield from ("X", "./X", "sub/../X", str(folder / "X"), str(folder / "sub" / ".." / "X"))
    if os.name == "posix":
        (folder / "link").symlink_to("X")
        (folder / "chain").symlink_to("link")
        (folder / "here").symlink_to(folder)
        yield from ("link", "chain", "here/X")


@pytest.mark.parametrize("content", [None, "old"])
def test_two_outputs_are_two_files(here, refused, content):
    if content:
        (here / "X").write_text(content)
    for name in spellings(here):
        for one, other in (("X", name), (name, "X")):
            assert "'X'" in refused(*PLAN, "--save", one, "--trace", other)
            assert ((here / "X").read_text() if content else None) == content
            assert (here / "X").exists() == bool(content)


def test_capitals_alone_make_no_two_files(here, refused):
    assert "are one file" in refused(*PLAN, "--save", "x", "--trace", "X")


def test_two_files_are_both_written(here, run):
    assert run(*PLAN, "--save", "X", "--trace", "Y")[0] == 0
    assert files.load("X").network == "linear1"
    assert json.loads((here / "Y").read_text())["traceEvents"]


@posix
@pytest.mark.parametrize("option", ["--save", "--trace"])
def test_a_file_behind_a_link_is_written_and_keeps_its_mode(here, run, option):
    (here / "X").write_text("old")
    (here / "X").chmod(0o600)
    (here / "link").symlink_to("X")
    assert run(*PLAN, option, "link")[0] == 0
    assert json.loads((here / "X").read_text())
    assert stat.S_IMODE((here / "X").stat().st_mode) == 0o600
    assert (here / "link").is_symlink()


@posix
@pytest.mark.parametrize(
    "words", [["plan", "linear1", "--save"], ["plan", "linear1", "--trace"],
              ["plan", "linear1", "--picture"],
              ["lecture", "k2", "--no-run", "-o"], ["bench", "accuracy", "--plot"],
              ["grade", "here", "--csv"]],
    ids=" ".join,
)  # fmt: skip
def test_where_no_file_can_be_is_said_before_the_work(here, refused, monkeypatch, words):
    def work(*_, **__):
        raise AssertionError

    monkeypatch.setattr("memlab.cli.commands.planned", work)
    monkeypatch.setattr("memlab.course.lecture.page.LECTURES", {"k2": work})
    monkeypatch.setattr("memlab.bench.BENCHMARKS", {"accuracy": work})
    monkeypatch.setattr("memlab.classroom.submissions.handed_in", work)
    (here / "a").symlink_to("a")
    (here / "dangling").symlink_to("no/such")
    (here / "file").touch()
    for name in ("", ".", "..", "no/such", "a", "dangling", "file/x", "n" * 300, "\ud800", "a\0b"):
        assert f"cannot write {name!r:.20}" in refused(*words, name)


@posix
def test_a_name_of_a_folder_makes_no_file(here, refused):
    (here / "reg").write_text("old")
    for name in ("new/", "reg/", "reg/.", "new/.", "no/../x"):
        assert f"cannot write {name!r}" in refused(*PLAN, "--save", name)
    assert [path.name for path in here.iterdir()] == ["reg"]
    assert (here / "reg").read_text() == "old"


def test_a_lecture_goes_into_a_device_too(here, run):
    if not os.path.exists("/dev/null"):
        pytest.skip("there is no /dev/null")
    (here / "out").symlink_to("/dev/null")  # were it replaced, then the link alone
    code, out, _ = run("lecture", "k2", "--no-run", "-o", "out", "--json")
    assert code == 0
    assert json.loads(out)["bytes"] > 10_000
    assert (here / "out").is_char_device()


# -- streams ------------------------------------------------------------------------------------


def shell(words, redirect, unbuffered="", **options):
    """Run ``memlab WORDS REDIRECT`` in a shell."""
    options["env"] = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    line = ["sh", "-c", f'exec "$@" {redirect}', "sh", sys.executable, "-m", "memlab", *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, **options)


FULL = os.path.exists("/dev/full")
LOST = [
    (words, ">/dev/full")
    for words in ([], ["plan", "--help"], ["--version"], PLAN, ["claims"], ["lab", "--help"])
] * FULL
LOST += [(["--help"], ">&-"), (PLAN, ">&-"), (PLAN, "1</dev/null")]  # fmt: skip


@posix
@pytest.mark.parametrize(("words", "redirect"), LOST, ids=str)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_output_that_cannot_be_written_is_one_sentence(words, redirect, unbuffered):
    done = shell(words, redirect, unbuffered)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("memlab: ")
    assert "standard output" in done.stderr
    assert "None" not in done.stderr


@pytest.mark.skipif(not FULL, reason="no device is full here")
def test_the_lessons_are_not_opened_where_nothing_can_be_said(capsys, monkeypatch):
    monkeypatch.setattr("memlab.cli.lessons.lab", lambda arguments: print("opened", flush=True))
    with open("/dev/full", "w") as full, redirect_stdout(full):  # closed: what waits is written
        assert cli.main(["lab"]) == 2
    assert "standard output: No space left on device" in capsys.readouterr().err


@posix
@pytest.mark.parametrize("redirect", ["2>&-", *["2>/dev/full"] * FULL])
@pytest.mark.parametrize(("words", "code"), [(["plan", "nope"], 2), (["run", "linear1"], 0)])
def test_without_a_stream_for_errors_the_exit_code_says_it(words, code, redirect):
    done = shell(words, redirect)
    assert (done.returncode, done.stderr) == (code, "")
    assert bool(done.stdout) == (code == 0)


@posix
def test_without_any_stream_the_exit_code_says_it():
    assert shell(PLAN, ">&- 2>&- <&-").returncode == 2


@posix
@pytest.mark.parametrize("option", ["--save", "--trace"])
def test_a_full_disk_says_which_file(option):
    if not FULL:
        pytest.skip("there is no /dev/full")
    done = shell([*PLAN, option, "/dev/full"], "")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "/dev/full: No space left on device; try another" in done.stderr


@posix
def test_a_plan_goes_through_a_pipe():
    done = shell([*PLAN, "--save", "/dev/fd/3"], "3>&1 >/dev/null")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["network"] == "linear1"


@posix
@pytest.mark.parametrize("name", ["X", "./X", "/dev/stdout", "/dev/fd/2"])
def test_a_plan_is_not_saved_where_its_table_goes(tmp_path, name):
    stream = "2" if name.endswith("2") else ""
    done = shell([*PLAN, "--save", name], f"{stream}>X", cwd=tmp_path)
    said = (tmp_path / "X").read_text() if stream else done.stderr
    assert (done.returncode, said.count("\n")) == (2, 1)
    assert "goes there already" in said


# -- as a process -------------------------------------------------------------------------------


def process(*words, **options):
    command = [sys.executable, "-m", "memlab", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_as_a_process_it_prints_and_refuses():
    done = process("plan", "mnist_cnn", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["network"] == "mnist_cnn"
    done = process("plan", "mnist_cnn", "--batch", "1.5")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_reader_that_goes_away_is_no_error():
    code = "import sys; from memlab.cli import main; sys.stdin.read(); sys.exit(main(['claims']))"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as child:  # fmt: skip
        assert child.stdin
        assert child.stdout
        assert child.stderr
        child.stdout.close()
        child.stdin.close()
        assert child.stderr.read() == ""
    assert child.returncode == 141


def test_a_terminal_without_our_letters_still_shows_the_plan():
    done = process("plan", "mnist_cnn", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "Peak" in done.stdout


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from memlab.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print('heavy:', [m for m in ('numpy', 'numba', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: []"
