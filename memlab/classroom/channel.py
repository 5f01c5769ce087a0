"""Messages over two pipes between the process that marks and the one that runs a submission.

A message is the number of its bytes and that many bytes of JSON. The reader waits no longer than it
says and takes no more than it says: the other side may be hostile.
"""

from __future__ import annotations

import json
import os
import select
import time
from math import inf
from typing import Any, NoReturn

HEADER = 4
"""Bytes that hold the length of a message."""
PIECE = 2**16


class BrokenChannelError(Exception):
    """Error for a message that is no message, or too long."""


class EndedError(Exception):
    """Error for the other side that has closed its pipe: its process has ended."""


class LateError(Exception):
    """Error for the other side that has not answered in time."""


class Channel:
    """A pipe to read from and one to write to, both by their descriptors. ``most`` is the largest
    message that is read, in bytes."""

    def __init__(self, reads: int, writes: int, most: int) -> None:
        self._reads, self._writes, self._most = reads, writes, most
        os.set_blocking(reads, False)
        os.set_blocking(writes, False)

    def send(self, message: object, deadline: float = inf) -> None:
        """Write a message until ``deadline``, a time of ``time.monotonic``.

        Raises:
            EndedError, LateError: the other side has ended, or does not read.
        """
        text = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
        left = memoryview(len(text).to_bytes(HEADER) + text)
        while left:
            self._wait(self._writes, select.POLLOUT, deadline)
            try:
                left = left[os.write(self._writes, left[:PIECE]) :]
            except BlockingIOError:
                continue
            except OSError:
                raise EndedError from None

    def receive(self, deadline: float = inf) -> Any:
        """Return the next message, read until ``deadline``.

        Raises:
            BrokenChannelError, EndedError, LateError: there is no such message.
        """
        length = int.from_bytes(self._read(HEADER, deadline))
        if length > self._most:
            raise BrokenChannelError
        text = self._read(length, deadline)
        try:
            return json.loads(text, parse_constant=_refused)
        except (ValueError, RecursionError):
            raise BrokenChannelError from None

    def _read(self, length: int, deadline: float) -> bytes:
        parts, left = [], length
        while left:
            self._wait(self._reads, select.POLLIN, deadline)
            try:
                part = os.read(self._reads, min(left, PIECE))
            except BlockingIOError:
                continue
            if not part:
                raise EndedError
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def _wait(self, pipe: int, event: int, deadline: float) -> None:
        """Wait until a pipe is ready, or raise a LateError."""
        poll = select.poll()
        poll.register(pipe, event)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(None if left == inf else max(1, int(1000 * left))):
            raise LateError

    def close(self) -> None:
        """Close both pipes."""
        for pipe in (self._reads, self._writes):
            os.close(pipe)


def _refused(name: str) -> NoReturn:
    """Refuse a NaN or an infinity, which no JSON has."""
    raise ValueError(name)
