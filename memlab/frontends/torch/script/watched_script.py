"""A user's training script, run in a child process until some of its steps were recorded.

The file of the script is not changed, and PyTorch is not loaded in this process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import memlab
from memlab.errors import InputError, shorten
from memlab.frontends import step_files
from memlab.frontends.torch.script import outcome
from memlab.frontends.torch.script.processes import end_tree
from memlab.placement.cuda_cards import CudaCard
from memlab.step.step import Step
from memlab.units import short

LIMIT = 300
"""Default number of seconds in which a script takes its second step."""
WAIT = 600
"""Most seconds that a process takes to measure workspace once all steps have run."""
_CODE = (
    "import sys; root = sys.argv.pop(1); sys.path.insert(0, root); from {} import main; "
    "sys.path.append(sys.path.pop(0)); main()"
)
"""Program of the child process, which has this memlab, and modules beside it last."""
_CHILD = "memlab.frontends.torch.script.child"
_ROOT = str(Path(memlab.__file__).parents[1])

Say = Callable[[str], None]
"""Function that says a sentence before the answer."""


class ScriptEndedError(InputError):
    """Error for a script that ended before its second step; ``exit_code`` is its own."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class ScriptRequest:
    """Request to watch a script.

    ``arguments`` are those of the script, ``card`` is the card whose step it is, None for a
    processor. A run has ``limit`` seconds until the second step; ``say`` gets the sentence that a
    run on real tensors follows. ``change`` is one of the changes of an earlier run, with which the
    steps run; what the script prints is not shown then.
    """

    script: str
    arguments: Sequence[str] = ()
    card: CudaCard | None = None
    limit: float = LIMIT
    say: Say = print
    real: bool = False
    change: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """Name of the script in a sentence."""
        return os.path.basename(self.script)


@dataclass(frozen=True)
class WatchedScript:
    """Recorded step of a script.

    ``batch`` is the number of samples of the step, ``modules`` are the classes of the modules by
    their paths, and ``real`` says that it ran on real tensors. ``saves`` are those that were
    skipped, each as a function and a path. Memory grows by ``growth`` bytes in each step, held by
    ``holders``: names of variables, and whether each holds a graph. ``untrained`` are the models
    that ran in evaluation mode with gradients. ``changes`` are those to try on it, each with its
    ``key``, the lines of ``code``, the ``names`` that it is about, and whether it computes the
    ``same`` numbers. ``cause`` is what holds most of the peak, with its ``key``, ``nbytes`` and
    ``names``; None where nothing special does. The recorded steps begin with the operations
    ``begins``.
    """

    step: Step
    batch: int
    modules: Mapping[str, str]
    real: bool
    saves: tuple[tuple[str, str], ...] = ()
    growth: int = 0
    holders: Mapping[str, bool] = field(default_factory=dict)
    untrained: tuple[str, ...] = ()
    changes: tuple[Mapping[str, Any], ...] = ()
    cause: Mapping[str, Any] | None = None
    begins: tuple[int, ...] = ()


def watched_script(request: ScriptRequest) -> WatchedScript:
    """Run a script until its third optimizer step has ended, and return the step before: on fake
    tensors, or on real ones where an operator needs values. The process and all that it started
    have ended then.

    Raises:
        InputError: there is no such file, PyTorch is not installed, or the script cannot be
            watched.
        ScriptEndedError: the script ended before its second step.
    """
    _check(request)
    facts = _run(request)
    if facts["kind"] == "values" and request.change is not None:
        raise InputError(f"{request.name} does not run with this change ({facts['reason']}).")
    if facts["kind"] == "values":
        request.say(_real_sentence(request, facts))
        request = replace(request, real=True)
        facts = _run(request)
    return _watched(request, facts)


def _check(request: ScriptRequest) -> None:
    """Refuse a script that cannot be run, or that would be one of several processes."""
    if not os.path.isfile(request.script):
        raise InputError(f"there is no file {shorten(request.script)}; run memlab in the folder in "
                         f"which python {request.name} works.")  # fmt: skip
    if find_spec("torch") is None:
        raise InputError(
            "a script that trains with PyTorch needs PyTorch, which is not installed; "
            'try pip install "memlab[torch]".'
        )
    count = os.environ.get("WORLD_SIZE", "1")
    if count != "1":
        raise InputError(
            f"WORLD_SIZE is {shorten(count)}, as torchrun sets it, and memlab watches one process; "
            f"run it without torchrun: memlab explain {request.name}."
        )


# -- the child process ---------------------------------------------------------------------------


def _run(request: ScriptRequest) -> dict[str, Any]:
    """Run the script once in a child process; return its outcome.

    Raises:
        InputError: it took no second step within the limit, or was ended by the system.
    """
    with TemporaryDirectory(prefix="memlab-") as name:
        folder = Path(name)
        with _started(request, folder) as child:
            status = _waited(child, request, folder)
        facts = outcome.read(folder)
    if not facts:
        raise InputError(f"{request.name} {_end_of(status)} before its second training step; try "
                         "it with a smaller batch, or on a machine with more memory.")  # fmt: skip
    return facts


def _waited(child: subprocess.Popen[bytes], request: ScriptRequest, folder: Path) -> int:
    """Wait for the end of a child process and return its exit status."""
    try:
        return child.wait(request.limit)
    except subprocess.TimeoutExpired:
        if (folder / outcome.MARK).exists():
            return child.wait(WAIT)
    raise InputError(
        f"{request.name} took no second training step within {request.limit:g} seconds, and was "
        "ended; give it more (--limit 1200), or let it begin sooner: a smaller model or data set, "
        "no evaluation before training."
    )


@contextmanager
def _started(request: ScriptRequest, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a child process that watches the script; at the end of the context it has ended, with
    all that it started. The script prints to the standard error."""
    asked = {
        "script": request.script, "arguments": list(request.arguments), "folder": str(folder),
        "card": asdict(request.card) if request.card else None,
        "real": request.real, "parent": os.getpid(), "change": request.change,
    }  # fmt: skip
    command = [sys.executable, "-P", "-c", _CODE.format(_CHILD), _ROOT, json.dumps(asked)]
    output = subprocess.DEVNULL if request.change else _standard_error()
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        env=_environment(folder), start_new_session=True,
    )  # fmt: skip
    try:
        yield child
    finally:
        end_tree(child.pid)
        child.wait()


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of the script: Weights & Biases is offline, no compiled file is
    written beside its modules, and it prints at once."""
    return os.environ | {
        "WANDB_MODE": "offline", "WANDB_DIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
    }  # fmt: skip


def _standard_error() -> int:
    """Return the standard error for a child process, nowhere if it is closed."""
    try:
        os.fstat(2)
    except OSError:
        return subprocess.DEVNULL
    return 2


# -- outcomes ------------------------------------------------------------------------------------


def _watched(request: ScriptRequest, facts: dict[str, Any]) -> WatchedScript:
    """Return the recorded step of an outcome.

    Raises:
        InputError: there is none.
    """
    if facts["kind"] == "recorded":
        return WatchedScript(
            step_files.from_dict(facts["step"]), facts["batch"], facts["modules"], request.real,
            tuple((function, path) for function, path in facts["saves"]), facts["growth"],
            facts["holders"], tuple(facts["untrained"]), tuple(facts["changes"]), facts["cause"],
            tuple(facts["begins"]),
        )  # fmt: skip
    if facts["kind"] == "refused":
        raise InputError(f"{request.name} cannot be watched: {facts['reason']}.")
    if facts["kind"] == "failed":
        raise ScriptEndedError(
            f"{request.name} ended with an error of its own ({facts['error']}), which is shown "
            "above, before its steps were recorded.",
            facts["status"],
        )
    raise ScriptEndedError(
        f"{request.name} ended {_after(facts['steps'])}, and memlab watches from one optimizer "
        "step to the next; let it train for 3 steps of an optimizer of torch.optim, in this "
        "process.",
        facts["status"] or 2,
    )


def _after(steps: int) -> str:
    return "after one training step" if steps else "without a training step"


def _end_of(status: int) -> str:
    """Return how a process ended that left no outcome."""
    if status >= 0:
        return f"ended its process with exit code {status}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"


def _real_sentence(request: ScriptRequest, facts: dict[str, Any]) -> str:
    """Return the sentence that is said before the script runs on real tensors: why, and the memory
    and the time that it takes."""
    nbytes = facts["nbytes"]
    parts = ", ".join(f"{short(count)} of {name}" for name, count in nbytes.items())
    return (
        f"{request.name} runs again, now on real tensors, because fake ones do "
        f"not suffice ({facts['reason']}); on this processor its steps take "
        f"{short(sum(nbytes.values()))} of memory beside feature maps ({parts}), and at most "
        f"{request.limit:g} seconds."
    )
