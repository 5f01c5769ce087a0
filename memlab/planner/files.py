"""A ledger as a file: JSON to keep and compare, and the trace format that Perfetto opens."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from memlab import atomic
from memlab.errors import InputError
from memlab.planner.entries import Tenant
from memlab.planner.ledger import Entry, Ledger, Row
from memlab.step.op import Phase
from memlab.step.storage import DEVICE, Size
from memlab.step.tensor import Role

SCHEMA = "memlab.ledger/1"
_META = ("network", "label", "format", "optimizer", "training", "origin")
_KINDS: dict[str, type] = {"name": str, "birth": int, "death": int, "format": str, "memory": str}


def to_dict(ledger: Ledger) -> dict[str, Any]:
    """Plain values for JSON; ``from_dict`` gives the same ledger back."""
    return {
        "schema": SCHEMA,
        **{name: getattr(ledger, name) for name in _META},
        "notes": list(ledger.notes),
        "batches": [ledger.batches.start, ledger.batches.stop] if ledger.batches else None,
        "operations": [asdict(row) for row in ledger.rows],
        "blocks": [asdict(entry) for entry in ledger.entries],
    }


def from_dict(data: Any) -> Ledger:
    """The ledger that ``to_dict`` wrote.

    Raises:
        InputError: not a ledger, or one of another schema.
    """
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise InputError(
            f"this is no ledger of schema {SCHEMA} (schema: {schema!r}); "
            "write one with `memlab plan NETWORK --save FILE`."
        )
    try:
        rows = tuple(Row(**{**row, "phase": Phase(row["phase"])}) for row in data["operations"])
        return Ledger(
            rows,
            tuple(_entry(block, len(rows)) for block in data["blocks"]),
            **{name: data[name] for name in _META},
            notes=tuple(data["notes"]),
            batches=range(*data["batches"]) if data["batches"] else None,
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"this ledger is damaged ({error}); write it again.") from None


def save(ledger: Ledger, path: str | Path) -> None:
    """Write JSON, all of it or nothing."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"cannot write {target}: it is a folder; add a file name.")
    try:
        atomic.write(target, json.dumps(to_dict(ledger), indent=1) + "\n")
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}; try another folder.") from None


def load(path: str | Path) -> Ledger:
    """Read what ``save`` wrote.

    Raises:
        InputError: the file is not there, or holds no ledger.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the name.") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise InputError(
            f"{path} is not JSON; write a ledger with `memlab plan NETWORK --save FILE`."
        ) from None
    try:
        return from_dict(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def trace(ledger: Ledger, batch: int, memory: str = DEVICE) -> dict[str, Any]:
    """Operations as slices and bytes by role as counters, for ui.perfetto.dev.

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


def _entry(block: dict[str, Any], operations: int) -> Entry:
    """A block, checked: a damaged file must not give figures.

    Raises:
        ValueError: a field of the wrong kind or out of range.
    """
    size = Size(**block["size"])
    for name, kind in _KINDS.items():
        if type(block[name]) is not kind:
            raise ValueError(f"{name} is {block[name]!r}")
    for number in (size.fixed, size.per_sample):
        if type(number) is not int or number < 0:
            raise ValueError(f"the size of {block['name']!r} is {number!r}")
    if not -1 <= block["birth"] <= block["death"] <= operations or block["death"] < 0:
        raise ValueError(f"{block['name']!r} lives from {block['birth']} to {block['death']}")
    axes = tuple((str(name), int(extent)) for name, extent in block["axes"])
    tenants = _tenants(block)
    known = {"role": Role(block["role"]), "size": size, "axes": axes, "tenants": tenants}
    return Entry(**block | known)


def _tenants(block: dict[str, Any]) -> tuple[Tenant, ...]:
    """The tenants of a block: from its birth to its death, each from where the one before ends.

    Raises:
        ValueError: they are not.
    """
    tenants = tuple(Tenant(*one) for one in block.get("tenants", ()))
    begin = block["birth"]
    for number, (name, first, last) in enumerate(tenants, 1):
        end = last if number < len(tenants) else block["death"]
        whole = type(first) is type(last) is int
        if type(name) is not str or not whole or not begin == first <= last == end:
            raise ValueError(f"a tenant of {block['name']!r} is {name!r}, {first!r} to {last!r}")
        begin = last
    return tenants
