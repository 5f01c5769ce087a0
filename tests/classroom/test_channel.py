"""Messages over pipes: they end in time, and within their size, whatever the other side does."""

import os
import time
from contextlib import suppress

import pytest

from memlab.classroom.channel import BrokenChannelError, Channel, EndedError, LateError
from tests.classroom.confined_here import posix

pytestmark = posix


@pytest.fixture
def ends():
    """A channel, and the descriptors of its other side: what it reads, what it writes."""
    reads, theirs = os.pipe()
    inner, writes = os.pipe()
    channel = Channel(reads, writes, 100)
    yield channel, inner, theirs
    channel.close()
    for pipe in (inner, theirs):
        with suppress(OSError):
            os.close(pipe)


def soon():
    return time.monotonic() + 0.05


def test_a_message_arrives_as_it_was_sent(ends):
    channel, inner, theirs = ends
    channel.send({"a": [1, "ß"]}, soon())
    os.write(theirs, os.read(inner, 1000))
    assert channel.receive(soon()) == {"a": [1, "ß"]}


BROKEN = b"\0\0\0\1a", b"\0\0\0\3NaN", b"\x7f\xff\xff\xffaaaa", b"\0\0\0\2[["


@pytest.mark.parametrize("given", BROKEN)
def test_what_is_no_message_is_refused(ends, given):
    channel, _, theirs = ends
    os.write(theirs, given)
    with pytest.raises(BrokenChannelError):
        channel.receive(soon())


def test_lists_too_deep_are_refused(ends):
    reads, theirs = os.pipe()
    channel = Channel(reads, ends[2], 10**6)
    text = b"[" * 60000
    os.write(theirs, len(text).to_bytes(4) + text)
    with pytest.raises(BrokenChannelError):
        channel.receive(soon() + 1)
    os.close(theirs)
    os.close(reads)


def test_a_side_that_says_nothing_or_half_of_it_is_late(ends):
    channel, _, theirs = ends
    for given in (b"", b"\0\0\0\5ab"):
        os.write(theirs, given)
        with pytest.raises(LateError):
            channel.receive(soon())


def test_a_side_that_does_not_read_is_late(ends):
    channel, _, _ = ends
    with pytest.raises(LateError):
        channel.send("a" * 10**6, soon())


def test_a_side_that_has_ended_is_known(ends):
    channel, inner, theirs = ends
    os.close(theirs)
    with pytest.raises(EndedError):
        channel.receive(soon())
    os.close(inner)
    with pytest.raises(EndedError):
        channel.send("a", soon())
