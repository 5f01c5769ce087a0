"""Copies between the memories of a CUDA device and of the host, in streams beside the kernels.

Kernels run in the default stream, copies in others, and events tell who waits for whom: so the
process goes on at once, and the device keeps the order. The process itself waits before a block is
given back that a copy uses, and at the end of a step.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from memlab.runtime.copies import Copies
from memlab.step.op import Op


class Streams(Copies):
    """Copies under way, each with the event that is its end. ``cuda`` makes events, ``open_`` a
    stream, which ``end`` takes back."""

    def __init__(self, cuda: Any, open_: Callable[[], Any], end: Callable[[Any], None]) -> None:
        super().__init__()
        self.cuda, self.open, self.end = cuda, open_, end
        self.streams: dict[str, Any] = {}
        self._ends: dict[str, Any] = {}
        self._last: dict[str, Any] = {}

    def start(self, op: Op, copy: Callable[..., None]) -> None:
        """Send a copy to its stream, where it waits for the kernels that were launched before."""
        stream = self.streams.get(op.stream)
        if stream is None:
            stream = self.streams[op.stream] = self.open()
        launched = self.cuda.event()
        launched.record()
        launched.wait(stream)
        copy(stream)
        ended = self._ends[op.name] = self.cuda.event()
        ended.record(stream)
        self._last |= {tensor.storage.name: ended for tensor in op.touched()}
        if not self.threads:
            ended.synchronize()

    def started(self, name: str) -> bool:
        return name in self._ends

    def wait(self, name: str) -> None:
        """Let the kernels that are launched from now on wait until it has ended."""
        ended = self._ends.pop(name, None)
        if ended is not None:
            ended.wait()

    def finish(self) -> None:
        for name in list(self._ends):
            self.wait(name)
        for stream in self.streams.values():
            stream.synchronize()

    def release(self, storage: str) -> None:
        ended = self._last.pop(storage, None)
        if ended is not None:
            ended.synchronize()

    def close(self) -> None:
        """End the streams, once the copies in them have ended or failed."""
        for stream in self.streams.values():
            with suppress(Exception):  # of a copy; whoever waited for it has it
                stream.synchronize()
            with suppress(Exception):
                self.end(stream)
        self.streams.clear()
        self._ends.clear()
        self._last.clear()
