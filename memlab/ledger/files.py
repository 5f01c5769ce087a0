"""A ledger as a file: JSON to keep and compare, and the trace format that Perfetto opens."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from memlab import atomic_files
from memlab.errors import LONGEST, InputError, shorten
from memlab.ledger.entries import BEFORE, UNNAMED, Tenant
from memlab.ledger.file_fields import (
    FORMAT,
    MEMORY,
    PHASE,
    ROLE,
    Check,
    What,
    axis,
    batches,
    by_name,
    count,
    each,
    fields,
    listed,
    one_of,
    size,
    text,
    truth,
)
from memlab.ledger.ledger import Entry, Ledger, LedgerRow
from memlab.optimizers import OPTIMIZERS
from memlab.step.storage import DEVICE

T = TypeVar("T")

SCHEMA = "memlab.ledger/1"
ORIGINS = ("planned", "measured", "recorded", "simulated")
_META = ("network", "label", "format", "optimizer", "training", "origin")


def to_dict(ledger: Ledger) -> dict[str, Any]:
    """Return the ledger as plain values for JSON. ``from_dict`` gives an equal ledger."""
    return {
        "schema": SCHEMA,
        **{name: getattr(ledger, name) for name in _META},
        "notes": list(ledger.notes),
        "batches": [ledger.batches.start, ledger.batches.stop] if ledger.batches else None,
        "operations": [asdict(row) for row in ledger.rows],
        "blocks": [asdict(entry) for entry in ledger.entries],
    }


def from_dict(data: Any) -> Ledger:
    """Return the ledger from the values of ``to_dict``.

    Raises:
        InputError: not a ledger, or one of another schema.
    """
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise InputError(
            f"this is no ledger of schema {SCHEMA} (schema: {shorten(schema)}); "
            "write one with `memlab plan NETWORK --save FILE`."
        )
    try:
        return _ledger(data)
    except InputError as error:
        reason = str(error).rstrip(".")
        raise InputError(f"this ledger is damaged ({reason}); write it again.") from None


def save(ledger: Ledger, path: str | Path) -> None:
    """Write a ledger as JSON, all of it or nothing; ``memlab.load`` returns the same ledger, of a
    recorded step the one for any batch, ``ledger.at()``.

    >>> ledger = memlab.plan(memlab.training_step(memlab.zoo.mnist_cnn()))
    >>> memlab.save(ledger, "plan.json")
    >>> memlab.load("plan.json") == ledger
    True

    Args:
        ledger: the ledger.
        path: the file; one that is there is replaced.

    Raises:
        InputError: no ledger, one that no file holds, no path, or a place that cannot be written
            to.
    """
    if not isinstance(ledger, Ledger):
        raise InputError(
            f"a ledger is saved, got {shorten(ledger)}; try memlab.save(memlab.plan(step), path)."
        )
    ledger = ledger.at()
    told = to_dict(ledger)
    _check_readable(told, ledger)
    write(path, json.dumps(told, indent=1) + "\n")


def _check_readable(told: dict[str, Any], ledger: Ledger) -> None:
    """Raise an error if ``load`` would refuse the values, or read them as something else."""
    try:
        if _ledger(told) == ledger:
            return
        reason = "a file would hold another one"
    except InputError as error:
        reason = str(error).rstrip(".")
    raise InputError(
        f"this ledger cannot be saved ({reason}); give every block a name of its own, and every "
        "name one line of characters that a screen shows."
    )


def write(path: str | Path, content: str) -> None:
    """Write a text to a file, all of it or nothing.

    Raises:
        InputError: no path, or a place that cannot be written to.
    """
    _check_path(path)
    target = Path(path)
    try:
        atomic_files.write(target, content)
    except IsADirectoryError:
        raise InputError(
            f"cannot write {_shown(target)}: it is a folder; add a file name."
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot write {_shown(target)}: {error.strerror}; try another folder."
        ) from None


def load(path: str | Path) -> Ledger:
    """Return the ledger that ``memlab.save`` wrote.

    >>> memlab.save(memlab.plan(memlab.training_step(memlab.zoo.mnist_cnn())), "plan.json")
    >>> memlab.load("plan.json").peak(batch=32)
    99046012

    Args:
        path: the file.

    Raises:
        InputError: the file is not there, or holds no ledger.
    """
    _check_path(path)
    return read(path, from_dict, "write a ledger with `memlab plan NETWORK --save FILE`")


def read(path: str | Path, make: Callable[[Any], T], hint: str) -> T:
    """Read the JSON of a file, and return the result of ``make`` for it.

    Raises:
        InputError: the file is not there, holds no JSON, or ``make`` refuses what it holds.
    """
    shown = _shown(path)
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {shown}: {error.strerror}; check the name.") from None
    except (ValueError, RecursionError):  # no text, no JSON, a number too long, lists too deep
        raise InputError(f"{shown} is not JSON; {hint}.") from None
    try:
        return make(data)
    except InputError as error:
        raise InputError(f"{shown}: {error}") from None


def _shown(path: str | Path) -> str:
    """Return a path for an error message. A long path is shortened to its end, which distinguishes
    files."""
    name = str(path)
    return name if len(name) <= LONGEST else f"...{name[-LONGEST:]}"


def trace(ledger: Ledger, batch: int, memory: str = DEVICE) -> dict[str, Any]:
    """Return a trace for ui.perfetto.dev, with operations as slices and bytes by role as counters.

    A plan has no seconds: every operation is drawn one microsecond long, and the trace says so.
    """
    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": ledger.describe()}}
    ]
    for index, row in enumerate(ledger.rows):
        slice_ = {"ph": "X", "pid": 1, "tid": 1, "ts": index, "dur": 1}
        events.append({**slice_, "name": row.name, "cat": str(row.phase)})
        roles = {str(role): nbytes for role, nbytes in ledger.roles(batch, index, memory).items()}
        events.append({"ph": "C", "pid": 1, "ts": index, "name": "bytes by role", "args": roles})
    note = f"batch {batch}; 1 operation is drawn as 1 microsecond, no time was measured"
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"note": note}}


def _check_path(path: object) -> None:
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"the name of a file is a text, got {shorten(path)}; try 'plan.json'.")


# -- what a file may hold: a damaged one must not give figures -------------------------------------


def _ledger(data: dict[str, Any]) -> Ledger:
    """Return the ledger of a file after all checks.

    Raises:
        InputError: what is missing, too much, of the wrong kind or out of range.
    """
    checked = fields((), data, _LEDGER)
    del checked["schema"]
    rows, entries = checked.pop("operations"), checked.pop("blocks")
    counts = Counter(entry.name for entry in entries)
    twice = [name for name, times in counts.items() if times > 1 and name != UNNAMED]
    if twice:
        raise InputError(f"two blocks are named {shorten(twice[0])}.")
    for entry in entries:
        _check_life(entry, len(rows))
    return Ledger(rows, entries, **checked)


def _tenant(what: What, given: Any) -> Tenant:
    name, first, last = listed(what, given, 3)
    return Tenant(text(what, name), count(what, first, BEFORE), count(what, last))


def _check_life(entry: Entry, operations: int) -> None:
    """Raise an error unless a life lies within the operations and its tenants fill
    it without gaps."""
    if not entry.birth <= entry.death <= operations or entry.birth == operations:
        raise InputError(f"{shorten(entry.name)} lives from {entry.birth} to {entry.death}.")
    begin = entry.birth
    for number, (name, first, last) in enumerate(entry.tenants, 1):
        end = last if number < len(entry.tenants) else entry.death
        if not begin == first <= last == end:
            whose = f"{shorten(name)} of {shorten(entry.name)}"
            raise InputError(f"the tenant {whose} lives from {first} to {last}.")
        begin = last


def _row(what: What, given: Any) -> LedgerRow:
    return LedgerRow(**fields(what, given, _ROW))


def _entry(what: What, given: Any) -> Entry:
    return Entry(**fields(what, given, _BLOCK, optional=("tenants",)))


_ROW: dict[str, Check] = {
    "name": text,
    "kind": text,
    "phase": PHASE,
    "layer": text,
    "stage": text,
}
_BLOCK: dict[str, Check] = {
    "name": text,
    "role": ROLE,
    "size": size,
    "birth": partial(count, least=BEFORE),
    "death": count,
    "axes": each("an axis", axis),
    "format": FORMAT,
    "layer": text,
    "stage": text,
    "memory": MEMORY,
    "tenants": each("a tenant", _tenant),
}
_LEDGER: dict[str, Check] = {
    "schema": text,
    "network": text,
    "label": text,
    "format": FORMAT,
    "optimizer": one_of("optimizer", by_name(["", *OPTIMIZERS])),
    "training": truth,
    "origin": one_of("origin", by_name(ORIGINS)),
    "notes": each("a note", text),
    "batches": batches,
    "operations": each("operation", _row),
    "blocks": each("block", _entry),
}
