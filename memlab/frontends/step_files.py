"""A recorded step as a file: recorded where a framework is installed, planned where it is not.

A step of memlab's own layers is written as the code that makes it; its plan is saved by
``memlab.save``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from memlab.errors import LARGEST, InputError, shorten
from memlab.formats import FORMATS
from memlab.ledger.file_fields import (
    FORMAT,
    MEMORY,
    PHASE,
    ROLE,
    Check,
    What,
    axis,
    batches,
    count,
    each,
    fields,
    listed,
    text,
    truth,
)
from memlab.step.op import CALL, Op, Operands
from memlab.step.step import Step
from memlab.step.storage import Size, Storage
from memlab.step.tensor import Tensor

SCHEMA = "memlab.step/1"
_META = ("network", "label", "format", "optimizer", "training")
_OPERANDS = ("reads", "writes", "updates", "workspace", "holds")
"""What an operation has to do with blocks, by the fields of ``Op``."""


def to_dict(step: Step) -> dict[str, Any]:
    """Return a step as plain values for JSON; ``from_dict`` returns the same step.

    Raises:
        InputError: it was not recorded.
    """
    blocks = {tensor.storage.name: tensor for tensor in _tensors(step)}
    numbers = {name: number for number, name in enumerate(blocks)}
    data = {
        "schema": SCHEMA,
        **{name: getattr(step, name) for name in _META},
        "notes": list(step.notes),
        "batches": [step.batches.start, step.batches.stop] if step.batches else None,
        "live_in": [numbers[tensor.storage.name] for tensor in step.live_in],
        "live_out": [numbers[tensor.storage.name] for tensor in step.live_out],
        "blocks": [_block(block) for block in blocks.values()],
        "operations": [_operation(op, numbers) for op in step.ops],
    }
    if any(CALL not in op.attributes for op in step.ops) or not _holds(data, step):
        raise InputError(
            f"a step that was recorded is saved as it is, got {shorten(step)}; of another one save "
            "the plan: memlab.save(memlab.plan(step), path)."
        )
    return data


def _holds(names: dict[str, Any], step: Step) -> bool:
    """Return whether a file holds all of a step: a technique adds fields that no recording has."""
    try:
        return from_dict(names) == step
    except InputError:
        return False


def _tensors(step: Step) -> Iterator[Tensor]:
    yield from step.live_in
    for op in step.ops:
        for name in _OPERANDS:
            yield from getattr(op, name).values()
    yield from step.live_out


def _block(tensor: Tensor) -> list[Any]:
    """Return the values of ``_BLOCK`` for a block that one tensor fills."""
    axes, nbytes = [list(axis_pair) for axis_pair in tensor.axes], tensor.storage.size
    size = [nbytes.fixed, nbytes.per_sample]
    return [tensor.name, str(tensor.role), tensor.format.name, axes, size, tensor.storage.memory]


def _operation(op: Op, numbers: Mapping[str, int]) -> list[Any]:
    """Return the values of ``_OPERATION`` for an operation."""
    used = [_numbered(getattr(op, name), numbers) for name in _OPERANDS]
    costs = [[cost.fixed, cost.per_sample] for cost in (op.flops, op.bytes_moved)]
    place = [op.name, op.kind, str(op.phase), op.layer, op.stage]
    return [*place, *used, *costs, dict(op.attributes)]


def _numbered(operands: Operands, numbers: Mapping[str, int]) -> dict[str, int]:
    return {slot: numbers[operand.storage.name] for slot, operand in operands.items()}


def written(value: object) -> str:
    """Return JSON with a line for each block and each operation."""
    lines = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return re.sub(r'(?<=[\[,])\[(?="[^"]*",")', "\n[", lines) + "\n"


# -- reading -------------------------------------------------------------------------------------


def from_dict(data: Any) -> Step:
    """Return the step that ``to_dict`` wrote.

    Raises:
        InputError: no step, one of another schema, or one that is damaged.
    """
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise InputError(
            f"this is no step of schema {SCHEMA} (schema: {shorten(schema)}); record it again."
        )
    try:
        return _step(fields((), data, _STEP))
    except InputError as error:
        reason = str(error).rstrip(".")
        raise InputError(f"this step is damaged ({reason}); record it again.") from None


def _step(data: dict[str, Any]) -> Step:
    blocks: Sequence[Tensor] = data.pop("blocks")
    given = {name: data[name] for name in (*_META, "notes", "batches")}
    ops = tuple(_op(data_op, blocks) for data_op in data["operations"])
    live_in, live_out = (tuple(_picked(data[name], blocks)) for name in ("live_in", "live_out"))
    return Step(ops, live_in, live_out, **given)


def _op(given: dict[str, Any], blocks: Sequence[Tensor]) -> Op:
    for name in _OPERANDS:
        slots = given[name]
        given[name] = dict(zip(slots, _picked(slots.values(), blocks), strict=True))
    return Op(bytes_moved=given.pop("moved"), **given)


def _picked(numbers: Iterable[int], blocks: Sequence[Tensor]) -> list[Tensor]:
    numbers = list(numbers)
    if wrong := [number for number in numbers if number >= len(blocks)]:
        raise InputError(f"there is no block {wrong[0]}.")
    return [blocks[number] for number in numbers]


def _tensor(what: What, given: Any) -> Tensor:
    fields_ = _row(_BLOCK)(what, given)
    storage = Storage(fields_["name"], fields_.pop("size"), fields_.pop("memory"))
    return Tensor(storage=storage, **fields_ | {"format": FORMATS[fields_["format"]]})


def _row(columns: Mapping[str, Check]) -> Callable[[What, Any], dict[str, Any]]:
    """Return a function that checks a list with one value per column and returns it as a dict."""

    def check(what: What, given: Any) -> dict[str, Any]:
        values = dict(zip(columns, listed(what, given, len(columns)), strict=True))
        return fields(what, values, columns)

    return check


def _counts(what: What, given: Any) -> dict[str, int]:
    """Check a table of whole numbers by name."""
    if not isinstance(given, dict):
        raise InputError(f"{what[0]} is {shorten(given)}.")
    return {text(("a name", *what), name): count((name, *what), n) for name, n in given.items()}


def _line(what: What, given: Any) -> Size:
    """Check a number that is linear in the batch, as its fixed part and its part for each sample;
    it may begin below 0."""
    return Size(*(count(what, value, -LARGEST) for value in listed(what, given, 2)))


_BLOCK: dict[str, Check] = {
    "name": text,
    "role": ROLE,
    "format": FORMAT,
    "axes": each("an axis", axis),
    "size": _line,
    "memory": MEMORY,
}
_OPERATION: dict[str, Check] = {
    "name": text,
    "kind": text,
    "phase": PHASE,
    "layer": text,
    "stage": text,
    **dict.fromkeys(_OPERANDS, _counts),
    "flops": _line,
    "moved": _line,
    "attributes": _counts,
}
_STEP: dict[str, Check] = {
    "schema": text,
    "network": text,
    "label": text,
    "format": FORMAT,
    "optimizer": text,
    "training": truth,
    "notes": each("a note", text),
    "batches": batches,
    "live_in": each("a block", count),
    "live_out": each("a block", count),
    "blocks": each("a block", _tensor),
    "operations": each("an operation", _row(_OPERATION)),
}
