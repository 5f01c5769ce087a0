"""The command line: ``memlab plan resnet50 --batch 32``.

A user's mistake is one sentence on stderr and exit code 2, and so is an output that fails.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn, TextIO

from memlab import free_memory, optimizers
from memlab.cli import commands
from memlab.cli.commands import OUTPUT, Options, lab, show
from memlab.cli.options import add_techniques
from memlab.errors import InputError, unknown, visible

EXAMPLES = {
    commands.plan: "plan resnet50 --batch 32",
    commands.run: "run mnist_cnn --batch 32",
    commands.fit: "fit resnet50 --memory 12GB",
    commands.compare: "compare resnet50 --batch 8",
    commands.path: "path googlenet --batch 128 --device 'titan x' --link '12 GB/s'",
    commands.diff: "diff before.json after.json",
    commands.explain: "explain train:model --batch 32 --memory 12GB",
    commands.claims: "claims A4",
    commands.bench: "bench machine",
    commands.doctor: "doctor",
    commands.lab: "lab --no-browser",
    commands.lecture: "lecture k2 -o k2.html",
    commands.slides: "slides 03 -o 03.html",
    commands.progress: "progress",
    commands.release: "release 02 03 -o class",
    commands.grade: "grade handed-in --csv marks.csv",
    commands.guesses: "guesses handed-in --card 03.stride",
}
"""Every command, with the line that its help and its errors offer."""
SCRIPTS = (
    "A script (memlab explain train.py -- --its-arguments) is run in another process, its file "
    "unchanged, until its optimizer has taken three steps: on fake tensors, or where it needs "
    "values on real ones, which is said first. Then it is ended at once, without finally or "
    "atexit. What it saves by torch.save, save_pretrained, safetensors or "
    "torch.distributed.checkpoint is not written, but listed, and Weights & Biases is offline. "
    "All else is done: files that it opens, folders that it makes, logs, downloads, requests."
)
"""Description of what a script does while it is explained."""
PLANNING = ("plan", "run", "fit", "compare", "path")
"""The commands that begin with the step of a network."""
LONGEST = 200
"""Characters of what was given, in a sentence about it."""
NO_MEMORY = (
    "this process has no memory left ({}); try less at once, or raise its limit (ulimit -v)."
)


class _Parser(argparse.ArgumentParser):
    """Argument parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{_cut(message)}; {self.epilog}")

    def flags(self) -> list[str]:
        """Return the names of all options, each once."""
        return [word for action in self._actions for word in action.option_strings[-1:]]

    def knows(self, word: str) -> bool:
        """True if the word is one of the options."""
        return any(word in action.option_strings for action in self._actions)

    def _print_message(self, message: str, file: object = None) -> None:
        """Print help and version. argparse itself ignores errors of the output."""
        show(message.rstrip("\n"))

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Return the values of an option. ``--save=--`` is a valid value, on which argparse before
        Python 3.12.8 fails."""
        if action.option_strings and arg_strings == ["--"]:
            return arg_strings[0]
        return super()._get_values(action, arg_strings)


def _parser(word: str = "") -> _Parser:
    """Return the parser of all commands. The options of techniques are added only where ``word``
    names the command or is empty, because looking for techniques takes time."""
    from memlab import __version__

    parser = _Parser(prog="memlab", allow_abbrev=False)
    parser.description = "Where the memory goes while a network trains."
    parser.epilog = "try: memlab plan resnet50"
    parser.add_argument("--version", action="version", version=f"memlab {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND")
    for command, example in EXAMPLES.items():
        about = command.__doc__ or ""
        one = subparsers.add_parser(
            command.__name__, help=about.rstrip("."), description=about, allow_abbrev=False
        )
        one.epilog = f"try: memlab {example}"
        one.set_defaults(run=command, parser=one)
        _add_options(one, command.__name__)
        if command.__name__ in PLANNING and word in ("", command.__name__):
            _check_room()
            add_techniques(one, command.__name__)
    return parser


def _add_options(parser: _Parser, command: str) -> None:
    add = parser.add_argument
    if command in PLANNING:
        add("network", metavar="NETWORK", help="a network of the zoo: vgg16, resnet50, resnet50-v1")
        add("--image", metavar="N", help="height and width of the input, in pixels")
        add("--classes", metavar="N", help="how many outputs")
        add("--variant", metavar="V", help="of a residual network: v1.5 (default) or v1")
        add("--freeze", metavar="NAMES", help="layers that do not learn, such as 'conv*,fc1'")
        add("--lora", metavar="RANK", help="adapters of q and v learn, all else is frozen")
        add("--format", metavar="F", default="fp32", help="fp64, fp32, bf16 or fp16")
        add("--optimizer", metavar="O", help=f"{optimizers.ONE_OF} (default: momentum)")
        add("--inference", action="store_true", help="forward alone: nothing is kept")
    if command in ("plan", "run"):
        ways = "'no reuse', birth, biggest, 'best fit', exact or best"
        add("--place", metavar="HOW", help=f"an address in one arena for all: {ways}")
    if command == "run":
        add("--device", metavar="D", default="cpu", help="cpu or cuda (default: cpu)")
        add(
            "--host",
            metavar="FOLDER",
            default="ram",
            help="where offloaded maps wait: ram (default)",
        )
    if command in ("plan", "run", "compare", "path", "diff"):
        add("--batch", metavar="N", default="32", help="samples in a mini-batch (default: 32)")
    if command == "path":
        add("--buffers", metavar="N", default="2", help="batches that may wait (default: 2)")
        add("--augment", metavar="SIDE", default="host", help="host or device (default: host)")
        add("--disk", metavar="R", default="0.15", help="in GB/s, or '80 MB/s' (default: 0.15)")
        add("--host", metavar="R", default="10", help="of the loader, as --disk (default: 10)")
    if command in ("plan", "compare", "path"):
        ways = "'titan x', recorded, here or a file"
        add("--device", metavar="D", dest="machine", help=f"plan its seconds, too: {ways}")
        add("--link", metavar="L", help="to the host's memory: '12 GB/s' or 'PCIe 3.0 x16'")
    if command == "plan":
        add("--convention", metavar="C", default="everything", help="how feature maps are counted")
        add("--save", metavar="FILE", help="write the plan as JSON, for memlab diff")
        add("--trace", metavar="FILE", help="write a trace for ui.perfetto.dev")
        add("--picture", metavar="FILE", help="draw it: svg, png or pdf; html has a batch slider")
    if command == "fit":
        add("--memory", metavar="SIZE", required=True, help="such as 12GB, 512MiB or 1048576")
    if command == "compare":
        add("--budget", metavar="SIZE", help="of the chain's schedule, such as 2GB")
        add("--measure", action="store_true", help="run each technique here, too")
        add("--card", metavar="SIZE", help="of the ways out: such as 12GB (default: the device's)")
    if command == "explain":
        what = "a dict of the arguments of memlab.explain, or a model with a method make_batch"
        place = f"a function that gives (build, make_batch), {what}; or a training script"
        add("place", metavar="MODULE:FUNCTION|SCRIPT.py", help=place)
        add("--batch", metavar="N", help="samples in a mini-batch (default: 32)")
        add("--memory", metavar="SIZE", help="such as 12GB (default: the card's, or 12 GB)")
        add("--card", metavar="C", help="such as t4, 'RTX 4090' or 8.9, its compute capability")
        add("--device", metavar="D", help="cuda (default) or cpu, PyTorch on a processor")
        add("--optimizer", metavar="O", help="sgd, momentum, adam or adamw (default: adam)")
        add("--picture", metavar="FILE", help="draw it: svg, png or pdf; html for a browser")
        add("--limit", metavar="S", help="seconds of a script until its second step (default: 300)")
        parser.description = f"{parser.description} {SCRIPTS}"
    if command == "diff":
        add("before", metavar="BEFORE", help="a file that memlab plan --save wrote")
        add("after", metavar="AFTER", help="another one")
    if command == "claims":
        add("id", metavar="ID", nargs="?", help="such as A4: all that is known of it")
        add("--text", metavar="NAME", help="what this text says, such as hanlon or cs231n")
        add("--verdict", metavar="V", help="right, differs or 'right if MB means MiB'")
        add("--own", action="store_true", help="figures of memlab's own, which no text claims")
        add("--measure", action="store_true", help="run here what a run computes, too")
    if command == "bench":
        add("name", metavar="NAME", nargs="?", help="machine or accuracy")
        what = "of accuracy: a model of yours, MODULE:FUNCTION as in memlab explain"
        add("model", metavar="MODEL", nargs="?", help=what)
        add("--plot", metavar="FILE", help="write a picture (SVG) of accuracy")
    if command == "lecture":
        add("name", metavar="NAME", help="such as k2")
        add("-o", "--output", metavar="FILE", help="where to write it (default: NAME.html)")
        add("--no-run", action="store_true", help="leave out the run on this machine")
    if command == "release":
        add("lessons", metavar="LESSON", nargs="+", help="a number or a name: 02, 02_network")
        add("-o", "--output", metavar="FOLDER", default="release", help="default: release")
        add("--language", metavar="L", default="en", help="en (default) or zh")
        add("--force", action="store_true", help="replace files that differ")
    if command == "grade":
        add("folder", metavar="FOLDER", help="a folder per learner, or what Canvas or Moodle gives")
        add("--csv", metavar="FILE", required=True, help="where the marks go; others beside it")
        add("--roster", metavar="FILE", help="the table of learners that Canvas or Moodle exports")
        add("--seconds", metavar="S", help="of one cell, and of one function (default: 30)")
        add("--memory", metavar="SIZE", help="of one submission (default: 2GiB)")
        add("--jobs", metavar="N", help="notebooks at once (default: by cores and memory)")
        add("--trusted", action="store_true", help="without confinement: for code that you trust")
    if command == "guesses":
        add("folder", metavar="FOLDER", help="holds the progress.json of each learner")
        add("--card", metavar="CARD", help="one card, such as 03.stride (default: all)")
        what = "show the answer of the card, and which guesses are right"
        add("--reveal", action="store_true", help=what)
    if command == "slides":
        add("lesson", metavar="LESSON", help="such as 03, an appendix, or a notebook of yours")
        add("-o", "--output", metavar="FILE", help="where to write them (default: LESSON.html)")
        add("--solved", action="store_true", help="the answer after each question")
        add("--dark", action="store_true", help="begin dark; L changes it on the page")
    if command != "lab":
        add("--json", action="store_true", help="JSON instead of text")


def _options(words: Sequence[str]) -> Options:
    parser = _parser(words[0] if words else "--help")
    known = [command.__name__ for command in EXAMPLES]
    if not words:
        parser.print_help()
        parser.exit()
    if words[0] not in (*known, "-h", *parser.flags()):
        raise unknown("command", words[0], [*known, *parser.flags()])
    words, rest = _divided(words)
    options, extra = parser.parse_known_args(words)
    options.rest = list(words[1:]) if options.run is lab else rest
    if rest and not commands.is_script(options.place):
        extra += rest
    if extra and options.run is not lab:
        raise _unread(extra[0], options.parser)
    return options


def _divided(words: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Return the words of a command, and those after ``--`` that a script gets."""
    if words[0] != "explain" or "--" not in words:
        return words, []
    end = words.index("--")
    if not any(map(commands.is_script, words[1:end])):
        return words, []
    return words[:end], list(words[end + 1 :])


def _unread(word: str, parser: _Parser) -> InputError:
    """Return the error for a word that belongs to no option and no argument."""
    if parser.knows(word.partition("=")[0]):
        return InputError(
            f"{_cut(word)} stands after --, where nothing is an option; leave out the --."
        )
    return unknown("argument", word, parser.flags())


def _cut(text: str) -> str:
    """Return a text, cut to the length that fits in a sentence."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 for a problem found, 2 for a user's mistake
    or an output that cannot be written.

    Ctrl-C gives 130, and a reader that went away (``| head``) 141; both are silent.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may lack "·" or "²"
    if sys.stdout is None:  # closed: >&-
        return _refuse("the standard output is closed; leave it open, or send it to a file.")
    try:
        return _command(sys.argv[1:] if arguments is None else arguments)
    except InputError as error:
        _refuse(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except MemoryError as error:
        return _no_room(error)
    except (ImportError, RuntimeError, SystemError) as error:
        if not free_memory.limited():
            raise
        return _no_room(error)  # for a library, or the stack of a thread
    except OSError as error:
        return _failed(error)


def _command(words: Sequence[str]) -> int:
    try:
        options = _options(words)
    except SystemExit:  # argparse has shown what --help or --version asked for
        return 0
    _check_room()
    code: int = options.run(options)
    return code


def _check_room() -> None:
    """Raise an error if NumPy cannot be loaded, or if the memory limit leaves no room for it and a
    plan."""
    if "numpy" not in sys.modules:
        free_memory.check_variable("numpy")
        free_memory.require("memlab", free_memory.START)


def _no_room(error: Exception) -> int:
    """Print that memory is short, and the error behind it, which may have another cause; return the
    exit status."""
    return _refuse(NO_MEMORY.format(f"{type(error).__name__}: {error}".removesuffix(": ")))


def _failed(error: OSError) -> int:
    """Print a failure of the system as a sentence, none for a reader that went away; return the
    exit status."""
    where = error.filename
    if error.errno == errno.ENOMEM or (error.errno is None and free_memory.limited()):
        return _no_room(error)
    if where == OUTPUT or (where is None and isinstance(error, BrokenPipeError)):
        _drop(sys.stdout)
        if isinstance(error, BrokenPipeError):
            return 141
    said = f"{where}: " if where else ""
    full = error.errno == errno.ENOSPC
    hint = "try another disk or device" if full else "check the name and the folder"
    return _refuse(f"{said}{error.strerror or error}; {hint}.")


def _refuse(sentence: str) -> int:
    if sys.stderr is not None:
        try:
            print("memlab:", visible(" ".join(sentence.split())), file=sys.stderr, flush=True)
        except OSError:  # a full disk: the exit code says it
            _drop(sys.stderr)
    return 2


def _drop(stream: TextIO) -> None:
    """Drop everything that waits to be written to a stream; Python would try to write it again when
    it ends."""
    with suppress(OSError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
