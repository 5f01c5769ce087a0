"""Outputs of a function that prints, shows and returns, kept as a notebook keeps them, to be shown
elsewhere."""

from __future__ import annotations

import io
import os
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.getipython import get_ipython
from IPython.display import display

from memlab.errors import InputError

Output = dict[str, Any]
"""An output of a cell, as a notebook file has it."""
REQUIRED = "MEMLAB_REQUIRE_CARDS"
"""The variable that, where it is set, lets an error below a card stop the cell: when a lesson is
made, nobody looks below its cards."""


def outputs_of(function: Callable[[], Any], card: str = "") -> list[Output]:
    """Return the outputs of a function in their order. If it fails, the last output is a sentence
    for bad input, or the traceback of a mistake in its code.

    What other threads show goes where it went before: a card is answered in a thread of its own,
    and the cells below it run meanwhile.

    Raises:
        RuntimeError: it failed, where ``REQUIRED`` is set.
    """
    kept: list[Output] = []
    shell: Any = get_ipython()
    publisher = shell.display_pub if shell else None
    if shell:
        shell.display_pub = _Publisher(kept, publisher)
    out, err = _Stream(kept, "stdout", sys.stdout), _Stream(kept, "stderr", sys.stderr)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            _call(function, kept, card)
    finally:
        if shell:
            shell.display_pub = publisher
    return kept


def _call(function: Callable[[], Any], kept: list[Output], card: str) -> None:
    try:
        returned = function()
        if returned is not None:
            display(returned)  # type: ignore[no-untyped-call]  # IPython has no types
    except Exception as error:
        if os.environ.get(REQUIRED):
            told = f"{getattr(function, '__name__', 'it')}, below the card {card}, raised "
            raise RuntimeError(f"{told}{type(error).__name__}: {error}") from error
        if isinstance(error, InputError):
            print(error)
            return
        lines = [line.rstrip() for line in traceback.format_exception(error)]
        name, said = type(error).__name__, str(error)
        kept.append({"output_type": "error", "ename": name, "evalue": said, "traceback": lines})


class _Publisher(CapturingDisplayPublisher):
    """Display publisher that collects what its thread displays."""

    def __init__(self, kept: list[Output], before: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # IPython has no types
        self.kept, self.before, self.thread = kept, before, threading.get_ident()

    def __getattr__(self, name: str) -> Any:
        """Ignore the calls by which the kernel tells of a cell that begins meanwhile."""
        if name == "before":
            raise AttributeError(name)
        return getattr(self.before, name)

    def publish(
        self, data: dict[str, Any], metadata: dict[str, Any] | None = None, *args: Any, **more: Any
    ) -> None:
        if threading.get_ident() != self.thread:
            self.before.publish(data, metadata, *args, **more)
            return
        shown = {"output_type": "display_data", "data": data, "metadata": metadata or {}}
        self.kept.append(shown)


class _Stream(io.TextIOBase):
    """Stream that collects what its thread prints. Lines in a row become one output."""

    def __init__(self, kept: list[Output], name: str, before: Any) -> None:
        self.kept, self.named = kept, name
        self.before, self.thread = before, threading.get_ident()

    def writable(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.before, name)

    def flush(self) -> None:
        self.before.flush()

    def write(self, text: str) -> int:
        if threading.get_ident() != self.thread:
            return int(self.before.write(text))
        last = self.kept[-1] if self.kept else {}
        if last.get("name") == self.named:
            last["text"] += text
        elif text:
            self.kept.append({"output_type": "stream", "name": self.named, "text": text})
        return len(text)
