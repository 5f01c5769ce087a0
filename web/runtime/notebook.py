"""A session of a page: its cells run here, and what they print, show, return or raise becomes the
outputs below them."""

from __future__ import annotations

import ast
import builtins
import io
import linecache
import os
import re
import sys
import time
import traceback
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from web.runtime import widgets
from web.runtime.learners_numba import numba_of_a_page
from web.runtime.outbox import post
from web.runtime.shell import NO_MAGIC, display, shell

PROGRESS = "MEMLAB_PROGRESS"
MAGIC = re.compile(r"^\s*([%!]+\w*)|^\s*\w+\?\s*$", re.MULTILINE)
"""Commands of IPython, and a name with a question mark."""
RECORDED = "Below stands what was recorded when this lesson was made."
NO_INPUT = "input() cannot ask in a web page; write the value into the cell."
PAUSE = 0.05
"""Seconds between two messages of printed lines."""
MOST = 200_000
"""Characters of a stream that a cell shows: a browser that gets more answers nobody any more."""
MORE = "\n... a page shows no more of what this cell prints."


class Stream(io.TextIOBase):
    """Standard output or error of the page: its lines become an output of the cell that runs."""

    def __init__(self, name: str) -> None:
        self.named, self._parts, self._sent = name, list[str](), 0.0
        self._room = MOST

    def begin(self) -> None:
        """Take the output of another cell."""
        self._room = MOST

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]  # it is read alone
        return "utf-8"

    def write(self, text: str) -> int:
        self._parts.append(text)
        if "\n" in text and time.monotonic() - self._sent > PAUSE:
            self.flush()
        return len(text)

    def flush(self) -> None:
        text, self._parts = "".join(self._parts), []
        if text and self._room >= 0:
            self._sent = time.monotonic()
            shown = text if len(text) <= self._room else text[: self._room] + MORE
            self._room -= len(text)
            shell.show({"output_type": "stream", "name": self.named, "text": shown})


class Session:
    """Names that cells share, and the messages that a page sends."""

    def __init__(self) -> None:
        self.module = ModuleType("__main__")
        self.streams = Stream("stdout"), Stream("stderr")
        self._told = self._progress()

    def begin(self) -> None:
        """Take the places of the interpreter's own module and streams."""
        sys.modules["__main__"] = self.module
        import_module("IPython")  # memlab asks whether it is there
        sys.modules.setdefault("numba", numba_of_a_page())
        vars(self.module).update(display=display, get_ipython=lambda: shell)
        vars(builtins).update(display=display, input=_refuse_input)
        shell.user_ns, shell.flush = vars(self.module), self.flush
        sys.stdout, sys.stderr = self.streams

    def flush(self) -> None:
        """Send what was printed."""
        for stream in self.streams:
            stream.flush()

    def run(self, cell: str, code: str) -> None:
        """Run a cell; its outputs, an error included, are sent, and at last that it has ended."""
        shell.cell = cell
        shell.execution_count += 1
        begun, fine = time.monotonic(), False
        for stream in self.streams:
            stream.begin()
        try:
            self._execute(code, f"<cell {cell}>")
            fine = True
        except BaseException as error:  # also SystemExit: the worker goes on
            self.flush()
            stays = recorded(error)
            shell.show(stays or error_output(error))
            fine = stays is not None
        self.flush()
        self._tell_progress()
        seconds = time.monotonic() - begun
        post("done", cell=cell, count=shell.execution_count, fine=fine, seconds=seconds)

    def receive(self, model: str, message: Mapping[str, Any]) -> None:
        """Give a widget what the page has sent; what it prints belongs to no cell."""
        shell.cell = ""
        try:
            widgets.receive(model, message)
        except BaseException as error:
            self.flush()
            shell.show(error_output(error))
        self.flush()
        self._tell_progress()

    def take_progress(self, text: str, name: str) -> None:
        """Merge another progress file into the learner's own, and send that, or why it is refused.

        Args:
            text: the content of the file.
            name: its name; empty where another tab has stored it.
        """
        from memlab.errors import InputError  # late: a page's first cell imports memlab
        from memlab.lesson import progress

        try:
            progress.add(text, Path(name or "progress.json"))
        except (InputError, OSError) as error:
            post("refused", why=str(error))
            return
        self._told = self._progress()
        post("progress_json", text=self._told, taken=name)

    def _execute(self, code: str, file: str) -> None:
        linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
        body = _statements(code, file)
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        names = vars(self.module)
        exec(compile(ast.Module(body, []), file, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), file, "eval"), names)
            if value is not None and not code.rstrip().endswith(";"):
                names["_"] = value
                display(value)

    def _progress(self) -> str | None:
        """Return the text of the progress file; None where there is none."""
        named = os.environ.get(PROGRESS, "")
        path = Path(named) if named else None
        return path.read_text(encoding="utf-8") if path and path.exists() else None

    def _tell_progress(self) -> None:
        """Send the progress file where it has changed."""
        text = self._progress()
        if text != self._told:
            self._told = text
            post("progress_json", text=text)


def _refuse_input(prompt: object = "") -> str:
    """Refuse to ask the reader: a worker cannot wait for an answer."""
    raise NotImplementedError(NO_INPUT)


def _statements(code: str, file: str) -> list[ast.stmt]:
    """Return the statements of a cell.

    Raises:
        NotImplementedError: it has a command of IPython.
        SyntaxError: it is no Python.
    """
    try:
        return ast.parse(code, file).body
    except SyntaxError:
        if command := MAGIC.search(code):
            raise NotImplementedError(NO_MAGIC.format(given=command[0].strip())) from None
        raise


def recorded(error: BaseException) -> dict[str, Any] | None:
    """Return the sentence about what no page has, below which what was recorded stays; None for any
    other error."""
    errors = sys.modules.get("memlab.errors")
    if errors is None or not isinstance(error, errors.AbsentInPageError):
        return None
    return {"output_type": "recorded", "text": f"{error} {RECORDED}"}


def error_output(error: BaseException) -> dict[str, Any]:
    """Return an error as an output: its name, its words, and the traceback below the cell."""
    named = type(error).__name__
    if isinstance(error, SyntaxError):
        lines = traceback.format_exception_only(error)
    else:
        lines = traceback.format_exception(type(error), error, _outside(error))
    told = [line.rstrip() for line in lines]
    return {"output_type": "error", "ename": named, "evalue": str(error), "traceback": told}


def _outside(error: BaseException) -> Any:
    """Return the traceback of an error without the frames of this file."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace
