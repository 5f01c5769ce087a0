"""The process in which a user's script runs while its training steps are watched.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import json
import os
import signal
import sys
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import memlab
from memlab.frontends.torch.device_calls import cuda_means_here
from memlab.frontends.torch.observed_model import sentence
from memlab.frontends.torch.script import outcome
from memlab.frontends.torch.script.changed_modules import ChangedModules
from memlab.frontends.torch.script.refused_calls import kernel_error, refused_calls
from memlab.frontends.torch.script.script_watch import LEAST, ScriptWatch
from memlab.frontends.torch.script.skipped_saves import SkippedSaves
from memlab.placement.cuda_cards import CudaCard

_HERE = str(Path(memlab.__file__).parent)
_OWN = (NameError, ImportError, OSError, SyntaxError)
"""Errors that fake tensors do not cause."""
_DEATH = 1
"""Number of the option PR_SET_PDEATHSIG of Linux."""


def main() -> None:
    """Run the script that the parent process asks for. Its exit code is that of the script."""
    request = json.loads(sys.argv[1])
    _end_with(request["parent"])
    script, folder = request["script"], Path(request["folder"])
    sys.argv[:] = [script, *request["arguments"]]
    sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    card = _card(request["card"])
    saves = SkippedSaves()
    watch = ScriptWatch(script, folder, card, request["real"], saves, request["change"])
    saves.failed = watch.needs_values
    watch.start()
    ChangedModules(saves.change).install()
    refused = refused_calls(lambda reason: watch.end("refused", reason=reason), Path(script).stem)
    ChangedModules(refused).install()
    with _on_card(card):
        sys.exit(_run(script, watch))


def _card(given: dict[str, Any] | None) -> CudaCard | None:
    """Return the card of its fields."""
    if given is None:
        return None
    major, minor = given["capability"]
    return CudaCard(**given | {"capability": (major, minor)})


def _end_with(parent: int) -> None:
    """Let this process end when its parent does, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


@contextlib.contextmanager
def _on_card(card: CudaCard | None) -> Iterator[None]:
    """Answer the script's calls of CUDA for the card."""
    if card is None:
        yield
        return
    with cuda_means_here(card), torch.compiler.set_stance("force_eager"):
        yield


def _run(script: str, watch: ScriptWatch) -> int:
    """Run the script as Python does; return its exit code."""
    main = types.ModuleType("__main__")
    vars(main).update(__file__=script, __builtins__=builtins)
    sys.modules["__main__"] = main
    try:
        with open(script, "rb") as source:
            code = compile(source.read(), script, "exec")
        exec(code, vars(main))
        status = 0
    except SystemExit as end:
        status = _status(end.code)
    except BaseException as error:
        return _failed(error, watch)
    if watch.steps >= LEAST:
        watch.recorded()
    watch.leave()
    _tell(watch, "ended", status=status)
    return status


def _status(code: Any) -> int:
    """Return the exit status of ``sys.exit(code)``, and print a text that it was given."""
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1


def _failed(error: BaseException, watch: ScriptWatch) -> int:
    """Show an error of the script as Python does, without the lines of memlab; return the exit
    code. One that may come from fake tensors ends the process instead."""
    if watch.loop is not None and not isinstance(error, _OWN):
        watch.needs_values(sentence(error) if isinstance(error, Exception) else repr(error))
    watch.leave()
    if reason := kernel_error(error, Path(watch.script).stem):
        watch.end("refused", reason=reason)
    _without_memlab(error, set())
    sys.excepthook(type(error), error, error.__traceback__)
    status = 130 if isinstance(error, KeyboardInterrupt) else 1
    _tell(watch, "failed", status=status, error=type(error).__name__)
    return status


def _tell(watch: ScriptWatch, kind: outcome.Kind, **facts: Any) -> None:
    outcome.write(watch.folder, kind, saves=watch.saves.skipped, steps=watch.steps, **facts)


def _without_memlab(error: BaseException | None, visited: set[int]) -> None:
    """Take the frames of memlab out of the traceback of an error, and of those behind it."""
    if error is None or id(error) in visited:
        return
    visited.add(id(error))
    kept = None
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if not frame.f_code.co_filename.startswith(_HERE):
            kept = types.TracebackType(kept, frame, frame.f_lasti, line)
    error.__traceback__ = kept
    _without_memlab(error.__cause__, visited)
    _without_memlab(error.__context__, visited)
