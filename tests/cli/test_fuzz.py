"""Random command lines: what is documented happens, in words, and no file is left half-written."""

import io
import json
import os
import stat
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memlab
from memlab import claims, cli
from memlab.bench.accuracy.table import Compared, PredictorEstimate, accuracy
from memlab.course.lecture.page import LECTURES
from memlab.ledger import files
from memlab.measure.timing import Machine
from memlab.optimizers import OPTIMIZERS
from tests.cli.parsers import parsers
from tests.fuzzing import ROUND, search

pytestmark = pytest.mark.measures

SECONDS = 8, 4
"""In this process, and in others."""

# -- lines --------------------------------------------------------------------------------------

ODD = [
    *("", "-", "--", "---", "=", "--=", "-x", "-hx", "--no-such", "--batch", "--json", "nan"),
    *("inf", "1e30", "1e999999999", "-1", "0", "1", "2", "3.0", "1.5", "1_0", "0x10", "٣"),
    *("²", "é", "a b", "a\nb", "a\0b", "\udcff", "\ud800", "\x1b[31m", "\u2028", "%s", "{}"),
    *("[]", "None", "1GB", "25 Mb", "12.5 kB", "1e3", "0B", "1.5 B", "9" * 29 + "TB", "relu"),
    *("fc", "loss,,", ",", "no reuse", "k2", "A4", "X", "a.json", "linear1", "plan", "/", ".."),
    *("x" * 300, "9" * 5000),
]  # fmt: skip
letters = st.characters(codec="utf-8", exclude_characters="/\\")  # names of this folder alone
nothing = st.sampled_from(["", "--"])
garbage = st.sampled_from(ODD) | st.text(letters, max_size=12)
TARGETS = [
    *("X", "private", "protected", "folder", "folder/new", "new.json", "link", "chain", "dangling"),
    *("lost", "loop", "here/X", "pipe", "null", "full", "no/such", "X/x", "-", "--", "./-x", "é²"),
    *("", ".", "..", "a\nb", "a\0b", "\udcff", "\ud800", "x" * 255, "x" * 256, "a.json"),
]
LEDGERS = ["a.json", "b.json", "a.json", "broken.json", "X", "folder", "no-such", "loop", "", "."]
SMALL = ["linear1", "mnist_cnn", "rnn", "lstm"]
LARGE = ["resnet18", "vgg11", "googlenet", "gpt2", "vit_s", "alexnet"]
ARGUMENTS = {
    "plan": [SMALL + LARGE], "fit": [SMALL + LARGE], "run": [SMALL], "compare": [["linear1"]],
    "diff": [LEDGERS, LEDGERS], "claims": [["A4", "B1.", "Z"]], "lecture": [["k2"]],
    "bench": [["accuracy", "machine", "plan"]],
}  # fmt: skip
COUNTS = ["1", "2", "3", "28", "1e15", "1e30", "1e40", "1e41", "0", "-3"]
SIZES = ["1MB", "1GB", "24GiB", "0B", "300kB"]
VALUES = {
    "--batch": COUNTS, "--image": COUNTS, "--classes": COUNTS, "--recompute-k": COUNTS,
    "--memory": SIZES, "--budget": SIZES, "--variant": ["v1", "v1.5"],
    "--freeze": ["conv*", "fc1", "*", "embedding,*.fc1"], "--lora": ["1", "16", "0"],
    "--format": ["fp64", "fp32", "fp16", "bf16"],
    "--precision": ["fp16", "bf16", "mixed fp16", "mixed bf16"],
    "--optimizer": list(OPTIMIZERS),
    "--recompute": ["every", "keep", "drop", "cheap", "slots", "greedy", "chain", "exact"],
    "--offload": ["conv", "all", "none", "dynamic", "best"],
    "--prefetch": ["vdnn", "needed"],
    "--accumulate": ["1", "2", "3", "0", "1e9"], "--eight-bit-states-block": ["64", "100"],
    "--lowering": ["direct", "im2col-tile", "implicit-gemm"],
    "--recompute-layers": ["relu", "pool1", "relu1, pool1", "conv1"],
    "--place": ["no reuse", "birth", "biggest", "best fit", "exact", "best"],
    "--device": ["cpu", "titan x"], "--card": SIZES, "--link": ["12 GB/s", "NVLink 4", "0"],
    "--convention": ["everything", "vdnn", "cs231n"],
    "--save": TARGETS, "--trace": TARGETS, "--output": TARGETS, "--plot": TARGETS,
    "--picture": [*TARGETS, "p.svg", "P.HTML"],
    "--text": ["graphcore", "chinese", "vdnn"], "--verdict": ["right", "differs"],
}  # fmt: skip
TOGETHER = {
    ("plan", "run", "fit"): [
        *("every --recompute-k 2", "slots --recompute-k 3", "keep --recompute-layers relu"),
        *("drop --recompute-layers relu1", "exact", "chain", "greedy", "cheap"),
    ],
    ("plan", "run"): ["chain --budget 1GB", "exact --budget 1MB", "greedy --budget 300kB"],
}
"""Ways to recompute, with the options that each needs."""
WRITES = {"plan": ["--save", "--trace", "--picture"], "lecture": ["--output"], "bench": ["--plot"]}
SLOW = {"--measure"}
"""What takes seconds each time; nor is `--device cuda` drawn, which is simulated."""
COMMANDS = ["plan"] * 12 + ["fit", "diff", "lecture"] * 3 + ["run", "bench"] * 2
COMMANDS += ["claims", "progress", "lab", "doctor", "compare", "--version", "--help"]


@cache
def options(command):
    """Every option of a command, and whether it takes a value."""
    actions = parsers()[command]._actions if command in parsers() else ()
    found = {word: action.nargs is None for action in actions for word in action.option_strings}
    return {word: found[word] for word in found if word not in SLOW}


@st.composite
def option(draw, command):
    """An option, mostly with a value of its kind."""
    word = draw(st.sampled_from(list(options(command))))
    as_meant = draw(st.integers(0, 19)) > 0
    if options(command)[word] != as_meant:
        return [word]
    long = "--output" if word == "-o" else word
    usual = st.sampled_from(VALUES.get(long, ["1"]))
    value = draw(st.one_of(usual, usual, usual, nothing, garbage))
    return draw(st.sampled_from([[word, value], [f"{word}={value}"]]))


@st.composite
def lines(draw, commands=COMMANDS):
    """A command with its arguments and some of its options, in any order, and at times a slip."""
    command = draw(st.sampled_from(commands))
    parts = [[draw(st.sampled_from(names))] for names in ARGUMENTS.get(command, ())]
    if command == "fit":
        parts.append(["--memory", draw(st.sampled_from(SIZES))])
    ways = [way for able, found in TOGETHER.items() if command in able for way in found]
    if ways and draw(st.integers(0, 3)) == 0:
        parts.append(["--recompute", *draw(st.sampled_from(ways)).split()])
    if command in WRITES and draw(st.booleans()):
        parts.append([draw(st.sampled_from(WRITES[command])), draw(st.sampled_from(TARGETS))])
    if options(command):
        parts += draw(st.lists(option(command), max_size=5))
    words = [command, *(word for part in draw(st.permutations(parts)) for word in part)]
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        at, slip = draw(st.integers(0, len(words))), draw(st.sampled_from(["add", "--", "drop"]))
        if slip == "drop":
            del words[at : at + 1]
        else:
            words.insert(at, draw(garbage) if slip == "add" else slip)
    return words


# -- files --------------------------------------------------------------------------------------


@cache
def ledgers():
    """The texts of two saved plans."""
    found = {}
    with TemporaryDirectory() as folder:
        for name, optimizer in (("a.json", "sgd"), ("b.json", "adam")):
            step = memlab.training_step(memlab.zoo.build("linear1"), optimizer)
            files.save(memlab.plan(step), Path(folder, name))
            found[name] = Path(folder, name).read_text()
    return found


def furnish(folder):
    """Put there what a name may stand for."""
    (folder / "folder").mkdir()
    for name, text in {"X": "old\n", "private": "old\n", "protected": "old\n",
                       "broken.json": "{", **ledgers()}.items():  # fmt: skip
        (folder / name).write_text(text)
    (folder / "private").chmod(0o600)
    (folder / "protected").chmod(0o444)
    links = {"link": "X", "chain": "link", "here": ".", "dangling": "made", "lost": "no/such"}
    for name, target in (links | {"loop": "loop"}).items():
        with suppress(OSError):  # Windows asks for a right
            (folder / name).symlink_to(target)
    for name, number in (("null", 3), ("full", 7)):
        with suppress(AttributeError, OSError):  # root alone makes devices
            os.mknod(folder / name, 0o666 | stat.S_IFCHR, os.makedev(1, number))


def piped(folder):
    """A pipe that takes a whole page without a reader, where the system has such."""
    try:
        from fcntl import F_SETPIPE_SZ, fcntl
    except ImportError:
        return None
    os.mkfifo(folder / "pipe")
    pipe = os.open(folder / "pipe", os.O_RDWR | os.O_NONBLOCK)
    fcntl(pipe, F_SETPIPE_SZ, 2**20)
    return pipe


def found(folder):
    """What every name stands for: kind, mode and content."""
    names = {}
    for path in folder.rglob("*"):
        kind = path.lstat().st_mode
        names[str(path)] = kind, path.read_bytes() if stat.S_ISREG(kind) else None
    return names


def whole(content):
    """Whether that is a file as memlab writes it, from its head to its end."""
    text = content.decode()
    if text.startswith("{"):
        return bool({"schema", "traceEvents"} & set(json.loads(text))) and text.endswith("}\n")
    return any(text.startswith(f"<{head}") and text.endswith(f"</{end}>\n")
               for head, end in (("!doctype html", "html"), ("svg", "svg")))  # fmt: skip


def compare(before, after):
    """Every file is old, or new and whole; what is no regular file stays what it was."""
    assert before.keys() <= after.keys()
    for name, (kind, content) in after.items():
        assert name not in before or before[name][0] == kind, name
        if content is not None and before.get(name) != (kind, content):
            assert whole(content), name
            assert not name.endswith(".part")


# -- in this process ----------------------------------------------------------------------------


def called(words, encoding="utf-8"):
    """The exit code, and what was printed."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding, newline="\n") for _ in range(2)]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        code = cli.main(words)
    for stream in streams:
        stream.flush()
    return code, *(stream.buffer.getvalue().decode(encoding) for stream in streams)


def judge(words, code, out, err):
    """Exit code, text and sentence are what is documented."""
    assert code in (0, 1, 2)
    if code == 2:
        assert out == ""
        assert err.startswith("memlab: ")
        assert err.endswith("\n")
        assert err.count("\n") == 1
        assert len(err.split()) > 4
        assert len(err) < 2000
        assert "None:" not in err
    else:
        assert (bool(out), err) == (True, "")
        asked = {"--", "-h", "--help", "--version"} & {*words}
        if "--json" in words and words[0] != "lab" and not asked:
            json.loads(out)


@pytest.fixture
def bounded(monkeypatch, tmp_path):
    """No server starts, no benchmark takes minutes, few claims are computed, no lecture is run."""
    machine = Machine("a processor", 2, "a system", "2026-01-31", {})
    estimate = PredictorEstimate("memlab", 1_000_000, 0.5)
    truth = Compared("net, batch 2, adam", "PyTorch's allocator", 1_250_000, (estimate,))
    result = accuracy((truth,), machine)
    benchmarks = dict.fromkeys(("accuracy", "machine"), lambda *model: result)
    monkeypatch.setattr("memlab.bench.BENCHMARKS", benchmarks)
    rows = claims.find("A4")
    for kind, name in ((claims.Claim, "table"), (claims.OwnFigure, "figures")):
        few = [row for row in rows if isinstance(row, kind)]
        monkeypatch.setattr(f"memlab.claims.{name}", lambda few=few: few)
    monkeypatch.setattr(
        "memlab.course.lecture.page.LECTURES", {"k2": lambda run: LECTURES["k2"](False)}
    )
    monkeypatch.setattr("memlab.cli.lessons.learners_folder", lambda: tmp_path / "my")
    monkeypatch.setattr("subprocess.Popen", Server)
    monkeypatch.chdir(tmp_path)


class Server:
    """What would be JupyterLab."""

    def __init__(self, command, **options):
        assert command[1:3] == ["-m", "jupyterlab"]

    def wait(self):
        return 0


def test_a_random_line_does_what_is_documented(bounded, monkeypatch):
    @ROUND
    @given(lines(), st.sampled_from([None, "", *LEDGERS]), st.sampled_from(["utf-8", "ascii"]))
    def holds(words, progress, encoding):
        with TemporaryDirectory() as name, monkeypatch.context() as patch:
            folder = Path(name)
            furnish(folder)
            pipe, before = piped(folder), found(folder)
            patch.chdir(folder)
            if progress is not None:
                patch.setenv("MEMLAB_PROGRESS", progress)
            try:
                judge(words, *called(words, encoding))
            finally:
                if pipe is not None:
                    os.close(pipe)
            compare(before, found(folder))

    search(holds, SECONDS[0])


# -- in other processes -------------------------------------------------------------------------

GONE = "| true"
STREAMS = ["", "", "<&-", ">&-", "2>&-", ">/dev/full", "2>/dev/full", GONE]


def sendable(words):
    """Whether a system starts a process with these words."""
    try:
        return b"\0" not in b"".join(map(os.fsencode, words))
    except UnicodeEncodeError:
        return False


def started(words, redirect, folder):
    """The exit code of a process, and what was printed; its reader may be gone."""
    reader, writer = os.pipe()
    os.close(reader)
    out = writer if redirect == GONE else subprocess.PIPE
    line = ["sh", "-c", f'exec "$@" {redirect.removeprefix(GONE)}', "sh", sys.executable]
    done = subprocess.run([*line, "-m", "memlab", *words], cwd=folder, stdout=out,
                          stderr=subprocess.PIPE, text=True, check=False)  # fmt: skip
    os.close(writer)
    return done.returncode, done.stdout or "", done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device is full here")
def test_a_random_process_does_what_is_documented():
    commands = ["plan", "plan", "fit", "diff", "claims", "progress", "run"]

    @settings(ROUND, max_examples=8)
    @given(lines(commands).filter(sendable), st.sampled_from(STREAMS))
    def holds(words, redirect):
        with TemporaryDirectory() as name:
            folder = Path(name)
            furnish(folder)
            before = found(folder)
            code, out, err = started(words, redirect, folder)
            compare(before, found(folder))
        if redirect.startswith("2"):
            assert (code in (0, 1, 2), bool(out), err) == (True, code != 2, "")
        elif redirect == GONE and code == 141:
            assert (out, err) == ("", "")
        else:
            assert code == 2 or not redirect or redirect.startswith("<")
            judge(words, code, out, err)

    search(holds, SECONDS[1])
