"""A recorded step as a file: recorded where a framework is installed, planned where it is not.

A step of memlab's own layers is written as the code that makes it; its plan is saved by
``memlab.save``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memlab.errors import InputError, shorten
from memlab.formats import FORMATS
from memlab.step.op import CALL, Op, Operands, Phase
from memlab.step.step import Step
from memlab.step.storage import Size, Storage
from memlab.step.tensor import Role, Tensor

SCHEMA = "memlab.step/1"
_META = ("network", "label", "format", "optimizer", "training")
_OPERANDS = ("reads", "writes", "updates", "workspace", "holds")
"""What an operation has to do with blocks, by the fields of ``Op``."""


def to_dict(step: Step) -> dict[str, Any]:
    """Plain values for JSON; ``from_dict`` gives the same step back.

    Raises:
        InputError: it was not recorded.
    """
    blocks = {each.storage.name: each for each in _tensors(step)}
    numbers = {name: number for number, name in enumerate(blocks)}
    found = {
        "schema": SCHEMA,
        **{name: getattr(step, name) for name in _META},
        "notes": list(step.notes),
        "batches": [step.batches.start, step.batches.stop] if step.batches else None,
        "live_in": [numbers[each.storage.name] for each in step.live_in],
        "live_out": [numbers[each.storage.name] for each in step.live_out],
        "blocks": [_block(each) for each in blocks.values()],
        "operations": [_operation(op, numbers) for op in step.ops],
    }
    if any(CALL not in op.attributes for op in step.ops) or not _holds(found, step):
        raise InputError(
            f"a step that was recorded is saved as it is, got {shorten(step)}; of another one save "
            "the plan: memlab.save(memlab.plan(step), path)."
        )
    return found


def _holds(found: dict[str, Any], step: Step) -> bool:
    """Whether nothing of a step is lost: a technique adds what no recording has."""
    try:
        return from_dict(found) == step
    except InputError:
        return False


def _tensors(step: Step) -> Iterator[Tensor]:
    yield from step.live_in
    for op in step.ops:
        for name in _OPERANDS:
            yield from getattr(op, name).values()
    yield from step.live_out


def _block(tensor: Tensor) -> list[Any]:
    """A block that one tensor fills, as ``_tensor`` takes it."""
    axes, nbytes = [list(each) for each in tensor.axes], tensor.storage.size
    size = [nbytes.fixed, nbytes.per_sample]
    return [tensor.name, str(tensor.role), tensor.format.name, axes, size, tensor.storage.memory]


def _operation(op: Op, numbers: Mapping[str, int]) -> list[Any]:
    """An operation as ``_op`` takes it."""
    used = [_numbered(getattr(op, name), numbers) for name in _OPERANDS]
    costs = [[cost.fixed, cost.per_sample] for cost in (op.flops, op.bytes_moved)]
    place = [op.name, op.kind, str(op.phase), op.layer, op.stage]
    return [*place, *used, *costs, dict(op.attributes)]


def _numbered(operands: Operands, numbers: Mapping[str, int]) -> dict[str, int]:
    return {slot: numbers[each.storage.name] for slot, each in operands.items()}


def written(value: object) -> str:
    """JSON with a line for each block and each operation."""
    lines = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return re.sub(r'(?<=[\[,])\[(?="[^"]*",")', "\n[", lines) + "\n"


# -- reading -------------------------------------------------------------------------------------


def from_dict(data: Any) -> Step:
    """The step that ``to_dict`` wrote.

    Raises:
        InputError: no step, one of another schema, or one that is damaged.
    """
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise InputError(
            f"this is no step of schema {SCHEMA} (schema: {shorten(schema)}); record it again."
        )
    try:
        return _step(data)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise InputError(f"this step is damaged ({reason}); record it again.") from None


def _step(data: dict[str, Any]) -> Step:
    blocks = [_tensor(*row) for row in data["blocks"]]
    live_in, live_out = (tuple(blocks[n] for n in data[name]) for name in ("live_in", "live_out"))
    ops = tuple(_op(blocks, *row) for row in data["operations"])
    meta = {name: data[name] for name in _META}
    batches = range(*data["batches"]) if data["batches"] else None
    return Step(ops, live_in, live_out, **meta, notes=tuple(data["notes"]), batches=batches)


def _tensor(
    name: str, role: str, format: str, axes: list[list[Any]], size: list[int], memory: str
) -> Tensor:
    storage = Storage(name, Size(*size), memory)
    return Tensor(name, storage, tuple((of, n) for of, n in axes), FORMATS[format], Role(role))


def _op(blocks: Sequence[Tensor], name: str, kind: str, phase: str, *others: Any) -> Op:
    layer, stage, *used, flops, moved, attributes = others
    operands: dict[str, Any] = {
        operand: {slot: blocks[n] for slot, n in slots.items()}
        for operand, slots in zip(_OPERANDS, used, strict=True)
    }
    return Op(
        name, kind, Phase(phase), **operands, attributes=attributes, flops=Size(*flops),
        bytes_moved=Size(*moved), layer=layer, stage=stage,
    )  # fmt: skip
