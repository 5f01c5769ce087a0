"""Saved plans that somebody or something has damaged: compared, or refused in one sentence.

`MEMLAB_FUZZ_SECONDS=3600 .venv/bin/pytest -s tests/ledger/test_files_fuzz.py` searches for an
hour.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab.cli import main
from memlab.errors import InputError
from memlab.ledger import files
from memlab.ledger.ledger import Ledger
from memlab.networks.builder import network
from tests.fuzzing import ROUND, search

pytestmark = pytest.mark.measures

SECONDS = 4
Way = tuple[Any, ...]
Damage = Callable[[Any, st.DataObject], Any]
RAW = (
    "NaN", "-Infinity", "1e999", "9" * 5000, "-" + "9" * 5000, "[" * 50_000, "", ",", "tru", '"',
    "[" * 9_000 + "]" * 9_000, '{"a":' * 9_000 + "1" + "}" * 9_000, "\x00", '"\\ud800"', "01", "-0",
)  # fmt: skip
"""What is put into the text where a value was."""


@cache
def written() -> tuple[str, ...]:
    """Valid files: small ones of several kinds."""
    x = network("shared", image=(2, 4, 4)).conv(2, 1, name="conv").batch_norm(name="norm")
    step = memlab.training_step(x.relu(name="relu").flatten().squared_error())
    linear = memlab.plan(memlab.training_step(memlab.zoo.linear1(), "adam"))
    ledgers = (
        linear,
        memlab.plan(memlab.inference_step(memlab.zoo.linear1())),
        memlab.plan(memlab.in_place(step)),
        memlab.plan(memlab.precision(step, "mixed fp16")),
        replace(linear, batches=range(2, 5), origin="measured", notes=("a", "b")),
    )
    return tuple(json.dumps(files.to_dict(ledger)) for ledger in ledgers)


def ways(data: Any, way: Way = ()) -> Iterator[Way]:
    """The way to everything in a file."""
    yield way
    inside = dict(enumerate(data)) if isinstance(data, list) else data
    for key, value in inside.items() if isinstance(inside, dict) else ():
        yield from ways(value, (*way, key))


def at(data: Any, way: Way) -> Any:
    for key in way:
        data = data[key]
    return data


def place(data: Any, draw: st.DataObject) -> Way:
    return draw.draw(st.sampled_from(list(ways(data))), "place")


def put(data: Any, way: Way, value: Any) -> Any:
    if not way:
        return value
    at(data, way[:-1])[way[-1]] = value
    return data


def copied(value: Any) -> Any:
    return json.loads(json.dumps(value))


# -- what happens to a file ------------------------------------------------------------------------

NUMBERS = st.integers(-3, 40) | st.integers() | st.sampled_from((10**30, -(10**90), 2**63, 2**64))
TEXTS = st.text(max_size=5) | st.sampled_from(
    ("conv", "fp32", "fp64", "bit", "device:0", "host", "disk", "nowhere", "feature_map", "update")
)
LEAVES = st.none() | st.booleans() | NUMBERS | st.floats() | TEXTS
VALUES = st.recursive(
    LEAVES, lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXTS, part, max_size=2)
)


def another(data: Any, draw: st.DataObject) -> Any:
    """Another value."""
    return put(data, place(data, draw), draw.draw(VALUES, "value"))


def near(data: Any, draw: st.DataObject) -> Any:
    """A number a little off, or very far."""
    found = [way for way in ways(data) if type(at(data, way)) is int]
    if not found:
        return data
    way = draw.draw(st.sampled_from(found), "place")
    return put(data, way, at(data, way) + draw.draw(NUMBERS, "difference"))


def gone(data: Any, draw: st.DataObject) -> Any:
    """A field or an entry is left out."""
    way = place(data, draw)
    if way:
        del at(data, way[:-1])[way[-1]]
    return data


def twice(data: Any, draw: st.DataObject) -> Any:
    """What stands in a list stands there twice."""
    found = [way for way in ways(data) if isinstance(at(data, way), list) and at(data, way)]
    if found:
        entries = at(data, draw.draw(st.sampled_from(found), "list"))
        entries.append(copied(draw.draw(st.sampled_from(entries), "entry")))
    return data


def swapped(data: Any, draw: st.DataObject) -> Any:
    """One value stands where another one was."""
    value = copied(at(data, place(data, draw)))
    return put(data, place(data, draw), value)


def renamed(data: Any, draw: st.DataObject) -> Any:
    """A field has another name."""
    found = [way for way in ways(data) if isinstance(at(data, way), dict) and at(data, way)]
    if found:
        fields = at(data, draw.draw(st.sampled_from(found), "object"))
        old = draw.draw(st.sampled_from(list(fields)), "field")
        fields[draw.draw(st.text(max_size=3), "name")] = fields.pop(old)
    return data


DAMAGES: tuple[Damage, ...] = (another, near, gone, twice, swapped, renamed)


def put_raw(text: str, draw: st.DataObject) -> str:
    """Something that no writer of JSON writes, in the place of a word."""
    start = draw.draw(st.integers(0, len(text)), "start")
    end = min(len(text), start + draw.draw(st.integers(0, 12), "length"))
    return text[:start] + draw.draw(st.sampled_from(RAW), "raw") + text[end:]


def cut(content: bytes, draw: st.DataObject) -> bytes:
    return content[: draw.draw(st.integers(0, len(content)), "bytes")]


def flipped(content: bytes, draw: st.DataObject) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.draw(st.integers(1, 4), "flips")):
        if changed:
            changed[draw.draw(st.integers(0, len(changed) - 1))] = draw.draw(st.integers(0, 255))
    return bytes(changed)


def file(draw: st.DataObject) -> bytes:
    """A valid file, damaged in none to three ways."""
    data = json.loads(draw.draw(st.sampled_from(written()), "file"))
    for damage in draw.draw(st.lists(st.sampled_from(DAMAGES), max_size=2), "damages"):
        data = damage(data, draw)
    text = json.dumps(data, ensure_ascii=draw.draw(st.booleans(), "ascii"))
    how = draw.draw(st.integers(0, 9), "text")
    text = put_raw(text, draw) if how == 0 else text
    encoding = draw.draw(
        st.sampled_from(("utf-8",) * 9 + ("utf-8-sig", "utf-16", "latin-1", "cp037"))
    )
    content = text.encode(encoding, "surrogatepass" if encoding.startswith("utf") else "replace")
    if how in (1, 2):
        return cut(content, draw) if how == 1 else flipped(content, draw)
    return content


# -- what memlab says to it ------------------------------------------------------------------------


def compared(before: Path, after: Path, batch: int, *more: str) -> int:
    """``memlab diff``: its exit code; on 2 one sentence and nothing else, never a traceback."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = main(["diff", str(before), str(after), "--batch", str(batch), *more])
    assert code in (0, 2)
    if code == 2:
        assert not out.getvalue()
        sentence = error.getvalue().removesuffix("\n")
        assert len(sentence.splitlines()) == 1, sentence
        assert sentence.endswith("."), sentence
        assert len(sentence) < 2000, sentence
    else:
        assert not error.getvalue()
        assert out.getvalue().strip()
        if "--json" in more:
            json.loads(out.getvalue(), parse_constant=lambda name: 1 / 0)
    return code


def check_figures(ledger: Ledger, batch: int) -> None:
    """What was accepted answers every question, with figures that add up."""
    batch = batch if ledger.batches is None else ledger.batches.start
    peak = ledger.peak_at(batch)
    alive = [entry.size.at(batch) for entry in ledger.alive(peak.index)]
    assert (
        peak.nbytes
        == sum(alive)
        == sum(ledger.roles(batch).values())
        == max(ledger.timeline(batch))
    )
    assert ledger.reserved(batch)[-1] == peak.nbytes
    list(ledger.events(batch))
    for answer in (ledger.why(batch), ledger.fit(10**18), ledger.fit("1 GB"), ledger):
        assert str(answer)
    for entry in ledger.entries:
        assert str(ledger.of(entry.name, batch))
    assert json.dumps(files.trace(ledger, batch))
    assert files.from_dict(files.to_dict(ledger)) == ledger


@ROUND
@given(st.data())
def damaged_files_are_refused_or_hold(draw: st.DataObject) -> None:
    one, batch = file(draw), draw.draw(st.sampled_from((1, 2, 3, 10**13)), "batch")
    with TemporaryDirectory() as folder:
        before, after = Path(folder, "before.json"), Path(folder, "after.json")
        before.write_bytes(one)
        after.write_text(written()[0])
        more = ("--json",) * draw.draw(st.booleans(), "json")
        codes = {compared(before, after, batch, *more), compared(after, before, batch, *more)}
        assert len(codes) == 1
        try:
            found = files.load(before)
        except InputError:
            assert codes == {2}
        else:
            check_figures(found, batch)
        assert before.read_bytes() == one
        assert len(list(Path(folder).iterdir())) == 2


def test_damaged_files_are_refused_or_hold() -> None:
    search(damaged_files_are_refused_or_hold, SECONDS)
